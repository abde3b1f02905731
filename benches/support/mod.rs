//! What the benchmarks share: made-up clusters, and a broker in memory.

#![allow(dead_code, clippy::unwrap_used, reason = "compiled into each benchmark, which uses a part of it and may panic")]

pub(crate) mod broker;
pub(crate) mod cluster;
