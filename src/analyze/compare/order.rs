//! What the order of observations does to a mean or a difference of means, if neighbours resemble each other.
//!
//! A machine that grows warm, a cluster that ages: values drift, and neighbours in the sequence are more alike than others. The model is a
//! first-order autoregression, correlation `rho^distance`. It changes two things. The residuals scatter less than the process does, since
//! the cells' own means have taken part of the drift; and the estimate scatters by what its weights make of the correlation: more if all
//! runs of one cell come first, less if cells alternate. Both follow exactly from `rho`, the weights and the order, by sums over a small
//! matrix. `rho` itself is chosen so that residuals of this very design would be expected to have the lag-1 correlation that was seen,
//! which removes the well-known bias of that estimate in short sequences.

use crate::analyze::compare::sample::float;

/// Strongest correlation that is reckoned with: beyond it, no number of runs says anything.
const RHO_MAX: f64 = 0.95;

/// Correlation by which the order of cells is judged before any value is looked at.
const RHO_TRIED: f64 = 0.5;

/// Longest sequence that is looked at; of a longer one the order is not reckoned with (its observations are batches, which are few).
const LENGTH_MAX: usize = 400;

/// By how much the variance of an estimate grows, and how many degrees of freedom its own estimate has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Inflation {
    /// At least 1: an order that helps is not relied upon.
    pub(super) factor: f64,
    pub(super) degrees: f64,
}

/// One observation in the order of the sequence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Which mean it belongs to.
    pub(super) cell: usize,
    /// Its weight in the estimate.
    pub(super) weight: f64,
    /// Its value minus its cell's mean.
    pub(super) residual: f64,
}

/// What the order of these observations does to the sum of weight times value.
pub(super) fn inflation(places: &[Place]) -> Inflation {
    let design = Design::of(places);
    let degrees = design.degrees();
    let squares: f64 = places.iter().map(|place| place.residual.powi(2)).sum();
    let nothing = Inflation { factor: 1.0, degrees };
    // Where cells alternate, correlation narrows the estimate, whatever it is.
    if squares <= 0.0 || degrees <= 0.0 || places.len() > LENGTH_MAX || design.estimate(RHO_TRIED) <= 1.0 {
        return nothing;
    }
    let lagged: f64 = places.windows(2).map(|pair| pair[0].residual * pair[1].residual).sum();
    let rho = design.rho(lagged / squares);
    if rho <= 0.0 {
        return nothing;
    }
    let factor = design.estimate(rho) * degrees / design.residuals(rho);
    Inflation { factor: factor.max(1.0), degrees: design.degrees_at(rho).min(degrees) }
}

/// By how much the estimate's variance would widen in this order if neighbours were correlated by one half: below 1 if cells alternate.
pub(super) fn exposure(cells: &[(usize, f64)]) -> f64 {
    let places: Vec<Place> = cells.iter().map(|(cell, weight)| Place { cell: *cell, weight: *weight, residual: 0.0 }).collect();
    Design::of(&places).estimate(RHO_TRIED)
}

/// Cells and weights in the order of the sequence.
struct Design<'a> {
    places: &'a [Place],
    /// Observations of each cell.
    counts: Vec<f64>,
}

impl<'a> Design<'a> {
    fn of(places: &'a [Place]) -> Self {
        let mut counts = vec![0.0; places.iter().map(|place| place.cell + 1).max().unwrap_or(0)];
        places.iter().for_each(|place| counts[place.cell] += 1.0);
        Self { places, counts }
    }

    /// Observations less means.
    fn degrees(&self) -> f64 {
        float(self.places.len()) - float(self.counts.iter().filter(|count| **count > 0.0).count())
    }

    /// Variance of the estimate, relative to independent observations.
    fn estimate(&self, rho: f64) -> f64 {
        let independent: f64 = self.places.iter().map(|place| place.weight.powi(2)).sum();
        let mut sum = 0.0;
        for (i, one) in self.places.iter().enumerate() {
            for (j, other) in self.places.iter().enumerate() {
                sum += one.weight * other.weight * power(rho, i.abs_diff(j));
            }
        }
        if independent > 0.0 { sum / independent } else { 1.0 }
    }

    /// Covariances of the residuals for unit variance: `M R M`, with `M` taking the cells' means out.
    fn covariances(&self, rho: f64) -> Vec<Vec<f64>> {
        let length = self.places.len();
        let mut matrix: Vec<Vec<f64>> = (0..length).map(|i| (0..length).map(|j| power(rho, i.abs_diff(j))).collect()).collect();
        for row in &mut matrix {
            self.centre(row);
        }
        for column in 0..length {
            let mut values: Vec<f64> = matrix.iter().map(|row| row[column]).collect();
            self.centre(&mut values);
            matrix.iter_mut().zip(values).for_each(|(row, value)| row[column] = value);
        }
        matrix
    }

    /// Takes the mean of each cell out.
    fn centre(&self, values: &mut [f64]) {
        let mut sums = vec![0.0; self.counts.len()];
        values.iter().zip(self.places).for_each(|(value, place)| sums[place.cell] += value);
        values.iter_mut().zip(self.places).for_each(|(value, place)| *value -= sums[place.cell] / self.counts[place.cell]);
    }

    /// Expected sum of squared residuals for unit variance.
    fn residuals(&self, rho: f64) -> f64 {
        trace(&self.covariances(rho))
    }

    /// Degrees of freedom of the sum of squared residuals (Satterthwaite).
    fn degrees_at(&self, rho: f64) -> f64 {
        let covariances = self.covariances(rho);
        let squares: f64 = covariances.iter().flatten().map(|value| value * value).sum();
        trace(&covariances).powi(2) / squares
    }

    /// The correlation at which residuals are expected to have this lag-1 correlation; 0 if that would be negative.
    fn rho(&self, seen: f64) -> f64 {
        let expected = |rho: f64| {
            let covariances = self.covariances(rho);
            let lagged: f64 = (1..covariances.len()).map(|i| covariances[i][i - 1]).sum();
            lagged / trace(&covariances)
        };
        let (mut low, mut high) = (0.0, RHO_MAX);
        if expected(low) >= seen {
            return low;
        }
        for _ in 0..20 {
            let middle = f64::midpoint(low, high);
            if expected(middle) < seen { low = middle } else { high = middle }
        }
        high
    }
}

fn trace(matrix: &[Vec<f64>]) -> f64 {
    matrix.iter().enumerate().map(|(at, row)| row[at]).sum()
}

fn power(rho: f64, distance: usize) -> f64 {
    rho.powi(i32::try_from(distance).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(cells: &[usize], residuals: &[f64]) -> Vec<Place> {
        let count = float(cells.len()) / 2.0;
        let weight = |cell: usize| if cell == 0 { -1.0 / count } else { 1.0 / count };
        cells.iter().zip(residuals).map(|(cell, residual)| Place { cell: *cell, weight: weight(*cell), residual: *residual }).collect()
    }

    #[test]
    fn neighbours_that_are_alike_widen_a_difference_of_cells_that_do_not_alternate() {
        let drifting = [-2.0, -1.0, 0.0, 1.0, 2.0, -2.0, -1.0, 0.0, 1.0, 2.0];
        let apart = inflation(&places(&[0, 0, 0, 0, 0, 1, 1, 1, 1, 1], &drifting));
        assert!(apart.factor > 3.0 && apart.degrees < 8.0, "{apart:?}");
        let alternating = inflation(&places(&[0, 1, 1, 0, 0, 1, 1, 0, 0, 1], &[-2.0, -2.0, -1.0, -1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0]));
        assert_eq!(alternating, Inflation { factor: 1.0, degrees: 8.0 });
    }

    #[test]
    fn neighbours_that_are_not_alike_change_nothing() {
        let apart = inflation(&places(&[0, 0, 0, 0, 1, 1, 1, 1], &[1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0]));
        assert_eq!(apart, Inflation { factor: 1.0, degrees: 6.0 });
        assert_eq!(inflation(&places(&[0, 0, 1, 1], &[0.0; 4])), Inflation { factor: 1.0, degrees: 2.0 });
    }

    #[test]
    fn one_sequence_is_worth_as_many_observations_as_its_correlation_leaves() {
        // A mean of n values of a first-order autoregression has (1 + rho) / (1 - rho) times the variance, for large n.
        let design = [Place { cell: 0, weight: 1.0 / 300.0, residual: 0.0 }; 300];
        let found = Design::of(&design).estimate(0.5);
        assert!((found - 3.0).abs() < 0.02, "{found}");
    }

    #[test]
    fn the_order_says_how_much_drift_would_matter() {
        let weights = |cells: &[usize]| cells.iter().map(|cell| (*cell, if *cell == 0 { -0.25 } else { 0.25 })).collect::<Vec<_>>();
        assert!(exposure(&weights(&[0, 1, 1, 0, 1, 0, 0, 1])) < 1.0);
        assert!(exposure(&weights(&[0, 0, 0, 0, 1, 1, 1, 1])) > 1.5);
    }
}
