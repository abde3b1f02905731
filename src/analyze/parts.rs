//! Which part of the run a second belongs to: the smallest stretches that figures by time are kept for.
//!
//! A step's part begins with the second in which it was requested, and ends where that of the next begins. Steps with parts of their own leave
//! it to these, and `wait` changes nothing, as everywhere. Whatever a second's figures say of the time before the request is less than a second.

use crate::analyze::window::{SECOND_US, Window};
use crate::ids::StepNumber;
use crate::record::fact::{Fact, Stamped};

/// Steps beyond the first so many have no part of their own: each holds histograms.
pub(crate) const STEPS_MAX: usize = 50;

/// A part of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Warmup,
    Baseline,
    /// After the baseline, without a step yet.
    After,
    Step(StepNumber),
    /// All later steps together.
    MoreSteps,
}

impl Part {
    /// Its name in files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Warmup => "warm-up",
            Self::Baseline => "baseline",
            Self::After => "after",
            Self::Step(_) => "step",
            Self::MoreSteps => "more steps",
        }
    }

    /// Whether it lies after the baseline.
    pub(crate) fn is_after(self) -> bool {
        !matches!(self, Self::Warmup | Self::Baseline)
    }

    /// The step whose it is.
    pub(crate) fn step(self) -> Option<StepNumber> {
        match self {
            Self::Step(step) => Some(step),
            _ => None,
        }
    }
}

/// The steps so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    steady_us: i64,
    /// Steps without parts that disturb, with the time of their request, in the order of firing.
    steps: Vec<(i64, StepNumber)>,
}

impl Parts {
    pub(crate) fn fold(&mut self, stamped: &Stamped) {
        match &stamped.fact {
            Fact::RunStarted(run) => self.steady_us = run.phases_us[1],
            Fact::StepRequested { step, parent, action, .. } => {
                self.steps.retain(|(_, known)| Some(*known) != *parent);
                if action != "wait" {
                    self.steps.push((stamped.time_us, *step));
                }
            }
            _ => {}
        }
    }

    /// The part of a second, as far as steps are known.
    pub(crate) fn of(&self, second: i64) -> Part {
        let end_us = (second + 1).saturating_mul(SECOND_US);
        match self.steps.iter().rposition(|(requested_us, _)| *requested_us < end_us) {
            Some(at) if at < STEPS_MAX => Part::Step(self.steps[at].1),
            Some(_) => Part::MoreSteps,
            None => match Window::of(second, self.steady_us) {
                Window::Warmup => Part::Warmup,
                Window::Baseline => Part::Baseline,
                Window::After => Part::After,
            },
        }
    }

    /// Length of the baseline.
    pub(crate) fn steady_us(&self) -> i64 {
        self.steady_us
    }

    /// The steps that share [`Part::MoreSteps`].
    pub(crate) fn more_steps(&self) -> impl Iterator<Item = StepNumber> {
        self.steps.iter().skip(STEPS_MAX).map(|(_, step)| *step)
    }

    /// Steps without a part of their own.
    pub(crate) fn left_out(&self) -> u64 {
        self.steps.len().saturating_sub(STEPS_MAX) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample::Sample;

    fn parts(stream: &Sample) -> Parts {
        let mut parts = Parts::default();
        stream.facts.iter().for_each(|fact| parts.fold(fact));
        parts
    }

    #[test]
    fn a_second_belongs_to_the_last_step_that_was_requested_in_it_or_before() {
        let stream = Sample::new(&[])
            .child(1, None, None, "rolling", "all", 12_000)
            .child(2, Some(1), Some(1), "kill", "1", 12_001)
            .child(3, Some(1), Some(1), "start", "1", 16_999)
            .child(4, Some(1), Some(1), "wait", "isr-full", 18_000)
            .child(5, None, None, "stop", "3", 30_000);
        let parts = parts(&stream);
        let of = |second| (parts.of(second).name(), parts.of(second).step().map_or(0, |step| step.0));
        let table = [
            (-1, ("warm-up", 0)),
            (0, ("baseline", 0)),
            (9, ("baseline", 0)),
            (10, ("after", 0)),
            (11, ("after", 0)),
            (12, ("step", 2)),
            (15, ("step", 2)),
            (16, ("step", 3)),
            (29, ("step", 3)),
            (30, ("step", 5)),
            (99, ("step", 5)),
        ];
        for (second, expected) in table {
            assert_eq!(of(second), expected, "{second}");
        }
        assert_eq!(parts.left_out(), 0);
    }

    #[test]
    fn late_steps_of_very_many_share_a_part() {
        let stream = (0..60).fold(Sample::new(&[]), |stream, step| {
            let at_ms = 10_000 + i64::from(step) * 1_000;
            stream.child(step, None, None, "kill", "1", at_ms)
        });
        let parts = parts(&stream);
        assert_eq!([parts.of(59), parts.of(60), parts.of(69)], [Part::Step(StepNumber(49)), Part::MoreSteps, Part::MoreSteps]);
        assert_eq!(parts.left_out(), 10);
    }
}
