//! What must be undone when a run ends early: faults still in force, healed in reverse order.
//!
//! Undoing talks to the engine, so it cannot happen in `drop`: whoever holds the [`Guards`] calls [`Guards::heal_all`] on every way out.
//! Containers that are about to be removed need only their pauses undone: a paused process does not react to `stop`. Those that stay are to be
//! as they were.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::config::client_listener_of;
use super::primitive::NodeAct;
use super::runner::ADMIN_CLIENT_ID;
use crate::clock::Clock;
use crate::cluster::{Cluster, ClusterError};
use crate::ids::BrokerId;
use crate::kafka::admin::{Admin, AdminError, ConfigChange};

/// What undoes a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heal {
    /// Thaw a paused node.
    Unpause(BrokerId),
    /// Start a node that was killed or stopped.
    Start(BrokerId),
    /// Bring a node back onto its network.
    Connect(BrokerId),
    /// Take back whatever hurts the links between clients and brokers.
    ClientLinks,
    /// Let a node use what it used to.
    Limits(BrokerId),
    /// Give a broker back the properties that it had.
    Properties {
        /// Whom.
        broker: BrokerId,
        /// Which.
        back: ConfigChange,
    },
    /// Let a node send to another one again.
    MendLink {
        /// Who sends.
        from: BrokerId,
        /// To whom.
        to: BrokerId,
    },
}

impl Heal {
    /// Undoes a fault; of a cluster that does not stay only what would hinder its end.
    async fn carry_out(&self, cluster: &dyn Cluster, clock: &Clock, stays: bool) -> Result<(), HealFailure> {
        match self {
            Self::Unpause(node) => cluster.unpause(*node).await?,
            Self::ClientLinks => cluster.relay().iter().for_each(|relay| relay.heal()),
            _ if !stays => {}
            Self::Start(node) => cluster.start(*node).await?,
            Self::Connect(node) => cluster.connect(*node).await?,
            Self::Limits(node) => cluster.limit(*node, cluster.usual_limits()).await?,
            Self::MendLink { from, to } => cluster.mend_links(*from, &[*to]).await?,
            Self::Properties { broker, back } => give_back(cluster, clock, *broker, back).await?,
        }
        Ok(())
    }
}

/// A fault that could not be undone.
#[derive(Debug, thiserror::Error)]
#[error("{heal:?} failed: {source}")]
pub struct HealError {
    /// What was tried.
    pub heal: Heal,
    /// Why it failed.
    pub source: HealFailure,
}

/// Why a fault could not be undone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HealFailure {
    /// The container engine could not do it.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The broker could not be asked for it.
    #[error(transparent)]
    Admin(#[from] AdminError),
}

/// Faults in force. Outlives the [`super::StepRunner`] that fills it, which may be dropped half-way.
#[derive(Debug, Default)]
pub struct Guards(Mutex<Vec<Heal>>);

impl Guards {
    /// What would undo the faults in force, latest fault first.
    #[must_use]
    pub fn in_force(&self) -> Vec<Heal> {
        self.lock().iter().rev().cloned().collect()
    }

    /// Undoes the faults in force, latest first; of a cluster that does not stay only the pauses. Returns what failed; all the others are
    /// tried all the same, and none is kept.
    pub async fn heal_all(&self, cluster: &dyn Cluster, clock: &Clock, stays: bool) -> Vec<HealError> {
        let mut failed = Vec::new();
        // One at a time, and each forgotten only afterwards: a caller that is dropped half-way can come back for it and the rest.
        while let Some(heal) = self.latest() {
            let healed = heal.carry_out(cluster, clock, stays).await;
            self.lock().retain(|known| *known != heal);
            if let Err(source) = healed {
                failed.push(HealError { heal, source });
            }
        }
        failed
    }

    /// To be called before an act: a caller that is dropped in mid-call must still be healed.
    pub(super) fn before(&self, act: NodeAct, node: BrokerId) {
        if let Some(heal) = undoing(act, node) {
            let mut in_force = self.lock();
            // Several limits of a node are undone by one.
            in_force.retain(|known| *known != heal);
            in_force.push(heal);
        }
    }

    /// To be called with an act's result.
    pub(super) fn after(&self, act: NodeAct, node: BrokerId, is_done: bool) {
        let settled = match act {
            NodeAct::Start if is_done => Some(Heal::Start(node)),
            NodeAct::Unpause if is_done => Some(Heal::Unpause(node)),
            NodeAct::Connect if is_done => Some(Heal::Connect(node)),
            // An earlier limit may still be in force, and undoing none does no harm.
            NodeAct::Limit(_) => None,
            _ if !is_done => undoing(act, node),
            _ => None,
        };
        if let Some(settled) = settled {
            self.lock().retain(|heal| *heal != settled);
        }
    }

    /// To be called before links between clients and brokers are hurt.
    pub(super) fn before_client_links(&self) {
        let mut in_force = self.lock();
        in_force.retain(|heal| *heal != Heal::ClientLinks);
        in_force.push(Heal::ClientLinks);
    }

    /// To be called when all links between clients and brokers are whole again.
    pub(super) fn client_links_whole(&self) {
        self.lock().retain(|heal| *heal != Heal::ClientLinks);
    }

    /// To be called before properties of a broker are changed; `back` undoes it.
    pub(super) fn before_config(&self, broker: BrokerId, back: ConfigChange) {
        self.lock().push(Heal::Properties { broker, back });
    }

    /// To be called before links are cut.
    pub(super) fn before_cut(&self, from: BrokerId, to: &[BrokerId]) {
        self.lock().extend(to.iter().map(|to| Heal::MendLink { from, to: *to }));
    }

    /// To be called when links are whole again.
    pub(super) fn mended(&self, from: BrokerId, to: &[BrokerId]) {
        self.lock().retain(|heal| !to.iter().any(|to| *heal == Heal::MendLink { from, to: *to }));
    }

    fn latest(&self) -> Option<Heal> {
        self.lock().last().cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Heal>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks a broker to take its properties back; one that is just coming up is waited for.
async fn give_back(cluster: &dyn Cluster, clock: &Clock, broker: BrokerId, back: &ConfigChange) -> Result<(), AdminError> {
    let listener = client_listener_of(cluster, broker).ok_or(AdminError::NoBootstrap)?;
    let client = cluster.access().clients.named(ADMIN_CLIENT_ID);
    Admin::new(vec![listener.clone()], client, clock.clone()).alter_broker_configs(broker, listener, back).await
}

fn undoing(act: NodeAct, node: BrokerId) -> Option<Heal> {
    match act {
        NodeAct::Pause => Some(Heal::Unpause(node)),
        NodeAct::Kill | NodeAct::Stop(_) => Some(Heal::Start(node)),
        NodeAct::Disconnect => Some(Heal::Connect(node)),
        NodeAct::Limit(_) => Some(Heal::Limits(node)),
        NodeAct::Start | NodeAct::Unpause | NodeAct::Connect | NodeAct::Add => None,
    }
}
