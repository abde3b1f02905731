//! Plans: the TOML that says which cluster, which load and which steps.
//!
//! `raw` (serde, spans) -> `check` (finds all problems) -> [`model`] (nothing left to guess). Not here: running anything.
//! Called by `cli` and `run`; everything else reads only [`model`].

pub mod model;
mod problem;
pub mod producer_config;
pub mod units;

pub use problem::{Problem, Severity};
