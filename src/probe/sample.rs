//! For tests: answers of brokers and states of partitions, in short.

use crate::ids::{BrokerId, HostPort, LeaderEpoch, PartitionIndex, TopicId};
use crate::kafka::admin::{BrokerView, ClusterView, ErrorCode, PartitionView, TopicView};
use crate::record::layer::{BrokerState, PartitionState};

/// Name, number of its id (0: the topic is unknown), and leader and epoch of each partition. A leader of -1 is none.
pub(super) type TopicSample<'a> = (&'a str, u128, &'a [(i32, i32)]);

/// Replicas and ISR of every partition in a sample.
const REPLICAS: [BrokerId; 2] = [BrokerId(1), BrokerId(2)];

/// A broker's answer.
pub(super) fn view(brokers: &[i32], topics: &[TopicSample<'_>]) -> ClusterView {
    let broker = |id: &i32| BrokerView { id: BrokerId(*id), listener: HostPort::new("127.0.0.1", 1), rack: None, is_fenced: false };
    let mut topics: Vec<_> = topics.iter().map(|(name, id, partitions)| topic_view(name, *id, partitions)).collect();
    topics.sort_by(|left, right| left.name.cmp(&right.name));
    ClusterView { cluster_id: None, controller: None, brokers: brokers.iter().map(broker).collect(), topics }
}

fn topic_view(name: &str, id: u128, partitions: &[(i32, i32)]) -> TopicView {
    let partition = |(index, (leader, epoch)): (i32, &(i32, i32))| PartitionView {
        partition: PartitionIndex(index),
        error: (*leader < 0).then_some(ErrorCode::LEADER_NOT_AVAILABLE),
        leader: (*leader >= 0).then_some(BrokerId(*leader)),
        leader_epoch: Some(LeaderEpoch(*epoch)),
        replicas: REPLICAS.to_vec(),
        isr: REPLICAS.to_vec(),
        offline: Vec::new(),
    };
    TopicView {
        name: name.into(),
        id: (id != 0).then(|| topic_id(id)),
        is_internal: false,
        error: (id == 0).then_some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        partitions: (0..).zip(partitions).map(partition).collect(),
    }
}

/// The same partitions as the controller has them.
pub(super) fn partitions(topics: &[TopicSample<'_>]) -> Vec<PartitionState> {
    let of = |(name, id, partitions): &TopicSample<'_>| {
        let state = |(index, (leader, epoch)): (i32, &(i32, i32))| PartitionState {
            topic: (*name).into(),
            topic_id: topic_id(*id),
            partition: PartitionIndex(index),
            leader: (*leader >= 0).then_some(BrokerId(*leader)),
            leader_epoch: LeaderEpoch(*epoch),
            partition_epoch: *epoch,
            replicas: REPLICAS.to_vec(),
            isr: REPLICAS.to_vec(),
            elr: Vec::new(),
            is_unclean: false,
        };
        (0..).zip(*partitions).map(state).collect::<Vec<_>>()
    };
    topics.iter().flat_map(of).collect()
}

/// Brokers as the controller has them; negative ids are fenced.
pub(super) fn brokers(ids: &[i32]) -> Vec<BrokerState> {
    let state = |id: &i32| BrokerState { broker: BrokerId(id.abs()), broker_epoch: 1, is_fenced: *id < 0, in_controlled_shutdown: false };
    ids.iter().map(state).collect()
}

pub(super) fn topic_id(id: u128) -> TopicId {
    TopicId(uuid::Uuid::from_u128(id))
}
