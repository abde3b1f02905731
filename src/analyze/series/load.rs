//! Groups and requesters over time: records, Metadata requests, latencies.

use std::collections::BTreeMap;

use super::findings::{Figures, GroupLines, RequesterLines};
use super::number::Number;
use super::scale::{Line, Merge, Scale};
use super::sketch::Sketch;
use super::told::Told;
use crate::analyze::histograms::Histograms;
use crate::analyze::known::Known;
use crate::record::fact::{GroupSecond, RequesterSecond, Totals};

type ByReason = BTreeMap<String, u64>;

/// A group in one bucket.
#[derive(Clone, Debug, Default)]
struct Load {
    told: Told,
    counts: Totals,
    in_flight: u64,
    stalled_pairs: Option<u64>,
    requests: Known<ByReason>,
    response: Sketch,
    service: Sketch,
}

impl Merge for Load {
    fn merge(&mut self, later: Self) {
        self.told.merge(later.told);
        self.counts.add(&later.counts);
        self.in_flight = self.in_flight.max(later.in_flight);
        self.stalled_pairs = self.stalled_pairs.max(later.stalled_pairs);
        self.requests.add(later.requests.get(), |sum, more| {
            for (reason, count) in more {
                *sum.entry(reason.clone()).or_default() += count;
            }
        });
        self.response.merge(later.response);
        self.service.merge(later.service);
    }
}

/// A group.
#[derive(Clone, Debug, Default)]
pub(super) struct GroupSeries {
    line: Line<Load>,
}

impl GroupSeries {
    /// Takes in a second with its histograms.
    pub(super) fn add(&mut self, bucket: i64, worker: u32, second: &GroupSecond, histograms: &Histograms) {
        let mut requests = Known::default();
        requests.add(second.metadata_requests.clone(), |sum, by_reason| *sum = by_reason);
        let load = Load {
            told: Told::once(worker),
            counts: second.counts,
            in_flight: second.in_flight,
            stalled_pairs: second.stalled_pairs,
            requests,
            response: Sketch::of(histograms.response_ok.as_ref()),
            service: Sketch::of(histograms.service_ok.as_ref()),
        };
        self.line.add(bucket, load);
    }

    pub(super) fn halve(&mut self) {
        self.line.halve();
    }

    pub(super) fn finding(&self, name: &str, scale: Scale) -> GroupLines {
        let rate = |count: fn(&Totals) -> u64| self.line.figures(scale, |load| Number::rate(count(&load.counts), load.told.seconds()));
        let quantile = |of: fn(&Load) -> &Sketch, at: usize| -> Figures<u64> {
            self.line.figures(scale, |load| of(load).quantiles().map(|quantiles| quantiles[at]))
        };
        let [response, service]: [fn(&Load) -> &Sketch; 2] = [|load| &load.response, |load| &load.service];
        GroupLines {
            name: name.to_owned(),
            due: rate(|counts| counts.due),
            ok: rate(|counts| counts.ok),
            failed: rate(|counts| counts.failed),
            indeterminate: rate(|counts| counts.indeterminate),
            in_flight: self.line.figures(scale, |load| Some(load.in_flight)),
            stalled_pairs: self.line.figures(scale, |load| load.stalled_pairs),
            requests: self.requests(scale),
            response_p50_us: quantile(response, 0),
            response_p99_us: quantile(response, 1),
            response_max_us: quantile(response, 2),
            service_p50_us: quantile(service, 0),
            service_p99_us: quantile(service, 1),
            service_max_us: quantile(service, 2),
        }
    }

    /// By each reason that occurred; `None` if no bucket is counted.
    fn requests(&self, scale: Scale) -> Option<BTreeMap<String, Figures<Number>>> {
        let counted = || scale.buckets().filter_map(|bucket| self.line.get(bucket)?.requests.get());
        counted().next()?;
        let mut reasons: Vec<&String> = counted().flat_map(BTreeMap::keys).collect();
        reasons.sort_unstable();
        reasons.dedup();
        let rate = |load: &Load, reason: &str| {
            let count = load.requests.get()?.get(reason).copied().unwrap_or(0);
            Number::rate(count, load.told.seconds())
        };
        Some(reasons.into_iter().map(|reason| (reason.clone(), self.line.figures(scale, |load| rate(load, reason)))).collect())
    }
}

/// Requesters in one bucket.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    sent: u64,
    failed: u64,
}

#[derive(Clone, Debug, Default)]
struct Asking {
    told: Told,
    asked: Asked,
}

impl Merge for Asking {
    fn merge(&mut self, later: Self) {
        self.told.merge(later.told);
        self.asked.sent += later.asked.sent;
        self.asked.failed += later.asked.failed;
    }
}

/// A group of requesters.
#[derive(Clone, Debug, Default)]
pub(super) struct RequesterSeries {
    line: Line<Asking>,
}

impl RequesterSeries {
    pub(super) fn add(&mut self, bucket: i64, worker: u32, second: &RequesterSecond) {
        let asked = Asked { sent: second.sent, failed: second.failed };
        self.line.add(bucket, Asking { told: Told::once(worker), asked });
    }

    pub(super) fn halve(&mut self) {
        self.line.halve();
    }

    pub(super) fn finding(&self, name: &str, scale: Scale) -> RequesterLines {
        let rate = |count: fn(Asked) -> u64| self.line.figures(scale, |asking| Number::rate(count(asking.asked), asking.told.seconds()));
        RequesterLines { name: name.to_owned(), sent: rate(|asked| asked.sent), failed: rate(|asked| asked.failed) }
    }
}
