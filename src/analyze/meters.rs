//! Figures that only rise, for whoever watches a run from outside: Metadata requests by reason, response times, steps, losses.
//!
//! What the screen shows as well is in [`live`](super::live). Not the findings: these figures lag by a second, and nothing here decides a
//! verdict. Everything is bounded, whatever a plan or a client says: what is left out is counted.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::StepNumber;
use crate::record::fact::{Fact, GeneratorSecond, GroupSecond, Phase, RequesterSecond, Stamped, StepOutcome};
use crate::record::histogram::LatencyHistogram;

/// Most groups of either kind that are told of.
pub const GROUPS_MAX: usize = 200;
/// Most different words (reasons, actions) of one kind; further ones are summed up under [`OTHER`].
pub const WORDS_MAX: usize = 32;
/// Stands for words beyond the bound.
pub const OTHER: &str = "other";
/// Upper ends of the classes of times, in microseconds.
pub const BOUNDS_US: [u64; 16] = [
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    30_000_000,
    60_000_000,
    120_000_000,
];

/// What a run adds up to so far.
#[derive(Clone, Debug, Default)]
pub struct Meters {
    /// What the run is: `run_id`, `plan`, and the versions of `chaos` and `kafka`; empty before its first fact.
    pub run: BTreeMap<&'static str, String>,
    /// The phase that has begun last; `None`: the load has not begun.
    pub phase: Option<Phase>,
    /// Groups of producers in plan order.
    pub groups: Vec<GroupMeters>,
    /// Groups of requesters in plan order.
    pub requesters: Vec<RequesterMeters>,
    /// Groups of either kind beyond [`GROUPS_MAX`].
    pub groups_left_out: u64,
    /// Steps, their parts included.
    pub steps: StepMeters,
    /// The load generator.
    pub generator: GeneratorMeters,
    /// Facts that did not fit into the stream.
    pub facts_lost: u64,
    /// Histograms that could not be read.
    pub unreadable: u64,
}

/// A group of producers.
#[derive(Clone, Debug, Default)]
pub struct GroupMeters {
    /// Its name.
    pub name: String,
    /// Metadata requests by reason; `None`: its client does not count them, or there is no client yet.
    pub metadata_requests: Option<BTreeMap<String, u64>>,
    /// Response times of records that were acknowledged.
    pub response_ok: Classes,
    /// And of those that were not.
    pub response_bad: Classes,
}

/// A group of requesters.
#[derive(Clone, Debug, Default)]
pub struct RequesterMeters {
    /// Its name.
    pub name: String,
    /// Requests that became due.
    pub due: u64,
    /// Requests that were sent.
    pub sent: u64,
    /// Requests that were answered.
    pub ok: u64,
    /// Requests that never will be.
    pub failed: u64,
    /// Requests on their way.
    pub in_flight: u64,
}

/// Steps of the plan and the parts that they are made of.
#[derive(Clone, Debug, Default)]
pub struct StepMeters {
    /// Requested so far, by action.
    pub requested: BTreeMap<String, u64>,
    /// Ended so far, by outcome.
    pub finished: BTreeMap<&'static str, u64>,
    /// The latest, with the time of its request in microseconds since the start of `steady`; `None`: there was none.
    pub latest: Option<(StepNumber, i64)>,
    /// Those that are going on.
    pub open: BTreeSet<StepNumber>,
}

/// The load generator: this process.
#[derive(Clone, Debug, Default)]
pub struct GeneratorMeters {
    /// How late records were handed over.
    pub lateness: Classes,
    /// CPU time in microseconds, memory in bytes, and threads; `None`: it has not told yet.
    pub process: Option<(u64, u64, u64)>,
}

/// Times, counted by class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    /// How many lie in each class of [`BOUNDS_US`], each without the classes below it; the last one holds what lies above all bounds.
    counts: [u64; BOUNDS_US.len() + 1],
    /// Their sum in microseconds, to three digits.
    pub sum_us: u64,
}

impl Classes {
    /// How many lie at or below each bound.
    pub fn up_to(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut sum = 0;
        BOUNDS_US.iter().zip(&self.counts).map(move |(bound_us, count)| {
            sum += count;
            (*bound_us, sum)
        })
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn add(&mut self, histogram: &LatencyHistogram) {
        for (value_us, count) in histogram.values() {
            self.counts[BOUNDS_US.partition_point(|bound_us| *bound_us < value_us)] += count;
            self.sum_us = self.sum_us.saturating_add(value_us.saturating_mul(count));
        }
    }
}

impl Meters {
    /// Takes in a fact.
    pub fn fold(&mut self, stamped: &Stamped) {
        match &stamped.fact {
            Fact::RunStarted(run) => {
                let version = |of: &str| run.versions.get(of).cloned().unwrap_or_default();
                let labels = [
                    ("run_id", run.run_id.clone()),
                    ("plan", run.plan.clone()),
                    ("version", version("chaos")),
                    ("kafka", version("kafka")),
                ];
                self.run = labels.into();
                run.groups.iter().for_each(|group| {
                    self.group(&group.name);
                });
                run.requesters.iter().for_each(|group| {
                    self.requester(&group.name);
                });
                let all = run.groups.len().max(GROUPS_MAX) + run.requesters.len().max(GROUPS_MAX) - 2 * GROUPS_MAX;
                self.groups_left_out = all as u64;
            }
            Fact::PhaseStarted { phase } => self.phase = Some(*phase),
            Fact::StepRequested { step, action, .. } => {
                *word(&mut self.steps.requested, action) += 1;
                self.steps.latest = Some((*step, stamped.time_us));
                self.steps.open.insert(*step);
            }
            Fact::StepFinished { step, outcome, .. } => {
                *self.steps.finished.entry(outcome_word(*outcome)).or_default() += 1;
                self.steps.open.remove(step);
            }
            Fact::Second(second) => self.second(second),
            Fact::RequesterSecond(second) => self.requester_second(second),
            Fact::Generator(second) => self.generator_second(second),
            Fact::FactsLost { count } => self.facts_lost += count,
            _ => {}
        }
    }

    fn second(&mut self, second: &GroupSecond) {
        let Some(group) = self.group(&second.group) else { return };
        if let Some(reasons) = &second.metadata_requests {
            let known = group.metadata_requests.get_or_insert_default();
            reasons.iter().for_each(|(reason, count)| *word(known, reason) += count);
        }
        let mut unreadable = 0;
        for (classes, name) in [(&mut group.response_ok, "response_ok"), (&mut group.response_bad, "response_bad")] {
            match second.histogram(name) {
                Ok(histogram) => histogram.iter().for_each(|histogram| classes.add(histogram)),
                Err(_) => unreadable += 1,
            }
        }
        self.unreadable += unreadable;
    }

    fn requester_second(&mut self, second: &RequesterSecond) {
        let Some(group) = self.requester(&second.group) else { return };
        group.due += second.due;
        group.sent += second.sent;
        group.ok += second.ok;
        group.failed += second.failed;
        group.in_flight = second.in_flight;
    }

    fn generator_second(&mut self, second: &GeneratorSecond) {
        self.generator.process = Some((second.cpu_us_total, second.rss_bytes, second.threads));
        match second.lateness.as_ref().map(|text| LatencyHistogram::decode(text, None)) {
            Some(Ok(lateness)) => self.generator.lateness.add(&lateness),
            Some(Err(_)) => self.unreadable += 1,
            None => {}
        }
    }

    /// The group of that name; `None`: it is beyond the bound.
    fn group(&mut self, name: &str) -> Option<&mut GroupMeters> {
        let new = || GroupMeters { name: name.to_owned(), ..GroupMeters::default() };
        entry(&mut self.groups, |group| group.name == name, new)
    }

    fn requester(&mut self, name: &str) -> Option<&mut RequesterMeters> {
        let new = || RequesterMeters { name: name.to_owned(), ..RequesterMeters::default() };
        entry(&mut self.requesters, |group| group.name == name, new)
    }
}

/// The group that is meant, made if it is new and there is room.
fn entry<T>(groups: &mut Vec<T>, is_meant: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> Option<&mut T> {
    let at = groups.iter().position(is_meant).unwrap_or(groups.len());
    if at == groups.len() {
        if at == GROUPS_MAX {
            return None;
        }
        groups.push(new());
    }
    groups.get_mut(at)
}

/// The count of a word, or of all further ones.
fn word<'w>(counts: &'w mut BTreeMap<String, u64>, word: &str) -> &'w mut u64 {
    let is_room = counts.contains_key(word) || counts.len() < WORDS_MAX;
    counts.entry(if is_room { word } else { OTHER }.to_owned()).or_default()
}

/// An outcome as facts have it.
fn outcome_word(outcome: StepOutcome) -> &'static str {
    match outcome {
        StepOutcome::Done => "done",
        StepOutcome::NoOp => "no_op",
        StepOutcome::Failed => "failed",
        StepOutcome::NotObserved => "not_observed",
        StepOutcome::Cancelled => "cancelled",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample::Sample;

    fn folded(stream: &Sample) -> Meters {
        let mut meters = Meters::default();
        stream.facts.iter().for_each(|fact| meters.fold(fact));
        meters
    }

    #[test]
    fn requests_add_up_by_reason_and_stay_unknown_where_nobody_counts() {
        let reasons = |counts: &[(&str, u64)]| Some(counts.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect());
        let meters = folded(
            &Sample::new(&[("steady", 1), ("foreign", 1)])
                .second("steady", 0, |second| second.metadata_requests = reasons(&[("start", 1)]))
                .second("steady", 1, |second| second.metadata_requests = reasons(&[("age", 2)]))
                .second("steady", 2, |second| second.metadata_requests = reasons(&[("age", 3)]))
                .second("foreign", 0, |second| second.metadata_requests = None),
        );
        assert_eq!(meters.groups[0].metadata_requests, reasons(&[("age", 5), ("start", 1)]));
        assert_eq!(meters.groups[1].metadata_requests, None);
    }

    #[test]
    fn times_are_counted_by_class_and_summed() {
        let mut histogram = LatencyHistogram::new();
        for value_us in [500, 1_000, 1_001, 5_000, 200_000_000] {
            histogram.record(value_us);
        }
        let mut classes = Classes::default();
        classes.add(&histogram);
        classes.add(&histogram);
        let up_to: Vec<(u64, u64)> = classes.up_to().collect();
        assert_eq!(up_to[..3], [(1_000, 4), (2_500, 6), (5_000, 8)]);
        assert_eq!((up_to[15].1, classes.count()), (8, 10), "what lies above all bounds is in no class but the last");
        let exact = 2 * (500 + 1_000 + 1_001 + 5_000 + 200_000_000_u64);
        assert!(classes.sum_us.abs_diff(exact) <= exact / 1000, "{}", classes.sum_us);
    }

    #[test]
    fn steps_are_counted_and_the_latest_is_known() {
        let meters = folded(&Sample::new(&[("steady", 1)]).step(1, "kill", "2", 10_000).child(2, None, None, "start", "2", 14_000));
        assert_eq!(meters.steps.requested, BTreeMap::from([("kill".to_owned(), 1), ("start".to_owned(), 1)]));
        assert_eq!(meters.steps.finished, BTreeMap::from([("done", 1)]));
        assert_eq!((meters.steps.latest, meters.steps.open.len()), (Some((StepNumber(2), 14_000_000)), 1));
    }

    #[test]
    fn groups_and_words_are_bounded_and_what_is_left_out_is_counted() {
        let names: Vec<String> = (0..GROUPS_MAX + 3).map(|group| format!("g{group}")).collect();
        let groups: Vec<(&str, u32)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        let last = names.last().unwrap();
        let meters = folded(&Sample::new(&groups).second(last, 0, |_| {}));
        assert_eq!((meters.groups.len(), meters.groups_left_out), (GROUPS_MAX, 3));
        let reasons = (0..WORDS_MAX as u64 + 5).map(|reason| (format!("r{reason:02}"), 1)).collect();
        let meters = folded(&Sample::new(&[("steady", 1)]).second("steady", 0, |second| second.metadata_requests = Some(reasons)));
        let counts = meters.groups[0].metadata_requests.as_ref().unwrap();
        assert_eq!((counts.len(), counts[OTHER]), (WORDS_MAX + 1, 5));
    }

    #[test]
    fn a_histogram_that_cannot_be_read_is_counted() {
        let damage = |second: &mut GroupSecond| second.histograms = BTreeMap::from([("response_ok".to_owned(), "*".to_owned())]);
        assert_eq!(folded(&Sample::new(&[("steady", 1)]).second("steady", 0, damage)).unreadable, 1);
    }
}
