//! Partition growth: when each producer's cache shows a topic's new partitions, by which request it learned, and when it first uses one.

use std::collections::{BTreeMap, BTreeSet};

use crate::analyze::findings::GrowthFinding;
use crate::analyze::spread::Spread;
use crate::ids::ProducerIndex;
use crate::record::fact::{Fact, Stamped};
use crate::record::files::millis;
use crate::record::step::{StepLedger, StepRecord};

/// The action of steps that this is about.
const ACTION: &str = "add-partitions";

/// A producer's view of a topic, by group and topic.
type Views = BTreeMap<(String, String), BTreeMap<ProducerIndex, View>>;

#[derive(Clone, Debug, Default)]
struct View {
    /// When the cache first held the topic, and with how many partitions.
    since_us: i64,
    first_count: u32,
    /// Every later count.
    rises: Vec<Rise>,
    /// First acknowledgement on each partition after growth began.
    uses: Vec<(i64, u32)>,
}

#[derive(Clone, Debug)]
struct Rise {
    time_us: i64,
    to: u32,
    reason: String,
}

/// All producers' views.
#[derive(Clone, Debug, Default)]
pub(crate) struct Growth {
    views: Views,
    /// Whether a step has added partitions: before it, first uses are of no interest.
    begun: bool,
}

impl Growth {
    /// Takes in a fact.
    pub(crate) fn fold(&mut self, stamped: &Stamped) {
        match &stamped.fact {
            Fact::StepRequested { action, .. } => self.begun |= action == ACTION,
            Fact::PartitionCount { group, producer, topic, to, reason, .. } if *to > 0 => {
                let producers = self.views.entry((group.clone(), topic.to_string())).or_default();
                match producers.get_mut(producer) {
                    Some(view) => {
                        let reason = reason.clone().unwrap_or_else(|| "unknown".to_owned());
                        view.rises.push(Rise { time_us: stamped.time_us, to: *to, reason });
                    }
                    None => {
                        producers.insert(*producer, View { since_us: stamped.time_us, first_count: *to, ..View::default() });
                    }
                }
            }
            Fact::PartitionFirstUsed { group, producer, topic, partition, .. } if self.begun => {
                let producers = self.views.entry((group.clone(), topic.to_string())).or_default();
                if let (Some(view), Ok(partition)) = (producers.get_mut(producer), u32::try_from(partition.0)) {
                    view.uses.push((stamped.time_us, partition));
                }
            }
            _ => {}
        }
    }

    /// Findings for each step that added partitions, by step and group (in the given order).
    pub(crate) fn findings(&self, steps: &StepLedger, groups: &[String]) -> Vec<GrowthFinding> {
        let mut findings = Vec::new();
        for (step, change) in steps.steps().filter_map(|step| Some((step, Change::of(step)?))) {
            for group in groups {
                if let Some(producers) = self.views.get(&(group.clone(), change.topic.clone())) {
                    findings.extend(finding(step, &change, group, producers));
                }
            }
        }
        findings
    }
}

/// What a step's target says: `orders 3 -> 6` or `orders (to 6)`.
#[derive(Debug, PartialEq, Eq)]
struct Change {
    topic: String,
    from: Option<u32>,
    to: u32,
}

impl Change {
    fn of(step: &StepRecord) -> Option<Self> {
        if step.action != ACTION {
            return None;
        }
        let (topic, rest) = step.target.split_once(' ')?;
        let counts: Vec<u32> = rest.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
        let (to, before) = counts.split_last()?;
        Some(Self { topic: topic.to_owned(), from: before.last().copied(), to: *to })
    }
}

fn finding(step: &StepRecord, change: &Change, group: &str, producers: &BTreeMap<ProducerIndex, View>) -> Option<GrowthFinding> {
    let known: Vec<&View> = producers.values().filter(|view| view.since_us < step.requested_us).collect();
    if known.is_empty() {
        return None;
    }
    let since_us = step.observed_us.or(step.acknowledged_us).unwrap_or(step.requested_us);
    let learned: Vec<(&View, &Rise)> = known.iter().filter_map(|view| Some((*view, view.rise(step, change)?))).collect();
    let mut by_reason = BTreeMap::new();
    for (_, rise) in &learned {
        *by_reason.entry(rise.reason.clone()).or_insert(0) += 1;
    }
    let first_use = |(view, rise): &(&View, &Rise)| {
        let from = change.from.unwrap_or_else(|| view.count_before(step.requested_us));
        Some(view.first_use_us(from, rise.time_us)? - rise.time_us)
    };
    let from = change.from.or_else(|| known.iter().map(|view| view.count_before(step.requested_us)).min());
    Some(GrowthFinding {
        step: step.step.0,
        topic: change.topic.clone(),
        from,
        to: change.to,
        group: group.to_owned(),
        producers: known.len() as u64,
        never: (known.len() - learned.len()) as u64,
        cached_ms: Spread::of(learned.iter().map(|(_, rise)| millis(rise.time_us - since_us))),
        by_reason,
        first_use_ms: Spread::of(learned.iter().filter_map(first_use).map(millis)),
    })
}

impl View {
    fn rise(&self, step: &StepRecord, change: &Change) -> Option<&Rise> {
        self.rises.iter().find(|rise| rise.time_us >= step.requested_us && rise.to >= change.to)
    }

    fn count_before(&self, time_us: i64) -> u32 {
        self.rises.iter().take_while(|rise| rise.time_us < time_us).last().map_or(self.first_count, |rise| rise.to)
    }

    fn first_use_us(&self, from: u32, after_us: i64) -> Option<i64> {
        self.uses.iter().filter(|(time_us, partition)| *partition >= from && *time_us >= after_us).map(|(time_us, _)| *time_us).min()
    }
}

/// Reasons other than age by which producers learned of growth, with how many did: nobody may read them as the effect of a setting.
pub(crate) fn accidents(finding: &GrowthFinding) -> BTreeSet<(String, u64)> {
    finding.by_reason.iter().filter(|(reason, _)| *reason != "age").map(|(reason, count)| (reason.clone(), *count)).collect()
}

#[cfg(test)]
mod tests;
