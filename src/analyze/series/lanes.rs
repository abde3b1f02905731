//! Partitions over time: leader and ISR by the controller's log, high watermark by the leader's own word.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::{Lane, Lanes, PartitionEvent};
use super::scale::{Line, Merge, Scale};
use crate::ids::{PartitionIndex, TopicName};
use crate::record::broker::{BrokerSecond, LogEnd};
use crate::record::fact::{Fact, Stamped};
use crate::record::files::millis;
use crate::record::layer::{ControllerChange, ControllerImage, PartitionState};

/// Partitions that are kept: as many as the probes follow.
const KEPT_MAX: usize = 2_000;

/// Partitions beyond these that are counted one by one.
const REFUSED_MAX: usize = 100_000;

/// Events that are kept of each.
const EVENTS_MAX: usize = 2_000;

/// Partitions that are shown.
const SHOWN_MAX: usize = 40;

/// Events that are shown of all together.
const SHOWN_EVENTS_MAX: usize = 10_000;

type Key = (TopicName, PartitionIndex);

/// A high watermark as it stood at the end of a second.
#[derive(Clone, Copy, Debug)]
struct Mark {
    second: i64,
    /// In which epoch who said so leads; `None`: before any.
    epoch: Option<i32>,
    offset: Option<i64>,
}

impl Merge for Mark {
    fn merge(&mut self, later: Self) {
        // Two brokers may both believe that they lead: the later epoch is right.
        if (later.second, later.epoch) >= (self.second, self.epoch) {
            *self = later;
        }
    }
}

#[derive(Clone, Debug, Default)]
struct LaneSeries {
    events: Vec<PartitionEvent>,
    events_left_out: u64,
    known_until_ms: Option<i64>,
    /// The last event, kept or not.
    last: Option<PartitionEvent>,
    leaders_changed: u64,
    high_watermark: Line<Mark>,
}

/// All partitions.
#[derive(Clone, Debug, Default)]
pub(super) struct LaneSet {
    lanes: BTreeMap<Key, LaneSeries>,
    refused: BTreeSet<Key>,
    /// Since when nobody tells of the controller's log; `None`: somebody does.
    untold_since_ms: Option<i64>,
}

impl LaneSet {
    /// Takes in a fact of the controller's log.
    pub(super) fn fold(&mut self, stamped: &Stamped) {
        let time_ms = millis(stamped.time_us);
        match &stamped.fact {
            Fact::ControllerImage(image) => self.image(time_ms, image),
            Fact::ControllerRecord(record) => {
                self.untold_since_ms = None;
                match &record.change {
                    ControllerChange::PartitionMade(state) | ControllerChange::PartitionChanged(state) => self.state(time_ms, state),
                    ControllerChange::TopicRemoved { topic, .. } => self.gone(time_ms, topic),
                    _ => {}
                }
            }
            Fact::ControllerFollowed { node, .. } => {
                self.untold_since_ms = if node.is_some() { None } else { self.untold_since_ms.or(Some(time_ms)) };
            }
            _ => {}
        }
    }

    /// All partitions that there are: one that is missing was deleted unseen, or its making was taken back by a new controller.
    fn image(&mut self, time_ms: i64, image: &ControllerImage) {
        self.untold_since_ms = None;
        image.partitions.iter().for_each(|state| self.state(time_ms, state));
        let there: BTreeSet<(&TopicName, PartitionIndex)> = image.partitions.iter().map(|state| (&state.topic, state.partition)).collect();
        let missing = self.lanes.iter_mut().filter(|((topic, partition), lane)| !there.contains(&(topic, *partition)) && lane.exists());
        missing.for_each(|(_, lane)| lane.gone(time_ms));
    }

    /// Takes in what a node said of the partitions that it leads.
    pub(super) fn led(&mut self, bucket: i64, seen: &BrokerSecond) {
        for end in seen.led.iter().flat_map(|led| &led.probed) {
            let LogEnd { topic, partition, leader_epoch, high_watermark, .. } = end;
            let mark = Mark { second: seen.second, epoch: leader_epoch.map(|epoch| epoch.0), offset: *high_watermark };
            if let Some(lane) = self.lane(topic, *partition) {
                lane.high_watermark.add(bucket, mark);
            }
        }
    }

    pub(super) fn halve(&mut self) {
        self.lanes.values_mut().for_each(|lane| lane.high_watermark.halve());
    }

    fn state(&mut self, time_ms: i64, state: &PartitionState) {
        let in_sync = state.isr.iter().map(|node| node.0).collect();
        let event = (time_ms, state.leader.map(|node| node.0), Some(state.leader_epoch.0), in_sync, state.replicas.len());
        if let Some(lane) = self.lane(&state.topic, state.partition) {
            lane.event(event);
        }
    }

    fn gone(&mut self, time_ms: i64, topic: &TopicName) {
        let of_topic = self.lanes.range_mut((topic.clone(), PartitionIndex(i32::MIN))..=(topic.clone(), PartitionIndex(i32::MAX)));
        of_topic.filter(|(_, lane)| lane.exists()).for_each(|(_, lane)| lane.gone(time_ms));
    }

    fn lane(&mut self, topic: &TopicName, partition: PartitionIndex) -> Option<&mut LaneSeries> {
        let key = (topic.clone(), partition);
        if self.lanes.len() >= KEPT_MAX && !self.lanes.contains_key(&key) {
            if self.refused.len() < REFUSED_MAX {
                self.refused.insert(key);
            }
            return None;
        }
        Some(self.lanes.entry(key).or_default())
    }

    /// Those whose leader changed most often first, then those with most events; then in order.
    pub(super) fn finding(&self, scale: Scale) -> Lanes {
        let mut order: Vec<(&Key, &LaneSeries)> = self.lanes.iter().collect();
        order.sort_by_key(|(_, lane)| std::cmp::Reverse((lane.leaders_changed, lane.events.len())));
        let mut shown = within_bounds(order, |(_, lane)| lane.events.len(), SHOWN_MAX, SHOWN_EVENTS_MAX);
        shown.sort_by_key(|(key, _)| *key);
        let left_out = self.lanes.len() - shown.len() + self.refused.len();
        Lanes { topics: shown.into_iter().map(|(key, lane)| self.lane_finding(key, lane, scale)).collect(), left_out: left_out as u64 }
    }

    fn lane_finding(&self, (topic, partition): &Key, lane: &LaneSeries, scale: Scale) -> Lane {
        Lane {
            topic: topic.to_string(),
            partition: partition.0,
            events: lane.events.clone(),
            events_left_out: lane.events_left_out,
            known_until_ms: lane.known_until_ms.into_iter().chain(self.untold_since_ms).min(),
            high_watermark: lane.high_watermarks(scale),
        }
    }
}

/// The first lanes that fit into both bounds: so many of them, with so many events together.
pub(super) fn within_bounds<T>(order: Vec<T>, events_of: impl Fn(&T) -> usize, lanes_max: usize, events_max: usize) -> Vec<T> {
    let mut events = 0;
    let fits = |lane: &T| {
        events += events_of(lane);
        events <= events_max
    };
    order.into_iter().take(lanes_max).take_while(fits).collect()
}

impl LaneSeries {
    /// An image that is read anew repeats what is known.
    fn event(&mut self, event: PartitionEvent) {
        let last = self.last.replace(event.clone());
        let last = last.as_ref();
        if last.is_some_and(|last| (last.1, last.2, &last.3, last.4) == (event.1, event.2, &event.3, event.4)) {
            return;
        }
        self.leaders_changed += u64::from(last.is_some_and(|last| (last.1, last.2) != (event.1, event.2)));
        if self.events.len() < EVENTS_MAX {
            self.events.push(event);
        } else {
            self.known_until_ms = self.known_until_ms.or(Some(event.0));
            self.events_left_out += 1;
        }
    }

    fn gone(&mut self, time_ms: i64) {
        self.event((time_ms, None, None, Vec::new(), 0));
    }

    /// Whether the log had it when it last told of it.
    fn exists(&self) -> bool {
        self.last.as_ref().is_some_and(|last| last.2.is_some())
    }

    /// One point per bucket in which somebody led it, and a gap after the last one before nobody did.
    fn high_watermarks(&self, scale: Scale) -> Vec<(i64, Option<i64>)> {
        let mut points: Vec<(i64, Option<i64>)> = Vec::new();
        for bucket in scale.buckets() {
            match self.high_watermark.get(bucket) {
                Some(mark) => points.push((mark.second.saturating_add(1).saturating_mul(1_000), mark.offset)),
                None if points.last().is_some_and(|(_, offset)| offset.is_some()) => points.push((scale.begin_ms(bucket + 1), None)),
                None => {}
            }
        }
        points
    }
}
