//! One run against another by their seconds: all that can be done where neither was repeated.
//!
//! Seconds of a run resemble each other, so that they are worth fewer observations than they are many. They are gathered into batches, and
//! what correlation is left between batches is reckoned in as it is for runs. It can only be seen how much a run differs within itself;
//! two runs with the same setting differ by more, which is why nothing that is found here is said of settings.

use crate::analyze::compare::model::RunSeries;
use crate::analyze::compare::order::{Place, inflation};
use crate::analyze::compare::sample::{Sample, mean};
use crate::analyze::compare::welch::Welch;

/// With fewer seconds, their correlation cannot be known.
const SECONDS_MIN: usize = 10;

/// Batches that a series is cut into, if it has as many seconds.
const BATCHES: usize = 20;

/// Second mean minus first; `None`: a series is too short.
pub(super) fn welch(first: &RunSeries, second: &RunSeries) -> Option<Welch> {
    let [(from, first_variance, first_degrees), (to, second_variance, second_degrees)] = [known(first)?, known(second)?];
    Some(Welch::new(to - from, [first_variance, second_variance], [first_degrees, second_degrees]))
}

/// A series' mean, the variance of the mean, and its degrees of freedom.
fn known(series: &RunSeries) -> Option<(f64, f64, f64)> {
    if series.seconds.len() < SECONDS_MIN {
        return None;
    }
    let batches = batches(&series.seconds);
    let sample = Sample::of(&batches, series.unit)?;
    let weight = 1.0 / sample.count;
    let places: Vec<Place> = batches.iter().map(|value| Place { cell: 0, weight, residual: value - sample.mean }).collect();
    let order = inflation(&places);
    Some((sample.mean, sample.variance / sample.count * order.factor, order.degrees))
}

/// Means of stretches of equal length; seconds that are too few for one more stretch are left out at the beginning.
fn batches(seconds: &[f64]) -> Vec<f64> {
    let length = (seconds.len() / BATCHES).max(1);
    seconds[seconds.len() % length..].chunks(length).filter_map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::compare::model::FigureName;
    use crate::plan::model::Unit;

    fn series(seconds: Vec<f64>) -> RunSeries {
        let name = FigureName { metric: "latency.p99".to_owned(), group: None, window: "baseline".to_owned() };
        RunSeries { name, unit: Unit::Ms, seconds }
    }

    #[test]
    fn seconds_that_scatter_freely_are_told_apart() {
        let noisy = |mean: f64| series((0..60).map(|second| mean + f64::from(second * 7 % 5)).collect());
        assert!(welch(&noisy(10.0), &noisy(13.0)).unwrap().p() < 1e-6);
        assert!(welch(&noisy(10.0), &noisy(10.05)).unwrap().p() > 0.5);
    }

    #[test]
    fn seconds_that_follow_each_other_are_worth_little() {
        let drifting = |mean: f64| series((0..60).map(|second| mean + f64::from(second) / 10.0).collect());
        let p = welch(&drifting(10.0), &drifting(13.0)).unwrap().p();
        assert!(p > 0.05, "{p}");
    }

    #[test]
    fn few_seconds_say_nothing() {
        assert_eq!(welch(&series(vec![1.0; 9]), &series((0..60).map(f64::from).collect())), None);
    }

    #[test]
    fn batches_are_of_equal_length() {
        assert_eq!(batches(&[1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]);
        let found = batches(&(0..41).map(f64::from).collect::<Vec<_>>());
        assert_eq!((found.len(), found[0]), (20, 1.5));
    }
}
