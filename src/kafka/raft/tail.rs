//! The tail's task: moves requests and answers between the machine and the controllers.
//!
//! Controllers are known by the addresses that are handed in: those that they tell of each other are often out of reach from here. Every
//! question has a bound. Not here: what to ask, and what an answer means (`machine`).

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kafka_protocol::messages::{FetchRequest, FetchSnapshotRequest};
use kafka_protocol::protocol::Request;
use tokio::task::JoinHandle;

use super::event::TailObserver;
use super::fetch::{
    FetchAnswer, FetchAsk, SnapshotAnswer, SnapshotAsk, WAIT, fetch_answer, fetch_request, snapshot_answer, snapshot_request,
};
use super::ledger::Skipped;
use super::machine::{Ask, Machine};
use super::search::{Heard, Search, Times};
use crate::clock::{Clock, Moment};
use crate::ids::HostPort;
use crate::kafka::admin::Admin;
use crate::kafka::net::rpc::Rpc;
use crate::kafka::net::security::Identity;
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
    /// Who asks.
    pub client: Identity,
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

    /// What was passed over of the log, as it was last read from its beginning or a snapshot.
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

/// The task.
struct Follower {
    config: Arc<TailConfig>,
    machine: Machine,
    asker: Asker,
    clock: Clock,
    observer: Arc<dyn TailObserver>,
    skipped: Arc<Mutex<Skipped>>,
    admin: Arc<Admin>,
    /// Asks, beside the requests to the controller that is followed, whether another leads.
    around: Option<Search>,
}

impl Follower {
    fn new(config: TailConfig, clock: Clock, traffic: Traffic, observer: Arc<dyn TailObserver>, skipped: Arc<Mutex<Skipped>>) -> Self {
        // Only controllers that are named are asked, so there is no bootstrap list.
        let admin =
            Admin::new(Vec::new(), config.client.clone(), clock.clone()).with_call_timeout(ANSWER_WITHIN).with_traffic(traffic.clone());
        let machine = Machine::new(config.controllers.len(), config.tells_history, clock.now());
        let config = Arc::new(config);
        let asker = Asker { config: Arc::clone(&config), clock: clock.clone(), traffic, connection: None };
        Self { config, machine, asker, clock, observer, skipped, admin: Arc::new(admin), around: None }
    }

    async fn run(mut self) {
        if self.config.controllers.is_empty() {
            return self.machine.lost(self.clock.now(), "no controller's address is known", &*self.observer);
        }
        loop {
            match self.machine.next(self.clock.now()) {
                Ask::Pause(until) => tokio::time::sleep_until(self.clock.instant_of(until)).await,
                Ask::Look => self.look().await,
                Ask::Fetch(address, ask) => self.fetch(address, &ask).await,
                Ask::Snapshot(address, ask) => match self.asker.fetch_snapshot(address, &ask).await {
                    Ok(answer) => self.machine.snapshot_fetched(self.clock.now(), &answer, &*self.observer),
                    Err(why) => self.give_up(&why),
                },
            }
        }
    }

    /// Asks all controllers who leads, until one is found to.
    async fn look(&mut self) {
        self.around = None;
        let mut search = Search::start(&self.config.controllers, Times::Again, &self.admin, &self.clock);
        while let Ask::Look = self.machine.next(self.clock.now()) {
            let Some(heard) = search.next().await else { return };
            hear(&mut self.machine, heard, &self.config, self.clock.now(), &*self.observer);
        }
    }

    async fn fetch(&mut self, address: usize, ask: &FetchAsk) {
        if self.machine.looks_around(self.clock.now()) {
            self.around = Some(Search::start(&self.config.controllers, Times::Once, &self.admin, &self.clock));
        }
        match self.fetch_or_switch(address, ask).await {
            Some(Ok(answer)) => self.machine.fetched(self.clock.now(), answer, &*self.observer),
            Some(Err(why)) => self.give_up(&why),
            None => {}
        }
        self.skipped.lock().unwrap_or_else(PoisonError::into_inner).clone_from(self.machine.skipped());
    }

    /// The answer; `None`: another controller is followed by now, so the request was cut off.
    async fn fetch_or_switch(&mut self, address: usize, ask: &FetchAsk) -> Option<Result<FetchAnswer, String>> {
        let Self { machine, config, asker, clock, observer, around, .. } = self;
        let fetching = asker.fetch(address, ask);
        tokio::pin!(fetching);
        loop {
            tokio::select! {
                answer = &mut fetching => return Some(answer),
                Some(heard) = next_of(around) => {
                    hear(machine, heard, config, clock.now(), &**observer);
                    if !machine.still_fetches(address, ask.leader_epoch) {
                        return None;
                    }
                }
            }
        }
    }

    fn give_up(&mut self, why: &str) {
        self.asker.connection = None;
        self.machine.lost(self.clock.now(), why, &*self.observer);
    }
}

/// The next answer of a search, if there is one under way that has not ended.
async fn next_of(search: &mut Option<Search>) -> Option<Heard> {
    search.as_mut()?.next().await
}

fn hear(machine: &mut Machine, (place, answer): Heard, config: &TailConfig, now: Moment, observer: &dyn TailObserver) {
    match answer {
        Ok(quorum) => machine.told(now, place, quorum.leader, quorum.leader_epoch, observer),
        Err(error) => machine.heard(now, place, format!("{}: {error}", config.controllers[place]), observer),
    }
}

/// Sends requests to the controller that is followed, over one connection.
struct Asker {
    config: Arc<TailConfig>,
    clock: Clock,
    traffic: Traffic,
    /// By the place of its address in the list.
    connection: Option<(usize, Rpc)>,
}

impl Asker {
    async fn fetch(&mut self, address: usize, ask: &FetchAsk) -> Result<FetchAnswer, String> {
        let rpc = self.connected(address).await?;
        let version = version_of::<FetchRequest>(rpc, FETCH_VERSION_MIN)?;
        let answer =
            rpc.call_version(&fetch_request(ask, version), version, WAIT + ANSWER_WITHIN).await.map_err(|error| error.to_string())?;
        fetch_answer(answer).ok_or_else(|| "an answer to Fetch is without the controller's log".to_owned())
    }

    async fn fetch_snapshot(&mut self, address: usize, ask: &SnapshotAsk) -> Result<SnapshotAnswer, String> {
        let rpc = self.connected(address).await?;
        let version = version_of::<FetchSnapshotRequest>(rpc, 0)?;
        let answer = rpc.call_version(&snapshot_request(ask), version, WAIT + ANSWER_WITHIN).await.map_err(|error| error.to_string())?;
        snapshot_answer(answer).ok_or_else(|| "an answer to FetchSnapshot is without the controller's log".to_owned())
    }

    /// The connection to a controller, made if there is none.
    async fn connected(&mut self, address: usize) -> Result<&mut Rpc, String> {
        let kept = self.connection.take().and_then(|(to, mut rpc)| (to == address && rpc.is_usable()).then_some((to, rpc)));
        let connection = match kept {
            Some(kept) => kept,
            None => {
                let to = &self.config.controllers[address];
                let connecting = Rpc::connect(to, &self.config.client, ANSWER_WITHIN, &self.clock, &self.traffic);
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
