//! cli

pub mod report;
