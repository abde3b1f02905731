//! What the outcomes of batches do to the sequences of their partitions, and which partitions must begin anew.
//!
//! Java's counterpart: the parts of `TransactionManager` that go from a batch to its `TxnPartitionEntry`. Batches without a number pass through
//! untouched, so that callers need not ask whether idempotence is on. Not here: the rules of one partition (`sequences`).

use std::collections::BTreeSet;

use crate::ids::ProducerIdAndEpoch;
use crate::kafka::core::accumulator::{Accumulator, Slot};
use crate::kafka::core::batch::Batch;
use crate::kafka::core::in_flight::GivenUp;
use crate::kafka::core::sequences::{Resolution, SentNumber, Sequences};
use crate::kafka::wire::error::ErrorCode;

/// Partitions whose sequences are in doubt.
#[derive(Debug, Default)]
pub struct Unsettled {
    /// A batch was lost there, and nobody knows whether it was written.
    unresolved: BTreeSet<Slot>,
    /// Their sequences begin anew with the next epoch.
    to_restart: BTreeSet<Slot>,
}

impl Accumulator {
    /// A batch is in the log.
    pub fn sequence_acked(&mut self, batch: &Batch) {
        if let Some(ticket) = batch.ticket {
            self.queue_of(batch).1.sequences.acked(ticket);
        }
    }

    /// A batch has failed for good. `leaves_gap`: its number may be missing in the log, so that the sequence must begin anew.
    pub fn sequence_failed(&mut self, batch: &Batch, leaves_gap: bool) {
        let Some(ticket) = batch.ticket else { return };
        let (slot, queue) = self.queue_of(batch);
        queue.sequences.failed(ticket);
        if leaves_gap {
            self.unsettled.to_restart.insert(slot);
        }
    }

    /// A batch has expired. If it had come back before, or is a part of one that had, a broker may hold its number or not: what was sent behind
    /// it will tell. Returns what an answer to it may still acknowledge.
    pub(super) fn sequence_expired(&mut self, batch: &Batch) -> Option<SentNumber> {
        let ticket = batch.ticket?;
        let (slot, queue) = self.queue_of(batch);
        let number = queue.sequences.sent_number(ticket);
        if batch.attempts > 0 || batch.is_part {
            queue.sequences.lost(ticket);
            self.unsettled.unresolved.insert(slot);
        } else {
            queue.sequences.failed(ticket);
        }
        number
    }

    /// A batch that was given up on the wire is in the log.
    pub(super) fn sequence_acked_late(&mut self, given_up: &GivenUp) {
        if let Some(number) = given_up.number {
            self.queue_in(&given_up.topic, given_up.partition).1.sequences.acked_late(number);
        }
    }

    /// Whether a batch that came back with this code may be sent again for the sake of its number alone: 45 and 59 always may, since a number
    /// is never taken twice. Notes whether its sequence must begin anew first.
    pub fn is_mended_by_sequence(&mut self, batch: &Batch, code: ErrorCode, log_start_offset: Option<i64>) -> bool {
        let Some(ticket) = batch.ticket else { return false };
        let (slot, queue) = self.queue_of(batch);
        let restarts = match code {
            ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER => queue.sequences.out_of_order_is_a_gap(ticket),
            ErrorCode::UNKNOWN_PRODUCER_ID => queue.sequences.unknown_producer_needs_restart(ticket, log_start_offset),
            _ => return false,
        };
        if restarts {
            self.unsettled.to_restart.insert(slot);
        }
        true
    }

    /// Looks whether lost batches are known by now to have been written; where they are known to be missing, the sequence must begin anew.
    pub fn resolve_sequences(&mut self) {
        for slot in std::mem::take(&mut self.unsettled.unresolved) {
            match self.queue_at(slot).map(|queue| queue.sequences.resolve()) {
                Some(Resolution::Pending) => _ = self.unsettled.unresolved.insert(slot),
                Some(Resolution::Gap) => _ = self.unsettled.to_restart.insert(slot),
                Some(Resolution::Resolved) | None => {}
            }
        }
    }

    /// Whether any sequence must begin anew.
    #[must_use]
    pub fn needs_restart(&self) -> bool {
        !self.unsettled.to_restart.is_empty()
    }

    /// Nothing is in flight any more, and nothing will be asked about what was.
    pub fn forget_sequences(&mut self) {
        self.unsettled = Unsettled::default();
        self.queues_mut().for_each(|queue| queue.sequences = Sequences::default());
    }

    /// Begins those sequences anew. All others keep their id and epoch until their batches in flight have their outcomes.
    pub fn restart_sequences(&mut self, producer: ProducerIdAndEpoch) {
        for slot in std::mem::take(&mut self.unsettled.to_restart) {
            if let Some(queue) = self.queue_at(slot) {
                queue.sequences.restart(producer);
            }
            self.unsettled.unresolved.remove(&slot);
        }
    }
}
