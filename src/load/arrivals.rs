//! Due times of an open loop.
//!
//! Invariant: a due time is computed from the schedule alone. Nothing that happens to a record changes when the next one is due, and none
//! is ever skipped.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;

use crate::ids::ProducerIndex;

/// Due times of one producer, in microseconds since its group became active; never decreasing.
#[derive(Clone, Debug)]
pub struct DueTimes {
    kind: Kind,
    /// The schedule's own origin, later than the group's by the producer's place in a ramp.
    start_us: u64,
    /// Counted from that origin.
    next_us: u64,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Record `i` is due at `(phase + i) / rate`, computed from `i` so that nothing accumulates.
    Constant { rate_per_second: f64, phase: f64, index: u64 },
    /// Gaps of `-ln(u) / rate`, summed up in seconds.
    Poisson(Box<Poisson>),
}

#[derive(Clone, Debug)]
struct Poisson {
    rate_per_second: f64,
    at_seconds: f64,
    random: ChaCha12Rng,
}

impl DueTimes {
    /// Evenly spaced. The `count` producers of a group are spread evenly over one interval: producer `k` begins at `k / count` of it.
    /// Invariant: `rate_per_second` is above zero.
    #[must_use]
    pub fn constant(rate_per_second: f64, producer: ProducerIndex, count: u32) -> Self {
        debug_assert!(rate_per_second > 0.0);
        let phase = f64::from(producer.0) / f64::from(count.max(1));
        let next_us = constant_us(rate_per_second, phase, 0);
        Self { kind: Kind::Constant { rate_per_second, phase, index: 0 }, start_us: 0, next_us }
    }

    /// Exponential gaps from a generator with this seed; the first record is due after the first gap.
    /// Invariant: `rate_per_second` is above zero.
    #[must_use]
    pub fn poisson(rate_per_second: f64, seed: [u8; 32]) -> Self {
        debug_assert!(rate_per_second > 0.0);
        let mut state = Box::new(Poisson { rate_per_second, at_seconds: 0.0, random: ChaCha12Rng::from_seed(seed) });
        let next_us = state.next_us();
        Self { kind: Kind::Poisson(state), start_us: 0, next_us }
    }

    /// The same schedule, begun so much later.
    #[must_use]
    pub fn starting_at(self, start_us: u64) -> Self {
        Self { start_us, ..self }
    }

    /// When the next record is due.
    #[must_use]
    pub fn next_us(&self) -> u64 {
        self.start_us.saturating_add(self.next_us)
    }

    /// Goes on to the record after it.
    pub fn advance(&mut self) {
        self.next_us = match &mut self.kind {
            Kind::Constant { rate_per_second, phase, index } => {
                *index += 1;
                constant_us(*rate_per_second, *phase, *index)
            }
            Kind::Poisson(state) => state.next_us(),
        };
    }

    /// Goes past all records that are due at or before `at_us`; says how many they were.
    pub fn advance_past(&mut self, at_us: u64) -> u64 {
        let Some(at_us) = at_us.checked_sub(self.start_us) else { return 0 };
        let mut passed = 0;
        if let Kind::Constant { rate_per_second, phase, index } = &mut self.kind {
            // All but the last few at once; the loop below does the rest exactly.
            let estimate = (at_us as f64 / 1e6 * *rate_per_second - *phase) as u64;
            let target = estimate.saturating_sub(1);
            if target > *index {
                passed = target - *index;
                *index = target;
                self.next_us = constant_us(*rate_per_second, *phase, target);
            }
        }
        while self.next_us <= at_us {
            passed += 1;
            self.advance();
        }
        passed
    }
}

fn constant_us(rate_per_second: f64, phase: f64, index: u64) -> u64 {
    ((phase + index as f64) / rate_per_second * 1e6).round() as u64
}

impl Poisson {
    fn next_us(&mut self) -> u64 {
        // 53 random bits, moved from [0, 1) to (0, 1], so that the logarithm is finite.
        let uniform = ((self.random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        self.at_seconds += -uniform.ln() / self.rate_per_second;
        (self.at_seconds * 1e6).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn take(mut due: DueTimes, count: usize) -> Vec<u64> {
        (0..count)
            .map(|_| {
                let at = due.next_us();
                due.advance();
                at
            })
            .collect()
    }

    #[test]
    fn a_later_start_shifts_the_schedule_and_nothing_is_due_before_it() {
        let mut due = DueTimes::constant(2.0, ProducerIndex(1), 2).starting_at(3_000_000);
        assert_eq!(take(due.clone(), 3), [3_250_000, 3_750_000, 4_250_000]);
        assert_eq!([2_999_999, 3_250_000, 4_249_999].map(|at_us| due.advance_past(at_us)), [0, 1, 1]);
        assert_eq!(due.next_us(), 4_250_000);
    }

    #[test]
    fn constant_due_times_are_exact_after_a_billion_records() {
        let mut due = DueTimes::constant(3.0, ProducerIndex(0), 1);
        assert_eq!(take(due.clone(), 4), [0, 333_333, 666_667, 1_000_000]);
        due.advance_past(999_999_999_999_999);
        assert_eq!(due.next_us(), 1_000_000_000_000_000);
    }

    #[test]
    fn producers_are_spread_over_one_interval() {
        let firsts: Vec<u64> = (0..4).map(|k| DueTimes::constant(20.0, ProducerIndex(k), 4).next_us()).collect();
        assert_eq!(firsts, [0, 12_500, 25_000, 37_500]);
    }

    #[test]
    fn poisson_depends_on_its_seed_alone() {
        assert_eq!(take(DueTimes::poisson(5.0, [3; 32]), 50), take(DueTimes::poisson(5.0, [3; 32]), 50));
        assert_ne!(take(DueTimes::poisson(5.0, [3; 32]), 50), take(DueTimes::poisson(5.0, [4; 32]), 50));
    }

    proptest! {
        #[test]
        fn counting_equals_stepping(rate in 0.01_f64..5_000.0, producer in 0_u32..10, steps in prop::collection::vec(0_u64..700_000, 1..20)) {
            for due in [DueTimes::constant(rate, ProducerIndex(producer), 10), DueTimes::poisson(rate, [9; 32])] {
                let (mut counted, mut stepped, mut at) = (due.clone(), due, 0);
                for step in &steps {
                    at += step;
                    let mut passed = 0;
                    while stepped.next_us() <= at {
                        passed += 1;
                        stepped.advance();
                    }
                    prop_assert_eq!(counted.advance_past(at), passed);
                    prop_assert_eq!(counted.next_us(), stepped.next_us());
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]
        #[test]
        fn poisson_gaps_have_the_mean_and_spread_of_their_rate(rate in 0.5_f64..500.0, seed: [u8; 32]) {
            let due = take(DueTimes::poisson(rate, seed), 20_000);
            prop_assert!(due.windows(2).all(|pair| pair[0] <= pair[1]));
            let mean = due[due.len() - 1] as f64 / due.len() as f64 * rate / 1e6;
            prop_assert!((mean - 1.0).abs() < 0.05, "mean {}", mean);
            // Of an exponential distribution, 1 - 1/e of all gaps are below the mean.
            let below = due.windows(2).filter(|pair| ((pair[1] - pair[0]) as f64) < 1e6 / rate).count() as f64 / due.len() as f64;
            prop_assert!((below - 0.632).abs() < 0.02, "below the mean: {}", below);
        }
    }
}
