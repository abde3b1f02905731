//! What an audit has to tell, as facts. Pure.

use std::time::Duration;

use super::ledger::{Index, NO_PARTITION};
use super::reader::Reading;
use crate::record::audit::{AuditCounts, AuditEnded, AuditPair, AuditPartition};
use crate::record::fact::Fact;

/// What an audit knows besides what it read.
#[derive(Clone, Debug, Default)]
pub struct Circumstances {
    /// How long reading took.
    pub took: Duration,
    /// Records whose outcomes the ledger refused.
    pub refused: u64,
    /// Groups whose records are too short to say whose they are.
    pub unidentified: Vec<String>,
}

/// All of it: partitions with their producers and lost records, then what belongs to none, then the sums.
pub fn of(reading: Reading, index: &Index, circumstances: Circumstances) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut ended = AuditEnded {
        took_us: u64::try_from(circumstances.took.as_micros()).unwrap_or(u64::MAX),
        bytes: reading.bytes,
        refused: circumstances.refused,
        unidentified: circumstances.unidentified,
        ..AuditEnded::default()
    };
    for (_, findings) in reading.read {
        ended.records += findings.partition.records;
        ended.lost_untold += findings.lost_untold;
        facts.push(Fact::AuditPartition(Box::new(findings.partition)));
        facts.extend(findings.pairs.into_iter().map(|pair| Fact::AuditPair(Box::new(pair))));
        facts.extend(findings.lost.into_iter().map(|lost| Fact::LostRecords(Box::new(lost))));
    }
    for (partition, why) in reading.unread {
        let unread = AuditPartition { unread: Some(why), ..AuditPartition::empty(partition, 0) };
        facts.push(Fact::AuditPartition(Box::new(unread)));
    }
    for producer in index.producers() {
        ended.sent += producer.sent;
        ended.outcomes += producer.pairs.iter().map(|pair| pair.outcomes.len()).sum::<u64>();
        for pair in producer.pairs.iter().filter(|pair| pair.partition == NO_PARTITION) {
            let (failed, indeterminate) = (pair.outcomes.failed().len(), pair.outcomes.indeterminate().len());
            let counts = AuditCounts { failed, indeterminate, ..AuditCounts::default() };
            let (group, topic) = (producer.group.clone(), pair.topic.clone());
            facts.push(Fact::AuditPair(Box::new(AuditPair { group, producer: producer.producer, topic, partition: NO_PARTITION, counts })));
        }
    }
    facts.push(Fact::AuditEnded(Box::new(ended)));
    facts
}
