//! Changes: make, delete and grow topics.
//!
//! A request whose response got lost may have been carried out. When it is then sent again, "exists already" and its like mean that it
//! was, and count as done; on a first try they are failures.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::create_partitions_response::CreatePartitionsTopicResult;
use kafka_protocol::messages::create_topics_request::{CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::create_topics_response::CreatableTopicResult;
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::delete_topics_response::DeletableTopicResult;
use kafka_protocol::messages::{
    BrokerId as WireBrokerId, CreatePartitionsRequest, CreatePartitionsResponse, CreateTopicsRequest, CreateTopicsResponse,
    DeleteTopicsRequest, DeleteTopicsResponse, TopicName as WireTopicName,
};
use kafka_protocol::protocol::{Request, StrBytes};
use uuid::Uuid;

use super::describe::wire_name;
use super::{Admin, AdminError, Failure, TopicFailure, is_passing};
use crate::ids::{BrokerId, TopicId, TopicName};
use crate::kafka::wire::error::ErrorCode;

/// A topic to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name.
    pub name: TopicName,
    /// Where its replicas go.
    pub placement: Placement,
    /// Topic properties.
    pub config: BTreeMap<String, String>,
}

/// Where the replicas of a new topic go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Kafka places them.
    Counted {
        /// How many partitions.
        partitions: u32,
        /// How many replicas of each.
        replication_factor: u16,
    },
    /// Brokers per partition, preferred leader first.
    Assigned(Vec<Vec<BrokerId>>),
}

/// A topic's part in a request, and how its response is read.
trait Change: Sync {
    /// The request.
    type Asked: Request + Sync;
    /// "It is so already."
    const ALREADY: ErrorCode;
    /// Kafka's name of the request.
    const ASKED: &'static str;

    /// The topic.
    fn topic(&self) -> &TopicName;
    /// One request for several.
    fn request(changes: &[&Self], timeout_ms: i32) -> Self::Asked;
    /// What is said of each topic.
    fn results(response: <Self::Asked as Request>::Response) -> Vec<Outcome>;
}

/// One topic's result on the wire.
struct Outcome {
    name: WireTopicName,
    code: i16,
    message: Option<StrBytes>,
    /// Its id; all zeros: not told.
    id: Uuid,
}

/// Growth of one topic.
struct Growth {
    topic: TopicName,
    to: u32,
}

impl Admin {
    /// Makes topics.
    ///
    /// # Errors
    /// [`AdminError::Topics`] for those that could not be made (the others were); any other if no broker could be asked in time.
    pub async fn create_topics(&self, topics: &[NewTopic]) -> Result<(), AdminError> {
        self.change(topics).await.map(|_| ())
    }

    /// Deletes topics.
    ///
    /// # Errors
    /// [`AdminError::Topics`] for those that could not be deleted (the others were); any other if no broker could be asked in time.
    pub async fn delete_topics(&self, topics: &[TopicName]) -> Result<(), AdminError> {
        self.change(topics).await.map(|_| ())
    }

    /// Deletes a topic; the id that it had, by the controller's word. `None`: the answer that had it is lost.
    ///
    /// # Errors
    /// As [`Self::delete_topics`].
    pub async fn delete_topic(&self, topic: &TopicName) -> Result<Option<TopicId>, AdminError> {
        Ok(self.change(std::slice::from_ref(topic)).await?.pop())
    }

    /// Grows a topic to `to` partitions; Kafka places the new ones.
    ///
    /// # Errors
    /// [`AdminError::Topics`] if Kafka refuses (37: it has that many already); any other if no broker could be asked in time.
    pub async fn create_partitions(&self, topic: &TopicName, to: u32) -> Result<(), AdminError> {
        self.change(&[Growth { topic: topic.clone(), to }]).await.map(|_| ())
    }

    /// Asks until every change is settled or patience is over; the ids of the topics, as far as they were told.
    async fn change<C: Change>(&self, changes: &[C]) -> Result<Vec<TopicId>, AdminError> {
        let give_up_at = self.clock.now() + self.patience;
        let timeout_ms = to_wire_ms(self.call_timeout);
        let mut pending: Vec<&C> = changes.iter().collect();
        let (mut ids, mut refused) = (Vec::new(), Vec::new());
        // Whether what is pending may have been carried out by an earlier try.
        let mut sent_before = false;
        let mut turn = 0;
        while !pending.is_empty() {
            let (index, broker) = self.bootstrap_at(turn).ok_or(AdminError::NoBootstrap)?;
            let failure = match self.ask_fresh(broker, &C::request(&pending, timeout_ms)).await {
                Ok(response) => {
                    self.prefer(index);
                    let results = C::results(response);
                    ids.extend(results.iter().filter(|result| !result.id.is_nil()).map(|result| TopicId(result.id)));
                    let passing = settle(results, &mut pending, sent_before, &mut refused);
                    // What the answer says nothing of may be done, too.
                    let is_left_out = pending.len() > passing.len();
                    sent_before |= is_left_out || passing.iter().any(|failure| failure.code == ErrorCode::REQUEST_TIMED_OUT);
                    match (pending.is_empty(), passing.is_empty()) {
                        (true, _) => break,
                        (false, false) => Failure::Again(AdminError::Topics { failed: passing }),
                        (false, true) => Failure::Again(AdminError::Incomplete { asked: C::ASKED, missing: "topic" }),
                    }
                }
                Err(error) => {
                    sent_before |= error.is_ambiguous();
                    Failure::from(error)
                }
            };
            self.pause_before_retry(failure, give_up_at).await?;
            turn += 1;
        }
        if refused.is_empty() { Ok(ids) } else { Err(AdminError::Topics { failed: refused }) }
    }
}

/// Sorts one response: what is done or refused leaves `pending`; returned is what a broker says may be asked again.
fn settle<C: Change>(
    results: Vec<Outcome>,
    pending: &mut Vec<&C>,
    sent_before: bool,
    refused: &mut Vec<TopicFailure>,
) -> Vec<TopicFailure> {
    let mut passing = Vec::new();
    for Outcome { name, code, message, .. } in results {
        let failure = ErrorCode::from_wire(code).filter(|code| !(sent_before && *code == C::ALREADY)).map(|code| TopicFailure {
            topic: TopicName::from(name.as_str()),
            code,
            message: message.map(|text| text.to_string()),
        });
        match failure {
            Some(failure) if is_passing(failure.code) => {
                passing.push(failure);
                continue;
            }
            Some(failure) => refused.push(failure),
            None => {}
        }
        pending.retain(|change| change.topic().as_str() != name.as_str());
    }
    passing
}

impl Change for NewTopic {
    type Asked = CreateTopicsRequest;
    const ALREADY: ErrorCode = ErrorCode::TOPIC_ALREADY_EXISTS;
    const ASKED: &'static str = "CreateTopics";

    fn topic(&self) -> &TopicName {
        &self.name
    }

    fn request(changes: &[&Self], timeout_ms: i32) -> CreateTopicsRequest {
        CreateTopicsRequest::default().with_topics(changes.iter().map(|topic| creatable(topic)).collect()).with_timeout_ms(timeout_ms)
    }

    fn results(response: CreateTopicsResponse) -> Vec<Outcome> {
        let outcome = |result: CreatableTopicResult| Outcome {
            name: result.name,
            code: result.error_code,
            message: result.error_message,
            id: result.topic_id,
        };
        response.topics.into_iter().map(outcome).collect()
    }
}

fn creatable(topic: &NewTopic) -> CreatableTopic {
    let configs = topic.config.iter().map(|(name, value)| {
        CreatableTopicConfig::default()
            .with_name(StrBytes::from_string(name.clone()))
            .with_value(Some(StrBytes::from_string(value.clone())))
    });
    let creatable = CreatableTopic::default().with_name(wire_name(&topic.name)).with_configs(configs.collect());
    match &topic.placement {
        Placement::Counted { partitions, replication_factor } => creatable
            .with_num_partitions(i32::try_from(*partitions).unwrap_or(i32::MAX))
            .with_replication_factor(i16::try_from(*replication_factor).unwrap_or(i16::MAX)),
        // With an assignment both counts must be -1.
        Placement::Assigned(replicas) => {
            let assigned = replicas.iter().zip(0..).map(|(brokers, index)| {
                CreatableReplicaAssignment::default()
                    .with_partition_index(index)
                    .with_broker_ids(brokers.iter().map(|broker| WireBrokerId(broker.0)).collect())
            });
            creatable.with_num_partitions(-1).with_replication_factor(-1).with_assignments(assigned.collect())
        }
    }
}

impl Change for TopicName {
    type Asked = DeleteTopicsRequest;
    const ALREADY: ErrorCode = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    const ASKED: &'static str = "DeleteTopics";

    fn topic(&self) -> &TopicName {
        self
    }

    fn request(changes: &[&Self], timeout_ms: i32) -> DeleteTopicsRequest {
        let named = changes.iter().map(|topic| DeleteTopicState::default().with_name(Some(wire_name(topic))));
        DeleteTopicsRequest::default().with_topics(named.collect()).with_timeout_ms(timeout_ms)
    }

    fn results(response: DeleteTopicsResponse) -> Vec<Outcome> {
        let outcome = |result: DeletableTopicResult| Outcome {
            name: result.name.unwrap_or_default(),
            code: result.error_code,
            message: result.error_message,
            id: result.topic_id,
        };
        response.responses.into_iter().map(outcome).collect()
    }
}

impl Change for Growth {
    type Asked = CreatePartitionsRequest;
    const ALREADY: ErrorCode = ErrorCode::INVALID_PARTITIONS;
    const ASKED: &'static str = "CreatePartitions";

    fn topic(&self) -> &TopicName {
        &self.topic
    }

    fn request(changes: &[&Self], timeout_ms: i32) -> CreatePartitionsRequest {
        let grown = changes.iter().map(|growth| {
            CreatePartitionsTopic::default()
                .with_name(wire_name(&growth.topic))
                .with_count(i32::try_from(growth.to).unwrap_or(i32::MAX))
                .with_assignments(None)
        });
        CreatePartitionsRequest::default().with_topics(grown.collect()).with_timeout_ms(timeout_ms)
    }

    fn results(response: CreatePartitionsResponse) -> Vec<Outcome> {
        let outcome = |result: CreatePartitionsTopicResult| Outcome {
            name: result.name,
            code: result.error_code,
            message: result.error_message,
            id: Uuid::nil(),
        };
        response.results.into_iter().map(outcome).collect()
    }
}

/// The broker's own bound, below ours so that its answer arrives before we stop waiting.
pub(super) fn to_wire_ms(call_timeout: Duration) -> i32 {
    i32::try_from((call_timeout * 4 / 5).as_millis()).unwrap_or(i32::MAX)
}
