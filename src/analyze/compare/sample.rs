//! Values of one figure in one cell, and what they say of themselves: middles, spread, and where the true middle lies.
//!
//! Cells are not set against each other here.

use crate::analyze::compare::SIGNIFICANCE;
use crate::analyze::compare::findings::{CellFigure, Interval, Middle};
use crate::analyze::compare::student::two_sided_quantile;
use crate::plan::model::Unit;

/// Histograms keep three digits, so that no figure is known more exactly than to its thousandth part.
const RELATIVE_RESOLUTION: f64 = 1e-3;

/// A perfectly regular process still counts one more or less, by the phase at which the window opens: the most that its variance can be.
const COUNT_VARIANCE: f64 = 0.25;

/// Mean and variance of at least one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) count: f64,
    pub(super) mean: f64,
    /// Of a value, not of the mean; not below what the figure's resolution leaves open.
    pub(super) variance: f64,
}

impl Sample {
    /// `None` without values.
    pub(super) fn of(values: &[f64], unit: Unit) -> Option<Self> {
        let mean = mean(values)?;
        let variance = variance(values, mean).unwrap_or(0.0).max(variance_floor(unit, mean));
        Some(Self { count: float(values.len()), mean, variance })
    }

    /// Where the true mean lies; `None` with a single value.
    fn interval(&self) -> Option<Interval> {
        let half = two_sided_quantile(SIGNIFICANCE, self.count - 1.0) * (self.variance / self.count).sqrt();
        half.is_finite().then_some(Interval { of: Middle::Mean, low: self.mean - half, high: self.mean + half })
    }
}

/// Variance that a value of this size has by its resolution alone, even where all runs agree.
pub(super) fn variance_floor(unit: Unit, mean: f64) -> f64 {
    // Rounding to steps of r leaves an error spread evenly over r, whose variance is r squared over 12.
    let rounding = (RELATIVE_RESOLUTION * mean).powi(2) / 12.0;
    if unit == Unit::Count { rounding.max(COUNT_VARIANCE) } else { rounding }
}

/// What a cell's values say.
pub(super) fn cell_figure(values: Vec<f64>, unknown: usize, unit: Unit) -> CellFigure {
    let Some(sample) = Sample::of(&values, unit) else { return CellFigure { unknown, ..CellFigure::default() } };
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    CellFigure {
        runs: values.len(),
        unknown,
        median: median(&sorted),
        mean: Some(sample.mean),
        standard_deviation: variance(&values, sample.mean).map(f64::sqrt),
        min: sorted.first().copied(),
        max: sorted.last().copied(),
        interval: median_interval(&sorted).or_else(|| sample.interval()),
        trend: None,
        values,
    }
}

/// `None` without values.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / float(values.len()))
}

/// `None` with fewer than two values.
fn variance(values: &[f64], mean: f64) -> Option<f64> {
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| squares / (float(values.len()) - 1.0))
}

/// The middle one, or the mean of the two middle ones; `None` without values.
pub(super) fn median(sorted: &[f64]) -> Option<f64> {
    let (low, high) = (sorted.get(sorted.len().checked_sub(1)? / 2)?, sorted.get(sorted.len() / 2)?);
    Some(f64::midpoint(*low, *high))
}

/// Between which two values the true median lies, whatever the distribution; `None` with so few values that not even the outermost will do.
fn median_interval(sorted: &[f64]) -> Option<Interval> {
    // Each value lies below the true median with probability 1/2: the number that does is binomial.
    let mut probability = 0.5_f64.powi(i32::try_from(sorted.len()).ok()?);
    let mut below = 0.0;
    let mut ranks = 0;
    while ranks < sorted.len() / 2 && 2.0 * (below + probability) <= SIGNIFICANCE {
        below += probability;
        probability *= float(sorted.len() - ranks) / float(ranks + 1);
        ranks += 1;
    }
    let low = *sorted.get(ranks.checked_sub(1)?)?;
    Some(Interval { of: Middle::Median, low, high: *sorted.get(sorted.len() - ranks)? })
}

/// A number of runs or of figures.
#[allow(clippy::cast_precision_loss, reason = "numbers of runs and seconds stay far below 2^53")]
pub(super) fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_has_an_interval_of_what_so_many_values_allow() {
        let interval = |values: &[f64]| cell_figure(values.to_vec(), 0, Unit::Percent).interval.map(|i| (i.of, i.low, i.high));
        assert_eq!(interval(&[]), None);
        assert_eq!(interval(&[5.0]), None);
        let (of, low, high) = interval(&[1.0, 2.0, 3.0]).unwrap();
        // t = 9.925 with two degrees of freedom, standard error 1 / sqrt(3).
        assert!(of == Middle::Mean && (low + 3.730).abs() < 1e-3 && (high - 7.730).abs() < 1e-3, "{low} {high}");
        // Of eight values the outermost hold the median in 127 of 128 cases; of eleven the second on either side would in 98.8 % only.
        assert_eq!(interval(&[8.0, 1.0, 2.0, 3.0, 7.0, 4.0, 5.0, 6.0]), Some((Middle::Median, 1.0, 8.0)));
        let eleven: Vec<f64> = (1..=11).map(f64::from).collect();
        assert_eq!(interval(&eleven), Some((Middle::Median, 1.0, 11.0)));
        let twenty: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(interval(&twenty), Some((Middle::Median, 4.0, 17.0)));
    }

    #[test]
    fn the_median_is_the_middle_or_between_both() {
        assert_eq!([median(&[]), median(&[1.0, 2.0, 9.0]), median(&[1.0, 2.0, 4.0, 9.0])], [None, Some(2.0), Some(3.0)]);
    }

    #[test]
    fn values_that_agree_are_not_taken_for_exact() {
        let variance = |unit, value| Sample::of(&[value; 5], unit).unwrap().variance;
        assert_eq!(variance(Unit::Count, 3.0), 0.25);
        assert!((variance(Unit::Ms, 12_000.0) - 12.0).abs() < 1e-9);
        assert!((variance(Unit::Count, 1e6) - 1e6 / 12.0).abs() < 1e-3);
    }
}
