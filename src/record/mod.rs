//! What a run leaves: facts, histograms, the run's folder, and the files that follow from facts alone.
//!
//! ```text
//! engines, steps, phases -> FactSink -> FactSource -> Files   (run/ drives it; one tick a second)
//!                                          \-> analyze
//! ```
//!
//! Not here: what the facts mean (`analyze`), and the files that need that meaning (`report`: `run.json`, `recovery.csv`).

pub mod fact;
pub mod histogram;
pub mod sink;
