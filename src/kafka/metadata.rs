//! What a client believes of the cluster: an immutable snapshot, and the cell that publishes it.
//!
//! Reading takes no lock; a snapshot is replaced as a whole, so no reader sees half of an update. Not here: when to ask for a new one
//! and whether to believe it (`core::metadata`). Java's counterparts: `MetadataSnapshot`, `Cluster`.

mod cell;
#[cfg(test)]
mod every_order;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ids::{BrokerId, HostPort, LeaderEpoch, PartitionIndex, TopicId, TopicName, TopicPartition, UpdateVersion};
use crate::kafka::wire::error::ErrorCode;

pub use cell::SnapshotCell;

/// What the cell is made of; a test of every order of events puts others in their place.
mod parts {
    pub(super) use arc_swap::{ArcSwap, Guard};
    pub(super) use tokio::sync::watch;
}

/// The cluster as one client knows it.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The client's count of updates when this one was made.
    pub update_version: UpdateVersion,
    /// Nodes, shuffled: clients differ in whom they ask first.
    pub nodes: Vec<(BrokerId, HostPort)>,
    /// The cluster's id.
    pub cluster_id: Option<Arc<str>>,
    /// The controller, as a broker tells it.
    pub controller: Option<BrokerId>,
    /// Made from the bootstrap list: no topics, nodes with negative ids.
    pub is_bootstrap: bool,
    /// Looked into for every record, by names that the plan or the cluster's own admin chose: no need for a hash that resists an attacker.
    topics: TopicMap,
}

/// Topics by name.
pub type TopicMap = FxHashMap<TopicName, Arc<TopicView>>;

/// One topic in a [`Snapshot`].
#[derive(Clone, Debug, PartialEq)]
pub struct TopicView {
    /// Its id, where brokers gave one.
    pub id: Option<TopicId>,
    /// Whether it is internal.
    pub internal: bool,
    /// Its partitions, by index.
    pub partitions: Vec<PartitionView>,
    /// Indexes (in Kafka's sense) of the partitions whose leader is known, ascending.
    pub available: Vec<PartitionIndex>,
}

/// One partition in a [`TopicView`].
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionView {
    /// Its index.
    pub index: PartitionIndex,
    /// Error of the answer that it came with.
    pub error: Option<ErrorCode>,
    /// The leader that was named, known to be up or not.
    pub named_leader: Option<BrokerId>,
    /// The leader's epoch, where it can be trusted.
    pub epoch: Option<LeaderEpoch>,
    /// All replicas.
    pub replicas: Arc<[BrokerId]>,
    /// Those in sync.
    pub isr: Arc<[BrokerId]>,
    /// Those that are down.
    pub offline: Arc<[BrokerId]>,
}

impl TopicView {
    /// Whether the leader of a partition is known to be up.
    #[must_use]
    pub fn is_available(&self, index: PartitionIndex) -> bool {
        self.available.binary_search(&index).is_ok()
    }

    /// How many partitions there are; leaderless ones count.
    #[must_use]
    pub fn partition_count(&self) -> u32 {
        u32::try_from(self.partitions.len()).unwrap_or(u32::MAX)
    }

    /// A partition by index.
    #[must_use]
    pub fn partition(&self, index: PartitionIndex) -> Option<&PartitionView> {
        let position = usize::try_from(index.0).ok()?;
        // Dense in practice; a hole is left only by a stale answer to a partition that was not cached.
        match self.partitions.get(position) {
            Some(partition) if partition.index == index => Some(partition),
            _ => self.partitions.binary_search_by_key(&index, |partition| partition.index).ok().map(|found| &self.partitions[found]),
        }
    }
}

impl Snapshot {
    /// The snapshot of a client that has asked nobody yet: the bootstrap list under ids -1, -2, ... in configured order.
    #[must_use]
    pub fn bootstrap(addresses: &[HostPort], update_version: UpdateVersion) -> Self {
        let nodes = (1..).zip(addresses).map(|(number, address)| (BrokerId(-number), address.clone())).collect();
        Self { update_version, nodes, is_bootstrap: true, ..Self::default() }
    }

    /// A snapshot from its parts; partitions whose leader is not among `nodes` have no known leader.
    #[must_use]
    pub fn new(
        update_version: UpdateVersion,
        nodes: Vec<(BrokerId, HostPort)>,
        cluster_id: Option<Arc<str>>,
        controller: Option<BrokerId>,
        mut topics: TopicMap,
    ) -> Self {
        for topic in topics.values_mut() {
            let available = available_partitions(&topic.partitions, &nodes);
            if available != topic.available {
                Arc::make_mut(topic).available = available;
            }
        }
        Self { update_version, nodes, cluster_id, controller, is_bootstrap: false, topics }
    }

    /// This snapshot with other leaders for some of its partitions, and with these nodes: not an update, so the version stays. What is said of
    /// partitions that are not here is left out.
    #[must_use]
    pub fn with_leaders(&self, leaders: &[(TopicPartition, BrokerId, LeaderEpoch)], nodes: Vec<(BrokerId, HostPort)>) -> Self {
        let mut topics = self.topics.clone();
        for (at, leader, epoch) in leaders {
            let Some(topic) = topics.get_mut(&at.topic) else { continue };
            if let Some(partition) = Arc::make_mut(topic).partitions.iter_mut().find(|partition| partition.index == at.partition) {
                partition.named_leader = Some(*leader);
                partition.epoch = Some(*epoch);
            }
        }
        Self::new(self.update_version, nodes, self.cluster_id.clone(), self.controller, topics)
    }

    /// A topic, if it is known.
    #[must_use]
    pub fn topic(&self, name: &TopicName) -> Option<&Arc<TopicView>> {
        self.topics.get(name)
    }

    /// All topics.
    #[must_use]
    pub fn topics(&self) -> &TopicMap {
        &self.topics
    }

    /// How many partitions a topic has; `None` if it is unknown.
    #[must_use]
    pub fn partition_count(&self, name: &TopicName) -> Option<u32> {
        self.topic(name).map(|topic| topic.partition_count())
    }

    /// Where a node is.
    #[must_use]
    pub fn address_of(&self, node: BrokerId) -> Option<&HostPort> {
        self.nodes.iter().find(|(id, _)| *id == node).map(|(_, address)| address)
    }

    /// The leader of a partition and its epoch, if the leader is known to be up.
    #[must_use]
    pub fn leader(&self, name: &TopicName, index: PartitionIndex) -> Option<(BrokerId, Option<LeaderEpoch>)> {
        let partition = self.topic(name)?.partition(index)?;
        let leader = partition.named_leader?;
        self.address_of(leader).map(|_| (leader, partition.epoch))
    }
}

fn available_partitions(partitions: &[PartitionView], nodes: &[(BrokerId, HostPort)]) -> Vec<PartitionIndex> {
    let is_up = |leader: BrokerId| nodes.iter().any(|(id, _)| *id == leader);
    partitions.iter().filter(|partition| partition.named_leader.is_some_and(is_up)).map(|partition| partition.index).collect()
}

/// What differs between two snapshots, for whoever watches a client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SnapshotChanges {
    /// Topics with another partition count, or another id.
    pub partition_counts: Vec<CountChange>,
    /// Partitions with another leader or epoch.
    pub leaders: Vec<LeaderChange>,
}

/// Another partition count or topic id than before.
#[derive(Clone, Debug, PartialEq)]
pub struct CountChange {
    /// Of which topic.
    pub topic: TopicName,
    /// Its id now.
    pub topic_id: Option<TopicId>,
    /// Count before; 0 stands for unknown.
    pub from: u32,
    /// Count now; 0 stands for unknown.
    pub to: u32,
}

/// Another leader or epoch than before, or the topic has another id.
#[derive(Clone, Debug, PartialEq)]
pub struct LeaderChange {
    /// Of which partition.
    pub partition: TopicPartition,
    /// The topic's id.
    pub topic_id: Option<TopicId>,
    /// Known leader before.
    pub from: Option<BrokerId>,
    /// Known leader now.
    pub to: Option<BrokerId>,
    /// Epoch now.
    pub epoch: Option<LeaderEpoch>,
}

impl SnapshotChanges {
    /// Compares two snapshots topic by topic. A topic that the newer shares with the older costs one pointer comparison, unless nodes
    /// came or went.
    #[must_use]
    pub fn between(old: &Snapshot, new: &Snapshot) -> Self {
        let mut changes = Self::default();
        for (name, topic) in &new.topics {
            match old.topic(name) {
                Some(before) if Arc::ptr_eq(before, topic) => {}
                before => changes.compare_topic(name, before.map(|before| (old, &**before)), (new, topic)),
            }
        }
        for (name, before) in old.topics.iter().filter(|(name, _)| !new.topics.contains_key(*name)) {
            changes.partition_counts.push(CountChange { topic: name.clone(), topic_id: None, from: before.partition_count(), to: 0 });
        }
        changes
    }

    fn compare_topic(&mut self, name: &TopicName, old: Option<(&Snapshot, &TopicView)>, new: (&Snapshot, &TopicView)) {
        let (topic_id, to) = (new.1.id, new.1.partition_count());
        let from = old.map_or(0, |(_, topic)| topic.partition_count());
        let is_another = old.is_some_and(|(_, topic)| topic.id != topic_id);
        if from != to || is_another {
            self.partition_counts.push(CountChange { topic: name.clone(), topic_id, from, to });
        }
        for partition in &new.1.partitions {
            let known = |(snapshot, topic): (&Snapshot, &TopicView)| {
                let view = topic.partition(partition.index)?;
                Some((view.named_leader.filter(|leader| snapshot.address_of(*leader).is_some()), view.epoch))
            };
            let before = old.and_then(known);
            let (leader, epoch) = known(new).unwrap_or((None, None));
            if before != Some((leader, epoch)) || is_another {
                let partition = TopicPartition { topic: name.clone(), partition: partition.index };
                self.leaders.push(LeaderChange { partition, topic_id, from: before.and_then(|(leader, _)| leader), to: leader, epoch });
            }
        }
    }
}
