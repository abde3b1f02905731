//! Kafka's client side: the wire, the producer, admin requests.
//!
//! `wire` (frames, batches, errors) <- `core` (the sans-IO producer: state, event, now -> actions) <- `net` (moves bytes and timers for
//! core) <- `admin` (one request at a time) <- `raft` (the controller's log). Not here: plans, Docker, reports; the client never learns that
//! it is measured, it tells one [`event::ClientObserver`] what it does.
//! Called by `engine` (producers), `cluster`, `fault` and `run` (admin requests), `probe` (admin requests, the controller's log).

pub mod admin;
pub mod core;
pub mod event;
pub mod metadata;
pub mod net;
pub mod raft;
pub mod wire;
