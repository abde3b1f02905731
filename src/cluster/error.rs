//! What can go wrong with a cluster, told so that a person knows what to do next.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use crate::ids::BrokerId;

/// What can go wrong with a cluster. All are the environment's fault (exit code 3) unless a variant says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The cluster has no such node.
    #[error("the cluster has no node {0}")]
    NoSuchNode(BrokerId),
    /// No container engine answers.
    #[error(
        "no container engine answers at {address}: {reason}\n  start it (systemctl start docker), or let DOCKER_HOST name another one; \
         `chaos doctor` checks the rest"
    )]
    EngineUnreachable {
        /// Where it was looked for.
        address: String,
        /// The root of what the attempt said.
        reason: String,
    },
    /// The engine answered a request with an error.
    #[error("the container engine could not {doing}: {}", root_of(source.as_ref()))]
    Engine {
        /// The request, as it reads after "could not".
        doing: String,
        /// The engine's answer.
        source: Box<bollard::errors::Error>,
    },
    /// The engine did not answer a request in time.
    #[error("the container engine did not {doing} within {} s; `chaos doctor` shows whether it still answers", within.as_secs())]
    EngineTooSlow {
        /// The request, as it reads after "did not".
        doing: String,
        /// The bound that passed.
        within: Duration,
    },
    /// An action on a node that its present state does not allow, or that would change nothing.
    #[error("node {node} cannot be {action}: {because}")]
    Refused {
        /// Which node.
        node: BrokerId,
        /// What was asked, as a participle ("killed").
        action: &'static str,
        /// The reason.
        because: String,
    },
    /// A command inside a node's network failed.
    #[error("`{command}` failed beside node {node} with code {code}: {}", said.trim())]
    CommandFailed {
        /// Beside which node.
        node: BrokerId,
        /// The command.
        command: String,
        /// Its exit code.
        code: i64,
        /// What it printed.
        said: String,
    },
    /// There is no image of this Kafka version and no way to get one.
    #[error(
        "there is no image of Kafka {version}: neither apache/kafka:{version} nor chaos-kafka:{version} is here, and pulling failed \
         ({reason})\n  build one with: make image KAFKA={version}"
    )]
    ImageMissing {
        /// Kafka's version.
        version: String,
        /// Why the pull failed.
        reason: String,
    },
    /// Too few free ports in the range that clusters may use.
    #[error(
        "{wanted} free ports are needed on 127.0.0.1 between {first} and {last}, and only {found} are there\n  `chaos clean` removes \
         clusters that were left over; `chaos cluster status` lists those that run"
    )]
    NoFreePorts {
        /// How many are needed.
        wanted: usize,
        /// How many were found.
        found: usize,
        /// First port of the range.
        first: u16,
        /// Last port of the range.
        last: u16,
    },
    /// The engine gave the run's network too few addresses.
    #[error(
        "the container engine gave the network {network} the addresses {subnets}, and a cluster needs an IPv4 network of 24 bits or wider\n  \
         set `default-address-pools` in the engine's configuration"
    )]
    TooFewAddresses {
        /// The network.
        network: String,
        /// What it was given.
        subnets: String,
    },
    /// Other programs took the chosen ports each time before the engine could.
    #[error("the ports chosen for the cluster were taken by another program {attempts} times in a row; the last time: {message}")]
    PortsTaken {
        /// How often other ports were tried.
        attempts: u32,
        /// What the engine or the node said.
        message: String,
    },
    /// The relay between clients and brokers could not be started.
    #[error("the relay between clients and brokers cannot be started: {source}")]
    Relay {
        /// What the system said.
        source: std::io::Error,
    },
    /// A node ended while the cluster was starting.
    #[error("node {node} ended with code {code} while the cluster was starting; it said:\n{log}")]
    NodeEnded {
        /// Which node.
        node: BrokerId,
        /// Its exit code (137 without a SIGKILL of ours: the memory limit).
        code: i64,
        /// What its log tells, indented.
        log: String,
    },
    /// The cluster did not become ready in time.
    #[error("the cluster was not ready within {} s: {missing}\nthe nodes said:\n{log}", within.as_secs())]
    NotReady {
        /// The bound that passed.
        within: Duration,
        /// What was still missing.
        missing: String,
        /// What the nodes' logs tell, indented.
        log: String,
    },
    /// The plan sets a property that the cluster's own wiring depends on. The plan's fault: exit code 2.
    #[error("the property `{name}` cannot be set by a plan: chaos wires the nodes together with it; remove it from [cluster] config")]
    ReservedProperty {
        /// The property.
        name: String,
    },
    /// A cluster without brokers or controllers, or larger than the engine's names and ports allow. The plan's fault: exit code 2.
    #[error(
        "a cluster of {brokers} brokers and {controllers} controllers cannot be started: at least 1 of each, at most {max} nodes in all"
    )]
    BadLayout {
        /// Brokers asked for.
        brokers: usize,
        /// Controllers asked for.
        controllers: usize,
        /// The bound on all nodes.
        max: usize,
    },
    /// Something already carries this run's id. The caller's fault: exit code 2.
    #[error("there is already a cluster of run {0}; remove it with: chaos cluster down {0}")]
    RunExists(String),
    /// A run's id that cannot be part of host names. The caller's fault: exit code 2.
    #[error("`{0}` cannot name a run: 1 to 40 of a-z, 0-9 and -, beginning and ending with a letter or digit")]
    BadRunId(String),
    /// A cluster that brokers may have joined was to serve one more run. The caller's fault: exit code 2.
    #[error("brokers may have joined the cluster {0} since its start, so it cannot be made as it was: each run needs one of its own")]
    NotAsStarted(String),
    /// Certificates or a password that the cluster needs are not to be had.
    #[error("the cluster's {what} cannot be had: {reason}")]
    Secret {
        /// Which.
        what: &'static str,
        /// Why not.
        reason: String,
    },
    /// A cluster was to be kept whose secrets go with this process. The caller's fault: exit code 2.
    #[error("a cluster with [cluster.security] cannot be kept: its passwords and keys are nowhere but in the process that starts it")]
    SecuredCannotStay,
    /// A file of this machine that the cluster needs could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Containers of a run lack labels that this version of chaos writes.
    #[error(
        "container {container} carries the label of run {run}, but its label {label} is missing or unreadable; remove it with: chaos cluster down {run}"
    )]
    BadLabels {
        /// The run.
        run: String,
        /// Its container.
        container: String,
        /// The label that cannot be read.
        label: &'static str,
    },
    /// Something was still there after the last attempt to remove it.
    #[error("not all of run {run} could be removed within {} s: {left}\n  try again with: chaos cluster down {run}", within.as_secs())]
    NotRemoved {
        /// The run.
        run: String,
        /// What is left.
        left: String,
        /// The bound that passed.
        within: Duration,
    },
}

/// What is at the root of an error: HTTP clients say no more than "client error" at the top.
pub(super) fn root_of(error: &(dyn Error + 'static)) -> String {
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    root.to_string()
}

impl ClusterError {
    /// Whether what was asked for can never work, as opposed to an environment that does not allow it now (exit codes 2 and 3).
    #[must_use]
    pub fn is_request_fault(&self) -> bool {
        matches!(
            self,
            Self::ReservedProperty { .. }
                | Self::BadLayout { .. }
                | Self::BadRunId(_)
                | Self::RunExists(_)
                | Self::NotAsStarted(_)
                | Self::SecuredCannotStay
        )
    }
}
