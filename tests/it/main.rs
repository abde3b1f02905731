//! The integration tests, in one binary (linking is most of their cost): what the modules may import, what the documents promise, what the
//! program says, and real runs.
//!
//! Tests that start containers need `CHAOS_TEST_BROKERS=1`, those that open pages `CHAOS_TEST_BROWSER=1` (`make test` sets both); without
//! it they print that they were skipped.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![allow(clippy::print_stderr, reason = "a test says what it waits for, and why it is skipped")]

mod audit;
mod blind;
mod cluster;
mod codecs;
mod command_line;
mod compare;
mod documents;
mod every_step;
mod java;
mod layers;
#[cfg(feature = "librdkafka")]
mod librdkafka;
mod licences;
mod losses;
mod page;
mod plan_check;
mod plan_command;
mod plan_docs;
mod plan_expectations;
mod plan_files;
mod plan_security;
mod plan_steps;
mod producer_config;
mod program;
mod runs;
mod security;
mod shell;
mod structure;
mod support;
mod surviving;
mod tail;
mod trace;
