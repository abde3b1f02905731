//! What brokers answer, as plain values.

use crate::ids::{BrokerId, HostPort, LeaderEpoch, PartitionIndex, TopicId, TopicName, TopicPartition};
use crate::kafka::wire::error::ErrorCode;

/// One broker's own answer to Metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterView {
    /// The cluster's id.
    pub cluster_id: Option<String>,
    /// What the broker calls the controller. In KRaft this is **some live broker, chosen at random**, which forwards; who really is
    /// the active controller, [`QuorumView::leader`] tells.
    pub controller: Option<BrokerId>,
    /// Brokers that it lists (fenced ones are not), by id.
    pub brokers: Vec<BrokerView>,
    /// Topics that it lists, by name; those asked for that it does not know carry an error.
    pub topics: Vec<TopicView>,
}

impl ClusterView {
    /// A topic that the broker knows.
    #[must_use]
    pub fn topic(&self, name: &TopicName) -> Option<&TopicView> {
        self.topics.iter().find(|topic| topic.name == *name && topic.error.is_none())
    }

    /// A partition that the broker knows.
    #[must_use]
    pub fn partition(&self, partition: &TopicPartition) -> Option<&PartitionView> {
        self.topic(&partition.topic)?.partition(partition.partition)
    }

    /// Whether the broker lists this one.
    #[must_use]
    pub fn lists(&self, broker: BrokerId) -> bool {
        self.brokers.iter().any(|view| view.id == broker)
    }
}

/// A broker as another one lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerView {
    /// Its id.
    pub id: BrokerId,
    /// Its advertised listener.
    pub listener: HostPort,
    /// Its rack.
    pub rack: Option<String>,
    /// Whether the controller has fenced it; only `DescribeCluster` lists fenced brokers.
    pub is_fenced: bool,
}

/// A topic as one broker sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicView {
    /// Its name.
    pub name: TopicName,
    /// Its id; `None` if the broker did not tell.
    pub id: Option<TopicId>,
    /// Whether it is one of Kafka's own.
    pub is_internal: bool,
    /// Why the broker cannot describe it (3: unknown).
    pub error: Option<ErrorCode>,
    /// Its partitions, by index.
    pub partitions: Vec<PartitionView>,
}

impl TopicView {
    /// One of its partitions.
    #[must_use]
    pub fn partition(&self, partition: PartitionIndex) -> Option<&PartitionView> {
        self.partitions.iter().find(|view| view.partition == partition)
    }
}

/// A partition as one broker sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionView {
    /// Its index.
    pub partition: PartitionIndex,
    /// What is wrong with it (5: no leader).
    pub error: Option<ErrorCode>,
    /// Who leads it.
    pub leader: Option<BrokerId>,
    /// The leader's epoch; `None` if not told.
    pub leader_epoch: Option<LeaderEpoch>,
    /// Brokers that should hold it, preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// In-sync replicas.
    pub isr: Vec<BrokerId>,
    /// Replicas that are down.
    pub offline: Vec<BrokerId>,
}

impl PartitionView {
    /// Whether it has a leader and every replica is in sync.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.leader.is_some() && self.isr.len() == self.replicas.len() && self.replicas.iter().all(|replica| self.isr.contains(replica))
    }
}

/// The answer to `DescribeCluster`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterDescription {
    /// The cluster's id.
    pub cluster_id: String,
    /// As [`ClusterView::controller`].
    pub controller: Option<BrokerId>,
    /// Registered brokers by id, fenced ones too where the broker can tell.
    pub brokers: Vec<BrokerView>,
    /// Whether it can tell (Kafka 4.0 and later); if not, fenced brokers are missing.
    pub includes_fenced: bool,
}

/// Who may lead a partition besides its in-sync replicas (KIP-966), as one broker sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EligibleReplicas {
    /// Eligible leader replicas: not in sync, but with all that is committed.
    pub elr: Vec<BrokerId>,
    /// The last leader, or those that were eligible, when the others had to be given up; elected only uncleanly.
    pub last_known: Vec<BrokerId>,
}

/// The metadata quorum as its leader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumView {
    /// The active controller.
    pub leader: BrokerId,
    /// Its epoch.
    pub leader_epoch: LeaderEpoch,
    /// First offset of the controller's log that is not yet committed.
    pub high_watermark: i64,
    /// Nodes that vote, by id.
    pub voters: Vec<ReplicaView>,
    /// Nodes that only read (brokers that are no controllers), by id.
    pub observers: Vec<ReplicaView>,
}

impl QuorumView {
    /// The active controller's clock when it answered: its own last fetch is "now" by definition. `None`: it does not tell times.
    #[must_use]
    pub fn leader_time_ms(&self) -> Option<i64> {
        self.replicas().find(|replica| replica.id == self.leader)?.last_fetch_ms
    }

    /// Voters and observers.
    pub fn replicas(&self) -> impl Iterator<Item = &ReplicaView> {
        self.voters.iter().chain(&self.observers)
    }
}

/// How far one node has read the controller's log, as the active controller knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaView {
    /// The node.
    pub id: BrokerId,
    /// Where it fetches next; `None`: unknown.
    pub log_end_offset: Option<i64>,
    /// Wall-clock time of its last fetch in ms, by the controller's clock; `None`: unknown.
    pub last_fetch_ms: Option<i64>,
    /// Wall-clock time when it was last caught up in ms, by the controller's clock; `None`: unknown.
    pub last_caught_up_ms: Option<i64>,
}
