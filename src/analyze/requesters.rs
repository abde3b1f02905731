//! What each group of requesters did, over the whole load.

use std::collections::BTreeMap;

use crate::analyze::findings::RequesterFinding;
use crate::analyze::load::{merge, quantiles};
use crate::analyze::window::Window;
use crate::record::fact::{Fact, RequesterInfo, RequesterSecond, Stamped};
use crate::record::histogram::{HistogramError, LatencyHistogram};

/// All groups of requesters, in plan order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requesters {
    groups: Vec<Group>,
    steady_us: i64,
    /// Histograms that could not be read: a damaged or foreign file.
    pub(crate) unreadable: u64,
}

#[derive(Clone, Debug)]
struct Group {
    finding: RequesterFinding,
    /// Warm-up, baseline and after.
    round_trips: [Option<LatencyHistogram>; 3],
    response: Option<LatencyHistogram>,
}

impl Requesters {
    /// Takes in a fact.
    pub(crate) fn fold(&mut self, stamped: &Stamped) {
        match &stamped.fact {
            Fact::RunStarted(run) => {
                self.steady_us = run.phases_us[1];
                self.groups.extend(run.requesters.iter().map(Group::new));
            }
            Fact::RequesterSecond(second) => {
                let steady_us = self.steady_us;
                let group = self.groups.iter_mut().find(|group| group.finding.name == second.group);
                if group.is_some_and(|group| group.add(second, steady_us).is_err()) {
                    self.unreadable += 1;
                }
            }
            _ => {}
        }
    }

    /// The groups' figures.
    pub(crate) fn findings(&self) -> Vec<RequesterFinding> {
        self.groups.iter().map(Group::finding).collect()
    }
}

impl Group {
    fn new(info: &RequesterInfo) -> Self {
        let RequesterInfo { name, requesters, list } = info.clone();
        let finding = RequesterFinding { name, requesters, list, ..RequesterFinding::default() };
        Self { finding, round_trips: [None, None, None], response: None }
    }

    fn add(&mut self, second: &RequesterSecond, steady_us: i64) -> Result<(), HistogramError> {
        let finding = &mut self.finding;
        finding.due += second.due;
        finding.sent += second.sent;
        finding.ok += second.ok;
        finding.failed += second.failed;
        finding.sent_per_second_max = finding.sent_per_second_max.max(second.sent);
        finding.request_bytes += second.request_bytes;
        finding.response_bytes += second.response_bytes;
        finding.topics_max = finding.topics_max.max(second.topics_max);
        finding.partitions_max = finding.partitions_max.max(second.partitions_max);
        add_all(&mut finding.by_node, &second.by_node);
        add_all(&mut finding.errors, &second.errors);
        merge(&mut self.round_trips[Window::of(second.second, steady_us) as usize], second.round_trips()?)?;
        merge(&mut self.response, second.responses()?)
    }

    fn finding(&self) -> RequesterFinding {
        let [warmup, baseline, after] = self.round_trips.each_ref().map(|histogram| quantiles(histogram.as_ref()));
        RequesterFinding {
            response_bytes_per_answer: self.finding.response_bytes.checked_div(self.finding.ok),
            warmup_round_trip: warmup,
            baseline_round_trip: baseline,
            after_round_trip: after,
            response: quantiles(self.response.as_ref()),
            ..self.finding.clone()
        }
    }
}

/// Adds counts by name.
pub(crate) fn add_all(sum: &mut BTreeMap<String, u64>, more: &BTreeMap<String, u64>) {
    for (name, count) in more {
        *sum.entry(name.clone()).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample::Sample;

    #[test]
    fn a_group_is_summed_up_with_its_windows_apart() {
        let sample = Sample::new(&[]).requesters("storm", -1, 12, |second| {
            if second.second >= 10 {
                (second.sent, second.ok, second.failed) = (150, 140, 10);
                second.errors.insert("disconnected".to_owned(), 10);
            }
        });
        let mut requesters = Requesters::default();
        sample.facts.iter().for_each(|fact| requesters.fold(fact));
        let [storm] = &requesters.findings()[..] else { panic!() };
        assert_eq!((storm.due, storm.sent, storm.ok, storm.failed), (1_300, 1_400, 1_380, 20));
        assert_eq!((storm.sent_per_second_max, storm.response_bytes_per_answer), (150, Some(13 * 500_000 / 1_380)));
        assert_eq!((storm.topics_max, storm.partitions_max), (Some(10), Some(100)));
        assert_eq!(storm.errors, BTreeMap::from([("disconnected".to_owned(), 20)]));
        let counts = [storm.warmup_round_trip, storm.baseline_round_trip, storm.after_round_trip].map(|window| window.unwrap().count);
        assert_eq!(counts, [100, 1_000, 200]);
        assert_eq!(requesters.unreadable, 0);
    }
}
