//! Windows of a run: which seconds are warm-up, baseline and after, and which stretch of time belongs to a step.

use std::collections::BTreeSet;

use crate::ids::StepNumber;
use crate::record::step::{StepLedger, StepRecord};

/// Microseconds in a second.
pub(crate) const SECOND_US: i64 = 1_000_000;

/// Part of the load that has latency figures of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Window {
    Warmup,
    Baseline,
    After,
}

impl Window {
    /// The window of a second. No step can fire before the planned end of `steady`, so the plan's length decides, whatever the order of
    /// facts.
    pub(crate) fn of(second: i64, steady_us: i64) -> Self {
        if second < 0 {
            Self::Warmup
        } else if (second + 1) * SECOND_US <= steady_us {
            Self::Baseline
        } else {
            Self::After
        }
    }
}

/// The time that a step without parts answers for: from its request to the request of the next step that disturbs, at its own level or
/// above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StepWindow {
    pub(crate) step: StepNumber,
    pub(crate) parent: Option<StepNumber>,
    pub(crate) round: Option<u32>,
    pub(crate) requested_us: i64,
    /// `i64::MAX` for the last one.
    pub(crate) until_us: i64,
}

/// Windows of all steps that can disturb by themselves, in the order of firing.
pub(crate) fn step_windows(steps: &StepLedger) -> Vec<StepWindow> {
    let parents: BTreeSet<StepNumber> = steps.steps().filter_map(|step| step.parent).collect();
    steps
        .steps()
        .filter(|step| disturbs(step) && !parents.contains(&step.step))
        .map(|step| StepWindow {
            step: step.step,
            parent: step.parent,
            round: step.round,
            requested_us: step.requested_us,
            until_us: until(steps, step),
        })
        .collect()
}

/// Waiting changes nothing.
fn disturbs(step: &StepRecord) -> bool {
    step.action != "wait"
}

fn until(steps: &StepLedger, step: &StepRecord) -> i64 {
    let next = steps.steps().find(|other| other.step > step.step && other.parent == step.parent && disturbs(other));
    match (next, step.parent.and_then(|parent| steps.get(parent))) {
        (Some(next), _) => next.requested_us,
        (None, Some(parent)) => until(steps, parent),
        (None, None) => i64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample::Sample;

    #[test]
    fn seconds_fall_into_windows_by_the_planned_length() {
        let steady_us = 2_500_000;
        let table = [(-1, Window::Warmup), (0, Window::Baseline), (1, Window::Baseline), (2, Window::After), (9, Window::After)];
        for (second, window) in table {
            assert_eq!(Window::of(second, steady_us), window, "{second}");
        }
    }

    #[test]
    fn a_step_answers_until_the_next_one_that_disturbs() {
        let stream = Sample::new(&[])
            .child(1, None, None, "rolling", "all", 10_000)
            .child(2, Some(1), Some(1), "kill", "1", 10_000)
            .child(3, Some(1), Some(1), "start", "1", 14_000)
            .child(4, Some(1), Some(1), "wait", "isr-full", 15_000)
            .child(5, Some(1), Some(2), "kill", "2", 30_000)
            .child(6, None, None, "wait", "30s", 40_000)
            .child(7, None, None, "stop", "3", 70_000);
        let mut ledger = StepLedger::default();
        for fact in &stream.facts {
            ledger.fold(fact);
        }
        let windows: Vec<_> = step_windows(&ledger).iter().map(|w| (w.step.0, w.requested_us / 1000, w.until_us / 1000)).collect();
        assert_eq!(windows, [(2, 10_000, 14_000), (3, 14_000, 30_000), (5, 30_000, 70_000), (7, 70_000, i64::MAX / 1000)]);
    }
}
