//! What of a run a window takes in, before there is a run: phases, steps, and parts of steps.
//!
//! Only so much of it as tells whether one window lies in another. What a run's figures are selected by is `analyze::figures`'s, once the run
//! has told its steps. Called by `expect_windows`.

use std::collections::BTreeSet;

use crate::plan::model::{Action, Down, Step, Window};

/// A step that changes something and has no parts, or such a part of one: a step with parts has no time beside theirs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// The plan's step, from 1.
    step: usize,
    /// From that step's action down to its own.
    actions: Vec<&'static str>,
}

/// Steps that change something, or their parts, in the order in which they fire.
#[derive(Clone, Debug, Default)]
pub(super) struct Places(Vec<Place>);

/// Phases and places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    phases: BTreeSet<&'static str>,
    places: BTreeSet<Place>,
}

impl Places {
    pub(super) fn of(steps: &[Step]) -> Self {
        let mut places = Self::default();
        steps.iter().zip(1..).for_each(|(step, number)| places.add(step, number, &[]));
        places
    }

    fn add(&mut self, step: &Step, number: usize, above: &[&'static str]) {
        if matches!(step.action, Action::Wait { .. }) {
            return;
        }
        let place = |actions: Vec<&'static str>| Place { step: number, actions };
        let own = [above, &[step.action.name()]].concat();
        match &step.action {
            Action::Restart { how, .. } | Action::Rolling { how, .. } => {
                let down = if *how == Down::Kill { "kill" } else { "stop" };
                self.0.extend([down, "start"].map(|part| place([&own[..], &[part]].concat())));
            }
            Action::Repeat { steps, .. } => steps.iter().for_each(|step| self.add(step, number, &own)),
            _ => self.0.push(place(own)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All actions in them.
    pub(super) fn actions(&self) -> BTreeSet<&'static str> {
        self.0.iter().flat_map(|place| &place.actions).copied().collect()
    }

    /// What a window takes in.
    pub(super) fn extent(&self, window: &Window) -> Extent {
        let phases: &[&str] = match window {
            Window::WarmUp => &["warm-up"],
            Window::Baseline => &["baseline"],
            Window::After => &["after"],
            Window::Run => &["warm-up", "baseline", "after"],
            Window::Steps | Window::Step(_) | Window::Action(_) => &[],
        };
        let holds = |place: &&Place| match window {
            Window::WarmUp | Window::Baseline => false,
            Window::After | Window::Run | Window::Steps => true,
            Window::Step(number) => usize::try_from(*number) == Ok(place.step),
            Window::Action(action) => place.actions.contains(&action.as_str()),
        };
        Extent { phases: phases.iter().copied().collect(), places: self.0.iter().filter(holds).cloned().collect() }
    }
}

impl Extent {
    pub(super) fn add(&mut self, other: Self) {
        self.phases.extend(other.phases);
        self.places.extend(other.places);
    }

    /// Whether nothing lies in both.
    pub(super) fn is_apart_from(&self, other: &Self) -> bool {
        self.phases.is_disjoint(&other.phases) && self.places.is_disjoint(&other.places)
    }

    /// Whether all of it lies in the other.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        self.phases.is_subset(&other.phases) && self.places.is_subset(&other.places)
    }
}
