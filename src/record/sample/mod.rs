//! Streams of facts made by hand, for tests of everything that reads facts.

mod audit;
pub(crate) mod layers;
pub(crate) mod scenes;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::ids::{BrokerId, PartitionIndex, ProducerIndex, StepNumber, TopicName, UpdateVersion};
use crate::record::broker::BrokerSecond;
use crate::record::fact::{
    ConsumerInfo, ConsumerSecond, Fact, GeneratorSecond, GroupInfo, GroupSecond, Phase, RequesterInfo, RequesterSecond, RunStarted,
    Stamped, StepOutcome, Totals,
};
use crate::record::histogram::LatencyHistogram;

/// A producer's partition in a sample; the topic is always `orders`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair(pub(crate) &'static str, pub(crate) u32, pub(crate) i32);

/// A stream that grows by calls. Times are in milliseconds since the start of `steady`.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) facts: Vec<Stamped>,
}

impl Sample {
    /// A run with 2 s of warm-up, 10 s of steady load and these groups.
    pub(crate) fn new(groups: &[(&str, u32)]) -> Self {
        let groups = groups.iter().map(|(name, producers)| GroupInfo {
            name: (*name).to_owned(),
            engine: "native".to_owned(),
            producers: *producers,
            share: None,
        });
        let run = RunStarted {
            run_id: "5f1c".to_owned(),
            plan: "sample".to_owned(),
            plan_text: "name = \"sample\"\n".to_owned(),
            plan_sha256: "ab".repeat(32),
            plan_path: "plans/sample.toml".to_owned(),
            seed: 7,
            steady_at: "2026-11-29T10:00:02Z".to_owned(),
            versions: BTreeMap::from([("chaos".to_owned(), "0.1.0".to_owned()), ("kafka".to_owned(), "4.3.0".to_owned())]),
            machine: BTreeMap::from([("cores".to_owned(), "2".to_owned())]),
            phases_us: [2_000_000, 10_000_000, 30_000_000],
            groups: groups.collect(),
            requesters: Vec::new(),
            consumers: Vec::new(),
            warnings: Vec::new(),
        };
        Self { facts: Vec::new() }
            .at(-2_000, Fact::RunStarted(Box::new(run)))
            .at(-2_000, Fact::PhaseStarted { phase: Phase::Warmup })
            .at(0, Fact::PhaseStarted { phase: Phase::Steady })
    }

    pub(crate) fn at(mut self, time_ms: i64, fact: Fact) -> Self {
        self.facts.push(Stamped { time_us: time_ms * 1000, worker: 0, fact });
        self
    }

    /// Another run: its first fact, changed.
    pub(crate) fn started(mut self, change: impl FnOnce(&mut RunStarted)) -> Self {
        let Fact::RunStarted(run) = &mut self.facts[0].fact else { panic!("the first fact is the run") };
        change(run);
        self
    }

    pub(crate) fn expect(self, metric: &str, comparison: &str, value: f64) -> Self {
        let (metric, comparison) = (metric.to_owned(), comparison.to_owned());
        self.at(-2_000, Fact::Expected { metric, group: None, window: None, except: Vec::new(), comparison, value })
    }

    /// A top-level step that is acknowledged after 100 ms and observed after 200 ms.
    pub(crate) fn step(self, step: u32, action: &str, target: &str, at_ms: i64) -> Self {
        self.child(step, None, None, action, target, at_ms).done(step, at_ms + 100, StepOutcome::Done)
    }

    /// The request of a step; a container stays open until [`Self::done`].
    pub(crate) fn child(self, step: u32, parent: Option<u32>, round: Option<u32>, action: &str, target: &str, at_ms: i64) -> Self {
        let fact = Fact::StepRequested {
            step: StepNumber(step),
            parent: parent.map(StepNumber),
            round,
            action: action.to_owned(),
            target: target.to_owned(),
            nodes: target.parse().map(BrokerId).into_iter().collect(),
            was_controller: target.parse::<i32>().ok().map(|node| node == 1),
        };
        self.at(at_ms, fact)
    }

    pub(crate) fn done(self, step: u32, at_ms: i64, outcome: StepOutcome) -> Self {
        let step = StepNumber(step);
        self.at(at_ms, Fact::StepAcknowledged { step })
            .at(at_ms + 100, Fact::StepObserved { step, detail: "seen".to_owned() })
            .at(at_ms + 100, Fact::StepFinished { step, outcome, detail: String::new() })
    }

    /// Producers `0..producers` use partitions `0..partitions` from -1 s on.
    pub(crate) fn pairs(mut self, group: &'static str, producers: u32, partitions: i32) -> Self {
        for producer in 0..producers {
            for partition in 0..partitions {
                self = self.first_used(Pair(group, producer, partition), -1_000);
            }
        }
        self
    }

    pub(crate) fn first_used(self, pair: Pair, due_ms: i64) -> Self {
        let fact = Fact::PartitionFirstUsed {
            group: pair.0.to_owned(),
            producer: ProducerIndex(pair.1),
            topic: TopicName::from("orders"),
            partition: PartitionIndex(pair.2),
            due_us: due_ms * 1000,
        };
        self.at(due_ms + 5, fact)
    }

    /// A stretch without service; `until_ms` is `None` if the run ended first.
    pub(crate) fn gap(self, pair: Pair, from_ms: i64, until_ms: Option<i64>) -> Self {
        let fact = Fact::Gap {
            group: pair.0.to_owned(),
            producer: ProducerIndex(pair.1),
            topic: TopicName::from("orders"),
            partition: PartitionIndex(pair.2),
            last_ok_us: Some((from_ms - 45) * 1000),
            first_due_us: from_ms * 1000,
            first_error_us: Some((from_ms + 2) * 1000),
            first_ok_us: until_ms.map(|ms| ms * 1000),
        };
        self.at(until_ms.unwrap_or(60_000), fact)
    }

    /// Seconds `from..until`, each with 100 records due and ok, answered within 3 ms.
    pub(crate) fn load(mut self, group: &str, from: i64, until: i64) -> Self {
        for second in from..until {
            self = self.second(group, second, |_| {});
        }
        self
    }

    pub(crate) fn second(self, group: &str, second: i64, change: impl FnOnce(&mut GroupSecond)) -> Self {
        // Made once: histograms are slow without optimization.
        static LATENCY: OnceLock<String> = OnceLock::new();
        let latency = LATENCY.get_or_init(|| {
            let mut latency = LatencyHistogram::new();
            latency.record_n(2_000, 99);
            latency.record(3_000);
            latency.encode().unwrap()
        });
        let mut figures = GroupSecond {
            group: group.to_owned(),
            second,
            counts: Totals { due: 100, sent: 100, ok: 100, failed: 0, indeterminate: 0 },
            blocked_metadata: Some(0),
            blocked_memory: Some(0),
            buffer_free_bytes: Some(33_554_432),
            metadata_requests: Some(BTreeMap::new()),
            metadata_request_bytes: Some(0),
            metadata_response_bytes: Some(0),
            metadata_age_max_ms: Some(0),
            cached_partitions_min: Some(6),
            cached_partitions_max: Some(6),
            stalled_pairs: Some(0),
            stalled_max_ms: Some(0),
            partitions_used_max: 6,
            ..GroupSecond::default()
        };
        for name in ["response_ok", "service_ok"] {
            figures.histograms.insert(name.to_owned(), latency.clone());
            figures.histogram_max_us.insert(name.to_owned(), 3_000);
        }
        change(&mut figures);
        self.at((second + 1) * 1000, Fact::Second(Box::new(figures)))
    }

    /// A second of load in which the group sent so many Metadata requests, each of 40 bytes and answered with 400 within 5 ms.
    pub(crate) fn asking(self, group: &str, second: i64, requests: u32) -> Self {
        let mut round_trip = LatencyHistogram::new();
        round_trip.record_n(5_000, requests);
        self.second(group, second, |figures| {
            let count = u64::from(requests);
            figures.metadata_requests = Some(BTreeMap::from([("disconnect".to_owned(), count)]));
            (figures.metadata_request_bytes, figures.metadata_response_bytes) = (Some(40 * count), Some(400 * count));
            if count > 0 {
                figures.histograms.insert("metadata_round_trip".to_owned(), round_trip.encode().unwrap());
                figures.histogram_max_us.insert("metadata_round_trip".to_owned(), 5_000);
            }
        })
    }

    /// A group of 20 requesters that ask for all topics: seconds `from..until`, each with 100 requests due and answered, and what `change` does to
    /// them.
    pub(crate) fn requesters(mut self, group: &str, from: i64, until: i64, change: impl Fn(&mut RequesterSecond)) -> Self {
        let info = RequesterInfo { name: group.to_owned(), requesters: 20, list: "all".to_owned() };
        for stamped in &mut self.facts {
            if let Fact::RunStarted(run) = &mut stamped.fact {
                run.requesters.push(info.clone());
            }
        }
        let mut times = LatencyHistogram::new();
        times.record_n(4_000, 99);
        times.record(9_000);
        for second in from..until {
            let mut figures = RequesterSecond {
                group: group.to_owned(),
                second,
                due: 100,
                sent: 100,
                ok: 100,
                connected: 20,
                request_bytes: 3_000,
                response_bytes: 500_000,
                topics_max: Some(10),
                partitions_max: Some(100),
                by_node: BTreeMap::from([("1".to_owned(), 50), ("2".to_owned(), 50)]),
                ..RequesterSecond::default()
            };
            figures.put_times(&times, &times).unwrap();
            change(&mut figures);
            self = self.at((second + 1) * 1000, Fact::RequesterSecond(Box::new(figures)));
        }
        self
    }

    /// A consumer: seconds `from..until`, each with 100 records of 200 B, one of them undated, and what `change` does to them.
    pub(crate) fn consumer(mut self, group: &str, from: i64, until: i64, change: impl Fn(&mut ConsumerSecond)) -> Self {
        let info = ConsumerInfo { name: group.to_owned(), topics: vec!["orders".to_owned()] };
        for stamped in &mut self.facts {
            if let Fact::RunStarted(run) = &mut stamped.fact {
                run.consumers.push(info.clone());
            }
        }
        let mut times = LatencyHistogram::new();
        times.record_n(4_000, 98);
        times.record(9_000);
        for second in from..until {
            let (group, behind) = (group.to_owned(), Some(5));
            let mut figures =
                ConsumerSecond { group, second, records: 100, undated: 1, bytes: 20_000, behind, ..ConsumerSecond::default() };
            figures.put_times(&times).unwrap();
            change(&mut figures);
            self = self.at((second + 1) * 1000, Fact::ConsumerSecond(Box::new(figures)));
        }
        self
    }

    /// Seconds of a generator that is 1 ms late and uses a tenth of a core.
    pub(crate) fn generator(mut self, from: i64, until: i64, lateness_us: u64) -> Self {
        let mut lateness = LatencyHistogram::new();
        lateness.record_n(lateness_us, 100);
        for second in from..until {
            let mut figures = GeneratorSecond {
                second,
                cpu_us_total: u64::try_from((second + 10) * 100_000).unwrap(),
                rss_bytes: 40_000_000,
                threads: 3,
                ..GeneratorSecond::default()
            };
            figures.put_lateness(&lateness).unwrap();
            self = self.at((second + 1) * 1000, Fact::Generator(Box::new(figures)));
        }
        self
    }

    /// A second of a generator with nothing due.
    pub(crate) fn generator_second(self, second: i64, change: impl FnOnce(&mut GeneratorSecond)) -> Self {
        let mut figures = GeneratorSecond { second, ..GeneratorSecond::default() };
        change(&mut figures);
        self.at((second + 1) * 1000, Fact::Generator(Box::new(figures)))
    }

    /// A node of which nothing could be learnt, unless `change` says otherwise.
    pub(crate) fn broker(self, node: i32, second: i64, change: impl FnOnce(&mut BrokerSecond)) -> Self {
        let mut seen = BrokerSecond { second, node: BrokerId(node), state: None, usage: None, led: None };
        change(&mut seen);
        self.at((second + 1) * 1000, Fact::Broker(Box::new(seen)))
    }

    pub(crate) fn request(self, group: &str, producer: u32, reason: &str, at_ms: i64) -> Self {
        let fact = Fact::MetadataRequest {
            group: group.to_owned(),
            producer: ProducerIndex(producer),
            reason: reason.to_owned(),
            code: None,
            full: Some(true),
            topics: Some(1),
            request_bytes: Some(40),
            response_bytes: Some(400),
            round_trip_us: 1_500,
            node: BrokerId(1),
            update_version: UpdateVersion(2),
            outcome: "updated".to_owned(),
        };
        self.at(at_ms, fact)
    }

    /// A producer's whole life: so many records of each kind, so many Metadata requests by reason.
    pub(crate) fn totals(self, group: &str, producer: u32, totals: Totals, requests: &[(&str, u64)], partitions: u32) -> Self {
        let fact = Fact::ProducerTotals {
            group: group.to_owned(),
            producer: ProducerIndex(producer),
            totals,
            metadata_requests: Some(requests.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect()),
            blocked_metadata_us: Some(0),
            blocked_memory_us: Some(0),
            cached_partitions: Some(BTreeMap::from([("orders".to_owned(), partitions)])),
        };
        self.at(60_000, fact)
    }

    pub(crate) fn end(self, at_ms: i64) -> Self {
        self.at(at_ms, Fact::PhaseStarted { phase: Phase::End }).at(at_ms, Fact::RunEnded { interrupted: None })
    }
}
