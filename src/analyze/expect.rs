//! Expectations: a figure of the run held against what the plan says.

use crate::analyze::figures::{FigureKey, Measured, Unknown};
use crate::analyze::findings::ExpectationFinding;
use crate::plan::model::{Comparison, Expectation, ExpectationText, Fate, Metric, Window, plain};
use crate::record::fact::Fact;

/// An expectation as a fact: whoever runs a plan tells these right after [`Fact::RunStarted`], so that the verdict follows from facts.
#[must_use]
pub fn expectation_fact(expectation: &Expectation) -> Fact {
    Fact::Expected {
        metric: expectation.metric.name().to_owned(),
        group: expectation.group.clone(),
        window: Some(expectation.window.to_string()),
        except: expectation.except.iter().map(ToString::to_string).collect(),
        comparison: expectation.comparison.sign().to_owned(),
        value: expectation.value,
    }
}

/// An expectation as it came from a fact.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    /// As the fact names it: it may be one that this version does not know.
    name: String,
    metric: Option<Metric>,
    group: Option<String>,
    /// `None`: the metric's usual one.
    window: Option<Window>,
    except: Vec<Window>,
    comparison: String,
    value: f64,
}

impl Expected {
    /// The expectation in a fact, if it is one.
    pub(crate) fn from_fact(fact: &Fact) -> Option<Self> {
        let Fact::Expected { metric, group, window, except, comparison, value } = fact else { return None };
        Some(Self {
            name: metric.clone(),
            metric: Metric::find(metric),
            group: group.clone(),
            window: window.as_deref().map(Window::read),
            except: except.iter().map(|window| Window::read(window)).collect(),
            comparison: comparison.clone(),
            value: *value,
        })
    }

    /// Whether it says how many records of this group by name are acknowledged, or that some are not: then the plan, not we, decides what a
    /// group without any acknowledgement means.
    pub(crate) fn speaks_of_acks(&self, group: &str) -> bool {
        let speaks = match self.metric {
            Some(Metric::Records(Fate::Ok)) => true,
            Some(Metric::Records(Fate::Failed | Fate::Indeterminate) | Metric::RecordsFailedPercent) => !self.allows_none(),
            _ => false,
        };
        speaks && self.group.as_deref() == Some(group) && self.is_of_the_run()
    }

    /// Whether zero would meet it.
    fn allows_none(&self) -> bool {
        self.comparison().is_none_or(|comparison| comparison.holds(0.0, self.value))
    }

    fn comparison(&self) -> Option<Comparison> {
        Comparison::ALL.iter().find(|(_, sign)| *sign == self.comparison).map(|(comparison, _)| *comparison)
    }

    /// Whether it says how many pairs of this group by name may never come back.
    pub(crate) fn speaks_of_hangs(&self, group: &str) -> bool {
        self.metric == Some(Metric::OutageHang) && self.group.as_deref() == Some(group) && self.is_of_the_run()
    }

    /// Whether it is over the whole run: what a plan says of one window leaves the others to us.
    fn is_of_the_run(&self) -> bool {
        self.window.as_ref().is_none_or(|window| *window == Window::Run)
    }

    /// Holds it against the run.
    pub(crate) fn check(&self, measured: &Measured<'_>) -> ExpectationFinding {
        let figure = self.figure(measured);
        let unit = self.metric.map_or("", |metric| metric.info().unit.suffix());
        let value = figure.as_ref().ok().copied();
        ExpectationFinding {
            text: self.text(),
            value,
            met: self.comparison().zip(value).map(|(comparison, value)| comparison.holds(value, self.value)),
            value_in_words: value.map_or_else(|| "not measured".to_owned(), |value| format!("{}{unit}", plain(value))),
            unknown: figure.err().map(|unknown| unknown.to_string()),
        }
    }

    fn figure(&self, measured: &Measured<'_>) -> Result<f64, Unknown> {
        let metric = self.metric.ok_or(Unknown::Metric)?;
        let window = self.window.clone().unwrap_or_else(|| metric.info().window.clone());
        measured.figure(&FigureKey { metric, group: self.group.clone(), window }, &self.except)
    }

    fn text(&self) -> String {
        let text = ExpectationText {
            name: &self.name,
            comparison: &self.comparison,
            value: self.value,
            metric: self.metric,
            group: self.group.as_deref(),
            window: self.window.as_ref(),
            except: &self.except,
        };
        text.to_string()
    }
}
