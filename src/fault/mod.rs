//! Steps as values: what fires when, on whom, whether it took effect, and how to undo it.
//!
//! ```text
//! plan's steps -> schedule (pure) -> lookup + target (who is that now?) -> inject -> observe (background) -> StepEvent
//!                                                                            |
//!                                                                          guard (heals what is still in force)
//! ```
//!
//! A step that changed nothing, or that nobody could see from outside, fails. Not here: what a step costs clients (`analyze`), which
//! containers there are (`cluster`). Called by `run` through [`StepRunner`].

mod client_link;
mod condition;
mod config;
mod event;
mod guard;
mod inject;
mod lookup;
mod observe;
mod partitions;
mod primitive;
mod recreate;
mod runner;
pub mod schedule;
pub mod target;
mod text;
mod watch;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;

pub use event::{Outcome, Scope, StepEvent, StepInfo, What};
pub use guard::{Guards, Heal, HealError, HealFailure};
pub use primitive::{NodeAct, Primitive};
pub use runner::{FailedStep, StepRunner, StepSink, StepsSummary};
pub use target::ResolvedNode;
