//! What logs of topics hold, read as a consumer does that knows its offsets: no group, no session.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::{FetchRequest, FetchResponse};
use uuid::Uuid;

use super::{AdminError, Caller, Failure};
use crate::ids::{LeaderEpoch, PartitionIndex, TopicId};
use crate::kafka::wire::error::ErrorCode;

/// From where on a partition is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchFrom {
    /// The topic.
    pub topic: TopicId,
    /// The partition.
    pub partition: PartitionIndex,
    /// The leader's epoch, if it is known: a broker in another one refuses.
    pub leader_epoch: Option<LeaderEpoch>,
    /// First offset that is wanted.
    pub offset: i64,
}

/// How much of all partitions one answer may hold, and how long a broker that has nothing may keep the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchBounds {
    /// Bytes of a partition.
    pub partition_bytes: i32,
    /// Bytes of the answer, but for a single batch that is larger.
    pub bytes: i32,
    /// How long a broker may wait for something to come.
    pub wait: Duration,
}

/// What a partition gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// Why it gave nothing.
    pub error: Option<ErrorCode>,
    /// First offset that is there.
    pub log_start_offset: i64,
    /// First offset that consumers cannot read yet.
    pub high_watermark: i64,
    /// Batches; the first may begin before the offset that was asked for, the last may be cut short.
    pub records: Bytes,
}

impl Caller {
    /// Reads on, of all these partitions at once. The answer is in their order; a partition that the node says nothing of has no item of its own
    /// but an error.
    ///
    /// # Errors
    /// No answer, or one that is an error as a whole.
    pub async fn fetch(&mut self, from: &[FetchFrom], bounds: FetchBounds) -> Result<Vec<Fetched>, AdminError> {
        read(self.ask(&request(from, bounds)).await?, from).map_err(Failure::into_error)
    }
}

fn request(from: &[FetchFrom], bounds: FetchBounds) -> FetchRequest {
    let mut topics: Vec<FetchTopic> = Vec::new();
    for wanted in from {
        let partition = FetchPartition::default()
            .with_partition(wanted.partition.0)
            .with_current_leader_epoch(wanted.leader_epoch.map_or(-1, |epoch| epoch.0))
            .with_fetch_offset(wanted.offset)
            .with_partition_max_bytes(bounds.partition_bytes);
        match topics.last_mut().filter(|topic| topic.topic_id == wanted.topic.0) {
            Some(topic) => topic.partitions.push(partition),
            None => topics.push(FetchTopic::default().with_topic_id(wanted.topic.0).with_partitions(vec![partition])),
        }
    }
    FetchRequest::default()
        .with_max_wait_ms(i32::try_from(bounds.wait.as_millis()).unwrap_or(i32::MAX))
        .with_min_bytes(1)
        .with_max_bytes(bounds.bytes)
        .with_topics(topics)
}

fn read(response: FetchResponse, from: &[FetchFrom]) -> Result<Vec<Fetched>, Failure> {
    if let Some(code) = ErrorCode::from_wire(response.error_code) {
        return Err(Failure::refused("Fetch", code, None));
    }
    let mut given: HashMap<(Uuid, i32), Fetched> = HashMap::new();
    for topic in response.responses {
        for partition in topic.partitions {
            let fetched = Fetched {
                error: ErrorCode::from_wire(partition.error_code),
                log_start_offset: partition.log_start_offset,
                high_watermark: partition.high_watermark,
                records: partition.records.unwrap_or_default(),
            };
            given.insert((topic.topic_id, partition.partition_index), fetched);
        }
    }
    let unsaid = || Fetched { error: Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION), ..Fetched::default() };
    Ok(from.iter().map(|wanted| given.remove(&(wanted.topic.0, wanted.partition.0)).unwrap_or_else(unsaid)).collect())
}
