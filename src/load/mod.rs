//! When records are due and what they hold: pure functions of the plan and its seed.
//!
//! Not here: clocks, sleeping, clients (`engine`). Nothing depends on the worker or the machine that runs a producer: the same plan and seed
//! give the same due times, keys and payloads anywhere. Called by `engine`; `payload::parse` by audits of what a topic holds.

pub mod arrivals;
#[cfg(test)]
mod golden;
pub mod keys;
pub mod payload;
pub mod seed;
