//! What a run leaves: facts, histograms, files, the run's folder.
//!
//! Not here: what the facts mean (`analyze`).

pub mod fact;
