//! Which election lost records vanished in.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::LostFinding;
use super::words;
use crate::ids::{BrokerId, LeaderEpoch, ProducerIndex, StepNumber, TopicName, TopicPartition};
use crate::record::audit::{LostPlace, LostRecords};
use crate::record::fact::{Fact, Stamped};
use crate::record::files::millis;
use crate::record::layer::{ControllerChange, PartitionState};
use crate::record::step::StepLedger;

/// Elections that are kept of each partition, the first of them; a log that changes hands more often is no place to look for causes.
const ELECTIONS_MAX: usize = 1_000;
/// Places that are told, those with most records.
const PLACES_MAX: usize = 50;

/// A leader's election, as the controller's log had it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Election {
    pub(super) at_us: i64,
    pub(super) leader: BrokerId,
    pub(super) is_unclean: bool,
    /// Of its record in the controller's log.
    offset: i64,
}

/// All elections that were seen, and topics that were deleted.
#[derive(Clone, Debug, Default)]
pub(super) struct Elections {
    by_partition: BTreeMap<TopicPartition, BTreeMap<LeaderEpoch, Election>>,
    /// At which offset of the controller's log.
    deleted: BTreeMap<TopicName, i64>,
}

impl Elections {
    pub(super) fn fold(&mut self, stamped: &Stamped) {
        let record = match &stamped.fact {
            Fact::ControllerRecord(record) => record,
            Fact::ControllerTruncated { end_offset, .. } => return self.truncated(*end_offset),
            _ => return,
        };
        match &record.change {
            ControllerChange::PartitionMade(state) | ControllerChange::PartitionChanged(state) => {
                self.enter(stamped.time_us, record.offset, state);
            }
            ControllerChange::TopicRemoved { topic, .. } => {
                self.deleted.insert(topic.clone(), record.offset);
            }
            _ => {}
        }
    }

    /// What a new active controller does not have never came to be.
    fn truncated(&mut self, end_offset: i64) {
        self.by_partition.values_mut().for_each(|elections| elections.retain(|_, election| election.offset < end_offset));
        self.deleted.retain(|_, offset| *offset < end_offset);
    }

    fn enter(&mut self, at_us: i64, offset: i64, state: &PartitionState) {
        let Some(leader) = state.leader else { return };
        let key = TopicPartition { topic: state.topic.clone(), partition: state.partition };
        let elections = self.by_partition.entry(key).or_default();
        if elections.len() < ELECTIONS_MAX {
            elections.entry(state.leader_epoch).or_insert(Election { at_us, leader, is_unclean: state.is_unclean, offset });
        }
    }

    /// Lost records by where they vanished, the most first.
    pub(super) fn explain(&self, lost: &[LostRecords], steps: &StepLedger) -> Vec<LostFinding> {
        let mut places: BTreeMap<(TopicPartition, Key), Vec<&LostRecords>> = BTreeMap::new();
        for records in lost {
            let partition = TopicPartition { topic: records.topic.clone(), partition: records.partition };
            places.entry((partition, key(records.place))).or_default().push(records);
        }
        let mut findings: Vec<LostFinding> =
            places.into_iter().map(|((partition, _), together)| self.finding(&partition, &together, steps)).collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.records));
        findings.truncate(PLACES_MAX);
        findings
    }

    fn finding(&self, partition: &TopicPartition, together: &[&LostRecords], steps: &StepLedger) -> LostFinding {
        let place = together[0].place;
        let producers: BTreeSet<(&str, ProducerIndex)> = together.iter().map(|lost| (lost.group.as_str(), lost.producer)).collect();
        // One that is not known makes the whole unknown.
        let all = |of: fn(&LostRecords) -> Option<i64>| together.iter().map(|lost| of(lost)).collect::<Option<Vec<i64>>>();
        let due_after_us = all(|lost| lost.due_after_us).and_then(|times| times.into_iter().min());
        let due_before_us = all(|lost| lost.due_before_us).and_then(|times| times.into_iter().max());
        let (epoch, truncated_at) = match place {
            LostPlace::LeaderChange { epoch, start_offset, .. } => (Some(epoch), Some(start_offset)),
            _ => (None, None),
        };
        let election = epoch.and_then(|epoch| self.by_partition.get(partition)?.get(&epoch)).copied();
        let is_deleted = self.deleted.contains_key(&partition.topic);
        LostFinding {
            topic: partition.topic.to_string(),
            partition: partition.partition.0,
            records: together.iter().map(|lost| lost.records).sum(),
            producers: producers.len() as u64,
            due_after_ms: due_after_us.map(millis),
            due_before_ms: due_before_us.map(millis),
            truncated_at,
            leader_epoch: epoch.map(|epoch| epoch.0),
            leader: election.map(|election| election.leader.0),
            elected_ms: election.map(|election| millis(election.at_us)),
            is_unclean: election.map(|election| election.is_unclean),
            step: election.and_then(|election| last_step(steps, election.at_us)),
            in_words: words::place(place, election, is_deleted),
        }
    }
}

/// The last step that was requested before then.
fn last_step(steps: &StepLedger, at_us: i64) -> Option<u32> {
    let before = steps.steps().filter(|step| step.requested_us <= at_us && step.action != "wait");
    before.last().map(|step| step.step).map(|StepNumber(number)| number)
}

/// What makes two places the same: which kind, and where.
type Key = (u8, i32, i64);

fn key(place: LostPlace) -> Key {
    match place {
        LostPlace::LeaderChange { epoch, start_offset, .. } => (0, epoch.0, start_offset),
        LostPlace::BeforeStart { log_start_offset } => (1, 0, log_start_offset),
        LostPlace::WithinEpoch { epoch } => (2, epoch.0, 0),
        LostPlace::SinceEpoch { epoch } => (3, epoch.0, 0),
        LostPlace::AtEnd { epoch, end_offset } => (4, epoch.0, end_offset),
        LostPlace::Nowhere => (5, 0, 0),
        LostPlace::NoPartition => (6, 0, 0),
    }
}
