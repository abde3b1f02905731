//! Every figure of a run that can be asked for by name, group and window: what expectations are held against and what comparisons compare.
//!
//! The names are `plan::model::Metric`s. A figure is a number, or the reason why there is none: unknown is never 0. Windows in seconds take
//! whole ones: a second belongs to the last step that was requested in it or before. Not here: what a figure should be (`expect`), and whether two
//! of them differ.

mod audited;
mod consumed;
mod cut;
mod load;
mod outages;
mod requests;
mod selection;
mod steps;
#[cfg(test)]
mod tests;
mod whole;

use std::collections::BTreeSet;
use std::fmt;

use self::cut::Cut;
pub(crate) use self::cut::Measured;
use self::selection::Selection;
use crate::analyze::Analysis;
use crate::analyze::findings::Findings;
use crate::analyze::parts::STEPS_MAX;
use crate::plan::model::{Groups, Metric, Unit, Window};

/// Which figure.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FigureKey {
    /// What is measured.
    pub metric: Metric,
    /// Of which group; `None`: of all groups together, or the metric is of no group.
    pub group: Option<String>,
    /// Over which window.
    pub window: Window,
}

/// A figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Which.
    pub key: FigureKey,
    /// The number in the metric's unit, or why there is none.
    pub value: Result<f64, Unknown>,
}

/// Why a figure has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unknown {
    /// Of another version, perhaps.
    #[error("this version does not know the metric")]
    Metric,
    /// The metric is not told of that window.
    #[error("the metric is not measured over `{0}`")]
    Window(String),
    /// No group of the kind has that name.
    #[error("the run has no group `{0}` of which it is measured")]
    Group(String),
    /// The run has no such step.
    #[error("no step of the window `{0}` was made")]
    Step(String),
    /// Beyond the steps that have figures of their own.
    #[error("only the first {STEPS_MAX} steps have figures of their own")]
    TooManySteps,
    /// The windows that do not count are all there is.
    #[error("the windows that do not count leave nothing of it")]
    NothingLeft,
    /// A client cannot tell.
    #[error("the client does not tell it")]
    NotTold,
    /// Nothing that it is measured by was seen.
    #[error("nothing that it is measured by was seen")]
    NotSeen,
    /// The topics were not read back.
    #[error("the topics were not read back: {0}")]
    NotAudited(String),
    /// They were not read back whole.
    #[error("not all of it could be read back: {0}")]
    NotWhole(String),
    /// No probe read the controller's log.
    #[error("nobody read the controller's log")]
    NotLooked,
}

impl Figure {
    /// The number; `None`: unknown.
    #[must_use]
    pub fn known(&self) -> Option<f64> {
        self.value.as_ref().ok().copied()
    }

    /// What it is counted in.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.key.metric.info().unit
    }
}

impl FigureKey {
    /// A metric over all groups and its usual window.
    #[must_use]
    pub fn of(metric: Metric) -> Self {
        Self { metric, group: None, window: metric.info().window.clone() }
    }

    /// Whether its window is the one that is meant where none is given.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        self.window == self.metric.info().window
    }
}

/// `outage.max (steady) in step 2`; the usual window is not named.
impl fmt::Display for FigureKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.metric.name())?;
        self.group.iter().try_for_each(|group| write!(f, " ({group})"))?;
        if self.is_usual() { Ok(()) } else { write!(f, " in {}", self.window) }
    }
}

impl Analysis {
    /// All figures of the run, known or not: each metric over all groups and for each of them, over every window that it knows. Steps have windows
    /// of their own up to the first 50. `findings` are this analysis's own.
    #[must_use]
    pub fn figures(&self, findings: &Findings) -> Vec<Figure> {
        let measured = Measured::of(self, findings);
        let mut figures = Vec::new();
        for window in self.windows() {
            let selection = self.select(&window, &[]);
            for groups in [Groups::None, Groups::Producers, Groups::Requesters, Groups::Consumers] {
                for group in self.group_choices(findings, groups) {
                    let cut = Cut::new(&measured, &window, &selection, group);
                    let metrics = Metric::all().iter().filter(|info| info.groups == groups && info.windows.know(&window));
                    figures.extend(metrics.map(|info| Figure {
                        key: FigureKey { metric: info.metric, group: group.map(str::to_owned), window: window.clone() },
                        value: cut.value(info.metric),
                    }));
                }
            }
        }
        figures
    }

    fn select(&self, window: &Window, except: &[Window]) -> Result<Selection, Unknown> {
        Selection::of(window, except, &self.steps, &self.parts)
    }

    /// All groups together, and each of the kind.
    fn group_choices<'a>(&'a self, findings: &'a Findings, groups: Groups) -> Vec<Option<&'a str>> {
        let names: Vec<&str> = match groups {
            Groups::None => Vec::new(),
            Groups::Producers => findings.groups.iter().map(|group| group.name.as_str()).collect(),
            Groups::Consumers => findings.consumers.iter().map(|consumer| consumer.name.as_str()).collect(),
            Groups::Requesters => self.storm.clients.names(true).collect(),
        };
        let has_any = !matches!(groups, Groups::Requesters | Groups::Consumers) || !names.is_empty();
        has_any.then_some(None).into_iter().chain(names.into_iter().map(Some)).collect()
    }

    /// The windows of this run.
    fn windows(&self) -> Vec<Window> {
        let mut windows = vec![Window::WarmUp, Window::Baseline, Window::After, Window::Run, Window::Steps];
        let disturbs = |action: &str| action != "wait";
        let numbered = self.steps.steps().filter(|step| step.parent.is_none()).zip(1..);
        windows.extend(numbered.filter(|(step, _)| disturbs(&step.action)).take(STEPS_MAX).map(|(_, number)| Window::Step(number)));
        let actions: BTreeSet<&str> = self.steps.steps().map(|step| step.action.as_str()).filter(|action| disturbs(action)).collect();
        windows.extend(actions.into_iter().map(|action| Window::Action(action.to_owned())));
        windows
    }
}
