//! Medians and ranges: all that is said of several runs or producers. Shared by the tools and the benchmarks.

/// What several values have in common. An infinite one is allowed: it is the greatest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// The least.
    pub(crate) min: f64,
    /// The middle one; of an even number the mean of the two.
    pub(crate) median: f64,
    /// The greatest.
    pub(crate) max: f64,
    /// How many.
    pub(crate) count: usize,
}

impl Spread {
    /// `None` without values.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) };
        Some(Self { min, median, max, count: values.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_lies_between_the_middle_values() {
        let spread = |values: &[f64]| Spread::of(values.iter().copied()).map(|spread| (spread.min, spread.median, spread.max));
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[3.0]), Some((3.0, 3.0, 3.0)));
        assert_eq!(spread(&[5.0, 1.0, 2.0]), Some((1.0, 2.0, 5.0)));
        assert_eq!(spread(&[4.0, 1.0, 2.0, 8.0]), Some((1.0, 3.0, 8.0)));
        assert_eq!(spread(&[f64::INFINITY, 1.0, f64::INFINITY, f64::INFINITY]), Some((1.0, f64::INFINITY, f64::INFINITY)));
    }
}
