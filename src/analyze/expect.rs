//! Expectations: a metric of the run held against what the plan says.

use crate::analyze::findings::{ExpectationFinding, GroupFinding};
use crate::analyze::load::Loads;
use crate::analyze::outage::{OutageReport, Stretches};
use crate::analyze::spread::Spread;
use crate::analyze::window::Window;
use crate::plan::model::{Comparison, Expectation, Metric};
use crate::record::fact::{Fact, Totals};
use crate::record::files::millis;
use crate::record::histogram::LatencyHistogram;

/// An expectation as a fact: whoever runs a plan tells these right after [`Fact::RunStarted`], so that the verdict follows from facts.
#[must_use]
pub fn expectation_fact(expectation: &Expectation) -> Fact {
    Fact::Expected {
        metric: expectation.metric.name().to_owned(),
        group: expectation.group.clone(),
        comparison: expectation.comparison.sign().to_owned(),
        value: expectation.value,
    }
}

/// An expectation as it came from a fact.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    metric: String,
    group: Option<String>,
    comparison: String,
    value: f64,
}

/// What metrics are taken from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured<'a> {
    pub(crate) groups: &'a [GroupFinding],
    pub(crate) loads: &'a Loads,
    pub(crate) outages: &'a OutageReport,
    pub(crate) stretches: &'a Stretches,
}

impl Expected {
    /// The expectation in a fact, if it is one.
    pub(crate) fn from_fact(fact: &Fact) -> Option<Self> {
        let Fact::Expected { metric, group, comparison, value } = fact else { return None };
        Some(Self { metric: metric.clone(), group: group.clone(), comparison: comparison.clone(), value: *value })
    }

    /// Whether it says anything about acknowledgements of this group by name: then the plan, not we, decides what a group without any means.
    pub(crate) fn speaks_of_records(&self, group: &str) -> bool {
        self.metric.starts_with("records.") && self.group.as_deref() == Some(group)
    }

    /// Whether it says how many pairs of this group by name may never come back.
    pub(crate) fn speaks_of_hangs(&self, group: &str) -> bool {
        self.metric == Metric::OutageHang.name() && self.group.as_deref() == Some(group)
    }

    /// Holds it against the run.
    pub(crate) fn check(&self, measured: Measured<'_>) -> ExpectationFinding {
        let metric = Metric::ALL.iter().find(|(_, name)| *name == self.metric).map(|(metric, _)| *metric);
        let comparison = Comparison::ALL.iter().find(|(_, sign)| *sign == self.comparison).map(|(comparison, _)| *comparison);
        let value = metric.and_then(|metric| measured.value(metric, self.group.as_deref()));
        let unit = metric.map_or("", unit);
        let of_group = self.group.as_ref().map_or_else(String::new, |group| format!(" ({group})"));
        ExpectationFinding {
            text: format!("{} {} {}{unit}{of_group}", self.metric, self.comparison, plain(self.value)),
            value,
            met: comparison.zip(value).map(|(comparison, value)| comparison.holds(value, self.value)),
            value_in_words: value.map_or_else(|| "not measured".to_owned(), |value| format!("{}{unit}", plain(value))),
        }
    }
}

fn unit(metric: Metric) -> &'static str {
    match metric {
        Metric::OutageMaxMs | Metric::OutageMedianMs | Metric::BaselineResponseP99Ms => " ms",
        _ => "",
    }
}

/// At most three decimals, none where they would be zero.
fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Measured<'_> {
    /// The metric's value; `None`: of one group at least it is unknown.
    fn value(&self, metric: Metric, group: Option<&str>) -> Option<f64> {
        match metric {
            Metric::RecordsDue => self.records(group, |totals| totals.due),
            Metric::RecordsOk => self.records(group, |totals| totals.ok),
            Metric::RecordsFailed => self.records(group, |totals| totals.failed),
            Metric::RecordsIndeterminate => self.records(group, |totals| totals.indeterminate),
            Metric::OutageMaxMs => Some(self.outages(group).map_or(0.0, |spread| float(spread.max))),
            Metric::OutageMedianMs => Some(self.outages(group).map_or(0.0, |spread| float(spread.median))),
            Metric::OutageHang => Some(float(self.hanging(group))),
            Metric::BaselineResponseP99Ms => self.baseline_p99_ms(group),
            Metric::MetadataRequestsPerProducerMax => self.requests(group, |finding| finding.metadata_requests.per_producer),
            Metric::MetadataRequestsByAgePerProducerMax => self.requests(group, |finding| finding.metadata_requests.by_age_per_producer),
            Metric::PartitionsCachedMin => self.cached(group)?.into_iter().map(|(least, _)| least).min().map(f64::from),
            Metric::PartitionsCachedMax => self.cached(group)?.into_iter().map(|(_, greatest)| greatest).max().map(f64::from),
        }
    }

    fn groups(&self, group: Option<&str>) -> impl Iterator<Item = &GroupFinding> {
        self.groups.iter().filter(move |finding| group.is_none_or(|name| finding.name == name))
    }

    fn records(&self, group: Option<&str>, count: impl Fn(&Totals) -> u64) -> Option<f64> {
        let counts: Vec<u64> = self.groups(group).map(|finding| count(&finding.totals)).collect();
        let sum = i64::try_from(counts.iter().sum::<u64>()).unwrap_or(i64::MAX);
        (!counts.is_empty()).then_some(float(sum))
    }

    fn outages(&self, group: Option<&str>) -> Option<Spread> {
        let of_group = self.outages.outages_us.iter().filter(|(number, _)| self.is_group(**number, group));
        Spread::of(of_group.flat_map(|(_, outages)| outages).map(|us| millis(*us)))
    }

    fn hanging(&self, group: Option<&str>) -> i64 {
        let of_group = self.outages.never.iter().filter(|(number, _)| self.is_group(**number, group));
        i64::try_from(of_group.map(|(_, pairs)| pairs.len()).sum::<usize>()).unwrap_or(i64::MAX)
    }

    fn is_group(&self, number: usize, group: Option<&str>) -> bool {
        group.is_none_or(|name| self.stretches.groups.name(number) == name)
    }

    fn baseline_p99_ms(&self, group: Option<&str>) -> Option<f64> {
        let mut sum: Option<LatencyHistogram> = None;
        for finding in self.groups(group) {
            let response = self.loads.get(&finding.name).and_then(|load| load.response(Window::Baseline));
            crate::analyze::load::merge(&mut sum, response.cloned()).ok()?;
        }
        let us = sum?.quantile_us(0.99)?;
        Some(std::time::Duration::from_micros(us).as_secs_f64() * 1000.0)
    }

    fn requests(&self, group: Option<&str>, of: impl Fn(&GroupFinding) -> Option<Spread>) -> Option<f64> {
        let spreads: Option<Vec<Spread>> = self.groups(group).map(of).collect();
        spreads?.into_iter().map(|spread| spread.max).max().map(float)
    }

    fn cached(&self, group: Option<&str>) -> Option<Vec<(u32, u32)>> {
        self.groups(group).map(|finding| finding.cached_partitions).collect()
    }
}

#[allow(clippy::cast_precision_loss, reason = "counts and milliseconds stay far below 2^53")]
fn float(count: i64) -> f64 {
    count as f64
}
