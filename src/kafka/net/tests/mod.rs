//! Tests of the producer with its driver against scripted brokers, in virtual time.

pub(crate) mod fake;
pub(crate) mod watcher;

mod faults;
mod first_send;
mod flow;
mod metadata_seen;
mod refused;
mod share;
mod wrong_bootstrap;
