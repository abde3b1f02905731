//! The producer without its sockets: (state, event, now) -> actions.
//!
//! One core, because several of the Java client's rules cross the borders of its parts: no node takes Produce requests while a Metadata request is
//! due; a disconnect fails batches, counts as a failed refresh and asks for another. [`client::ProducerCore`] is the state; `metadata_flow`,
//! `producer_id_flow`, `produce_flow` and `split` are what it does; the other modules are parts that know nothing of each other. Driven by
//! `net`; tested with hand-made moments.

pub mod accumulator;
mod adaptive;
pub mod backoff;
pub mod batch;
pub mod client;
mod compression_config;
pub mod compression_ratio;
pub mod config;
pub mod connections;
pub mod failure;
mod in_flight;
pub mod interest;
mod leader_hints;
pub mod memory;
pub mod metadata;
mod metadata_flow;
pub mod numbering;
pub mod output;
pub mod partitioner;
mod produce_flow;
pub mod producer_id;
mod producer_id_flow;
mod routes;
pub mod sequences;
mod split;
mod topic_queues;

#[cfg(test)]
mod tests;
