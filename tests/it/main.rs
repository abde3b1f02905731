//! Integration tests, in one binary: linking is most of their cost.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod plan_check;
mod plan_command;
mod plan_docs;
mod plan_files;
