//! What processes use: the load generator itself, and foreign clients that run apart from it.

use serde::{Deserialize, Serialize};

/// What the process of a group's foreign clients has used so far, told once a second. No part of the load generator's own figures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientProcess {
    /// The group.
    pub group: String,
    /// Which second, as in [`crate::record::fact::GroupSecond`].
    pub second: i64,
    /// CPU time of all its threads since its start, in microseconds; in steps of 10 ms.
    pub cpu_us_total: u64,
    /// Resident memory, in bytes.
    pub rss_bytes: u64,
    /// Threads.
    pub threads: u64,
}

/// The load generator's own health in one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratorSecond {
    /// Which second, as in [`crate::record::fact::GroupSecond`].
    pub second: i64,
    /// Lateness of sends (hand-over minus due, for sends that did not wait behind a blocked one), V2-deflate, base64, microseconds.
    pub lateness: Option<String>,
    /// Its exact greatest value, in microseconds; 0 without any.
    #[serde(default)]
    pub lateness_max_us: u64,
    /// How long after its end this second was told, in microseconds: what all of this process stood still for, with or without records due.
    #[serde(default)]
    pub told_late_us: u64,
    /// By how much the machine's wall clock has been set since the start, in microseconds.
    #[serde(default)]
    pub wall_set_by_us: i64,
    /// Connections to brokers that could not be made since the load began, for want of open files.
    #[serde(default)]
    pub refused_connections: u64,
    /// CPU time of this process so far, in microseconds.
    pub cpu_us_total: u64,
    /// Resident memory, in bytes.
    pub rss_bytes: u64,
    /// Threads.
    pub threads: u64,
}
