//! Kafka nodes in containers: up, ready, down, and what can be done to one node.
//!
//! [`Cluster`] is what `fault`, `run` and later engines see. Not here: when a fault happens (`fault`), what it costs (`analyze`).
//!
//! ```text
//! docker (up, attach, one node, logs) -> ready
//!    |                                     \-> kafka::admin
//!    |-> properties, ports, subnet, image, labels, owner      what is made, and how it is found again
//!    |-> remove <- janitor                            the end: orderly, by last resort, or at the next start
//!    |-> security                                     certificates and passwords, if the plan asks for them
//!    |-> relay                                        what stands between clients and brokers, if the plan hurts that link
//!    |-> guest                                        a container of clients beside the nodes
//!    \-> daemon, inventory                            the engine, and what of ours it holds
//! ```

pub mod daemon;
pub mod docker;
mod error;
#[cfg(test)]
mod fake;
pub mod guest;
pub mod image;
pub mod inventory;
pub mod janitor;
pub mod java_image;
pub mod labels;
mod limits;
pub mod owner;
pub mod ports;
mod progress;
mod properties;
mod ready;
pub mod relay;
pub mod remove;
mod security;
mod subnet;

pub use docker::{DockerCluster, RequestCounts, SavedLog, SavedLogs, UpOptions};
pub use error::ClusterError;
pub use guest::GuestHost;
pub use labels::RunId;
pub use limits::Limits;
pub use progress::{Progress, ProgressFn};
pub(crate) use properties::ports_wanted;
pub use relay::{LOOKER, Relay};
pub use security::{Access, AccessParts};

use std::fmt::Debug;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::ids::{BrokerId, HostPort};

/// A node of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// `node.id`.
    pub id: BrokerId,
    /// Whether it is a broker.
    pub is_broker: bool,
    /// Whether it votes in the metadata quorum.
    pub is_controller: bool,
    /// The listener that clients on this machine use; `None` for a dedicated controller.
    pub client_listener: Option<HostPort>,
    /// Where the load's clients reach it, if the relay stands between: what the broker advertises.
    pub relay_listener: Option<HostPort>,
    /// The controller's listener as published to this machine; `None` for a node that is broker only.
    pub controller_listener: Option<SocketAddr>,
    /// It is no part of the cluster before a step adds it ([`NodeState::NotStarted`]): until then nobody may expect anything of it.
    pub joins_later: bool,
}

/// What the container engine says of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Its process runs.
    Running,
    /// Its process is frozen, on its network or off it.
    Paused,
    /// Its process has ended.
    Exited {
        /// With this code (137 after SIGKILL, 143 after SIGTERM).
        code: i64,
    },
    /// Its process runs, but is on no network.
    Disconnected,
    /// Its process has never run: a broker that a step will add.
    NotStarted,
    /// There is no such container.
    Absent,
}

/// What a node has used so far; `None` where nobody can tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeUsage {
    /// CPU time since the node was started.
    pub cpu_us_total: Option<u64>,
    /// Resident memory of its process; where only the container engine can tell, that of its control group without file pages that
    /// could be dropped at once.
    pub memory_bytes: Option<u64>,
    /// Bytes received since the cluster was made.
    pub rx_bytes_total: Option<u64>,
    /// Bytes sent since the cluster was made.
    pub tx_bytes_total: Option<u64>,
}

/// A cluster whose nodes can be hurt and healed one by one. Every action returns when the engine has acknowledged it; whether it took
/// effect is asked with [`Cluster::state`].
pub trait Cluster: Debug + Send + Sync {
    /// Its nodes, by id; those that steps add are among them from the start.
    fn nodes(&self) -> &[Node];
    /// SIGKILL to a node's process.
    fn kill(&self, node: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>>;
    /// SIGTERM, then SIGKILL after `grace`; returns when the process has ended.
    fn stop(&self, node: BrokerId, grace: Duration) -> BoxFuture<'_, Result<(), ClusterError>>;
    /// Starts a node that has ended, or has never run.
    fn start(&self, node: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>>;
    /// Freezes a node's processes.
    fn pause(&self, node: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>>;
    /// Thaws them.
    fn unpause(&self, node: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>>;
    /// Takes a node off its network: its processes go on, and nobody reaches them.
    fn disconnect(&self, node: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>>;
    /// Brings it back onto its network, under the same address and name.
    fn connect(&self, node: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>>;
    /// Whether a node is on its network, whatever its process does.
    fn is_connected(&self, node: BrokerId) -> BoxFuture<'_, Result<bool, ClusterError>>;
    /// What nodes may use from their start.
    fn usual_limits(&self) -> Limits;
    /// What the engine lets a node use now.
    fn limits(&self, node: BrokerId) -> BoxFuture<'_, Result<Limits, ClusterError>>;
    /// Lets a node use so much from now on, whatever its process does.
    fn limit(&self, node: BrokerId, limits: Limits) -> BoxFuture<'_, Result<(), ClusterError>>;
    /// What the engine says of a node now.
    fn state(&self, node: BrokerId) -> BoxFuture<'_, Result<NodeState, ClusterError>>;
    /// Lets a node's machine drop all that it sends to these others, on open connections too.
    fn cut_links<'a>(&'a self, from: BrokerId, to: &'a [BrokerId]) -> BoxFuture<'a, Result<(), ClusterError>>;
    /// Lets it send to them again; those that it was not cut off from are left alone.
    fn mend_links<'a>(&'a self, from: BrokerId, to: &'a [BrokerId]) -> BoxFuture<'a, Result<(), ClusterError>>;
    /// The nodes that a node's machine drops all for, by its kernel's word.
    fn links_cut(&self, from: BrokerId) -> BoxFuture<'_, Result<Vec<BrokerId>, ClusterError>>;
    /// What stands between clients and brokers, if anything does.
    fn relay(&self) -> Option<&Relay>;
    /// How clients of this machine get in.
    fn access(&self) -> Access {
        Access::default()
    }
    /// What a node has used so far.
    fn usage(&self, node: BrokerId) -> BoxFuture<'_, Result<NodeUsage, ClusterError>>;
    /// A node's log (standard output and error) since its container was made.
    fn logs(&self, node: BrokerId) -> BoxFuture<'_, Result<Vec<u8>, ClusterError>>;
}
