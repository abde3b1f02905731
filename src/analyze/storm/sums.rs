//! Sums over seconds, and the greatest of these seconds.

/// The greatest sum of any one second; parts of a second may come in several calls, but before the next second's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Peak {
    second: i64,
    in_second: u64,
    max: u64,
}

impl Peak {
    /// More of this second.
    pub(super) fn add(&mut self, second: i64, more: u64) {
        if second != self.second {
            (self.second, self.in_second) = (second, 0);
        }
        self.in_second += more;
        self.max = self.max.max(self.in_second);
    }

    /// The one of two, of different seconds, that is greater.
    pub(super) fn greater(self, other: Self) -> Self {
        if other.max > self.max { other } else { self }
    }

    /// The greatest.
    pub(super) fn max(self) -> u64 {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_that_comes_in_parts_counts_as_one() {
        let mut peak = Peak::default();
        assert_eq!(peak.max(), 0);
        for (second, more) in [(0, 3), (0, 4), (1, 6), (2, 1), (2, 1)] {
            peak.add(second, more);
        }
        assert_eq!(peak.max(), 7);
    }
}
