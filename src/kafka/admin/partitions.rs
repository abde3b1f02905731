//! Changes of single partitions of a topic: who leads them, and which brokers hold them.
//!
//! Both are carried out by the active controller, through any broker. Not here: making and growing topics (`topics`).

use kafka_protocol::messages::alter_partition_reassignments_request::{ReassignablePartition, ReassignableTopic};
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::list_partition_reassignments_request::ListPartitionReassignmentsTopics;
use kafka_protocol::messages::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, BrokerId as WireBrokerId, ElectLeadersRequest,
    ElectLeadersResponse, ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse,
};
use kafka_protocol::protocol::{Request, StrBytes};

use super::describe::wire_name;
use super::topics::to_wire_ms;
use super::{Admin, AdminError, Failure, PartitionFailure, is_passing};
use crate::ids::{BrokerId, HostPort, PartitionIndex, TopicName, TopicPartition};
use crate::kafka::wire::error::ErrorCode;

/// ELECTION_NOT_NEEDED
const NOT_NEEDED: ErrorCode = ErrorCode(84);

/// How a leader is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Election {
    /// The first replica, if it is in sync.
    Preferred,
    /// Any live replica of a partition that has no leader, at the risk of losing records.
    Unclean,
}

/// Replicas of one partition, preferred leader first.
pub type Replicas = (PartitionIndex, Vec<BrokerId>);

/// One partition's result on the wire.
type Outcome = (i32, i16, Option<StrBytes>);

/// A change of a topic's partitions, and how its response is read.
trait Change: Sync {
    /// The request.
    type Asked: Request + Sync;
    /// Kafka's name of the request.
    const ASKED: &'static str;
    /// "It is so already."
    const ALREADY: Option<ErrorCode>;

    /// One request for some of the partitions.
    fn request(&self, topic: &TopicName, partitions: &[PartitionIndex], timeout_ms: i32) -> Self::Asked;
    /// The results, or the code and message of the whole request.
    fn results(response: <Self::Asked as Request>::Response) -> Result<Vec<Outcome>, (ErrorCode, Option<StrBytes>)>;
}

impl Admin {
    /// Elects leaders of these partitions. Returns those that have another one for it; the others needed none.
    ///
    /// # Errors
    /// [`AdminError::Partitions`] for those that have no such leader to elect; any other if no broker could be asked in time.
    pub async fn elect_leaders(
        &self,
        election: Election,
        topic: &TopicName,
        partitions: &[PartitionIndex],
    ) -> Result<Vec<PartitionIndex>, AdminError> {
        self.change_partitions(&election, topic, partitions.to_vec()).await
    }

    /// Moves partitions to these replicas. Returns when the controller has taken it on; moving goes on from there.
    ///
    /// # Errors
    /// [`AdminError::Partitions`] for those that Kafka refuses; any other if no broker could be asked in time.
    pub async fn reassign(&self, topic: &TopicName, replicas: &[Replicas]) -> Result<(), AdminError> {
        let partitions = replicas.iter().map(|(partition, _)| *partition).collect();
        self.change_partitions(replicas, topic, partitions).await.map(|_| ())
    }

    /// Partitions of a topic that are on their way to other replicas, asked once through this broker, which forwards to the controller.
    ///
    /// # Errors
    /// No answer within the call's bound, or the broker did not reach the active controller.
    pub async fn reassigning(
        &self,
        broker: &HostPort,
        topic: &TopicName,
        partitions: &[PartitionIndex],
    ) -> Result<Vec<PartitionIndex>, AdminError> {
        let asked = ListPartitionReassignmentsTopics::default()
            .with_name(wire_name(topic))
            .with_partition_indexes(partitions.iter().map(|partition| partition.0).collect());
        let request =
            ListPartitionReassignmentsRequest::default().with_topics(Some(vec![asked])).with_timeout_ms(to_wire_ms(self.call_timeout));
        read_ongoing(self.ask(broker, &request).await?)
    }

    /// Asks until every partition is settled or patience is over; those that were changed.
    async fn change_partitions<C: Change + ?Sized>(
        &self,
        change: &C,
        topic: &TopicName,
        mut pending: Vec<PartitionIndex>,
    ) -> Result<Vec<PartitionIndex>, AdminError> {
        let give_up_at = self.clock.now() + self.patience;
        let timeout_ms = to_wire_ms(self.call_timeout);
        let mut settled = Settled::default();
        let mut turn = 0;
        while !pending.is_empty() {
            let (index, broker) = self.bootstrap_at(turn).ok_or(AdminError::NoBootstrap)?;
            let failure = match self.ask_fresh(broker, &change.request(topic, &pending, timeout_ms)).await {
                Ok(response) => {
                    self.prefer(index);
                    match C::results(response) {
                        Ok(results) => settled.take::<C>(topic, results, &mut pending),
                        Err((code, message)) => {
                            settled.sent_before |= code == ErrorCode::REQUEST_TIMED_OUT;
                            Some(Failure::refused(C::ASKED, code, message.as_ref()))
                        }
                    }
                }
                Err(error) => {
                    settled.sent_before |= error.is_ambiguous();
                    Some(Failure::from(error))
                }
            };
            if let Some(failure) = failure {
                self.pause_before_retry(failure, give_up_at).await?;
            }
            turn += 1;
        }
        if settled.refused.is_empty() { Ok(settled.changed) } else { Err(AdminError::Partitions { failed: settled.refused }) }
    }
}

/// What is known of the partitions of a change.
#[derive(Debug, Default)]
struct Settled {
    changed: Vec<PartitionIndex>,
    refused: Vec<PartitionFailure>,
    /// Whether what is pending may have been carried out by an earlier try: "it is so already" then means that it was.
    sent_before: bool,
}

impl Settled {
    /// Sorts one response. What is settled leaves `pending`; returned is why the rest is to be asked for again.
    fn take<C: Change + ?Sized>(&mut self, topic: &TopicName, results: Vec<Outcome>, pending: &mut Vec<PartitionIndex>) -> Option<Failure> {
        let mut passing = Vec::new();
        for (partition, code, message) in results {
            let partition = PartitionIndex(partition);
            if !pending.contains(&partition) {
                continue;
            }
            match ErrorCode::from_wire(code) {
                None => self.changed.push(partition),
                Some(code) if Some(code) == C::ALREADY => self.changed.extend(self.sent_before.then_some(partition)),
                Some(code) => {
                    let partition = TopicPartition { topic: topic.clone(), partition };
                    let failure = PartitionFailure { partition, code, message: message.map(|text| text.to_string()) };
                    if is_passing(code) {
                        passing.push(failure);
                        continue;
                    }
                    self.refused.push(failure);
                }
            }
            pending.retain(|known| *known != partition);
        }
        if pending.is_empty() {
            return None;
        }
        // What the answer says nothing of may be done, too.
        let is_left_out = pending.len() > passing.len();
        self.sent_before |= is_left_out || passing.iter().any(|failure| failure.code == ErrorCode::REQUEST_TIMED_OUT);
        Some(Failure::Again(match passing.is_empty() {
            true => AdminError::Incomplete { asked: C::ASKED, missing: "partition" },
            false => AdminError::Partitions { failed: passing },
        }))
    }
}

impl Change for Election {
    type Asked = ElectLeadersRequest;
    const ASKED: &'static str = "ElectLeaders";
    const ALREADY: Option<ErrorCode> = Some(NOT_NEEDED);

    fn request(&self, topic: &TopicName, partitions: &[PartitionIndex], timeout_ms: i32) -> ElectLeadersRequest {
        let named = TopicPartitions::default()
            .with_topic(wire_name(topic))
            .with_partitions(partitions.iter().map(|partition| partition.0).collect());
        ElectLeadersRequest::default()
            .with_election_type(match self {
                Self::Preferred => 0,
                Self::Unclean => 1,
            })
            .with_topic_partitions(Some(vec![named]))
            .with_timeout_ms(timeout_ms)
    }

    fn results(response: ElectLeadersResponse) -> Result<Vec<Outcome>, (ErrorCode, Option<StrBytes>)> {
        if let Some(code) = ErrorCode::from_wire(response.error_code) {
            return Err((code, None));
        }
        let results = response.replica_election_results.into_iter().flat_map(|topic| topic.partition_result);
        Ok(results.map(|result| (result.partition_id, result.error_code, result.error_message)).collect())
    }
}

impl Change for [Replicas] {
    type Asked = AlterPartitionReassignmentsRequest;
    const ASKED: &'static str = "AlterPartitionReassignments";
    const ALREADY: Option<ErrorCode> = None;

    fn request(&self, topic: &TopicName, partitions: &[PartitionIndex], timeout_ms: i32) -> AlterPartitionReassignmentsRequest {
        let moved = self.iter().filter(|(partition, _)| partitions.contains(partition)).map(|(partition, replicas)| {
            ReassignablePartition::default()
                .with_partition_index(partition.0)
                .with_replicas(Some(replicas.iter().map(|broker| WireBrokerId(broker.0)).collect()))
        });
        let moved = ReassignableTopic::default().with_name(wire_name(topic)).with_partitions(moved.collect());
        AlterPartitionReassignmentsRequest::default().with_topics(vec![moved]).with_timeout_ms(timeout_ms)
    }

    fn results(response: AlterPartitionReassignmentsResponse) -> Result<Vec<Outcome>, (ErrorCode, Option<StrBytes>)> {
        if let Some(code) = ErrorCode::from_wire(response.error_code) {
            return Err((code, response.error_message));
        }
        let results = response.responses.into_iter().flat_map(|topic| topic.partitions);
        Ok(results.map(|result| (result.partition_index, result.error_code, result.error_message)).collect())
    }
}

fn read_ongoing(response: ListPartitionReassignmentsResponse) -> Result<Vec<PartitionIndex>, AdminError> {
    if let Some(code) = ErrorCode::from_wire(response.error_code) {
        return Err(Failure::refused("ListPartitionReassignments", code, response.error_message.as_ref()).into_error());
    }
    let ongoing = response.topics.into_iter().flat_map(|topic| topic.partitions);
    Ok(ongoing.map(|partition| PartitionIndex(partition.partition_index)).collect())
}
