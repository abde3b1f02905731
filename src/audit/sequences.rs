//! Sets of record numbers: as bitmaps where they are dense, as short lists where they are sparse, as ranges where they are whole.
//!
//! At most 16 bits a number, however a producer's records are spread over partitions, and next to nothing where they are not. Pure.

use std::ops::{Bound, RangeInclusive};

use roaring::RoaringBitmap;

/// Consecutive numbers from so many on are entered as one range: below it, one by one is quicker.
const RUN_MIN: u32 = 8;

/// A set of record numbers up to 2^32 - 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sequences(RoaringBitmap);

impl Sequences {
    /// Enters a number; `false`: it was there.
    pub fn insert(&mut self, number: u32) -> bool {
        self.0.insert(number)
    }

    /// Enters numbers, quickest where they are consecutive.
    pub fn extend(&mut self, numbers: impl IntoIterator<Item = u32>) {
        let mut numbers = numbers.into_iter();
        let Some(first) = numbers.next() else { return };
        let (mut from, mut to) = (first, first);
        for number in numbers {
            if to.checked_add(1) == Some(number) {
                to = number;
            } else {
                self.enter(from, to);
                (from, to) = (number, number);
            }
        }
        self.enter(from, to);
    }

    fn enter(&mut self, from: u32, to: u32) {
        if to - from >= RUN_MIN {
            self.0.insert_range(from..=to);
        } else {
            (from..=to).for_each(|number| {
                self.0.insert(number);
            });
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the number is there.
    #[must_use]
    pub fn contains(&self, number: u32) -> bool {
        self.0.contains(number)
    }

    /// How many are in both.
    #[must_use]
    pub fn count_in(&self, other: &Self) -> u64 {
        self.0.intersection_len(&other.0)
    }

    /// Those that are not in the other.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self(&self.0 - &other.0)
    }

    /// How many lie between both.
    #[must_use]
    pub fn count_between(&self, after: u32, before: u32) -> u64 {
        self.0.range_cardinality((Bound::Excluded(after), Bound::Excluded(before)))
    }

    /// Its numbers as ranges, in order.
    pub fn ranges(&self) -> impl Iterator<Item = RangeInclusive<u32>> {
        let mut numbers = self.0.iter();
        std::iter::from_fn(move || numbers.next_range())
    }
}

impl FromIterator<u32> for Sequences {
    fn from_iter<T: IntoIterator<Item = u32>>(numbers: T) -> Self {
        let mut set = Self::default();
        set.extend(numbers);
        set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn ranges(numbers: &BTreeSet<u32>) -> Vec<RangeInclusive<u32>> {
        let mut ranges: Vec<RangeInclusive<u32>> = Vec::new();
        for number in numbers {
            match ranges.last_mut() {
                Some(last) if last.end() + 1 == *number => *last = *last.start()..=*number,
                _ => ranges.push(*number..=*number),
            }
        }
        ranges
    }

    proptest! {
        #[test]
        fn it_holds_what_a_plain_set_holds(
            runs in prop::collection::vec((0_u32..200_000, 1_u32..300), 0..40),
            others in prop::collection::vec((0_u32..200_000, 1_u32..300), 0..40),
        ) {
            let numbers = |runs: &[(u32, u32)]| runs.iter().flat_map(|(from, count)| *from..from + count).collect::<Vec<_>>();
            let (left, right) = (numbers(&runs), numbers(&others));
            let (set, other): (Sequences, Sequences) = (left.iter().copied().collect(), right.iter().copied().collect());
            let (left, right): (BTreeSet<u32>, BTreeSet<u32>) = (left.into_iter().collect(), right.into_iter().collect());
            prop_assert_eq!(set.len(), left.len() as u64);
            prop_assert_eq!(set.ranges().collect::<Vec<_>>(), ranges(&left));
            prop_assert_eq!(set.count_in(&other), left.intersection(&right).count() as u64);
            let rest: BTreeSet<u32> = left.difference(&right).copied().collect();
            prop_assert_eq!(set.without(&other).ranges().collect::<Vec<_>>(), ranges(&rest));
        }
    }

    #[test]
    fn the_last_number_of_all_fits() {
        let mut set: Sequences = (u32::MAX - 20..=u32::MAX).collect();
        assert_eq!(set.len(), 21);
        assert!(set.contains(u32::MAX) && !set.insert(u32::MAX) && set.insert(0));
    }
}
