//! One round of questions while it goes: who was asked, who is to be asked because somebody named them, what came back.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::ask::{Asker, Bounds, QuorumAnswer, ViewAnswer, trusted};
use super::share::SharedTopics;
use super::sighting::{Heard, Sighting, Silence, Unheard, View, Voice};
use crate::ids::HostPort;
use crate::kafka::admin::{ClusterDescription, ClusterView, QuorumView};

/// Addresses that are asked in one round.
pub(super) const ADDRESSES_MAX: usize = 100;

/// One round while it goes.
pub(super) struct Round<'a> {
    asker: &'a Asker,
    bounds: Bounds,
    views: FuturesUnordered<BoxFuture<'a, ViewAnswer>>,
    quorums: FuturesUnordered<BoxFuture<'a, QuorumAnswer>>,
    pub(super) asked: BTreeSet<HostPort>,
    left_out: BTreeSet<HostPort>,
    heard: BTreeMap<HostPort, (Heard<View>, Heard<ClusterDescription>)>,
    told: BTreeMap<HostPort, Heard<QuorumView>>,
}

impl<'a> Round<'a> {
    pub(super) fn new(asker: &'a Asker, bounds: Bounds) -> Self {
        Self {
            asker,
            bounds,
            views: FuturesUnordered::new(),
            quorums: FuturesUnordered::new(),
            asked: BTreeSet::new(),
            left_out: BTreeSet::new(),
            heard: BTreeMap::new(),
            told: BTreeMap::new(),
        }
    }

    /// Asks those that were not asked yet.
    pub(super) fn ask_all(&mut self, addresses: impl IntoIterator<Item = HostPort>) {
        for address in addresses {
            if self.asked.contains(&address) {
                continue;
            }
            if self.asked.len() >= ADDRESSES_MAX {
                self.left_out.insert(address);
                continue;
            }
            self.asked.insert(address.clone());
            self.views.push(self.asker.view(address.clone(), self.bounds).boxed());
            self.quorums.push(self.asker.quorum(address, self.bounds.forwarding, self.bounds.quorum).boxed());
        }
    }

    /// Takes views in until none is on its way, and asks whomever they name.
    pub(super) async fn hear_views(&mut self, topics: &mut SharedTopics) {
        while !self.views.is_empty() {
            tokio::select! {
                Some((address, view, cluster)) = self.views.next() => {
                    self.ask_all(named(view.as_ref().ok(), cluster.as_ref().ok()));
                    self.heard.insert(address, (view.map(|view| topics.share(view)), cluster));
                }
                Some((address, told)) = self.quorums.next() => self.hear_quorum(address, told),
            }
        }
    }

    /// Where a node was silent, asks for the quorum anew: whether it has fetched since tells a dead node from one that only we cannot reach.
    pub(super) fn ask_again_behind(&mut self, sighting: &Sighting) {
        let is_silent = |voice: &Voice| matches!(&voice.view, Err(unheard) if unheard.why == Silence::Silent);
        if sighting.voices.iter().any(is_silent)
            && let Some(address) = trusted(sighting)
        {
            self.quorums.push(self.asker.quorum(address.clone(), self.bounds.again, self.bounds.whole).boxed());
        }
    }

    pub(super) async fn hear_quorums(&mut self) {
        while let Some((address, told)) = self.quorums.next().await {
            self.hear_quorum(address, told);
        }
    }

    /// Of two answers the later; but an answer is not given up for none.
    fn hear_quorum(&mut self, address: HostPort, told: Heard<QuorumView>) {
        if told.is_ok() || !self.told.contains_key(&address) {
            self.told.insert(address, told);
        }
    }

    /// What is heard so far.
    pub(super) fn sighting(&mut self, bootstrap: &[HostPort]) -> Sighting {
        let not_yet = || Unheard::not_asked("not asked yet");
        let heard = mem::take(&mut self.heard).into_iter();
        let voices = heard.map(|(address, (view, cluster))| Voice { address, view, cluster, quorum: Err(not_yet()) });
        Sighting {
            scope: self.asker.scope.clone(),
            ended_at: Duration::ZERO,
            took: Duration::ZERO,
            bootstrap: bootstrap.to_vec(),
            voices: voices.collect(),
            controllers: Vec::new(),
            log: Err(not_yet()),
            log_before: None,
            served: BTreeMap::new(),
            eligible: Err(not_yet()),
            topics_left_out: 0,
            brokers_left_out: self.left_out.len(),
            partitions_left_out: 0,
        }
    }

    /// Adds what was told of the quorum, once all is told.
    pub(super) fn add_quorums(&mut self, sighting: &mut Sighting) {
        for voice in &mut sighting.voices {
            if let Some(told) = self.told.remove(&voice.address) {
                voice.quorum = told;
            }
        }
    }
}

/// Addresses that an answer names.
fn named(view: Option<&ClusterView>, cluster: Option<&ClusterDescription>) -> Vec<HostPort> {
    let shown = view.into_iter().flat_map(|view| &view.brokers);
    let registered = cluster.into_iter().flat_map(|cluster| &cluster.brokers);
    shown.chain(registered).map(|broker| broker.listener.clone()).collect()
}
