//! Outages: stretches without service, by step, producer and partition.
//!
//! A stretch runs from the due time of the first record that was due after the last ok to the next ok. It is an outage if it is longer
//! than its group's threshold. It belongs to each step whose window it overlaps; a step's *own* stretches are those that did not begin
//! before it.
//!
//! ```text
//!            kill 4 s        start 8 s                    service 14 s
//! ok ok ok ok |                |                            | ok ok ok
//!             [================= stretch 10 s ==============]
//!   kill:      outage 10 s (own)                 from request to ok 10 s
//!   start:     outage 10 s (began before)        from request to ok  6 s
//! ```
//!
//! Not here: gaps between acks, which sparse keys make by themselves; whoever writes [`Fact::Gap`] knows the due times.

mod assign;
mod figures;

pub(crate) use assign::{GroupBasis, Hit, assign};
pub(crate) use figures::{OutageReport, report, rows};

use std::collections::BTreeMap;

use crate::analyze::names::Names;
use crate::ids::{PartitionIndex, ProducerIndex, TopicName};
use crate::record::fact::{Fact, Stamped};

/// A stretch is an outage if it is this much longer than the baseline's p99.
pub const ABOVE_BASELINE_US: i64 = 500_000;

/// Pairs that are kept, and stretches of all of them together: some 300 MB.
const KEPT_MAX: usize = 2_000_000;

/// A producer and a partition that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pair {
    pub(crate) group: usize,
    pub(crate) producer: u32,
    pub(crate) topic: usize,
    pub(crate) partition: i32,
}

/// What is known of a pair's use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairUse {
    pub(crate) worker: u32,
    /// Due time of its first record.
    pub(crate) since_us: i64,
}

/// A stretch without service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) pair: Pair,
    pub(crate) last_ok_us: Option<i64>,
    pub(crate) first_due_us: i64,
    pub(crate) first_error_us: Option<i64>,
    pub(crate) first_ok_us: Option<i64>,
}

/// All pairs and stretches of a run.
#[derive(Clone, Debug)]
pub(crate) struct Stretches {
    pub(crate) groups: Names,
    pub(crate) topics: Names,
    pub(crate) pairs: BTreeMap<Pair, PairUse>,
    pub(crate) stretches: Vec<Stretch>,
    /// Pairs and stretches that found no room.
    pub(crate) not_kept: u64,
    room: usize,
}

impl Default for Stretches {
    fn default() -> Self {
        Self {
            groups: Names::default(),
            topics: Names::default(),
            pairs: BTreeMap::new(),
            stretches: Vec::new(),
            not_kept: 0,
            room: KEPT_MAX,
        }
    }
}

impl Stretches {
    /// Takes in a fact.
    pub(crate) fn fold(&mut self, stamped: &Stamped) {
        match &stamped.fact {
            Fact::RunStarted(run) => {
                for group in &run.groups {
                    self.groups.number(&group.name);
                }
            }
            Fact::PartitionFirstUsed { group, producer, topic, partition, due_us } => {
                let pair = self.pair(group, *producer, topic, *partition);
                self.not_kept += u64::from(!self.used(pair, stamped.worker, *due_us));
            }
            Fact::Gap { group, producer, topic, partition, last_ok_us, first_due_us, first_error_us, first_ok_us } => {
                let pair = self.pair(group, *producer, topic, *partition);
                let has_room = self.used(pair, stamped.worker, *first_due_us) && self.stretches.len() < self.room;
                if !has_room {
                    self.not_kept += 1;
                    return;
                }
                self.stretches.push(Stretch {
                    pair,
                    last_ok_us: *last_ok_us,
                    first_due_us: *first_due_us,
                    first_error_us: *first_error_us,
                    first_ok_us: *first_ok_us,
                });
            }
            _ => {}
        }
    }

    fn pair(&mut self, group: &str, producer: ProducerIndex, topic: &TopicName, partition: PartitionIndex) -> Pair {
        Pair { group: self.groups.number(group), producer: producer.0, topic: self.topics.number(topic.as_str()), partition: partition.0 }
    }

    /// Whether there was room for it.
    fn used(&mut self, pair: Pair, worker: u32, due_us: i64) -> bool {
        if self.pairs.len() >= self.room && !self.pairs.contains_key(&pair) {
            return false;
        }
        let entry = self.pairs.entry(pair).or_insert(PairUse { worker, since_us: due_us });
        entry.since_us = entry.since_us.min(due_us);
        true
    }
}

#[cfg(test)]
mod tests;
