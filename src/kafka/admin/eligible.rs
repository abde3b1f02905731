//! Who may lead a partition when no replica is in sync (KIP-966).

use std::collections::BTreeMap;

use kafka_protocol::messages::describe_topic_partitions_request::TopicRequest;
use kafka_protocol::messages::{BrokerId as WireBrokerId, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse};

use super::describe::{known_broker, wire_name};
use super::view::EligibleReplicas;
use super::{Admin, AdminError};
use crate::ids::{HostPort, PartitionIndex, TopicName, TopicPartition};
use crate::kafka::wire::error::ErrorCode;

/// Partitions of one answer: Kafka's own default, and by default the most that it gives (`max.request.partition.size.limit`).
const PARTITIONS_MAX: i32 = 2_000;

impl Admin {
    /// Eligible leader replicas of these topics' partitions by that very broker's own word, asked once. Topics that it does not know, and
    /// partitions beyond the first 2,000, are missing.
    ///
    /// # Errors
    /// No answer within the call's bound; among others since the broker is too old to know the question.
    pub async fn eligible_of(
        &self,
        broker: &HostPort,
        topics: &[TopicName],
    ) -> Result<BTreeMap<TopicPartition, EligibleReplicas>, AdminError> {
        Ok(read_eligible(self.ask(broker, &eligible_request(topics)).await?))
    }
}

fn eligible_request(topics: &[TopicName]) -> DescribeTopicPartitionsRequest {
    let named = topics.iter().map(|topic| TopicRequest::default().with_name(wire_name(topic)));
    DescribeTopicPartitionsRequest::default().with_topics(named.collect()).with_response_partition_limit(PARTITIONS_MAX)
}

fn read_eligible(response: DescribeTopicPartitionsResponse) -> BTreeMap<TopicPartition, EligibleReplicas> {
    let ids = |nodes: Vec<WireBrokerId>| nodes.into_iter().filter_map(known_broker).collect();
    let mut eligible = BTreeMap::new();
    for topic in response.topics.into_iter().filter(|topic| ErrorCode::from_wire(topic.error_code).is_none()) {
        let Some(name) = topic.name.map(|name| TopicName::from(name.as_str())) else { continue };
        for view in topic.partitions.into_iter().filter(|view| ErrorCode::from_wire(view.error_code).is_none()) {
            // Null: the broker does not say.
            let (Some(elr), Some(last_known)) = (view.eligible_leader_replicas, view.last_known_elr) else { continue };
            let partition = TopicPartition { topic: name.clone(), partition: PartitionIndex(view.partition_index) };
            eligible.insert(partition, EligibleReplicas { elr: ids(elr), last_known: ids(last_known) });
        }
    }
    eligible
}
