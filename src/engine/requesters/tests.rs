//! Requesters against brokers on the loopback, in real time.

use std::collections::BTreeMap;

use super::*;
use crate::audit::Ledger;
use crate::clock::Clock;
use crate::engine::generator::Generator;
use crate::kafka::admin::fake::{FakeBroker, Shared as FakeState, shared as fake_state};
use crate::kafka::net::security::Security;
use crate::plan::model::Active;
use crate::record::fact::{Fact, RequesterSecond};
use crate::record::histogram::LatencyHistogram;
use crate::record::sink::{self, FactSource};

/// Two brokers and what it takes to ask them.
struct Bench {
    state: FakeState,
    brokers: Vec<FakeBroker>,
    context: EngineContext,
    source: FactSource,
}

impl Bench {
    async fn new() -> Self {
        let state = fake_state(1);
        state.lock().unwrap().topics.insert("orders".to_owned(), vec![vec![1]; 20]);
        let brokers = vec![FakeBroker::start(1, 0, &state).await, FakeBroker::start(2, 0, &state).await];
        let clock = Clock::real();
        let load_start = clock.now() + Duration::from_millis(20);
        let (facts, source) = sink::channel(load_start, 0, 1_024);
        let context = EngineContext {
            clock,
            bootstrap: Vec::new(),
            security: Security::plaintext(),
            load_start,
            steady: load_start,
            seed: 7,
            facts,
            ledger: Arc::new(Ledger::new(0)),
            worker: 0,
            generator: Arc::new(Generator::new()),
        };
        Self { state, brokers, context, source }
    }

    fn start(&self, groups: &[RequesterGroup]) -> Box<dyn GroupHandle> {
        let listeners: Vec<_> = (1..).map(BrokerId).zip(self.brokers.iter().map(FakeBroker::host_port)).collect();
        start(groups, &listeners, &self.context).unwrap()
    }

    /// Sums over all seconds, by group; states are the last ones.
    fn told(&mut self) -> BTreeMap<String, RequesterSecond> {
        let mut sums: BTreeMap<String, RequesterSecond> = BTreeMap::new();
        while let Some(stamped) = self.source.try_next() {
            let Fact::RequesterSecond(second) = stamped.fact else { panic!("{stamped:?}") };
            let sum = sums.entry(second.group.clone()).or_default();
            assert_eq!(second.round_trips().unwrap().map_or(0, |times| times.count()), second.ok);
            sum.due += second.due;
            sum.sent += second.sent;
            sum.ok += second.ok;
            sum.failed += second.failed;
            sum.response_bytes += second.response_bytes;
            sum.request_bytes += second.request_bytes;
            sum.topics_max = sum.topics_max.max(second.topics_max);
            sum.partitions_max = sum.partitions_max.max(second.partitions_max);
            (sum.in_flight, sum.connected) = (second.in_flight, second.connected);
            second.by_node.iter().for_each(|(node, count)| *sum.by_node.entry(node.clone()).or_default() += count);
            second.errors.iter().for_each(|(kind, count)| *sum.errors.entry(kind.clone()).or_default() += count);
        }
        sums
    }
}

fn group(name: &str, count: u32, rate_per_second: f64, list: TopicList) -> RequesterGroup {
    let active = Active { from: Duration::ZERO, until: None };
    RequesterGroup { name: name.to_owned(), count, rate_per_second, list, active }
}

#[tokio::test]
async fn every_request_that_is_due_is_sent_answered_and_counted_by_node() {
    let mut bench = Bench::new().await;
    let mut late = group("late", 1, 100.0, TopicList::Nothing);
    late.active = Active { from: Duration::from_millis(100), until: Some(Duration::from_millis(200)) };
    let handle = bench.start(&[group("storm", 4, 50.0, TopicList::All), late]);
    let end = bench.context.load_start + Duration::from_millis(400);
    handle.stop_sending(end);
    tokio::time::sleep_until(bench.context.clock.instant_of(end)).await;
    handle.finish(Duration::from_secs(5)).await;
    let told = bench.told();
    let storm = &told["storm"];
    // A request each 20 ms from each of the four, which begin 5 ms apart: none at the end itself.
    assert_eq!((storm.due, storm.sent, storm.ok, storm.failed), (80, 80, 80, 0), "{storm:?}");
    assert_eq!((storm.in_flight, storm.connected), (0, 0));
    assert_eq!(storm.by_node, BTreeMap::from([("1".to_owned(), 40), ("2".to_owned(), 40)]));
    assert_eq!(storm.errors, BTreeMap::new());
    let late = &told["late"];
    assert_eq!((late.due, late.ok), (10, 10));
    assert_eq!((storm.topics_max, storm.partitions_max, late.topics_max), (Some(1), Some(20), Some(0)));
    assert!(storm.response_bytes / storm.ok > late.response_bytes / late.ok, "all topics against none");
    let asked = bench.state.lock().unwrap().asked.iter().map(|(client, ..)| client.clone()).collect::<Vec<_>>();
    assert!(asked.contains(&"storm-3".to_owned()) && asked.contains(&"late-0".to_owned()));
}

#[tokio::test]
async fn whoever_loses_its_broker_goes_to_the_next_and_skips_nothing() {
    let mut bench = Bench::new().await;
    let handle = bench.start(&[group("storm", 2, 50.0, TopicList::Named(vec!["nothing".into()]))]);
    tokio::time::sleep(Duration::from_millis(150)).await;
    bench.brokers.remove(0).stop().await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    handle.finish(Duration::from_secs(5)).await;
    let storm = bench.told().remove("storm").unwrap();
    assert_eq!(storm.due, storm.sent, "{storm:?}");
    assert_eq!(storm.sent, storm.ok + storm.failed);
    assert!(storm.failed >= 1 && storm.errors.contains_key("disconnected"), "{storm:?}");
    assert!(storm.by_node["2"] > storm.by_node["1"]);
    assert_eq!(storm.errors["3"], storm.ok, "each answer says that the topic is unknown");
}

#[tokio::test]
async fn what_is_not_answered_by_the_end_is_told_as_failed() {
    let mut bench = Bench::new().await;
    bench.brokers.iter().for_each(|broker| broker.freeze(true));
    let handle = bench.start(&[group("storm", 2, 100.0, TopicList::All)]);
    tokio::time::sleep(Duration::from_millis(200)).await;
    // Frozen brokers do not even say their versions: nothing is sent, and all that is due waits.
    handle.finish(Duration::from_millis(10)).await;
    let storm = bench.told().remove("storm").unwrap();
    assert!(storm.due >= 30 && storm.sent == 0, "{storm:?}");

    bench.brokers.iter().for_each(|broker| broker.freeze(false));
    let handle = bench.start(&[group("storm", 2, 100.0, TopicList::All)]);
    tokio::time::sleep(Duration::from_millis(200)).await;
    bench.brokers.iter().for_each(|broker| broker.freeze(true));
    tokio::time::sleep(Duration::from_millis(100)).await;
    handle.finish(Duration::from_millis(10)).await;
    let storm = bench.told().remove("storm").unwrap();
    assert_eq!((storm.in_flight, storm.failed, storm.errors["unanswered"]), (0, 2, 2), "{storm:?}");
}

#[tokio::test]
async fn a_connection_that_takes_long_is_not_the_generators_lateness() {
    const FROZEN: Duration = Duration::from_millis(600);
    let mut bench = Bench::new().await;
    bench.brokers.iter().for_each(|broker| broker.freeze_for(FROZEN));
    let handle = bench.start(&[group("storm", 2, 20.0, TopicList::All)]);
    tokio::time::sleep(FROZEN * 2).await;
    handle.finish(Duration::from_secs(5)).await;
    let storm = bench.told().remove("storm").unwrap();
    assert!(storm.ok >= 20 && storm.ok == storm.due, "{storm:?}");
    let mut lateness = LatencyHistogram::new();
    bench.context.generator.take_second(0, &mut lateness);
    assert!(lateness.count() >= 1 && lateness.max_us() < 300_000, "{} us", lateness.max_us());
}

#[tokio::test]
async fn dropped_it_ends_at_once_and_tells_nothing_more() {
    let mut bench = Bench::new().await;
    drop(bench.start(&[group("storm", 50, 10.0, TopicList::All)]));
    assert!(bench.told().is_empty());
}
