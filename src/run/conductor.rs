//! A run from start to end, and every way out of it.
//!
//! ```text
//! folder -> cluster up -> topics -> load (groups, phases, steps) -> files and analysis complete -> cluster down
//! ```
//!
//! Whatever happens on the way, the cluster goes down at the end: in order here, by its own guard if this future is dropped or panics.

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::try_join_all;

use super::intake::{Intake, Taken};
use super::layers::NudgingSteps;
use super::load::{GroupWithEngine, Load};
use super::metrics::Endpoint;
use super::phases::Phases;
use super::requests::REQUESTS;
use super::steps::StepFacts;
use super::stop::{Stop, StopCause};
use super::{RunError, audit, brokers, layers, requests, scope, started, topics};
use crate::analyze::expectation_fact;
use crate::audit::Ledger;
use crate::audit::ledger::RECORDS_MAX;
use crate::clock::{Clock, Moment};
use crate::cluster::{Cluster, ClusterError, DockerCluster, Progress, Relay, RunId, SavedLog, SavedLogs, UpOptions};
use crate::engine::generator::Generator;
use crate::engine::{EngineContext, Stage};
use crate::fault::{Guards, StepRunner};
use crate::ids::TopicName;
use crate::kafka::admin::Admin;
use crate::plan::model::Plan;
use crate::probe::{BrokerProbe, WatchedTopic};
use crate::record::fact::Fact;
use crate::record::folder::RunFolder;
use crate::record::sink::{self, FactSink};
use crate::ui::Screen;
use crate::ui::colour::Tone;

/// From the decision to start the load until its first record may be due: time to make every client.
const LOAD_LEAD: Duration = Duration::from_millis(300);

/// Why there is no count of requests by a cluster that is used again.
const SERVED_BEFORE: &str = "the cluster has served earlier runs, and its logs hold their requests too: run without --reuse to count";

/// Folder of the brokers' logs, in the run's folder.
const LOGS: &str = "logs";

/// What to run, and how.
#[derive(Debug)]
pub struct Request {
    /// The plan, with whatever the command line overrides.
    pub plan: Plan,
    /// Problems of the plan that forbid nothing.
    pub warnings: Vec<String>,
    /// Exactly this folder; `None`: a new one in `results/`.
    pub out: Option<PathBuf>,
    /// Leave the cluster up.
    pub keep: bool,
    /// Use a kept cluster that fits, if there is one.
    pub reuse: bool,
    /// Use this cluster, which was started from the plan's own `[cluster]`, and leave it: whoever lends it removes it.
    pub lent: Option<Arc<DockerCluster>>,
    /// Let the brokers log each request, save their logs in any case, and count requests by client.
    pub request_log: bool,
    /// Serve live figures to Prometheus at this address.
    pub metrics: Option<SocketAddr>,
}

/// A run that is over.
#[derive(Debug)]
pub struct Ended {
    /// Its results.
    pub taken: Taken,
    /// Why it ended early, if a signal did that.
    pub interrupted: Option<&'static str>,
    /// Why the cluster could not be removed, if so.
    pub left_behind: Option<ClusterError>,
    /// Whether every fault that was in force at the end could be undone; a lent cluster without that is not as it was.
    pub is_healed: bool,
}

/// Runs a plan.
///
/// # Errors
/// The environment or the plan does not allow it, or results could not be written. What was measured until then is in the folder.
pub async fn run(request: &Request, screen: &Screen, clock: &Clock, stop: &Stop) -> Result<Ended, RunError> {
    let (groups, mut warnings) = started::groups(&request.plan)?;
    let (watched, unwatched) = scope::watched(&request.plan);
    let (followed, unfollowed) = scope::followed(&request.plan);
    warnings.splice(0..0, request.warnings.iter().cloned());
    warnings.extend(unwatched.into_iter().chain(unfollowed));
    for warning in &warnings {
        screen.note(Tone::Warning, warning);
    }
    // Before anything is started: a port that is taken is best said now.
    let metrics = request.metrics.map(Endpoint::start).transpose()?;
    if let Some(endpoint) = &metrics {
        let address = endpoint.address();
        screen.note(Tone::Plain, &format!("metrics are at http://{address}/metrics"));
        if !address.ip().is_loopback() {
            screen.note(Tone::Warning, &format!("whoever reaches {address} can read them: there is no password"));
        }
    }
    let folder = match &request.out {
        Some(path) => RunFolder::exactly(path)?,
        None => RunFolder::create("results".as_ref(), clock.wall_time_of(clock.now()), &request.plan.name)?,
    };
    stop.catch_panics();
    let run = Run {
        request,
        screen,
        clock,
        stop,
        groups,
        warnings,
        watched,
        followed,
        metrics,
        folder,
        id: RunId::fresh(clock),
        is_healed: AtomicBool::new(true),
    };
    tracing::info!(run = %run.id, folder = %run.folder.path().display(), "the run begins");
    let outcome = run.carry_out().await;
    if outcome.is_err() {
        // Only an empty folder can be removed like this: nothing was measured, so there is nothing to keep.
        let _ = std::fs::remove_dir(run.folder.path());
    }
    if let Some(refused) = run.metrics.as_ref().map(Endpoint::refused).filter(|refused| *refused > 0) {
        screen.note(Tone::Warning, &format!("{refused} requests for metrics were refused: malformed, too slow, or too many at once"));
    }
    screen.clear();
    outcome
}

/// How a cluster is started, with its progress on the screen.
pub(super) fn up_options(screen: &Screen, clock: &Clock) -> UpOptions {
    let screen = screen.clone();
    let progress = move |progress: Progress| match progress {
        Progress::Swept { .. } | Progress::NotSwept { .. } | Progress::PortsTaken { .. } => {
            screen.note(Tone::Warning, &progress.to_string());
        }
        Progress::Ready { .. } => screen.note(Tone::Plain, &format!("cluster {progress}")),
        _ => screen.stage(&format!("cluster: {progress}")),
    };
    UpOptions::new(clock.clone(), Arc::new(progress))
}

struct Run<'a> {
    request: &'a Request,
    screen: &'a Screen,
    clock: &'a Clock,
    stop: &'a Stop,
    groups: Vec<GroupWithEngine<'a>>,
    warnings: Vec<String>,
    /// What brokers are asked about once a second.
    watched: Vec<WatchedTopic>,
    /// What is followed through controller and brokers.
    followed: Vec<TopicName>,
    /// Where live figures can be had, if they are wanted.
    metrics: Option<Endpoint>,
    folder: RunFolder,
    id: RunId,
    is_healed: AtomicBool,
}

impl Run<'_> {
    async fn carry_out(&self) -> Result<Ended, RunError> {
        let Some(cluster) = self.unless_stopped(self.cluster()).await else {
            let measured = self.nothing_measured(None).await;
            return self.ended(measured, None);
        };
        let cluster = cluster?;
        let measured = AssertUnwindSafe(self.measure(&cluster)).catch_unwind().await;
        // The panic hook has kept the words.
        let measured = measured.unwrap_or_else(|_| Err(RunError::Panicked("the conductor panicked".to_owned())));
        let is_panic = matches!(self.stop.cause(), Some(StopCause::Panic(_)));
        let is_failure = is_panic || measured.as_ref().map_or(true, Taken::is_failure);
        if (is_failure || self.request.request_log) && !self.stop.is_hurried() {
            self.save_logs(&cluster).await;
        }
        if self.request.lent.is_some() {
            return self.ended(measured, None);
        }
        if cluster.is_kept() {
            let line = format!("the cluster stays up; remove it with: chaos cluster down {}", cluster.run_id());
            self.screen.note(Tone::Plain, &line);
        } else {
            self.screen.stage("removing the cluster");
        }
        let down = cluster.down().await.err();
        self.ended(measured, down)
    }

    /// What the run came to. A signal is asked for here and not before: one that came while the cluster was removed counts too.
    fn ended(&self, measured: Result<Taken, RunError>, left_behind: Option<ClusterError>) -> Result<Ended, RunError> {
        let measured = match self.stop.cause() {
            Some(StopCause::Panic(text)) => Err(RunError::Panicked(text.clone())),
            _ => measured,
        };
        match measured {
            Ok(taken) => {
                let interrupted = self.stop.cause().and_then(StopCause::signal);
                Ok(Ended { taken, interrupted, left_behind, is_healed: self.is_healed.load(Ordering::Relaxed) })
            }
            Err(error) => {
                // Only one error can be the run's; the other must be told too.
                if let Some(left_behind) = left_behind {
                    self.screen.note(Tone::Bad, &left_behind.to_string());
                }
                Err(error)
            }
        }
    }

    /// A cluster that is ready: the one that is lent, a kept one that fits, or a new one.
    async fn cluster(&self) -> Result<Arc<DockerCluster>, RunError> {
        let mut options = up_options(self.screen, self.clock);
        options.keep = self.request.keep;
        options.request_log = self.request.request_log;
        options.seed = self.request.plan.seed;
        options.logs_on_failure = Some(self.folder.file(LOGS));
        let spec = &self.request.plan.cluster;
        if let Some(cluster) = &self.request.lent {
            self.screen.stage("making the cluster whole");
            cluster.make_whole(spec, &options).await?;
            return Ok(Arc::clone(cluster));
        }
        if self.request.reuse {
            if let Some(cluster) = DockerCluster::attach(spec, &options).await? {
                if self.request.request_log {
                    self.screen.note(Tone::Warning, &format!("there will be no {REQUESTS}: {SERVED_BEFORE}"));
                }
                return Ok(Arc::new(cluster));
            }
            self.screen.note(Tone::Warning, "no kept cluster fits this plan: starting one");
        }
        self.screen.stage(&format!("starting {} nodes of Kafka {}", spec.layout.nodes().len(), spec.kafka));
        Ok(Arc::new(DockerCluster::up(spec, &self.id, &options).await?))
    }

    async fn measure(&self, cluster: &Arc<DockerCluster>) -> Result<Taken, RunError> {
        match self.unless_stopped(self.make_topics(cluster)).await {
            Some(made) => made?,
            None => return self.nothing_measured(Some(cluster)).await,
        }
        match self.unless_stopped(self.prepare(cluster)).await {
            Some(prepared) => prepared?,
            None => return self.nothing_measured(Some(cluster)).await,
        }
        let load_start = self.clock.now() + LOAD_LEAD;
        let plan = &self.request.plan;
        let phases = Phases::start(plan.phases, !plan.steps.is_empty(), load_start);
        let (facts, intake) = self.open(phases.steady_at(), Some(cluster))?;
        let ledger = Arc::new(Ledger::new(if plan.audit.is_on { RECORDS_MAX } else { 0 }));
        let loaded = self.load(cluster, load_start, phases, &ledger, facts.clone()).await;
        if loaded.is_ok() {
            self.audit(cluster, &ledger, &facts).await;
        }
        self.close(&facts, loaded.as_ref().err());
        drop(facts);
        let taken = intake.finish().await?;
        loaded?;
        Ok(taken)
    }

    async fn make_topics(&self, cluster: &DockerCluster) -> Result<(), RunError> {
        let plan = &self.request.plan;
        self.screen.stage("making topics");
        let admin = Admin::new(cluster.bootstrap(), cluster.access().clients.named("chaos-admin"), self.clock.clone());
        if self.request.lent.is_some() {
            topics::delete_all(&admin, cluster.nodes()).await?;
        } else if self.request.reuse {
            topics::delete_left_over(&admin, cluster.nodes(), plan).await?;
        }
        topics::create(&admin, cluster.nodes(), &plan.topics).await
    }

    /// Makes ready what groups need before the load's start is settled.
    async fn prepare(&self, cluster: &DockerCluster) -> Result<(), RunError> {
        let plan = &self.request.plan;
        self.screen.stage("making producers ready");
        let stage = Stage {
            clock: self.clock.clone(),
            bootstrap: cluster.load_bootstrap(),
            access: cluster.access(),
            seed: plan.seed,
            kafka: plan.cluster.kafka.clone(),
            guests: cluster.guest_host(),
        };
        try_join_all(self.groups.iter().map(|(group, engine)| engine.prepare(group, &stage))).await?;
        Ok(())
    }

    async fn load(
        &self,
        cluster: &Arc<DockerCluster>,
        load_start: Moment,
        phases: Phases,
        ledger: &Arc<Ledger>,
        facts: FactSink,
    ) -> Result<(), RunError> {
        let plan = &self.request.plan;
        let security = cluster.access().clients;
        let context = EngineContext {
            clock: self.clock.clone(),
            bootstrap: cluster.load_bootstrap(),
            security: security.clone(),
            load_start,
            steady: phases.steady_at(),
            seed: plan.seed,
            facts: facts.clone(),
            ledger: Arc::clone(ledger),
            worker: 0,
            generator: Arc::new(Generator::new()),
        };
        let guards = Arc::new(Guards::default());
        let step_facts = Arc::new(StepFacts::new(facts.clone()));
        let prober = layers::look(&**cluster, self.followed.clone(), self.clock, facts.clone())?;
        let (steps_at, relay_facts) = (phases.steps_at(), facts.clone());
        // The relay of a lent cluster has served others.
        let refused_before = cluster.relay().map_or(0, Relay::refused);
        let runner = StepRunner::new(
            Arc::<DockerCluster>::clone(cluster),
            self.clock.clone(),
            plan.seed,
            Arc::clone(&guards),
            Arc::new(NudgingSteps::new(Arc::clone(&step_facts), &prober)),
        );
        let steps = async {
            // What failed is in the facts, and with them in the verdict.
            let _summary = runner.run(&plan.steps, steps_at).await;
        };
        let led = BrokerProbe::new(self.watched.clone(), brokers::WITHIN, &security, self.clock.clone(), prober.traffic());
        let looking = brokers::watch(Arc::<DockerCluster>::clone(cluster), led, self.clock.clone(), facts.clone());
        let watch = context.generator.watch(self.clock.clone(), facts.clone());
        let load = Load {
            clock: self.clock,
            screen: self.screen,
            stop: self.stop,
            facts,
            phases,
            groups: self.groups.clone(),
            requesters: &plan.requesters,
            consumers: &plan.consumers,
            brokers: cluster.load_listeners(),
            context: &context,
        };
        let outcome = load.run(steps).await;
        watch.finish().await;
        looking.abort();
        // Waited for, so that no fact of it comes after the last one.
        let _ = looking.await;
        prober.finish().await;
        step_facts.cancel_open(self.clock.now());
        let connections = cluster.relay().map_or(0, Relay::refused).saturating_sub(refused_before);
        if connections > 0 {
            relay_facts.emit(self.clock.now(), Fact::RelayRefused { connections });
        }
        // After a stop a lent cluster serves no other run.
        let stays = cluster.is_kept() || (self.request.lent.is_some() && self.stop.cause().is_none());
        for failure in guards.heal_all(cluster.as_ref(), self.clock, stays).await {
            self.is_healed.store(false, Ordering::Relaxed);
            self.screen.note(Tone::Warning, &failure.to_string());
        }
        outcome
    }

    /// Reads the topics back, unless the run is to end.
    async fn audit(&self, cluster: &DockerCluster, ledger: &Ledger, facts: &FactSink) {
        let plan = &self.request.plan;
        let why = if plan.audit.is_on {
            self.screen.stage("reading the topics back");
            let audit = audit::audit(plan, cluster, ledger, self.clock, self.screen, facts);
            match self.unless_stopped(audit).await {
                Some(()) => return,
                None => "the run was interrupted",
            }
        } else {
            "the plan says `read = \"none\"`"
        };
        facts.emit(self.clock.now(), Fact::AuditSkipped { why: why.to_owned() });
    }

    /// The stream of facts, with its first ones, and its reader.
    fn open(&self, steady: Moment, cluster: Option<&DockerCluster>) -> Result<(FactSink, Intake), RunError> {
        let (facts, source) = sink::channel(steady, 0, sink::CAPACITY);
        let page = self.metrics.as_ref().map(Endpoint::page);
        let intake = Intake::start(self.folder.clone(), source, self.screen.clone(), self.stop.clone(), page)?;
        let now = self.clock.now();
        let run = started::fact(&self.request.plan, &self.groups, &self.id, cluster, &self.warnings, self.clock.wall_time_of(steady));
        facts.emit(now, Fact::RunStarted(Box::new(run)));
        for expectation in &self.request.plan.expectations {
            facts.emit(now, expectation_fact(expectation));
        }
        Ok((facts, intake))
    }

    /// The last fact.
    fn close(&self, facts: &FactSink, error: Option<&RunError>) {
        let interrupted = self.stop.cause().map(ToString::to_string).or_else(|| error.map(ToString::to_string));
        facts.emit(self.clock.now(), Fact::RunEnded { interrupted });
    }

    /// The end of a run that was stopped before its load began.
    async fn nothing_measured(&self, cluster: Option<&DockerCluster>) -> Result<Taken, RunError> {
        let (facts, intake) = self.open(self.clock.now(), cluster)?;
        self.close(&facts, None);
        drop(facts);
        intake.finish().await
    }

    /// Does something that may be dropped half-way; `None` if the run is to stop first.
    async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.stop.requested() => None,
            outcome = work => Some(outcome),
        }
    }

    async fn save_logs(&self, cluster: &DockerCluster) {
        let folder = self.folder.file(LOGS);
        self.screen.stage("saving the brokers' logs");
        let enough = async {
            // Without a stop before, the first request already means that nobody waits for logs.
            if self.stop.cause().is_some() { self.stop.hurried().await } else { self.stop.requested().await }
        };
        tokio::select! {
            () = enough => {}
            saved = cluster.save_logs(&folder) => match saved {
                Ok(SavedLogs { logs, failed }) => {
                    failed.iter().for_each(|error| self.screen.note(Tone::Warning, &format!("a node's log could not be saved: {error}")));
                    if !logs.is_empty() {
                        self.screen.note(Tone::Plain, &format!("brokers' logs are in {}", folder.display()));
                    }
                    self.count_requests(cluster, failed.is_empty().then_some(&logs));
                }
                Err(error) => self.screen.note(Tone::Warning, &format!("brokers' logs could not be saved: {error}")),
            },
        }
    }

    /// What the brokers' own logs count, if they were to log requests. `None`: not all of them are there.
    fn count_requests(&self, cluster: &DockerCluster, logs: Option<&Vec<SavedLog>>) {
        if !self.request.request_log {
            return;
        }
        let written = logs.map(|logs| requests::write(&self.folder.file(REQUESTS), logs)).transpose();
        let remark = match written {
            Ok(Some(true)) => return,
            Ok(None) => "a node's log is missing".to_owned(),
            Ok(Some(false)) if cluster.is_reused() => SERVED_BEFORE.to_owned(),
            Ok(Some(false)) => "the container engine has dropped the beginning of a node's log: its requests are not counted".to_owned(),
            Err(error) => error.to_string(),
        };
        self.screen.note(Tone::Warning, &format!("no {REQUESTS}: {remark}"));
    }
}
