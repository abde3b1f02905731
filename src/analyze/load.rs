//! Records and latencies of each group, from its seconds and its producers' totals.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::analyze::findings::{LatencyFinding, Quantiles, WindowFinding};
use crate::analyze::histograms::Histograms;
use crate::analyze::known::Known;
use crate::analyze::parts::{Part, Parts};
use crate::analyze::window::SECOND_US;
use crate::ids::ProducerIndex;
use crate::record::fact::{Fact, GroupSecond, Stamped, Totals};
use crate::record::histogram::{HistogramError, LatencyHistogram};

/// What a group's seconds add up to.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupLoad {
    /// Sum of its seconds.
    pub(crate) seconds: Totals,
    /// Each producer's totals over its life.
    pub(crate) producers: BTreeMap<ProducerIndex, Totals>,
    /// End of the last second in which a record was due.
    pub(crate) due_until_us: i64,
    /// Values above the histograms' bound.
    pub(crate) out_of_range: u64,
    blocked_metadata_us: Known<u64>,
    blocked_memory_us: Known<u64>,
    /// Least and greatest partition count in any producer's cache at the end.
    pub(crate) cached_partitions: Known<Option<(u32, u32)>>,
    parts: BTreeMap<Part, PartLoad>,
}

/// Its seconds in one part of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartLoad {
    pub(crate) counts: Totals,
    pub(crate) response_ok: Option<LatencyHistogram>,
    response_bad: Option<LatencyHistogram>,
    pub(crate) service_ok: Option<LatencyHistogram>,
}

/// All groups' loads by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loads {
    groups: BTreeMap<String, GroupLoad>,
    /// Histograms that could not be read: a damaged or foreign file.
    pub(crate) unreadable: u64,
}

impl Loads {
    /// Takes in a fact with its histograms; `parts` have taken it in before.
    pub(crate) fn fold(&mut self, stamped: &Stamped, histograms: Histograms, parts: &Parts) {
        match &stamped.fact {
            Fact::RunStarted(run) => {
                self.groups.extend(run.groups.iter().map(|group| (group.name.clone(), GroupLoad::default())));
            }
            Fact::Second(second) => {
                let group = self.groups.entry(second.group.clone()).or_default();
                let is_unreadable = histograms.is_unreadable;
                if group.add(second, histograms, parts.of(second.second)).is_err() || is_unreadable {
                    self.unreadable += 1;
                }
            }
            Fact::ProducerTotals {
                group,
                producer,
                totals,
                metadata_requests: _,
                blocked_metadata_us,
                blocked_memory_us,
                cached_partitions,
            } => {
                let group = self.groups.entry(group.clone()).or_default();
                group.producers.insert(*producer, *totals);
                group.blocked_metadata_us.add(*blocked_metadata_us, |sum, us| *sum += us);
                group.blocked_memory_us.add(*blocked_memory_us, |sum, us| *sum += us);
                group
                    .cached_partitions
                    .add(cached_partitions.as_ref(), |bounds, counts| counts.values().for_each(|count| widen(bounds, *count)));
            }
            _ => {}
        }
    }

    /// One group's load.
    pub(crate) fn get(&self, group: &str) -> Option<&GroupLoad> {
        self.groups.get(group)
    }

    /// All groups.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &GroupLoad)> {
        self.groups.iter().map(|(name, load)| (name.as_str(), load))
    }
}

impl GroupLoad {
    fn add(&mut self, second: &GroupSecond, histograms: Histograms, part: Part) -> Result<(), HistogramError> {
        self.seconds.add(&second.counts);
        self.out_of_range += second.out_of_range;
        if second.counts.due > 0 {
            self.due_until_us = self.due_until_us.max((second.second + 1) * SECOND_US);
        }
        let part = self.parts.entry(part).or_default();
        part.counts.add(&second.counts);
        merge(&mut part.response_ok, histograms.response_ok)?;
        merge(&mut part.response_bad, histograms.response_bad)?;
        merge(&mut part.service_ok, histograms.service_ok)
    }

    /// The group's records: its producers' own totals if all of `producers` told theirs, else the sum of its seconds.
    pub(crate) fn totals(&self, producers: u32) -> Totals {
        if self.producers.len() < usize::try_from(producers).unwrap_or(usize::MAX).max(1) {
            return self.seconds;
        }
        let mut sum = Totals::default();
        self.producers.values().for_each(|totals| sum.add(totals));
        sum
    }

    /// For how long its producers' sends waited for metadata; `None` also if no producer has told its totals.
    pub(crate) fn blocked_metadata_ms(&self) -> Option<u64> {
        self.of_lives(&self.blocked_metadata_us)
    }

    /// For how long its producers' sends waited for memory; `None` likewise.
    pub(crate) fn blocked_memory_ms(&self) -> Option<u64> {
        self.of_lives(&self.blocked_memory_us)
    }

    fn of_lives(&self, sum_us: &Known<u64>) -> Option<u64> {
        sum_us.get().filter(|_| !self.producers.is_empty()).map(|us| us / 1000)
    }

    /// Its parts with what it did in each.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (Part, &PartLoad)> {
        self.parts.iter().map(|(part, load)| (*part, load))
    }

    /// Records of the seconds of one part.
    pub(crate) fn counts(&self, part: Part) -> Totals {
        self.parts.get(&part).map(|load| load.counts).unwrap_or_default()
    }

    /// p99 of the response time in the baseline.
    pub(crate) fn baseline_p99_us(&self) -> Option<i64> {
        self.parts.get(&Part::Baseline)?.response_ok.as_ref()?.quantile_us(0.99).and_then(|us| i64::try_from(us).ok())
    }

    pub(crate) fn latency(&self) -> LatencyFinding {
        let finding = |is_in: fn(Part) -> bool| {
            let loads = || self.parts().filter(move |(part, _)| is_in(*part)).map(|(_, load)| load);
            WindowFinding {
                response: quantiles(merged(loads().map(|load| &load.response_ok)).as_deref()),
                service: quantiles(merged(loads().map(|load| &load.service_ok)).as_deref()),
                response_bad: quantiles(merged(loads().map(|load| &load.response_bad)).as_deref()),
            }
        };
        LatencyFinding {
            warmup: finding(|part| part == Part::Warmup),
            baseline: finding(|part| part == Part::Baseline),
            after: finding(Part::is_after),
        }
    }
}

fn widen(bounds: &mut Option<(u32, u32)>, count: u32) {
    let (least, greatest) = bounds.unwrap_or((count, count));
    *bounds = Some((least.min(count), greatest.max(count)));
}

impl Totals {
    /// Adds another's counts.
    pub fn add(&mut self, other: &Self) {
        self.due += other.due;
        self.sent += other.sent;
        self.ok += other.ok;
        self.failed += other.failed;
        self.indeterminate += other.indeterminate;
    }
}

/// Adds a histogram, if there is one, to a sum that is made on first need.
pub(crate) fn merge(sum: &mut Option<LatencyHistogram>, more: Option<LatencyHistogram>) -> Result<(), HistogramError> {
    match (sum.as_mut(), more) {
        (_, None) => Ok(()),
        (None, Some(more)) => {
            *sum = Some(more);
            Ok(())
        }
        (Some(sum), Some(more)) => sum.merge(&more),
    }
}

/// The same with one that is needed elsewhere too.
pub(crate) fn add(sum: &mut Option<LatencyHistogram>, more: &LatencyHistogram) -> Result<(), HistogramError> {
    match sum {
        Some(sum) => sum.merge(more),
        None => {
            *sum = Some(more.clone());
            Ok(())
        }
    }
}

/// Several histograms as one; `None` without any.
pub(crate) fn merged<'a>(histograms: impl IntoIterator<Item = &'a Option<LatencyHistogram>>) -> Option<Cow<'a, LatencyHistogram>> {
    let mut sum: Option<Cow<'a, LatencyHistogram>> = None;
    for histogram in histograms.into_iter().flatten() {
        match &mut sum {
            None => sum = Some(Cow::Borrowed(histogram)),
            // All have one bound: what has another cannot be read.
            Some(sum) => sum.to_mut().merge(histogram).ok()?,
        }
    }
    sum
}

/// The figures of a histogram; `None` without values.
pub(crate) fn quantiles(histogram: Option<&LatencyHistogram>) -> Option<Quantiles> {
    let histogram = histogram?;
    Some(Quantiles {
        count: histogram.count(),
        p50_us: histogram.quantile_us(0.5)?,
        p99_us: histogram.quantile_us(0.99)?,
        max_us: histogram.max_us(),
    })
}
