//! What producers knew and did: leaders and partition counts in their caches, whom they asked and why, where their requests went, and the first
//! acknowledgement after each change. Kept from the first step on, but for what tells which producers know a topic.

use std::collections::{BTreeMap, BTreeSet};

use super::index::{Index, Part, Room, Who};
use super::log::{Change, Kind};
use crate::ids::{BrokerId, LeaderEpoch};
use crate::record::fact::{Fact, Stamped};

/// Sightings of each kind that are kept; what comes on top is counted.
const KEPT_MAX: usize = 1_000_000;

/// NETWORK_EXCEPTION: the client's own word for a request that was cut off, which no broker says.
const CUT_OFF: i16 = 13;

/// OUT_OF_ORDER_SEQUENCE_NUMBER: an idempotent producer's batch came before one that goes first.
const OUT_OF_ORDER: i16 = 45;

/// A producer's own end closes its connections, which says nothing of the way to a broker.
const OWN_END: &str = "closing";

/// A leader in a producer's cache.
#[derive(Clone, Copy, Debug)]
struct Seen {
    time_us: i64,
    who: Who,
    topic_id: Option<u32>,
    leader: Option<BrokerId>,
    epoch: Option<LeaderEpoch>,
    node: Option<BrokerId>,
    version: u64,
}

/// A partition count in a producer's cache.
#[derive(Clone, Copy, Debug)]
struct Counted {
    time_us: i64,
    who: Who,
    topic_id: Option<u32>,
    to: u32,
    node: Option<BrokerId>,
    reason: Option<u32>,
}

/// A Metadata request that ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) time_us: i64,
    /// When it was handed over.
    pub(crate) sent_us: i64,
    pub(crate) node: BrokerId,
    pub(crate) reason: u32,
    version: u64,
    /// Whether an answer came and was taken in.
    pub(crate) is_answered: bool,
}

/// Something at one node, of one producer's partition: a route, an acknowledgement, a refusal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) time_us: i64,
    pub(crate) who: Who,
    /// `None`: not known.
    pub(crate) node: Option<BrokerId>,
    /// When the record was due, where it is an acknowledgement.
    pub(crate) due_us: i64,
}

/// The end of a client's connection to a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) time_us: i64,
    who: Who,
    /// By its number among the words.
    cause: u32,
    /// Whether requests were under way.
    pub(crate) has_in_flight: bool,
}

/// A client's attempt to use a connection to a node, in vain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    pub(crate) began_us: i64,
    pub(crate) ended_us: i64,
    pub(crate) node: BrokerId,
}

/// How a producer came to know of a change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Learned {
    pub(crate) time_us: i64,
    /// Who told it; `None`: nobody, or it does not say.
    pub(crate) node: Option<BrokerId>,
    /// Why it asked, by its number among the words; `None`: it does not say, or did not ask.
    pub(crate) reason: Option<u32>,
    /// It did not ask: a broker named the new leader in its answer to Produce.
    pub(crate) is_hint: bool,
}

/// All that is known of one partition.
#[derive(Clone, Debug, Default)]
struct OfPart {
    seen: Vec<Seen>,
    /// When each client's requests first went to another node.
    routed: BTreeMap<Who, Vec<(i64, BrokerId)>>,
    delivered: Vec<At>,
    /// Answers with an error, and its code.
    refused: Vec<(At, i16)>,
}

/// All that producers told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clients {
    parts: BTreeMap<Part, OfPart>,
    counts: BTreeMap<u32, Vec<Counted>>,
    asked: BTreeMap<Who, Vec<Asked>>,
    disconnected: BTreeMap<BrokerId, Vec<Ended>>,
    attempts: BTreeMap<Who, Vec<Attempt>>,
    /// Clients that tell of the leaders in their caches.
    telling: BTreeSet<Who>,
    has_begun: bool,
    pub(crate) room: Room<KEPT_MAX>,
}

impl Clients {
    /// Takes in a fact.
    pub(crate) fn fold(&mut self, stamped: &Stamped, index: &mut Index) {
        let time_us = stamped.time_us;
        match &stamped.fact {
            Fact::StepRequested { .. } => self.has_begun = true,
            Fact::PartitionCount { group, producer, topic, topic_id, to, node, reason, .. } if self.room.take() => {
                let who = index.who(group, *producer);
                let topic_id = topic_id.as_ref().map(|id| index.topic_ids.number(id));
                let reason = reason.as_ref().map(|reason| index.word(reason));
                let counted = Counted { time_us, who, topic_id, to: *to, node: *node, reason };
                self.counts.entry(index.topics.number(topic)).or_default().push(counted);
            }
            Fact::LeaderSeen { group, producer, topic, partition, topic_id, to, epoch, node, update_version, .. } => {
                let who = index.who(group, *producer);
                self.telling.insert(who);
                if self.has_begun && self.room.take() {
                    let topic_id = topic_id.as_ref().map(|id| index.topic_ids.number(id));
                    let version = update_version.0;
                    let seen = Seen { time_us, who, topic_id, leader: *to, epoch: *epoch, node: *node, version };
                    self.parts.entry(index.part(topic, *partition)).or_default().seen.push(seen);
                }
            }
            _ if !self.has_begun => {}
            Fact::MetadataRequest { group, producer, reason, round_trip_us, node, update_version, outcome, .. } if self.room.take() => {
                let who = index.who(group, *producer);
                let sent_us = time_us - i64::try_from(*round_trip_us).unwrap_or(0);
                let (reason, version, is_answered) = (index.word(reason), update_version.0, outcome == "updated");
                self.asked.entry(who).or_default().push(Asked { time_us, sent_us, node: *node, reason, version, is_answered });
            }
            Fact::Disconnected { group, producer, node, cause, in_flight, not_ready_us, .. } if self.room.take() => {
                let who = index.who(group, *producer);
                if let Some(not_ready_us) = not_ready_us {
                    let began_us = time_us - i64::try_from(*not_ready_us).unwrap_or(0);
                    self.attempts.entry(who).or_default().push(Attempt { began_us, ended_us: time_us, node: *node });
                }
                if cause != OWN_END {
                    let cause = index.word(cause);
                    self.disconnected.entry(*node).or_default().push(Ended { time_us, who, cause, has_in_flight: *in_flight > 0 });
                }
            }
            _ => self.fold_of_part(stamped, index),
        }
    }

    fn fold_of_part(&mut self, stamped: &Stamped, index: &mut Index) {
        let time_us = stamped.time_us;
        let (group, producer, topic, partition, node, due_us) = match &stamped.fact {
            Fact::RouteChanged { group, producer, topic, partition, to, .. } => (group, producer, topic, partition, Some(*to), time_us),
            Fact::BatchError { group, producer, topic, partition, node, code, .. } if *code != CUT_OFF => {
                (group, producer, topic, partition, Some(*node), time_us)
            }
            Fact::DeliveredAfterChange { group, producer, topic, partition, node, due_us } => {
                (group, producer, topic, partition, *node, *due_us)
            }
            Fact::PartitionFirstUsed { group, producer, topic, partition, due_us } => (group, producer, topic, partition, None, *due_us),
            _ => return,
        };
        if !self.room.take() {
            return;
        }
        let at = At { time_us, who: index.who(group, *producer), node, due_us };
        let of_part = self.parts.entry(index.part(topic, *partition)).or_default();
        match &stamped.fact {
            Fact::RouteChanged { to, .. } => of_part.routed.entry(at.who).or_default().push((time_us, *to)),
            Fact::BatchError { code, .. } => of_part.refused.push((at, *code)),
            _ => of_part.delivered.push(at),
        }
    }

    /// The client that a producer sends through: several may share one, which speaks as the first of them. `None`: it tells of no leader.
    pub(crate) fn client_of(&self, who: Who) -> Option<Who> {
        self.telling.range(..=who).next_back().copied().filter(|client| client.group == who.group)
    }

    /// Clients whose caches held a topic at that time.
    pub(crate) fn knowing(&self, topic: u32, time_us: i64) -> BTreeSet<Who> {
        let mut knowing = BTreeSet::new();
        for counted in self.counts.get(&topic).into_iter().flatten().filter(|counted| counted.time_us < time_us) {
            if counted.to > 0 {
                knowing.insert(counted.who)
            } else {
                knowing.remove(&counted.who)
            };
        }
        knowing
    }

    /// How each client first came to know that a topic is gone, or another one under its name.
    pub(crate) fn forgot(&self, topic: u32, topic_id: u32, since_us: i64) -> BTreeMap<Who, Learned> {
        let mut forgot = BTreeMap::new();
        let is_gone = |counted: &&Counted| counted.to == 0 || counted.topic_id.is_some_and(|id| id != topic_id);
        for counted in self.counts.get(&topic).into_iter().flatten().filter(|counted| counted.time_us >= since_us).filter(is_gone) {
            forgot.entry(counted.who).or_insert(counted.how());
        }
        forgot
    }

    /// How each client first came to know of a change, or of what came after it.
    pub(crate) fn learned(&self, change: &Change, index: &Index) -> BTreeMap<Who, Learned> {
        let mut learned = BTreeMap::new();
        if change.kind == Kind::Made {
            self.counted_since(change, index).for_each(|counted| _ = learned.entry(counted.who).or_insert(counted.how()));
        } else {
            self.seen_since(change).for_each(|seen| _ = learned.entry(seen.who).or_insert_with(|| self.how_learned(seen)));
        }
        learned
    }

    /// The same of one client.
    pub(crate) fn learned_by(&self, client: Who, change: &Change, index: &Index) -> Option<Learned> {
        if change.kind == Kind::Made {
            self.counted_since(change, index).find(|counted| counted.who == client).map(Counted::how)
        } else {
            self.seen_since(change).find(|seen| seen.who == client).map(|seen| self.how_learned(seen))
        }
    }

    /// Counts of a topic's partitions that hold one that was made.
    fn counted_since<'a>(&'a self, change: &'a Change, index: &Index) -> impl Iterator<Item = &'a Counted> {
        let of_part = index.of_part(change.part);
        let counts = of_part.and_then(|(topic, _)| self.counts.get(&topic)).into_iter().flatten();
        counts.filter(move |counted| {
            counted.time_us >= change.made.earliest_us()
                && of_part.is_some_and(|(_, partition)| i64::from(counted.to) > i64::from(partition))
                && counted.topic_id.is_none_or(|id| id == change.after.topic_id)
        })
    }

    /// Leaders in caches that show a change.
    fn seen_since<'a>(&'a self, change: &'a Change) -> impl Iterator<Item = &'a Seen> {
        let seen = self.parts.get(&change.part).into_iter().flat_map(|part| &part.seen);
        seen.filter(|seen| seen.time_us >= change.made.earliest_us() && seen.reflects(change))
    }

    /// The answer to a Metadata request is told with the same version at the same time; a leader named in an answer to Produce comes later.
    fn how_learned(&self, seen: &Seen) -> Learned {
        let asked = self.asked.get(&seen.who).into_iter().flatten().find(|asked| asked.is_answered && asked.version == seen.version);
        let is_hint = seen.node.is_some() && asked.is_none_or(|asked| asked.time_us < seen.time_us);
        let reason = asked.filter(|_| !is_hint).map(|asked| asked.reason);
        Learned { time_us: seen.time_us, node: seen.node, reason, is_hint }
    }

    /// A client's Metadata requests that ended between two times, or were under way then.
    pub(crate) fn asked(&self, client: Who, from_us: i64, until_us: i64) -> impl Iterator<Item = &Asked> {
        let asked = self.asked.get(&client).into_iter().flatten();
        asked.filter(move |asked| asked.time_us >= from_us && asked.sent_us <= until_us)
    }

    /// A client's vain attempts to use a connection between two times that lasted at least so long, and during which it asked nobody: as long as
    /// one is under way and no other connection can be used, it waits.
    pub(crate) fn attempts(&self, client: Who, from_us: i64, until_us: i64, least_us: i64) -> impl Iterator<Item = &Attempt> {
        let attempts = self.attempts.get(&client).into_iter().flatten();
        attempts.filter(move |tried| {
            let is_within = tried.ended_us > from_us && tried.began_us < until_us && tried.ended_us - tried.began_us >= least_us;
            let during = tried.began_us..tried.ended_us;
            is_within && !self.asked(client, tried.began_us, tried.ended_us).any(|asked| during.contains(&asked.sent_us))
        })
    }

    /// Metadata requests of all clients that were answered between two times by one broker.
    pub(crate) fn answered_by(&self, node: BrokerId, from_us: i64, until_us: i64) -> impl Iterator<Item = (Who, &Asked)> {
        let asked = self.asked.iter().flat_map(|(who, asked)| asked.iter().map(|asked| (*who, asked)));
        asked.filter(move |(_, asked)| asked.is_answered && asked.node == node && asked.sent_us >= from_us && asked.time_us <= until_us)
    }

    /// When a client's requests for a partition first went to a node after a time.
    pub(crate) fn routed(&self, part: Part, client: Who, to: BrokerId, after_us: i64) -> Option<i64> {
        let routed = self.parts.get(&part)?.routed.get(&client)?.iter();
        routed.filter(|(time_us, node)| *node == to && *time_us >= after_us).map(|(time_us, _)| *time_us).min()
    }

    /// Acknowledgements on a partition that were the first after a change, since a time.
    pub(crate) fn delivered(&self, part: Part, after_us: i64) -> impl Iterator<Item = &At> {
        self.parts.get(&part).into_iter().flat_map(|part| &part.delivered).filter(move |at| at.time_us >= after_us)
    }

    /// The last error between two times with which a node answered a producer's batch on a partition.
    pub(crate) fn last_refusal(&self, part: Part, who: Who, node: BrokerId, from_us: i64, until_us: i64) -> Option<i16> {
        let refused = self.refusals(part, node, from_us).filter(|(at, _)| at.who == who && at.time_us <= until_us);
        refused.max_by_key(|(at, _)| at.time_us).map(|(_, code)| *code)
    }

    /// Whether a node refused a producer's batches on a partition after a time because earlier ones are missing.
    pub(crate) fn is_out_of_order(&self, part: Part, who: Who, node: BrokerId, after_us: i64) -> bool {
        self.refusals(part, node, after_us).any(|(at, code)| at.who == who && *code == OUT_OF_ORDER)
    }

    fn refusals(&self, part: Part, node: BrokerId, after_us: i64) -> impl Iterator<Item = &(At, i16)> {
        let refused = self.parts.get(&part).into_iter().flat_map(|part| &part.refused);
        refused.filter(move |(at, _)| at.node == Some(node) && at.time_us >= after_us)
    }

    /// When a node first answered a producer's batch on a partition with an error after a time.
    pub(crate) fn first_refusal(&self, part: Part, who: Who, node: BrokerId, after_us: i64) -> Option<i64> {
        self.refusals(part, node, after_us).filter(|(at, _)| at.who == who).map(|(at, _)| at.time_us).min()
    }

    /// A client's connection to a node that first ended after a time.
    pub(crate) fn connection_ended(&self, client: Who, node: BrokerId, after_us: i64) -> Option<&Ended> {
        let ended = self.disconnected.get(&node)?.iter().filter(|ended| ended.who == client && ended.time_us >= after_us);
        ended.min_by_key(|ended| ended.time_us)
    }

    /// What ended a group's connections to a node between two times, as the number of the commonest cause.
    pub(crate) fn connections_end_by(&self, group: u32, node: BrokerId, from_us: i64, until_us: i64) -> Option<u32> {
        let mut causes: BTreeMap<u32, usize> = BTreeMap::new();
        let is_such = |ended: &&Ended| ended.who.group == group && (from_us..=until_us).contains(&ended.time_us);
        for ended in self.disconnected.get(&node).into_iter().flatten().filter(is_such) {
            *causes.entry(ended.cause).or_default() += 1;
        }
        causes.into_iter().max_by_key(|(_, count)| *count).map(|(cause, _)| cause)
    }
}

impl Counted {
    fn how(&self) -> Learned {
        Learned { time_us: self.time_us, node: self.node, reason: self.reason, is_hint: false }
    }
}

impl Seen {
    fn reflects(&self, change: &Change) -> bool {
        if self.topic_id.is_some_and(|id| id != change.after.topic_id) {
            return false;
        }
        self.epoch.map_or(self.leader == change.after.leader, |epoch| epoch >= change.after.epoch)
    }
}

#[cfg(test)]
mod tests;
