//! Where in a log records should have been that are not there. Pure.
//!
//! Every batch says in which leader's epoch it was written. A record that was acknowledged and then cut off, because a new leader did not have it,
//! leaves a seam: before it the producer's records are of one epoch, behind it of a later one.

use crate::ids::{LeaderEpoch, TopicPartition};
use crate::record::audit::{AuditPartition, LostPlace, LostRecords};

use super::check::EPOCHS_MAX;
use super::ledger::{Outcomes, ProducerEntry};
use super::sequences::Sequences;

/// A record that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) number: u32,
    pub(super) offset: i64,
    pub(super) due_us: Option<i64>,
}

/// A producer's records of one epoch: the first and the last by number.
#[derive(Clone, Copy, Debug)]
struct Segment {
    epoch: LeaderEpoch,
    first: Edge,
    last: Edge,
    /// Whether records of later epochs are among them: there was no room for these.
    holds_later: bool,
}

/// A producer's records on a partition, by the epoch in which they were written.
#[derive(Debug, Default)]
pub(super) struct Segments(Vec<Segment>);

impl Segments {
    /// The next record of the log.
    pub(super) fn enter(&mut self, epoch: LeaderEpoch, edge: Edge) {
        let is_full = self.0.len() >= EPOCHS_MAX;
        match self.0.last_mut().filter(|last| last.epoch == epoch || is_full) {
            Some(last) => {
                last.holds_later |= last.epoch != epoch;
                if edge.number < last.first.number {
                    last.first = edge;
                }
                if edge.number > last.last.number {
                    last.last = edge;
                }
            }
            None => self.0.push(Segment { epoch, first: edge, last: edge, holds_later: false }),
        }
    }

    fn before(&self, number: u32) -> Option<&Segment> {
        self.0.iter().rev().find(|segment| segment.first.number < number)
    }

    fn behind(&self, number: u32) -> Option<&Segment> {
        self.0.iter().find(|segment| segment.last.number > number)
    }
}

/// Lost records between two that are not.
#[derive(Debug)]
pub(super) struct Stretch {
    first: u32,
    last: u32,
    records: u64,
    due_after_us: Option<i64>,
    due_before_us: Option<i64>,
    place: LostPlace,
}

impl Stretch {
    /// As it is told.
    pub(super) fn of(self, producer: &ProducerEntry, partition: &TopicPartition) -> LostRecords {
        LostRecords {
            group: producer.group.clone(),
            producer: producer.producer,
            topic: partition.topic.clone(),
            partition: partition.partition,
            first_sequence: self.first,
            last_sequence: self.last,
            records: self.records,
            due_after_us: self.due_after_us,
            due_before_us: self.due_before_us,
            place: self.place,
        }
    }
}

/// Lost records of a producer in stretches: between two of one stretch, none that was acknowledged on the partition is there.
pub(super) fn stretches<'a>(
    missing: &'a Sequences,
    said: &'a Outcomes,
    found: &'a Segments,
    log: &'a AuditPartition,
) -> impl Iterator<Item = Stretch> + 'a {
    let mut ranges = missing.ranges().peekable();
    std::iter::from_fn(move || {
        let (first, mut last) = ranges.next()?.into_inner();
        let mut records = u64::from(last - first) + 1;
        // A producer's numbers on one partition have gaps of their own.
        while let Some(next) = ranges.next_if(|next| said.acknowledged.count_between(last, *next.start()) == 0) {
            records += u64::from(next.end() - next.start()) + 1;
            last = *next.end();
        }
        Some(stretch(first, last, records, found, log))
    })
}

fn stretch(first: u32, last: u32, records: u64, found: &Segments, log: &AuditPartition) -> Stretch {
    let (before, behind) = (found.before(first), found.behind(last));
    let next_epoch = |after: LeaderEpoch| log.epochs.iter().find(|start| start.epoch > after);
    let change = |epoch_before: Option<LeaderEpoch>, at: &crate::record::audit::EpochStart| LostPlace::LeaderChange {
        epoch_before,
        epoch: at.epoch,
        start_offset: at.start_offset,
    };
    // Of a log with more epochs than there is room for, nobody knows where later ones begin.
    let last_kept = log.epochs.last().map(|start| start.epoch).filter(|_| log.epochs.len() >= EPOCHS_MAX);
    let place = match (before, behind) {
        (Some(before), Some(behind)) if before.epoch >= behind.epoch && !before.holds_later => {
            LostPlace::WithinEpoch { epoch: before.epoch }
        }
        (Some(before), _) if before.holds_later || last_kept.is_some_and(|last| before.epoch >= last) => {
            LostPlace::SinceEpoch { epoch: before.epoch }
        }
        (Some(before), _) => match next_epoch(before.epoch) {
            Some(next) => change(Some(before.epoch), next),
            None => LostPlace::AtEnd { epoch: before.epoch, end_offset: log.end_offset },
        },
        (None, _) if log.log_start_offset > 0 => LostPlace::BeforeStart { log_start_offset: log.log_start_offset },
        (None, Some(behind)) => match log.epochs.iter().find(|start| start.epoch == behind.epoch) {
            Some(start) if start.epoch.0 > 0 => change(None, start),
            Some(_) => LostPlace::Nowhere,
            None => last_kept.map_or(LostPlace::Nowhere, |epoch| LostPlace::SinceEpoch { epoch }),
        },
        (None, None) => LostPlace::Nowhere,
    };
    Stretch {
        first,
        last,
        records,
        due_after_us: before.and_then(|segment| segment.last_below(first)),
        due_before_us: behind.and_then(|segment| segment.first_above(last)),
        place,
    }
}

impl Segment {
    /// Due time of its last record if that is before this number; else of its first, which is the nearest that is known.
    fn last_below(&self, number: u32) -> Option<i64> {
        if self.last.number < number { self.last.due_us } else { self.first.due_us }
    }

    fn first_above(&self, number: u32) -> Option<i64> {
        if self.first.number > number { self.first.due_us } else { self.last.due_us }
    }
}
