//! Where a live cluster is stuck: one round of questions to every layer ([`Tracer`]), what was heard ([`Sighting`]), and what it means
//! ([`diagnose`]).
//!
//! Only asking touches the network; all else is a function of what was heard. Not here: facts of a run (the other probes), and how it is
//! printed (`cli`, the only caller).

mod ask;
mod changes;
mod diagnose;
mod diagnosis;
mod log;
mod picture;
mod roll;
mod round;
mod rows;
mod share;
mod sighting;
mod survey;
#[cfg(test)]
pub(crate) mod tests;
mod tracer;
mod words;

pub use changes::{Change, Subject, changes};
pub use diagnose::diagnose;
pub use diagnosis::{Cause, Diagnosis, Finding, NoLeader, Outcome};
pub use picture::Picture;
pub use roll::{Role, Speaker};
pub use rows::{AddressRow, ControllerRow, FindingRow, LoggedRow, NodeRow, PartitionRow, QuorumRow, VersionRow};
pub use sighting::{ControllerLog, Heard, Scope, Served, Sighting, Silence, Unheard, View, Voice};
pub use tracer::Tracer;
