//! The bars that the project has set itself: met or not, and never hidden.

use crate::page::three_digits;

/// A bar.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    pub(super) what: String,
    pub(super) limit: Limit,
    pub(super) unit: &'static str,
    /// `None`: not measured.
    pub(super) measured: Option<f64>,
}

/// What meets it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Bar {
    fn verdict(&self) -> &'static str {
        let Some(measured) = self.measured else { return "not measured" };
        let is_met = match self.limit {
            Limit::AtMost(limit) => measured <= limit,
            Limit::AtLeast(limit) => measured >= limit,
        };
        if is_met { "met" } else { "**not met**" }
    }

    fn row(&self) -> Vec<String> {
        let limit = match self.limit {
            Limit::AtMost(limit) => format!("at most {limit}{}", self.unit),
            Limit::AtLeast(limit) => format!("at least {limit}{}", self.unit),
        };
        let measured = self.measured.map_or_else(|| "-".to_owned(), |value| format!("{}{}", three_digits(value), self.unit));
        vec![self.what.clone(), limit, measured, self.verdict().to_owned()]
    }
}

/// All of them.
pub(super) fn table<'a>(bars: impl Iterator<Item = &'a Bar>) -> String {
    let rows: Vec<_> = bars.map(Bar::row).collect();
    format!("## Bars\n\n{}", super::table(&["", "bar", "measured", ""], &rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_met_at_its_limit_and_not_beyond() {
        let bar = |limit, measured| Bar { what: String::new(), limit, unit: "x", measured }.verdict();
        assert_eq!(bar(Limit::AtMost(0.7), Some(0.7)), "met");
        assert_eq!(bar(Limit::AtMost(0.7), Some(0.71)), "**not met**");
        assert_eq!(bar(Limit::AtLeast(1.0), Some(1.0)), "met");
        assert_eq!(bar(Limit::AtLeast(1.0), Some(0.99)), "**not met**");
        assert_eq!(bar(Limit::AtMost(0.7), None), "not measured");
    }
}
