//! Requests of an admin client: make, grow, move and delete topics, elect leaders, change properties; ask brokers what they believe.
//!
//! Changes go to any broker that answers (in KRaft each forwards to the active controller) and are retried while the controller moves
//! or a broker is down, within [`Admin::with_patience`]. Views of *one* broker ([`Admin::metadata_of`], [`Admin::cluster_of`],
//! [`Admin::quorum_of`], [`Admin::ends_of`], [`Admin::served_by`], [`Admin::eligible_of`], [`Admin::configs_of`],
//! [`Admin::reassigning`], [`Admin::api_versions`]) are asked once: whoever watches wants to see the failure. A [`Caller`] holds on to one listener. Answers are plain values of our own.
//!
//! Not here: the producer's own metadata (`core`). Called by `cluster`, `fault`, `probe` and `run`.

mod caller;
mod configs;
mod describe;
mod eligible;
mod error;
#[cfg(test)]
pub(crate) mod fake;
mod fetch;
mod offsets;
mod partitions;
mod requester;
mod scram;
#[cfg(test)]
mod tests;
mod topics;
mod view;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kafka_protocol::protocol::Request;

pub use caller::{Caller, MetadataAnswer};
pub use configs::{ConfigChange, ConfigResource, ConfigValue};
pub use error::{AdminError, PartitionFailure, TopicFailure};
pub use fetch::{FetchBounds, FetchFrom, Fetched};
pub use offsets::{End, InEpoch};
pub use partitions::{Election, Replicas};
pub use requester::{AnswerCounts, MetadataQuestion, MetadataRequester};
pub use topics::{NewTopic, Placement};
pub use view::{BrokerView, ClusterDescription, ClusterView, EligibleReplicas, PartitionView, QuorumView, ReplicaView, TopicView};

use super::net::rpc::Rpc;
pub use super::net::rpc::RpcError;
pub use super::net::security::{Identity, Security};
pub use super::net::traffic::{Traffic, TrafficCounts};
pub use super::wire::error::ErrorCode;
use crate::clock::{Clock, Moment};
use crate::ids::HostPort;

/// Bound of one call, connecting included, unless [`Admin::with_call_timeout`] says otherwise.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Bound of all tries of a call that is retried, unless [`Admin::with_patience`] says otherwise.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pause between two tries.
const RETRY_BACKOFF: Duration = Duration::from_millis(100);
/// Unused connections that are kept per broker.
const IDLE_MAX: usize = 2;

/// An admin client. Connects when it is used; calls may run at the same time.
#[derive(Debug)]
pub struct Admin {
    bootstrap: Vec<HostPort>,
    identity: Identity,
    clock: Clock,
    traffic: Traffic,
    call_timeout: Duration,
    patience: Duration,
    /// Index of the bootstrap address that answered last.
    preferred: AtomicUsize,
    idle: Mutex<HashMap<HostPort, Vec<Rpc>>>,
}

/// A failed try, and whether another may help.
enum Failure {
    /// Another try may help.
    Again(AdminError),
    /// It will not.
    Final(AdminError),
}

impl Admin {
    /// A client that knows these brokers. Give it a client id of its own (`chaos-admin`, `chaos-probe`), so that brokers' request logs
    /// tell its requests from producers'.
    #[must_use]
    pub fn new(bootstrap: Vec<HostPort>, client: impl Into<Identity>, clock: Clock) -> Self {
        Self {
            bootstrap,
            identity: client.into(),
            clock,
            traffic: Traffic::default(),
            call_timeout: CALL_TIMEOUT,
            patience: PATIENCE,
            preferred: AtomicUsize::new(0),
            idle: Mutex::default(),
        }
    }

    /// Sets the bound of one call (default 5 s).
    #[must_use]
    pub fn with_call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// Sets the bound of all tries of one call (default 30 s); zero: one try.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Counts what its calls cost there.
    #[must_use]
    pub fn with_traffic(mut self, traffic: Traffic) -> Self {
        self.traffic = traffic;
        self
    }

    /// Asks one broker once. A kept connection that turns out to be dead is replaced: that it died says nothing about now.
    async fn ask<R: Request>(&self, broker: &HostPort, request: &R) -> Result<R::Response, RpcError> {
        if let Some(mut kept) = self.take_idle(broker) {
            match kept.call(request, self.call_timeout).await {
                Err(RpcError::Closed { .. }) => {}
                other => return self.finish(broker, kept, other),
            }
        }
        let mut fresh = self.connect(broker).await?;
        let outcome = fresh.call(request, self.call_timeout).await;
        self.finish(broker, fresh, outcome)
    }

    /// Asks one broker once over a connection of its own, for requests that must not be sent twice unknowingly.
    async fn ask_fresh<R: Request>(&self, broker: &HostPort, request: &R) -> Result<R::Response, RpcError> {
        let mut rpc = self.connect(broker).await?;
        rpc.call(request, self.call_timeout).await
    }

    async fn connect(&self, broker: &HostPort) -> Result<Rpc, RpcError> {
        Rpc::connect(broker, &self.identity, self.call_timeout, &self.clock, &self.traffic).await
    }

    /// Asks bootstrap brokers in turn until `read` takes an answer, patience is over, or another try cannot help.
    async fn ask_any<R: Request, T>(&self, request: &R, read: impl Fn(R::Response) -> Result<T, Failure>) -> Result<T, AdminError> {
        let give_up_at = self.clock.now() + self.patience;
        let mut turn = 0;
        loop {
            let (index, broker) = self.bootstrap_at(turn).ok_or(AdminError::NoBootstrap)?;
            match self.ask(broker, request).await.map_err(Failure::from).and_then(&read) {
                Ok(answer) => {
                    self.prefer(index);
                    return Ok(answer);
                }
                Err(failure) => self.pause_before_retry(failure, give_up_at).await?,
            }
            turn += 1;
        }
    }

    fn finish<T>(&self, broker: &HostPort, mut rpc: Rpc, outcome: Result<T, RpcError>) -> Result<T, RpcError> {
        if rpc.is_usable() {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = idle.entry(broker.clone()).or_default();
            if kept.len() < IDLE_MAX {
                kept.push(rpc);
            }
        }
        outcome
    }

    fn take_idle(&self, broker: &HostPort) -> Option<Rpc> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle.get_mut(broker)?;
        std::iter::from_fn(|| kept.pop()).find_map(|mut rpc| rpc.is_usable().then_some(rpc))
    }

    /// The bootstrap address that comes `turns` after the one that answered last.
    fn bootstrap_at(&self, turns: usize) -> Option<(usize, &HostPort)> {
        let index = (self.preferred.load(Ordering::Relaxed) + turns).checked_rem(self.bootstrap.len())?;
        Some((index, &self.bootstrap[index]))
    }

    fn prefer(&self, index: usize) {
        self.preferred.store(index, Ordering::Relaxed);
    }

    /// Waits before another try; gives the failure back if there will be none.
    async fn pause_before_retry(&self, failure: Failure, give_up_at: Moment) -> Result<(), AdminError> {
        match failure {
            Failure::Again(_) if self.clock.now() + RETRY_BACKOFF < give_up_at => {
                tokio::time::sleep(RETRY_BACKOFF).await;
                Ok(())
            }
            Failure::Again(error) | Failure::Final(error) => Err(error),
        }
    }
}

impl From<RpcError> for Failure {
    fn from(error: RpcError) -> Self {
        match error {
            RpcError::Unsendable { .. } => Self::Final(error.into()),
            // Asked again with the same password, a broker gives the same answer.
            RpcError::Handshake { ref source, .. } if source.is_authentication() => Self::Final(error.into()),
            // `Unsupported` too: another broker of a mixed cluster may know the request.
            other => Self::Again(other.into()),
        }
    }
}

/// Whether the controller is moving, overloaded or out of reach, so that the same request may succeed a little later.
fn is_passing(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::NOT_LEADER_OR_FOLLOWER | ErrorCode::REQUEST_TIMED_OUT | ErrorCode::NETWORK_EXCEPTION)
        // BROKER_NOT_AVAILABLE, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_CONTROLLER, THROTTLING_QUOTA_EXCEEDED
        || matches!(code.0, 8 | 14 | 15 | 41 | 89)
}
