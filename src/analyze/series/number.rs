//! A figure of a line: whole where it is whole, else with two decimals. Pages are made of tens of thousands of them.

use serde::{Serialize, Serializer};

/// A rate, a share or a percentage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Number(pub f64);

/// Above this an f64 has no fractions worth a digit.
const WHOLE_FROM: f64 = 1e12;

impl Number {
    /// So many over so many seconds; `None` without any second.
    pub(super) fn rate(count: u64, seconds: u64) -> Option<Self> {
        (seconds > 0).then(|| Self(count as f64 / seconds as f64))
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let hundredths = (self.0 * 100.0).round();
        if hundredths == 0.0 && self.0 != 0.0 {
            // A single record of many minutes is not none.
            serializer.serialize_f64(format!("{:.1e}", self.0).parse().unwrap_or(self.0))
        } else if self.0.abs() < WHOLE_FROM && hundredths % 100.0 == 0.0 {
            serializer.serialize_i64((hundredths / 100.0) as i64)
        } else {
            serializer.serialize_f64(hundredths / 100.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_figures_have_no_decimals_and_others_two() {
        let numbers = [(100, 1), (1, 3), (0, 5), (200, 16)].map(|(count, seconds)| Number::rate(count, seconds));
        assert_eq!(serde_json::to_string(&numbers).unwrap(), "[100,0.33,0,12.5]");
        assert_eq!(Number::rate(1, 0), None);
        assert_eq!(serde_json::to_string(&Number::rate(1, 256)).unwrap(), "0.0039");
    }
}
