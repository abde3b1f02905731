//! The tail's two requests, Fetch and FetchSnapshot of `__cluster_metadata`, and their answers as plain values.
//!
//! Not here: when they are sent (`machine`) and over what (`tail`).

use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::fetch_snapshot_request::{PartitionSnapshot, SnapshotId, TopicSnapshot};
use kafka_protocol::messages::{FetchRequest, FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse, TopicName};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use super::ledger::LogPoint;
use crate::kafka::wire::error::ErrorCode;

/// The topic of the controller's log.
const TOPIC: &str = "__cluster_metadata";
/// Its id, the same everywhere.
const TOPIC_ID: Uuid = Uuid::from_u128(1);
/// Most bytes of one answer, unless a single batch is larger.
const BYTES_MAX: i32 = 8 * 1024 * 1024;
/// From this version of Fetch on a request says which high watermark is known, and is answered as soon as it moves.
const FIRST_FETCH_THAT_WAKES: i16 = 18;
/// For how long a controller that has nothing new may keep a request. Active controllers write something twice a second.
pub(super) const WAIT: Duration = Duration::from_millis(500);
/// The same where a commit is awaited that does not wake: short, so that it is seen soon.
const COMMIT_WAIT: Duration = Duration::from_millis(5);
/// The same where it has been awaited for longer than [`COMMIT_SOON`].
const LATE_COMMIT_WAIT: Duration = Duration::from_millis(50);
/// How long a commit takes at most while all is well.
const COMMIT_SOON: Duration = Duration::from_millis(200);

/// What to fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FetchAsk {
    /// Epoch of the active controller.
    pub(super) leader_epoch: i32,
    /// From where on.
    pub(super) from: LogPoint,
    /// What is known to be committed; `None`: nothing yet.
    pub(super) high_watermark: Option<i64>,
    /// For how long something has been waiting to be committed.
    pub(super) uncommitted_for: Option<Duration>,
}

/// What came back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FetchAnswer {
    pub(super) error: Option<ErrorCode>,
    /// First offset that is not committed; `None`: the controller does not know yet.
    pub(super) high_watermark: Option<i64>,
    /// The log differs from what was told in the request: this epoch ends at this offset.
    pub(super) diverging: Option<LogPoint>,
    /// The log does not reach back so far: there is a snapshot of all before this point.
    pub(super) snapshot: Option<LogPoint>,
    /// Batches; the last may be cut short.
    pub(super) records: Bytes,
}

/// The Fetch request in this version.
pub(super) fn fetch_request(ask: &FetchAsk, version: i16) -> FetchRequest {
    let wait = match ask.uncommitted_for {
        Some(_) if version >= FIRST_FETCH_THAT_WAKES => WAIT,
        Some(waiting) if waiting < COMMIT_SOON => COMMIT_WAIT,
        Some(_) => LATE_COMMIT_WAIT,
        None => WAIT,
    };
    let mut partition = FetchPartition::default()
        .with_current_leader_epoch(ask.leader_epoch)
        .with_fetch_offset(ask.from.offset)
        .with_last_fetched_epoch(ask.from.epoch)
        .with_partition_max_bytes(BYTES_MAX);
    if version >= FIRST_FETCH_THAT_WAKES {
        partition = partition.with_high_watermark(ask.high_watermark.unwrap_or(-1));
    }
    let topic = FetchTopic::default().with_topic(topic_name()).with_topic_id(TOPIC_ID).with_partitions(vec![partition]);
    FetchRequest::default()
        .with_max_wait_ms(i32::try_from(wait.as_millis()).unwrap_or(i32::MAX))
        .with_max_bytes(BYTES_MAX)
        .with_topics(vec![topic])
}

/// Reads an answer to Fetch; `None`: it does not hold the partition.
pub(super) fn fetch_answer(response: FetchResponse) -> Option<FetchAnswer> {
    if let Some(code) = ErrorCode::from_wire(response.error_code) {
        return Some(FetchAnswer { error: Some(code), ..FetchAnswer::default() });
    }
    let partition = response.responses.into_iter().flat_map(|topic| topic.partitions).next()?;
    let point = |epoch: i32, offset: i64| (epoch >= 0 && offset >= 0).then_some(LogPoint { offset, epoch });
    Some(FetchAnswer {
        error: ErrorCode::from_wire(partition.error_code),
        high_watermark: Some(partition.high_watermark).filter(|offset| *offset >= 0),
        diverging: point(partition.diverging_epoch.epoch, partition.diverging_epoch.end_offset),
        snapshot: point(partition.snapshot_id.epoch, partition.snapshot_id.end_offset),
        records: partition.records.unwrap_or_default(),
    })
}

/// What to fetch of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SnapshotAsk {
    /// Epoch of the active controller.
    pub(super) leader_epoch: i32,
    /// Which snapshot.
    pub(super) at: LogPoint,
    /// From which byte on.
    pub(super) position: i64,
}

/// A piece of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SnapshotAnswer {
    pub(super) error: Option<ErrorCode>,
    /// Where the piece begins.
    pub(super) position: i64,
    /// Bytes of the whole snapshot.
    pub(super) size: i64,
    pub(super) piece: Bytes,
}

/// The FetchSnapshot request.
pub(super) fn snapshot_request(ask: &SnapshotAsk) -> FetchSnapshotRequest {
    let id = SnapshotId::default().with_end_offset(ask.at.offset).with_epoch(ask.at.epoch);
    let partition =
        PartitionSnapshot::default().with_current_leader_epoch(ask.leader_epoch).with_snapshot_id(id).with_position(ask.position);
    let topic = TopicSnapshot::default().with_name(topic_name()).with_partitions(vec![partition]);
    FetchSnapshotRequest::default().with_max_bytes(BYTES_MAX).with_topics(vec![topic])
}

/// Reads an answer to FetchSnapshot; `None`: it does not hold the partition.
pub(super) fn snapshot_answer(response: FetchSnapshotResponse) -> Option<SnapshotAnswer> {
    if let Some(code) = ErrorCode::from_wire(response.error_code) {
        return Some(SnapshotAnswer { error: Some(code), ..SnapshotAnswer::default() });
    }
    let partition = response.topics.into_iter().flat_map(|topic| topic.partitions).next()?;
    Some(SnapshotAnswer {
        error: ErrorCode::from_wire(partition.error_code),
        position: partition.position,
        size: partition.size,
        piece: partition.unaligned_records,
    })
}

fn topic_name() -> TopicName {
    TopicName(StrBytes::from_static_str(TOPIC))
}
