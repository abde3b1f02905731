//! Drives a plan's steps against a real cluster, on a real clock, and tells what happens.
//!
//! The decisions are [`Schedule`]'s; this is the shell around it. Each fired step is a task of its own, so that one can still be observed
//! while the next fires. Dropping the future of [`StepRunner::run`] stops everything at once; what is in force then, the [`Guards`] know.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::event::{Outcome, StepEvent, StepInfo};
use super::guard::Guards;
use super::inject::Hands;
use super::primitive::Primitive;
use super::schedule::{Firing, Next, Schedule};
use super::target::{self, ResolvedNode};
use super::watch::Watch;
use crate::clock::{Clock, Moment};
use crate::cluster::{Cluster, Node};
use crate::ids::{HostPort, StepNumber};
use crate::kafka::admin::Admin;
use crate::plan::model::Step;

/// Client id of changes to topics.
pub(super) const ADMIN_CLIENT_ID: &str = "chaos-admin";
/// Client id of looking.
pub(super) const PROBE_CLIENT_ID: &str = "chaos-observer";
/// Longest wait for one broker's answer when looking.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// Longest wait for a topic's change to be accepted by somebody.
const CHANGE_PATIENCE: Duration = Duration::from_secs(30);
/// Longest wait for a step to show from outside, unless [`StepRunner::with_observe_within`] says otherwise.
const OBSERVE_WITHIN: Duration = Duration::from_secs(60);
/// Reports of running steps that may wait to be read.
const REPORTS_MAX: usize = 64;
/// The generator's stream for targets, so that other users of the plan's seed draw other numbers.
const RANDOM_STREAM: u64 = 0x7461_7267;

/// Is told what happens to steps. Called from several tasks; must return at once.
pub trait StepSink: Debug + Send + Sync {
    /// Something happened.
    fn on_step(&self, event: StepEvent);
}

/// Runs steps on a cluster.
#[derive(Debug)]
pub struct StepRunner {
    seed: u64,
    crew: Crew,
}

/// What a fired step's task needs.
#[derive(Clone, Debug)]
struct Crew {
    hands: Hands,
    watch: Watch,
    clock: Clock,
    sink: Arc<dyn StepSink>,
    observe_within: Duration,
}

/// What a step's task says to the schedule.
enum Report {
    Acknowledged(StepNumber, Moment),
    Finished(StepInfo, Outcome),
}

/// What became of a plan's steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepsSummary {
    /// Steps that are not done, each fails the run. Groups are left out: their parts are here.
    pub failed: Vec<FailedStep>,
    /// Steps that did not fire because one before them failed; `rolling` and `repeat` that never began count once.
    pub dropped: usize,
    /// When the last action was acknowledged; `None`: there was none.
    pub last_acknowledged: Option<Moment>,
}

/// A step that is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedStep {
    /// Which.
    pub step: StepInfo,
    /// Why.
    pub outcome: Outcome,
}

impl StepRunner {
    /// A runner for this cluster; `seed` is the plan's.
    #[must_use]
    pub fn new(cluster: Arc<dyn Cluster>, clock: Clock, seed: u64, guards: Arc<Guards>, sink: Arc<dyn StepSink>) -> Self {
        let listeners: Vec<HostPort> =
            cluster.nodes().iter().filter(|node| !node.joins_later).filter_map(|node| node.client_listener.clone()).collect();
        let security = cluster.access().clients;
        let admin = Admin::new(listeners.clone(), security.named(ADMIN_CLIENT_ID), clock.clone()).with_patience(CHANGE_PATIENCE);
        let probe = Admin::new(listeners, security.named(PROBE_CLIENT_ID), clock.clone())
            .with_call_timeout(PROBE_TIMEOUT)
            .with_patience(Duration::ZERO);
        let watch = Watch { cluster: Arc::clone(&cluster), probe: Arc::new(probe), clock: clock.clone() };
        let hands = Hands { cluster, admin: Arc::new(admin), guards, clock: clock.clone(), gone: Arc::default() };
        Self { seed, crew: Crew { hands, watch, clock, sink, observe_within: OBSERVE_WITHIN } }
    }

    /// Sets the longest wait for a step to show from outside (default 60 s).
    #[must_use]
    pub fn with_observe_within(mut self, within: Duration) -> Self {
        self.crew.observe_within = within;
        self
    }

    /// Runs steps, whose times count from `zero`, until all are finished, observations included. After the first that is not done, no more fire.
    pub async fn run(&self, steps: &[Step], zero: Moment) -> StepsSummary {
        let brokers = self.crew.hands.cluster.nodes().iter().filter(|node| node.is_broker);
        let (joiners, brokers): (Vec<&Node>, Vec<&Node>) = brokers.partition(|node| node.joins_later);
        let ids = |nodes: Vec<&Node>| nodes.into_iter().map(|node| node.id).collect();
        let mut shift = Shift::new(self.crew.clone(), Schedule::new(steps, ids(brokers), ids(joiners), zero), self.seed);
        while shift.turn().await {}
        shift.summary.dropped = shift.schedule.dropped();
        shift.summary
    }
}

/// One run of steps.
struct Shift {
    crew: Crew,
    schedule: Schedule,
    rng: ChaCha12Rng,
    tasks: JoinSet<()>,
    reports: mpsc::Receiver<Report>,
    reporter: mpsc::Sender<Report>,
    summary: StepsSummary,
}

impl Shift {
    fn new(crew: Crew, schedule: Schedule, seed: u64) -> Self {
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        rng.set_stream(RANDOM_STREAM);
        let (reporter, reports) = mpsc::channel(REPORTS_MAX);
        Self { crew, schedule, rng, tasks: JoinSet::new(), reports, reporter, summary: StepsSummary::default() }
    }

    /// Does what the schedule says; false when all is done.
    async fn turn(&mut self) -> bool {
        match self.schedule.next(self.crew.clock.now()) {
            Next::Resolve { target, is_fault } => {
                let sight = self.crew.watch.sight(&target, is_fault).await;
                self.schedule.resolved(target::resolve(&target, &sight, &mut self.rng));
            }
            Next::Begin { step, nodes } => self.crew.requested(step, nodes),
            Next::Unresolved { step, error } => {
                let outcome = Outcome::Failed(error.to_string());
                self.crew.requested(step.clone(), vec![]);
                self.crew.finished(step.number, outcome.clone());
                self.summary.failed.push(FailedStep { step, outcome });
            }
            Next::Fire(firing) => {
                let (crew, reporter) = (self.crew.clone(), self.reporter.clone());
                self.tasks.spawn(async move { crew.perform(firing, &reporter).await });
            }
            Next::GroupAcknowledged(step) => self.crew.tell(StepEvent::Acknowledged { step, at: self.crew.clock.now() }),
            Next::GroupFinished(step, outcome) => self.crew.finished(step, outcome),
            Next::Until(moment) => {
                let due = self.crew.clock.instant_of(moment);
                // Nothing came: the step is due.
                let _ = tokio::time::timeout_at(due, self.take_report()).await;
            }
            Next::Idle => self.take_report().await,
            Next::Done => return false,
        }
        true
    }

    /// Waits for the next report of a step's task. Safe to drop while it waits.
    async fn take_report(&mut self) {
        tokio::select! {
            Some(report) = self.reports.recv() => self.heard(report),
            Some(ended) = self.tasks.join_next() => {
                if let Err(error) = ended && error.is_panic() {
                    std::panic::resume_unwind(error.into_panic());
                }
            }
            else => std::future::pending().await,
        }
    }

    fn heard(&mut self, report: Report) {
        match report {
            Report::Acknowledged(step, at) => {
                self.summary.last_acknowledged = self.summary.last_acknowledged.max(Some(at));
                self.schedule.acknowledged(step, at);
            }
            Report::Finished(step, outcome) => {
                self.schedule.finished(step.number, outcome.is_done());
                if !outcome.is_done() {
                    self.summary.failed.push(FailedStep { step, outcome });
                }
            }
        }
    }
}

impl Crew {
    /// A fired step from its request to its end.
    async fn perform(self, firing: Firing, reports: &mpsc::Sender<Report>) {
        let Firing { step, primitive, nodes } = firing;
        let number = step.number;
        let outcome = self.attempt(step.clone(), &primitive, nodes, reports).await.err().unwrap_or(Outcome::Done);
        self.finished(number, outcome.clone());
        // The receiver lives as long as this task does.
        let _ = reports.send(Report::Finished(step, outcome)).await;
    }

    async fn attempt(
        &self,
        step: StepInfo,
        primitive: &Primitive,
        nodes: Vec<ResolvedNode>,
        reports: &mpsc::Sender<Report>,
    ) -> Result<(), Outcome> {
        let number = step.number;
        let checked = self.hands.check(primitive).await;
        self.requested(step, nodes);
        checked?;
        if let Primitive::Wait { until, within } = primitive {
            let held = self.watch.condition(until, *within).await;
            let (at, detail) = held.map_err(|why| Outcome::Failed(format!("it did not hold within {within:?}: {why}")))?;
            self.acknowledged(number, at, reports).await;
            self.tell(StepEvent::Observed { step: number, at, detail });
            return Ok(());
        }
        let trace = self.hands.act(primitive).await?;
        self.acknowledged(number, self.clock.now(), reports).await;
        let (at, detail) = self.watch.confirm(primitive, &trace, self.observe_within).await.map_err(Outcome::NotObserved)?;
        self.tell(StepEvent::Observed { step: number, at, detail });
        Ok(())
    }

    fn requested(&self, step: StepInfo, nodes: Vec<ResolvedNode>) {
        self.tell(StepEvent::Requested { step, nodes, at: self.clock.now() });
    }

    async fn acknowledged(&self, step: StepNumber, at: Moment, reports: &mpsc::Sender<Report>) {
        self.tell(StepEvent::Acknowledged { step, at });
        let _ = reports.send(Report::Acknowledged(step, at)).await;
    }

    fn finished(&self, step: StepNumber, outcome: Outcome) {
        self.tell(StepEvent::Finished { step, at: self.clock.now(), outcome });
    }

    fn tell(&self, event: StepEvent) {
        self.sink.on_step(event);
    }
}
