//! Sequence numbers of one partition (KIP-98): which batch has which, what is acknowledged, what must be numbered anew.
//!
//! Java's counterpart: `TxnPartitionEntry` and the sequence rules of `TransactionManager` (4.3.0), without transactions. The one place where a
//! batch's number is kept: batches hold a ticket, so that numbering anew reaches those in flight and those queued alike. Order is the order
//! of assignment and never a comparison of numbers, which wrap around after 2^31-1 (Java compares them, and stalls there). Not here: the
//! producer's id and epoch (`producer_id`), queues (`accumulator`).

use crate::ids::ProducerIdAndEpoch;
use crate::kafka::core::batch::Batch;
use crate::kafka::wire::batch::Stamp;

/// A batch's place in its partition's sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u64);

/// The numbers of one partition.
#[derive(Debug, Default)]
pub struct Sequences {
    /// Whom all batches in flight belong to.
    producer: Option<ProducerIdAndEpoch>,
    /// Number of the next record.
    next: i32,
    /// Number of the last acknowledged record.
    last_acked: Option<i32>,
    /// Numbered batches without an outcome, in order: on the wire, or queued to be sent again.
    in_flight: Vec<Numbered>,
    /// The number that follows a batch of which nobody knows whether it was written.
    unresolved: Option<i32>,
    next_ticket: u64,
}

#[derive(Clone, Copy, Debug)]
struct Numbered {
    ticket: Ticket,
    base: i32,
    records: i32,
    /// Numbered anew since it was last sent: what a broker says of its old number means nothing.
    is_renumbered: bool,
}

/// The number that a batch on the wire goes under, kept when the batch is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentNumber {
    producer: ProducerIdAndEpoch,
    last: i32,
}

/// Where a partition with an unresolved batch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Batches in flight will tell.
    Pending,
    /// Nothing is missing.
    Resolved,
    /// There is a gap: the sequence must begin anew.
    Gap,
}

/// The number `count` records further on; 0 follows 2^31-1 (Java: `DefaultRecordBatch.incrementSequence`).
#[must_use]
pub fn advanced(sequence: i32, count: i32) -> i32 {
    sequence.wrapping_add(count) & i32::MAX
}

/// Whether `one` lies behind `other`, by less than half of all numbers.
fn is_later(one: i32, other: i32) -> bool {
    const HALF: i32 = 1 << 30;
    let distance = one.wrapping_sub(other) & i32::MAX;
    (1..HALF).contains(&distance)
}

impl Numbered {
    fn last(&self) -> i32 {
        advanced(self.base, self.records - 1)
    }
}

impl Sequences {
    /// Whether the head of the queue must stay there. A batch without a number waits while others are in flight under an older id or epoch, or
    /// while a sequence is unresolved; one with a number is sent again only when all before it have their outcome.
    #[must_use]
    pub fn blocks(&self, head: Option<Ticket>, current: ProducerIdAndEpoch) -> bool {
        match head {
            None => (!self.in_flight.is_empty() && self.producer != Some(current)) || self.unresolved.is_some(),
            Some(ticket) => self.in_flight.first().is_some_and(|first| first.ticket != ticket),
        }
    }

    /// Numbers a batch that is sent for the first time.
    pub fn assign(&mut self, records: usize, current: ProducerIdAndEpoch) -> Ticket {
        if self.producer != Some(current) && self.in_flight.is_empty() {
            self.restart(current);
        }
        let ticket = self.ticket();
        let numbered = Numbered { ticket, base: self.next, records: signed(records), is_renumbered: false };
        self.next = advanced(self.next, numbered.records);
        self.in_flight.push(numbered);
        ticket
    }

    /// Numbers a batch that goes out, unless it has its number already. What goes into its header.
    pub fn number(&mut self, batch: &mut Batch, current: ProducerIdAndEpoch) -> Option<Stamp> {
        let ticket = *batch.ticket.get_or_insert_with(|| self.assign(batch.tags.len(), current));
        self.stamp(ticket)
    }

    fn ticket(&mut self) -> Ticket {
        self.next_ticket += 1;
        Ticket(self.next_ticket)
    }

    /// What goes into the batch's header when it is sent now.
    pub fn stamp(&mut self, ticket: Ticket) -> Option<Stamp> {
        let producer = self.producer?;
        let numbered = self.in_flight.iter_mut().find(|numbered| numbered.ticket == ticket)?;
        numbered.is_renumbered = false;
        Some(Stamp { producer, base_sequence: numbered.base })
    }

    /// How many batches in flight come before this one.
    #[must_use]
    pub fn place_of(&self, ticket: Ticket) -> Option<usize> {
        self.in_flight.iter().position(|numbered| numbered.ticket == ticket)
    }

    /// The batch is in the log.
    pub fn acked(&mut self, ticket: Ticket) {
        if let Some(numbered) = self.forget(ticket) {
            self.raise_acked(numbered.last());
        }
    }

    fn raise_acked(&mut self, last: i32) {
        if self.last_acked.is_none_or(|acked| is_later(last, acked)) {
            self.last_acked = Some(last);
        }
    }

    /// The number that a batch in flight was sent under; `None` if it was numbered anew since.
    #[must_use]
    pub fn sent_number(&self, ticket: Ticket) -> Option<SentNumber> {
        let numbered = self.in_flight.iter().find(|numbered| numbered.ticket == ticket && !numbered.is_renumbered)?;
        self.producer.map(|producer| SentNumber { producer, last: numbered.last() })
    }

    /// A batch that has no ticket any more is in the log: what follows it is in order, unless the sequence began anew meanwhile.
    pub fn acked_late(&mut self, number: SentNumber) {
        if self.producer == Some(number.producer) {
            self.raise_acked(number.last);
        }
    }

    /// The batch has failed, or its records go on under other tickets.
    pub fn failed(&mut self, ticket: Ticket) {
        self.forget(ticket);
    }

    /// The batch has expired, and a broker may have it: nothing new is numbered until what was sent behind it has its outcome.
    pub fn lost(&mut self, ticket: Ticket) {
        let Some(numbered) = self.forget(ticket) else { return };
        let after = advanced(numbered.base, numbered.records);
        if self.unresolved.is_none_or(|unresolved| is_later(after, unresolved)) {
            self.unresolved = Some(after);
        }
    }

    fn forget(&mut self, ticket: Ticket) -> Option<Numbered> {
        self.place_of(ticket).map(|place| self.in_flight.remove(place))
    }

    /// The batch is replaced by smaller ones with so many records each, which take over its numbers.
    pub fn split(&mut self, ticket: Ticket, records: &[usize]) -> Vec<Ticket> {
        let Some(place) = self.place_of(ticket) else { return Vec::new() };
        let mut base = self.in_flight.remove(place).base;
        let mut tickets = Vec::with_capacity(records.len());
        for (offset, count) in records.iter().enumerate() {
            let numbered = Numbered { ticket: self.ticket(), base, records: signed(*count), is_renumbered: false };
            base = advanced(base, numbered.records);
            self.in_flight.insert(place + offset, numbered);
            tickets.push(numbered.ticket);
        }
        tickets
    }

    /// The broker called the batch's number out of order (45). Whether that means a gap, so that the sequence must begin anew; if not, a batch
    /// before this one has failed, and sending again is enough.
    #[must_use]
    pub fn out_of_order_is_a_gap(&self, ticket: Ticket) -> bool {
        let Some(numbered) = self.in_flight.iter().find(|numbered| numbered.ticket == ticket) else { return false };
        match self.unresolved {
            Some(unresolved) => unresolved == numbered.base,
            None => !numbered.is_renumbered && self.is_next(numbered.base),
        }
    }

    /// The broker does not know the producer (59). Whether the sequence must begin anew; it need not if it has since this batch was sent, or if
    /// the answer does not tell where the log begins.
    #[must_use]
    pub fn unknown_producer_needs_restart(&self, ticket: Ticket, log_start_offset: Option<i64>) -> bool {
        let numbered = self.in_flight.iter().find(|numbered| numbered.ticket == ticket);
        log_start_offset.is_some() && numbered.is_some_and(|numbered| !numbered.is_renumbered)
    }

    fn is_next(&self, sequence: i32) -> bool {
        sequence == self.last_acked.map_or(0, |acked| advanced(acked, 1))
    }

    /// Looks whether what was unresolved is known by now.
    pub fn resolve(&mut self) -> Resolution {
        if self.unresolved.is_none() {
            return Resolution::Resolved;
        }
        if !self.in_flight.is_empty() {
            return Resolution::Pending;
        }
        self.unresolved = None;
        if self.is_next(self.next) { Resolution::Resolved } else { Resolution::Gap }
    }

    /// Begins anew at 0 under another id or epoch; batches in flight are numbered anew, in order.
    pub fn restart(&mut self, producer: ProducerIdAndEpoch) {
        let mut next = 0;
        for numbered in &mut self.in_flight {
            numbered.base = next;
            numbered.is_renumbered = true;
            next = advanced(next, numbered.records);
        }
        self.producer = Some(producer);
        self.next = next;
        self.last_acked = None;
        self.unresolved = None;
    }
}

/// A batch has at most 2^31-1 records: its header counts them in an i32.
fn signed(records: usize) -> i32 {
    i32::try_from(records).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests;
