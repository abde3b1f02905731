//! What the screen shows while a run goes: each group's latest second, and when a group has recovered from a step.
//!
//! Not the findings: figures here may lag by a second, and nothing here decides a verdict.

use std::collections::BTreeMap;

use crate::analyze::outage::ABOVE_BASELINE_US;
use crate::ids::StepNumber;
use crate::record::fact::{Fact, GroupSecond, Stamped, Totals};

/// Steps that take nothing away from clients: no recovery is counted from them.
const GIVING: [&str; 7] = ["wait", "start", "unpause", "connect", "rolling", "restart", "repeat"];

/// Whether a step takes nothing away from clients; a link that is mended does not either.
fn gives(action: &str, target: &str) -> bool {
    GIVING.contains(&action) || action == "link" && target.ends_with(" none")
}

/// Live figures of all groups.
#[derive(Clone, Debug, Default)]
pub struct Live {
    groups: Vec<LiveGroup>,
    step: Option<LiveStep>,
}

/// A group's live figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveGroup {
    /// Its name.
    pub name: String,
    /// Its latest second.
    pub second: i64,
    /// Records of that second.
    pub last: Totals,
    /// Records since the start.
    pub totals: Totals,
    /// Records handed over and not yet known.
    pub in_flight: u64,
    /// Metadata requests sent in that second; `None`: the group's client does not count them.
    pub metadata_requests: Option<u64>,
    /// Producer-partition pairs without service; `None`: the client cannot tell.
    pub stalled_pairs: Option<u64>,
    /// How long the worst of them has been without.
    pub stalled_max_ms: Option<u64>,
    /// The latest second of each worker.
    workers: BTreeMap<u32, GroupSecond>,
    stall: Stall,
}

/// A stall that has not been told as over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Stall {
    /// Stretches that have ended since it began.
    ended: u64,
    longest_us: i64,
    last_ok_us: i64,
    open: bool,
}

/// The latest step that can stall anything; of `rolling` and its like it is their parts that do.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LiveStep {
    step: StepNumber,
    label: String,
    requested_us: i64,
}

/// A group has service again on every pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The group.
    pub group: String,
    /// The latest step before it, with its action and target; `None`: no step was made.
    pub step: Option<(StepNumber, String)>,
    /// From that step's request to the ack that ended the last stretch; `None` without a step, and if all of it was before the step.
    pub since_request_us: Option<i64>,
    /// Stretches without service that have ended.
    pub stretches: u64,
    /// The longest of them.
    pub longest_us: i64,
}

impl Live {
    /// Takes in a fact; tells when it shows that a group has recovered.
    pub fn fold(&mut self, stamped: &Stamped) -> Option<Recovered> {
        match &stamped.fact {
            Fact::RunStarted(run) => run.groups.iter().for_each(|group| {
                self.group(&group.name);
            }),
            Fact::StepRequested { step, action, target, .. } if !gives(action, target) => {
                self.step = Some(LiveStep { step: *step, label: format!("{action} {target}"), requested_us: stamped.time_us });
            }
            Fact::Gap { group, first_due_us, first_ok_us: Some(ok_us), .. } if ok_us - first_due_us > ABOVE_BASELINE_US => {
                let stall = &mut self.group(group).stall;
                stall.open = true;
                stall.ended += 1;
                stall.longest_us = stall.longest_us.max(ok_us - first_due_us);
                stall.last_ok_us = stall.last_ok_us.max(*ok_us);
            }
            Fact::Second(second) => return self.second(stamped.worker, second),
            _ => {}
        }
        None
    }

    /// All groups in plan order.
    #[must_use]
    pub fn groups(&self) -> &[LiveGroup] {
        &self.groups
    }

    fn second(&mut self, worker: u32, second: &GroupSecond) -> Option<Recovered> {
        let step = self.step.clone();
        let group = self.group(&second.group);
        group.take(worker, second);
        let is_stalled = group.stalled_pairs.is_some_and(|pairs| pairs > 0);
        group.stall.open |= is_stalled;
        if !group.stall.open || is_stalled {
            return None;
        }
        let stall = std::mem::take(&mut group.stall);
        Some(Recovered {
            group: group.name.clone(),
            since_request_us: step
                .as_ref()
                .map(|step| stall.last_ok_us - step.requested_us)
                .filter(|since_us| stall.ended > 0 && *since_us > 0),
            step: step.map(|step| (step.step, step.label)),
            stretches: stall.ended,
            longest_us: stall.longest_us,
        })
    }

    fn group(&mut self, name: &str) -> &mut LiveGroup {
        let at = self.groups.iter().position(|group| group.name == name).unwrap_or_else(|| {
            self.groups.push(LiveGroup { name: name.to_owned(), ..LiveGroup::default() });
            self.groups.len() - 1
        });
        &mut self.groups[at]
    }
}

impl LiveGroup {
    fn take(&mut self, worker: u32, second: &GroupSecond) {
        let latest = GroupSecond { histograms: BTreeMap::new(), histogram_max_us: BTreeMap::new(), ..second.clone() };
        self.workers.insert(worker, latest);
        self.totals.add(&second.counts);
        self.second = self.second.max(second.second);
        self.last = Totals::default();
        self.workers.values().for_each(|second| self.last.add(&second.counts));
        self.in_flight = self.workers.values().map(|second| second.in_flight).sum();
        let requests = |second: &GroupSecond| second.metadata_requests.as_ref().map(|reasons| reasons.values().sum::<u64>());
        self.metadata_requests = self.workers.values().map(requests).sum();
        self.stalled_pairs = self.workers.values().map(|second| second.stalled_pairs).sum();
        self.stalled_max_ms = self.workers.values().filter_map(|second| second.stalled_max_ms).max();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample::{Pair, Sample};

    fn recovered(stream: &Sample) -> (Live, Vec<Recovered>) {
        let mut live = Live::default();
        let recovered = stream.facts.iter().filter_map(|fact| live.fold(fact)).collect();
        (live, recovered)
    }

    #[test]
    fn a_group_has_recovered_when_no_pair_is_stalled_any_more() {
        let stream = Sample::new(&[("steady", 1)])
            .load("steady", 0, 10)
            .step(4, "kill", "2", 10_000)
            .second("steady", 10, |second| second.stalled_pairs = Some(2))
            .gap(Pair("steady", 0, 0), 10_000, Some(11_200))
            .second("steady", 11, |second| second.stalled_pairs = Some(1))
            .gap(Pair("steady", 0, 1), 10_010, Some(12_400))
            .second("steady", 12, |_| {})
            .second("steady", 13, |_| {});
        let (_, recovered) = recovered(&stream);
        let expected = Recovered {
            group: "steady".to_owned(),
            step: Some((StepNumber(4), "kill 2".to_owned())),
            since_request_us: Some(2_400_000),
            stretches: 2,
            longest_us: 2_390_000,
        };
        assert_eq!(recovered, [expected]);
    }

    #[test]
    fn a_recovery_counts_from_the_step_that_hurt() {
        let stream = Sample::new(&[("steady", 1)])
            .step(1, "rolling", "all", 10_000)
            .step(2, "kill", "2", 10_100)
            .step(3, "start", "2", 14_000)
            .gap(Pair("steady", 0, 0), 10_200, Some(19_100))
            .second("steady", 19, |_| {})
            .step(4, "kill", "3", 20_000)
            .gap(Pair("steady", 0, 0), 19_200, Some(19_900))
            .second("steady", 20, |_| {});
        let (_, recovered) = recovered(&stream);
        let told: Vec<_> = recovered.iter().map(|one| (one.step.as_ref().map(|(step, _)| step.0), one.since_request_us)).collect();
        assert_eq!(told, [(Some(2), Some(9_000_000)), (Some(4), None)]);
    }

    #[test]
    fn a_stall_that_no_second_saw_is_told_and_a_short_one_is_not() {
        let stalled = |until_ms| {
            let stream = Sample::new(&[("steady", 1)]).gap(Pair("steady", 0, 0), 10_100, Some(until_ms));
            recovered(&stream.second("steady", 10, |_| {})).1.len()
        };
        assert_eq!((stalled(10_500), stalled(10_900)), (0, 1));
    }

    #[test]
    fn figures_add_up_over_seconds_and_workers() {
        let mut stream = Sample::new(&[("steady", 1)]).load("steady", 0, 3);
        stream = stream.second("steady", 2, |second| second.in_flight = 5);
        if let Some(last) = stream.facts.last_mut() {
            last.worker = 1;
        }
        let (live, _) = recovered(&stream);
        let group = &live.groups()[0];
        assert_eq!((group.second, group.totals.ok, group.last.ok, group.in_flight), (2, 400, 200, 5));
    }
}
