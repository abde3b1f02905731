//! When things will happen: a plan's steps laid out in time before anything runs.
//!
//! Pure estimates, from what nodes in containers were seen to take. Not here: when things did happen. Called by `show`, and by whoever
//! tells how long is left.

use std::ops::Add;
use std::time::Duration;

use super::model::{Action, Condition, Down, Phases, Plan, Step};

/// From the start of a container until its broker serves.
const START: Duration = Duration::from_secs(8);
/// The longest start that is waited for.
const START_MOST: Duration = Duration::from_secs(60);
/// A controlled shutdown.
const STOP: Duration = Duration::from_secs(2);
/// From a broker's return to full ISRs, after a kill (logs are recovered) and after a stop.
const ISR_AFTER_KILL: Duration = Duration::from_secs(10);
const ISR_AFTER_STOP: Duration = Duration::from_secs(4);
/// A change of a topic, until it is observed.
const TOPIC_CHANGE: Duration = Duration::from_secs(1);
const TOPIC_CHANGE_MOST: Duration = Duration::from_secs(30);
/// A condition that a step waits for with nothing known about why.
const CONDITION: Duration = Duration::from_secs(5);

/// A length of time that is only partly known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// It cannot be shorter.
    pub least: Duration,
    /// What it will be about.
    pub expected: Duration,
    /// It cannot be longer: then the step fails.
    pub most: Duration,
}

impl Estimate {
    /// A length that is known.
    #[must_use]
    pub fn exactly(length: Duration) -> Self {
        Self { least: length, expected: length, most: length }
    }

    fn between(expected: Duration, most: Duration) -> Self {
        Self { least: Duration::ZERO, expected: expected.min(most), most }
    }

    fn times(self, count: u32) -> Self {
        let times = |length: Duration| length.saturating_mul(count);
        Self { least: times(self.least), expected: times(self.expected), most: times(self.most) }
    }

    /// The later of both, in each of the three respects.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self { least: self.least.max(other.least), expected: self.expected.max(other.expected), most: self.most.max(other.most) }
    }
}

impl Add for Estimate {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            least: self.least.saturating_add(other.least),
            expected: self.expected.saturating_add(other.expected),
            most: self.most.saturating_add(other.most),
        }
    }
}

/// A plan in time, counted from the start of the load.
#[derive(Clone, Debug)]
pub struct Timeline<'p> {
    /// End of the warm-up.
    pub steady_at: Duration,
    /// End of the baseline; steps count from here.
    pub steps_at: Duration,
    /// Each step with the time at which it fires.
    pub steps: Vec<(Estimate, &'p Step)>,
    /// End of the last step.
    pub recovery_at: Estimate,
    /// End of the load.
    pub end_at: Estimate,
}

impl<'p> Timeline<'p> {
    /// Lays out a plan.
    #[must_use]
    pub fn of(plan: &'p Plan) -> Self {
        let Phases { warmup, steady, recovery } = plan.phases;
        let brokers = plan.cluster.layout.brokers().len();
        let steps_at = warmup.saturating_add(steady);
        let (steps, recovery_at) = lay_out(&plan.steps, Estimate::exactly(steps_at), brokers);
        Self { steady_at: warmup, steps_at, steps, recovery_at, end_at: recovery_at + Estimate::exactly(recovery) }
    }
}

/// Fires steps from `origin` on, none before the one before it is done; answers the end of the last.
fn lay_out(steps: &[Step], origin: Estimate, brokers: usize) -> (Vec<(Estimate, &Step)>, Estimate) {
    let mut clock = origin;
    let mut fired = Vec::with_capacity(steps.len());
    for step in steps {
        let at = clock.max(origin + Estimate::exactly(step.at));
        fired.push((at, step));
        clock = at + length(&step.action, brokers);
    }
    (fired, clock)
}

/// How long an action takes in a cluster of so many brokers.
fn length(action: &Action, brokers: usize) -> Estimate {
    match action {
        Action::Kill { .. } | Action::Pause { .. } | Action::Unpause { .. } => Estimate::default(),
        Action::Stop { grace, .. } => Estimate::between(STOP, *grace),
        Action::Start { .. } => Estimate::between(START, START_MOST),
        Action::Restart { how, down, .. } => restart(*how, *down),
        Action::Rolling { brokers: listed, how, down, then, within } => {
            let isr = if *how == Down::Kill { ISR_AFTER_KILL } else { ISR_AFTER_STOP };
            let then = then.as_ref().map_or_else(Estimate::default, |condition| wait(condition, isr, *within));
            let count = if listed.is_empty() { brokers } else { listed.len() };
            (restart(*how, *down) + then).times(u32::try_from(count).unwrap_or(u32::MAX))
        }
        Action::AddPartitions { .. } | Action::CreateTopic { .. } | Action::DeleteTopic { .. } => {
            Estimate::between(TOPIC_CHANGE, TOPIC_CHANGE_MOST)
        }
        Action::Wait { until, within } => wait(until, CONDITION, *within),
        // Every round counts from its own start, so one is like the other.
        Action::Repeat { times, steps } => lay_out(steps, Estimate::default(), brokers).1.times(*times),
    }
}

fn restart(how: Down, down: Duration) -> Estimate {
    let stop = match how {
        Down::Kill => Estimate::default(),
        Down::Stop { grace } => Estimate::between(STOP, grace),
    };
    stop + Estimate::exactly(down) + Estimate::between(START, START_MOST)
}

fn wait(condition: &Condition, expected: Duration, within: Duration) -> Estimate {
    match condition {
        Condition::Elapsed(time) => Estimate::exactly(*time),
        Condition::IsrFull | Condition::CaughtUp | Condition::LeaderOf { .. } => Estimate::between(expected, within),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::BrokerId;
    use crate::plan::model::Target;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn step(at: u64, action: Action) -> Step {
        Step { at: seconds(at), action, line: 1 }
    }

    #[test]
    fn a_step_that_still_runs_delays_the_next() {
        let wait = |time| Action::Wait { until: Condition::Elapsed(seconds(time)), within: seconds(time) };
        let steps = [step(0, wait(10)), step(4, wait(1)), step(20, wait(1))];
        let (fired, end) = lay_out(&steps, Estimate::exactly(seconds(15)), 3);
        let at: Vec<u64> = fired.iter().map(|(at, _)| at.expected.as_secs()).collect();
        assert_eq!(at, [15, 25, 35]);
        assert_eq!(end, Estimate::exactly(seconds(36)));
    }

    #[test]
    fn a_roll_costs_each_broker_its_restart_and_the_wait() {
        let how = Down::Kill;
        let roll = Action::Rolling { brokers: Vec::new(), how, down: seconds(4), then: Some(Condition::IsrFull), within: seconds(60) };
        let estimate = length(&roll, 3);
        assert_eq!(estimate, Estimate { least: seconds(12), expected: seconds(66), most: seconds(3 * (4 + 60 + 60)) });
    }

    #[test]
    fn rounds_are_alike_and_never_overflow() {
        let target = Target::Node(BrokerId(2));
        let body = vec![step(0, Action::Kill { target: target.clone() }), step(4, Action::Start { target })];
        let round = Action::Repeat { times: 3, steps: body };
        assert_eq!(length(&round, 3).expected, seconds(3 * (4 + 8)));
        let deep = Action::Repeat { times: u32::MAX, steps: vec![step(u64::MAX, round)] };
        assert_eq!(length(&deep, 3).most, Duration::MAX);
    }
}
