//! Errors of a group, summed up by kind: a storm of them stays a handful of facts a second.

use std::collections::{BTreeMap, HashMap};

use crate::clock::Moment;
use crate::ids::{BrokerId, ProducerIndex, TopicPartition};
use crate::kafka::event::Failure;
use crate::record::fact::Fact;
use crate::record::sink::FactSink;

/// Records that did not end well in the present second, by outcome, kind and code.
#[derive(Debug, Default)]
pub(crate) struct RecordErrorBook(BTreeMap<(&'static str, String, Option<i16>), Entry>);

#[derive(Debug)]
struct Entry {
    text: String,
    count: u64,
    first: Moment,
    last: Moment,
}

impl RecordErrorBook {
    /// Enters `count` records.
    pub(crate) fn enter(&mut self, at: Moment, outcome: &'static str, failure: &Failure, count: u64) {
        let key = (outcome, failure.kind.clone(), failure.code.map(|code| code.0));
        let entry = self.0.entry(key).or_insert_with(|| Entry { text: failure.text.clone(), count: 0, first: at, last: at });
        entry.count += count;
        entry.first = entry.first.min(at);
        entry.last = entry.last.max(at);
    }

    /// Tells what was entered, and is empty again.
    pub(crate) fn tell(&mut self, group: &str, facts: &FactSink) {
        for ((outcome, kind, code), entry) in std::mem::take(&mut self.0) {
            let fact = Fact::RecordErrors {
                group: group.to_owned(),
                outcome: outcome.to_owned(),
                kind,
                code,
                text: entry.text,
                count: entry.count,
                first_us: facts.time_us(entry.first),
                last_us: facts.time_us(entry.last),
            };
            facts.emit(entry.last, fact);
        }
    }
}

/// What batches' errors are summed up by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BatchErrorKey {
    pub(crate) producer: ProducerIndex,
    pub(crate) partition: TopicPartition,
    pub(crate) node: BrokerId,
    pub(crate) code: i16,
    pub(crate) retried: bool,
}

/// Batches' errors of the present second: the first of a kind is told at once, for its time; the ones after it as one sum.
#[derive(Debug, Default)]
pub(crate) struct BatchErrorBook(HashMap<BatchErrorKey, (u64, Moment)>);

impl BatchErrorBook {
    /// Enters an error of a batch with so many records; says whether it is to be told at once.
    pub(crate) fn enter(&mut self, at: Moment, key: BatchErrorKey, records: usize) -> bool {
        let mut is_first = false;
        let (sum, last) = self.0.entry(key).or_insert_with(|| {
            is_first = true;
            (0, at)
        });
        if !is_first {
            *sum += records as u64;
            *last = at;
        }
        is_first
    }

    /// Tells the sums, and is empty again.
    pub(crate) fn tell(&mut self, group: &str, facts: &FactSink) {
        for (key, (records, last)) in self.0.drain().filter(|(_, (records, _))| *records > 0) {
            facts.emit(last, batch_error(group, key, records));
        }
    }
}

/// The fact.
pub(crate) fn batch_error(group: &str, key: BatchErrorKey, records: u64) -> Fact {
    Fact::BatchError {
        group: group.to_owned(),
        producer: key.producer,
        topic: key.partition.topic,
        partition: key.partition.partition,
        node: key.node,
        code: key.code,
        retried: key.retried,
        records: u32::try_from(records).unwrap_or(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{PartitionIndex, TopicName};
    use crate::record::sink;

    #[test]
    fn a_storm_of_failures_is_one_fact_per_kind() {
        let (facts, mut source) = sink::channel(Moment(0), 0, 8);
        let failure = Failure { kind: "TimeoutException".into(), code: None, text: "first".into() };
        let mut book = RecordErrorBook::default();
        book.enter(Moment(10), "failed", &failure, 3);
        book.enter(Moment(30), "failed", &Failure { text: "second".into(), ..failure }, 4);
        book.tell("g", &facts);
        book.tell("g", &facts);
        let Fact::RecordErrors { text, count, first_us, last_us, .. } = source.try_next().unwrap().fact else { panic!() };
        assert_eq!((text.as_str(), count, first_us, last_us), ("first", 7, 10, 30));
        assert!(source.try_next().is_none());
    }

    #[test]
    fn the_first_batch_error_is_told_at_once_and_the_rest_as_a_sum() {
        let (facts, mut source) = sink::channel(Moment(0), 0, 8);
        let key = BatchErrorKey {
            producer: ProducerIndex(0),
            partition: TopicPartition { topic: TopicName::from("t"), partition: PartitionIndex(1) },
            node: BrokerId(2),
            code: 6,
            retried: true,
        };
        let mut book = BatchErrorBook::default();
        assert!(book.enter(Moment(1), key.clone(), 5));
        assert!(!book.enter(Moment(2), key.clone(), 7));
        assert!(!book.enter(Moment(3), key.clone(), 8));
        book.tell("g", &facts);
        let told = source.try_next().unwrap();
        assert_eq!((told.time_us, told.fact), (3, batch_error("g", key.clone(), 15)));
        assert!(book.enter(Moment(4), key, 5));
    }
}
