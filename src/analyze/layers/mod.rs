//! Which layer held a change up: facts of the layers folded into waterfalls, one per step, from the fault to the first acknowledged record.
//!
//! ```text
//! ControllerImage, ControllerRecord  -> log      what changed, what the controller noticed       \
//! ControllerCommitted, NodeFetched   -> quorum   committed, fetched, active controller or none    \
//! BrokerShows, Servable              -> caches   each broker's own answers                         > step -> stages, path -> LayerFinding
//! LeaderSeen, RouteChanged, ...      -> clients  caches, routes, first acks                       /
//! steps, Broker                      -> nodes    who was down                                    /
//! ```
//!
//! Steps are only taken for the time of the fault and for which nodes are down; which layer is stuck follows from what was seen of the layers.
//! Not here: outages (`outage`), whose longest waits are the ones that are explained; the facts as a table (`record::files`).

mod caches;
mod clients;
mod cost;
mod ends;
pub mod findings;
mod held;
mod index;
mod log;
mod nodes;
mod order;
mod path;
mod quorum;
mod remarks;
mod scan;
mod stages;
mod step;
mod words;

use crate::analyze::outage::{GroupBasis, Hit, Stretches};
use crate::analyze::window::StepWindow;
use crate::ids::BrokerId;
use crate::record::fact::{Fact, Stamped};
use crate::record::layer::ControllerChange;
use crate::record::step::StepLedger;
use findings::{LayerFinding, ProbeFinding};

/// What took longer than this and [`ORDINARY_BASELINES`], while records waited, is told as held up. Outages begin at half of it.
const ORDINARY_US: i64 = 1_000_000;

/// So many times what the baseline's slowest records took: a change is work (logs to make, connections to open, code that runs for the first
/// time), and a machine that is slow in the baseline is as slow with that.
const ORDINARY_BASELINES: i64 = 3;

/// The same where no record waited: nobody was hurt, clients may take their time to ask, and a machine may be busy.
const QUIET_ORDINARY_US: i64 = 5_000_000;

/// All that was seen of the layers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layers {
    index: index::Index,
    log: log::ControllerLog,
    quorum: quorum::Quorum,
    caches: caches::Caches,
    clients: clients::Clients,
    nodes: nodes::Nodes,
    ends: ends::Ends,
    cost: cost::Cost,
}

/// What else an analysis knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) steps: &'a StepLedger,
    pub(crate) windows: &'a [StepWindow],
    pub(crate) stretches: &'a Stretches,
    pub(crate) hits: &'a [Hit],
    pub(crate) basis: &'a [GroupBasis],
    /// End of the run, or of its facts.
    pub(crate) end_us: i64,
}

impl Layers {
    /// Takes in a fact.
    pub(crate) fn fold(&mut self, stamped: &Stamped) {
        match &stamped.fact {
            Fact::ControllerImage(image) => self.log.image(stamped.time_us, image, &mut self.index),
            Fact::ControllerRecord(record) => {
                if let ControllerChange::BrokerChanged(state) = &record.change
                    && !state.is_fenced
                {
                    self.nodes.unfenced(state.broker, stamped.time_us);
                }
                self.log.record(stamped.time_us, record, &mut self.index);
            }
            Fact::ControllerTruncated { end_offset, .. } => self.log.truncated(*end_offset),
            Fact::ControllerCommitted { .. } | Fact::ControllerFollowed { .. } | Fact::NodeFetched { .. } => self.quorum.fold(stamped),
            Fact::BrokerShows { .. } | Fact::Servable { .. } => self.caches.fold(stamped, &mut self.index),
            Fact::Broker(seen) => {
                self.nodes.fold(stamped);
                self.ends.fold(seen, &mut self.index);
            }
            Fact::StepRequested { .. } => {
                self.nodes.fold(stamped);
                self.clients.fold(stamped, &mut self.index);
            }
            Fact::RunStarted(run) => run.groups.iter().for_each(|group| _ = self.index.groups.number(&group.name)),
            Fact::ProbeSecond(second) => self.cost.fold(second),
            _ => self.clients.fold(stamped, &mut self.index),
        }
    }

    /// What the layers made of each step; nothing where nobody saw the controller's log.
    pub(crate) fn findings(&self, scene: Scene<'_>) -> Vec<LayerFinding> {
        if !self.log.is_seen {
            return Vec::new();
        }
        step::steps(self, scene).iter().map(|step| held::finding(self, step)).collect()
    }

    /// When a broker's answers began to show a change, or a later state: also one that looks like the state before the change, of which a broker
    /// that was away in between never shows anything.
    pub(crate) fn shows(&self, broker: BrokerId, change: &log::Change) -> Option<order::Sight> {
        let later = || self.log.changes_of(change.part).filter(|later| later.offset > change.offset);
        self.caches.shows(broker, change).or_else(|| later().find_map(|later| self.caches.shows(broker, later)))
    }

    /// What the probes have cost; `None`: nothing looked.
    pub(crate) fn probes(&self) -> Option<ProbeFinding> {
        self.cost.finding()
    }

    /// Records of the controller's log of which it is not known what they changed: the log may differ from what is told of it.
    pub(crate) fn not_taken_in(&self) -> usize {
        self.log.not_taken_in()
    }

    /// Sightings that were too many to keep: stages may be missing.
    pub(crate) fn not_kept(&self) -> u64 {
        self.log.room.refused + self.quorum.room.refused + self.caches.room.refused + self.clients.room.refused + self.ends.room.refused
    }
}

#[cfg(test)]
mod tests;
