//! What a cluster's start says while it goes on. Shown by `ui` and `cli`; carries no decisions.

use std::fmt;
use std::time::Duration;

use crate::ids::BrokerId;

/// Told each step of a start.
pub type ProgressFn = dyn Fn(Progress) + Send + Sync;

/// A step of a cluster's start.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Clusters whose owner is dead were removed first.
    Swept {
        /// Their runs.
        runs: Vec<String>,
    },
    /// Of a cluster whose owner is dead something could not be removed.
    NotSwept {
        /// Its run.
        run: String,
        /// Why.
        message: String,
    },
    /// The image is not here and is being pulled.
    Pulling {
        /// Its name.
        image: String,
    },
    /// The ports of 127.0.0.1 that the cluster will use are chosen; nothing has them yet.
    PortsChosen {
        /// All of them.
        ports: Vec<u16>,
    },
    /// Another program was faster; other ports are tried.
    PortsTaken {
        /// What the engine or the node said.
        message: String,
    },
    /// A node's container was started.
    Started {
        /// The node.
        node: BrokerId,
    },
    /// Nodes run; this is still missing before the cluster is ready.
    Waiting {
        /// In words.
        missing: String,
    },
    /// A kept cluster was found that fits.
    Attached {
        /// Its run.
        run: String,
    },
    /// The cluster is ready.
    Ready {
        /// Time since the first container was made (for an attached cluster: since it was found).
        after: Duration,
    },
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Swept { runs } => write!(f, "removed what dead runs had left: {}", runs.join(", ")),
            Self::NotSwept { run, message } => write!(f, "what a dead run had left is still there, {run}: {message}"),
            Self::Pulling { image } => write!(f, "pulling {image}"),
            Self::PortsChosen { ports } => {
                write!(f, "ports {}", ports.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
            }
            Self::PortsTaken { message } => write!(f, "a port was taken, trying others ({message})"),
            Self::Started { node } => write!(f, "node {node} started"),
            Self::Waiting { missing } => write!(f, "waiting: {missing}"),
            Self::Attached { run } => write!(f, "using the kept cluster {run}"),
            Self::Ready { after } => write!(f, "ready after {:.1} s", after.as_secs_f64()),
        }
    }
}
