//! How many seconds of a bucket were told: what sums are divided by. A run that was cut off has a last bucket that is not full, and several
//! workers tell of the same second.

use std::collections::BTreeMap;

use super::scale::Merge;

/// Seconds by worker.
#[derive(Clone, Debug, Default)]
pub(super) struct Told(BTreeMap<u32, u64>);

impl Told {
    /// One second of one worker.
    pub(super) fn once(worker: u32) -> Self {
        Self(BTreeMap::from([(worker, 1)]))
    }

    /// Those of the worker that told most.
    pub(super) fn seconds(&self) -> u64 {
        self.0.values().copied().max().unwrap_or(0)
    }
}

impl Merge for Told {
    fn merge(&mut self, later: Self) {
        for (worker, seconds) in later.0 {
            *self.0.entry(worker).or_default() += seconds;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_that_tell_of_the_same_seconds_count_once() {
        let mut told = Told::once(0);
        [Told::once(1), Told::once(0), Told::once(1), Told::once(0)].into_iter().for_each(|more| told.merge(more));
        assert_eq!((told.seconds(), Told::default().seconds()), (3, 0));
    }
}
