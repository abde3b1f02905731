//! Why a run could not be carried through.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crate::cluster::ClusterError;
use crate::engine::EngineError;
use crate::kafka::admin::AdminError;
use crate::record::error::RecordError;

/// Why a run could not be carried through. What it measured is not among these: failed records, steps and expectations are results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The cluster could not be started, used or removed.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// A group could not be started, or has failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The plan's topics could not be made.
    #[error("the plan's topics could not be made: {0}")]
    Topics(#[source] AdminError),
    /// Not every broker knew and served the topics in time, or had forgotten those that were deleted.
    #[error("the brokers did not agree on the plan's topics within {} s: {problem}", within.as_secs())]
    TopicsNotAgreed {
        /// The bound.
        within: Duration,
        /// What was missing last.
        problem: String,
    },
    /// The results could not be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The address for metrics cannot be had.
    #[error(
        "cannot serve metrics at {address}: {source}\n  choose another port, such as --metrics=127.0.0.1:9465; port 0 takes one that is free"
    )]
    Metrics {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// A thread or its runtime could not be made.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// A task or thread panicked.
    #[error("internal error, please report it: {0}")]
    Panicked(String),
}

impl RunError {
    /// Whether the plan or an argument is at fault, as opposed to the environment (exit codes 2 and 3).
    #[must_use]
    pub fn is_request_fault(&self) -> bool {
        match self {
            Self::Cluster(error) => error.is_request_fault(),
            Self::Engine(error) => error.is_plan_fault(),
            Self::Record(RecordError::FolderInUse { .. }) => true,
            _ => false,
        }
    }
}
