//! A step with what belongs to it: the partitions that the controller's log changed in its window, what the controller noticed then, and the
//! producers whose records waited because of it.

use std::collections::BTreeMap;

use super::index::{Part, Who};
use super::log::{Change, Event, Kind, Noticed};
use super::order::Sight;
use super::{Layers, ORDINARY_BASELINES, ORDINARY_US, Scene};
use crate::analyze::outage::GroupBasis;
use crate::analyze::window::StepWindow;
use crate::ids::{PartitionIndex, TopicName};
use crate::record::step::StepRecord;

/// What the controller noticed last is told up to so many times per change.
const CAUSES_MAX: usize = 6;

/// A producer's partition whose records were not served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) who: Who,
    pub(crate) part: Part,
    /// When the first record that waited was due.
    pub(crate) from_us: i64,
    /// The next acknowledgement; `None`: there was none.
    pub(crate) until_us: Option<i64>,
}

/// A step without parts.
#[derive(Debug)]
pub(crate) struct Step<'a> {
    pub(crate) record: &'a StepRecord,
    pub(crate) began_us: i64,
    pub(crate) until_us: i64,
    /// The end of the run.
    pub(crate) end_us: i64,
    /// Of each partition that changed, the change that counts.
    pub(crate) changes: BTreeMap<Part, &'a Change>,
    pub(crate) events: Vec<&'a Event>,
    /// Its own outages of partitions of which nobody saw anything.
    pub(crate) of_unknown_parts: u64,
    /// Its own outages, the worst last: the longest, and after them those that did not end.
    pub(crate) waits: Vec<Wait>,
    /// The same by partition.
    pub(crate) waits_of: BTreeMap<Part, Vec<Wait>>,
    scene: Scene<'a>,
}

/// All steps that can disturb by themselves.
pub(crate) fn steps<'a>(layers: &'a Layers, scene: Scene<'a>) -> Vec<Step<'a>> {
    let of_window = |(at, window): (usize, &StepWindow)| {
        let within = |time_us: i64| (window.requested_us..window.until_us).contains(&time_us);
        let mut changes: BTreeMap<Part, &Change> = BTreeMap::new();
        for change in layers.log.changes().iter().filter(|change| within(change.made.earliest_us())) {
            let counts = changes.entry(change.part).or_insert(change);
            if weight(change) >= weight(counts) {
                *counts = change;
            }
        }
        let (waits, of_unknown_parts) = waits(layers, scene, at);
        let mut waits_of: BTreeMap<Part, Vec<Wait>> = BTreeMap::new();
        waits.iter().for_each(|wait| waits_of.entry(wait.part).or_default().push(*wait));
        Some(Step {
            record: scene.steps.get(window.step)?,
            began_us: window.requested_us,
            until_us: window.until_us,
            end_us: scene.end_us,
            changes,
            events: layers.log.events().iter().filter(|event| within(event.made.earliest_us())).collect(),
            of_unknown_parts,
            waits,
            waits_of,
            scene,
        })
    };
    scene.windows.iter().enumerate().filter_map(of_window).collect()
}

/// Of several changes in one window, the last one that gave a leader counts most: that is whom clients have to find.
fn weight(change: &Change) -> u8 {
    match change.kind {
        Kind::Made | Kind::Led if change.after.leader.is_some() => 3,
        Kind::Made | Kind::Led => 2,
        Kind::Shrunk => 1,
        Kind::Other => 0,
    }
}

/// A window's own outages, and how many are of partitions of which nobody saw anything.
fn waits(layers: &Layers, scene: Scene<'_>, window: usize) -> (Vec<Wait>, u64) {
    let own = scene.hits.iter().filter(|hit| hit.window == Some(window) && !hit.began_before);
    let wait = |stretch: usize| {
        let stretch = scene.stretches.stretches.get(stretch)?;
        let topic = TopicName::from(scene.stretches.topics.name(stretch.pair.topic));
        let part = layers.index.find_part(&topic, PartitionIndex(stretch.pair.partition))?;
        let group = layers.index.groups.find(&scene.stretches.groups.name(stretch.pair.group).to_owned());
        let who = Who { group: group?, producer: stretch.pair.producer };
        Some(Wait { who, part, from_us: stretch.first_due_us, until_us: stretch.first_ok_us })
    };
    let (known, unknown): (Vec<_>, Vec<_>) = own.map(|hit| wait(hit.stretch)).partition(Option::is_some);
    let mut waits: Vec<Wait> = known.into_iter().flatten().collect();
    waits.sort_by_key(|wait| (wait.until_us.is_none(), wait.until_us.unwrap_or(scene.end_us) - wait.from_us));
    (waits, unknown.len() as u64)
}

impl<'a> Step<'a> {
    /// The change that let a waiting partition be served again (or should have): the last one with a leader up to a time, else the last one that
    /// took a replica out of its ISR, else the last one that left it without a leader. It need not lie in the step's own window.
    pub(crate) fn releasing(&self, layers: &'a Layers, part: Part, until_us: i64) -> Option<&'a Change> {
        let within = |change: &&Change| (self.began_us..=until_us).contains(&change.made.earliest_us());
        let last = |least: u8| layers.log.changes_of(part).rfind(|change| within(change) && weight(change) == least);
        last(3).or_else(|| last(1)).or_else(|| last(2))
    }

    /// Whether the controller's log was seen to say nothing of what a record waited for.
    pub(crate) fn is_unseen(&self, layers: &Layers, wait: &Wait) -> bool {
        let is_known = layers.log.state_at(wait.part, wait.from_us).is_some();
        !is_known && self.releasing(layers, wait.part, wait.until_us.unwrap_or(self.end_us)).is_none()
    }

    /// What the controller noticed before a record, as far as it is about the step's own nodes or about controllers, if any is. What it noticed
    /// stands behind what follows from it in the log, in the same batch: a broker is fenced after its leaderships are moved.
    pub(crate) fn causes(&self, layers: &'a Layers, offset: i64, made: Sight) -> Vec<&'a Event> {
        let is_of_batch = |event: &Event| made.not_before_us.is_some() && event.made.not_before_us == made.not_before_us;
        let before = |event: &&Event| {
            let is_before = event.offset <= offset || is_of_batch(event);
            is_before && event.node.is_some() && event.made.earliest_us() >= self.began_us
        };
        let mut causes: Vec<&Event> = layers.log.events().iter().filter(before).collect();
        let is_own = |event: &&Event| event.node.is_some_and(|node| self.record.nodes.contains(&node));
        if causes.iter().any(is_own) {
            causes.retain(|event| is_own(event) || event.noticed == Noticed::Elected);
        }
        causes.drain(..causes.len().saturating_sub(CAUSES_MAX));
        causes
    }

    /// Whether a group's records were still due so long after the fault that a change had to reach it.
    pub(crate) fn is_active(&self, group: &str, until_us: i64) -> bool {
        self.basis(group).is_some_and(|basis| basis.due_until_us >= until_us)
    }

    /// How long a record of the producer that waited may wait without anything being told as having held it up.
    pub(crate) fn ordinary_us(&self, layers: &Layers, wait: Wait) -> i64 {
        let baseline_p99_us = self.basis(layers.index.group_name(wait.who.group)).map_or(0, |basis| basis.p99_us);
        ORDINARY_US + ORDINARY_BASELINES * baseline_p99_us
    }

    fn basis(&self, group: &str) -> Option<&GroupBasis> {
        let number = self.scene.stretches.groups.iter().find(|(_, name)| *name == group).map(|(number, _)| number);
        number.and_then(|number| self.scene.basis.get(number))
    }
}
