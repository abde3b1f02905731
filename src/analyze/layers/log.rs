//! The controller's log as its records told it: what changed with each partition, and what the controller noticed of brokers.
//!
//! Records are kept from the first step on; before it only the state counts. A record that a new controller has cut off is forgotten.

use std::collections::{BTreeMap, BTreeSet};

use super::index::{Index, NodeSet, Part, Room};
use super::order::Sight;
use crate::ids::{BrokerId, LeaderEpoch, TopicName};
use crate::record::layer::{BrokerState, ControllerChange, ControllerImage, ControllerRecord, PartitionState};

/// Changes and events that are kept; what comes on top is counted.
pub(super) const KEPT_MAX: usize = 500_000;

/// A controller's timestamp older than this says nothing of a record: its clock is another one.
const CLOCK_SKEW_MAX_US: i64 = 10_000_000;

/// A partition as the log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) topic_id: u32,
    pub(crate) leader: Option<BrokerId>,
    pub(crate) epoch: LeaderEpoch,
    pub(crate) isr: NodeSet,
    pub(crate) is_unclean: bool,
}

/// How a partition changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It is new.
    Made,
    /// It has another leader, or none, or the same in a new epoch.
    Led,
    /// A replica has left its ISR.
    Shrunk,
    /// Anything else, such as a replica that is in sync again.
    Other,
}

/// A change of a partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) offset: i64,
    pub(crate) made: Sight,
    pub(crate) part: Part,
    pub(crate) kind: Kind,
    pub(crate) before: Option<State>,
    pub(crate) after: State,
}

/// What the controller noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Noticed {
    /// A broker's session is over, or it has finished stopping.
    Fenced,
    /// A broker takes part again.
    Unfenced,
    /// A broker has asked to stop.
    Stopping,
    /// A broker has registered.
    Registered {
        /// Its broker epoch.
        broker_epoch: i64,
    },
    /// A broker is gone for good.
    Unregistered,
    /// A controller has become the active one.
    Elected,
    /// A topic is gone.
    TopicRemoved {
        /// Its name.
        topic: TopicName,
        /// Its id's number.
        topic_id: u32,
    },
    /// Something that is of no node, in words.
    Other(String),
}

/// A record that is not about a partition.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) offset: i64,
    pub(crate) made: Sight,
    pub(crate) node: Option<BrokerId>,
    pub(crate) noticed: Noticed,
}

/// The log so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct ControllerLog {
    /// Whether anything of it was ever seen.
    pub(crate) is_seen: bool,
    states: BTreeMap<Part, State>,
    brokers: BTreeMap<BrokerId, (bool, bool)>,
    changes: Vec<Change>,
    /// Positions among the changes of those of each partition.
    changes_of: BTreeMap<Part, Vec<usize>>,
    events: Vec<Event>,
    /// Offsets of records of which nobody knows what they changed.
    not_taken_in: BTreeSet<i64>,
    last_offset: i64,
    last_epoch: Option<LeaderEpoch>,
    pub(crate) room: Room<KEPT_MAX>,
}

impl ControllerLog {
    /// The whole log as it stood. Where it differs from what is known, records were missed, and when the change was made is not known.
    pub(crate) fn image(&mut self, time_us: i64, image: &ControllerImage, index: &mut Index) {
        let is_first = !std::mem::replace(&mut self.is_seen, true);
        for broker in &image.brokers {
            self.brokers.insert(broker.broker, (broker.is_fenced, broker.in_controlled_shutdown));
        }
        for partition in &image.partitions {
            let (part, state) = (index.part(&partition.topic, partition.partition), state_of(partition, index));
            if is_first {
                self.states.insert(part, state);
            } else if self.states.get(&part) != Some(&state) {
                self.changed(image.offset, Sight { not_before_us: None, time_us }, part, state, index);
            }
        }
        self.last_offset = self.last_offset.max(image.offset);
    }

    /// Records from this offset on are no part of the log any more.
    pub(crate) fn truncated(&mut self, end_offset: i64) {
        self.cut_off(end_offset);
        self.last_offset = self.last_offset.min(end_offset - 1);
    }

    /// A record.
    pub(crate) fn record(&mut self, time_us: i64, record: &ControllerRecord, index: &mut Index) {
        if let ControllerChange::NotTakenIn { .. } = record.change {
            // It may come before the first image, of which it is no part.
            if self.room.take() {
                self.not_taken_in.insert(record.offset);
            }
            return;
        }
        self.is_seen = true;
        if record.offset <= self.last_offset && self.last_epoch.is_some_and(|epoch| epoch < record.controller_epoch) {
            self.cut_off(record.offset);
        } else if record.offset < self.last_offset && self.last_epoch.is_some() {
            return;
        }
        (self.last_offset, self.last_epoch) = (record.offset, Some(record.controller_epoch));
        let is_ours = (0..CLOCK_SKEW_MAX_US).contains(&(time_us - record.controller_time_us));
        let made = Sight { not_before_us: is_ours.then_some(record.controller_time_us), time_us };
        let event = |node, noticed| Some(Event { offset: record.offset, made, node, noticed });
        let event = match &record.change {
            ControllerChange::PartitionMade(state) | ControllerChange::PartitionChanged(state) => {
                let (part, state) = (index.part(&state.topic, state.partition), state_of(state, index));
                self.changed(record.offset, made, part, state, index);
                None
            }
            ControllerChange::BrokerRegistered(state) => {
                self.brokers.insert(state.broker, (state.is_fenced, state.in_controlled_shutdown));
                event(Some(state.broker), Noticed::Registered { broker_epoch: state.broker_epoch })
            }
            ControllerChange::BrokerChanged(state) => self.broker_changed(state).and_then(|noticed| event(Some(state.broker), noticed)),
            ControllerChange::BrokerUnregistered { broker } => event(Some(*broker), Noticed::Unregistered),
            ControllerChange::ControllerElected { node } => event(Some(*node), Noticed::Elected),
            ControllerChange::TopicMade { topic, .. } => event(None, Noticed::Other(format!("topic {topic} made"))),
            ControllerChange::TopicRemoved { topic, topic_id } => {
                event(None, Noticed::TopicRemoved { topic: topic.clone(), topic_id: index.topic_ids.number(topic_id) })
            }
            ControllerChange::Config { kind, name, key, .. } => event(None, Noticed::Other(format!("{kind} {name}: {key} set"))),
            ControllerChange::FeatureLevel { feature, .. } => event(None, Noticed::Other(format!("feature {feature}"))),
            ControllerChange::NotTakenIn { .. } => None,
        };
        if let Some(event) = event.filter(|_| self.room.take()) {
            self.events.push(event);
        }
    }

    /// How many records nobody could take in.
    pub(crate) fn not_taken_in(&self) -> usize {
        self.not_taken_in.len()
    }

    /// All events.
    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// All changes of partitions.
    pub(crate) fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// All changes of one partition.
    pub(crate) fn changes_of(&self, part: Part) -> impl DoubleEndedIterator<Item = &Change> {
        self.changes_of.get(&part).into_iter().flatten().map(|at| &self.changes[*at])
    }

    /// A partition's state then; the first one known where that was before anything was.
    pub(crate) fn state_at(&self, part: Part, time_us: i64) -> Option<State> {
        let of_part = || self.changes_of(part);
        match of_part().rfind(|change| change.made.earliest_us() <= time_us) {
            Some(change) => Some(change.after),
            None => of_part().next().map_or_else(|| self.states.get(&part).copied(), |first| first.before),
        }
    }

    /// Whether a partition exists no more: its topic was deleted, and nothing made it again.
    pub(crate) fn is_gone(&self, part: Part) -> bool {
        let mut removed = self.events.iter().filter_map(|event| match &event.noticed {
            Noticed::TopicRemoved { topic_id, .. } => Some(*topic_id),
            _ => None,
        });
        self.states.get(&part).is_some_and(|state| removed.any(|topic_id| topic_id == state.topic_id))
    }

    /// What has changed with a broker; `None`: nothing that counts here.
    fn broker_changed(&mut self, state: &BrokerState) -> Option<Noticed> {
        let now = (state.is_fenced, state.in_controlled_shutdown);
        let before = self.brokers.insert(state.broker, now);
        match now {
            _ if before == Some(now) => None,
            (true, _) if before.is_some_and(|(was_fenced, _)| was_fenced) => None,
            (true, _) => Some(Noticed::Fenced),
            (false, true) => Some(Noticed::Stopping),
            (false, false) => Some(Noticed::Unfenced),
        }
    }

    fn changed(&mut self, offset: i64, made: Sight, part: Part, after: State, index: &Index) {
        let before = self.states.insert(part, after);
        if before == Some(after) {
            return;
        }
        if !self.room.take() {
            return;
        }
        let kind = match before {
            None => Kind::Made,
            Some(before) if before.topic_id != after.topic_id => Kind::Made,
            Some(before) if before.epoch != after.epoch => Kind::Led,
            Some(before) if index.nodes(before.isr).iter().any(|node| !index.nodes(after.isr).contains(node)) => Kind::Shrunk,
            Some(_) => Kind::Other,
        };
        self.changes_of.entry(part).or_default().push(self.changes.len());
        self.changes.push(Change { offset, made, part, kind, before, after });
    }

    /// A new controller writes from this offset on: what an older one had there was never committed.
    fn cut_off(&mut self, offset: i64) {
        let keep = |at: i64| at < offset;
        while let Some(change) = self.changes.pop_if(|change| !keep(change.offset)) {
            self.changes_of.get_mut(&change.part).and_then(Vec::pop);
            match change.before {
                Some(before) => _ = self.states.insert(change.part, before),
                None => _ = self.states.remove(&change.part),
            }
        }
        self.events.retain(|event| keep(event.offset));
        self.not_taken_in.retain(|offset| keep(*offset));
    }
}

fn state_of(partition: &PartitionState, index: &mut Index) -> State {
    State {
        topic_id: index.topic_ids.number(&partition.topic_id),
        leader: partition.leader,
        epoch: partition.leader_epoch,
        isr: index.set(&partition.isr),
        is_unclean: partition.is_unclean,
    }
}

#[cfg(test)]
mod tests;
