//! The end of a walk, and the walk of a wait for which the controller's log has no change at all.

use super::graph::At;
use super::{Walk, Why};
use crate::analyze::layers::ORDINARY_US;
use crate::analyze::layers::ends::Flow;
use crate::analyze::layers::log::Change;
use crate::analyze::layers::order::Placed;
use crate::ids::BrokerId;
use crate::record::layer::Layer;

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
        if let Some((_, why)) = self.layers.caches.silent(leader) {
            self.advance(Layer::Servable, Some(leader), Why::Silent(why), self.end_us);
        } else if self.layers.caches.serves_last(self.wait.part, leader, state.epoch) == Some(false) {
            self.advance(Layer::Servable, Some(leader), Why::Layer, self.end_us);
        }
        self.last_stretch(Some(leader), self.wait.from_us);
        Some(())
    }

    /// An idempotent producer's batches at a new leader wait for those that the old one has not answered: until that learns that it leads no more,
    /// or the connection ends.
    pub(super) fn until_old_answers(&mut self, change: &'a Change, since_us: i64, placed: &[Placed], at: At) {
        let Some((old, leader)) = change.before.and_then(|before| before.leader).zip(change.after.leader) else { return };
        let Some(client) = self.layers.clients.client_of(self.wait.who) else { return };
        if old == leader || !self.layers.clients.is_out_of_order(self.wait.part, self.wait.who, leader, since_us) {
            return;
        }
        let ended_us = self.layers.clients.connection_ended(client, old, self.wait.from_us).unwrap_or(self.end_us);
        if ended_us <= self.at_us {
            return;
        }
        if self.matters(old, change) {
            self.until_known(old, Why::Ahead, placed[at.old_fetched], placed[at.old_cache], change, ended_us);
        } else {
            self.advance(Layer::Delivery, Some(old), Why::Ahead, ended_us);
        }
    }

    /// From the time at which all that should be known was known to the ack. If that is long: do requests not reach the leader, or does it not
    /// acknowledge them? It does not if it answers with errors, or if its log fills and its high watermark stands. Where its log was watched and
    /// neither was seen, or where connections to it end, nothing reaches it.
    pub(super) fn last_stretch(&mut self, leader: Option<BrokerId>, since_us: i64) {
        let is_short = self.wait.until_us.is_some() && self.end_us - self.at_us <= ORDINARY_US;
        let is_out_of_reach = |leader: BrokerId| {
            let (part, group) = (self.wait.part, self.wait.who.group);
            match self.layers.ends.flow(part, leader, since_us) {
                _ if self.layers.clients.is_refused(part, group, leader, since_us) => false,
                Flow::Nothing | Flow::Through => true,
                Flow::Filling => false,
                Flow::Unknown => self.layers.clients.connections_end_by(group, leader, since_us).is_some(),
            }
        };
        let is_out_of_reach = !is_short && leader.is_some_and(is_out_of_reach);
        self.advance(if is_out_of_reach { Layer::Route } else { Layer::Delivery }, leader, Why::Layer, self.end_us);
    }
}
