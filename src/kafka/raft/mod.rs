//! The controller's log: its records, the image that they make, and a tail that follows the active controller.
//!
//! ```text
//! tail (tokio task) -> machine (pure: what to ask next) -> ledger (committed, pending) -> image <- record
//!        |                        \-> snapshot ------------------------------------------^
//!        |-> search (who leads)
//!        \-> fetch (requests and answers)
//! ```
//!
//! A tail reads as an observer does: it votes for nobody and holds nothing up. It tells one [`TailObserver`] what it sees. Not here: what
//! brokers make of the log (`probe` asks them). Called by `probe`.

mod event;
mod fetch;
pub mod image;
mod ledger;
mod machine;
pub mod record;
#[cfg(test)]
mod sample;
mod search;
mod snapshot;
mod tail;

pub use event::{ImageReason, LogEntry, TailEvent, TailObserver, TailRecord};
pub use ledger::Skipped;
#[cfg(test)]
pub(crate) use tail::fake;
pub use tail::{Tail, TailConfig};
