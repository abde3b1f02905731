//! The end of a walk, and the walk of a wait for which the controller's log has no change at all.

use super::graph::At;
use super::{Walk, Why};
use crate::analyze::layers::ends::Flow;
use crate::analyze::layers::log::Change;
use crate::analyze::layers::order::Placed;
use crate::ids::BrokerId;
use crate::record::layer::Layer;

/// A producer that is refused sends again within a second (`retry.backoff.max.ms`); whoever was refused longer ago waits for something else.
const REFUSED_LATELY_US: i64 = 3_000_000;

impl<'a> Walk<'_, 'a> {
    /// The log did not change: a node was down and the controller did not notice, or the leader that it names did not serve this client. `None`:
    /// nothing is known of the partition.
    pub(super) fn without_change(&mut self) -> Option<()> {
        let state = self.layers.log.state_at(self.wait.part, self.wait.from_us)?;
        let members = state.leader.into_iter().chain(self.layers.index.nodes(state.isr).iter().copied());
        let down = members.into_iter().find(|node| self.layers.nodes.was_down(*node, self.wait.from_us, self.end_us));
        if let Some(down) = down {
            self.advance_detection(Some(down), Why::NotNoticed, self.end_us);
            return Some(());
        }
        let Some(leader) = state.leader else {
            self.advance(Layer::Detected, None, Why::NoLeader, self.end_us);
            return Some(());
        };
        if let Some((_, why)) = self.layers.caches.silent(leader, self.end_us) {
            self.advance(Layer::Servable, Some(leader), Why::Silent(why), self.end_us);
        } else if self.layers.caches.served_by(self.wait.part, leader, state.epoch, self.end_us) == Some(false) {
            self.advance(Layer::Servable, Some(leader), Why::Layer, self.end_us);
        }
        self.last_stretch(Some(leader), self.wait.from_us);
        Some(())
    }

    /// An idempotent producer's batches for a new leader wait for those that the old one has not answered: until it does, since it learns that it
    /// leads no more, or until the connection ends. That it had some is known from its late answer, from the end of a connection with requests
    /// under way, or from a new leader that misses what goes first.
    pub(super) fn until_old_answers(&mut self, change: &'a Change, placed: &[Placed], at: At) {
        let Some((old, leader)) = change.before.and_then(|before| before.leader).zip(change.after.leader) else { return };
        let (clients, part, who) = (&self.layers.clients, self.wait.part, self.wait.who);
        let Some(client) = clients.client_of(who).filter(|_| old != leader) else { return };
        let ended = clients.connection_ended(client, old, self.wait.from_us).filter(|ended| ended.time_us <= self.end_us);
        if ended.is_some_and(|ended| ended.time_us <= self.at_us) {
            return;
        }
        let answered_us = clients.first_refusal(part, who, old, self.at_us).filter(|time_us| *time_us <= self.end_us);
        let is_cut_off = ended.is_some_and(|ended| ended.has_in_flight);
        if answered_us.is_none() && !is_cut_off && !clients.is_out_of_order(part, who, leader, self.at_us) {
            return;
        }
        let until_us = answered_us.into_iter().chain(ended.map(|ended| ended.time_us)).min().unwrap_or(self.end_us);
        if self.matters(old, change) {
            self.until_known(old, Why::Ahead, placed[at.old_fetched], placed[at.old_cache], change, until_us);
        } else {
            self.advance(Layer::Delivery, Some(old), Why::Ahead, until_us);
        }
    }

    /// From the time at which all that should be known was known to the ack. If that is long: do requests not reach the leader, or does it not
    /// acknowledge them? It does not if it still answers with errors at the end, or if its log fills and its high watermark stands. Where its log
    /// was watched and neither was seen, or where connections to it end, nothing reaches it; unless it served others and, after a while, this
    /// client over the same connection. A leader that does not acknowledge may itself wait for a replica that is down.
    pub(super) fn last_stretch(&mut self, leader: Option<BrokerId>, since_us: i64) {
        let is_short = self.wait.until_us.is_some() && self.end_us - self.at_us <= self.step.ordinary_us(self.layers, self.wait);
        let (layer, why) = match leader {
            Some(leader) if !is_short => self.out_of_reach_or_silent(leader, since_us),
            _ => (Layer::Delivery, Why::Layer),
        };
        if layer == Layer::Delivery && !matches!(why, Why::Refused(_)) && !is_short {
            self.behind_dead_replica(leader, why);
        }
        self.advance(layer, leader, why, self.end_us);
    }

    /// While a replica in the ISR is down, the leader commits nothing: from its end until the ISR has lost it, or the wait is over since it is
    /// back, the wait is for the controller, which has not noticed.
    fn behind_dead_replica(&mut self, leader: Option<BrokerId>, why: Why<'a>) {
        let (layers, part) = (self.layers, self.wait.part);
        let Some(state) = layers.log.state_at(part, self.at_us) else { return };
        let followers = layers.index.nodes(state.isr).iter().copied().filter(|node| Some(*node) != leader);
        let down_from = |node| layers.nodes.down_from(node, self.at_us, self.end_us).map(|from_us| (from_us, node));
        let Some((from_us, node)) = followers.filter_map(down_from).min() else { return };
        let has_lost_it = |change: &&Change| !layers.index.nodes(change.after.isr).contains(&node);
        let mut later = layers.log.changes_of(part).filter(|change| change.made.earliest_us() >= from_us);
        let until_us = later.find(has_lost_it).map_or(self.end_us, |change| change.made.earliest_us());
        self.advance(Layer::Delivery, leader, why, from_us);
        self.advance_detection(Some(node), Why::NotNoticed, until_us);
    }

    fn out_of_reach_or_silent(&self, leader: BrokerId, since_us: i64) -> (Layer, Why<'a>) {
        let (part, who, end_us) = (self.wait.part, self.wait.who, self.end_us);
        let clients = &self.layers.clients;
        if let Some(code) = clients.last_refusal(part, who, leader, since_us.max(end_us - REFUSED_LATELY_US), end_us) {
            return (Layer::Delivery, Why::Refused(code));
        }
        let has_lost_connection = || clients.connections_end_by(who.group, leader, self.at_us, end_us).is_some();
        match self.layers.ends.flow(part, leader, self.at_us, end_us) {
            Flow::Through if self.wait.until_us.is_some() && !has_lost_connection() => (Layer::Delivery, Why::Slow),
            Flow::Nothing | Flow::Through => (Layer::Route, Why::Layer),
            Flow::Filling => (Layer::Delivery, Why::Layer),
            Flow::Unknown if has_lost_connection() => (Layer::Route, Why::Layer),
            Flow::Unknown => (Layer::Delivery, Why::Unseen),
        }
    }
}
