//! The load with a made-up engine, under paused time.

use std::sync::Mutex;

use super::*;
use crate::audit::Ledger;
use crate::engine::EngineError;
use crate::engine::generator::Generator;
use crate::kafka::net::security::Security;
use crate::plan::model::{self, Active, EngineKind, RecordSpec};
use crate::record::sink::{self, FactSource};
use crate::run::stop::StopCause;
use crate::ui::Style;

/// What was asked of the made-up group, with the second since the load's start.
type Asked = Arc<Mutex<Vec<(u64, String)>>>;

#[derive(Debug)]
struct FakeEngine {
    asked: Asked,
    /// How long outcomes keep coming after the last record.
    outstanding: Duration,
    /// When the group fails, since its start.
    fails_after: Option<Duration>,
}

#[derive(Debug)]
struct FakeGroup {
    asked: Asked,
    outstanding: Duration,
    fails_after: Option<Duration>,
    clock: Clock,
    load_start: Moment,
}

impl FakeGroup {
    fn note(&self, what: String) {
        self.asked.lock().unwrap().push((seconds(self.clock.now(), self.load_start), what));
    }
}

impl Engine for FakeEngine {
    fn check(&self, _: &ProducerGroup) -> Result<Vec<String>, EngineError> {
        Ok(Vec::new())
    }

    fn version(&self) -> Option<String> {
        None
    }

    fn start<'a>(&'a self, _: &'a ProducerGroup, context: &'a EngineContext) -> BoxFuture<'a, Result<Box<dyn GroupHandle>, EngineError>> {
        let (clock, load_start) = (context.clock.clone(), context.load_start);
        let group =
            FakeGroup { asked: Arc::clone(&self.asked), outstanding: self.outstanding, fails_after: self.fails_after, clock, load_start };
        async move { Ok(Box::new(group) as Box<dyn GroupHandle>) }.boxed()
    }
}

impl GroupHandle for FakeGroup {
    fn stop_sending(&self, end: Moment) {
        self.note(format!("stop at {}", seconds(end, self.load_start)));
    }

    fn finish(self: Box<Self>, drain: Duration) -> BoxFuture<'static, ()> {
        async move {
            self.note(format!("finish within {}", drain.as_secs()));
            tokio::time::sleep(self.outstanding.min(drain)).await;
            self.note("closed".to_owned());
        }
        .boxed()
    }

    fn failed(&self) -> BoxFuture<'static, EngineError> {
        let fails_after = self.fails_after;
        async move {
            match fails_after {
                Some(after) => tokio::time::sleep(after).await,
                None => std::future::pending().await,
            }
            EngineError::NotAvailable { engine: "fake", hint: "it has failed" }
        }
        .boxed()
    }
}

fn seconds(at: Moment, start: Moment) -> u64 {
    at.since(start).as_secs_f64().round() as u64
}

fn group() -> ProducerGroup {
    ProducerGroup {
        name: "steady".into(),
        count: 1,
        engine: EngineKind::Native,
        share: None,
        topics: vec!["orders".into()],
        load: model::Load::Max,
        record: RecordSpec { size_bytes: 100, keys: None },
        active: Active { from: Duration::ZERO, until: None },
        ramp: Duration::ZERO,
        config: std::collections::BTreeMap::new(),
        bootstrap: None,
    }
}

/// A load of 2 s warm-up, 3 s steady, perhaps some seconds of steps, and 4 s recovery, stopped after `stop_after_s` if given: what was asked
/// of the group, and the phases that began, each with its second.
async fn run(steps_s: Option<u64>, outstanding_s: u64, stop_after_s: Option<f64>) -> (Vec<(u64, String)>, Vec<(u64, Phase)>) {
    let (outcome, asked, phases) = outcome(steps_s, outstanding_s, stop_after_s, None).await;
    outcome.unwrap();
    (asked, phases)
}

type Outcome = (Result<(), RunError>, Vec<(u64, String)>, Vec<(u64, Phase)>);

/// The same, with a group that fails so many seconds after its start.
async fn outcome(steps_s: Option<u64>, outstanding_s: u64, stop_after_s: Option<f64>, fails_after_s: Option<u64>) -> Outcome {
    let (clock, stop) = (Clock::real(), Stop::default());
    let load_start = clock.now();
    let plan = model::Phases { warmup: Duration::from_secs(2), steady: Duration::from_secs(3), recovery: Duration::from_secs(4) };
    let phases = Phases::start(plan, steps_s.is_some(), load_start);
    let (facts, mut source) = sink::channel(load_start, 0, 64);
    let asked = Asked::default();
    let engine: Arc<dyn Engine> = Arc::new(FakeEngine {
        asked: Arc::clone(&asked),
        outstanding: Duration::from_secs(outstanding_s),
        fails_after: fails_after_s.map(Duration::from_secs),
    });
    let context = EngineContext {
        clock: clock.clone(),
        bootstrap: Vec::new(),
        security: Security::plaintext(),
        load_start,
        steady: phases.steady_at(),
        seed: 7,
        facts: facts.clone(),
        ledger: Arc::new(Ledger::new(0)),
        worker: 0,
        generator: Arc::new(Generator::new()),
    };
    let (group, screen) = (group(), Screen::new(Style::Quiet, false, clock.clone()));
    let groups = vec![(&group, engine)];
    let load = Load {
        clock: &clock,
        screen: &screen,
        stop: &stop,
        facts,
        phases,
        groups,
        requesters: &[],
        consumers: &[],
        brokers: vec![],
        context: &context,
    };
    let steps = async { tokio::time::sleep(Duration::from_secs(steps_s.unwrap_or_default())).await };
    let stopper = async {
        if let Some(after) = stop_after_s {
            tokio::time::sleep(Duration::from_secs_f64(after)).await;
            stop.request(StopCause::Signal("SIGINT"));
        }
    };
    let (outcome, ()) = tokio::join!(load.run(steps), stopper);
    let asked = asked.lock().unwrap().clone();
    (outcome, asked, phases_of(&mut source))
}

fn phases_of(source: &mut FactSource) -> Vec<(u64, Phase)> {
    let told = std::iter::from_fn(|| source.try_next());
    told.filter_map(|stamped| match stamped.fact {
        Fact::PhaseStarted { phase } => Some(((stamped.time_us as f64 / 1e6).round() as u64, phase)),
        _ => None,
    })
    .collect()
}

fn words(asked: &[(u64, String)]) -> Vec<(u64, &str)> {
    asked.iter().map(|(second, what)| (*second, what.as_str())).collect()
}

#[tokio::test(start_paused = true)]
async fn sending_stops_where_recovery_ends_and_the_drain_ends_when_all_is_known() {
    let (asked, phases) = run(Some(6), 1, None).await;
    let expected = [(0, Phase::Warmup), (2, Phase::Steady), (5, Phase::Steps), (11, Phase::Recovery), (15, Phase::Drain), (16, Phase::End)];
    assert_eq!(phases, expected);
    assert_eq!(words(&asked), [(11, "stop at 15"), (15, "finish within 10"), (16, "closed")]);
}

#[tokio::test(start_paused = true)]
async fn without_steps_the_end_is_known_from_the_start() {
    let (asked, phases) = run(None, 0, None).await;
    assert_eq!(phases, [(0, Phase::Warmup), (2, Phase::Steady), (5, Phase::Recovery), (9, Phase::Drain), (9, Phase::End)]);
    assert_eq!(words(&asked), [(0, "stop at 9"), (9, "finish within 10"), (9, "closed")]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_closes_the_groups_at_once() {
    let (asked, phases) = run(Some(60), 5, Some(7.0)).await;
    assert_eq!(phases.last(), Some(&(7, Phase::End)));
    assert_eq!(words(&asked), [(7, "finish within 0"), (7, "closed")]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_during_the_drain_waits_a_bounded_time() {
    let (asked, phases) = run(None, 10, Some(10.0)).await;
    assert_eq!(phases.last(), Some(&(10, Phase::End)));
    assert_eq!(words(&asked), [(0, "stop at 9"), (9, "finish within 10")]);
}

#[tokio::test(start_paused = true)]
async fn a_group_that_fails_ends_the_run_with_its_error_also_while_it_drains() {
    for (fails_after_s, expected) in
        [(7, vec![(7, "finish within 0"), (7, "closed")]), (10, vec![(0, "stop at 9"), (9, "finish within 10")])]
    {
        let steps_s = (fails_after_s == 7).then_some(60);
        let (outcome, asked, phases) = outcome(steps_s, 5, None, Some(fails_after_s)).await;
        let error = outcome.unwrap_err();
        assert!(matches!(error, RunError::Engine(_)) && !error.is_request_fault(), "{error}");
        assert_eq!(phases.last(), Some(&(fails_after_s, Phase::End)));
        assert_eq!(words(&asked), expected);
    }
}
