//! CPU time of each node in each part of the run.

use std::collections::BTreeMap;

use super::findings::BrokerFinding;
use crate::analyze::parts::Part;
use crate::ids::BrokerId;
use crate::record::broker::{BrokerSecond, Usage};

/// All nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cpus {
    /// Each node's last usage, with its second.
    last: BTreeMap<BrokerId, (i64, Usage)>,
    sums: BTreeMap<(Part, BrokerId), Sum>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    seconds: u64,
    used_us: u64,
    passed_us: u64,
    tenths_max: u64,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.seconds += other.seconds;
        self.used_us += other.used_us;
        self.passed_us += other.passed_us;
        self.tenths_max = self.tenths_max.max(other.tenths_max);
    }
}

impl Cpus {
    /// Takes a node's second in. What it used is the difference to the second before; after a start, or a gap, there is none.
    pub(super) fn fold(&mut self, part: Part, seen: &BrokerSecond) {
        let Some(usage) = seen.usage else { return };
        let before = self.last.insert(seen.node, (seen.second, usage)).filter(|(second, _)| second + 1 == seen.second);
        let Some((used_us, passed_us)) = before.and_then(|(_, before)| usage.cpu_since(&before)) else { return };
        let sum = self.sums.entry((part, seen.node)).or_default();
        sum.seconds += 1;
        sum.used_us += used_us;
        sum.passed_us += passed_us;
        sum.tenths_max = sum.tenths_max.max(tenths_of_percent(used_us, passed_us));
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = Part> {
        self.sums.keys().map(|(part, _)| *part)
    }

    /// Over the parts that `is_in` takes: per cent on average, the mean over nodes; and in the worst second of any node.
    pub(crate) fn over(&self, is_in: impl Fn(Part) -> bool) -> Option<(f64, f64)> {
        let mut nodes: BTreeMap<BrokerId, Sum> = BTreeMap::new();
        for ((_, node), sum) in self.sums.iter().filter(|((part, _), _)| is_in(*part)) {
            nodes.entry(*node).or_default().add(*sum);
        }
        let percents: Vec<f64> = nodes.values().map(|sum| percent(tenths_of_percent(sum.used_us, sum.passed_us))).collect();
        let worst = nodes.values().map(|sum| sum.tenths_max).max()?;
        let count = u32::try_from(percents.len()).unwrap_or(u32::MAX);
        Some((percents.iter().sum::<f64>() / f64::from(count), percent(worst)))
    }

    /// The nodes of one part.
    pub(super) fn findings(&self, part: Part) -> Vec<BrokerFinding> {
        let of_part = self.sums.iter().filter(|((of, _), _)| *of == part);
        let finding = |((_, node), sum): (&(Part, BrokerId), &Sum)| BrokerFinding {
            node: node.0,
            seconds: sum.seconds,
            cpu_percent: percent(tenths_of_percent(sum.used_us, sum.passed_us)),
            cpu_percent_max: percent(sum.tenths_max),
        };
        of_part.map(finding).collect()
    }
}

/// Rounded; `passed_us` is not 0.
fn tenths_of_percent(used_us: u64, passed_us: u64) -> u64 {
    (used_us.saturating_mul(1_000) + passed_us / 2) / passed_us
}

fn percent(tenths: u64) -> f64 {
    f64::from(u32::try_from(tenths).unwrap_or(u32::MAX)) / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fact::Fact;
    use crate::record::sample::Sample;

    #[test]
    fn a_node_that_was_away_has_no_second_until_two_readings_follow_each_other() {
        let at = |second: i64, cpu_ms: u64| {
            move |seen: &mut BrokerSecond| {
                let usage = Usage { read_at_us: (second + 1) * 1_000_000, cpu_us_total: Some(cpu_ms * 1_000), ..Usage::default() };
                seen.usage = Some(usage);
            }
        };
        let stream = Sample::new(&[])
            .broker(1, 0, at(0, 5_000))
            .broker(1, 1, at(1, 5_200))
            .broker(1, 2, at(2, 5_600))
            .broker(1, 3, |_| {})
            // Started anew, its total with it.
            .broker(1, 4, at(4, 100))
            .broker(1, 5, at(5, 1_333))
            .broker(2, 5, at(5, 7_000));
        let mut cpus = Cpus::default();
        for stamped in &stream.facts {
            if let Fact::Broker(seen) = &stamped.fact {
                let part = if seen.second < 4 { Part::Baseline } else { Part::After };
                cpus.fold(part, seen);
            }
        }
        let [baseline] = cpus.findings(Part::Baseline)[..] else { panic!() };
        assert_eq!((baseline.node, baseline.seconds, baseline.cpu_percent, baseline.cpu_percent_max), (1, 2, 30.0, 40.0));
        let [after] = cpus.findings(Part::After)[..] else { panic!() };
        assert_eq!((after.seconds, after.cpu_percent, after.cpu_percent_max), (1, 123.3, 123.3));
        assert_eq!(cpus.parts().collect::<Vec<_>>(), [Part::Baseline, Part::After]);
    }
}
