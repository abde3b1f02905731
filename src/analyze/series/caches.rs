//! What producers' caches showed over time: partition counts of topics, leaders of partitions.
//!
//! A run may have a million producer-partition pairs. All of them tell their first leaders at the start; so room is kept for those that
//! change later. A cache tells changes alone: what it showed last holds until its producer's end, and no further than its events were kept.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::{Caches, CountLane, LeaderLane, UntoldCaches};
use super::lanes::within_bounds;
use crate::analyze::names::Names;
use crate::ids::{PartitionIndex, ProducerIndex, TopicName};
use crate::record::fact::{Fact, Stamped};
use crate::record::files::millis;

/// Lanes that are kept of each kind.
const KEPT_MAX: usize = 20_000;

/// Leaders' lanes that may begin with what a cache showed first; the others need a change.
const KEPT_FROM_FIRST_MAX: usize = KEPT_MAX / 2;

/// Events that are kept of each.
const EVENTS_MAX: usize = 500;

/// Lanes that are shown of each kind.
const SHOWN_MAX: usize = 200;

/// Events that are shown of all lanes of a kind.
const SHOWN_EVENTS_MAX: usize = 10_000;

/// Group, producer, topic, partition; group and topic by number. A topic as a whole has partition -1.
type Key = (usize, u32, usize, i32);

const WHOLE_TOPIC: i32 = -1;

#[derive(Clone, Debug)]
struct LaneSeries<E> {
    events: Vec<E>,
    left_out: u64,
    /// When the first of them came.
    known_until_ms: Option<i64>,
}

/// Lanes of one kind.
#[derive(Clone, Debug)]
struct LaneSet<E> {
    lanes: BTreeMap<Key, LaneSeries<E>>,
    /// Events of lanes that there was no room for.
    refused: u64,
    /// Group and producer of every lane, refused ones too.
    told: BTreeSet<(usize, u32)>,
}

/// All caches.
#[derive(Clone, Debug, Default)]
pub(super) struct CacheSeries {
    groups: Names,
    topics: Names,
    reasons: Names,
    /// Clients of each group of the plan: one of several producers tells for all of them.
    clients: Vec<(usize, u32)>,
    counts: LaneSet<(i64, u32, Option<usize>)>,
    leaders: LaneSet<(i64, Option<i32>)>,
    /// When each producer was at its end, by group and producer.
    ended_ms: BTreeMap<(usize, u32), i64>,
}

/// How long a pair's longest outage was, in microseconds; 0: it had none.
pub(super) type Outage<'a> = &'a dyn Fn(&str, u32, &str, i32) -> i64;

impl CacheSeries {
    /// Takes in a fact.
    pub(super) fn fold(&mut self, stamped: &Stamped) {
        let time_ms = millis(stamped.time_us);
        match &stamped.fact {
            Fact::RunStarted(run) => {
                self.clients = run.groups.iter().map(|group| (self.groups.number(&group.name), group.clients())).collect();
            }
            Fact::ProducerTotals { group, producer, .. } => {
                self.ended_ms.insert((self.groups.number(group), producer.0), time_ms);
            }
            Fact::PartitionCount { group, producer, topic, to, reason, .. } => {
                let key = self.key(group, *producer, topic, PartitionIndex(WHOLE_TOPIC));
                let reason = reason.as_ref().map(|reason| self.reasons.number(reason));
                self.counts.event(key, time_ms, (time_ms, *to, reason), KEPT_MAX);
            }
            Fact::LeaderSeen { group, producer, topic, partition, from, to, .. } => {
                let key = self.key(group, *producer, topic, *partition);
                let room = if from.is_some() { KEPT_MAX } else { KEPT_FROM_FIRST_MAX };
                self.leaders.event(key, time_ms, (time_ms, to.map(|node| node.0)), room);
            }
            _ => {}
        }
    }

    fn key(&mut self, group: &str, producer: ProducerIndex, topic: &TopicName, partition: PartitionIndex) -> Key {
        (self.groups.number(group), producer.0, self.topics.number(topic.as_str()), partition.0)
    }

    /// Partition counts that stayed behind and leaders of pairs with the longest outages before others, then those that changed most; then in order.
    pub(super) fn finding(&self, outage: Outage<'_>) -> Caches {
        let of_pair =
            |(group, producer, topic, partition): &Key| outage(self.groups.name(*group), *producer, self.topics.name(*topic), *partition);
        let grown = self.grown();
        let (counts, counts_left_out) = self.counts.shown(|key| i64::from(self.is_behind(key, &grown)));
        let (leaders, leaders_left_out) = self.leaders.shown(of_pair);
        Caches {
            counts: counts.into_iter().map(|(key, lane)| self.count_lane(*key, lane)).collect(),
            counts_left_out,
            counts_refused: self.counts.refused,
            leaders: leaders.into_iter().map(|(key, lane)| self.leader_lane(*key, lane)).collect(),
            leaders_left_out,
            leaders_refused: self.leaders.refused,
            untold: self.untold(),
        }
    }

    /// Of each topic, the most partitions that any cache showed, and since when one did.
    fn grown(&self) -> BTreeMap<usize, (u32, i64)> {
        let mut grown: BTreeMap<usize, (u32, i64)> = BTreeMap::new();
        for ((_, _, topic, _), lane) in &self.counts.lanes {
            for (time_ms, count, _) in &lane.events {
                let most = grown.entry(*topic).or_insert((*count, *time_ms));
                if *count > most.0 || *count == most.0 && *time_ms < most.1 {
                    *most = (*count, *time_ms);
                }
            }
        }
        grown
    }

    /// Whether others showed more partitions while its producer went on.
    fn is_behind(&self, key: &Key, grown: &BTreeMap<usize, (u32, i64)>) -> bool {
        let last = self.counts.lanes.get(key).and_then(|lane| lane.events.last());
        let (Some((_, count, _)), Some((most, since_ms))) = (last, grown.get(&key.2)) else { return false };
        count < most && self.ended_ms.get(&(key.0, key.1)).is_none_or(|ended_ms| ended_ms > since_ms)
    }

    fn untold(&self) -> Vec<UntoldCaches> {
        let of_group = |(group, clients): &(usize, u32)| {
            let clients = u64::from(*clients);
            let (counts, leaders) = (self.counts.told_in(*group), self.leaders.told_in(*group));
            UntoldCaches {
                group: self.groups.name(*group).to_owned(),
                clients,
                counts: clients.saturating_sub(counts),
                leaders: clients.saturating_sub(leaders),
            }
        };
        self.clients.iter().map(of_group).filter(|untold| untold.counts + untold.leaders > 0).collect()
    }

    /// From when on a lane's last event says nothing any more.
    fn known_until_ms<E>(&self, (group, producer, ..): Key, lane: &LaneSeries<E>) -> Option<i64> {
        let ended_ms = self.ended_ms.get(&(group, producer)).copied();
        lane.known_until_ms.into_iter().chain(ended_ms).min()
    }

    fn count_lane(&self, key: Key, lane: &LaneSeries<(i64, u32, Option<usize>)>) -> CountLane {
        let (group, producer, topic, _) = key;
        let reason = |number: usize| self.reasons.name(number).to_owned();
        CountLane {
            group: self.groups.name(group).to_owned(),
            producer,
            topic: self.topics.name(topic).to_owned(),
            events: lane.events.iter().map(|(time_ms, count, number)| (*time_ms, *count, number.map(reason))).collect(),
            events_left_out: lane.left_out,
            known_until_ms: self.known_until_ms(key, lane),
        }
    }

    fn leader_lane(&self, key: Key, lane: &LaneSeries<(i64, Option<i32>)>) -> LeaderLane {
        let (group, producer, topic, partition) = key;
        LeaderLane {
            group: self.groups.name(group).to_owned(),
            producer,
            topic: self.topics.name(topic).to_owned(),
            partition,
            events: lane.events.clone(),
            events_left_out: lane.left_out,
            known_until_ms: self.known_until_ms(key, lane),
        }
    }
}

impl<E> Default for LaneSet<E> {
    fn default() -> Self {
        Self { lanes: BTreeMap::new(), refused: 0, told: BTreeSet::new() }
    }
}

impl<E> LaneSet<E> {
    /// Adds an event to its lane, or to a new one if there are fewer than `room`.
    fn event(&mut self, key: Key, time_ms: i64, event: E, room: usize) {
        self.told.insert((key.0, key.1));
        if self.lanes.len() >= room && !self.lanes.contains_key(&key) {
            self.refused += 1;
            return;
        }
        let lane = self.lanes.entry(key).or_insert_with(|| LaneSeries { events: Vec::new(), left_out: 0, known_until_ms: None });
        if lane.events.len() < EVENTS_MAX {
            lane.events.push(event);
        } else {
            lane.known_until_ms.get_or_insert(time_ms);
            lane.left_out += 1;
        }
    }

    /// How many producers of a group told anything.
    fn told_in(&self, group: usize) -> u64 {
        self.told.range((group, 0)..=(group, u32::MAX)).count() as u64
    }

    /// The lanes to show, in order, and how many are kept but not shown. Half of the room is for those that changed, if there are as many, and
    /// half for the others: without the ones, nothing shows what the others did not follow.
    fn shown(&self, weight: impl Fn(&Key) -> i64) -> (Vec<(&Key, &LaneSeries<E>)>, u64) {
        let mut order: Vec<_> = self.lanes.iter().map(|(key, lane)| (weight(key), key, lane)).collect();
        order.sort_by_key(|(weight, _, lane)| std::cmp::Reverse((*weight, lane.events.len())));
        let (changed, mut still): (Vec<_>, Vec<_>) = order.into_iter().partition(|(_, _, lane)| lane.events.len() > 1);
        still.truncate(SHOWN_MAX - changed.len().min(SHOWN_MAX / 2));
        still.extend(changed);
        let shown = within_bounds(still, |(_, _, lane)| lane.events.len(), SHOWN_MAX, SHOWN_EVENTS_MAX);
        let mut shown: Vec<_> = shown.into_iter().map(|(_, key, lane)| (key, lane)).collect();
        shown.sort_by_key(|(key, _)| **key);
        let left_out = (self.lanes.len() - shown.len()) as u64;
        (shown, left_out)
    }
}
