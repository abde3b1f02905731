//! Sockets and timers: the driver of `core` with the handles that users hold, and a connection for one request at a time. Every wait is
//! bounded.
//!
//! [`producer::Producer`] is the client under load; one driver task moves each. [`rpc`] is what admin requests use, [`traffic`] what they
//! have cost, [`exhausted`] what could not be made for want of open files, [`security`] how either's connections are secured. Not here: what the
//! bytes mean to a producer (`core`), how they are laid out (`wire`).

pub mod connector;
mod doorbell;
mod driver;
#[cfg(test)]
mod every_order;
pub mod exhausted;
pub mod producer;
pub mod rpc;
pub mod security;
mod shared;
pub mod traffic;

/// What the bell is made of; a test of every order of events puts others in their place.
mod parts {
    pub(super) use std::sync::atomic::{AtomicBool, Ordering};

    pub(super) use futures_util::task::AtomicWaker;
}

#[cfg(test)]
mod tests;
