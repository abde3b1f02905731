//! Conditions on the figures of a run, and the figures that they can name.

/// A condition on a metric of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// Which figure.
    pub metric: Metric,
    /// Of which group; `None`: over all groups.
    pub group: Option<String>,
    /// How it is compared.
    pub comparison: Comparison,
    /// With what: records, milliseconds or a plain number, as the metric says.
    pub value: f64,
    /// Line in the plan, from 1.
    pub line: usize,
}

/// Figures that an expectation can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// `records.due`
    RecordsDue,
    /// `records.ok`
    RecordsOk,
    /// `records.failed`
    RecordsFailed,
    /// `records.indeterminate`
    RecordsIndeterminate,
    /// `outage.max`: longest outage of any step, producer and partition, in ms.
    OutageMaxMs,
    /// `outage.median`: median over all rows whose outage is not zero, in ms; 0 without any.
    OutageMedianMs,
    /// `outage.hang`: producer-partition pairs that never recovered.
    OutageHang,
    /// `latency.p99`: response time in the baseline, in ms.
    BaselineResponseP99Ms,
    /// `metadata-requests.per-producer`: highest count of any producer over its life.
    MetadataRequestsPerProducerMax,
    /// `metadata-requests.by-age.per-producer`: the same, those sent for age alone.
    MetadataRequestsByAgePerProducerMax,
    /// `partitions.cached.min`: lowest partition count that any producer's cache holds of any of its topics at the end.
    PartitionsCachedMin,
    /// `partitions.cached.max`: the highest.
    PartitionsCachedMax,
}

impl Metric {
    /// All metrics with their names in plans.
    pub const ALL: [(Self, &'static str); 12] = [
        (Self::RecordsDue, "records.due"),
        (Self::RecordsOk, "records.ok"),
        (Self::RecordsFailed, "records.failed"),
        (Self::RecordsIndeterminate, "records.indeterminate"),
        (Self::OutageMaxMs, "outage.max"),
        (Self::OutageMedianMs, "outage.median"),
        (Self::OutageHang, "outage.hang"),
        (Self::BaselineResponseP99Ms, "latency.p99"),
        (Self::MetadataRequestsPerProducerMax, "metadata-requests.per-producer"),
        (Self::MetadataRequestsByAgePerProducerMax, "metadata-requests.by-age.per-producer"),
        (Self::PartitionsCachedMin, "partitions.cached.min"),
        (Self::PartitionsCachedMax, "partitions.cached.max"),
    ];

    /// The metric's name in plans.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(metric, _)| *metric == self).map_or("", |(_, name)| name)
    }
}

/// Comparison of a figure with a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// All comparisons with their signs in plans, longest first, so that a prefix search finds `<=` before `<`.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Equal, "=="),
        (Self::NotEqual, "!="),
        (Self::LessOrEqual, "<="),
        (Self::GreaterOrEqual, ">="),
        (Self::Less, "<"),
        (Self::Greater, ">"),
    ];

    /// The comparison's sign.
    #[must_use]
    pub fn sign(self) -> &'static str {
        Self::ALL.iter().find(|(comparison, _)| *comparison == self).map_or("", |(_, sign)| sign)
    }

    /// Whether `left` stands in this relation to `right`.
    #[must_use]
    #[allow(clippy::float_cmp, reason = "counts are exact in f64, and a plan that says == means it")]
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
        }
    }
}
