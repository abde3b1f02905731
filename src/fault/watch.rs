//! Eyes: looks at a cluster from outside, again and again until something shows or time is up.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all, select_ok};
use tokio::time::{sleep_until, timeout_at};

use crate::clock::{Clock, Moment};
use crate::cluster::{Cluster, ClusterError, Node, NodeState};
use crate::ids::{BrokerId, HostPort};
use crate::kafka::admin::{Admin, AdminError, ClusterView, QuorumView};

/// A look that took long is followed by a pause so many times as long at least: watching must not become the load.
const PAUSE_PER_LOOK: u32 = 1;
/// Longest pause between two looks.
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// What one look showed.
#[derive(Debug)]
pub(super) enum Look<T> {
    /// It is there.
    Seen(T),
    /// Not yet, and why.
    NotYet(String),
    /// It will not come, and why.
    Never(String),
}

/// Looks at one cluster.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    pub(super) cluster: Arc<dyn Cluster>,
    /// Asks once and gives up fast.
    pub(super) probe: Arc<Admin>,
    pub(super) clock: Clock,
}

impl Watch {
    /// Looks until something is seen: what, and the end of the look that showed it. Else why not.
    pub(super) async fn until<T, F, L>(&self, every: Duration, within: Duration, mut look: F) -> Result<(Moment, T), String>
    where
        F: FnMut() -> L,
        L: Future<Output = Look<T>>,
    {
        let give_up_at = self.clock.now() + within;
        let mut why = "the first look did not end".to_owned();
        loop {
            let began = self.clock.now();
            match timeout_at(self.clock.instant_of(give_up_at), look()).await {
                Ok(Look::Seen(what)) => return Ok((self.clock.now(), what)),
                Ok(Look::Never(reason)) => return Err(reason),
                Ok(Look::NotYet(reason)) => why = reason,
                Err(_) => return Err(why),
            }
            let now = self.clock.now();
            if now >= give_up_at {
                return Err(why);
            }
            let pause = (now.since(began) * PAUSE_PER_LOOK).clamp(every, PAUSE_MAX.max(every));
            sleep_until(self.clock.instant_of((now + pause).min(give_up_at))).await;
        }
    }

    /// Nodes with what the engine says of them.
    pub(super) async fn states(&self) -> Result<Vec<(&Node, NodeState)>, ClusterError> {
        states(&*self.cluster).await
    }

    /// Nodes that the engine says are running.
    pub(super) async fn running(&self) -> Result<Vec<&Node>, ClusterError> {
        running(&*self.cluster).await
    }

    /// Running brokers with the listener to ask them at.
    pub(super) async fn running_brokers(&self) -> Result<Vec<(BrokerId, &HostPort)>, ClusterError> {
        running_brokers(&*self.cluster).await
    }

    /// The view of all topics of whichever broker answers first.
    pub(super) async fn any_view(&self, brokers: &[(BrokerId, &HostPort)]) -> Option<ClusterView> {
        first_answer(brokers.iter().map(|(_, listener)| Box::pin(self.probe.metadata_of(listener, None)) as BoxFuture<'_, _>)).await
    }

    /// The quorum, through whichever broker answers first.
    pub(super) async fn any_quorum(&self, brokers: &[(BrokerId, &HostPort)]) -> Option<QuorumView> {
        first_answer(brokers.iter().map(|(_, listener)| Box::pin(self.probe.quorum_of(listener)) as BoxFuture<'_, _>)).await
    }
}

async fn states(cluster: &dyn Cluster) -> Result<Vec<(&Node, NodeState)>, ClusterError> {
    let nodes = cluster.nodes();
    let states = join_all(nodes.iter().map(|node| cluster.state(node.id))).await;
    nodes.iter().zip(states).map(|(node, state)| Ok((node, state?))).collect()
}

async fn running(cluster: &dyn Cluster) -> Result<Vec<&Node>, ClusterError> {
    let states = states(cluster).await?;
    Ok(states.into_iter().filter(|(_, state)| *state == NodeState::Running).map(|(node, _)| node).collect())
}

/// Running brokers of a cluster with the listener to ask them at.
pub(super) async fn running_brokers(cluster: &dyn Cluster) -> Result<Vec<(BrokerId, &HostPort)>, ClusterError> {
    let running = running(cluster).await?;
    Ok(running.into_iter().filter_map(|node| Some((node.id, node.client_listener.as_ref()?))).collect())
}

async fn first_answer<'a, T>(questions: impl Iterator<Item = BoxFuture<'a, Result<T, AdminError>>>) -> Option<T> {
    let questions: Vec<_> = questions.collect();
    if questions.is_empty() {
        return None;
    }
    select_ok(questions).await.ok().map(|(answer, _)| answer)
}
