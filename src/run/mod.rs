//! The conductor: the only module that knows all others.
//!
//! ```text
//! cli -> conductor -> load (phases, groups) -> engines
//!            |   \-> steps -> fault
//!            |-> topics, started, machine              before the load
//!            |-> layers -> probe (a thread)            what controller and brokers believe
//!            |-> brokers -> cluster, probe             once a second
//!            |-> intake (a thread): files, analysis, screen (narrate)
//!            \-> metrics (a thread): the page that intake sets, to whoever asks
//! cli -> compare -> conductor, once per run             one plan with other values, run by run
//! ```
//!
//! Not here: how a step is done (`fault`), how records are made (`engine`), what facts mean (`analyze`). Called by `cli`.

mod audit;
mod brokers;
pub mod compare;
mod conductor;
mod error;
mod intake;
mod layers;
mod load;
mod machine;
mod metrics;
mod narrate;
mod phases;
mod requests;
mod scope;
mod started;
mod steps;
mod stop;
mod topics;

pub use conductor::{Ended, Request, run};
pub use error::RunError;
pub use intake::Taken;
pub use started::remarks;
pub use stop::{Stop, StopCause};
