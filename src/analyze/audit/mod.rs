//! What the audit of the topics came to: sums by group, what could not be read, and where lost records vanished.
//!
//! The audit says between which leaders' epochs records are missing; the controller's log, which was followed all the while, says when that
//! leader was elected, and whether cleanly. Both are put together here. Not here: the audit itself (`crate::audit`).

pub mod findings;
mod lost;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use words::{remarks, sentence};

use std::collections::BTreeMap;

use self::findings::{AuditFinding, AuditedGroup, UnreadFinding};
use self::lost::Elections;
use crate::ids::TopicPartition;
use crate::record::audit::{AuditCounts, AuditEnded, AuditPartition, LostRecords};
use crate::record::fact::{Fact, Stamped};
use crate::record::step::StepLedger;

/// The fold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Audit {
    partitions: BTreeMap<TopicPartition, AuditPartition>,
    groups: BTreeMap<String, AuditCounts>,
    lost: Vec<LostRecords>,
    elections: Elections,
    ended: Option<AuditEnded>,
    /// Why there was none.
    skipped: Option<String>,
}

impl Audit {
    /// Takes in a fact.
    pub(crate) fn fold(&mut self, stamped: &Stamped) {
        self.elections.fold(stamped);
        match &stamped.fact {
            Fact::AuditPartition(partition) => {
                let key = TopicPartition { topic: partition.topic.clone(), partition: partition.partition };
                self.partitions.insert(key, (**partition).clone());
            }
            Fact::AuditPair(pair) => self.groups.entry(pair.group.clone()).or_default().add(&pair.counts),
            Fact::LostRecords(lost) => self.lost.push((**lost).clone()),
            Fact::AuditEnded(ended) => self.ended = Some((**ended).clone()),
            Fact::AuditSkipped { why } => self.skipped = Some(why.clone()),
            _ => {}
        }
    }

    /// What it came to; `None`: there was none.
    pub(crate) fn finding(&self, steps: &StepLedger) -> Option<AuditFinding> {
        let ended = self.ended.as_ref()?;
        let mut totals = AuditCounts::default();
        self.groups.values().for_each(|counts| totals.add(counts));
        let read = || self.partitions.values().filter(|partition| partition.unread.is_none());
        let sum = |of: fn(&AuditPartition) -> u64| read().map(of).sum();
        let unread = |partition: &AuditPartition| {
            let why = partition.unread.clone()?;
            Some(UnreadFinding { topic: partition.topic.to_string(), partition: partition.partition.0, why })
        };
        Some(AuditFinding {
            took_ms: ended.took_us / 1_000,
            partitions: self.partitions.len() as u64,
            records: sum(|partition| partition.records),
            control_records: sum(|partition| partition.control_records),
            missing_offsets: sum(|partition| partition.missing_offsets),
            foreign: sum(|partition| partition.foreign),
            corrupt: sum(|partition| partition.corrupt),
            unchecked: sum(|partition| partition.unchecked),
            sent: ended.sent,
            outcomes: ended.outcomes,
            refused: ended.refused,
            totals,
            groups: self.groups.iter().map(|(name, counts)| AuditedGroup { name: name.clone(), counts: *counts }).collect(),
            unidentified: ended.unidentified.clone(),
            unread: self.partitions.values().filter_map(unread).collect(),
            lost: self.elections.explain(&self.lost, steps),
            lost_untold: ended.lost_untold,
        })
    }

    /// Why there is no finding.
    pub(crate) fn skipped(&self) -> Option<&str> {
        self.skipped.as_deref()
    }
}
