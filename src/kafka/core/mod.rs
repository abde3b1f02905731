//! core

pub mod backoff;
pub mod config;
pub mod connections;
pub mod interest;
pub mod metadata;
