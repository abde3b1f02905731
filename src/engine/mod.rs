//! Which client makes a group's load, and the group's figures.
//!
//! An [`Engine`] starts a whole producer group and hands back a [`GroupHandle`]; whatever the group does and meets goes to the run's
//! [`FactSink`]. Not here: when records are due and what they hold (`load`), what facts mean (`analyze`). Called by `run` alone.

mod apart;
pub mod consumers;
pub mod generator;
mod group;
pub mod java;
#[cfg(feature = "librdkafka")]
pub mod librdkafka;
pub mod native;
pub mod recorder;
pub mod registry;
pub mod requesters;
mod schedule;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::audit::Ledger;
use crate::clock::{Clock, Moment};
use crate::cluster::{Access, ClusterError, GuestHost};
use crate::engine::generator::Generator;
use crate::ids::HostPort;
use crate::kafka::net::security::Security;
use crate::plan::model::ProducerGroup;
use crate::record::sink::FactSink;

/// Records that a sender hands over between two looks at the clock: at a microsecond or less each, their times stay right to a few
/// microseconds.
pub const RECORDS_PER_LOOK: usize = 16;

/// Such bursts between two turns for the other tasks of a sender's thread: some 100 us, so that giving way (two system calls) costs little.
pub const BURSTS_PER_TURN: usize = 32;

/// What an engine needs to know of the run; the same for all groups.
#[derive(Clone, Debug)]
pub struct EngineContext {
    /// The run's clock.
    pub clock: Clock,
    /// Listeners of the cluster for clients; a group may have its own list instead.
    pub bootstrap: Vec<HostPort>,
    /// How they are secured.
    pub security: Security,
    /// Start of the load (of warm-up): `active` is counted from here. May lie in the future.
    pub load_start: Moment,
    /// Start of `steady`: where second 0 begins, and what facts' times count from.
    pub steady: Moment,
    /// The plan's seed.
    pub seed: u64,
    /// Where facts go.
    pub facts: FactSink,
    /// Where each record's outcome goes when its producer has ended.
    pub ledger: Arc<Ledger>,
    /// Which load-generating process this is; 0 for the only one.
    pub worker: u32,
    /// Where senders tell how late they were; one for all groups.
    pub generator: Arc<Generator>,
}

/// What an engine may use before the load's start is settled.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The run's clock.
    pub clock: Clock,
    /// Listeners of the cluster for clients; a group may have its own list instead.
    pub bootstrap: Vec<HostPort>,
    /// How clients of other programs get in.
    pub access: Access,
    /// The plan's seed.
    pub seed: u64,
    /// The cluster's version of Kafka.
    pub kafka: String,
    /// Where containers of clients are made.
    pub guests: GuestHost,
}

/// A kind of client that can make a group's load.
pub trait Engine: Debug + Send + Sync {
    /// Checks a group's configuration without starting anything. `Ok` holds remarks for the reader: configured keys without effect.
    ///
    /// # Errors
    /// When the group could not be started with this configuration.
    fn check(&self, group: &ProducerGroup) -> Result<Vec<String>, EngineError>;

    /// Version of the client, for the run's file; `None`: it is this project's own.
    fn version(&self) -> Option<String>;

    /// Does for a group what takes its time, before the load's start is settled. Nothing is sent yet. May be dropped half-way.
    ///
    /// # Errors
    /// The client refuses the group, or the environment lacks something.
    fn prepare<'a>(&'a self, group: &'a ProducerGroup, stage: &'a Stage) -> BoxFuture<'a, Result<(), EngineError>> {
        let _ = (group, stage);
        Box::pin(std::future::ready(Ok(())))
    }

    /// Starts a group: it sends from `context.load_start + active.from` on, until `active.until` or [`GroupHandle::stop_sending`]. To be
    /// called inside a tokio runtime, in which the group lives.
    fn start<'a>(
        &'a self,
        group: &'a ProducerGroup,
        context: &'a EngineContext,
    ) -> BoxFuture<'a, Result<Box<dyn GroupHandle>, EngineError>>;
}

/// A group that runs. Dropping it without [`GroupHandle::finish`] ends its tasks at once and tells nothing more.
pub trait GroupHandle: Debug + Send + Sync {
    /// No record is due at or after `end`, which may be now or in the future. Records that are due before it are still handed over. Of
    /// several calls the earliest moment holds.
    fn stop_sending(&self, end: Moment);

    /// Waits, at most `drain`, until all due records are handed over and their outcomes are known; then closes every client and tells
    /// what is left to tell (open gaps, runs of acknowledgements, totals). Implies `stop_sending(now)`; clients in another process stop when they
    /// hear of it.
    fn finish(self: Box<Self>, drain: Duration) -> BoxFuture<'static, ()>;

    /// Resolves if the group can go on no longer and its figures are worth nothing, also while it finishes. To be asked once.
    fn failed(&self) -> BoxFuture<'static, EngineError> {
        Box::pin(std::future::pending())
    }
}

/// Why a group could not be started. Always the plan's fault (exit code 2) unless a variant says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The client refused the group's configuration.
    #[error("producers `{group}`: {source}")]
    Config {
        /// The group's name.
        group: String,
        /// The client's own words.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A thread could not be started. Not the plan's fault: the environment's (exit code 3).
    #[error("producers `{group}`: cannot start a thread: {source}")]
    Thread {
        /// The group's name.
        group: String,
        /// The system's words.
        source: std::io::Error,
    },
    /// This build has no such engine. Not the plan's fault: the environment's (exit code 3).
    #[error("engine `{engine}` is not available: {hint}")]
    NotAvailable {
        /// The engine's name in plans.
        engine: &'static str,
        /// Why, and what to do.
        hint: &'static str,
    },
    /// The image of the clients' program is not here, or from other sources. The environment's fault (exit code 3).
    #[error("producers `{group}`: the image {image} of the Java program {state}; build it with: {mend}")]
    ImageMissing {
        /// The group's name.
        group: String,
        /// The image.
        image: String,
        /// What is wrong with it, as it reads after its name.
        state: &'static str,
        /// The command that mends it.
        mend: String,
    },
    /// The container engine. Its fault, or the environment's (exit code 3).
    #[error("producers `{group}`: {source}")]
    Container {
        /// The group's name.
        group: String,
        /// What it said.
        source: ClusterError,
    },
    /// The process of a group's clients has failed. The environment's fault (exit code 3).
    #[error("producers `{group}`: {source}")]
    Process {
        /// The group's name.
        group: String,
        /// How.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl EngineError {
    /// Whether the plan is at fault, as opposed to the environment (exit codes 2 and 3).
    #[must_use]
    pub fn is_plan_fault(&self) -> bool {
        matches!(self, Self::Config { .. })
    }
}
