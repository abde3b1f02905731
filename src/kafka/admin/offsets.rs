//! Where partitions end, by the word of a broker that has them, and whether it serves them at all.

use std::collections::BTreeMap;

use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{BrokerId as WireBrokerId, ListOffsetsRequest, ListOffsetsResponse};

use super::describe::wire_name;
use super::{Admin, AdminError};
use crate::ids::{HostPort, LeaderEpoch, PartitionIndex, TopicName, TopicPartition};
use crate::kafka::wire::error::ErrorCode;

/// The "time" that asks for the end.
const LATEST: i64 = -1;
/// The one that asks for the beginning.
const EARLIEST: i64 = -2;
/// Replica id of a consumer, which is shown only what is committed.
const CONSUMER: WireBrokerId = WireBrokerId(-1);
/// Replica id that Kafka keeps for debugging: shown all that is there, without counting as a follower.
const DEBUGGING: WireBrokerId = WireBrokerId(-2);
/// "Whatever your epoch is".
const ANY_EPOCH: i32 = -1;

/// Which end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// First offset that is there.
    Start,
    /// First offset that consumers cannot read yet. Only the leader tells.
    HighWatermark,
    /// First offset that does not exist yet, in that broker's own log: followers tell theirs too, if they are in the epoch that is asked for, or none is
    /// (Kafka: `Partition.getLocalLog`).
    LogEnd,
}

/// A partition to ask about, and the epoch that the broker is to be in; one in another gives no offset.
pub type InEpoch = (TopicPartition, Option<LeaderEpoch>);

impl Admin {
    /// Where these partitions end by that very broker's own word, asked once. Those that it gives no offset of are missing.
    ///
    /// # Errors
    /// No answer within the call's bound.
    pub async fn ends_of(&self, broker: &HostPort, end: End, partitions: &[InEpoch]) -> Result<BTreeMap<TopicPartition, i64>, AdminError> {
        let told = self.ends_or_codes(broker, end, partitions).await?;
        Ok(told.into_iter().filter_map(|(partition, end)| Some((partition, end.ok()?))).collect())
    }

    /// Whether that very broker serves these partitions to clients, in these epochs, asked once: where each ends for consumers, or why it is
    /// refused. Those that it says nothing of are missing.
    ///
    /// # Errors
    /// No answer within the call's bound.
    pub async fn served_by(
        &self,
        broker: &HostPort,
        partitions: &[InEpoch],
    ) -> Result<BTreeMap<TopicPartition, Result<i64, ErrorCode>>, AdminError> {
        self.ends_or_codes(broker, End::HighWatermark, partitions).await
    }

    async fn ends_or_codes(
        &self,
        broker: &HostPort,
        end: End,
        partitions: &[InEpoch],
    ) -> Result<BTreeMap<TopicPartition, Result<i64, ErrorCode>>, AdminError> {
        if partitions.is_empty() {
            return Ok(BTreeMap::new());
        }
        Ok(read_ends(self.ask(broker, &ends_request(end, partitions)).await?))
    }
}

pub(super) fn ends_request(end: End, partitions: &[InEpoch]) -> ListOffsetsRequest {
    let mut topics: BTreeMap<&TopicName, Vec<ListOffsetsPartition>> = BTreeMap::new();
    for (partition, epoch) in partitions {
        let asked = ListOffsetsPartition::default()
            .with_partition_index(partition.partition.0)
            .with_current_leader_epoch(epoch.map_or(ANY_EPOCH, |epoch| epoch.0))
            .with_timestamp(if end == End::Start { EARLIEST } else { LATEST });
        topics.entry(&partition.topic).or_default().push(asked);
    }
    let topic = |(name, partitions)| ListOffsetsTopic::default().with_name(wire_name(name)).with_partitions(partitions);
    ListOffsetsRequest::default()
        .with_replica_id(match end {
            End::Start | End::HighWatermark => CONSUMER,
            End::LogEnd => DEBUGGING,
        })
        .with_topics(topics.into_iter().map(topic).collect())
}

pub(super) fn read_ends(response: ListOffsetsResponse) -> BTreeMap<TopicPartition, Result<i64, ErrorCode>> {
    let mut ends = BTreeMap::new();
    for topic in response.topics {
        let name = TopicName::from(topic.name.as_str());
        for answer in topic.partitions {
            let partition = TopicPartition { topic: name.clone(), partition: PartitionIndex(answer.partition_index) };
            match ErrorCode::from_wire(answer.error_code) {
                Some(code) => ends.insert(partition, Err(code)),
                None if answer.offset >= 0 => ends.insert(partition, Ok(answer.offset)),
                None => None,
            };
        }
    }
    ends
}
