//! The phases of a run and what moves it from one to the next. Pure: moments are handed in.
//!
//! Not here: what is done in a phase (`conductor`).

use std::time::Duration;

use crate::clock::Moment;
use crate::plan::model;
use crate::record::fact::Phase;

/// Longest wait for outstanding records after the last one was due.
pub(super) const DRAIN_MAX: Duration = Duration::from_secs(10);

/// Bound on the phase as a whole: the wait, and the closing of all clients.
const DRAIN_AND_CLOSE_MAX: Duration = Duration::from_secs(15);

/// From the end of the steps to the end of the load, at least: every group must have heard of it before.
const END_LEAD: Duration = Duration::from_millis(100);

/// What can move a run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// Time has passed.
    Tick,
    /// The last step is over.
    StepsOver,
    /// Every record's outcome is known.
    Settled,
    /// The run is to end now: somebody interrupted it, or something broke.
    Stop,
}

/// Where a run is.
#[derive(Clone, Debug)]
pub(super) struct Phases {
    steady_at: Moment,
    steps_at: Moment,
    recovery: Duration,
    has_steps: bool,
    phase: Phase,
    until: Option<Moment>,
}

impl Phases {
    /// A run whose load begins at `load_start`. A warm-up of no length is left out.
    #[must_use]
    pub(super) fn start(plan: model::Phases, has_steps: bool, load_start: Moment) -> Self {
        let steady_at = load_start + plan.warmup;
        let steps_at = steady_at + plan.steady;
        let (phase, until) = if plan.warmup.is_zero() { (Phase::Steady, steps_at) } else { (Phase::Warmup, steady_at) };
        Self { steady_at, steps_at, recovery: plan.recovery, has_steps, phase, until: Some(until) }
    }

    /// The phase that it is in.
    #[must_use]
    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// When the phase ends by itself; `None`: not by time.
    #[must_use]
    pub(super) fn until(&self) -> Option<Moment> {
        self.until
    }

    /// The origin of all times: the start of `steady`.
    #[must_use]
    pub(super) fn steady_at(&self) -> Moment {
        self.steady_at
    }

    /// What the steps' own times are counted from.
    #[must_use]
    pub(super) fn steps_at(&self) -> Moment {
        self.steps_at
    }

    /// From when on no record is due, once that is known: without steps from the start.
    #[must_use]
    pub(super) fn load_end(&self) -> Option<Moment> {
        match self.phase {
            Phase::Recovery => self.until,
            _ if self.has_steps => None,
            _ => Some(self.steps_at + self.recovery),
        }
    }

    /// Takes an input; returns the phase that begins with it, if one does. One call moves at most one phase on: call it with
    /// [`Input::Tick`] until it returns `None`.
    pub(super) fn on(&mut self, input: Input, now: Moment) -> Option<Phase> {
        let due = self.until.is_some_and(|until| now >= until);
        let (phase, until) = match (self.phase, input) {
            (Phase::End, _) => return None,
            (_, Input::Stop) | (Phase::Drain, Input::Settled) => (Phase::End, None),
            (Phase::Warmup, _) if due => (Phase::Steady, Some(self.steps_at)),
            (Phase::Steady, _) if due && self.has_steps => (Phase::Steps, None),
            // Counted from when it was due, so that a busy machine does not stretch the run.
            (Phase::Steady, _) if due => (Phase::Recovery, Some(self.steps_at + self.recovery)),
            (Phase::Steps, Input::StepsOver) => (Phase::Recovery, Some(now + self.recovery.max(END_LEAD))),
            (Phase::Recovery, _) if due => (Phase::Drain, Some(now + DRAIN_AND_CLOSE_MAX)),
            (Phase::Drain, _) if due => (Phase::End, None),
            _ => return None,
        };
        self.phase = phase;
        self.until = until;
        Some(phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    fn phases(warmup: u64, steady: u64, recovery: u64, has_steps: bool) -> (Clock, Phases) {
        let clock = Clock::manual();
        let plan = model::Phases { warmup: seconds(warmup), steady: seconds(steady), recovery: seconds(recovery) };
        let phases = Phases::start(plan, has_steps, clock.now());
        (clock, phases)
    }

    /// Ticks once a second for `count` seconds; the phases that began, with the second.
    fn tick(clock: &Clock, phases: &mut Phases, count: u64) -> Vec<(u64, Phase)> {
        let mut begun = Vec::new();
        for second in 1..=count {
            clock.advance(seconds(1));
            while let Some(phase) = phases.on(Input::Tick, clock.now()) {
                begun.push((second, phase));
            }
        }
        begun
    }

    #[test]
    fn a_run_with_steps_waits_for_their_end() {
        let (clock, mut phases) = phases(5, 10, 30, true);
        assert_eq!(phases.phase(), Phase::Warmup);
        assert_eq!(tick(&clock, &mut phases, 100), [(5, Phase::Steady), (15, Phase::Steps)]);
        assert_eq!(phases.until(), None);
        assert_eq!(phases.on(Input::StepsOver, clock.now()), Some(Phase::Recovery));
        assert_eq!(tick(&clock, &mut phases, 29), []);
        assert_eq!(tick(&clock, &mut phases, 1), [(1, Phase::Drain)]);
        assert_eq!(phases.on(Input::Settled, clock.now()), Some(Phase::End));
        assert_eq!(phases.on(Input::Stop, clock.now()), None, "a run ends once");
    }

    #[test]
    fn a_run_without_steps_goes_straight_to_recovery() {
        let (clock, mut phases) = phases(2, 10, 6, false);
        assert_eq!(tick(&clock, &mut phases, 20), [(2, Phase::Steady), (12, Phase::Recovery), (18, Phase::Drain)]);
    }

    #[test]
    fn the_end_of_the_load_is_known_before_it_comes() {
        let (clock, mut without) = phases(0, 8, 0, false);
        let end = clock.now() + seconds(8);
        assert_eq!(without.load_end(), Some(end));
        tick(&clock, &mut without, 8);
        assert_eq!((without.phase(), without.load_end()), (Phase::Drain, Some(end)));
        let (clock, mut with) = phases(0, 8, 0, true);
        tick(&clock, &mut with, 9);
        assert_eq!(with.load_end(), None);
        with.on(Input::StepsOver, clock.now());
        assert_eq!(with.load_end(), Some(clock.now() + END_LEAD));
    }

    #[test]
    fn the_drain_is_bounded() {
        let (clock, mut phases) = phases(0, 1, 0, false);
        assert_eq!(tick(&clock, &mut phases, 30), [(1, Phase::Recovery), (1, Phase::Drain), (16, Phase::End)]);
    }

    #[test]
    fn without_a_warm_up_the_load_begins_with_steady() {
        let (clock, phases) = phases(0, 4, 4, false);
        assert_eq!(phases.phase(), Phase::Steady);
        assert_eq!(phases.steady_at(), clock.now());
        assert_eq!(phases.steps_at(), clock.now() + seconds(4));
    }

    #[test]
    fn a_stop_ends_any_phase() {
        let ends = [(0, Phase::Warmup), (5, Phase::Steady), (15, Phase::Steps)];
        for (second, phase) in ends {
            let (clock, mut phases) = phases(5, 10, 30, true);
            tick(&clock, &mut phases, second);
            assert_eq!(phases.phase(), phase);
            assert_eq!(phases.on(Input::Stop, clock.now()), Some(Phase::End), "{phase:?}");
        }
    }

    #[test]
    fn inputs_of_another_phase_change_nothing() {
        let (clock, mut phases) = phases(5, 10, 30, true);
        assert_eq!(phases.on(Input::StepsOver, clock.now()), None);
        assert_eq!(phases.on(Input::Settled, clock.now()), None);
        assert_eq!(phases.phase(), Phase::Warmup);
    }
}
