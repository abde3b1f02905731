//! What of a run lies in a window, and not in those that do not count.

use std::collections::BTreeSet;

use super::Unknown;
use crate::analyze::parts::{Part, Parts};
use crate::analyze::window::SECOND_US;
use crate::ids::StepNumber;
use crate::plan::model::Window;
use crate::record::step::StepLedger;

/// The time of a run, by phase and step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Time {
    warm_up: bool,
    baseline: bool,
    /// Without a step yet.
    after: bool,
    steps: BTreeSet<StepNumber>,
}

/// A window without those that do not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    taken: Time,
    left_out: Time,
    steady_us: i64,
    /// Steps that have no figures by the second of their own.
    more_steps: BTreeSet<StepNumber>,
    has_exceptions: bool,
}

impl Selection {
    /// What lies in `window` and in none of `except`. A window of `except` that no step made is none.
    ///
    /// # Errors
    /// If no step of the window was made, or nothing is left of it.
    pub(super) fn of(window: &Window, except: &[Window], steps: &StepLedger, parts: &Parts) -> Result<Self, Unknown> {
        let mut taken = Time::of(window, steps);
        if taken.steps.is_empty() && matches!(window, Window::Step(_) | Window::Action(_)) {
            return Err(Unknown::Step(window.to_string()));
        }
        let mut left_out = Time::default();
        except.iter().for_each(|window| left_out.add(Time::of(window, steps)));
        let before = taken.clone();
        taken.remove(&left_out);
        if taken == Time::default() && before != taken {
            return Err(Unknown::NothingLeft);
        }
        let (steady_us, more_steps) = (parts.steady_us(), parts.more_steps().collect());
        Ok(Self { taken, left_out, steady_us, more_steps, has_exceptions: !except.is_empty() })
    }

    /// Whether windows were named that do not count.
    pub(super) fn has_exceptions(&self) -> bool {
        self.has_exceptions
    }

    /// Whether a part of the run lies in it. Of the steps that share one, all must.
    ///
    /// # Errors
    /// If it takes some of the steps that share a part: their seconds are not told apart.
    pub(super) fn parts(&self) -> Result<impl Fn(Part) -> bool + Copy, Unknown> {
        let shared = self.more_steps.intersection(&self.taken.steps).count();
        if shared > 0 && shared < self.more_steps.len() {
            return Err(Unknown::TooManySteps);
        }
        Ok(|part| match part {
            Part::Warmup => self.taken.warm_up,
            Part::Baseline => self.taken.baseline,
            Part::After => self.taken.after,
            Part::Step(step) => self.taken.steps.contains(&step),
            Part::MoreSteps => !self.more_steps.is_empty() && self.more_steps.is_subset(&self.taken.steps),
        })
    }

    /// Whether it holds a step.
    pub(super) fn holds(&self, step: StepNumber) -> bool {
        self.taken.steps.contains(&step)
    }

    /// Whether it holds an outage of a step, or of none that began then.
    pub(super) fn holds_outage(&self, step: Option<StepNumber>, first_due_us: i64) -> bool {
        self.taken.holds(step, first_due_us, self.steady_us)
    }

    /// Whether the same lies in a window that does not count.
    pub(super) fn leaves_out(&self, step: Option<StepNumber>, first_due_us: i64) -> bool {
        self.left_out.holds(step, first_due_us, self.steady_us)
    }
}

impl Time {
    fn of(window: &Window, steps: &StepLedger) -> Self {
        let all = || steps.steps().map(|step| step.step).collect();
        let whole = |pick: &dyn Fn(StepNumber) -> bool| {
            let own_or_above = |step: StepNumber| {
                let mut next = Some(step);
                while let Some(step) = next {
                    if pick(step) {
                        return true;
                    }
                    next = steps.get(step).and_then(|step| step.parent);
                }
                false
            };
            steps.steps().map(|step| step.step).filter(|step| own_or_above(*step)).collect()
        };
        let none = Self::default();
        match window {
            Window::WarmUp => Self { warm_up: true, ..none },
            Window::Baseline => Self { baseline: true, ..none },
            Window::After => Self { after: true, steps: all(), ..none },
            Window::Run => Self { warm_up: true, baseline: true, after: true, steps: all() },
            Window::Steps => Self { steps: all(), ..none },
            Window::Step(number) => {
                let at = usize::try_from(*number).unwrap_or(usize::MAX).saturating_sub(1);
                let step = steps.steps().filter(|step| step.parent.is_none()).nth(at).map(|step| step.step);
                Self { steps: whole(&|other| Some(other) == step), ..none }
            }
            Window::Action(action) => {
                let is_action = |step: StepNumber| steps.get(step).is_some_and(|step| step.action == *action);
                Self { steps: whole(&is_action), ..none }
            }
        }
    }

    fn add(&mut self, other: Self) {
        self.warm_up |= other.warm_up;
        self.baseline |= other.baseline;
        self.after |= other.after;
        self.steps.extend(other.steps);
    }

    fn remove(&mut self, other: &Self) {
        self.warm_up &= !other.warm_up;
        self.baseline &= !other.baseline;
        self.after &= !other.after;
        self.steps.retain(|step| !other.steps.contains(step));
    }

    fn holds(&self, step: Option<StepNumber>, first_due_us: i64, steady_us: i64) -> bool {
        match step {
            Some(step) => self.steps.contains(&step),
            None if first_due_us < 0 => self.warm_up,
            None if first_due_us < steady_us.div_euclid(SECOND_US) * SECOND_US => self.baseline,
            None => self.after,
        }
    }
}
