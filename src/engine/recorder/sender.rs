//! What a client's recorder knows of one of its senders: totals, service per partition, and the outcome that a closed loop waits for.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::clock::Moment;
use crate::engine::recorder::figures::Fate;
use crate::engine::recorder::mark;
use crate::engine::recorder::pair::{Pair, PairFact};
use crate::ids::PartitionIndex;
use crate::kafka::event::RecordTag;
use crate::record::fact::Totals;

pub(crate) use crate::audit::ledger::NO_PARTITION;

/// One sender's state.
#[derive(Debug, Default)]
pub(crate) struct SenderState {
    pub(crate) totals: Totals,
    /// By topic (position in the group's list), then by partition index plus one: place 0 is [`NO_PARTITION`].
    pairs: Vec<Vec<Pair>>,
    pub(crate) waiting: Option<Box<Waiting>>,
}

/// A closed loop's wait.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// Mark of the record that is waited for.
    for_mark: Option<u64>,
    /// Marks of records that were given up and have no outcome yet.
    given_up: Vec<u64>,
    /// Wakes the sender.
    pub(crate) outcome_known: Arc<Notify>,
}

impl SenderState {
    /// Nothing sent yet; `waits`: in a closed loop.
    pub(crate) fn new(waits: bool) -> Self {
        Self { waiting: waits.then(Box::default), ..Self::default() }
    }

    /// The pair of a topic and partition, made if there is none yet.
    pub(crate) fn pair(&mut self, topic: usize, partition: PartitionIndex) -> &mut Pair {
        if self.pairs.len() <= topic {
            self.pairs.resize_with(topic + 1, Vec::new);
        }
        let pairs = &mut self.pairs[topic];
        let place = place_of(partition);
        if pairs.len() <= place {
            pairs.resize_with(place + 1, Pair::default);
        }
        &mut pairs[place]
    }

    /// The pair to change, if there is one.
    pub(crate) fn known_pair_mut(&mut self, topic: usize, partition: PartitionIndex) -> Option<&mut Pair> {
        self.pairs.get_mut(topic)?.get_mut(place_of(partition))
    }

    /// The pair, if there is one.
    pub(crate) fn known_pair(&self, topic: usize, partition: PartitionIndex) -> Option<&Pair> {
        self.pairs.get(topic)?.get(place_of(partition))
    }

    /// All pairs with their topics and partitions.
    pub(crate) fn pairs_mut(&mut self) -> impl Iterator<Item = (usize, PartitionIndex, &mut Pair)> {
        self.pairs.iter_mut().enumerate().flat_map(|(topic, pairs)| {
            pairs.iter_mut().enumerate().map(move |(place, pair)| (topic, PartitionIndex(place as i32 - 1), pair))
        })
    }

    /// All pairs with their topics and partitions.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (usize, PartitionIndex, &Pair)> {
        self.pairs
            .iter()
            .enumerate()
            .flat_map(|(topic, pairs)| pairs.iter().enumerate().map(move |(place, pair)| (topic, PartitionIndex(place as i32 - 1), pair)))
    }

    /// Records of a partition were acknowledged. An ok on any partition of a topic also ends the wait of records that had got none.
    pub(crate) fn ok(
        &mut self,
        at: Moment,
        topic: usize,
        partition: PartitionIndex,
        records: &[RecordTag],
        facts: &mut Vec<(PartitionIndex, PairFact)>,
    ) {
        let mut own = Vec::new();
        if self.known_pair(topic, NO_PARTITION).is_some_and(|pair| pair.unserved().is_some()) {
            let last_ok = self.pairs[topic].iter().filter_map(Pair::last_ok).max();
            self.pair(topic, NO_PARTITION).served(at, last_ok, &mut own);
            facts.extend(own.drain(..).map(|fact| (NO_PARTITION, fact)));
        }
        self.pair(topic, partition).ok(at, records.iter().map(|record| mark::due(record.mark)), &mut own);
        facts.extend(own.into_iter().map(|fact| (partition, fact)));
    }

    /// Records of a partition did not end well.
    pub(crate) fn bad(
        &mut self,
        topic: usize,
        partition: PartitionIndex,
        records: &[RecordTag],
        facts: &mut Vec<(PartitionIndex, PairFact)>,
    ) {
        let mut own = Vec::new();
        self.pair(topic, partition).bad(records.iter().map(|record| mark::due(record.mark)), &mut own);
        facts.extend(own.into_iter().map(|fact| (partition, fact)));
    }

    /// Counts records of a fate.
    pub(crate) fn count(&mut self, fate: Fate, records: u64) {
        *match fate {
            Fate::Ok => &mut self.totals.ok,
            Fate::Failed => &mut self.totals.failed,
            Fate::Indeterminate => &mut self.totals.indeterminate,
        } += records;
    }
}

fn place_of(partition: PartitionIndex) -> usize {
    usize::try_from(partition.0 + 1).unwrap_or(0)
}

impl Waiting {
    /// The sender is about to send a record, and will wait for its outcome.
    pub(crate) fn begin(&mut self, mark: u64) {
        self.for_mark = Some(mark);
    }

    /// Whether the outcome of that record is still unknown.
    pub(crate) fn is_waiting(&self, mark: u64) -> bool {
        self.for_mark == Some(mark)
    }

    /// Gives the record up, unless its outcome is known.
    pub(crate) fn give_up(&mut self, mark: u64) -> bool {
        let gives_up = self.is_waiting(mark);
        if gives_up {
            self.for_mark = None;
            self.given_up.push(mark);
        }
        gives_up
    }

    /// An outcome came: wakes the sender if it waits for it. Says whether the record counts now: it does not if it was given up before.
    pub(crate) fn settle(&mut self, mark: u64) -> bool {
        if self.is_waiting(mark) {
            self.for_mark = None;
            self.outcome_known.notify_one();
            return true;
        }
        match self.given_up.iter().position(|given_up| *given_up == mark) {
            Some(place) => {
                self.given_up.swap_remove(place);
                false
            }
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_counts_once_whether_or_not_it_was_given_up() {
        let mut waiting = Waiting::default();
        waiting.begin(1);
        assert!(waiting.settle(1));
        assert!(!waiting.give_up(1), "its outcome is known");
        waiting.begin(2);
        assert!(waiting.give_up(2));
        assert!(!waiting.settle(2), "counted when it was given up");
        assert!(waiting.given_up.is_empty());
    }
}
