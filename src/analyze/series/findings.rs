//! What pictures of a run are drawn from, as plain values: lines over time, curves, lanes of states, a map of outages.
//!
//! Times are in milliseconds since the start of `steady`. `None` is unknown: a gap, never 0. Field names are an interface: the page's script
//! reads them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::number::Number;

/// A line: one figure per bucket.
pub type Figures<F> = Vec<Option<F>>;

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SeriesFinding {
    /// Begin of what can be drawn.
    pub from_ms: i64,
    /// Its end.
    pub to_ms: i64,
    /// Phases in order.
    pub phases: Vec<PhaseSpan>,
    /// Load over time.
    pub timeline: Timeline,
    /// Nodes over time.
    pub brokers: NodeLines,
    /// Latency by percentile.
    pub percentiles: Vec<PercentileCurve>,
    /// What the controller's log said of partitions, and how far they were readable.
    pub partitions: Lanes,
    /// What producers believed.
    pub caches: Caches,
    /// Which pair was out of service at which step.
    pub outages: OutageMap,
}

/// A phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PhaseSpan {
    /// Such as `warm-up`.
    pub name: &'static str,
    /// Its begin.
    pub from_ms: i64,
    /// Its end; that of the facts, if the run was cut off.
    pub to_ms: i64,
}

/// Load over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// Begin of each bucket.
    pub time_ms: Vec<i64>,
    /// Length of a bucket.
    pub bucket_ms: i64,
    /// Groups in plan order.
    pub groups: Vec<GroupLines>,
    /// Groups beyond the bound.
    pub groups_left_out: u64,
    /// Groups of requesters in plan order.
    pub requesters: Vec<RequesterLines>,
    /// Groups of requesters beyond the bound.
    pub requesters_left_out: u64,
    /// The load generator.
    pub generator: GeneratorLines,
}

/// A group over time. Counts are per second; of states, and of greatest values, the greatest in the bucket.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GroupLines {
    /// The group.
    pub name: String,
    /// Records that became due.
    pub due: Figures<Number>,
    /// Records acknowledged.
    pub ok: Figures<Number>,
    /// Records that failed.
    pub failed: Figures<Number>,
    /// Records of which nobody knows.
    pub indeterminate: Figures<Number>,
    /// Records handed over and not yet known.
    pub in_flight: Figures<u64>,
    /// Pairs without service.
    pub stalled_pairs: Figures<u64>,
    /// Metadata requests by reason; `None`: the client never counts them.
    pub requests: Option<BTreeMap<String, Figures<Number>>>,
    /// Response time: median.
    pub response_p50_us: Figures<u64>,
    /// 99 % were not above it.
    pub response_p99_us: Figures<u64>,
    /// The greatest.
    pub response_max_us: Figures<u64>,
    /// Service time: median.
    pub service_p50_us: Figures<u64>,
    /// 99 % were not above it.
    pub service_p99_us: Figures<u64>,
    /// The greatest.
    pub service_max_us: Figures<u64>,
}

/// A group of requesters over time, per second.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RequesterLines {
    /// The group.
    pub name: String,
    /// Requests sent.
    pub sent: Figures<Number>,
    /// Requests that never will be.
    pub failed: Figures<Number>,
}

/// The load generator over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GeneratorLines {
    /// Lateness of sends: median.
    pub lateness_p50_us: Figures<u64>,
    /// 99 % were not later.
    pub lateness_p99_us: Figures<u64>,
    /// The latest.
    pub lateness_max_us: Figures<u64>,
    /// CPU, of one core.
    pub cpu_percent: Figures<Number>,
    /// Resident memory, the greatest in the bucket.
    pub rss_bytes: Figures<u64>,
}

/// Nodes over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NodeLines {
    /// Begin of each bucket.
    pub time_ms: Vec<i64>,
    /// Length of a bucket.
    pub bucket_ms: i64,
    /// By id.
    pub nodes: Vec<NodeLine>,
    /// Nodes beyond the bound.
    pub left_out: u64,
}

/// A node over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NodeLine {
    /// `node.id`.
    pub node: i32,
    /// As the container engine says; of a wide bucket the last that is not `running`, if there was one.
    pub state: Figures<String>,
    /// CPU, of one core.
    pub cpu_percent: Figures<Number>,
    /// Memory, the greatest in the bucket.
    pub memory_bytes: Figures<u64>,
    /// Partitions led with too small an ISR, the most in the bucket.
    pub under_replicated: Figures<u64>,
    /// Partitions led, at the end.
    pub leaders: Figures<u64>,
}

/// Latencies of a group by percentile.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PercentileCurve {
    /// The group.
    pub group: String,
    /// `baseline` or `after`.
    pub window: &'static str,
    /// `response` or `service`.
    pub kind: &'static str,
    /// How many records.
    pub count: u64,
    /// Percentile and value, in order; the last is 100 and the greatest, exact.
    pub points: Vec<(f64, u64)>,
}

/// Partitions over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Lanes {
    /// By topic and index.
    pub topics: Vec<Lane>,
    /// Partitions beyond the bound; those that changed least.
    pub left_out: u64,
}

/// Time, leader, leader epoch, ISR, how many replicas it has. No leader and no epoch: the topic is gone.
pub type PartitionEvent = (i64, Option<i32>, Option<i32>, Vec<i32>, usize);

/// A partition over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Lane {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// By the controller's log, committed or not.
    pub events: Vec<PartitionEvent>,
    /// Events beyond the bound.
    pub events_left_out: u64,
    /// From when on the last event says nothing any more: the next one found no room, or nobody told of the log from then on. `None`: it holds
    /// to the end.
    pub known_until_ms: Option<i64>,
    /// By its leader's word, at ends of seconds.
    pub high_watermark: Vec<(i64, Option<i64>)>,
}

/// What producers' caches showed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Caches {
    /// Partition counts of topics.
    pub counts: Vec<CountLane>,
    /// Of these, lanes beyond the bound.
    pub counts_left_out: u64,
    /// Events of lanes that were not even kept.
    pub counts_refused: u64,
    /// Leaders of partitions.
    pub leaders: Vec<LeaderLane>,
    /// Of these, lanes beyond the bound.
    pub leaders_left_out: u64,
    /// Events of lanes that were not even kept.
    pub leaders_refused: u64,
    /// Groups some of whose producers never told, in plan order.
    pub untold: Vec<UntoldCaches>,
}

/// Clients of a group whose caches nobody knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UntoldCaches {
    /// The group.
    pub group: String,
    /// Its clients: its producers, but for those that share one.
    pub clients: u64,
    /// Those that never told of a partition count.
    pub counts: u64,
    /// Those that never told of a leader.
    pub leaders: u64,
}

/// A topic in a producer's cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CountLane {
    /// The group.
    pub group: String,
    /// The producer.
    pub producer: u32,
    /// The topic.
    pub topic: String,
    /// Time, partition count, and the reason of the request that brought it.
    pub events: Vec<(i64, u32, Option<String>)>,
    /// Events beyond the bound.
    pub events_left_out: u64,
    /// From when on the last event says nothing any more: the next one found no room, or the producer was at its end. `None`: it holds to the
    /// end.
    pub known_until_ms: Option<i64>,
}

/// A partition in a producer's cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LeaderLane {
    /// The group.
    pub group: String,
    /// The producer.
    pub producer: u32,
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// Time and leader.
    pub events: Vec<(i64, Option<i32>)>,
    /// Events beyond the bound.
    pub events_left_out: u64,
    /// From when on the last event says nothing any more, as of [`CountLane`].
    pub known_until_ms: Option<i64>,
}

/// Outages by step, producer and partition.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OutageMap {
    /// Producers.
    pub rows: Vec<OutageRow>,
    /// Producers beyond the bound; those whose longest outage was shortest.
    pub rows_left_out: u64,
    /// Partitions.
    pub columns: Vec<OutageColumn>,
    /// Partitions beyond the bound; those whose longest outage was shortest.
    pub columns_left_out: u64,
    /// By row and column: when the pair's first record was due; `None`: it never had one, so that it can have no outage.
    pub first_due_ms: Vec<Figures<i64>>,
    /// Steps that had any, in the order of firing.
    pub steps: Vec<OutageStep>,
    /// Steps beyond the bound; those whose longest outage was shortest, or all of whose outages are of rows and columns beyond theirs.
    pub steps_left_out: u64,
    /// Outages beyond all these bounds.
    pub left_out: u64,
}

/// A producer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutageRow {
    /// The group.
    pub group: String,
    /// The producer.
    pub producer: u32,
    /// Up to when its group had records due; `None`: it told of none.
    pub due_until_ms: Option<i64>,
}

/// A partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutageColumn {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
}

/// Row, column, length of the longest outage, whether all ended.
pub type OutageCell = (usize, usize, i64, bool);

/// What a step did to pairs; those without an outage are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutageStep {
    /// The step.
    pub step: u32,
    /// When it was requested.
    pub requested_ms: i64,
    /// Up to when it answers for outages; `None`: to the end.
    pub until_ms: Option<i64>,
    /// By row and column.
    pub cells: Vec<OutageCell>,
}
