//! Sockets and timers for `core`, and the handles that users hold.
//!
//! [`producer::Producer`] is the client under load; one driver task moves each.

pub mod connector;
mod driver;
pub mod producer;
mod shared;
