//! The walk from the fault to an acknowledgement, through the very broker that the client asked: each stretch of the wait is charged to the
//! layer that had not followed yet.
//!
//! ```text
//! fault .. noticed .. record .. committed .. old leader knows .. asked broker knows .. client knows .. route .. servable .. ack
//!   detected             committed         fetched, broker_cache                  client_cache    route   servable   delivery
//! ```
//!
//! A producer learns of a new leader by asking a broker, or from the old leader's refusals. So while the old leader runs and does not know,
//! that is what holds it up. What was not seen is charged to the next stage that was.

use super::Layers;
use super::caches::Serving;
use super::clients::Learned;
use super::index::Who;
use super::log::{Change, Event, Kind};
use super::order::{Placed, Sight};
use super::step::{Step, Wait};
use crate::ids::BrokerId;
use crate::record::layer::Layer;
use graph::At;

/// Why a stretch of a wait belongs to its layer, as far as the layer does not say it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Why<'a> {
    /// The layer itself had not followed.
    Layer,
    /// The controller had not noticed this yet.
    Noticed(&'a Event),
    /// The node was down, and the controller made no record of it.
    NotNoticed,
    /// No replica could be elected.
    NoLeader,
    /// No controller was the active one.
    NoController,
    /// The partition's topic was deleted, and what has its name now has no such partition.
    Gone,
    /// The client does not tell what it knows.
    Untold,
    /// Nobody looked whether requests reached the node.
    Unseen,
    /// The node acknowledged late, over the same connection, and committed records of the partition meanwhile.
    Slow,
    /// Producers still sent to this node, which did not know that it leads no more.
    OldLeader,
    /// This node had not answered batches that go before those which the new leader got.
    Ahead,
    /// The node did not answer a Metadata request.
    Unanswered,
    /// A new connection to the node could not be used, and the client asked nobody meanwhile.
    NotReady,
    /// The node did not answer the probes either.
    Silent(&'a str),
    /// The node refused, with this error.
    Refused(i16),
}

/// A stretch of a wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment<'a> {
    pub(crate) layer: Layer,
    pub(crate) node: Option<BrokerId>,
    pub(crate) group: Option<u32>,
    pub(crate) why: Why<'a>,
    pub(crate) from_us: i64,
    pub(crate) until_us: i64,
}

impl Segment<'_> {
    pub(crate) fn for_us(&self) -> i64 {
        self.until_us - self.from_us
    }
}

/// A wait, explained.
#[derive(Debug)]
pub(crate) struct Path<'a> {
    pub(crate) wait: Wait,
    /// The change that it waited for; `None`: the log has none.
    pub(crate) change: Option<&'a Change>,
    /// How the client learned of it, where it tells.
    pub(crate) learned: Option<Learned>,
    /// In order, without holes from the beginning to the end.
    pub(crate) segments: Vec<Segment<'a>>,
    /// The last segment had not ended by the end of the run.
    pub(crate) is_stuck: bool,
}

/// A connection that is made within this is not in the way of a question.
const ATTEMPT_LEAST_US: i64 = 1_000_000;

/// Explains a wait of a step. `None`: nobody saw anything of the partition.
pub(crate) fn walk<'a>(layers: &'a Layers, step: &Step<'a>, wait: Wait) -> Option<Path<'a>> {
    let end_us = wait.until_us.unwrap_or(step.end_us);
    let mut walk = Walk { layers, step, wait, at_us: wait.from_us, end_us, segments: Vec::new() };
    if wait.until_us.is_none() && layers.log.is_gone(wait.part) {
        walk.advance(Layer::Delivery, None, Why::Gone, end_us);
        return Some(Path { wait, change: None, learned: None, segments: walk.segments, is_stuck: true });
    }
    let change = step.releasing(layers, wait.part, end_us);
    let learned = match change {
        Some(change) if change.after.leader.is_some() => walk.follow(change),
        Some(change) => {
            walk.until_made(change);
            walk.advance(Layer::Detected, None, Why::NoLeader, end_us);
            None
        }
        None => {
            walk.without_change()?;
            None
        }
    };
    Some(Path { wait, change, learned, segments: walk.segments, is_stuck: wait.until_us.is_none() })
}

/// Where a walk is.
struct Walk<'w, 'a> {
    layers: &'a Layers,
    step: &'w Step<'a>,
    wait: Wait,
    at_us: i64,
    end_us: i64,
    segments: Vec<Segment<'a>>,
}

impl<'a> Walk<'_, 'a> {
    /// Charges the time up to `to_us`, as far as it is not charged yet and lies within the wait.
    fn advance(&mut self, layer: Layer, node: Option<BrokerId>, why: Why<'a>, to_us: i64) {
        let until_us = to_us.min(self.end_us);
        if until_us > self.at_us {
            let is_of_clients = matches!(layer, Layer::ClientCache | Layer::Route | Layer::Delivery);
            let group = Some(self.wait.who.group).filter(|_| is_of_clients);
            self.segments.push(Segment { layer, node, group, why, from_us: self.at_us, until_us });
            self.at_us = until_us;
        }
    }

    /// Up to the time at which something not yet noticed was. Without an active controller nobody can notice.
    fn advance_detection(&mut self, node: Option<BrokerId>, why: Why<'a>, to_us: i64) {
        for (lost_us, found_us) in self.layers.quorum.without_controller(self.at_us, to_us.min(self.end_us)) {
            self.advance(Layer::Detected, node, why, lost_us);
            self.advance(Layer::Committed, None, Why::NoController, found_us);
        }
        self.advance(Layer::Detected, node, why, to_us);
    }

    /// Up to the record.
    fn until_made(&mut self, change: &'a Change) {
        let causes = self.step.causes(self.layers, change.offset, change.made);
        for cause in &causes {
            self.advance_detection(cause.node, Why::Noticed(cause), cause.made.earliest_us());
        }
        let (node, why) = causes.last().map_or((None, Why::Layer), |cause| (cause.node, Why::Noticed(cause)));
        self.advance_detection(node, why, change.made.earliest_us());
    }

    /// Follows a change through the layers; how the client learned of it, where it tells.
    fn follow(&mut self, change: &'a Change) -> Option<Learned> {
        let client = self.layers.clients.client_of(self.wait.who);
        let must_learn = change.kind != Kind::Shrunk;
        let learned = client.filter(|_| must_learn).and_then(|client| {
            let learned = self.layers.clients.learned_by(client, change, &self.layers.index);
            learned.filter(|learned| learned.time_us <= self.end_us)
        });
        let (placed, at, nodes) = self.placed(change, client, learned);
        self.until_made(change);
        let committed = placed[at.committed];
        match committed.no_later_us {
            Some(time_us) => self.advance_commit(time_us),
            None => {
                self.advance_commit(self.end_us);
                return None;
            }
        }
        if must_learn {
            self.until_learned(change, client, learned, &placed, at, nodes);
        } else {
            self.until_applied(change.after.leader, &placed, at);
        }
        self.until_served(change, learned, &placed, at);
        learned
    }

    fn advance_commit(&mut self, to_us: i64) {
        for (lost_us, found_us) in self.layers.quorum.without_controller(self.at_us, to_us.min(self.end_us)) {
            self.advance(Layer::Committed, None, Why::Layer, lost_us);
            self.advance(Layer::Committed, None, Why::NoController, found_us);
        }
        self.advance(Layer::Committed, None, Why::Layer, to_us);
    }

    fn until_learned(
        &mut self,
        change: &'a Change,
        client: Option<Who>,
        learned: Option<Learned>,
        placed: &[Placed],
        at: At,
        [old, asked]: [Option<BrokerId>; 2],
    ) {
        let Some(client) = client else { return };
        let Some(learned) = learned else {
            if self.wait.until_us.is_none() {
                self.not_learned(change, client, old, placed, at);
            }
            return;
        };
        if let Some(old) = old {
            self.until_known(old, Why::OldLeader, placed[at.old_fetched], placed[at.old_cache], change, learned.time_us);
        }
        if let Some(asked) = asked {
            self.until_known(asked, Why::Layer, placed[at.asked_fetched], placed[at.asked_cache], change, learned.time_us);
        }
        self.until_asked(client, learned.time_us);
    }

    /// Up to the time at which a broker knew, but no further than `limit_us`, when the client knew without it.
    fn until_known(&mut self, broker: BrokerId, why: Why<'a>, fetched: Placed, cache: Placed, change: &Change, limit_us: i64) {
        if self.layers.quorum.knows(broker) {
            self.advance(Layer::Fetched, Some(broker), why, fetched.no_later_us.unwrap_or(limit_us).min(limit_us));
        }
        if self.layers.caches.knows(broker, change.part) {
            self.advance(Layer::BrokerCache, Some(broker), why, cache.no_later_us.unwrap_or(limit_us).min(limit_us));
        }
    }

    /// Up to the time at which the client knew: it had not asked yet, or whom it asked did not answer.
    fn until_asked(&mut self, client: Who, to_us: i64) {
        let unanswered = self.layers.clients.asked(client, self.at_us, to_us).filter(|asked| !asked.is_answered);
        for asked in unanswered {
            self.advance(Layer::ClientCache, None, Why::Layer, asked.sent_us);
            self.advance(Layer::Route, Some(asked.node), Why::Unanswered, asked.time_us.min(to_us));
        }
        for tried in self.layers.clients.attempts(client, self.at_us, to_us, ATTEMPT_LEAST_US) {
            self.advance(Layer::ClientCache, None, Why::Layer, tried.began_us);
            self.advance(Layer::Route, Some(tried.node), Why::NotReady, tried.ended_us.min(to_us));
        }
        self.advance(Layer::ClientCache, None, Why::Layer, to_us);
    }

    /// The client did not know by the end.
    fn not_learned(&mut self, change: &'a Change, client: Who, old: Option<BrokerId>, placed: &[Placed], at: At) {
        if let Some(old) = old {
            self.until_known(old, Why::OldLeader, placed[at.old_fetched], placed[at.old_cache], change, self.end_us);
        }
        let last = self.layers.clients.asked(client, self.at_us, self.end_us).max_by_key(|asked| asked.sent_us);
        if let Some(last) = last.filter(|last| last.is_answered) {
            let made_us = change.made.earliest_us();
            let unseen = |sight: Option<Sight>| Placed {
                not_before_us: None,
                time_us: None,
                no_later_us: sight.map(|sight| sight.time_us),
                is_pulled_in: false,
            };
            let fetched = unseen(self.layers.quorum.fetched(last.node, change.offset, made_us));
            let cache = unseen(self.layers.shows(last.node, change));
            self.until_known(last.node, Why::Layer, fetched, cache, change, self.end_us);
        }
        self.until_asked(client, self.end_us);
    }

    /// A smaller ISR lets the leader go on as soon as it knows.
    fn until_applied(&mut self, leader: Option<BrokerId>, placed: &[Placed], at: At) {
        let Some(leader) = leader else { return };
        let limit_us = self.end_us;
        if self.layers.quorum.knows(leader) {
            self.advance(Layer::Fetched, Some(leader), Why::Layer, placed[at.asked_fetched].no_later_us.unwrap_or(limit_us));
        }
        if self.layers.caches.knows(leader, self.wait.part) {
            self.advance(Layer::BrokerCache, Some(leader), Why::Layer, placed[at.asked_cache].no_later_us.unwrap_or(limit_us));
        }
    }

    /// From the client's knowing (or from the commit, if it need not know) to the ack.
    fn until_served(&mut self, change: &'a Change, learned: Option<Learned>, placed: &[Placed], at: At) {
        let leader = change.after.leader;
        if learned.is_some() {
            self.until_old_answers(change, placed, at);
        }
        if let Some(time_us) = placed[at.route].time_us {
            self.advance(Layer::Route, leader, Why::Layer, time_us);
        }
        match (placed[at.servable].no_later_us, self.layers.caches.serving(change)) {
            (None, Serving::Refused(code)) => self.advance(Layer::Servable, leader, Why::Refused(code), self.end_us),
            (Some(time_us), _) => self.advance(Layer::Servable, leader, Why::Layer, time_us),
            (None, _) => {}
        }
        let tells = change.kind == Kind::Shrunk || self.layers.clients.client_of(self.wait.who).is_some();
        match learned {
            // Of a client that tells nothing of itself nobody knows whether it knew.
            None if !tells => self.advance(Layer::Delivery, leader, Why::Untold, self.end_us),
            _ => self.last_stretch(leader, learned.map_or(change.made.earliest_us(), |learned| learned.time_us)),
        }
    }
}

mod graph;
mod unmoved;

#[cfg(test)]
mod tests;
