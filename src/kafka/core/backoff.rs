//! Exponential backoff with jitter (KIP-580), as Java's `ExponentialBackoff` computes it.

use std::time::Duration;

use rand::{Rng, RngExt};

/// Waits that grow by two from `initial` to `max`, each within a fifth of its middle.
#[derive(Clone, Copy, Debug)]
pub struct ExponentialBackoff {
    initial_ms: f64,
    max_ms: f64,
    exponent_max: f64,
    is_constant: bool,
}

const JITTER: f64 = 0.2;

impl ExponentialBackoff {
    /// Waits from `initial` to `max`; a `max` that is not greater makes every wait `max`, without jitter.
    #[must_use]
    pub fn new(initial: Duration, max: Duration) -> Self {
        let max_ms = max.as_millis() as f64;
        let initial_ms = (initial.as_millis() as f64).min(max_ms);
        let exponent_max = if max > initial { (max_ms / initial_ms.max(1.0)).log2() } else { 0.0 };
        Self { initial_ms, max_ms, exponent_max, is_constant: max <= initial }
    }

    /// The wait after `failures` failures (0 for the first wait). Drawn anew at each call.
    pub fn wait(&self, failures: u32, random: &mut impl Rng) -> Duration {
        if self.is_constant {
            return Duration::from_millis(self.max_ms as u64);
        }
        let middle_ms = self.initial_ms * 2_f64.powf(f64::from(failures).min(self.exponent_max));
        let factor = random.random_range(1.0 - JITTER..1.0 + JITTER);
        Duration::from_millis((middle_ms * factor).min(self.max_ms) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn range(backoff: &ExponentialBackoff, failures: u32) -> (u128, u128) {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let waits: Vec<_> = (0..20_000).map(|_| backoff.wait(failures, &mut random).as_millis()).collect();
        (*waits.iter().min().unwrap(), *waits.iter().max().unwrap())
    }

    #[test]
    fn ranges_are_those_of_the_java_client() {
        let refresh = ExponentialBackoff::new(Duration::from_millis(100), Duration::from_secs(1));
        for (failures, expected) in [(0, (80, 119)), (1, (160, 239)), (2, (320, 479)), (3, (640, 959)), (4, (800, 1000)), (60, (800, 1000))]
        {
            assert_eq!(range(&refresh, failures), expected, "refresh, {failures} failures");
        }
        let reconnect = ExponentialBackoff::new(Duration::from_millis(50), Duration::from_secs(1));
        for (failures, expected) in [(0, (40, 59)), (1, (80, 119)), (2, (160, 239)), (3, (320, 479)), (4, (640, 959)), (5, (800, 1000))] {
            assert_eq!(range(&reconnect, failures), expected, "reconnect, {failures} failures");
        }
    }

    #[test]
    fn a_maximum_below_the_start_makes_it_constant() {
        let backoff = ExponentialBackoff::new(Duration::from_millis(100), Duration::from_millis(70));
        assert_eq!(range(&backoff, 0), (70, 70));
        assert_eq!(range(&backoff, 5), (70, 70));
    }
}
