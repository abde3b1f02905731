//! What a run leaves for people and programs: the summary at the end ([`text`]), `run.json` ([`json`]), and the writer that keeps a run's
//! folder complete while it goes ([`results`]), JUnit's form of it ([`junit`]), the reader of a folder that a run has left ([`replay`]),
//! figures for Prometheus while it goes ([`exposition`]); and the same of several runs that were compared ([`compare`]).
//!
//! Nothing is computed here that `analyze` could compute. Used by `run/` (live) and by `chaos report` (from the file).

pub mod compare;
pub mod exposition;
pub mod html;
pub mod json;
pub mod junit;
pub mod replay;
pub mod results;
pub mod text;
