//! The facts of made-up runs, for pages of any size and with any names: what `facts.jsonl` of a real run holds, in small numbers of kinds.
//! Figures are arithmetic, so the same shape gives the same facts.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use kafka_chaos::record::histogram::LatencyHistogram;
use serde_json::{Value, json};

const WARMUP_S: i64 = 10;
const NODES: i64 = 3;
/// Partitions whose offsets are asked for.
const PROBED: i64 = 12;
/// Producers of a group that tell what their caches show: more would only be left out.
const TELLING: u32 = 4;
const TOPIC_ID: &str = "beb9731f-943b-46ea-bc87-75b9248c9f58";

/// How large a run is, and what its things are called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The plan's name.
    pub(crate) plan: &'static str,
    /// Groups of producers.
    pub(crate) groups: &'static [&'static str],
    /// Producers in each.
    pub(crate) producers: u32,
    /// The topic.
    pub(crate) topic: &'static str,
    /// Its partitions.
    pub(crate) partitions: i64,
    /// Seconds of load, those of the warm-up apart.
    pub(crate) seconds: i64,
    /// Seconds between two steps: a node is killed, then started again.
    pub(crate) step_every_s: i64,
    /// What steps and errors say.
    pub(crate) text: &'static str,
}

/// A run as plans have them: two groups, three nodes, two kills.
pub(crate) const ORDINARY: Shape = Shape {
    plan: "ordinary",
    groups: &["steady", "sparse"],
    producers: 4,
    topic: "orders",
    partitions: 6,
    seconds: 60,
    step_every_s: 12,
    text: "exit code 137",
};

/// Writes `facts.jsonl` of such a run into a folder.
pub(crate) fn write(shape: Shape, folder: &Path) {
    let mut run = Run { shape, lines: String::new(), histograms: HashMap::new() };
    run.start();
    run.cluster();
    for second in -WARMUP_S..shape.seconds {
        run.second(second);
    }
    run.end();
    std::fs::write(folder.join("facts.jsonl"), run.lines).unwrap();
}

struct Run {
    shape: Shape,
    lines: String,
    /// Those made so far: making one costs more than all else of a second.
    histograms: HashMap<(u64, u64), Value>,
}

impl Run {
    fn fact(&mut self, at_ms: i64, kind: &str, mut fields: Value) {
        fields["time_us"] = json!(at_ms * 1000);
        fields["worker"] = json!(0);
        fields["fact"] = json!(kind);
        writeln!(self.lines, "{fields}").unwrap();
    }

    fn histogram(&mut self, count: u64, middle_us: u64) -> Value {
        self.histograms.entry((count, middle_us)).or_insert_with(|| histogram_of(count, middle_us)).clone()
    }

    fn start(&mut self) {
        let shape = self.shape;
        let groups: Vec<_> =
            shape.groups.iter().map(|name| json!({"name": name, "engine": "native", "producers": shape.producers})).collect();
        self.fact(
            -WARMUP_S * 1000,
            "run_started",
            json!({
                "run_id": "d3a54246", "plan": shape.plan, "plan_text": format!("# {}\nname = \"{}\"\n", shape.text, shape.plan),
                "plan_sha256": "00", "plan_path": format!("plans/{}.toml", shape.plan), "seed": 7, "steady_at": "2026-11-29T23:42:00Z",
                "versions": {"chaos": "0.1.0", "kafka": "4.3.0"}, "machine": {"cores": "2"},
                "phases_us": [WARMUP_S * 1_000_000, 10_000_000, 10_000_000], "groups": groups,
                "requesters": [{"name": "storm", "requesters": 2, "list": "all"}], "warnings": [shape.text],
            }),
        );
        self.fact(-WARMUP_S * 1000, "expected", json!({"metric": "records.failed", "group": null, "comparison": "==", "value": 0.0}));
        for (phase, at) in [("warmup", -WARMUP_S), ("steady", 0), ("steps", 10), ("recovery", shape.seconds - 10)] {
            self.fact(at * 1000, "phase_started", json!({"phase": phase}));
        }
    }

    /// What the controller's log, the brokers' caches and the producers say at the beginning.
    fn cluster(&mut self) {
        let shape = self.shape;
        let partitions: Vec<_> = (0..shape.partitions).map(|partition| self.partition(partition, 0)).collect();
        let brokers: Vec<_> = (1..=NODES)
            .map(|broker| json!({"broker": broker, "broker_epoch": 10 + broker, "is_fenced": false, "in_controlled_shutdown": false}))
            .collect();
        let image = json!({"offset": 35, "controller": 3, "brokers": brokers, "partitions": partitions});
        self.fact(-9900, "controller_image", image);
        for group in shape.groups {
            self.fact(-9990, "group_started", json!({"group": group, "warnings": []}));
            for producer in 0..shape.producers {
                let who = json!({"group": group, "producer": producer, "topic": shape.topic, "topic_id": TOPIC_ID});
                let count = merged(&who, json!({"from": 0, "to": shape.partitions, "node": -2, "reason": "start", "update_version": 2}));
                self.fact(-9800, "partition_count", count);
                self.fact(
                    -9000,
                    "first_ack",
                    json!({"group": group, "producer": producer, "connected_us": 400, "ready_us": 90_000 + 1000 * producer,
                           "metadata_us": 150_000, "producer_id_us": 500_000, "ack_us": 1_100_000 + 10_000 * u64::from(producer)}),
                );
                for partition in 0..shape.partitions {
                    let at = merged(&who, json!({"partition": partition}));
                    let first = merged(&at, json!({"from": null, "to": leader(partition, 0), "epoch": 0, "node": -2, "update_version": 2}));
                    if producer < TELLING {
                        self.fact(-9790, "leader_seen", first);
                    }
                    if is_used(shape, producer, partition) {
                        self.fact(-8900, "partition_first_used", merged(&at, json!({"due_us": -9_000_000})));
                    }
                }
            }
        }
    }

    fn partition(&self, partition: i64, epoch: i64) -> Value {
        let isr: Vec<_> = (1..=NODES).filter(|node| epoch % 2 == 0 || *node != leader(partition, epoch - 1)).collect();
        json!({"topic": self.shape.topic, "topic_id": TOPIC_ID, "partition": partition, "leader": leader(partition, epoch),
               "leader_epoch": epoch, "partition_epoch": epoch, "replicas": [1, 2, 3], "isr": isr, "elr": [], "is_unclean": false})
    }

    fn second(&mut self, second: i64) {
        let end_ms = (second + 1) * 1000;
        let since_step = second.rem_euclid(self.shape.step_every_s);
        let in_steps = (10..self.shape.seconds - 10).contains(&second);
        if in_steps && since_step == 0 {
            self.step(second);
        }
        // After each step the load stands for three seconds.
        let stands = in_steps && since_step < 3;
        for group in self.shape.groups {
            let rate = 20 * u64::from(self.shape.producers);
            let ok = if stands { 0 } else { rate };
            let failed = u64::from(stands && since_step == 2);
            let named = [("response_ok", self.histogram(ok, 3000)), ("service_ok", self.histogram(ok, 2000))];
            let histograms: serde_json::Map<_, _> =
                named.into_iter().filter(|(_, text)| text.is_string()).map(|(name, text)| (name.to_owned(), text)).collect();
            self.fact(
                end_ms,
                "second",
                json!({
                    "group": group, "second": second,
                    "counts": {"due": rate, "sent": rate, "ok": ok - failed.min(ok), "failed": failed, "indeterminate": failed},
                    "blocked_metadata": 0, "blocked_memory": 0, "in_flight": if stands { rate * 3 } else { 4 }, "buffer_free_bytes": 33_000_000,
                    "metadata_requests": if stands { json!({"disconnect": self.shape.producers, "produce_error": 1}) } else { json!({"age": 1}) },
                    "metadata_request_bytes": 50, "metadata_response_bytes": 400, "metadata_age_max_ms": 1000,
                    "cached_partitions_min": self.shape.partitions, "cached_partitions_max": self.shape.partitions,
                    "partitions_used_max": self.shape.partitions, "stalled_pairs": if stands { 2 } else { 0 }, "stalled_max_ms": 0,
                    "histograms": histograms, "out_of_range": 0,
                }),
            );
        }
        self.watch(second, end_ms);
    }

    /// What is seen of requesters, brokers and the generator itself.
    fn watch(&mut self, second: i64, end_ms: i64) {
        let (lateness, times) = (self.histogram(80, 900), self.histogram(9, 4000));
        let cpu_us_total = 90_000 * (second + WARMUP_S + 1);
        self.fact(
            end_ms,
            "generator",
            json!({"second": second, "lateness": lateness, "lateness_max_us": 1800, "cpu_us_total": cpu_us_total,
                   "rss_bytes": 16_000_000 + 1000 * second.unsigned_abs(), "threads": 5}),
        );
        self.fact(
            end_ms,
            "requester_second",
            json!({"group": "storm", "second": second, "due": 10, "sent": 10, "ok": 9, "failed": 1, "in_flight": 0, "connected": 2,
                   "request_bytes": 400, "response_bytes": 9000, "topics_max": 1, "partitions_max": self.shape.partitions,
                   "by_node": {"1": 10}, "errors": {"timed_out": 1}, "round_trip": times, "round_trip_max_us": 8000,
                   "response": times, "response_max_us": 8000}),
        );
        for node in 1..=NODES {
            let probed: Vec<_> = (0..self.shape.partitions.min(PROBED))
                .filter(|partition| leader(*partition, 0) == node)
                .map(|partition| {
                    let end = 20 * (second + WARMUP_S);
                    json!({"topic": self.shape.topic, "partition": partition, "leader_epoch": 0, "replicas": 3,
                           "high_watermark": end, "log_end_offset": end})
                })
                .collect();
            let usage = json!({"read_at_us": end_ms * 1000, "cpu_us_total": 400_000 * (second + WARMUP_S) + 9000 * node,
                               "memory_bytes": 340_000_000 + node, "rx_bytes_total": 39_022, "tx_bytes_total": 37_299});
            let led = json!({"leaders": probed.len(), "under_replicated": 0, "probed": probed});
            let state = if node == 1 && self.is_killed(second) { "exited" } else { "running" };
            self.fact(end_ms, "broker", json!({"second": second, "node": node, "state": state, "usage": usage, "led": led}));
        }
    }

    /// Whether the last step up to then has killed the node.
    fn is_killed(&self, second: i64) -> bool {
        let every_s = self.shape.step_every_s;
        let at = second.min(self.shape.seconds - 11).div_euclid(every_s) * every_s;
        at >= 10 && ((at - 10) / every_s) % 2 == 0
    }

    /// A node is killed, or started again: leaders move, producers stall and learn.
    fn step(&mut self, second: i64) {
        let shape = self.shape;
        let number = (second - 10) / shape.step_every_s + 1;
        let at_ms = second * 1000;
        let action = if number % 2 == 1 { "kill" } else { "start" };
        let step = json!({"step": number});
        let requested =
            json!({"parent": null, "round": null, "action": action, "target": shape.text, "nodes": [1], "was_controller": false});
        self.fact(at_ms, "step_requested", merged(&step, requested));
        self.fact(at_ms + 200, "step_acknowledged", step.clone());
        self.fact(at_ms + 300, "step_observed", merged(&step, json!({"detail": shape.text})));
        self.fact(at_ms + 310, "step_finished", merged(&step, json!({"outcome": "done", "detail": ""})));
        for partition in (0..shape.partitions).filter(|partition| leader(*partition, number - 1) != leader(*partition, number)).take(200) {
            let mut record = self.partition(partition, number);
            record["offset"] = json!(100 + number * 1000 + partition);
            record["controller_epoch"] = json!(1);
            record["controller_time_us"] = json!((at_ms + 1500) * 1000);
            record["change"] = json!("partition_changed");
            self.fact(at_ms + 1600, "controller_record", record);
            for (group, producer) in shape.groups.iter().flat_map(|group| (0..shape.producers).map(move |producer| (group, producer))) {
                let pair = json!({"group": group, "producer": producer, "topic": shape.topic, "partition": partition});
                let seen = json!({"topic_id": TOPIC_ID, "from": leader(partition, number - 1), "to": leader(partition, number),
                                  "epoch": number, "node": 2, "update_version": number + 2});
                if producer < TELLING {
                    self.fact(at_ms + 1800, "leader_seen", merged(&pair, seen));
                }
                let gap = json!({"last_ok_us": (at_ms - 50) * 1000, "first_due_us": at_ms * 1000, "first_error_us": null,
                                 "first_ok_us": (at_ms + 2500 + 7 * partition + i64::from(producer)) * 1000});
                if is_used(shape, producer, partition) {
                    self.fact(at_ms + 2900, "gap", merged(&pair, gap));
                }
            }
        }
        if number == 1 {
            self.grow(at_ms + 2500);
        }
        for group in shape.groups {
            let at = (at_ms + 2000) * 1000;
            let errors = json!({"group": group, "outcome": "failed", "kind": "TimeoutException", "code": 7, "text": shape.text, "count": 1,
                                "first_us": at, "last_us": at});
            self.fact(at_ms + 3000, "record_errors", errors);
        }
    }

    /// All producers but the last of each group learn of one partition more.
    fn grow(&mut self, at_ms: i64) {
        let shape = self.shape;
        for (group, producer) in shape.groups.iter().flat_map(|group| (1..shape.producers).map(move |after| (group, after - 1))) {
            let count = json!({"group": group, "producer": producer, "topic": shape.topic, "topic_id": TOPIC_ID, "from": shape.partitions,
                               "to": shape.partitions + 1, "node": 2, "reason": "age", "update_version": 3});
            self.fact(at_ms, "partition_count", count);
        }
    }

    fn end(&mut self) {
        let end_ms = self.shape.seconds * 1000;
        let first = json!({"group": self.shape.groups[0], "producer": 0, "metadata_requests": null, "blocked_metadata_us": 0,
                           "totals": {"due": 1, "sent": 1, "ok": 1, "failed": 0, "indeterminate": 0},
                           "blocked_memory_us": 0, "cached_partitions": null});
        self.fact(end_ms - 5000, "producer_totals", first);
        self.fact(end_ms, "phase_started", json!({"phase": "drain"}));
        self.fact(end_ms + 50, "phase_started", json!({"phase": "end"}));
        self.fact(end_ms + 60, "run_ended", json!({"interrupted": null}));
    }
}

/// The first producer of a group has no key for the last partition.
fn is_used(shape: Shape, producer: u32, partition: i64) -> bool {
    producer > 0 || partition + 1 < shape.partitions
}

/// Each step moves every other partition on.
fn leader(partition: i64, epoch: i64) -> i64 {
    (partition + (epoch + partition % 2) / 2) % NODES + 1
}

/// So many values around one; null without any.
fn histogram_of(count: u64, middle_us: u64) -> Value {
    if count == 0 {
        return Value::Null;
    }
    let mut histogram = LatencyHistogram::new();
    for at in 0..count {
        histogram.record(middle_us / 2 + middle_us * at / count);
    }
    json!(histogram.encode().unwrap())
}

/// Both objects' fields.
fn merged(first: &Value, second: Value) -> Value {
    let mut both = first.as_object().unwrap().clone();
    let Value::Object(second) = second else { panic!("{second} is no object") };
    both.extend(second);
    Value::Object(both)
}
