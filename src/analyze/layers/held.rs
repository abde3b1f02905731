//! The finding of a step: whose layer held it up, and the waterfall that shows it.
//!
//! First come records that were never served again, then those that waited longest; where none waited, what followed late or not at all.

use std::collections::BTreeMap;

use super::findings::{Held, LayerFinding, LayerSpread, SegmentFinding, StageFinding, Waterfall};
use super::log::{Change, Kind};
use super::order::Placed;
use super::path::{Path, Segment, walk};
use super::scan::{self, Late};
use super::stages::{self, Stage, Stages};
use super::step::{Step, Wait};
use super::{Layers, remarks, words};
use crate::analyze::spread::Spread;
use crate::ids::BrokerId;
use crate::record::files::millis;
use crate::record::layer::Layer;

/// Of waits that never ended, so many are explained, to see where most of them are stuck.
const STUCK_WAITS_MAX: usize = 64;

/// A last stretch shorter than this is not where a wait is stuck: the client was about to do something else.
const STUCK_MIN_US: i64 = 500_000;

/// What the layers made of a step.
pub(crate) fn finding(layers: &Layers, step: &Step<'_>) -> LayerFinding {
    let mut survey = Survey::default();
    let waiting = step.waits.last().map(|wait| wait.part);
    for change in step.changes.values() {
        survey.take(layers, step, change, waiting == Some(change.part));
    }
    if let Some(wait) = step.waits.last().filter(|wait| !step.changes.contains_key(&wait.part)) {
        // It was served again by what the log says of a later step.
        let change = step.releasing(layers, wait.part, wait.until_us.unwrap_or(step.end_us));
        survey.worst = change.map(|change| (change, stages::of_change(layers, step, change))).or(survey.worst);
    }
    if step.changes.is_empty() {
        survey.take_events(layers, step);
    }
    if let Some(late) = scan::without_record(layers, step) {
        survey.late = Some(late);
    }
    let worst = step.waits.last().and_then(|wait| walk(layers, step, *wait));
    let median = step.waits.get(step.waits.len().saturating_sub(1) / 2).and_then(|wait| walk(layers, step, *wait));
    let held = stuck(layers, step)
        .or_else(|| survey.late.as_ref().filter(|late| late.until_us.is_none()).map(|late| of_late(layers, step, late)))
        .or_else(|| worst.as_ref().and_then(|path| of_path(layers, step, path)))
        .or_else(|| survey.late.as_ref().map(|late| of_late(layers, step, late)));
    LayerFinding {
        step: step.record.step.0,
        began_ms: millis(step.began_us),
        partitions: step.changes.len() as u64,
        leaders_changed: step.changes.values().filter(|change| change.kind == Kind::Led).count() as u64,
        waits: step.waits.len() as u64 + step.of_unknown_parts,
        unexplained: step.of_unknown_parts + step.waits.iter().filter(|wait| step.is_unseen(layers, wait)).count() as u64,
        held,
        held_median: median.as_ref().and_then(|path| of_path(layers, step, path)),
        remarks: remarks::of(layers, step, survey.worst.as_ref().map(|(change, _)| *change)),
        waterfall: waterfall(layers, step, &survey, worst.as_ref()),
        spreads: survey.spreads(layers, step),
    }
}

/// Where most of the waits that never ended are stuck.
fn stuck(layers: &Layers, step: &Step<'_>) -> Option<Held> {
    let mut by_place: BTreeMap<(Layer, Option<BrokerId>, u32), (usize, Held)> = BTreeMap::new();
    let unended: Vec<&Wait> = step.waits.iter().filter(|wait| wait.until_us.is_none()).collect();
    for wait in unended.iter().step_by(unended.len().div_ceil(STUCK_WAITS_MAX).max(1)) {
        let Some(path) = walk(layers, step, **wait) else { continue };
        let Some(segment) = path.segments.iter().rfind(|segment| segment.for_us() >= STUCK_MIN_US) else { continue };
        let held = || held_in(layers, &path, segment, &[segment], true);
        by_place.entry((segment.layer, segment.node, wait.who.group)).or_insert_with(|| (0, held())).0 += 1;
    }
    // Of equally many, the layer on which the others depend.
    by_place.into_values().rev().max_by_key(|(count, _)| *count).map(|(_, held)| held)
}

/// The layer that a wait spent most of its time in, if that is more than ordinary.
fn of_path(layers: &Layers, step: &Step<'_>, path: &Path<'_>) -> Option<Held> {
    let mut places: BTreeMap<(Layer, Option<BrokerId>), Vec<&Segment<'_>>> = BTreeMap::new();
    for segment in &path.segments {
        places.entry((segment.layer, segment.node)).or_default().push(segment);
    }
    let sum = |parts: &[&Segment<'_>]| parts.iter().map(|segment| segment.for_us()).sum::<i64>();
    let parts = places.into_values().max_by_key(|parts| sum(parts))?;
    let longest = parts.iter().rev().max_by_key(|segment| segment.for_us())?;
    let is_told = sum(&parts) > step.ordinary_us(layers, path.wait);
    is_told.then(|| held_in(layers, path, longest, &parts, path.is_stuck))
}

/// The segment is the one that is told as the place; if the wait ended, the words tell all parts of it.
fn held_in(layers: &Layers, path: &Path<'_>, segment: &Segment<'_>, parts: &[&Segment<'_>], is_stuck: bool) -> Held {
    let of_us = path.segments.iter().map(Segment::for_us).sum();
    Held {
        layer: segment.layer,
        node: segment.node.map(|node| node.0),
        group: segment.group.map(|group| layers.index.group_name(group).to_owned()),
        partition: Some(layers.index.part_name(path.wait.part)),
        since_ms: millis(segment.from_us),
        for_ms: millis(parts.iter().map(|segment| segment.for_us()).sum()),
        of_ms: millis(of_us),
        is_stuck,
        in_words: if is_stuck { words::stuck_in(layers, path, segment) } else { words::held_in(layers, path, parts, of_us) },
    }
}

fn of_late(layers: &Layers, step: &Step<'_>, late: &Late<'_>) -> Held {
    Held {
        layer: late.layer,
        node: late.node.map(|node| node.0),
        group: late.group.map(|group| layers.index.group_name(group).to_owned()),
        partition: late.part().map(|part| layers.index.part_name(part)),
        since_ms: millis(late.since_us),
        for_ms: millis(late.for_us(step)),
        of_ms: millis(late.until_us.unwrap_or(step.end_us) - step.began_us),
        is_stuck: late.until_us.is_none(),
        in_words: words::late(layers, step, late),
    }
}

/// A layer, at a node or for a group: what figures are summed by.
type Place = (Layer, Option<BrokerId>, Option<u32>);

/// All changes of a step, looked at one after the other.
#[derive(Default)]
struct Survey<'a> {
    /// The change that is shown, with its stages.
    worst: Option<(&'a Change, Stages)>,
    /// Of a step that changed no partition: its last record, in words.
    events: Option<(String, i64, Stages)>,
    late: Option<Late<'a>>,
    /// Times, and how many are missing.
    places: BTreeMap<Place, (Vec<i64>, u64)>,
}

impl<'a> Survey<'a> {
    /// `is_waiting`: a record waited longest for this partition, so it is the one to show.
    fn take(&mut self, layers: &Layers, step: &Step<'_>, change: &'a Change, is_waiting: bool) {
        let stages = stages::of_change(layers, step, change);
        for late in scan::of_stages(layers, step, Some(change), change.offset, &stages) {
            self.late = Some(scan::weightier(step, self.late.take(), late));
        }
        self.add(&stages);
        let completed = stages.completed(change.kind);
        let is_worse = self.worst.as_ref().is_none_or(|(shown, worst)| completed > worst.completed(shown.kind));
        let is_shown = step.waits.last().is_some_and(|wait| self.worst.as_ref().is_some_and(|(shown, _)| shown.part == wait.part));
        if is_waiting || (is_worse && !is_shown) {
            self.worst = Some((change, stages));
        }
    }

    fn take_events(&mut self, layers: &Layers, step: &Step<'_>) {
        let Some((what, offset, stages)) = stages::of_events(layers, step) else { return };
        for late in scan::of_stages(layers, step, None, offset, &stages) {
            self.late = Some(scan::weightier(step, self.late.take(), late));
        }
        self.add(&stages);
        self.events = Some((what, offset, stages));
    }

    fn add(&mut self, stages: &Stages) {
        for (stage, placed) in stages.shown().filter(|(stage, _)| !stage.is_down) {
            let (times_us, missing) = self.places.entry((stage.layer, stage.node, stage.group)).or_default();
            match stage.group {
                Some(_) => {
                    times_us.extend(&stage.times_us);
                    *missing += stage.never;
                }
                None => {
                    times_us.extend(placed.time_us);
                    *missing += u64::from(placed.time_us.is_none());
                }
            }
        }
    }

    fn spreads(&self, layers: &Layers, step: &Step<'_>) -> Vec<LayerSpread> {
        let spread = |((layer, node, group), (times_us, missing)): (&Place, &(Vec<i64>, u64))| LayerSpread {
            layer: *layer,
            node: node.map(|node| node.0),
            group: group.map(|group| layers.index.group_name(group).to_owned()),
            after_ms: Spread::of(times_us.iter().map(|time_us| millis(time_us - step.began_us))),
            not_seen: *missing,
        };
        self.places.iter().map(spread).collect()
    }
}

fn waterfall(layers: &Layers, step: &Step<'_>, survey: &Survey<'_>, worst: Option<&Path<'_>>) -> Option<Waterfall> {
    let (partition, change, offset, stages) = match (&survey.worst, &survey.events) {
        (Some((change, stages)), _) => (Some(layers.index.part_name(change.part)), words::change(layers, change), change.offset, stages),
        (None, Some((what, offset, stages))) => (None, what.clone(), *offset, stages),
        (None, None) => return None,
    };
    let last_ack_us = stages.shown().filter(|(stage, _)| stage.layer == Layer::Delivery).filter_map(|(_, placed)| placed.time_us).max();
    Some(Waterfall {
        partition,
        change,
        offset,
        last_ack_ms: last_ack_us.map(millis),
        stages: stages.shown().map(|(stage, placed)| stage_finding(layers, step, stage, placed)).collect(),
        segments: worst.map_or_else(Vec::new, |path| path.segments.iter().map(|segment| segment_finding(layers, segment)).collect()),
    })
}

fn stage_finding(layers: &Layers, step: &Step<'_>, stage: &Stage, placed: Placed) -> StageFinding {
    StageFinding {
        layer: stage.layer,
        node: stage.node.map(|node| node.0),
        group: stage.group.map(|group| layers.index.group_name(group).to_owned()),
        what: stage.what.clone(),
        not_before_ms: placed.not_before_us.map(millis),
        time_ms: placed.time_us.map(millis),
        is_pulled_in: placed.is_pulled_in,
        is_down: stage.is_down,
        after_ms: Spread::of(stage.times_us.iter().map(|time_us| millis(time_us - step.began_us))),
        never: stage.never,
        by_reason: stage.by_reason.clone(),
        by_node: stage.by_node.clone(),
    }
}

fn segment_finding(layers: &Layers, segment: &Segment<'_>) -> SegmentFinding {
    SegmentFinding {
        layer: segment.layer,
        node: segment.node.map(|node| node.0),
        group: segment.group.map(|group| layers.index.group_name(group).to_owned()),
        since_ms: millis(segment.from_us),
        for_ms: millis(segment.for_us()),
    }
}
