//! Asks controller and brokers what they believe, each for itself, while a run goes.
//!
//! ```text
//! Prober (a thread) -> tail of the controller's log (kafka::raft) --\
//!                   -> quorum: how far nodes have fetched it --------> board -> facts
//!                   -> broker, one each: what it shows and serves --/    |
//!                                                       cadence <- picture <- fetched, shown, serving     (pure)
//! ```
//!
//! [`BrokerProbe`] is apart: it asks one broker what it leads and where those logs end, whenever `run` wants to know. So is [`trace`], which
//! looks at a live cluster without a run. Every question has a bound, so that a silent node delays nobody. Not here: what the container
//! engine says of a node (`run`), what an answer means (`analyze`).

mod board;
mod broker;
mod cadence;
mod cost;
mod fetched;
mod led;
mod log;
mod picture;
mod prober;
mod quorum;
#[cfg(test)]
mod sample;
mod serving;
mod shown;
#[cfg(test)]
mod tests;
pub mod trace;

pub use led::{BrokerProbe, WatchedTopic};
pub use prober::{ProbeConfig, ProbedNode, Prober, StepNudge};

/// Client id of all probes: brokers' request logs tell them from producers and admin clients by it.
pub const CLIENT_ID: &str = "chaos-probe";
