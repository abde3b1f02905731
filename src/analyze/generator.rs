//! The load generator's own health: a late generator measures itself, not Kafka.

use std::collections::BTreeMap;

use crate::analyze::findings::GeneratorFinding;
use crate::analyze::histograms::Histograms;
use crate::analyze::load::{add, quantiles};
use crate::analyze::window::{SECOND_US, Window};
use crate::plan::model::Window as NamedWindow;
use crate::record::fact::{Fact, GeneratorSecond, Stamped};
use crate::record::histogram::LatencyHistogram;

/// What one worker has told.
#[derive(Clone, Copy, Debug, Default)]
struct Worker {
    /// Greatest total of its CPU time.
    cpu_us: u64,
    /// Second and total of CPU time at the baseline's begin.
    from: Option<(i64, u64)>,
    /// Second and total of CPU time at the baseline's end.
    to: Option<(i64, u64)>,
    /// What its wall clock was last said to be set by.
    wall_set_by_us: Option<i64>,
    /// Connections that it could not make.
    refused: u64,
}

/// All workers' health.
#[derive(Clone, Debug, Default)]
pub(crate) struct Generator {
    steady_us: i64,
    all: Option<LatencyHistogram>,
    baseline: Option<LatencyHistogram>,
    after: Option<LatencyHistogram>,
    workers: BTreeMap<u32, Worker>,
    standstill_max_us: u64,
    /// The greatest step between two seconds.
    pub(crate) clock_step_max_us: u64,
    rss_bytes_max: u64,
    threads_max: u64,
    /// Histograms that could not be read.
    pub(crate) unreadable: u64,
}

impl Generator {
    /// Takes in a fact with its histograms.
    pub(crate) fn fold(&mut self, stamped: &Stamped, histograms: &Histograms) {
        match &stamped.fact {
            Fact::RunStarted(run) => self.steady_us = run.phases_us[1],
            Fact::Generator(second) => self.second(stamped.worker, second, histograms),
            _ => {}
        }
    }

    fn second(&mut self, worker: u32, second: &GeneratorSecond, histograms: &Histograms) {
        self.rss_bytes_max = self.rss_bytes_max.max(second.rss_bytes);
        self.threads_max = self.threads_max.max(second.threads);
        let window = Window::of(second.second, self.steady_us);
        let worker = self.workers.entry(worker).or_default();
        worker.cpu_us = worker.cpu_us.max(second.cpu_us_total);
        worker.refused = worker.refused.max(second.refused_connections);
        self.standstill_max_us = self.standstill_max_us.max(stood_still_us(second));
        if let Some(before) = worker.wall_set_by_us.replace(second.wall_set_by_us) {
            self.clock_step_max_us = self.clock_step_max_us.max(second.wall_set_by_us.abs_diff(before));
        }
        let sample = Some((second.second, second.cpu_us_total));
        match window {
            Window::Warmup => worker.from = sample,
            Window::Baseline => {
                worker.from = worker.from.or(sample);
                worker.to = sample;
            }
            Window::After => {}
        }
        if histograms.is_unreadable {
            self.unreadable += 1;
        }
        let Some(lateness) = &histograms.lateness else { return };
        let of_window = match window {
            Window::Baseline => add(&mut self.baseline, lateness),
            Window::After => add(&mut self.after, lateness),
            Window::Warmup => Ok(()),
        };
        if of_window.and_then(|()| add(&mut self.all, lateness)).is_err() {
            self.unreadable += 1;
        }
    }

    /// p99 of the lateness after the baseline: the machine may be busy with restarting brokers.
    pub(crate) fn after_p99_us(&self) -> Option<u64> {
        self.after.as_ref().and_then(|lateness| lateness.quantile_us(0.99))
    }

    /// Lateness in the baseline, after it, or over the whole load; `None`: nothing was sent, or the window is another.
    pub(crate) fn lateness(&self, window: &NamedWindow) -> Option<&LatencyHistogram> {
        match window {
            NamedWindow::Baseline => self.baseline.as_ref(),
            NamedWindow::After => self.after.as_ref(),
            NamedWindow::Run => self.all.as_ref(),
            _ => None,
        }
    }

    pub(crate) fn finding(&self) -> GeneratorFinding {
        let all = quantiles(self.all.as_ref());
        let percents: Vec<f64> = self.workers.values().filter_map(Worker::baseline_percent).collect();
        GeneratorFinding {
            lateness_p50_us: all.map(|q| q.p50_us),
            lateness_p99_us: all.map(|q| q.p99_us),
            lateness_max_us: all.map(|q| q.max_us),
            cpu_seconds: self.workers.values().map(|worker| seconds(worker.cpu_us)).sum(),
            rss_bytes_max: self.rss_bytes_max,
            threads_max: self.threads_max,
            baseline_lateness: quantiles(self.baseline.as_ref()),
            after_lateness: quantiles(self.after.as_ref()),
            standstill_max_us: self.standstill_max_us,
            clock_step_max_us: self.clock_step_max_us,
            refused_connections: self.workers.values().map(|worker| worker.refused).sum(),
            baseline_cpu_percent: (!percents.is_empty()).then(|| percents.iter().sum()),
        }
    }
}

impl Worker {
    fn baseline_percent(&self) -> Option<f64> {
        let ((from, cpu_from), (to, cpu_to)) = (self.from?, self.to?);
        let length = u32::try_from(to - from).ok().filter(|length| *length > 0)?;
        // One decimal: more would be noise.
        Some((seconds(cpu_to.saturating_sub(cpu_from)) / f64::from(length) * 1000.0).round() / 10.0)
    }
}

/// How long the process stood still after a second's end, as far as that lies in the measured part: a stall that begins in the warm-up may
/// reach into the baseline.
fn stood_still_us(second: &GeneratorSecond) -> u64 {
    let end_us = (second.second + 1) * SECOND_US;
    second.told_late_us.saturating_sub(u64::try_from(-end_us).unwrap_or(0))
}

fn seconds(us: u64) -> f64 {
    std::time::Duration::from_micros(us).as_secs_f64()
}
