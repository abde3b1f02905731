//! A snapshot of the controller's log, put together from the pieces in which it is fetched: a header, records, a footer.
//!
//! Pieces end anywhere; batches are replayed as soon as they are whole, so no more than one batch waits. Pure. Not here: asking for pieces
//! (`fetch`), what follows on a snapshot (`ledger`).

use bytes::{Bytes, BytesMut};

use super::event::LogEntry;
use super::image::{Change, Image};
use super::ledger::{LogPoint, Skipped, read, take_in};
use super::record::{ControlRecord, MetadataRecord};
use crate::kafka::wire::log::{LogError, next_batch};

/// Why a snapshot cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SnapshotError {
    /// Its bytes are no batches.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A piece of another place.
    #[error("bytes from position {told} came, and those from {asked} were asked for")]
    Position { asked: i64, told: i64 },
    /// A piece without bytes before the end.
    #[error("nothing came at position {position} of {size}")]
    Empty { position: i64, size: i64 },
    /// It ends before its footer.
    #[error("the snapshot ends at {size} bytes without a footer")]
    NoFooter { size: i64 },
    /// Records that do not make an image.
    #[error("a record of the snapshot is refused: {reason}")]
    Refused { reason: String },
}

/// A snapshot that is being read.
#[derive(Debug)]
pub(super) struct SnapshotReader {
    at: LogPoint,
    position: i64,
    rest: BytesMut,
    image: Image,
    skipped: Skipped,
    has_footer: bool,
}

impl SnapshotReader {
    /// Begins to read the snapshot of all before this point.
    pub(super) fn new(at: LogPoint) -> Self {
        Self { at, position: 0, rest: BytesMut::new(), image: Image::default(), skipped: Skipped::default(), has_footer: false }
    }

    /// What the snapshot stands for: all before this point.
    pub(super) fn at(&self) -> LogPoint {
        self.at
    }

    /// Where the next piece begins, in bytes.
    pub(super) fn position(&self) -> i64 {
        self.position
    }

    /// The image and what was passed over.
    pub(super) fn finish(self) -> (Image, Skipped) {
        (self.image, self.skipped)
    }

    /// Takes a piece in. Whether it was the last.
    pub(super) fn push(&mut self, position: i64, size: i64, piece: &Bytes) -> Result<bool, SnapshotError> {
        if position != self.position {
            return Err(SnapshotError::Position { asked: self.position, told: position });
        }
        if piece.is_empty() {
            return Err(SnapshotError::Empty { position, size });
        }
        self.position += piece.len() as i64;
        self.rest.extend_from_slice(piece);
        let mut rest = std::mem::take(&mut self.rest).freeze();
        while let Some(batch) = next_batch(&mut rest)? {
            for record in batch.records() {
                self.replay(&read(batch.is_control, &record?))?;
            }
        }
        self.rest = BytesMut::from(rest);
        match self.position < size {
            true => Ok(false),
            false if self.has_footer && self.rest.is_empty() => Ok(true),
            false => Err(SnapshotError::NoFooter { size }),
        }
    }

    /// A snapshot is one image: what does not fit in it makes it worthless.
    fn replay(&mut self, entry: &LogEntry) -> Result<(), SnapshotError> {
        match entry {
            LogEntry::Control(ControlRecord::SnapshotFooter) => self.has_footer = true,
            LogEntry::Metadata(MetadataRecord::Other { api_key }) => *self.skipped.by_kind.entry(*api_key).or_default() += 1,
            _ => {}
        }
        match take_in(&mut self.image, entry) {
            Change::Refused { reason } => Err(SnapshotError::Refused { reason }),
            _ => Ok(()),
        }
    }
}
