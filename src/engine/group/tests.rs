//! Groups on clients that are made up, with tokio's time paused.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;

use super::*;
use crate::audit::Ledger;
use crate::clock::{Clock, Moment};
use crate::engine::GroupHandle;
use crate::engine::generator::Generator;
use crate::engine::group::client::Client;
use crate::engine::group::client::View;
use crate::engine::recorder::client::ClientRecorder;
use crate::engine::recorder::sender::NO_PARTITION;
use crate::engine::recorder::tells::Tells;
use crate::ids::{PartitionIndex, TopicName};
use crate::kafka::event::{BatchDelivery, BlockedOn, ClientEvent, ClientObserver, Failure, Outcome, RecordTag, UpdateReason};
use crate::kafka::net::producer::{Record, TrySendError};
use crate::kafka::net::security::Security;
use crate::load::payload;
use crate::plan::model::{Active, Arrivals, EngineKind, Load, RecordSpec};
use crate::record::fact::{GroupSecond, Totals};
use crate::record::sink::{self, FactSource};

const LATENCY: Duration = Duration::from_millis(3);

/// What a made-up client does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    /// Takes records, and acknowledges them after `LATENCY`.
    Serves,
    /// Takes none.
    Blocks,
    /// The same, and a `send` that waits does not even end when it is closed.
    Hangs,
    /// Takes records and acknowledges none.
    IsMute,
}

#[derive(Debug)]
struct Fakes {
    clock: Clock,
    /// Per client id.
    moods: BTreeMap<String, watch::Receiver<Mood>>,
    made: Arc<Mutex<BTreeMap<String, Moment>>>,
    values: Arc<Mutex<Vec<Vec<u8>>>>,
    /// How many clients have been closed.
    closed: Arc<AtomicUsize>,
}

#[derive(Clone, Debug)]
struct Fake {
    closed_count: Arc<AtomicUsize>,
    clock: Clock,
    mood: watch::Receiver<Mood>,
    closed: watch::Sender<bool>,
    observer: Arc<dyn ClientObserver>,
    values: Arc<Mutex<Vec<Vec<u8>>>>,
    in_flight: Arc<Mutex<Vec<(TopicName, RecordTag)>>>,
}

impl MakeClient for Fakes {
    type Client = Fake;

    const TELLS: Tells = Tells::EVERYTHING;

    fn make(&self, client_id: &str, _seed: u64, recorder: Arc<ClientRecorder>) -> Fake {
        self.made.lock().unwrap().insert(client_id.to_owned(), self.clock.now());
        let mood = self.moods.get(client_id).cloned().unwrap_or_else(|| watch::channel(Mood::Serves).1);
        let (values, in_flight, closed_count) = (Arc::clone(&self.values), Arc::default(), Arc::clone(&self.closed));
        Fake { clock: self.clock.clone(), mood, closed: watch::channel(false).0, observer: recorder, values, in_flight, closed_count }
    }
}

impl Fake {
    fn append(&self, sent_at: Moment, record: &Record<'_>) {
        self.values.lock().unwrap().push(record.value.to_vec());
        let tag = RecordTag { mark: record.mark, number: record.number, sent_at };
        self.in_flight.lock().unwrap().push((record.topic.clone(), tag));
        let (this, mut mood) = (self.clone(), self.mood.clone());
        tokio::spawn(async move {
            tokio::time::sleep(LATENCY).await;
            if mood.wait_for(|mood| *mood != Mood::IsMute).await.is_err() {
                std::future::pending::<()>().await;
            }
            this.complete(tag.mark, &Outcome::Ok { base_offset: 0 });
        });
    }

    fn complete(&self, mark: u64, outcome: &Outcome) {
        let mut in_flight = self.in_flight.lock().unwrap();
        let Some(place) = in_flight.iter().position(|(_, tag)| tag.mark == mark) else { return };
        let (topic, tag) = in_flight.remove(place);
        drop(in_flight);
        let delivery = BatchDelivery { topic: &topic, partition: PartitionIndex(0), records: &[tag], outcome, sends: 1 };
        self.observer.delivered(self.clock.now(), &delivery);
    }
}

fn failure(kind: &str) -> Failure {
    Failure { kind: kind.to_owned(), code: None, text: kind.to_owned() }
}

impl Client for Fake {
    fn try_send(&self, now: Moment, record: &Record<'_>) -> Result<(), TrySendError> {
        if matches!(*self.mood.borrow(), Mood::Blocks | Mood::Hangs) {
            return Err(TrySendError::WouldBlock(BlockedOn::Metadata));
        }
        self.append(now, record);
        Ok(())
    }

    async fn send(&self, record: &Record<'_>) -> Result<(), Failure> {
        let (sent_at, mut mood, mut closed) = (self.clock.now(), self.mood.clone(), self.closed.subscribe());
        if *mood.borrow() == Mood::Hangs {
            std::future::pending::<()>().await;
        }
        tokio::select! {
            Ok(_) = mood.wait_for(|mood| *mood != Mood::Blocks) => { self.append(sent_at, record); Ok(()) }
            _ = closed.wait_for(|closed| *closed) => Err(failure("KafkaException")),
        }
    }

    async fn close(&self, timeout: Duration) {
        let deadline = self.clock.instant_of(self.clock.now() + timeout);
        while !self.in_flight.lock().unwrap().is_empty() && self.clock.instant_of(self.clock.now()) < deadline {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        self.closed.send_replace(true);
        self.closed_count.fetch_add(1, Ordering::Relaxed);
        let left: Vec<u64> = self.in_flight.lock().unwrap().iter().map(|(_, tag)| tag.mark).collect();
        for mark in left {
            self.complete(mark, &Outcome::Indeterminate(failure("TimeoutException")));
        }
    }

    fn view(&self) -> View {
        let in_flight = self.in_flight.lock().unwrap();
        View {
            metadata_age: Some(Duration::from_secs(1)),
            partition_counts: Some(vec![(TopicName::from("orders"), if *self.mood.borrow() == Mood::Blocks { 0 } else { 1 })]),
            buffer_free_bytes: Some(1_000),
            unserved: in_flight.first().map(|(topic, tag)| (topic.clone(), PartitionIndex(0), tag.mark)).into_iter().collect(),
        }
    }
}

/// A group of two producers; second 0 begins one second after the load.
struct Rig {
    clock: Clock,
    handle: RunningGroup<Fakes>,
    source: FactSource,
    moods: Vec<watch::Sender<Mood>>,
    made: Arc<Mutex<BTreeMap<String, Moment>>>,
    values: Arc<Mutex<Vec<Vec<u8>>>>,
    closed: Arc<AtomicUsize>,
    start: Moment,
}

fn spec(load: Load) -> ProducerGroup {
    ProducerGroup {
        name: "g".to_owned(),
        count: 2,
        engine: EngineKind::Native,
        share: None,
        topics: vec![TopicName::from("orders")],
        load,
        record: RecordSpec { size_bytes: 40, keys: NonZeroU32::new(10) },
        active: Active { from: Duration::ZERO, until: None },
        ramp: Duration::ZERO,
        config: BTreeMap::new(),
        bootstrap: None,
    }
}

fn open(rate_per_second: f64) -> ProducerGroup {
    spec(Load::Open { rate_per_second, arrivals: Arrivals::Constant })
}

impl Rig {
    fn start(spec: &ProducerGroup) -> Self {
        let clock = Clock::real();
        let start = clock.now();
        let (facts, source) = sink::channel(start + Duration::from_secs(1), 0, 100_000);
        let (moods, receivers): (Vec<_>, Vec<_>) = (0..2).map(|_| watch::channel(Mood::Serves)).unzip();
        let (made, values, closed) = (Arc::default(), Arc::default(), Arc::<AtomicUsize>::default());
        let fakes = Fakes {
            clock: clock.clone(),
            moods: receivers.into_iter().enumerate().map(|(index, mood)| (format!("g-{index}"), mood)).collect(),
            made: Arc::clone(&made),
            values: Arc::clone(&values),
            closed: Arc::clone(&closed),
        };
        let context = EngineContext {
            clock: clock.clone(),
            bootstrap: Vec::new(),
            security: Security::plaintext(),
            load_start: start,
            steady: start + Duration::from_secs(1),
            seed: 7,
            facts,
            ledger: Arc::new(Ledger::new(0)),
            worker: 0,
            generator: Arc::new(Generator::new()),
        };
        let handle = start_group(spec, &context, fakes);
        Self { clock, handle, source, moods, made, values, closed, start }
    }

    /// Sleeps until so many milliseconds after the start.
    async fn until(&self, ms: u64) {
        tokio::time::sleep_until(self.clock.instant_of(self.start + Duration::from_millis(ms))).await;
    }

    async fn finish(mut self, drain: Duration) -> Told {
        Box::new(self.handle).finish(drain).await;
        let mut told = Told { facts: Vec::new(), seconds: Vec::new(), totals: Vec::new(), values: self.values.lock().unwrap().clone() };
        while let Some(stamped) = self.source.try_next() {
            match stamped.fact {
                Fact::Second(second) => told.seconds.push(*second),
                Fact::ProducerTotals { totals, .. } => told.totals.push(totals),
                fact => told.facts.push(fact),
            }
        }
        told.check();
        told
    }
}

struct Told {
    facts: Vec<Fact>,
    seconds: Vec<GroupSecond>,
    totals: Vec<Totals>,
    values: Vec<Vec<u8>>,
}

impl Told {
    /// What holds of every run.
    fn check(&self) {
        let mut sum = Totals::default();
        for second in &self.seconds {
            sum = add(sum, second.counts);
            assert!(sum.due >= sum.sent, "second {}: {sum:?}", second.second);
            assert_eq!(sum.sent, sum.ok + sum.failed + sum.indeterminate + second.in_flight, "second {}", second.second);
        }
        assert_eq!(sum, self.totals.iter().copied().fold(Totals::default(), add), "seconds add up to the producers' totals");
        assert_eq!(self.seconds.last().unwrap().in_flight, 0);
    }

    fn gaps(&self) -> Vec<(u32, i32, i64, Option<i64>)> {
        let gap = |fact: &Fact| match fact {
            Fact::Gap { producer, partition, first_due_us, first_ok_us, .. } => {
                Some((producer.0, partition.0, first_due_us / 1_000, first_ok_us.map(|at| at / 1_000)))
            }
            _ => None,
        };
        self.facts.iter().filter_map(gap).collect()
    }

    fn errors(&self) -> BTreeMap<String, u64> {
        let mut sums = BTreeMap::new();
        for fact in &self.facts {
            if let Fact::RecordErrors { outcome, count, .. } = fact {
                *sums.entry(outcome.clone()).or_default() += count;
            }
        }
        sums
    }
}

fn add(left: Totals, right: Totals) -> Totals {
    Totals {
        due: left.due + right.due,
        sent: left.sent + right.sent,
        ok: left.ok + right.ok,
        failed: left.failed + right.failed,
        indeterminate: left.indeterminate + right.indeterminate,
    }
}

fn all_ok(count: u64) -> Totals {
    Totals { due: count, sent: count, ok: count, failed: 0, indeterminate: 0 }
}

#[tokio::test(start_paused = true)]
async fn a_steady_group_sends_what_is_due_and_has_no_gaps() {
    let rig = Rig::start(&open(20.0));
    rig.until(3_000).await;
    rig.handle.stop_sending(rig.start + Duration::from_millis(3_000));
    let told = rig.finish(Duration::from_secs(5)).await;
    assert_eq!(told.totals, [all_ok(60), all_ok(60)]);
    assert_eq!(told.gaps(), []);
    let seconds: Vec<(i64, u64)> = told.seconds.iter().map(|second| (second.second, second.stalled_pairs.unwrap())).collect();
    assert_eq!(seconds[..3], [(-1, 0), (0, 0), (1, 0)]);
    // A record that is due at the very edge may be seen on either side.
    assert!(told.seconds[..3].iter().all(|second| second.counts.due.abs_diff(40) <= 1));
    let responses = told.seconds[1].histogram("response_ok").unwrap().unwrap();
    assert!(responses.max_us() <= 5_000, "{} us", responses.max_us());
    let mut sequences: Vec<(u32, u64)> = told
        .values
        .iter()
        .map(|value| payload::parse(value).map(|identity| (identity.producer.0, identity.sequence.unwrap())).unwrap())
        .collect();
    sequences.sort_unstable();
    assert_eq!(sequences, (0..2).flat_map(|producer| (0..60).map(move |sequence| (producer, sequence))).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_blocked_producer_delays_no_other_and_skips_nothing() {
    let rig = Rig::start(&open(20.0));
    rig.until(1_010).await;
    rig.moods[0].send_replace(Mood::Blocks);
    rig.until(2_990).await;
    let generator = Arc::clone(&rig.handle.group().generator);
    rig.moods[0].send_replace(Mood::Serves);
    rig.until(5_000).await;
    let told = rig.finish(Duration::from_secs(5)).await;
    assert_eq!(told.totals, [all_ok(100), all_ok(100)]);
    // The first record due while it was blocked was due at 1,050 ms, which is 50 ms after the start of second 0.
    assert_eq!(told.gaps(), [(0, 0, 50, Some(1_993))]);
    let blocked: Vec<u64> = told.seconds.iter().map(|second| second.blocked_metadata.unwrap()).collect();
    assert_eq!(blocked[..4], [0, 1, 0, 0], "still waiting at the end of second 0");
    assert_eq!((told.seconds[1].stalled_pairs.unwrap(), told.seconds[1].stalled_max_ms.unwrap() / 10), (1, 95));
    let lateness = generator.take_second(0, &mut crate::record::histogram::LatencyHistogram::new());
    assert!(lateness.lateness_max_us < 2_000, "back-pressure is not lateness: {} us", lateness.lateness_max_us);
}

#[tokio::test(start_paused = true)]
async fn a_producer_that_is_blocked_at_the_end_hangs_and_owes_the_rest() {
    let rig = Rig::start(&open(10.0));
    rig.until(990).await;
    rig.moods[1].send_replace(Mood::Blocks);
    rig.until(3_000).await;
    rig.handle.stop_sending(rig.start + Duration::from_millis(3_000));
    let told = rig.finish(Duration::from_secs(2)).await;
    assert_eq!(told.totals[0], all_ok(30));
    // Due at 50, 150, ..., 2,950 ms: ten were served, one waited for its turn, and nineteen never came to theirs.
    assert_eq!(told.totals[1], Totals { due: 30, sent: 11, ok: 10, failed: 1, indeterminate: 0 });
    assert_eq!(told.gaps(), [(1, NO_PARTITION.0, 50, None)]);
    assert_eq!(told.errors(), BTreeMap::from([("failed".to_owned(), 1)]));
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_stuck_at_the_end_was_in_service_since_it_was_handed_over() {
    let rig = Rig::start(&open(10.0));
    rig.until(1_010).await;
    rig.moods[1].send_replace(Mood::Blocks);
    rig.until(1_500).await;
    rig.moods[1].send_replace(Mood::Hangs);
    rig.until(2_000).await;
    let told = rig.finish(Duration::from_secs(2)).await;
    // Due at 1,050 ms and taken at 1,500; the next one, due at 1,150 ms, was handed over then, and for ever.
    assert_eq!(told.totals[1], Totals { due: 20, sent: 12, ok: 11, failed: 1, indeterminate: 0 });
    let max_us =
        |series| told.seconds.iter().filter_map(|second| second.histogram(series).unwrap()).map(|latency| latency.max_us()).max().unwrap();
    let waited_us = max_us("response_bad") - max_us("service_bad");
    assert!(waited_us.abs_diff(350_000) <= 2_000, "{waited_us} us from due to handed over");
}

#[tokio::test(start_paused = true)]
async fn a_closed_loop_gives_a_record_up_once_per_wait_and_counts_it_once() {
    let mut group = spec(Load::Closed { wait: Duration::from_secs(4), every: Duration::from_millis(100) });
    group.count = 1;
    let rig = Rig::start(&group);
    rig.until(2_050).await;
    rig.moods[0].send_replace(Mood::IsMute);
    rig.until(15_500).await;
    rig.moods[0].send_replace(Mood::Serves);
    rig.until(17_050).await;
    let told = rig.finish(Duration::from_secs(5)).await;
    // 2,100 ms and every 4 s from then on: given up at 6,100, 10,100 and 14,100; the fourth is answered at 15,500.
    let totals = told.totals[0];
    assert_eq!((totals.indeterminate, totals.failed), (3, 0));
    assert_eq!(totals.due, totals.sent);
    assert_eq!(told.errors(), BTreeMap::from([("indeterminate".to_owned(), 3), ("late_ok".to_owned(), 3)]));
    assert_eq!(told.gaps(), [(0, 0, 1_100, Some(14_500))]);
}

#[tokio::test(start_paused = true)]
async fn a_closed_loop_takes_a_record_back_that_its_client_does_not_take() {
    let mut group = spec(Load::Closed { wait: Duration::from_secs(4), every: Duration::from_millis(100) });
    group.count = 1;
    let rig = Rig::start(&group);
    rig.until(2_050).await;
    rig.moods[0].send_replace(Mood::Blocks);
    rig.until(12_000).await;
    rig.moods[0].send_replace(Mood::Serves);
    rig.until(13_050).await;
    let told = rig.finish(Duration::from_secs(5)).await;
    // Tried at 2,100, 6,100 and 10,100 ms; the third is taken at 12,000.
    let totals = told.totals[0];
    assert_eq!((totals.failed, totals.indeterminate), (2, 0));
    assert_eq!(told.errors(), BTreeMap::from([("failed".to_owned(), 2)]));
    assert_eq!(told.gaps(), [(0, NO_PARTITION.0, 1_100, Some(11_003)), (0, 0, 9_100, Some(11_003))]);
    let blocked: u64 = told.seconds.iter().map(|second| second.blocked_metadata.unwrap()).sum();
    assert!(blocked >= 10, "blocked in each of ten seconds: {blocked}");
}

#[tokio::test(start_paused = true)]
async fn what_is_lost_at_the_end_is_indeterminate_and_hangs() {
    let rig = Rig::start(&open(10.0));
    rig.until(1_990).await;
    rig.moods[0].send_replace(Mood::IsMute);
    rig.until(3_000).await;
    rig.handle.stop_sending(rig.start + Duration::from_millis(3_000));
    let told = rig.finish(Duration::from_secs(2)).await;
    assert_eq!(told.totals[0], Totals { due: 30, sent: 30, ok: 20, failed: 0, indeterminate: 10 });
    assert_eq!(told.gaps(), [(0, 0, 1_000, None)]);
}

#[tokio::test(start_paused = true)]
async fn a_client_is_made_when_its_first_record_is_due() {
    let mut group = open(2.0);
    group.active = Active { from: Duration::from_secs(2), until: Some(Duration::from_secs(3)) };
    let rig = Rig::start(&group);
    let (made, start) = (Arc::clone(&rig.made), rig.start);
    rig.until(1_999).await;
    assert!(made.lock().unwrap().is_empty());
    rig.until(3_500).await;
    let told = rig.finish(Duration::from_secs(1)).await;
    let made: Vec<u128> = made.lock().unwrap().values().map(|at| at.since(start).as_millis()).collect();
    assert_eq!(made, [2_000, 2_250]);
    assert_eq!(told.totals, [all_ok(2), all_ok(2)]);
}

#[tokio::test(start_paused = true)]
async fn producers_start_one_after_the_other_over_the_ramp_whatever_their_load() {
    let closed = Load::Closed { wait: Duration::from_secs(1), every: Duration::from_millis(500) };
    for (load, first_ms) in [(open(2.0).load, [1_000, 3_250]), (closed, [1_000, 3_000])] {
        let mut group = spec(load);
        (group.count, group.ramp) = (2, Duration::from_secs(4));
        group.active = Active { from: Duration::from_secs(1), until: Some(Duration::from_secs(5)) };
        let rig = Rig::start(&group);
        let (made, start) = (Arc::clone(&rig.made), rig.start);
        rig.until(6_000).await;
        let told = rig.finish(Duration::from_secs(1)).await;
        let made: Vec<u128> = made.lock().unwrap().values().map(|at| at.since(start).as_millis()).collect();
        assert_eq!(made, first_ms);
        assert_eq!(
            told.totals.iter().map(|totals| totals.due).collect::<Vec<_>>(),
            told.totals.iter().map(|totals| totals.ok).collect::<Vec<_>>()
        );
        assert!(told.totals[1].due < told.totals[0].due, "{:?}", told.totals);
    }
}

#[tokio::test(start_paused = true)]
async fn senders_of_a_shared_client_have_their_own_figures() {
    let mut group = open(10.0);
    (group.count, group.share) = (3, NonZeroU32::new(2));
    let rig = Rig::start(&group);
    let made = Arc::clone(&rig.made);
    rig.until(1_000).await;
    let told = rig.finish(Duration::from_secs(1)).await;
    assert_eq!(made.lock().unwrap().keys().cloned().collect::<Vec<_>>(), ["g-0", "g-1"]);
    assert_eq!(told.totals.iter().map(|totals| totals.ok).sum::<u64>(), told.totals.iter().map(|totals| totals.due).sum::<u64>());
    assert!(told.totals.len() == 3 && told.totals.iter().all(|totals| totals.ok >= 10), "{:?}", told.totals);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_group_ends_it() {
    let Rig { handle, clock, start, values, closed, .. } = Rig::start(&open(100.0));
    tokio::time::sleep_until(clock.instant_of(start + Duration::from_secs(1))).await;
    drop(handle);
    let sent = values.lock().unwrap().len();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((values.lock().unwrap().len(), closed.load(Ordering::Relaxed)), (sent, 2));
}

#[test]
fn metadata_requests_are_counted_when_sent_and_told_when_they_end() {
    let (facts, mut source) = sink::channel(Moment(0), 0, 64);
    let recorder = Arc::new(GroupRecorder::new(&open(1.0), facts, Arc::new(Ledger::new(0)), Tells::EVERYTHING));
    let client = crate::engine::recorder::client::ClientRecorder::new(recorder, crate::ids::ProducerIndex(0), 1, Moment(0));
    let sent =
        |reason| ClientEvent::MetadataRequestSent { node: crate::ids::BrokerId(1), reason, full: true, topics: 1, request_bytes: 40 };
    client.event(Moment(5), &sent(UpdateReason::Age));
    let facts = client.finish(Moment(100), &[(0, 0)], None);
    let [Fact::MetadataRequest { outcome, reason, round_trip_us: 95, .. }, Fact::ProducerTotals { metadata_requests, .. }] = &facts[..]
    else {
        panic!("{facts:?}")
    };
    assert_eq!((outcome.as_str(), reason.as_str()), ("unanswered", "age"));
    assert_eq!(metadata_requests.as_ref().unwrap().get("age"), Some(&1));
    assert!(source.try_next().is_none());
}
