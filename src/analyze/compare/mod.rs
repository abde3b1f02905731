//! Whether runs with different settings differ, and whether that may be believed.
//!
//! Pure: takes runs as values ([`model`]), gives values ([`findings`]). Reads no folders and starts no runs: whoever carries out a
//! comparison does, and `report` shows what was found.

pub mod findings;
pub mod model;
