//! Quantiles of a bucket. A whole histogram for each of hundreds of buckets would be too much to keep, so only the values that occurred are,
//! to within 1 %; the greatest is exact, and so are all figures of a bucket that holds one second.

use super::scale::Merge;
use crate::record::histogram::LatencyHistogram;

/// Bits of a value that are kept: 128 steps in each power of two.
const KEPT_BITS: u32 = 8;

/// Median, p99 and greatest value, in microseconds.
pub(super) type Quantiles = [u64; 3];

/// The latencies of one bucket.
#[derive(Clone, Debug, Default)]
pub(super) struct Sketch {
    /// Rounded values in order, with how often each occurred.
    values: Vec<(u64, u64)>,
    max_us: u64,
    /// Median and p99 of a single histogram.
    exact: Option<[u64; 2]>,
}

impl Sketch {
    /// A histogram's; empty of `None`.
    pub(super) fn of(histogram: Option<&LatencyHistogram>) -> Self {
        let Some(histogram) = histogram else { return Self::default() };
        let mut values: Vec<(u64, u64)> = Vec::new();
        for (value_us, count) in histogram.values() {
            add(&mut values, rounded(value_us), count);
        }
        let exact = histogram.quantile_us(0.5).zip(histogram.quantile_us(0.99)).map(|(p50, p99)| [p50, p99]);
        Self { values, max_us: histogram.max_us(), exact }
    }

    /// The figures; `None` without values.
    pub(super) fn quantiles(&self) -> Option<Quantiles> {
        let [p50, p99] = match self.exact {
            Some(exact) => exact,
            None => [self.nearest_rank(50)?, self.nearest_rank(99)?],
        };
        Some([p50, p99, self.max_us])
    }

    fn nearest_rank(&self, percent: u64) -> Option<u64> {
        let count: u64 = self.values.iter().map(|(_, count)| count).sum();
        let rank = (count * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let at = self.values.iter().find(|(_, count)| {
            seen += count;
            seen >= rank
        });
        at.map(|(value_us, _)| (*value_us).min(self.max_us))
    }
}

impl Merge for Sketch {
    fn merge(&mut self, later: Self) {
        if later.values.is_empty() {
            return;
        }
        if self.values.is_empty() {
            *self = later;
            return;
        }
        let mut merged = Vec::with_capacity(self.values.len() + later.values.len());
        let (mut ours, mut theirs) = (self.values.iter().peekable(), later.values.iter().peekable());
        while let Some((value_us, count)) = match (ours.peek(), theirs.peek()) {
            (Some(our), Some(their)) if our.0 <= their.0 => ours.next(),
            (Some(_), None) => ours.next(),
            _ => theirs.next(),
        } {
            add(&mut merged, *value_us, *count);
        }
        *self = Self { values: merged, max_us: self.max_us.max(later.max_us), exact: None };
    }
}

fn add(values: &mut Vec<(u64, u64)>, value_us: u64, count: u64) {
    match values.last_mut() {
        Some((last_us, counted)) if *last_us == value_us => *counted += count,
        _ => values.push((value_us, count)),
    }
}

/// The greatest value with the same leading bits.
fn rounded(value_us: u64) -> u64 {
    let dropped = (u64::BITS - value_us.leading_zeros()).saturating_sub(KEPT_BITS);
    value_us | ((1 << dropped) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(values: &[(u64, u32)]) -> Sketch {
        let mut histogram = LatencyHistogram::new();
        values.iter().for_each(|(value_us, times)| histogram.record_n(*value_us, *times));
        Sketch::of(Some(&histogram))
    }

    #[test]
    fn one_histogram_keeps_its_own_figures_and_none_has_none() {
        assert_eq!(sketch(&[(2_001, 99), (70_003, 1)]).quantiles(), Some([2_001, 2_001, 70_003]));
        assert_eq!(Sketch::of(None).quantiles(), None);
    }

    #[test]
    fn merged_ones_are_right_to_within_one_percent_and_keep_the_greatest() {
        let mut merged = sketch(&[(1_000, 60)]);
        merged.merge(sketch(&[]));
        merged.merge(sketch(&[(1_000, 10), (50_000, 29), (9_000_017, 1)]));
        let [p50, p99, max] = merged.quantiles().unwrap();
        assert!((1_000..=1_010).contains(&p50) && (50_000..=50_500).contains(&p99), "{p50} {p99}");
        assert_eq!(max, 9_000_017);
        let mut empty = sketch(&[]);
        empty.merge(sketch(&[(7, 1)]));
        assert_eq!(empty.quantiles(), Some([7, 7, 7]));
    }
}
