//! The figures of a run that can be asked for by name: in expectations of a plan, in comparisons of runs.
//!
//! Only their names and what they are; `analyze::figures` measures them. Names are an interface: plans, facts and result files hold them.

mod table;

use serde::{Deserialize, Serialize};

use super::Window;

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Records by what became of them.
    Records(Fate),
    /// Records by what the topics held afterwards.
    Audited(Audited),
    /// Share of failed records in those of which it is known what became of them.
    RecordsFailedPercent,
    /// Acknowledged records per second.
    RecordsOkPerSecond,
    /// Outages; 0 without any.
    Outage(Point),
    /// Producer-partition pairs that had an outage.
    OutageStalled,
    /// Producer-partition pairs that never recovered.
    OutageHang,
    /// Latency of acknowledged records.
    Latency(Since, Quantile),
    /// Metadata requests and their answers.
    Requests(Asker, Asked),
    /// Metadata requests of producers for one reason, by its name in facts.
    RequestsByReason(&'static str),
    /// Most Metadata requests of any producer.
    RequestsPerProducerMax,
    /// Median of producers' Metadata requests.
    RequestsPerProducerMedian,
    /// Most Metadata requests for age alone of any producer.
    RequestsByAgePerProducerMax,
    /// Most Metadata requests of any one producer in any one second.
    RequestsPerProducerSecondMax,
    /// From a record's due time to its arrival at a consumer.
    EndToEnd(Quantile),
    /// Records that arrived at consumers.
    ConsumersRecords,
    /// Requests of requesters that were answered.
    RequestersOk,
    /// Requests of requesters that were not.
    RequestersFailed,
    /// When a layer showed a change, by the layer's name in facts: since the step's request.
    Layer(&'static str, Point),
    /// When producers' caches showed new partitions: since the step was observed.
    GrowthCached(Point),
    /// When producers got a record acknowledged on a new partition: since their caches showed it.
    GrowthFirstUse(Point),
    /// Producers whose caches never showed the new partitions.
    GrowthNever,
    /// A producer's way to its first acknowledged record, since its construction.
    FirstAck(Stage, Point),
    /// Least partition count of a topic in any producer's cache at the end.
    PartitionsCachedMin,
    /// Greatest.
    PartitionsCachedMax,
    /// Time that sends waited for metadata, over all producers.
    BlockedMetadata,
    /// Time that sends waited for memory, over all producers.
    BlockedMemory,
    /// CPU of a node, the mean over nodes.
    BrokerCpuPercent,
    /// CPU of a node in its worst second, the greatest of all nodes.
    BrokerCpuPercentMax,
    /// Lateness of the load generator's own sends.
    GeneratorLateness(Quantile),
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// It became due.
    Due,
    /// It was handed to the client.
    Sent,
    /// It was acknowledged.
    Ok,
    /// It is certainly not in the log.
    Failed,
    /// It may be in the log.
    Indeterminate,
}

/// What the audit found of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Audited {
    /// They are there.
    Found,
    /// Acknowledged, and not there.
    Lost,
    /// Copies beyond the first.
    Duplicated,
    /// Behind one that was sent later.
    OutOfOrder,
    /// Certainly failed, and there all the same.
    FailedFound,
    /// Indeterminate, and there.
    IndeterminateFound,
    /// With a broken checksum; of no group.
    Corrupt,
    /// Of nobody in this run; of no group.
    Foreign,
}

/// A point of several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Point {
    /// The middle one.
    Median,
    /// The one that 99 % do not exceed.
    P99,
    /// The greatest.
    Max,
}

/// A quantile of very many values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantile {
    /// Half of them are not above it.
    P50,
    /// 90 %.
    P90,
    /// 99 %.
    P99,
    /// 99.9 %.
    P999,
    /// 99.99 %.
    P9999,
    /// The greatest, exact.
    Max,
}

/// Since when a record's latency is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Since {
    /// It was due: response time.
    Due,
    /// It was sent: service time.
    Sent,
}

/// Who asks for metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Asker {
    /// Producers.
    Producers,
    /// Requesters.
    Requesters,
}

/// What is told of Metadata requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Asked {
    /// How many were sent.
    Total,
    /// How many per second.
    PerSecond,
    /// Most in one second, of one group.
    PerSecondMax,
    /// How many per second, of 1,000 clients.
    PerSecondPer1000Clients,
    /// Bytes sent.
    RequestBytes,
    /// Bytes received.
    ResponseBytes,
    /// Bytes received per second.
    ResponseBytesPerSecond,
    /// From send to answer.
    RoundTrip(Quantile),
}

/// A stage of a producer's way to its first acknowledged record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// The first connection is up.
    Connected,
    /// Its ApiVersions are answered.
    Ready,
    /// The first topic is in the snapshot.
    Metadata,
    /// The producer id is there.
    ProducerId,
    /// The first record is acknowledged.
    Acknowledged,
}

/// What a figure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Unit {
    /// A plain number.
    #[serde(rename = "count")]
    Count,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Ms,
    /// Per cent; of CPU: of one core.
    #[serde(rename = "%")]
    Percent,
    /// Per second.
    #[serde(rename = "per second")]
    PerSecond,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// Bytes per second.
    #[serde(rename = "bytes per second")]
    BytesPerSecond,
}

/// Windows that a metric knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Windows {
    /// Every one.
    Any,
    /// Those of steps.
    OfSteps,
    /// `baseline`, `after` and `run`.
    Phases,
    /// `run` alone.
    Run,
}

/// Whose figure a metric can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Groups {
    /// Of all groups of producers, or of one.
    Producers,
    /// Of all groups of requesters, or of one.
    Requesters,
    /// Of all consumers, or of one.
    Consumers,
    /// Of no group.
    None,
}

/// What a metric is.
#[derive(Clone, Debug)]
pub struct MetricInfo {
    /// Which.
    pub metric: Metric,
    /// Its name in plans and files.
    pub name: &'static str,
    /// What it is counted in.
    pub unit: Unit,
    /// Which windows it knows.
    pub windows: Windows,
    /// The window that is meant where none is given.
    pub window: Window,
    /// Whose it can be.
    pub groups: Groups,
    /// What it is, in a few words.
    pub about: &'static str,
}

impl Metric {
    /// All metrics, in the order of the documentation.
    #[must_use]
    pub fn all() -> &'static [MetricInfo] {
        &table::METRICS
    }

    /// The metric of a name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::all().iter().find(|info| info.name == name).map(|info| info.metric)
    }

    /// What it is.
    ///
    /// # Panics
    /// Never: a test finds every metric that can be made from a name in the table, and metrics come from names.
    #[must_use]
    #[allow(clippy::expect_used, reason = "metrics are made from the table")]
    pub fn info(self) -> &'static MetricInfo {
        Self::all().iter().find(|info| info.metric == self).expect("every metric is in the table")
    }

    /// Its name in plans and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.info().name
    }
}

impl Windows {
    /// Whether it holds this one.
    #[must_use]
    pub fn know(self, window: &Window) -> bool {
        match self {
            Self::Any => true,
            Self::OfSteps => window.is_of_steps(),
            Self::Phases => matches!(window, Window::Baseline | Window::After | Window::Run),
            Self::Run => *window == Window::Run,
        }
    }

    /// Whether what happened in this window can be left out of another.
    #[must_use]
    pub fn can_leave_out(self, window: &Window) -> bool {
        matches!(self, Self::Any | Self::OfSteps) && self.know(window) && *window != Window::Run
    }
}

impl Unit {
    /// Its name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Ms => "ms",
            Self::Percent => "%",
            Self::PerSecond => "per second",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes per second",
        }
    }

    /// The unit as it follows a number, with the space before it; empty for a plain number.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Count => "",
            Self::Ms => " ms",
            Self::Percent => " %",
            Self::PerSecond => " /s",
            Self::Bytes => " B",
            Self::BytesPerSecond => " B/s",
        }
    }
}

impl Quantile {
    /// The share of values that are not above it.
    #[must_use]
    pub fn share(self) -> f64 {
        match self {
            Self::P50 => 0.5,
            Self::P90 => 0.9,
            Self::P99 => 0.99,
            Self::P999 => 0.999,
            Self::P9999 => 0.9999,
            Self::Max => 1.0,
        }
    }
}
