//! Welch's t test of two means, with the order of the observations reckoned in.

use crate::analyze::compare::SIGNIFICANCE;
use crate::analyze::compare::findings::{Interval, Middle};
use crate::analyze::compare::order::{Inflation, Place, inflation};
use crate::analyze::compare::sample::Sample;
use crate::analyze::compare::student::{detectable, two_sided_p, two_sided_quantile};

/// The difference of two means and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Welch {
    /// Second mean minus first.
    pub(super) difference: f64,
    standard_error: f64,
    degrees: f64,
}

impl Welch {
    /// Of the variances of the two means, each with its degrees of freedom.
    pub(super) fn new(difference: f64, variances: [f64; 2], degrees: [f64; 2]) -> Self {
        let total: f64 = variances.iter().sum();
        let weighted: f64 = variances.iter().zip(degrees).map(|(variance, degrees)| variance * variance / degrees).sum();
        Self { difference, standard_error: total.sqrt(), degrees: if weighted > 0.0 { total * total / weighted } else { 0.0 } }
    }

    /// Of runs; `observations` are (cell, value) in the order of the sequence, the cells being 0 and 1 with these samples.
    pub(super) fn of_runs(samples: [Sample; 2], observations: &[(usize, f64)]) -> Self {
        let variances = samples.map(|sample| sample.variance / sample.count);
        let plain = Self::new(samples[1].mean - samples[0].mean, variances, samples.map(|sample| sample.count - 1.0));
        let places: Vec<Place> = observations
            .iter()
            .map(|(cell, value)| Place { cell: *cell, weight: weight(samples, *cell), residual: value - samples[*cell].mean })
            .collect();
        plain.inflated(inflation(&places))
    }

    fn inflated(self, by: Inflation) -> Self {
        Self { standard_error: self.standard_error * by.factor.sqrt(), degrees: self.degrees.min(by.degrees), ..self }
    }

    /// Probability of such a difference, or a greater one, if there is none.
    pub(super) fn p(&self) -> f64 {
        if self.difference == 0.0 { 1.0 } else { two_sided_p(self.difference / self.standard_error, self.degrees) }
    }

    /// Where the true difference lies.
    pub(super) fn interval(&self) -> Option<Interval> {
        let half = two_sided_quantile(SIGNIFICANCE, self.degrees) * self.standard_error;
        half.is_finite().then_some(Interval { of: Middle::Difference, low: self.difference - half, high: self.difference + half })
    }

    /// The true difference that a test at this significance would find in 95 of 100 cases.
    pub(super) fn detectable(&self, significance: f64) -> f64 {
        detectable(significance, self.degrees) * self.standard_error
    }
}

/// A value's weight in the difference of the means.
pub(super) fn weight(samples: [Sample; 2], cell: usize) -> f64 {
    if cell == 0 { -1.0 / samples[0].count } else { 1.0 / samples[1].count }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::model::Unit;

    fn of(first: &[f64], second: &[f64]) -> Welch {
        let samples = [first, second].map(|values| Sample::of(values, Unit::Percent).unwrap());
        // Alternating, so that the order changes nothing.
        let mut observations: Vec<(usize, f64)> = Vec::new();
        for at in 0..first.len().max(second.len()) {
            observations.extend(first.get(at).map(|value| (0, *value)));
            observations.extend(second.get(at).map(|value| (1, *value)));
        }
        Welch::of_runs(samples, &observations)
    }

    #[test]
    fn the_test_gives_what_textbooks_have() {
        // Student's own, of 1908: hours of sleep gained by two drugs.
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let welch = of(&first, &second);
        let t = welch.difference / welch.standard_error;
        assert!((t - 1.860_8).abs() < 1e-4 && (welch.degrees - 17.776).abs() < 1e-3, "{welch:?}");
        assert!((welch.p() - 0.079_39).abs() < 1e-5, "{}", welch.p());
    }

    #[test]
    fn an_interval_without_zero_is_what_makes_a_difference() {
        let welch = of(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0]);
        let interval = welch.interval().unwrap();
        assert!(welch.difference == 5.0 && interval.low > 0.0 && welch.p() < SIGNIFICANCE, "{interval:?}");
        assert!((interval.low + interval.high - 10.0).abs() < 1e-9, "{interval:?}");
    }

    #[test]
    fn equal_means_and_single_values_show_nothing() {
        assert_eq!(of(&[1.0, 2.0], &[2.0, 1.0]).p(), 1.0);
        let single = of(&[1.0], &[9.0]);
        assert!(single.p() == 1.0 && single.interval().is_none(), "{single:?}");
    }
}
