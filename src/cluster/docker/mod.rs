//! A cluster in containers of the local engine.
//!
//! `up` makes it, `attach` finds a kept one, `container` says what a node's container is, `logs` reads what nodes have printed, `requests` counts in it,
//! `usage` what they use, `limit` lets them use less, `network` joins them, `links` cuts them off from each other; here is what can be done to a node, and the end. Owned
//! by `run`; others see it as [`Cluster`].
//!
//! ```text
//! let cluster = DockerCluster::up(..).await?;      // cancelled or failed: leaves nothing
//! ... work, raced against SIGINT and SIGTERM ...
//! cluster.down().await?;                           // the orderly end; a drop without it removes the cluster too, but blocks
//! ```

mod attach;
mod container;
mod limit;
mod links;
mod logs;
mod network;
mod process;
mod requests;
mod up;
mod usage;

use std::time::Duration;

use bollard::errors::Error;
use bollard::models::ContainerStateStatusEnum;
use bollard::query_parameters::{InspectContainerOptions, KillContainerOptionsBuilder, StartContainerOptions, StopContainerOptionsBuilder};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use self::network::RunNetwork;
use super::daemon::{Daemon, could_not, status_of};
use super::remove::{self, Leash};
use super::{Access, Cluster, ClusterError, GuestHost, Limits, Node, NodeState, NodeUsage, Relay, RunId};
use crate::ids::{BrokerId, HostPort};

pub use logs::{SavedLog, SavedLogs};
pub use requests::RequestCounts;
pub use up::UpOptions;

/// How often a node's processes are tried to be frozen again, and the pause before each.
const FREEZE_RETRIES_MAX: u32 = 10;
const FREEZE_BACKOFF: Duration = Duration::from_millis(100);

/// A cluster in containers. Removed when it is dropped, unless it is kept.
#[derive(Debug)]
pub struct DockerCluster {
    daemon: Daemon,
    run: RunId,
    image: String,
    nodes: Vec<Node>,
    is_kept: bool,
    is_reused: bool,
    /// Memory limit of each node at its start.
    memory_bytes: u64,
    network: RunNetwork,
    relay: Option<Relay>,
    access: Access,
    leash: Leash,
}

impl DockerCluster {
    /// The run's id, which names all that belongs to it.
    #[must_use]
    pub fn run_id(&self) -> &RunId {
        &self.run
    }

    /// The image that the nodes run from.
    #[must_use]
    pub fn image(&self) -> &str {
        &self.image
    }

    /// The engine.
    #[must_use]
    pub fn daemon(&self) -> &Daemon {
        &self.daemon
    }

    /// Where containers of clients can be made that belong to this run.
    #[must_use]
    pub fn guest_host(&self) -> GuestHost {
        GuestHost::new(self.daemon.clone(), self.run.clone())
    }

    /// Whether [`Self::down`] leaves it.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Whether it was there before, so that its nodes have served others too.
    #[must_use]
    pub fn is_reused(&self) -> bool {
        self.is_reused
    }

    /// Where the load's clients enter, by broker: the relay before it, if there is one, else the broker's own listener.
    #[must_use]
    pub fn load_listeners(&self) -> Vec<(BrokerId, HostPort)> {
        let listener = |node: &Node| Some((node.id, node.relay_listener.clone().or_else(|| node.client_listener.clone())?));
        self.nodes.iter().filter(|node| !node.joins_later).filter_map(listener).collect()
    }

    /// The same, as a bootstrap list.
    #[must_use]
    pub fn load_bootstrap(&self) -> Vec<HostPort> {
        self.load_listeners().into_iter().map(|(_, listener)| listener).collect()
    }

    /// Client listeners of all brokers that it was started with, for probes and admin requests.
    #[must_use]
    pub fn bootstrap(&self) -> Vec<HostPort> {
        self.nodes.iter().filter(|node| !node.joins_later).filter_map(|node| node.client_listener.clone()).collect()
    }

    /// The orderly end: removes containers, their volumes and the network; leaves a kept cluster. Idempotent.
    ///
    /// # Errors
    /// If the engine does not answer or something cannot be removed; the last resort then stays armed.
    pub async fn down(&self) -> Result<(), ClusterError> {
        if !self.is_kept {
            remove::run(&self.daemon, self.run.as_str()).await?;
            self.leash.0.disarm();
        }
        Ok(())
    }

    /// The container of a node.
    fn container(&self, node: BrokerId) -> Result<String, ClusterError> {
        if self.nodes.iter().any(|known| known.id == node) {
            Ok(self.run.container_name(node))
        } else {
            Err(ClusterError::NoSuchNode(node))
        }
    }

    /// Refuses an action that would change nothing: the engine itself reports success for it.
    async fn refuse_if(
        &self,
        node: BrokerId,
        action: &'static str,
        no_op: fn(NodeState) -> Option<&'static str>,
    ) -> Result<(), ClusterError> {
        match no_op(self.state(node).await?) {
            Some(because) => Err(ClusterError::Refused { node, action, because: because.to_owned() }),
            None => Ok(()),
        }
    }
}

/// The engine's answer to an action on a node; what the node's state does not allow is a refusal.
/// On a busy machine the kernel does not always freeze a whole group of processes while the engine waits for it.
fn could_not_freeze(error: &Error) -> bool {
    matches!(error, Error::DockerResponseServerError { status_code: 500, message } if message.contains("unable to freeze"))
}

fn acted(node: BrokerId, action: &'static str, outcome: Result<(), Error>) -> Result<(), ClusterError> {
    match outcome {
        Err(Error::DockerResponseServerError { status_code: 409, message }) => {
            Err(ClusterError::Refused { node, action, because: message })
        }
        Err(error) if status_of(&error) == Some(404) => {
            Err(ClusterError::Refused { node, action, because: "its container is gone".to_owned() })
        }
        other => other.map_err(could_not(format!("have node {node} {action}"))),
    }
}

fn ended_already(state: NodeState) -> Option<&'static str> {
    matches!(state, NodeState::Exited { .. } | NodeState::NotStarted).then_some("it does not run")
}

fn runs_already(state: NodeState) -> Option<&'static str> {
    match state {
        NodeState::Running | NodeState::Disconnected => Some("it runs already"),
        NodeState::Paused => Some("it is paused, not ended"),
        NodeState::Exited { .. } | NodeState::NotStarted | NodeState::Absent => None,
    }
}

impl Cluster for DockerCluster {
    fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    fn kill(&self, node: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>> {
        async move {
            let options = KillContainerOptionsBuilder::new().signal("SIGKILL").build();
            acted(node, "killed", self.daemon.client().kill_container(&self.container(node)?, Some(options)).await)
        }
        .boxed()
    }

    fn stop(&self, node: BrokerId, grace: Duration) -> BoxFuture<'_, Result<(), ClusterError>> {
        async move {
            let container = self.container(node)?;
            self.refuse_if(node, "stopped", ended_already).await?;
            // The engine counts in seconds; rounded up, so that a node has at least its grace.
            let seconds = i32::try_from(grace.as_millis().div_ceil(1000)).unwrap_or(i32::MAX);
            let options = StopContainerOptionsBuilder::new().t(seconds).build();
            acted(node, "stopped", self.daemon.patient_client(grace).stop_container(&container, Some(options)).await)
        }
        .boxed()
    }

    fn start(&self, node: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>> {
        async move {
            let container = self.container(node)?;
            self.refuse_if(node, "started", runs_already).await?;
            acted(node, "started", self.daemon.client().start_container(&container, None::<StartContainerOptions>).await)
        }
        .boxed()
    }

    fn pause(&self, node: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>> {
        async move {
            let container = self.container(node)?;
            let mut outcome = self.daemon.client().pause_container(&container).await;
            for _ in 0..FREEZE_RETRIES_MAX {
                if !outcome.as_ref().is_err_and(could_not_freeze) {
                    break;
                }
                tokio::time::sleep(FREEZE_BACKOFF).await;
                outcome = self.daemon.client().pause_container(&container).await;
            }
            acted(node, "paused", outcome)
        }
        .boxed()
    }

    fn unpause(&self, node: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>> {
        async move { acted(node, "unpaused", self.daemon.client().unpause_container(&self.container(node)?).await) }.boxed()
    }

    fn disconnect(&self, node: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>> {
        self.take_off(node).boxed()
    }

    fn connect(&self, node: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>> {
        self.bring_back(node).boxed()
    }

    fn is_connected(&self, node: BrokerId) -> BoxFuture<'_, Result<bool, ClusterError>> {
        self.is_on(node).boxed()
    }

    fn usual_limits(&self) -> Limits {
        Limits { cpu_thousandths: None, memory_bytes: Some(self.memory_bytes) }
    }

    fn limits(&self, node: BrokerId) -> BoxFuture<'_, Result<Limits, ClusterError>> {
        self.read_limits(node).boxed()
    }

    fn limit(&self, node: BrokerId, limits: Limits) -> BoxFuture<'_, Result<(), ClusterError>> {
        self.set_limits(node, limits).boxed()
    }

    fn state(&self, node: BrokerId) -> BoxFuture<'_, Result<NodeState, ClusterError>> {
        async move {
            let container = self.container(node)?;
            let state = match self.daemon.client().inspect_container(&container, None::<InspectContainerOptions>).await {
                Ok(answer) => answer.state.unwrap_or_default(),
                Err(error) if status_of(&error) == Some(404) => return Ok(NodeState::Absent),
                Err(error) => return Err(could_not(format!("inspect the container {container}"))(error)),
            };
            Ok(match state.status {
                Some(ContainerStateStatusEnum::PAUSED) => NodeState::Paused,
                Some(ContainerStateStatusEnum::CREATED) => NodeState::NotStarted,
                _ if state.running == Some(true) && self.network.may_lack(node) && !self.is_on(node).await? => NodeState::Disconnected,
                _ if state.running == Some(true) => NodeState::Running,
                _ => NodeState::Exited { code: state.exit_code.unwrap_or_default() },
            })
        }
        .boxed()
    }

    fn usage(&self, node: BrokerId) -> BoxFuture<'_, Result<NodeUsage, ClusterError>> {
        self.read_usage(node).boxed()
    }

    fn relay(&self) -> Option<&Relay> {
        self.relay.as_ref()
    }

    fn access(&self) -> Access {
        self.access.clone()
    }

    fn cut_links<'a>(&'a self, from: BrokerId, to: &'a [BrokerId]) -> BoxFuture<'a, Result<(), ClusterError>> {
        self.add_black_holes(from, to).boxed()
    }

    fn mend_links<'a>(&'a self, from: BrokerId, to: &'a [BrokerId]) -> BoxFuture<'a, Result<(), ClusterError>> {
        self.remove_black_holes(from, to).boxed()
    }

    fn links_cut(&self, from: BrokerId) -> BoxFuture<'_, Result<Vec<BrokerId>, ClusterError>> {
        self.black_holes(from).boxed()
    }

    fn logs(&self, node: BrokerId) -> BoxFuture<'_, Result<Vec<u8>, ClusterError>> {
        async move { self.read_log(node, logs::Part::Last { bytes: logs::LOG_BYTES_MAX }).await.map(|log| log.bytes) }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_freeze_that_came_too_late_is_tried_again() {
        let said = "Cannot pause container c9: OCI runtime pause failed: unable to freeze: unknown";
        let error = |status_code, message: &str| Error::DockerResponseServerError { status_code, message: message.to_owned() };
        assert!(could_not_freeze(&error(500, said)));
        assert!(!could_not_freeze(&error(409, said)));
        assert!(!could_not_freeze(&error(500, "Container c9 is already paused")));
    }
}
