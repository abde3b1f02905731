//! The tail's task: moves requests and answers between the machine and the controllers.
//!
//! Controllers are known by the addresses that are handed in: those that they tell of each other are often out of reach from here. Every
//! question has a bound. Not here: what to ask, and what an answer means (`machine`).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use kafka_protocol::messages::{FetchRequest, FetchSnapshotRequest};
use kafka_protocol::protocol::Request;
use tokio::task::JoinHandle;

use super::event::TailObserver;
use super::fetch::{
    FetchAnswer, FetchAsk, SnapshotAnswer, SnapshotAsk, WAIT, fetch_answer, fetch_request, snapshot_answer, snapshot_request,
};
use super::ledger::Skipped;
use super::machine::{Ask, Machine};
use crate::clock::Clock;
use crate::ids::HostPort;
use crate::kafka::admin::Admin;
use crate::kafka::net::rpc::Rpc;
use crate::kafka::net::traffic::Traffic;

/// Bound of one question, connecting included, beside what the other side may wait by itself.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// Fetch before this version cannot tell where logs part.
const FETCH_VERSION_MIN: i16 = 12;

/// Whom a tail follows, and what it tells.
#[derive(Clone, Debug)]
pub struct TailConfig {
    /// Where the controllers' own listeners can be reached.
    pub controllers: Vec<HostPort>,
    /// The client id of all its requests.
    pub client_id: String,
    /// Whether each record of the log is told from its beginning on; else what is there is told as one image.
    pub tells_history: bool,
}

/// A tail that runs. Ends when it is dropped.
#[derive(Debug)]
pub struct Tail {
    task: JoinHandle<()>,
    skipped: Arc<Mutex<Skipped>>,
}

impl Tail {
    /// Starts to follow. What it costs is counted in `traffic`.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use]
    pub fn start(config: TailConfig, clock: Clock, traffic: Traffic, observer: Arc<dyn TailObserver>) -> Self {
        let skipped = Arc::default();
        let follower = Follower::new(config, clock, traffic, observer, Arc::clone(&skipped));
        Self { task: tokio::spawn(follower.run()), skipped }
    }

    /// What of the log was passed over so far.
    #[must_use]
    pub fn skipped(&self) -> Skipped {
        self.skipped.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends it; when this returns, nothing more is told.
    pub async fn stop(mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Follower {
    config: TailConfig,
    clock: Clock,
    traffic: Traffic,
    observer: Arc<dyn TailObserver>,
    skipped: Arc<Mutex<Skipped>>,
    admin: Admin,
    machine: Machine,
    /// The connection to the controller that is followed, by its address's place in the list.
    connection: Option<(usize, Rpc)>,
}

impl Follower {
    fn new(config: TailConfig, clock: Clock, traffic: Traffic, observer: Arc<dyn TailObserver>, skipped: Arc<Mutex<Skipped>>) -> Self {
        // Only controllers that are named are asked, so there is no bootstrap list.
        let admin = Admin::new(Vec::new(), &config.client_id, clock.clone()).with_call_timeout(ANSWER_WITHIN).with_traffic(traffic.clone());
        let machine = Machine::new(config.tells_history, clock.now());
        Self { config, clock, traffic, observer, skipped, admin, machine, connection: None }
    }

    async fn run(mut self) {
        loop {
            match self.machine.next(self.clock.now()) {
                Ask::Pause(until) => tokio::time::sleep_until(self.clock.instant_of(until)).await,
                Ask::Look => self.look().await,
                Ask::Fetch(address, ask) => self.fetch(address, &ask).await,
                Ask::Snapshot(address, ask) => self.fetch_snapshot(address, &ask).await,
            }
        }
    }

    /// Asks all controllers at once who leads, until one is found to, or all have answered.
    async fn look(&mut self) {
        let ask = |(place, address)| {
            let admin = &self.admin;
            async move { (place, admin.quorum_of(address).await) }
        };
        let mut answers: FuturesUnordered<_> = self.config.controllers.iter().enumerate().map(ask).collect();
        let mut heard = Vec::new();
        while let Some((place, answer)) = answers.next().await {
            match answer {
                Ok(quorum) => {
                    self.machine.told(self.clock.now(), place, quorum.leader, quorum.leader_epoch, &*self.observer);
                    heard.push(format!("node {} says that it leads in epoch {}", quorum.leader, quorum.leader_epoch.0));
                }
                Err(error) => heard.push(format!("{}: {error}", self.config.controllers[place])),
            }
            if !matches!(self.machine.next(self.clock.now()), Ask::Look) {
                return;
            }
        }
        self.machine.all_told(self.clock.now(), &heard.join("; "), &*self.observer);
    }

    async fn fetch(&mut self, address: usize, ask: &FetchAsk) {
        match self.ask_fetch(address, ask).await {
            Ok(answer) => self.machine.fetched(self.clock.now(), answer, &*self.observer),
            Err(why) => self.give_up(&why),
        }
        self.skipped.lock().unwrap_or_else(PoisonError::into_inner).clone_from(self.machine.skipped());
    }

    async fn fetch_snapshot(&mut self, address: usize, ask: &SnapshotAsk) {
        match self.ask_snapshot(address, ask).await {
            Ok(answer) => self.machine.snapshot_fetched(self.clock.now(), &answer, &*self.observer),
            Err(why) => self.give_up(&why),
        }
    }

    fn give_up(&mut self, why: &str) {
        self.connection = None;
        self.machine.lost(self.clock.now(), why, &*self.observer);
    }

    async fn ask_fetch(&mut self, address: usize, ask: &FetchAsk) -> Result<FetchAnswer, String> {
        let rpc = self.connected(address).await?;
        let version = version_of::<FetchRequest>(rpc, FETCH_VERSION_MIN)?;
        let answer =
            rpc.call_version(&fetch_request(ask, version), version, WAIT + ANSWER_WITHIN).await.map_err(|error| error.to_string())?;
        fetch_answer(answer).ok_or_else(|| "an answer to Fetch is without the controller's log".to_owned())
    }

    async fn ask_snapshot(&mut self, address: usize, ask: &SnapshotAsk) -> Result<SnapshotAnswer, String> {
        let rpc = self.connected(address).await?;
        let version = version_of::<FetchSnapshotRequest>(rpc, 0)?;
        let answer = rpc.call_version(&snapshot_request(ask), version, WAIT + ANSWER_WITHIN).await.map_err(|error| error.to_string())?;
        snapshot_answer(answer).ok_or_else(|| "an answer to FetchSnapshot is without the controller's log".to_owned())
    }

    /// The connection to a controller, made if there is none.
    async fn connected(&mut self, address: usize) -> Result<&mut Rpc, String> {
        let kept = self.connection.take().filter(|(to, rpc)| *to == address && rpc.is_usable());
        let connection = match kept {
            Some(kept) => kept,
            None => {
                let to = &self.config.controllers[address];
                let connecting = Rpc::connect(to, &self.config.client_id, ANSWER_WITHIN, &self.clock, &self.traffic);
                (address, connecting.await.map_err(|error| error.to_string())?)
            }
        };
        Ok(&mut self.connection.insert(connection).1)
    }
}

/// The version that both sides know, if it is new enough.
fn version_of<R: Request>(rpc: &Rpc, least: i16) -> Result<i16, String> {
    let version = rpc.versions().highest_common::<R>().filter(|version| *version >= least);
    version.ok_or_else(|| format!("the controller has no version of request {} from {least} on that this client speaks", R::KEY))
}

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;
