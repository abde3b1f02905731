//! What chance alone makes of the runs of two cells: every way of dealing the same runs out to them anew, up to a bound.
//!
//! Where a setting changes nothing, each run would have had the same figures in the other cell, and any deal is as likely as the one that
//! happened. Nothing is assumed of distributions: outages that are 9 s or 13 s and nothing between are dealt out as they are. All figures
//! are dealt out together, so that their dependence counts as it is (Westfall and Young's step-down maximum of t).

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;

use crate::analyze::compare::sample::mean;
use crate::analyze::compare::together::ways;

/// Of two t values that differ by rounding only, neither is the greater.
const SAME: f64 = 1.0 - 1e-9;

/// What t of a figure that is no main one counts for: among hundreds of them, some are far out in any deal, and would hide the main ones.
pub(super) const OTHER_SHARE: f64 = 0.7;

/// A figure of the runs of two cells.
#[derive(Clone, Debug)]
pub(super) struct Dealt {
    /// By run; `None`: unknown.
    values: Vec<Option<f64>>,
    /// Number, sum and sum of squares of all values.
    all: [f64; 3],
    /// Least variance of a value, by its resolution.
    floor: f64,
    /// What its t counts for among others.
    share: f64,
}

impl Dealt {
    /// Values are taken relative to their mean, which changes no difference and keeps digits.
    pub(super) fn new(values: &[Option<f64>], floor: f64, share: f64) -> Self {
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        let mean = mean(&known).unwrap_or(0.0);
        let values: Vec<Option<f64>> = values.iter().map(|value| value.map(|value| value - mean)).collect();
        let all = sums(values.iter().flatten());
        Self { values, all, floor, share }
    }

    /// |t| times its share, if these runs were the first cell's; `None`: a cell would have fewer than two values.
    fn t(&self, first: &[usize]) -> Option<f64> {
        let one = sums(first.iter().filter_map(|run| self.values[*run].as_ref()));
        let other = [self.all[0] - one[0], self.all[1] - one[1], self.all[2] - one[2]];
        if one[0] < 2.0 || other[0] < 2.0 {
            return None;
        }
        let error = |[count, sum, squares]: [f64; 3]| ((squares - sum * sum / count) / (count - 1.0)).max(self.floor) / count;
        let difference = one[1] / one[0] - other[1] / other[0];
        Some(if difference == 0.0 { 0.0 } else { self.share * difference.abs() / (error(one) + error(other)).sqrt() })
    }
}

fn sums<'a>(values: impl Iterator<Item = &'a f64>) -> [f64; 3] {
    values.fold([0.0; 3], |[count, sum, squares], value| [count + 1.0, sum + value, squares + value * value])
}

/// Deals that are looked at for each pair of cells that shares the chance of being wrong: with fewer, even what no deal matches could not
/// stand out among them.
const DEALS_OF_PAIR: u32 = 500;

/// How many deals are looked at where all would be too many.
pub(super) fn deals_max(asked: u32, pairs: usize) -> u32 {
    asked.max(u32::try_from(pairs).unwrap_or(u32::MAX).saturating_mul(DEALS_OF_PAIR))
}

/// What the deals of two cells said.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    /// For each figure.
    pub(super) p: Vec<f64>,
    /// Deals that were looked at.
    pub(super) deals: f64,
}

/// For each figure the share of deals in which any figure that differs no more than it differs at least as much as it does. The first so
/// many runs are the first cell's. All deals are looked at if they are no more than `deals_max`, otherwise so many random ones.
pub(super) fn p_values(figures: &[Dealt], first: usize, runs: usize, deals_max: u32, seed: u64) -> Answer {
    let mut is_first: Vec<bool> = (0..runs).map(|run| run < first).collect();
    let happened: Vec<f64> = figures.iter().map(|figure| figure.t(&(0..first).collect::<Vec<usize>>()).unwrap_or(0.0)).collect();
    let mut order: Vec<usize> = (0..figures.len()).collect();
    order.sort_by(|a, b| happened[*b].total_cmp(&happened[*a]));
    let mut counted = Counted { figures, happened: &happened, order: &order, at_least: vec![0.0; figures.len()], deals: 0.0 };
    if ways(first, runs - first) <= f64::from(deals_max) {
        // Turned round it is the first of all deals in lexical order.
        is_first.reverse();
        counted.deal(&is_first);
        while next_deal(&mut is_first) {
            counted.deal(&is_first);
        }
    } else {
        // What happened is one of the deals.
        counted.deal(&is_first);
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        for _ in 1..deals_max {
            is_first.shuffle(&mut random);
            counted.deal(&is_first);
        }
    }
    Answer { deals: counted.deals, p: counted.shares() }
}

/// Deals that were looked at.
struct Counted<'a> {
    figures: &'a [Dealt],
    happened: &'a [f64],
    /// Figures, the greatest t first.
    order: &'a [usize],
    at_least: Vec<f64>,
    deals: f64,
}

impl Counted<'_> {
    fn deal(&mut self, is_first: &[bool]) {
        self.deals += 1.0;
        let first: Vec<usize> = (0..is_first.len()).filter(|run| is_first[*run]).collect();
        let mut greatest: f64 = 0.0;
        for at in self.order.iter().rev() {
            let t = self.figures[*at].t(&first);
            greatest = greatest.max(t.unwrap_or(0.0));
            // A deal that leaves a cell without values of a figure is no evidence that this one differs.
            if t.is_none() || greatest >= self.happened[*at] * SAME {
                self.at_least[*at] += 1.0;
            }
        }
    }

    /// A figure that differs less is never more certain than one that differs more.
    fn shares(self) -> Vec<f64> {
        let mut shares = vec![0.0; self.figures.len()];
        let mut greatest: f64 = 0.0;
        for at in self.order {
            greatest = greatest.max(self.at_least[*at] / self.deals);
            shares[*at] = greatest;
        }
        shares
    }
}

/// The next deal in lexical order, `false` before `true`; `false` after the last one.
fn next_deal(is_first: &mut [bool]) -> bool {
    let Some(at) = is_first.windows(2).rposition(|pair| !pair[0] && pair[1]) else { return false };
    is_first.swap(at, at + 1);
    // What follows is `true`s, then `false`s: turned round it is the least.
    is_first[at + 2..].reverse();
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    #[test]
    fn every_deal_is_looked_at_once() {
        let mut deal = [false, false, true, true];
        let mut seen = vec![deal];
        while next_deal(&mut deal) {
            seen.push(deal);
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 6);
        assert!(!next_deal(&mut []) && !next_deal(&mut [true, true]));
    }

    #[test]
    fn values_that_are_apart_are_so_in_two_deals_only() {
        let figure = Dealt::new(&known(&[1.0, 2.0, 3.0, 4.0, 5.0, 11.0, 12.0, 13.0, 14.0, 15.0]), 0.0, 1.0);
        let p = p_values(std::slice::from_ref(&figure), 5, 10, 1000, 1).p[0];
        assert!((p - 2.0 / 252.0).abs() < 1e-12, "{p}");
        let p = p_values(&[figure], 5, 10, 200, 1).p[0];
        assert!((0.005..=0.03).contains(&p), "by random deals: {p}");
    }

    #[test]
    fn another_figure_that_chance_may_move_as_much_makes_less_certain() {
        let apart = Dealt::new(&known(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]), 0.0, 1.0);
        let noisy = Dealt::new(&known(&[1.0, 6.0, 2.0, 7.0, 3.0, 8.0, 4.0, 9.0, 5.0, 10.0]), 0.0, 1.0);
        let both = p_values(&[noisy, apart], 5, 10, 1000, 1).p;
        assert!((both[1] - 4.0 / 252.0).abs() < 1e-12 && both[0] > 0.05, "{both:?}");
    }

    #[test]
    fn deals_that_leave_a_cell_without_values_speak_against_a_difference() {
        // Of ten runs two of the first and three of the second know it.
        let mut values = known(&[1.0, 2.0]);
        values.extend([None; 3]);
        values.extend(known(&[8.0, 9.0, 10.0]));
        values.extend([None; 2]);
        let p = p_values(&[Dealt::new(&values, 0.0, 1.0)], 5, 10, 1000, 1).p[0];
        // 52 of the 252 deals leave a cell none or one of the five.
        assert!(p > 52.0 / 252.0, "{p}");
    }

    #[test]
    fn what_is_known_of_too_few_runs_shows_nothing() {
        let mut values = known(&[1.0, 2.0, 3.0, 4.0]);
        values.extend([Some(9.0), None, None, None]);
        assert_eq!(p_values(&[Dealt::new(&values, 0.0, 1.0)], 4, 8, 100, 1).p, [1.0]);
    }
}
