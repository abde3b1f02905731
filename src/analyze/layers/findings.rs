//! What is said of the layers, as plain values: part of the run's findings, and so of `run.json`.
//!
//! Field names are an interface: `docs/results.md` lists them. Times are in milliseconds since the start of `steady`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::analyze::spread::Spread;
use crate::record::layer::Layer;

/// What the layers made of one step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerFinding {
    /// The step.
    pub step: u32,
    /// When it was requested: the fault.
    pub began_ms: i64,
    /// Partitions that the controller's log changed because of it.
    pub partitions: u64,
    /// Those of them that have another leader, or an epoch more.
    pub leaders_changed: u64,
    /// Producer-partition pairs whose records waited because of it: its own outages.
    pub waits: u64,
    /// Those of them that cannot be explained: nobody looked at the partition.
    pub unexplained: u64,
    /// The layer that held the change up, on the way to the last first ack; `None`: none, beyond ordinary time.
    pub held: Option<Held>,
    /// The same on the way to the median first ack of those that waited.
    pub held_median: Option<Held>,
    /// The layers of the partition that was served last.
    pub waterfall: Option<Waterfall>,
    /// The layers of all partitions (and, of the clients' layers, all their producers): time since the fault.
    pub spreads: Vec<LayerSpread>,
    /// How long brokers disagreed, leaders that went to and fro, and the like, in words.
    pub remarks: Vec<String>,
}

/// Where a change was held up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// In which layer.
    pub layer: Layer,
    /// At which node, where it is one's.
    pub node: Option<i32>,
    /// In which group's producers, where it is theirs.
    pub group: Option<String>,
    /// For which partition, such as `orders/3`, where it is one's.
    pub partition: Option<String>,
    /// Since when.
    pub since_ms: i64,
    /// For how long; until the end of the run where it is stuck.
    pub for_ms: i64,
    /// Of how long in all, from the fault (or the first record that waited) to the acknowledgement.
    pub of_ms: i64,
    /// It had not followed by the end.
    pub is_stuck: bool,
    /// The same in words.
    pub in_words: String,
}

/// A change on its way through the layers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waterfall {
    /// Of which partition; `None`: the change is of none.
    pub partition: Option<String>,
    /// What changed, in words, such as `leader 2 -> 3, epoch 4 -> 5`.
    pub change: String,
    /// Offset of the record in the controller's log.
    pub offset: i64,
    /// The last first acknowledgement after it; `None`: there was none, or nobody sent.
    pub last_ack_ms: Option<i64>,
    /// Its stages, each after those that it depends on.
    pub stages: Vec<StageFinding>,
    /// How the wait for the last first ack is charged to layers, in order; empty if no record waited.
    pub segments: Vec<SegmentFinding>,
}

/// A stage of a change: a layer, at a node or for a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageFinding {
    /// Which layer.
    pub layer: Layer,
    /// At which node.
    pub node: Option<i32>,
    /// For which group's producers.
    pub group: Option<String>,
    /// What was seen, in words.
    pub what: String,
    /// The last look that saw the old state (or the stage before cannot have been earlier); `None`: nobody looked.
    pub not_before_ms: Option<i64>,
    /// The first look that saw the new state. Of a group: when the last producer that got there did. `None`: it was not seen.
    pub time_ms: Option<i64>,
    /// Seen only after something that depends on it; its time is that one's.
    pub is_pulled_in: bool,
    /// The node was down when the record was made.
    pub is_down: bool,
    /// Of a group: from the fault, over its producers that got there.
    pub after_ms: Option<Spread>,
    /// Of a group: producers that did not.
    pub never: u64,
    /// Of a client cache: how many learned by which reason of a request (`leader_hint`: by an answer to Produce).
    pub by_reason: BTreeMap<String, u64>,
    /// Of a client cache: how many were told by which broker.
    pub by_node: BTreeMap<i32, u64>,
}

/// Part of a wait, charged to a layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentFinding {
    /// Which layer.
    pub layer: Layer,
    /// At which node.
    pub node: Option<i32>,
    /// In which group's producers.
    pub group: Option<String>,
    /// From when.
    pub since_ms: i64,
    /// How long.
    pub for_ms: i64,
}

/// A layer over all partitions of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerSpread {
    /// Which layer.
    pub layer: Layer,
    /// At which node.
    pub node: Option<i32>,
    /// For which group's producers.
    pub group: Option<String>,
    /// Since the fault.
    pub after_ms: Option<Spread>,
    /// Partitions (or producer-partition pairs) of which it was not seen.
    pub not_seen: u64,
}

/// What looking at the layers has cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeFinding {
    /// Requests by name.
    pub requests: BTreeMap<String, u64>,
    /// Bytes sent.
    pub request_bytes: u64,
    /// Bytes received.
    pub response_bytes: u64,
    /// CPU in percent of one core, over the seconds in which nothing made them look often; `None`: unknown, or there was no such second.
    pub quiet_cpu_percent: Option<f64>,
    /// The same over the other seconds.
    pub fast_cpu_percent: Option<f64>,
    /// How many seconds those were.
    pub fast_seconds: u64,
    /// What the layers still disagreed on when the probes gave up looking often, with the time; the first ten.
    pub gave_up: Vec<String>,
}
