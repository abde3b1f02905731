//! What a run was: the content of its first fact.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::record::consumers::ConsumerInfo;
use crate::record::requesters::RequesterInfo;

/// What a run was, so that its facts explain themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The run's id; also in the containers' labels.
    pub run_id: String,
    /// The plan's name.
    pub plan: String,
    /// The plan's text.
    pub plan_text: String,
    /// Its SHA-256.
    pub plan_sha256: String,
    /// The file it came from.
    pub plan_path: String,
    /// The seed in force.
    pub seed: u64,
    /// Wall-clock time of the start of `steady`, RFC 3339 in UTC.
    pub steady_at: String,
    /// Versions: `chaos`, `kafka`, `image`, `docker`, `kernel`, and of foreign engines such as `librdkafka`.
    pub versions: BTreeMap<String, String>,
    /// Machine: `cores`, `memory_bytes`, `cpu`.
    pub machine: BTreeMap<String, String>,
    /// Lengths of warm-up, steady and recovery in microseconds.
    pub phases_us: [i64; 3],
    /// Groups in plan order: name, engine, producers.
    pub groups: Vec<GroupInfo>,
    /// Requester groups in plan order.
    #[serde(default)]
    pub requesters: Vec<RequesterInfo>,
    /// Consumers in plan order.
    #[serde(default)]
    pub consumers: Vec<ConsumerInfo>,
    /// Problems that did not stop the run, for the reader.
    pub warnings: Vec<String>,
}

/// A group's identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupInfo {
    /// Its name.
    pub name: String,
    /// The client that makes its load.
    pub engine: String,
    /// How many producers.
    pub producers: u32,
    /// How many of them send through one client, the last client's perhaps fewer; `None`: each has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<NonZeroU32>,
}

impl GroupInfo {
    /// How many clients its producers send through.
    #[must_use]
    pub fn clients(&self) -> u32 {
        self.share.map_or(self.producers, |share| self.producers.div_ceil(share.get()))
    }
}
