//! The load generator over time.

use std::collections::BTreeMap;

use super::findings::GeneratorLines;
use super::number::Number;
use super::scale::{Line, Merge, Scale};
use super::sketch::Sketch;
use crate::analyze::histograms::Histograms;
use crate::record::fact::GeneratorSecond;

/// CPU time over time that it was measured for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    /// CPU time.
    pub(super) cpu_us: u64,
    /// In how much time; 0: not measured.
    pub(super) passed_us: u64,
}

impl Used {
    /// In percent of one core; `None`: not measured.
    pub(super) fn percent(self) -> Option<Number> {
        Number::rate(self.cpu_us.saturating_mul(100), self.passed_us)
    }
}

impl Merge for Used {
    fn merge(&mut self, later: Self) {
        self.cpu_us = self.cpu_us.saturating_add(later.cpu_us);
        self.passed_us = self.passed_us.saturating_add(later.passed_us);
    }
}

#[derive(Clone, Debug, Default)]
struct Health {
    lateness: Sketch,
    used: Used,
    rss_bytes: u64,
}

impl Merge for Health {
    fn merge(&mut self, later: Self) {
        self.lateness.merge(later.lateness);
        self.used.merge(later.used);
        self.rss_bytes = self.rss_bytes.max(later.rss_bytes);
    }
}

/// All workers; CPU is the mean over them, memory the greatest.
#[derive(Clone, Debug, Default)]
pub(super) struct GeneratorSeries {
    line: Line<Health>,
    /// Second and CPU time so far of each worker.
    last: BTreeMap<u32, (i64, u64)>,
}

impl GeneratorSeries {
    /// Takes in a second with its histogram.
    pub(super) fn add(&mut self, bucket: i64, worker: u32, second: &GeneratorSecond, histograms: &Histograms) {
        let before = self.last.insert(worker, (second.second, second.cpu_us_total));
        let used = before.and_then(|(at, cpu_us)| {
            let passed_us = u64::try_from(second.second.checked_sub(at)?).ok()?.saturating_mul(1_000_000);
            Some(Used { cpu_us: second.cpu_us_total.checked_sub(cpu_us)?, passed_us })
        });
        let health =
            Health { lateness: Sketch::of(histograms.lateness.as_ref()), used: used.unwrap_or_default(), rss_bytes: second.rss_bytes };
        self.line.add(bucket, health);
    }

    pub(super) fn halve(&mut self) {
        self.line.halve();
    }

    pub(super) fn finding(&self, scale: Scale) -> GeneratorLines {
        let lateness = |at: usize| self.line.figures(scale, |health| health.lateness.quantiles().map(|quantiles| quantiles[at]));
        GeneratorLines {
            lateness_p50_us: lateness(0),
            lateness_p99_us: lateness(1),
            lateness_max_us: lateness(2),
            cpu_percent: self.line.figures(scale, |health| health.used.percent()),
            rss_bytes: self.line.figures(scale, |health| Some(health.rss_bytes)),
        }
    }
}
