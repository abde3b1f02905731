//! What a run leaves: facts, histograms, the run's folder, and the files that follow from facts alone.
//!
//! ```text
//! engines, steps, phases -> FactSink -> FactSource -> Files   (run/ drives it; one tick a second)
//!                                          \-> analyze
//! ```
//!
//! Not here: what the facts mean (`analyze`), and when the files that need that meaning are written (`report`).

pub mod audit;
pub mod broker;
pub mod consumers;
pub mod error;
pub mod error_sums;
pub mod fact;
pub mod files;
pub mod folder;
pub mod histogram;
pub mod last;
pub mod layer;
pub mod process;
pub mod read;
pub mod requesters;
pub mod run;
pub mod second;
pub mod sink;
pub mod step;

#[cfg(test)]
pub(crate) mod sample;
