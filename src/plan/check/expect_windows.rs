//! `window` and `except` of `[[expect]]`: whether the plan has the window, and the metric knows it.

use crate::plan::model::{Action, Metric, Step, Window, Windows};
use crate::plan::problem::{Problem, list};
use crate::plan::raw::{At, Fields};

use super::extent::{Extent, Places};
use super::scene::Scene;

/// The windows of a plan.
#[derive(Debug)]
pub(super) struct PlanWindows<'a> {
    /// `None`: a step could not be read, so nothing can be said of any.
    steps: Option<&'a [Step]>,
    places: Places,
}

impl<'a> PlanWindows<'a> {
    pub(super) fn of(steps: Option<&'a [Step]>) -> Self {
        Self { steps, places: Places::of(steps.unwrap_or_default()) }
    }

    /// The window of an expectation; absent, the metric's usual one.
    pub(super) fn read(&self, fields: &Fields<'_>, metric: Option<Metric>, scene: &Scene<'_>) -> Option<Window> {
        let Some(text) = fields.text("window") else {
            return metric.filter(|_| !fields.has("window")).and_then(|metric| self.usual(fields, metric, scene));
        };
        let window = self.known(&text, scene)?;
        let Some(metric) = metric.filter(|metric| !metric.info().windows.know(&window)) else { return Some(window) };
        let problem = Problem::error(text.span, format!("`{}` is not measured over `{window}`", metric.name()));
        scene.report(problem.hint(measured_over(metric.info().windows)));
        None
    }

    /// A metric's usual window, if the plan has it.
    fn usual(&self, fields: &Fields<'_>, metric: Metric, scene: &Scene<'_>) -> Option<Window> {
        let info = metric.info();
        if info.window != Window::Steps || self.steps.is_none() || !self.places.is_empty() {
            return Some(info.window.clone());
        }
        let message = format!("`{}` is measured over steps, and no step of this plan changes anything", info.name);
        let hint = if info.windows.know(&Window::Run) { "write a `[[step]]`, or `window = \"run\"`" } else { "write a `[[step]]`" };
        scene.report(Problem::error(fields.span_of("metric"), message).hint(hint));
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
            let Some(metric) = metric.filter(|metric| !metric.info().windows.can_leave_out(&window)) else { return Some(window) };
            let problem = Problem::error(text.span.clone(), format!("`{}` cannot leave out `{window}`", metric.name()));
            scene.report(problem.hint(leaves_out(metric.info().windows)));
            None
        };
        let windows: Vec<Window> = texts.iter().filter_map(exception).collect();
        if let (Some(metric), Some(from)) = (metric, from)
            && self.steps.is_some()
            && windows.len() == texts.len()
        {
            self.check_exceptions(&texts, &windows, (metric, from), scene);
        }
        windows
    }

    /// Each must leave something out, and all together something in.
    fn check_exceptions(&self, texts: &[At<&str>], windows: &[Window], (metric, from): (Metric, &Window), scene: &Scene<'_>) {
        let whole = self.places.extent(from);
        let mut left_out = Extent::default();
        for (text, window) in texts.iter().zip(windows) {
            let extent = self.places.extent(window);
            // An outage is left out by the step with which it began, and may last into the windows of others.
            let may_reach = is_of_outages(metric) && from.is_of_steps() && window.is_of_steps();
            if !may_reach && extent.is_apart_from(&whole) {
                let problem =
                    Problem::error(text.span.clone(), format!("`{window}` is no part of `{from}`, so leaving it out changes nothing"));
                scene.report(problem.hint("take it away, or name another `window`"));
            }
            left_out.add(extent);
        }
        if let Some(last) = texts.last().filter(|_| whole.is_within(&left_out)) {
            let names: Vec<String> = windows.iter().map(|window| format!("`{window}`")).collect();
            let message = format!("without {} nothing of `{from}` is left", names.join(", "));
            scene.report(Problem::error(last.span.clone(), message).hint(leaves_out(metric.info().windows)));
        }
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
            Window::Steps if self.places.is_empty() => {
                Err(problem("no step of this plan changes anything".to_owned()).hint("write a `[[step]]`, or take another window"))
            }
            Window::Action(action) if !self.places.actions().contains(action.as_str()) => {
                let known = Window::NAMES.into_iter().chain(["step 1"]).chain(self.places.actions());
                Err(problem(format!("there is no window `{action}`")).did_you_mean(action, known))
            }
            _ => Ok(()),
        };
        found.map_err(|problem| scene.report(problem)).ok()?;
        Some(window)
    }
}

fn is_of_outages(metric: Metric) -> bool {
    matches!(metric, Metric::Outage(_) | Metric::OutageStalled | Metric::OutageHang)
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
