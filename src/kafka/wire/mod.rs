//! Bytes of Kafka's protocol: frames, API versions, error classes, record batches.
//!
//! Messages come from the `kafka-protocol` crate, and only this module and its users inside `kafka` see them. Not here: sockets, retries.

pub mod batch;
pub mod compression;
pub mod error;
pub mod frame;
mod layouts;
pub mod log;
pub mod messages;
pub mod outgoing;
pub mod produce_request;
pub mod producer_id;
pub mod records;
mod shape;
pub mod versions;

#[cfg(test)]
mod tests;
