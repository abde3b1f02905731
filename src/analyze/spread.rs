//! The spread of many values of one kind: how few figures say most.

use serde::{Deserialize, Serialize};

/// Least, median, p99 and greatest of some values; the unit is the field's that holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// How many values.
    pub count: u64,
    /// The least.
    pub min: i64,
    /// The middle one; of two middle ones the lower, so that it is always a value that occurred.
    pub median: i64,
    /// The value that 99 % do not exceed.
    pub p99: i64,
    /// The greatest.
    pub max: i64,
}

impl Spread {
    /// The spread of these values; `None` without any.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = i64>) -> Option<Self> {
        let mut sorted: Vec<i64> = values.into_iter().collect();
        sorted.sort_unstable();
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        Some(Self { count: sorted.len() as u64, min, median: nearest_rank(&sorted, 50), p99: nearest_rank(&sorted, 99), max })
    }
}

/// The value at the nearest rank: at least so many percent of the values are not above it.
fn nearest_rank(sorted: &[i64], percent: usize) -> i64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted[rank - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_a_value_that_occurred() {
        let table: [(&[i64], [i64; 4]); 4] =
            [(&[7], [7, 7, 7, 7]), (&[9, -3], [-3, -3, 9, 9]), (&[3, 1, 2], [1, 2, 3, 3]), (&[0, 0, 0, 5], [0, 0, 5, 5])];
        for (values, expected) in table {
            let spread = Spread::of(values.iter().copied()).unwrap();
            assert_eq!([spread.min, spread.median, spread.p99, spread.max], expected, "{values:?}");
        }
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of(1..=1000).unwrap().p99, 990);
    }
}
