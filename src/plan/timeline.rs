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
/// A move of little data to other brokers.
const MOVE: Duration = Duration::from_secs(3);
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
    /// When the last step has been seen from outside.
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
        let Course { fired: steps, length } = lay_out(&plan.steps, Estimate::exactly(steps_at), brokers);
        let recovery_at = length.observed.max(length.acknowledged);
        Self { steady_at: warmup, steps_at, steps, recovery_at, end_at: recovery_at + Estimate::exactly(recovery) }
    }
}

/// How long an action takes: until the next step may fire, and until it is seen from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Length {
    acknowledged: Estimate,
    observed: Estimate,
}

impl Length {
    fn both(length: Estimate) -> Self {
        Self { acknowledged: length, observed: length }
    }
}

/// Steps with the times at which they fire, and the length of all of them.
struct Course<'p> {
    fired: Vec<(Estimate, &'p Step)>,
    length: Length,
}

/// Fires steps from `origin` on, none before the one before it is acknowledged.
fn lay_out(steps: &[Step], origin: Estimate, brokers: usize) -> Course<'_> {
    let mut length = Length::both(origin);
    let mut fired = Vec::with_capacity(steps.len());
    for step in steps {
        let at = length.acknowledged.max(origin + Estimate::exactly(step.at));
        let step_length = length_of(&step.action, brokers);
        fired.push((at, step));
        length.acknowledged = at + step_length.acknowledged;
        length.observed = length.observed.max(at + step_length.observed);
    }
    Course { fired, length }
}

/// How long an action takes in a cluster of so many brokers.
fn length_of(action: &Action, brokers: usize) -> Length {
    let start = Estimate::between(START, START_MOST);
    match action {
        Action::Kill { .. }
        | Action::Pause { .. }
        | Action::Unpause { .. }
        | Action::Disconnect { .. }
        | Action::Connect { .. }
        | Action::Limit { .. } => Length::default(),
        Action::Stop { grace, .. } => Length::both(Estimate::between(STOP, *grace)),
        Action::Start { .. } | Action::AddBroker => Length { acknowledged: Estimate::default(), observed: start },
        Action::Restart { how, down, .. } => {
            let acknowledged = outage(*how, *down);
            Length { acknowledged, observed: acknowledged + start }
        }
        Action::Rolling { brokers: listed, how, down, then, within } => {
            let count = if listed.is_empty() { brokers } else { listed.len() };
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            let isr = if *how == Down::Kill { ISR_AFTER_KILL } else { ISR_AFTER_STOP };
            let then = then.as_ref().map_or_else(Estimate::default, |condition| wait(condition, START + isr, *within));
            let acknowledged = (outage(*how, *down) + then).times(count);
            Length { acknowledged, observed: acknowledged.max(outage(*how, *down).times(count) + start) }
        }
        Action::NodeLink { lasts, .. } | Action::ClientLink { lasts, .. } => Length::both(Estimate::exactly(lasts.unwrap_or_default())),
        Action::AddPartitions { .. } | Action::CreateTopic { .. } | Action::DeleteTopic { .. } => {
            Length { acknowledged: Estimate::default(), observed: Estimate::between(TOPIC_CHANGE, TOPIC_CHANGE_MOST) }
        }
        Action::RecreateTopic { .. } | Action::ElectLeaders { .. } | Action::ConfigureTopic { .. } | Action::ConfigureBroker { .. } => {
            Length { acknowledged: Estimate::default(), observed: Estimate::between(TOPIC_CHANGE, TOPIC_CHANGE_MOST) }
        }
        Action::Reassign { within, .. } => Length { acknowledged: Estimate::default(), observed: Estimate::between(MOVE, *within) },
        Action::Wait { until, within } => Length::both(wait(until, CONDITION, *within)),
        Action::Repeat { times, steps } => repeat(*times, lay_out(steps, Estimate::default(), brokers).length),
    }
}

/// Every round counts from its own start, so one is like the other.
fn repeat(times: u32, round: Length) -> Length {
    let before_last = round.acknowledged.times(times.saturating_sub(1));
    Length { acknowledged: round.acknowledged.times(times), observed: before_last + round.observed }
}

/// From the order to go down until the order to start.
fn outage(how: Down, down: Duration) -> Estimate {
    let stop = match how {
        Down::Kill => Estimate::default(),
        Down::Stop { grace } => Estimate::between(STOP, grace),
    };
    stop + Estimate::exactly(down)
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
        let Course { fired, length } = lay_out(&steps, Estimate::exactly(seconds(15)), 3);
        let at: Vec<u64> = fired.iter().map(|(at, _)| at.expected.as_secs()).collect();
        assert_eq!(at, [15, 25, 35]);
        assert_eq!(length, Length::both(Estimate::exactly(seconds(36))));
    }

    #[test]
    fn being_seen_from_outside_holds_nobody_up() {
        let target = Target::Node(BrokerId(2));
        let steps = [step(0, Action::Start { target: target.clone() }), step(1, Action::Pause { target })];
        let Course { fired, length } = lay_out(&steps, Estimate::default(), 3);
        assert_eq!(fired[1].0, Estimate::exactly(seconds(1)));
        assert_eq!((length.acknowledged.expected, length.observed.expected), (seconds(1), START));
    }

    #[test]
    fn a_roll_costs_each_broker_its_outage_and_the_wait() {
        let how = Down::Kill;
        let roll = |then| Action::Rolling { brokers: Vec::new(), how, down: seconds(4), then, within: seconds(60) };
        let waiting = length_of(&roll(Some(Condition::IsrFull)), 3).acknowledged;
        assert_eq!(waiting, Estimate { least: seconds(12), expected: seconds(66), most: seconds(3 * 64) });
        let hurried = length_of(&roll(None), 3);
        assert_eq!((hurried.acknowledged.expected, hurried.observed.expected), (seconds(12), seconds(20)));
    }

    #[test]
    fn rounds_are_alike_and_never_overflow() {
        let target = Target::Node(BrokerId(2));
        let body = vec![step(0, Action::Kill { target: target.clone() }), step(4, Action::Start { target })];
        let round = Action::Repeat { times: 3, steps: body };
        let length = length_of(&round, 3);
        assert_eq!((length.acknowledged.expected, length.observed.expected), (seconds(12), seconds(8 + 12)));
        let deep = Action::Repeat { times: u32::MAX, steps: vec![step(u64::MAX, round)] };
        assert_eq!(length_of(&deep, 3).observed.most, Duration::MAX);
    }
}
