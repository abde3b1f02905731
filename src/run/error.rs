//! Why a run could not be carried through.

use std::path::PathBuf;
use std::time::Duration;

use crate::cluster::ClusterError;
use crate::engine::EngineError;
use crate::kafka::admin::AdminError;

/// Why a run could not be carried through. What it measured is not among these: failed records, steps and expectations are results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The cluster could not be started, used or removed.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// A group could not be started with its configuration: the plan's fault.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The plan's topics could not be made.
    #[error("the plan's topics could not be made: {0}")]
    Topics(#[source] AdminError),
    /// Not every broker knew the topics in time.
    #[error("not every broker knew the plan's topics within {} s: {problem}", within.as_secs())]
    TopicsNotKnown {
        /// The bound.
        within: Duration,
        /// What was missing last.
        problem: String,
    },
    /// The results could not be written.
    #[error("the results could not be written to {}: {source}", folder.display())]
    Results {
        /// The run's folder.
        folder: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A task or thread panicked.
    #[error("internal error, please report it: {0}")]
    Panicked(String),
}

impl RunError {
    /// Whether the plan is at fault, as opposed to the environment (exit codes 2 and 3).
    #[must_use]
    pub fn is_plan_fault(&self) -> bool {
        match self {
            Self::Cluster(error) => error.is_request_fault(),
            Self::Engine(_) => true,
            _ => false,
        }
    }
}
