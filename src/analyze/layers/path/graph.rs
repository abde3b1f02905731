//! The stages of one wait's way, through the old leader and the broker that was asked, each in its place.

use super::Walk;
use crate::analyze::layers::caches::Serving;
use crate::analyze::layers::clients::Learned;
use crate::analyze::layers::index::Who;
use crate::analyze::layers::log::{Change, Kind};
use crate::analyze::layers::order::{Observed, Placed, Sight, place};
use crate::ids::BrokerId;

/// Positions of a path's stages in its graph.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct At {
    pub(super) committed: usize,
    pub(super) old_fetched: usize,
    pub(super) old_cache: usize,
    pub(super) asked_fetched: usize,
    pub(super) asked_cache: usize,
    pub(super) client: usize,
    pub(super) route: usize,
    pub(super) servable: usize,
}

impl Walk<'_, '_> {
    /// The path's stages in their places, and the old leader (if it matters) and the broker that was asked.
    pub(super) fn placed(
        &self,
        change: &Change,
        client: Option<Who>,
        learned: Option<Learned>,
    ) -> (Vec<Placed>, At, [Option<BrokerId>; 2]) {
        let (mut graph, mut at) = (Vec::<Observed>::new(), At::default());
        let mut put = |sight: Option<Sight>, after: &[usize]| {
            graph.push(Observed { sight, after: after.to_vec() });
            graph.len() - 1
        };
        let (layers, made_us) = (self.layers, change.made.earliest_us());
        let record = put(Some(change.made), &[]);
        at.committed = put(layers.quorum.committed(change.offset, made_us), &[record]);
        let leader = change.after.leader;
        let old = change.before.and_then(|before| before.leader).filter(|old| Some(*old) != leader && self.matters(*old, change));
        let asked = if change.kind == Kind::Shrunk { leader } else { learned.and_then(|learned| learned.node) };
        let mut of_broker = |broker: Option<BrokerId>| {
            let fetched = put(broker.and_then(|broker| layers.quorum.fetched(broker, change.offset, made_us)), &[record]);
            (fetched, put(broker.and_then(|broker| layers.shows(broker, change)), &[at.committed, fetched]))
        };
        (at.old_fetched, at.old_cache) = of_broker(old);
        (at.asked_fetched, at.asked_cache) = of_broker(asked);
        let told_by = if learned.is_some_and(|learned| learned.is_hint) { at.asked_fetched } else { at.asked_cache };
        at.client = put(learned.map(|learned| Sight::exact(learned.time_us)), &[told_by]);
        let routed = client.zip(leader).zip(learned).and_then(|((client, leader), learned)| {
            layers.clients.routed(change.part, client, leader, learned.time_us).filter(|time_us| *time_us <= self.end_us)
        });
        at.route = put(routed.map(Sight::exact), &[at.client]);
        let serving = match layers.caches.serving(change) {
            Serving::Since(sight) => Some(sight),
            Serving::Refused(_) | Serving::NotAsked => None,
        };
        at.servable = put(serving, &[at.committed]);
        let ack = self.wait.until_us.map(Sight::exact);
        // Whoever is acknowledged has a route to a leader that serves, whether or not its cache was seen to know.
        let acked_by = if change.kind == Kind::Shrunk { at.asked_cache } else { at.client };
        let is_known = learned.is_some() || change.kind == Kind::Shrunk;
        let after = if is_known { vec![acked_by, at.route, at.servable] } else { vec![at.servable] };
        put(ack, &after);
        (place(&graph), at, [old, asked])
    }

    /// A node that ran all the time could have told its clients that it leads no more; and somebody must have looked whether it knew.
    pub(super) fn matters(&self, old: BrokerId, change: &Change) -> bool {
        let is_watched = self.layers.quorum.knows(old) || self.layers.caches.knows(old, change.part);
        is_watched && !self.layers.nodes.was_down(old, change.made.earliest_us(), self.end_us)
    }
}
