//! One leader's logs, read from their beginnings to their ends.
//!
//! Not here: which logs, and what to do about one that cannot be read (`reader`).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::check::{PartitionCheck, PartitionFindings};
use super::ledger::Index;
use super::reader::Progress;
use crate::clock::{Clock, Moment};
use crate::ids::{HostPort, LeaderEpoch, TopicId, TopicPartition};
use crate::kafka::admin::{AdminError, Caller, End, ErrorCode, FetchBounds, FetchFrom, Fetched, Identity, Traffic};
use crate::kafka::wire::log::{LogError, next_unpacked};

/// Longest wait for an answer.
const WITHIN: Duration = Duration::from_secs(10);
/// How much is asked for at a time, and how long a leader may wait until there is something.
const BOUNDS: FetchBounds = FetchBounds { partition_bytes: 4 << 20, bytes: 4 << 20, wait: Duration::from_millis(100) };
/// Pause before a leader is asked again whether all that it has is committed.
const COMMIT_PAUSE: Duration = Duration::from_millis(50);

/// Why a log could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    /// No answer.
    #[error(transparent)]
    Asking(#[from] AdminError),
    /// The leader refuses.
    #[error("its leader refuses to be read: {0}")]
    Refused(ErrorCode),
    /// What it gave cannot be read.
    #[error("{0}")]
    Damaged(#[from] LogError),
    /// A batch that is too large, or none at all where there must be one.
    #[error("its leader gives nothing at offset {offset}, before its end at {end}")]
    Nothing { offset: i64, end: i64 },
    /// Not all of it is committed.
    #[error("offsets {from} to {to} are not committed: a replica that counts as in sync does not fetch them")]
    Uncommitted { from: i64, to: i64 },
    /// There was no time left.
    #[error("there was no time left to read on from offset {offset}")]
    Late { offset: i64 },
}

impl ReadError {
    /// Whether another try may help.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Refused(code) => !matches!(*code, ErrorCode::TOPIC_AUTHORIZATION_FAILED | ErrorCode::CLUSTER_AUTHORIZATION_FAILED),
            Self::Damaged(_) => false,
            Self::Asking(_) | Self::Nothing { .. } | Self::Uncommitted { .. } | Self::Late { .. } => true,
        }
    }
}

/// Where a partition is read.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) partition: TopicPartition,
    pub(super) topic: TopicId,
    pub(super) leader_epoch: Option<LeaderEpoch>,
}

/// Reads from one leader.
#[derive(Debug)]
pub(super) struct LogReader {
    caller: Caller,
    clock: Clock,
    deadline: Moment,
}

/// What logs are set against, and who is told how far reading is.
#[derive(Clone, Debug)]
pub(super) struct Against {
    pub(super) index: Arc<Index>,
    pub(super) progress: Arc<Progress>,
    pub(super) lost_max: usize,
}

impl LogReader {
    pub(super) fn new(listener: HostPort, client: Identity, clock: Clock, traffic: Traffic, deadline: Moment) -> Self {
        Self { caller: Caller::new(listener, client, WITHIN, clock.clone(), traffic), clock, deadline }
    }

    /// Reads a log from its beginning; `None`: it ends where it is known to end.
    pub(super) async fn read(
        &mut self,
        place: &Place,
        known_end: Option<i64>,
        against: &Against,
    ) -> Result<Option<PartitionFindings>, ReadError> {
        if known_end.is_some() && known_end == Some(self.end(End::LogEnd, place).await?) {
            return Ok(None);
        }
        let start = self.end(End::Start, place).await?;
        let mut check = PartitionCheck::new(place.partition.clone(), start);
        loop {
            let offset = check.next_offset();
            if self.clock.now() >= self.deadline {
                return Err(ReadError::Late { offset });
            }
            let Place { partition, topic, leader_epoch } = place;
            let from = FetchFrom { topic: *topic, partition: partition.partition, leader_epoch: *leader_epoch, offset };
            let fetched = self.caller.fetch(&[from], BOUNDS).await?.pop().unwrap_or_default();
            if let Some(code) = fetched.error {
                return Err(ReadError::Refused(code));
            }
            let committed = fetched.high_watermark;
            take(fetched, &mut check, &against.index)?;
            against.progress.records.fetch_add((check.next_offset() - offset).unsigned_abs(), Ordering::Relaxed);
            if check.next_offset() >= committed {
                if self.is_whole(place, check.next_offset()).await? {
                    return Ok(Some(check.finish(committed, &against.index, against.lost_max)));
                }
            } else if check.next_offset() == offset {
                return Err(ReadError::Nothing { offset, end: committed });
            }
        }
    }

    /// Whether the log ends here. If more is there that is not committed, waits a moment.
    async fn is_whole(&mut self, place: &Place, read_to: i64) -> Result<bool, ReadError> {
        let end = self.end(End::LogEnd, place).await?;
        if end <= read_to {
            return Ok(true);
        }
        if self.clock.now() + COMMIT_PAUSE >= self.deadline {
            return Err(ReadError::Uncommitted { from: read_to, to: end - 1 });
        }
        tokio::time::sleep(COMMIT_PAUSE).await;
        Ok(false)
    }

    async fn end(&mut self, end: End, place: &Place) -> Result<i64, ReadError> {
        let told = self.caller.ends(end, &[(place.partition.clone(), place.leader_epoch)]).await?;
        match told.into_values().next() {
            Some(Ok(offset)) => Ok(offset),
            Some(Err(code)) => Err(ReadError::Refused(code)),
            None => Err(ReadError::Refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)),
        }
    }
}

fn take(fetched: Fetched, check: &mut PartitionCheck, index: &Index) -> Result<(), ReadError> {
    let mut log = fetched.records;
    while let Some(batch) = next_unpacked(&mut log)? {
        check.batch(&batch, index);
    }
    Ok(())
}
