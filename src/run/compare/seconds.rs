//! A few figures of a run second by second, in its baseline: all that can be compared where each setting has a single run.
//!
//! The names are those of the figures that they are the seconds of. A figure that one second lacks is left out: the statistics need seconds
//! without a gap. Not here: how much seconds that follow each other tell (`analyze::compare`).

use std::collections::BTreeMap;
use std::path::Path;

use super::CompareError;
use crate::analyze::compare::model::{FigureName, RunSeries};
use crate::ids::BrokerId;
use crate::plan::model::Unit;
use crate::record::broker::{BrokerSecond, Usage};
use crate::record::fact::{Fact, GroupSecond, Stamped};
use crate::record::histogram::LatencyHistogram;
use crate::record::read::FactReader;
use crate::report::replay::ReplayError;

/// The series of a run's folder.
///
/// # Errors
/// Its facts cannot be read.
pub(super) fn of_folder(folder: &Path) -> Result<Vec<RunSeries>, CompareError> {
    let no_facts = |source| ReplayError::NoFacts { folder: folder.to_owned(), source };
    let mut seconds = Seconds::default();
    for stamped in FactReader::open(folder).map_err(no_facts)? {
        seconds.fold(&stamped.map_err(no_facts)?);
    }
    Ok(seconds.series())
}

/// The seconds of the baseline.
#[derive(Debug, Default)]
struct Seconds {
    /// How many whole seconds it has.
    length: i64,
    latencies: BTreeMap<i64, LatencyHistogram>,
    /// Of all groups; `None`: a client does not tell.
    requests: BTreeMap<i64, Option<u64>>,
    /// Per cent of one core, of each node that was read twice.
    cpu: BTreeMap<i64, Vec<f64>>,
    last_usage: BTreeMap<BrokerId, (i64, Usage)>,
}

impl Seconds {
    fn fold(&mut self, stamped: &Stamped) {
        match &stamped.fact {
            Fact::RunStarted(run) => self.length = run.phases_us[1] / 1_000_000,
            Fact::Second(second) if self.is_in(second.second) => self.group(second),
            Fact::Broker(seen) => self.broker(seen),
            _ => {}
        }
    }

    fn is_in(&self, second: i64) -> bool {
        (0..self.length).contains(&second)
    }

    fn group(&mut self, seen: &GroupSecond) {
        // A histogram that cannot be read leaves a gap, as one that is empty does.
        if let Ok(Some(histogram)) = seen.histogram("response_ok") {
            let sum = self.latencies.entry(seen.second).or_default();
            if sum.merge(&histogram).is_err() {
                self.latencies.remove(&seen.second);
            }
        }
        let requests = seen.metadata_requests.as_ref().map(|by_reason| by_reason.values().sum::<u64>());
        let sum = self.requests.entry(seen.second).or_insert(Some(0));
        *sum = sum.zip(requests).map(|(sum, more)| sum + more);
    }

    fn broker(&mut self, seen: &BrokerSecond) {
        let Some(usage) = seen.usage else { return };
        let before = self.last_usage.insert(seen.node, (seen.second, usage)).filter(|(second, _)| second + 1 == seen.second);
        if let Some((_, before)) = before.filter(|_| self.is_in(seen.second))
            && let Some((used_us, passed_us)) = usage.cpu_since(&before)
        {
            let percent = 100.0 * number(used_us) / number(passed_us);
            self.cpu.entry(seen.second).or_default().push(percent);
        }
    }

    fn series(&self) -> Vec<RunSeries> {
        let quantile_ms = |second: &i64, quantile| Some(number(self.latencies.get(second)?.quantile_us(quantile)?) / 1_000.0);
        let mean_cpu = |second: &i64| self.cpu.get(second).map(|nodes| nodes.iter().sum::<f64>() / number(nodes.len() as u64));
        let all = [
            self.of_each("latency.p50", Unit::Ms, |second| quantile_ms(second, 0.5)),
            self.of_each("latency.p99", Unit::Ms, |second| quantile_ms(second, 0.99)),
            self.of_each("metadata-requests.per-second", Unit::PerSecond, |second| self.requests.get(second)?.map(number)),
            // The first second of a baseline without a warm-up has no reading before it.
            self.of_each("broker.cpu-percent", Unit::Percent, mean_cpu),
        ];
        all.into_iter().flatten().collect()
    }

    /// A value for each second; `None` if one lacks it.
    fn of_each(&self, metric: &str, unit: Unit, value: impl Fn(&i64) -> Option<f64>) -> Option<RunSeries> {
        let seconds: Option<Vec<f64>> = (0..self.length).map(|second| value(&second)).collect();
        let name = FigureName { metric: metric.to_owned(), group: None, window: "baseline".to_owned() };
        seconds.filter(|seconds| !seconds.is_empty()).map(|seconds| RunSeries { name, unit, seconds })
    }
}

/// Figures of a second are far below 2^53.
fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::model::{Metric, Window};
    use crate::record::sample::Sample;

    /// Series of a run whose baseline lasts 10 s; by name.
    fn series_of(sample: Sample) -> BTreeMap<String, Vec<f64>> {
        let mut seconds = Seconds::default();
        sample.end(20_000).facts.iter().for_each(|fact| seconds.fold(fact));
        seconds.series().into_iter().map(|series| (series.name.metric, series.seconds)).collect()
    }

    fn node(stream: Sample, node: i32, second: i64, cpu_ms: u64) -> Sample {
        stream.broker(node, second, |seen| {
            let usage = Usage { read_at_us: (second + 1) * 1_000_000, cpu_us_total: Some(cpu_ms * 1_000), ..Usage::default() };
            seen.usage = Some(usage);
        })
    }

    #[test]
    fn seconds_of_the_baseline_are_those_of_all_groups_and_nodes() {
        let mut stream = Sample::new(&[("a", 1), ("b", 1)]).load("a", -2, 12).load("b", -2, 12);
        for second in -1..12 {
            stream = node(stream, 1, second, 5_000 + 100 * (second + 1).unsigned_abs());
            stream = node(stream, 2, second, 7_000 + 300 * (second + 1).unsigned_abs());
        }
        let series = series_of(stream);
        assert_eq!(series["broker.cpu-percent"], [20.0; 10]);
        assert_eq!(series["latency.p99"].len(), 10);
        assert_eq!(series["metadata-requests.per-second"], [0.0; 10]);
    }

    #[test]
    fn a_series_with_a_gap_is_left_out() {
        let series = series_of(Sample::new(&[("a", 1)]).load("a", -2, 5).load("a", 6, 12));
        assert!(!series.contains_key("latency.p99") && !series.contains_key("broker.cpu-percent"), "{series:?}");
    }

    #[test]
    fn series_are_seconds_of_figures_that_exist() {
        let stream = Sample::new(&[("a", 1)]).load("a", -2, 12);
        for metric in series_of(stream).keys() {
            assert!(Metric::find(metric).unwrap().info().windows.know(&Window::Baseline), "{metric}");
        }
    }
}
