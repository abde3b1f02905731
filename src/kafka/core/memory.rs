//! `buffer.memory` as an account: what batches hold, who waits for room, first come first served.
//!
//! Java's counterpart: `BufferPool`. Only counts; the bytes themselves are allocated as records come, so an idle producer costs little.

use std::collections::VecDeque;

/// A place in the queue for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryTicket(u64);

/// The account.
#[derive(Debug)]
pub struct Memory {
    total_bytes: usize,
    free_bytes: usize,
    waiting: VecDeque<(MemoryTicket, usize)>,
    granted: Vec<(MemoryTicket, usize)>,
    next_ticket: u64,
}

impl Memory {
    /// All of it free.
    #[must_use]
    pub fn new(total_bytes: usize) -> Self {
        Self { total_bytes, free_bytes: total_bytes, waiting: VecDeque::new(), granted: Vec::new(), next_ticket: 0 }
    }

    /// What there is in all.
    #[must_use]
    pub fn total_bytes(&self) -> usize {
        self.total_bytes
    }

    /// What nobody holds.
    #[must_use]
    pub fn free_bytes(&self) -> usize {
        self.free_bytes
    }

    /// What was granted and not yet redeemed.
    #[cfg(test)]
    pub(in crate::kafka::core) fn granted_bytes(&self) -> usize {
        self.granted.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Whether somebody waits: batches are then sent without lingering.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes memory at once, unless there is too little or others wait for it.
    pub fn try_take(&mut self, bytes: usize) -> bool {
        let possible = self.waiting.is_empty() && self.free_bytes >= bytes;
        if possible {
            self.free_bytes -= bytes;
        }
        possible
    }

    /// Queues for memory.
    pub fn queue(&mut self, bytes: usize) -> MemoryTicket {
        self.next_ticket += 1;
        let ticket = MemoryTicket(self.next_ticket);
        self.waiting.push_back((ticket, bytes));
        self.grant();
        ticket
    }

    /// The memory that a ticket was granted: the caller holds it from now on. `None`: still waiting.
    pub fn redeem(&mut self, ticket: MemoryTicket) -> Option<usize> {
        let position = self.granted.iter().position(|(granted, _)| *granted == ticket)?;
        Some(self.granted.swap_remove(position).1)
    }

    /// Gives a place in the queue up, and with it what it was granted.
    pub fn abandon(&mut self, ticket: MemoryTicket) {
        self.waiting.retain(|(waiting, _)| *waiting != ticket);
        if let Some(bytes) = self.redeem(ticket) {
            self.free_bytes += bytes;
        }
        self.grant();
    }

    /// Gives memory back. Returns whether somebody who waited now has what it asked for.
    pub fn give_back(&mut self, bytes: usize) -> bool {
        self.free_bytes += bytes;
        self.grant()
    }

    fn grant(&mut self) -> bool {
        let before = self.granted.len();
        while let Some((ticket, bytes)) = self.waiting.front().copied().filter(|(_, bytes)| *bytes <= self.free_bytes) {
            self.waiting.pop_front();
            self.free_bytes -= bytes;
            self.granted.push((ticket, bytes));
        }
        self.granted.len() > before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_goes_to_those_who_waited_first() {
        let mut memory = Memory::new(100);
        assert!(memory.try_take(60));
        let big = memory.queue(50);
        assert!(!memory.try_take(10), "a late comer does not overtake");
        let small = memory.queue(10);
        assert!(!memory.give_back(5));
        assert!(memory.give_back(55));
        assert_eq!(memory.redeem(big), Some(50));
        assert_eq!(memory.redeem(big), None, "only once");
        assert_eq!(memory.redeem(small), Some(10));
        assert!(!memory.is_exhausted());
        assert_eq!(memory.free_bytes(), 40);
    }

    #[test]
    fn an_abandoned_place_frees_what_it_was_granted() {
        let mut memory = Memory::new(100);
        assert!(memory.try_take(100));
        let first = memory.queue(80);
        let second = memory.queue(20);
        memory.abandon(first);
        memory.give_back(20);
        assert_eq!(memory.redeem(second), Some(20));
        let third = memory.queue(30);
        memory.give_back(80);
        memory.abandon(third);
        assert_eq!(memory.free_bytes(), 80);
    }
}
