//! `window` and `except` of `[[expect]]`: whether the plan has the window, and the metric knows it.

use std::collections::BTreeSet;

use crate::plan::model::{Action, Down, Metric, Step, Window, Windows};
use crate::plan::problem::{Problem, list};
use crate::plan::raw::{At, Fields};

use super::scene::Scene;

/// The windows of a plan.
#[derive(Debug)]
pub(super) struct PlanWindows<'a> {
    /// `None`: a step could not be read, so nothing can be said of any.
    steps: Option<&'a [Step]>,
    /// Actions that steps, or parts of them, will have.
    actions: BTreeSet<&'static str>,
}

impl<'a> PlanWindows<'a> {
    pub(super) fn of(steps: Option<&'a [Step]>) -> Self {
        let mut actions = BTreeSet::new();
        steps.into_iter().flatten().for_each(|step| add_actions(step, &mut actions));
        Self { steps, actions }
    }

    /// The window of an expectation; absent, the metric's usual one.
    pub(super) fn read(&self, fields: &Fields<'_>, metric: Option<Metric>, scene: &Scene<'_>) -> Option<Window> {
        let Some(text) = fields.text("window") else {
            return metric.filter(|_| !fields.has("window")).map(|metric| metric.info().window.clone());
        };
        let window = self.known(&text, scene)?;
        let Some(metric) = metric.filter(|metric| !metric.info().windows.know(&window)) else { return Some(window) };
        let problem = Problem::error(text.span, format!("`{}` is not measured over `{window}`", metric.name()));
        scene.report(problem.hint(measured_over(metric.info().windows)));
        None
    }

    /// The windows that do not count.
    pub(super) fn read_exceptions(
        &self,
        fields: &Fields<'_>,
        metric: Option<Metric>,
        from: Option<&Window>,
        scene: &Scene<'_>,
    ) -> Vec<Window> {
        let texts = fields.texts("except").unwrap_or_default();
        let exception = |text: &At<&str>| {
            let window = self.known(text, scene)?;
            let can = metric.is_none_or(|metric| metric.info().windows.can_leave_out(&window));
            let message = if Some(&window) == from {
                format!("without `{window}` nothing of `{window}` is left")
            } else if can {
                return Some(window);
            } else {
                format!("`{}` cannot leave out `{window}`", metric.map_or("", Metric::name))
            };
            let hint = metric.map_or("", |metric| leaves_out(metric.info().windows));
            scene.report(Problem::error(text.span.clone(), message).hint(hint));
            None
        };
        texts.iter().filter_map(exception).collect()
    }

    /// The window, if the plan has it.
    fn known(&self, text: &At<&str>, scene: &Scene<'_>) -> Option<Window> {
        let window = Window::read(text.value);
        let Some(steps) = self.steps else { return Some(window) };
        let problem = |message: String| Problem::error(text.span.clone(), message);
        let found = match &window {
            Window::Step(number) => {
                let step = usize::try_from(*number).ok().and_then(|number| steps.get(number - 1));
                match step {
                    Some(Step { action: Action::Wait { .. }, .. }) => {
                        Err(problem(format!("step {number} is a `wait`: it changes nothing")).hint("name the step before it"))
                    }
                    Some(_) => Ok(()),
                    None => Err(problem(format!("there is no step {number}")).hint(describe(steps))),
                }
            }
            Window::Steps if steps.is_empty() => Err(problem("this plan has no steps".to_owned()).hint(describe(steps))),
            Window::Action(action) if !self.actions.contains(action.as_str()) => {
                let known = Window::NAMES.into_iter().chain(["step 1"]).chain(self.actions.iter().copied());
                Err(problem(format!("there is no window `{action}`")).did_you_mean(action, known))
            }
            _ => Ok(()),
        };
        found.map_err(|problem| scene.report(problem)).ok()?;
        Some(window)
    }
}

/// What a step does, with what its parts do.
fn add_actions(step: &Step, actions: &mut BTreeSet<&'static str>) {
    let down_and_up = |how: &Down| if *how == Down::Kill { ["kill", "start"] } else { ["stop", "start"] };
    match &step.action {
        Action::Wait { .. } => return,
        Action::Restart { how, .. } | Action::Rolling { how, .. } => actions.extend(down_and_up(how)),
        Action::Repeat { steps, .. } => steps.iter().for_each(|step| add_actions(step, actions)),
        _ => {}
    }
    actions.insert(step.action.name());
}

/// The steps by number.
fn describe(steps: &[Step]) -> String {
    let named: Vec<String> =
        steps.iter().take(STEPS_SHOWN_MAX).zip(1..).map(|(step, number)| format!("{number} {}", step.action)).collect();
    match steps.len() {
        0 => "write a `[[step]]`, or take another window".to_owned(),
        count if count > STEPS_SHOWN_MAX => format!("steps in the order in which they fire: {} and so on up to {count}", named.join("; ")),
        _ => format!("steps in the order in which they fire: {}", named.join("; ")),
    }
}

/// So many steps are named in a hint.
const STEPS_SHOWN_MAX: usize = 5;

fn measured_over(windows: Windows) -> String {
    let names = match windows {
        Windows::Any => return "it is measured over every window".to_owned(),
        Windows::OfSteps => return "it is measured over steps: `steps`, `step 1`, or an action such as `kill`".to_owned(),
        Windows::Phases => list(&["baseline", "after", "run"]),
        Windows::Run => list(&["run"]),
    };
    format!("it is measured over {names}")
}

fn leaves_out(windows: Windows) -> &'static str {
    match windows {
        Windows::Any => "`except` names parts of the window, such as a step",
        Windows::OfSteps => "it is measured over steps, and `except` names some of them",
        Windows::Phases | Windows::Run => "it is one figure of the whole run, not a sum of parts: take `except` away",
    }
}
