//! cli

pub mod plan;
