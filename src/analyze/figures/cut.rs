//! A run seen through one window and one group; figures that cost much are made once for all metrics of it.

use std::cell::OnceCell;

use super::load::Latencies;
use super::outages::Outages;
use super::{FigureKey, Selection, Unknown};
use crate::analyze::Analysis;
use crate::analyze::findings::{Findings, GroupFinding};
use crate::analyze::outage::Hit;
use crate::analyze::storm::clients::Covered;
use crate::analyze::storm::over::Over;
use crate::analyze::window::{StepWindow, step_windows};
use crate::plan::model::{Asker, Metric, Window};

/// All that figures are taken from.
#[derive(Debug)]
pub(crate) struct Measured<'a> {
    pub(super) analysis: &'a Analysis,
    pub(super) findings: &'a Findings,
    pub(super) windows: Vec<StepWindow>,
    pub(super) hits: Vec<Hit>,
}

impl<'a> Measured<'a> {
    /// With the windows of its steps, and the outages that belong to them.
    pub(crate) fn new(analysis: &'a Analysis, findings: &'a Findings, windows: Vec<StepWindow>, hits: Vec<Hit>) -> Self {
        Self { analysis, findings, windows, hits }
    }

    /// Of an analysis that has told its findings.
    pub(super) fn of(analysis: &'a Analysis, findings: &'a Findings) -> Self {
        let windows = step_windows(&analysis.steps);
        let hits = analysis.hits(&windows, &analysis.basis());
        Self::new(analysis, findings, windows, hits)
    }

    /// One figure without what happened in some windows.
    ///
    /// # Errors
    /// Why it is not known.
    pub(crate) fn figure(&self, key: &FigureKey, except: &[Window]) -> Result<f64, Unknown> {
        let info = key.metric.info();
        if !info.windows.know(&key.window) {
            return Err(Unknown::Window(key.window.to_string()));
        }
        if let Some(window) = except.iter().find(|window| !info.windows.can_leave_out(window)) {
            return Err(Unknown::Window(window.to_string()));
        }
        if let Some(group) = &key.group
            && !self.analysis.group_choices(self.findings, info.groups).contains(&Some(group.as_str()))
        {
            return Err(Unknown::Group(group.clone()));
        }
        let selection = self.analysis.select(&key.window, except);
        Cut::new(self, &key.window, &selection, key.group.as_deref()).value(key.metric)
    }
}

/// One window and one group, or all.
#[derive(Debug)]
pub(super) struct Cut<'a> {
    pub(super) measured: &'a Measured<'a>,
    pub(super) window: &'a Window,
    selection: &'a Result<Selection, Unknown>,
    pub(super) group: Option<&'a str>,
    pub(super) latencies: OnceCell<Latencies>,
    pub(super) outages: OnceCell<Outages>,
    /// Of producers, and of requesters.
    pub(super) asked: [OnceCell<Result<Vec<Over>, Unknown>>; 2],
}

impl<'a> Cut<'a> {
    pub(super) fn new(
        measured: &'a Measured<'a>,
        window: &'a Window,
        selection: &'a Result<Selection, Unknown>,
        group: Option<&'a str>,
    ) -> Self {
        let (latencies, outages, asked) = Default::default();
        Self { measured, window, selection, group, latencies, outages, asked }
    }

    /// The metric's value, or why there is none.
    pub(super) fn value(&self, metric: Metric) -> Result<f64, Unknown> {
        match metric {
            Metric::Records(fate) => self.records(fate),
            Metric::Audited(what) => self.audited(what),
            Metric::RecordsFailedPercent => self.failed_percent(),
            Metric::RecordsOkPerSecond => self.ok_per_second(),
            Metric::Outage(point) => self.outage(point),
            Metric::OutageStalled => Ok(count(self.outages()?.stalled)),
            Metric::OutageHang => Ok(count(self.outages()?.hanging)),
            Metric::Latency(since, quantile) => self.latency(since, quantile),
            Metric::Requests(asker, what) => self.requests(asker, what),
            Metric::RequestsByReason(reason) => self.requests_by_reason(reason),
            Metric::RequestsPerProducerMax => self.per_producer().map(|spread| float(spread.max)),
            Metric::RequestsPerProducerMedian => self.per_producer().map(|spread| float(spread.median)),
            Metric::RequestsByAgePerProducerMax => self.by_age_per_producer(),
            Metric::RequestsPerProducerSecondMax => self.greatest(Asker::Producers, |over| over.per_client_second_max),
            Metric::EndToEnd(quantile) => self.end_to_end(quantile),
            Metric::ConsumersRecords => self.consumed(),
            Metric::RequestersOk => self.of_requesters(|finding| finding.ok),
            Metric::RequestersFailed => self.of_requesters(|finding| finding.failed),
            Metric::Layer(layer, point) => self.layer(layer, point),
            Metric::GrowthCached(point) => self.growth(point, |growth| growth.cached_ms),
            Metric::GrowthFirstUse(point) => self.growth(point, |growth| growth.first_use_ms),
            Metric::GrowthNever => self.growth_never(),
            Metric::FirstAck(stage, point) => self.first_ack(stage, point),
            Metric::PartitionsCachedMin => self.cached(|counts| counts.map(|(least, _)| least).min()),
            Metric::PartitionsCachedMax => self.cached(|counts| counts.map(|(_, greatest)| greatest).max()),
            Metric::BlockedMetadata => self.blocked(|group| group.blocked_metadata_ms),
            Metric::BlockedMemory => self.blocked(|group| group.blocked_memory_ms),
            Metric::BrokerCpuPercent => self.cpu().map(|(mean, _)| mean),
            Metric::BrokerCpuPercentMax => self.cpu().map(|(_, max)| max),
            Metric::GeneratorLateness(quantile) => self.lateness(quantile),
        }
    }

    pub(super) fn selection(&self) -> Result<&'a Selection, Unknown> {
        self.selection.as_ref().map_err(Clone::clone)
    }

    /// Whether it is the run with all that happened in it: then totals over whole lives count, not seconds.
    pub(super) fn is_whole(&self) -> Result<bool, Unknown> {
        Ok(*self.window == Window::Run && !self.selection()?.has_exceptions())
    }

    pub(super) fn groups(&self) -> impl Iterator<Item = &'a GroupFinding> {
        self.measured.findings.groups.iter().filter(|finding| self.group.is_none_or(|name| finding.name == name))
    }

    /// For how many seconds of it figures were told: of the run's last second, for less.
    pub(super) fn seconds_told(&self) -> Result<f64, Unknown> {
        self.seconds(|covered| covered.told_us)
    }

    /// For how many of these the load went on.
    pub(super) fn seconds_of_load(&self) -> Result<f64, Unknown> {
        self.seconds(|covered| covered.of_load_us)
    }

    fn seconds(&self, of: fn(Covered) -> i64) -> Result<f64, Unknown> {
        let is_in = self.selection()?.parts()?;
        let us = of(self.measured.analysis.storm.clients.covered_in(is_in));
        if us == 0 { Err(Unknown::NotSeen) } else { Ok(float(us) / 1e6) }
    }
}

#[allow(clippy::cast_precision_loss, reason = "counts, bytes and microseconds stay far below 2^53")]
pub(super) fn count(count: u64) -> f64 {
    count as f64
}

#[allow(clippy::cast_precision_loss, reason = "milliseconds stay far below 2^53")]
pub(super) fn float(value: i64) -> f64 {
    value as f64
}

/// Microseconds in milliseconds.
pub(super) fn ms(us: u64) -> f64 {
    count(us) / 1000.0
}
