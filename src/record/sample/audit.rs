//! What an audit found, by hand: topic `orders`, told at a moment of its own.

use super::Sample;
use crate::ids::{PartitionIndex, ProducerIndex, TopicName, TopicPartition};
use crate::record::audit::{AuditCounts, AuditEnded, AuditPair, AuditPartition, LostPlace, LostRecords};
use crate::record::fact::Fact;

fn orders(partition: i32) -> TopicPartition {
    TopicPartition { topic: TopicName::from("orders"), partition: PartitionIndex(partition) }
}

impl Sample {
    /// A partition that holds what its only producer, the group's first, has there.
    pub(crate) fn audited(self, at_ms: i64, partition: i32, group: &str, counts: AuditCounts) -> Self {
        let (records, end_offset) = (counts.found + counts.duplicated, (counts.found + counts.duplicated) as i64);
        let log = AuditPartition { records, end_offset, ..AuditPartition::empty(orders(partition), 0) };
        let TopicPartition { topic, partition } = orders(partition);
        let pair = AuditPair { group: group.to_owned(), producer: ProducerIndex(0), topic, partition, counts };
        self.at(at_ms, Fact::AuditPartition(Box::new(log))).at(at_ms, Fact::AuditPair(Box::new(pair)))
    }

    /// A partition that could not be read.
    pub(crate) fn unread(self, at_ms: i64, partition: i32, why: &str) -> Self {
        let log = AuditPartition { unread: Some(why.to_owned()), ..AuditPartition::empty(orders(partition), 0) };
        self.at(at_ms, Fact::AuditPartition(Box::new(log)))
    }

    /// Records of a group's producer that are not there; due from and until, in ms.
    pub(crate) fn lost(self, at_ms: i64, partition: i32, group: &str, records: u64, due_ms: (i64, i64), place: LostPlace) -> Self {
        let TopicPartition { topic, partition } = orders(partition);
        let lost = LostRecords {
            group: group.to_owned(),
            producer: ProducerIndex(0),
            topic,
            partition,
            first_sequence: 100,
            last_sequence: 99 + u32::try_from(records).unwrap(),
            records,
            due_after_us: Some(due_ms.0 * 1_000),
            due_before_us: Some(due_ms.1 * 1_000),
            place,
        };
        self.at(at_ms, Fact::LostRecords(Box::new(lost)))
    }

    /// The audit is over.
    pub(crate) fn audit_ended(self, at_ms: i64, change: impl FnOnce(&mut AuditEnded)) -> Self {
        let mut ended = AuditEnded { took_us: 250_000, ..AuditEnded::default() };
        change(&mut ended);
        self.at(at_ms, Fact::AuditEnded(Box::new(ended)))
    }
}
