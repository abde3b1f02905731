//! Conditions on the figures of a run.

use std::fmt;

use super::{Metric, Window};

/// A condition on a metric of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// Which figure.
    pub metric: Metric,
    /// Of which group; `None`: over all groups.
    pub group: Option<String>,
    /// Over which window.
    pub window: Window,
    /// What happened in these windows does not count.
    pub except: Vec<Window>,
    /// How it is compared.
    pub comparison: Comparison,
    /// With what: in the metric's unit.
    pub value: f64,
    /// Line in the plan, from 1.
    pub line: usize,
}

/// How an expectation reads, before a run and after it: `outage.max <= 12000 ms (steady) in baseline except the plan's step 1`.
///
/// A run numbers steps and their parts in one row, the plan its own steps alone: these are named as the plan's.
#[derive(Clone, Copy, Debug)]
pub struct ExpectationText<'a> {
    /// The metric's name, also if this build knows none of that name.
    pub name: &'a str,
    /// The comparison's sign.
    pub comparison: &'a str,
    /// The bound.
    pub value: f64,
    /// The metric.
    pub metric: Option<Metric>,
    /// `None`: over all groups.
    pub group: Option<&'a str>,
    /// `None`: the metric's usual one, which is not told.
    pub window: Option<&'a Window>,
    /// Windows that do not count.
    pub except: &'a [Window],
}

impl fmt::Display for ExpectationText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = self.metric.map_or("", |metric| metric.info().unit.suffix());
        write!(f, "{} {} {}{unit}", self.name, self.comparison, plain(self.value))?;
        self.group.iter().try_for_each(|group| write!(f, " ({group})"))?;
        let usual = self.metric.map(|metric| &metric.info().window);
        if let Some(window) = self.window.filter(|window| Some(*window) != usual) {
            write!(f, " in {}", of_plan(window))?;
        }
        let except: Vec<String> = self.except.iter().map(of_plan).collect();
        if except.is_empty() { Ok(()) } else { write!(f, " except {}", except.join(", ")) }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = ExpectationText {
            name: self.metric.name(),
            comparison: self.comparison.sign(),
            value: self.value,
            metric: Some(self.metric),
            group: self.group.as_deref(),
            window: Some(&self.window),
            except: &self.except,
        };
        text.fmt(f)
    }
}

fn of_plan(window: &Window) -> String {
    let whose = if matches!(window, Window::Step(_)) { "the plan's " } else { "" };
    format!("{whose}{window}")
}

/// At most three decimals, none where they would be zero; more only where nothing would be left of the value.
pub(crate) fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    match text.trim_end_matches('0').trim_end_matches('.') {
        "0" | "-0" if value != 0.0 => value.to_string(),
        short => short.to_owned(),
    }
}

/// Comparison of a figure with a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// All comparisons with their signs in plans, longest first, so that a prefix search finds `<=` before `<`.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Equal, "=="),
        (Self::NotEqual, "!="),
        (Self::LessOrEqual, "<="),
        (Self::GreaterOrEqual, ">="),
        (Self::Less, "<"),
        (Self::Greater, ">"),
    ];

    /// The comparison's sign.
    #[must_use]
    pub fn sign(self) -> &'static str {
        Self::ALL.iter().find(|(comparison, _)| *comparison == self).map_or("", |(_, sign)| sign)
    }

    /// Whether `left` stands in this relation to `right`.
    #[must_use]
    #[allow(clippy::float_cmp, reason = "counts are exact in f64, and a plan that says == means it")]
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_keeps_three_decimals_or_what_there_is_of_it() {
        let texts = [12_000.0, 0.5, 27.333_333, 0.0, 0.000_4, -0.000_4].map(plain);
        assert_eq!(texts, ["12000", "0.5", "27.333", "0", "0.0004", "-0.0004"]);
    }
}
