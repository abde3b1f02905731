//! Sockets: bytes in and out, every wait bounded.
//!
//! Not here: what the bytes mean to a producer (`core`), how they are laid out (`wire`).

pub mod rpc;
