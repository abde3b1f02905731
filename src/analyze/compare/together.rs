//! Many questions at once: by Holm's procedure, the chance that any difference is claimed where there is none stays what it was for one.
//!
//! Knows probabilities and weights only. No independence is assumed: figures of the same runs go up and down together.

use crate::analyze::compare::sample::float;

/// Weights of a question about a main figure and of one about any other, if so many are asked: both kinds have half of the chance of being
/// wrong, so that the few figures that are asked about first do not pay for the hundreds of others.
pub(super) fn weights(main: usize, others: usize) -> [f64; 2] {
    [1.0 / float(main.max(1)), 1.0 / float(others.max(1))]
}

/// Probabilities of (p, weight), each respecting all others, in the same order.
pub(super) fn adjusted(tests: &[(f64, f64)]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..tests.len()).collect();
    order.sort_by(|a, b| (tests[*a].0 / tests[*a].1).total_cmp(&(tests[*b].0 / tests[*b].1)));
    let mut left: f64 = tests.iter().map(|(_, weight)| weight).sum();
    let mut greatest: f64 = 0.0;
    let mut found = vec![0.0; tests.len()];
    for at in order {
        let (p, weight) = tests[at];
        greatest = greatest.max((p * left / weight).min(1.0));
        found[at] = greatest;
        left -= weight;
    }
    found
}

/// In how many ways runs can be dealt out to two cells.
pub(super) fn ways(first: usize, second: usize) -> f64 {
    let few = first.min(second);
    (1..=few).map(|at| float(first + second - few + at) / float(at)).product()
}

/// By how much a difference must be greater for both opinions to agree on it than for t alone. Found by simulation: a little with many runs,
/// and a quarter where so few deals are allowed to look as good that all runs of one cell must lie above all of the other.
pub(super) fn cost(significance: f64, sizes: [usize; 2], pairs: usize) -> f64 {
    let allowed = significance * ways(sizes[0], sizes[1]) / (2.0 * float(pairs));
    1.05 + 0.2 / allowed.floor().max(1.0)
}

/// Whether exchanging runs between two cells of these sizes can show anything when so many pairs of cells are asked about.
pub(super) fn can_be_shown(significance: f64, sizes: [usize; 2], pairs: usize) -> bool {
    // Where both have the same size, exchanging all runs gives the same difference again.
    let same = if sizes[0] == sizes[1] { 2.0 } else { 1.0 };
    sizes.iter().all(|size| *size >= 2) && significance * ways(sizes[0], sizes[1]) >= same * float(pairs)
}

/// Runs in each of two cells that can show anything when so many pairs of cells are asked about.
pub(super) fn runs_needed(significance: f64, pairs: usize) -> usize {
    (2..).find(|runs| can_be_shown(significance, [*runs; 2], pairs)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: &[f64], expected: &[f64]) {
        let is_close = found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-12);
        assert!(found.len() == expected.len() && is_close, "{found:?}, not {expected:?}");
    }

    #[test]
    fn probabilities_respect_all_questions() {
        // Holm's own example: 0.01 * 4, 0.02 * 3, 0.022 * 2 but not below the one before, 0.09 * 1.
        close(&adjusted(&[(0.02, 1.0), (0.01, 1.0), (0.022, 1.0), (0.09, 1.0)]), &[0.06, 0.04, 0.06, 0.09]);
        close(&adjusted(&[(0.5, 1.0), (0.6, 1.0)]), &[1.0, 1.0]);
        close(&adjusted(&[]), &[]);
    }

    #[test]
    fn weightier_questions_pay_less() {
        // 0.01 * 11 / 10 first, since it is the least by its weight; what is left has weight 1.
        close(&adjusted(&[(0.008, 1.0), (0.01, 10.0)]), &[0.011, 0.011]);
    }

    #[test]
    fn few_runs_must_differ_by_more_for_both_opinions_to_agree() {
        let costs = [(5, 1), (6, 1), (6, 4), (8, 1), (12, 1)].map(|(runs, pairs)| cost(0.01, [runs; 2], pairs));
        assert_eq!(costs.map(|cost| (cost * 100.0).round() / 100.0), [1.25, 1.1, 1.25, 1.05, 1.05]);
    }

    #[test]
    fn few_runs_can_show_nothing() {
        assert_eq!([ways(5, 5), ways(2, 3), ways(1, 9), ways(0, 4)], [252.0, 10.0, 10.0, 1.0]);
        let needed = [1, 2, 4, 5, 17, 18, 64].map(|pairs| runs_needed(0.01, pairs));
        assert_eq!(needed, [5, 6, 6, 7, 7, 8, 8]);
        assert!(can_be_shown(0.01, [4, 6], 2) && !can_be_shown(0.01, [4, 4], 1) && !can_be_shown(0.01, [1, 500], 1));
    }
}
