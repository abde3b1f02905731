//! A batch of records of one partition, from its first record to its outcome.
//!
//! Java's counterpart: `ProducerBatch`. Not here: the bytes' format (`wire::batch`), when it is sent (`accumulator`).

use std::time::Duration;

use bytes::Bytes;
use rand::Rng;

use crate::clock::Moment;
use crate::ids::{LeaderEpoch, PartitionIndex, TopicName};
use crate::kafka::core::backoff::ExponentialBackoff;
use crate::kafka::core::sequences::Ticket;
use crate::kafka::event::RecordTag;
use crate::kafka::wire::batch::{BatchBuilder, Packing, Stamp, restamped};

/// A batch.
#[derive(Debug)]
pub struct Batch {
    /// Its topic.
    pub topic: TopicName,
    /// Its partition.
    pub partition: PartitionIndex,
    /// One tag per record, in order.
    pub tags: Vec<RecordTag>,
    /// When its first record came; `delivery.timeout.ms` counts from here.
    pub created_at: Moment,
    /// Bytes that it holds of `buffer.memory`.
    pub reserved_bytes: usize,
    /// How often it came back to be sent again.
    pub attempts: u32,
    /// How often it was handed to a connection.
    pub sends: u32,
    /// Whether a send of it may have been written without our knowing: cut off, timed out, or answered with "after append".
    pub may_be_written: bool,
    /// Its place in the partition's sequence, from its first send on; `None` without idempotence.
    pub ticket: Option<Ticket>,
    /// Made by splitting a batch that was too large.
    pub is_part: bool,
    content: Content,
    last_attempt: Moment,
    leader_epoch: Option<LeaderEpoch>,
    /// `attempts` when the newest leader epoch was first seen: a retry to a new leader does not wait.
    attempts_at_leader_change: Option<u32>,
}

/// How much a batch holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchSize {
    /// Encoded bytes.
    pub bytes: usize,
    /// Records.
    pub records: usize,
}

#[derive(Debug)]
enum Content {
    Open(BatchBuilder),
    Closed { bytes: Bytes, stamp: Option<Stamp> },
}

impl Batch {
    /// An empty batch of up to `limit_bytes`, with room for as much as `expected` says.
    #[must_use]
    pub fn new(
        topic: TopicName,
        partition: PartitionIndex,
        limit_bytes: usize,
        expected: BatchSize,
        reserved_bytes: usize,
        now: Moment,
    ) -> Self {
        Self {
            topic,
            partition,
            tags: Vec::with_capacity(expected.records + expected.records / 8),
            created_at: now,
            reserved_bytes,
            attempts: 0,
            sends: 0,
            may_be_written: false,
            ticket: None,
            is_part: false,
            content: Content::Open(BatchBuilder::new(limit_bytes, expected.bytes)),
            last_attempt: now,
            leader_epoch: None,
            attempts_at_leader_change: None,
        }
    }

    /// Appends a record unless the batch is closed or has no room.
    pub fn try_append(&mut self, timestamp_ms: i64, key: Option<&[u8]>, value: &[u8], tag: RecordTag) -> bool {
        let Content::Open(builder) = &mut self.content else { return false };
        let taken = builder.try_append(timestamp_ms, key, value);
        if taken {
            self.tags.push(tag);
        }
        taken
    }

    /// No record joins it any more, though it is not sent yet.
    pub fn close_for_appends(&mut self) {
        if let Content::Open(builder) = &mut self.content {
            builder.close_for_appends();
        }
    }

    /// Its records are to be compressed.
    pub fn pack_with(&mut self, packing: Packing) {
        if let Content::Open(builder) = &mut self.content {
            builder.pack_with(packing);
        }
    }

    /// Its bytes before compression, if it is still to be compressed.
    #[must_use]
    pub fn bytes_to_pack(&self) -> Option<usize> {
        match &self.content {
            Content::Open(builder) if builder.is_packed() => Some(builder.plain_bytes()),
            _ => None,
        }
    }

    /// Its encoded bytes (so far); an estimate until it is compressed.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match &self.content {
            Content::Open(builder) => builder.bytes(),
            Content::Closed { bytes, .. } => bytes.len(),
        }
    }

    /// What it holds (so far), before compression.
    #[must_use]
    pub fn size(&self) -> BatchSize {
        BatchSize { bytes: self.bytes_to_pack().unwrap_or_else(|| self.bytes()), records: self.tags.len() }
    }

    /// Whether nothing more goes in.
    #[must_use]
    pub fn is_full(&self) -> bool {
        match &self.content {
            Content::Open(builder) => builder.is_full(),
            Content::Closed { .. } => true,
        }
    }

    /// Closes it, with this stamp in its header; one that is closed already gets the stamp in place of its old one.
    pub fn close(&mut self, stamp: Option<Stamp>) {
        self.content = match std::mem::replace(&mut self.content, Content::Closed { bytes: Bytes::new(), stamp: None }) {
            Content::Open(builder) => Content::Closed { bytes: builder.finish(stamp), stamp },
            Content::Closed { bytes, stamp: old } => match stamp.filter(|_| stamp != old) {
                Some(new) => Content::Closed { bytes: restamped(bytes, new), stamp },
                None => Content::Closed { bytes, stamp: old },
            },
        };
    }

    /// Its bytes, once it is closed; empty before.
    #[must_use]
    pub fn content(&self) -> Bytes {
        match &self.content {
            Content::Closed { bytes, .. } => bytes.clone(),
            Content::Open(_) => Bytes::new(),
        }
    }

    /// Time since its creation or since it came back.
    #[must_use]
    pub fn waited(&self, now: Moment) -> Duration {
        now.since(self.last_attempt)
    }

    /// Notes the epoch of the partition's leader as the client knows it now.
    pub fn see_leader_epoch(&mut self, epoch: Option<LeaderEpoch>) {
        if let Some(epoch) = epoch
            && self.leader_epoch.is_none_or(|known| known < epoch)
        {
            self.leader_epoch = Some(epoch);
            self.attempts_at_leader_change = Some(self.attempts);
        }
    }

    /// How long it must still wait before it may be sent again; zero at its first send, and once after a change of leader (KIP-951).
    pub fn retry_wait(&self, now: Moment, backoff: &ExponentialBackoff, random: &mut impl Rng) -> Duration {
        if self.attempts == 0 || self.attempts_at_leader_change == Some(self.attempts) {
            return Duration::ZERO;
        }
        backoff.wait(self.attempts - 1, random).saturating_sub(self.waited(now))
    }

    /// It came back to be sent again.
    pub fn reenqueued(&mut self, now: Moment) {
        self.attempts += 1;
        self.last_attempt = now;
    }

    /// Whether `delivery.timeout.ms` has passed since its creation.
    #[must_use]
    pub fn is_expired(&self, now: Moment, delivery_timeout: Duration) -> bool {
        self.created_at + delivery_timeout <= now
    }
}
