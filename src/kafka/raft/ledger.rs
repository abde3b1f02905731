//! The log as far as it is known: an image of what is committed, one of all that has come, and the records between.
//!
//! Records arrive before they are committed and may be taken back when another controller takes over: then the second image is made again from the
//! first. Pure. Not here: whom the records come from (`machine`).

use std::collections::{BTreeMap, VecDeque};

use super::event::{LogEntry, TailRecord};
use super::image::{Change, Image};
use super::record::{ControlRecord, MetadataRecord};
use crate::ids::LeaderEpoch;
use crate::kafka::wire::log::{LogBatch, LogError, LogRecord};

/// A place in the log: between records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LogPoint {
    /// Offset of the next record.
    pub(super) offset: i64,
    /// Epoch of the record before it; 0 at the beginning.
    pub(super) epoch: i32,
}

/// What was passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Records of kinds that no image needs, by Kafka's number of the kind.
    pub by_kind: BTreeMap<i16, u64>,
    /// Records that could not be read, or did not fit to those before them.
    pub refused: u64,
}

/// The log.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    committed: Image,
    committed_to: LogPoint,
    latest: Image,
    end: LogPoint,
    /// Records between `committed_to` and `end`, in order.
    pending: VecDeque<Pending>,
    skipped: Skipped,
}

#[derive(Debug)]
struct Pending {
    offset: i64,
    epoch: i32,
    timestamp_ms: i64,
    entry: LogEntry,
}

/// Why a batch is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum AppendError {
    /// It does not follow on what is there.
    #[error("a batch begins at offset {offset}, and {end} is awaited")]
    Gap { offset: i64, end: i64 },
    /// Its records cannot be told apart.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl Ledger {
    /// A log that begins with a snapshot.
    pub(super) fn loaded(image: Image, at: LogPoint, skipped: Skipped) -> Self {
        Self { committed: image.clone(), committed_to: at, latest: image, end: at, pending: VecDeque::new(), skipped }
    }

    /// Where the log ends.
    pub(super) fn end(&self) -> LogPoint {
        self.end
    }

    /// Up to where it is committed.
    pub(super) fn committed_to(&self) -> i64 {
        self.committed_to.offset
    }

    /// How many records are not committed.
    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// The image of what is committed.
    pub(super) fn committed(&self) -> &Image {
        &self.committed
    }

    /// The image of all that has come.
    pub(super) fn latest(&self) -> &Image {
        &self.latest
    }

    /// What was passed over so far.
    pub(super) fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Takes a batch in and tells its records, but for those that are there already.
    pub(super) fn append(&mut self, batch: &LogBatch, mut tell: impl FnMut(&TailRecord)) -> Result<(), AppendError> {
        if batch.base_offset > self.end.offset {
            return Err(AppendError::Gap { offset: batch.base_offset, end: self.end.offset });
        }
        for record in batch.records() {
            let record = record?;
            if record.offset < self.end.offset {
                continue;
            }
            let entry = read(batch.is_control, &record);
            let change = take_in(&mut self.latest, &entry);
            self.count(&entry, &change);
            self.end = LogPoint { offset: record.offset + 1, epoch: batch.leader_epoch };
            let LogRecord { offset, timestamp_ms, .. } = record;
            let told = TailRecord { offset, controller_epoch: LeaderEpoch(batch.leader_epoch), timestamp_ms, entry, change };
            tell(&told);
            self.pending.push_back(Pending { offset, epoch: batch.leader_epoch, timestamp_ms, entry: told.entry });
        }
        self.end.offset = self.end.offset.max(batch.next_offset);
        Ok(())
    }

    /// All before this offset is committed. Whether that is news.
    pub(super) fn commit(&mut self, high_watermark: i64) -> bool {
        let to = high_watermark.min(self.end.offset);
        if to <= self.committed_to.offset {
            return false;
        }
        let committed = self.pending.partition_point(|record| record.offset < to);
        for record in self.pending.drain(..committed) {
            take_in(&mut self.committed, &record.entry);
            self.committed_to.epoch = record.epoch;
        }
        self.committed_to.offset = to;
        true
    }

    /// Tells the records that are not committed, as they came.
    pub(super) fn tell_pending(&self, mut tell: impl FnMut(&TailRecord)) {
        let mut image = self.committed.clone();
        for record in &self.pending {
            let (controller_epoch, entry) = (LeaderEpoch(record.epoch), record.entry.clone());
            let change = take_in(&mut image, &entry);
            tell(&TailRecord { offset: record.offset, controller_epoch, timestamp_ms: record.timestamp_ms, entry, change });
        }
    }

    /// Where our log leaves that of a controller in which `epoch` ends at `end_offset`, and all that follows differs. Java:
    /// `ReplicatedLog.truncateToEndOffset`.
    pub(super) fn divergence(&self, epoch: i32, end_offset: i64) -> i64 {
        if epoch == 0 {
            return end_offset;
        }
        let of_epoch = self.end_of(epoch);
        if of_epoch.epoch == epoch { of_epoch.offset.min(end_offset) } else { of_epoch.offset }
    }

    /// Where the greatest epoch that is not above `epoch` ends.
    fn end_of(&self, epoch: i32) -> LogPoint {
        let mut before = self.committed_to.epoch;
        for record in &self.pending {
            if record.epoch > epoch {
                return LogPoint { offset: record.offset, epoch: before };
            }
            before = record.epoch;
        }
        self.end
    }

    /// Takes back all from this offset on, which must not be committed. How many records that were.
    pub(super) fn truncate(&mut self, to_offset: i64) -> u64 {
        let kept = self.pending.partition_point(|record| record.offset < to_offset);
        let gone = self.pending.split_off(kept).len();
        self.latest = self.committed.clone();
        for record in &self.pending {
            take_in(&mut self.latest, &record.entry);
        }
        let epoch = self.pending.back().map_or(self.committed_to.epoch, |record| record.epoch);
        self.end = LogPoint { offset: to_offset, epoch };
        gone as u64
    }

    fn count(&mut self, entry: &LogEntry, change: &Change) {
        if let LogEntry::Metadata(MetadataRecord::Other { api_key }) = entry {
            *self.skipped.by_kind.entry(*api_key).or_default() += 1;
        }
        self.skipped.refused += u64::from(matches!(change, Change::Refused { .. }));
    }
}

/// What a record says.
pub(super) fn read(is_control: bool, record: &LogRecord<'_>) -> LogEntry {
    let value = record.value.unwrap_or_default();
    let entry = if is_control {
        ControlRecord::decode(record.key.unwrap_or_default(), value).map(LogEntry::Control)
    } else {
        MetadataRecord::decode(value).map(LogEntry::Metadata)
    };
    entry.unwrap_or_else(|error| LogEntry::Unreadable { reason: error.to_string() })
}

/// Replays what a record says.
pub(super) fn take_in(image: &mut Image, entry: &LogEntry) -> Change {
    match entry {
        LogEntry::Metadata(record) => image.replay(record).unwrap_or_else(|error| Change::Refused { reason: error.to_string() }),
        LogEntry::Control(ControlRecord::LeaderChange { leader }) => Change::ControllerElected { node: *leader },
        LogEntry::Control(_) => Change::Nothing,
        LogEntry::Unreadable { reason } => Change::Refused { reason: reason.clone() },
    }
}
