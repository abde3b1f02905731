//! Snapshots and topics of any size, three brokers, all leaders known.

use std::sync::Arc;

use kafka_chaos::ids::{BrokerId, HostPort, LeaderEpoch, PartitionIndex, TopicName, UpdateVersion};
use kafka_chaos::kafka::metadata::{PartitionView, Snapshot, TopicMap, TopicView};

/// The topic that everything happens on.
pub(crate) const TOPIC: &str = "orders";

/// Partitions per topic in snapshots with several.
pub(crate) const PARTITIONS_PER_TOPIC: i32 = 50;

/// Three brokers.
pub(crate) fn nodes() -> Vec<(BrokerId, HostPort)> {
    (1..=3).map(|id| (BrokerId(id), HostPort::new("127.0.0.1", 9092))).collect()
}

/// A topic of so many partitions.
pub(crate) fn topic_view(partitions: i32) -> TopicView {
    let replicas = || -> Arc<[BrokerId]> { (1..=3).map(BrokerId).collect() };
    let partition = |index: i32| PartitionView {
        index: PartitionIndex(index),
        error: None,
        named_leader: Some(BrokerId(index % 3 + 1)),
        epoch: Some(LeaderEpoch(0)),
        replicas: replicas(),
        isr: replicas(),
        offline: Arc::from([]),
    };
    let available = (0..partitions).map(PartitionIndex).collect();
    TopicView { id: None, internal: false, partitions: (0..partitions).map(partition).collect(), available }
}

/// A snapshot of so many partitions: [`TOPIC`] has the first [`PARTITIONS_PER_TOPIC`], further topics the others.
pub(crate) fn snapshot(partitions: i32, version: u64) -> Snapshot {
    let topics: TopicMap = topic_sizes(partitions).map(|(name, size)| (name, Arc::new(topic_view(size)))).collect();
    Snapshot::new(UpdateVersion(version), nodes(), None, None, topics)
}

/// The same cluster in the next update: topics are shared, as they are between consecutive snapshots of a client.
pub(crate) fn again(snapshot: &Snapshot, version: u64) -> Snapshot {
    let topics = snapshot.topics().clone();
    Snapshot::new(UpdateVersion(version), snapshot.nodes.clone(), snapshot.cluster_id.clone(), snapshot.controller, topics)
}

/// Names and sizes of topics that have so many partitions together.
pub(crate) fn topic_sizes(partitions: i32) -> impl Iterator<Item = (TopicName, i32)> {
    (0..(partitions + PARTITIONS_PER_TOPIC - 1) / PARTITIONS_PER_TOPIC).map(move |topic| {
        let name = if topic == 0 { TopicName::from(TOPIC) } else { TopicName::from(format!("{TOPIC}-{topic}").as_str()) };
        (name, PARTITIONS_PER_TOPIC.min(partitions - topic * PARTITIONS_PER_TOPIC))
    })
}
