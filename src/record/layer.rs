//! What each layer of the cluster was seen to hold: the controller's log, each node's copy of it, each broker's own answers, each leader's
//! readiness to serve.
//!
//! Parts of facts, as plain values: who saw them and when stands with the fact. Told by `probe`; the clients' own layers (cache, route,
//! delivery) are facts of their engines. Times are in microseconds since the start of `steady`, on this program's clock unless a field says
//! otherwise. What was never asked, or not answered, is absent; it is never 0.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{BrokerId, LeaderEpoch, PartitionIndex, TopicId, TopicName};

/// A link of the way from a change to the first record that is acknowledged after it. In the order in which they depend on each other, as far
/// as there is one: a node may have fetched a record before it is committed, and a leader may serve before a client knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The controller has noticed, and made a record of it.
    Detected,
    /// The record is committed: a majority of the controllers has it. Not so while there is no active controller.
    Committed,
    /// A node has fetched the record.
    Fetched,
    /// A broker's own answers show it.
    BrokerCache,
    /// The new leader accepts requests in its epoch.
    Servable,
    /// A producer's cache shows it.
    ClientCache,
    /// A producer's requests reach the new leader.
    Route,
    /// A record is acknowledged again.
    Delivery,
}

impl Layer {
    /// The name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Detected => "detected",
            Self::Committed => "committed",
            Self::Fetched => "fetched",
            Self::BrokerCache => "broker_cache",
            Self::Servable => "servable",
            Self::ClientCache => "client_cache",
            Self::Route => "route",
            Self::Delivery => "delivery",
        }
    }
}

/// A record of the controller's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControllerRecord {
    /// Its offset.
    pub offset: i64,
    /// Epoch of the active controller that wrote it.
    pub controller_epoch: LeaderEpoch,
    /// When the active controller made its batch: by the controller's clock, to the millisecond, and before it waited to be written
    /// (`controller.quorum.append.linger.ms`).
    pub controller_time_us: i64,
    /// What it says.
    #[serde(flatten)]
    pub change: ControllerChange,
}

/// What a record of the controller's log changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ControllerChange {
    /// A broker has registered, for the first time or again: it is fenced until it has caught up.
    BrokerRegistered(BrokerState),
    /// A broker is fenced, unfenced, or about to stop.
    BrokerChanged(BrokerState),
    /// A broker is no part of the cluster any more.
    BrokerUnregistered {
        /// Which.
        broker: BrokerId,
    },
    /// A topic was made; its partitions follow.
    TopicMade {
        /// Its name.
        topic: TopicName,
        /// Its id.
        topic_id: TopicId,
    },
    /// A topic is deleted.
    TopicRemoved {
        /// Its name.
        topic: TopicName,
        /// Its id.
        topic_id: TopicId,
    },
    /// A partition was made (also: a topic grew).
    PartitionMade(PartitionState),
    /// A partition's leader, ISR or replicas have changed.
    PartitionChanged(PartitionState),
    /// A property of a topic or a broker was set or removed.
    Config {
        /// `topic` or `broker`.
        kind: String,
        /// Which; empty: the default of all brokers.
        name: String,
        /// The property.
        key: String,
        /// Its value; `None`: removed.
        value: Option<String>,
    },
    /// A feature has another level.
    FeatureLevel {
        /// Which, such as `metadata.version`.
        feature: String,
        /// Its level.
        level: i16,
    },
    /// A controller has become the active one (the first record of its epoch).
    ControllerElected {
        /// Which.
        node: BrokerId,
    },
    /// What the record changes is not known: it cannot be read, or does not fit what was read before.
    NotTakenIn {
        /// Why, in words.
        reason: String,
    },
}

/// A broker as the controller's log has it after a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerState {
    /// Which.
    pub broker: BrokerId,
    /// Rises with each registration.
    pub broker_epoch: i64,
    /// A fenced broker leads nothing and is not shown to clients.
    pub is_fenced: bool,
    /// It has asked to stop: its leaderships are being moved away.
    pub in_controlled_shutdown: bool,
}

/// A partition as the controller's log has it after a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionState {
    /// The topic.
    pub topic: TopicName,
    /// Its id.
    pub topic_id: TopicId,
    /// The partition.
    pub partition: PartitionIndex,
    /// Its leader; `None`: it has none.
    pub leader: Option<BrokerId>,
    /// Rises by one at each election.
    pub leader_epoch: LeaderEpoch,
    /// Rises by one at each change.
    pub partition_epoch: i32,
    /// Its replicas, preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// In-sync replicas.
    pub isr: Vec<BrokerId>,
    /// Eligible leader replicas (KIP-966): not in sync, but with all that is committed.
    pub elr: Vec<BrokerId>,
    /// Its leader was elected although it may lack committed records, and has not recovered from that yet.
    pub is_unclean: bool,
}

/// The controller's log as a whole at one offset, restricted to the topics that are watched; what changes later comes as records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControllerImage {
    /// Offset of the last record that is in it.
    pub offset: i64,
    /// The active controller that it was read from.
    pub controller: Option<BrokerId>,
    /// Registered brokers, by id.
    pub brokers: Vec<BrokerState>,
    /// Partitions of watched topics, by topic and index.
    pub partitions: Vec<PartitionState>,
}

/// Part of a broker's own answer to Metadata that differs from its answer before. All parts are told of its first answer, and of the first
/// after it showed nothing. Sets of brokers are in the order of ids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "shows", rename_all = "snake_case")]
#[non_exhaustive]
pub enum BrokerShows {
    /// Nothing: it does not answer.
    Nothing {
        /// Why, in words.
        why: String,
    },
    /// Brokers that it lists to clients (fenced ones are not).
    Brokers {
        /// By id.
        brokers: Vec<BrokerId>,
    },
    /// A watched topic as a whole.
    Topic {
        /// The topic.
        topic: TopicName,
        /// Its id; `None`: the broker does not know the topic.
        topic_id: Option<TopicId>,
        /// How many partitions it has; 0 if the broker does not know the topic.
        partition_count: u32,
        /// The error code of the topic, such as 3 (UNKNOWN_TOPIC_OR_PARTITION).
        error: Option<i16>,
    },
    /// A partition of a watched topic.
    Partition {
        /// The topic.
        topic: TopicName,
        /// Its id.
        topic_id: Option<TopicId>,
        /// The partition.
        partition: PartitionIndex,
        /// Its leader; `None`: the broker knows none.
        leader: Option<BrokerId>,
        /// Its leader's epoch.
        leader_epoch: Option<LeaderEpoch>,
        /// In-sync replicas.
        isr: Vec<BrokerId>,
        /// Replicas that are down.
        offline: Vec<BrokerId>,
        /// The error code of the partition, such as 5 (LEADER_NOT_AVAILABLE).
        error: Option<i16>,
    },
}

/// What looking at the layers has cost in one second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeSecond {
    /// Which second, as in [`GroupSecond`](super::fact::GroupSecond).
    pub second: i64,
    /// Requests by Kafka's name of them, such as `Metadata`.
    pub requests: BTreeMap<String, u64>,
    /// Bytes sent.
    pub request_bytes: u64,
    /// Bytes received.
    pub response_bytes: u64,
    /// CPU time of the probes' own thread; `None`: the system does not tell.
    pub cpu_us: Option<u64>,
    /// For how much of the second they looked as often as they can, because something changed.
    pub fast_ms: u64,
    /// What the layers still disagreed on, in words, when the probes gave up looking as often as they can in this second; `None`: they did not
    /// have to give up.
    pub unsettled: Option<String>,
}
