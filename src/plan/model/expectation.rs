//! Conditions on the figures of a run.

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
