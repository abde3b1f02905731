//! Steps as values: what fires when, on whom, whether it took effect, and how to undo it.
//!
//! ```text
//! plan's steps -> schedule (pure) -> lookup + target (who is that now?) -> inject -> observe (background) -> StepEvent
//!                                                                            |
//!                                                                          guard (heals what is still in force)
//! ```
//!
//! A step that changed nothing, or that nobody could see from outside, fails. Not here: what a step costs clients (`analyze`), which
//! containers there are (`cluster`). Called by `run`.

mod event;
mod primitive;
pub mod schedule;
pub mod target;
mod text;

pub use event::{Outcome, Scope, StepEvent, StepInfo, What};
pub use primitive::{NodeAct, Primitive};
pub use target::ResolvedNode;
