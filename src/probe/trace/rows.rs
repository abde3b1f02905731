//! The rows of a [`Picture`](super::Picture): one finding, node, address, partition each.
//!
//! Plain values; the field names are an interface (docs/trace.md). Made by `picture`.

use serde::Serialize;

use super::roll::{Role, Speaker};
use crate::ids::{BrokerId, PartitionIndex, TopicId, TopicName};
use crate::record::layer::Layer;

/// Something that is wrong.
#[derive(Clone, Debug, Serialize)]
pub struct FindingRow {
    /// What, for programs.
    pub cause: &'static str,
    /// The layer that is stuck by it.
    pub layer: Option<Layer>,
    /// Nodes that it is about.
    pub nodes: Vec<BrokerId>,
    /// The first partitions that it is about.
    pub partitions: Vec<String>,
    /// How many in all.
    pub partition_count: usize,
    /// It in a sentence.
    pub sentence: String,
    /// What to look at next.
    pub next: String,
}

/// The metadata quorum.
#[derive(Clone, Debug, Serialize)]
pub struct QuorumRow {
    /// The active controller.
    pub leader: BrokerId,
    /// Its epoch.
    pub leader_epoch: i32,
    /// First offset that is not committed.
    pub high_watermark: i64,
    /// Who votes.
    pub voters: Vec<BrokerId>,
}

/// A node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeRow {
    /// Its id.
    pub node: BrokerId,
    /// Whether it is a broker, or was one, and not only a controller.
    pub is_broker: bool,
    /// Its listener for clients.
    pub address: Option<String>,
    /// Whether it answers Metadata; `None`: it was not asked.
    pub answers: Option<bool>,
    /// Why it does not.
    pub why: Option<String>,
    /// The same in a word or two.
    pub why_short: Option<String>,
    /// Who lists it to clients.
    pub listed_by: Vec<Speaker>,
    /// How many could.
    pub listed_of: usize,
    /// Whether it is fenced.
    pub fenced: Option<bool>,
    /// Whether it has asked to stop, by the controllers' log; `None`: unknown.
    pub stopping: Option<bool>,
    /// Its registration's epoch, by the controllers' log; `None`: unknown.
    pub broker_epoch: Option<i64>,
    /// What it does in the quorum.
    pub role: Option<Role>,
    /// First offset of the controller's log that it does not have.
    pub log_end_offset: Option<i64>,
    /// Records that it is behind the active controller.
    pub behind: Option<i64>,
    /// Time since its last fetch.
    pub fetched_ms_ago: Option<i64>,
    /// Time since it had all.
    pub caught_up_ms_ago: Option<i64>,
    /// Whether its own requests reach the active controller.
    pub reaches_controller: Option<bool>,
    /// Topics that it shows.
    pub topics: Option<usize>,
    /// Partitions that it shows.
    pub partitions: Option<usize>,
    /// Partitions that it leads by the newest answers.
    pub leads: usize,
    /// Whether a finding is about it.
    pub is_marked: bool,
}

/// An address that is not one of a known broker's.
#[derive(Clone, Debug, Serialize)]
pub struct AddressRow {
    /// The address.
    pub address: String,
    /// Whether it answers Metadata.
    pub answers: bool,
    /// Why not.
    pub why: Option<String>,
}

/// A controller's own listener.
#[derive(Clone, Debug, Serialize)]
pub struct ControllerRow {
    /// Its address.
    pub address: String,
    /// Whether it is the active controller, by its own word; `None`: it did not say.
    pub active: Option<bool>,
    /// Why it did not say.
    pub why: Option<String>,
}

/// A partition.
#[derive(Clone, Debug, Serialize)]
pub struct PartitionRow {
    /// Its topic.
    pub topic: TopicName,
    /// Its index.
    pub partition: PartitionIndex,
    /// What is shown of it; the newest first, more than one if brokers differ.
    pub versions: Vec<VersionRow>,
    /// The same by the controllers' log; `None`: it is not there, or the log was not read.
    pub logged: Option<LoggedRow>,
    /// Eligible leader replicas; `None`: unknown.
    pub elr: Option<Vec<BrokerId>>,
    /// The last known eligible ones; `None`: unknown.
    pub last_known_elr: Option<Vec<BrokerId>>,
    /// First offset that consumers cannot read, by the leader's own word; `None`: not served, or unknown.
    pub high_watermark: Option<i64>,
    /// The code with which the leader refuses it.
    pub refused: Option<i16>,
    /// Its name.
    pub refused_name: Option<String>,
    /// Whether it differs or is not as it should be.
    pub is_marked: bool,
}

/// A partition as the controllers' log has it.
#[derive(Clone, Debug, Serialize)]
pub struct LoggedRow {
    /// The topic's id.
    pub topic_id: TopicId,
    /// Who leads it; `None`: nobody.
    pub leader: Option<BrokerId>,
    /// Its epoch.
    pub leader_epoch: i32,
    /// Rises with each change.
    pub partition_epoch: i32,
    /// Its replicas, preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// In-sync replicas.
    pub isr: Vec<BrokerId>,
    /// Whether brokers show something older.
    pub is_newer: bool,
}

/// A partition as some brokers show it.
#[derive(Clone, Debug, Serialize)]
pub struct VersionRow {
    /// Who.
    pub shown_by: Vec<Speaker>,
    /// Whether they know it.
    pub known: bool,
    /// The topic's id.
    pub topic_id: Option<TopicId>,
    /// Who leads it; `None`: nobody.
    pub leader: Option<BrokerId>,
    /// Its epoch.
    pub leader_epoch: Option<i32>,
    /// Its replicas, preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// In-sync replicas.
    pub isr: Vec<BrokerId>,
    /// Replicas that are down.
    pub offline: Vec<BrokerId>,
    /// The error code that is shown with it.
    pub error: Option<i16>,
}
