//! What the tail tells: records as they come, what is committed, whom it follows.
//!
//! The tail does not know who listens. Events are values with moments of the clock that was handed in. Called by the tail's task.

use std::fmt::Debug;

use super::image::{Change, Image};
use super::record::{ControlRecord, MetadataRecord};
use crate::clock::Moment;
use crate::ids::{BrokerId, LeaderEpoch};

/// Listens to one tail. Called from the tail's task; must be quick.
pub trait TailObserver: Debug + Send + Sync {
    /// Something was seen; `at` is the arrival of the answer that showed it.
    fn event(&self, at: Moment, event: &TailEvent<'_>);
}

/// What was seen.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TailEvent<'a> {
    /// The log as a whole at one offset. Later records are told one by one.
    Image {
        /// The image.
        image: &'a Image,
        /// Offset of the last record that is in it; -1: none is.
        offset: i64,
        /// The active controller that it was read from.
        controller: BrokerId,
        /// Why it is told.
        why: ImageReason,
    },
    /// A record has arrived. It need not be committed. Before the first image only those are told that cannot be taken in.
    Record(&'a TailRecord),
    /// The log is committed further.
    Committed {
        /// First offset that is not committed.
        high_watermark: i64,
        /// Arrival of the last answer before, in which less was committed.
        not_before: Option<Moment>,
    },
    /// Records that were told uncommitted are no part of the log any more: a new active controller does not have them, or its snapshot does not
    /// say whether it has. The image follows, as it is without them.
    Truncated {
        /// First offset that is gone.
        to_offset: i64,
        /// How many records are gone.
        records: u64,
    },
    /// The tail reads from another active controller, or from none.
    Followed {
        /// Which; `None`: no controller says that it is the active one.
        controller: Option<BrokerId>,
        /// Its epoch.
        epoch: Option<LeaderEpoch>,
        /// What was heard, in words.
        detail: &'a str,
    },
}

/// Why an image is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageReason {
    /// The log has been read for the first time.
    First,
    /// The log's beginning was gone before it was read: the image begins with a snapshot.
    Snapshot,
    /// What was told was taken back: records were truncated, or a transaction was aborted. Here the image holds what is not committed too.
    Truncated,
    /// The log was cut where it was committed already, so all of it was read anew.
    Anew,
}

/// A record of the controller's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailRecord {
    /// Its offset.
    pub offset: i64,
    /// Epoch of the active controller that wrote it.
    pub controller_epoch: LeaderEpoch,
    /// Timestamp of its batch, in ms since 1970 by the controller's clock: when the batch was made, before it waited to be written.
    pub timestamp_ms: i64,
    /// What it says.
    pub entry: LogEntry,
    /// What that changes.
    pub change: Change,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogEntry {
    /// The controller's record.
    Metadata(MetadataRecord),
    /// The quorum's own.
    Control(ControlRecord),
    /// It cannot be read.
    Unreadable {
        /// Why, in words.
        reason: String,
    },
}
