//! The common time scale of all lines: buckets of whole seconds, never more than [`BUCKETS_MAX`]. A run that needs more of them gets wider
//! ones, twice as wide each time, and every line merges its buckets in pairs.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// A screen has no room for more, and a page not for their bytes.
pub(super) const BUCKETS_MAX: u64 = 600;

const SECOND_MS: i64 = 1_000;

/// Which seconds a bucket holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// First and last second that was told of; `None`: none yet.
    span: Option<(i64, i64)>,
    /// Seconds in a bucket.
    width: i64,
}

impl Default for Scale {
    fn default() -> Self {
        Self { span: None, width: 1 }
    }
}

impl Scale {
    /// Makes room for a second; tells how many times all lines have to be halved for it.
    pub(super) fn admit(&mut self, second: i64) -> u32 {
        let (first, last) = self.span.unwrap_or((second, second));
        let (first, last) = (first.min(second), last.max(second));
        self.span = Some((first, last));
        let mut halvings = 0;
        // A damaged file may say anything, so the difference must not overflow.
        while self.bucket(last).abs_diff(self.bucket(first)) >= BUCKETS_MAX {
            self.width *= 2;
            halvings += 1;
        }
        halvings
    }

    /// The bucket of a second that was admitted.
    pub(super) fn bucket(self, second: i64) -> i64 {
        second.div_euclid(self.width)
    }

    /// All buckets in order, those that nobody told of included.
    pub(super) fn buckets(self) -> impl Iterator<Item = i64> + Clone {
        let (first, last) = self.span.map_or((0, -1), |(first, last)| (self.bucket(first), self.bucket(last)));
        first..=last
    }

    /// When a bucket begins, in milliseconds since the start of `steady`.
    pub(super) fn begin_ms(self, bucket: i64) -> i64 {
        bucket.saturating_mul(self.width_ms())
    }

    /// How long a bucket is.
    pub(super) fn width_ms(self) -> i64 {
        self.width.saturating_mul(SECOND_MS)
    }
}

/// What two neighbouring buckets are together.
pub(super) trait Merge {
    /// Takes in what came later.
    fn merge(&mut self, later: Self);
}

/// One value per bucket that somebody told of.
#[derive(Clone, Debug)]
pub(super) struct Line<T> {
    buckets: BTreeMap<i64, T>,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { buckets: BTreeMap::new() }
    }
}

impl<T: Merge> Line<T> {
    /// Takes in a value of a bucket.
    pub(super) fn add(&mut self, bucket: i64, value: T) {
        match self.buckets.entry(bucket) {
            Entry::Vacant(free) => {
                free.insert(value);
            }
            Entry::Occupied(taken) => taken.into_mut().merge(value),
        }
    }

    /// Merges buckets in pairs.
    pub(super) fn halve(&mut self) {
        for (bucket, value) in std::mem::take(&mut self.buckets) {
            self.add(bucket.div_euclid(2), value);
        }
    }

    /// The value of a bucket; `None`: nobody told of it.
    pub(super) fn get(&self, bucket: i64) -> Option<&T> {
        self.buckets.get(&bucket)
    }

    /// A figure of each bucket; `None` where nobody told of it.
    pub(super) fn figures<F>(&self, scale: Scale, figure: impl Fn(&T) -> Option<F>) -> Vec<Option<F>> {
        scale.buckets().map(|bucket| self.get(bucket).and_then(&figure)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Sum(u64);

    impl Merge for Sum {
        fn merge(&mut self, later: Self) {
            self.0 += later.0;
        }
    }

    fn line(seconds: impl Iterator<Item = i64>) -> (Scale, Line<Sum>) {
        let (mut scale, mut line) = (Scale::default(), Line::default());
        for second in seconds {
            for _ in 0..scale.admit(second) {
                line.halve();
            }
            line.add(scale.bucket(second), Sum(1));
        }
        (scale, line)
    }

    #[test]
    fn a_short_run_has_a_bucket_per_second_and_gaps_are_unknown() {
        let (scale, line) = line([-2, -1, 1].into_iter());
        assert_eq!(line.figures(scale, |sum| Some(sum.0)), [Some(1), Some(1), None, Some(1)]);
        assert_eq!((scale.begin_ms(-2), scale.width_ms()), (-2_000, 1_000));
    }

    #[test]
    fn a_long_run_has_wider_buckets_and_loses_nothing() {
        let (scale, line) = line(-30..7_200);
        let figures = line.figures(scale, |sum| Some(sum.0));
        assert!(figures.len() <= 600 && figures.len() > 300, "{}", figures.len());
        assert_eq!((scale.width_ms(), figures.iter().flatten().sum::<u64>()), (16_000, 7_230));
    }

    #[test]
    fn seconds_of_a_damaged_file_are_borne() {
        let (scale, _) = line([0, i64::MAX, i64::MIN].into_iter());
        assert!(scale.buckets().count() <= 600, "{}", scale.buckets().count());
    }
}
