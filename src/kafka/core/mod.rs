//! The producer without its sockets: (state, event, now) -> actions.
//!
//! One core, because several of the Java client's rules cross the borders of its parts: no node takes Produce requests while a Metadata request is
//! due; a disconnect fails batches, counts as a failed refresh and asks for another. [`client::ProducerCore`] is the state; `metadata_flow` and
//! `produce_flow` are its two halves; the other modules are parts that know nothing of each other. Driven by `net`; tested with hand-made
//! moments.
//!
//! Their places are kept, their rules are not here yet: idempotence (sequences: `batch`, `produce_flow`), splitting of batches that are too large (`produce_flow`: they fail), compression (`wire::batch`).

pub mod accumulator;
mod adaptive;
pub mod backoff;
pub mod batch;
pub mod client;
pub mod config;
pub mod connections;
pub mod failure;
pub mod interest;
mod leader_hints;
pub mod memory;
pub mod metadata;
mod metadata_flow;
pub mod output;
pub mod partitioner;
mod produce_flow;
mod routes;

#[cfg(test)]
mod tests;
