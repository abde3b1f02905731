//! Delay, jitter and rate: when bytes that come now may go on. Pure; the random numbers are handed in.

use std::num::NonZeroU64;
use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha12Rng;

use crate::clock::Moment;
use crate::plan::model::Pace;

/// Bytes under a rate go on in pieces of so much time, so that a slow link trickles instead of coming in bursts.
const PIECE: Duration = Duration::from_millis(20);
/// Smallest piece that is worth a system call.
const PIECE_BYTES_MIN: usize = 512;

/// One direction of a link whose rate is shared by all connections on it: when it has sent all that was given to it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lane {
    free_at: Moment,
    /// The rate that it owes this time to: another one begins without debts, for a change of pace flushes what was under way.
    rate: Option<NonZeroU64>,
}

impl Lane {
    /// When bytes that come now have passed, by the link's rate alone.
    pub(super) fn passed(&mut self, now: Moment, bytes: usize, pace: &Pace) -> Moment {
        let Some(rate) = pace.bytes_per_second else {
            self.rate = None;
            return now;
        };
        let micros = (bytes as u64).saturating_mul(1_000_000).div_ceil(rate.get());
        if self.rate != Some(rate) {
            *self = Self { free_at: now, rate: Some(rate) };
        }
        self.free_at = self.free_at.max(now) + Duration::from_micros(micros);
        self.free_at
    }
}

/// How long bytes are under way after that: the delay, more or less by up to the jitter, evenly distributed.
pub(super) fn under_way(pace: &Pace, rng: &mut ChaCha12Rng) -> Duration {
    let jitter_us = u64::try_from(pace.jitter.as_micros()).unwrap_or(u64::MAX);
    if jitter_us == 0 {
        return pace.delay;
    }
    let shift_us = rng.random_range(0..=jitter_us.saturating_mul(2));
    (pace.delay + Duration::from_micros(shift_us)).saturating_sub(pace.jitter)
}

/// How many bytes may be taken at once.
pub(super) fn piece_bytes(pace: &Pace, room: usize) -> usize {
    let Some(rate) = pace.bytes_per_second else { return room };
    let piece = u128::from(rate.get()) * PIECE.as_millis() / 1000;
    room.min(usize::try_from(piece).unwrap_or(usize::MAX).max(PIECE_BYTES_MIN))
}

#[cfg(test)]
mod tests {
    use rand_chacha::rand_core::SeedableRng;

    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn pace(delay: u64, jitter: u64, rate: Option<u64>) -> Pace {
        Pace { delay: ms(delay), jitter: ms(jitter), bytes_per_second: rate.and_then(NonZeroU64::new) }
    }

    #[test]
    fn a_rate_is_shared_and_never_saved_up() {
        let (mut lane, pace, start) = (Lane::default(), pace(0, 0, Some(1_000)), Moment(5_000_000));
        assert_eq!(lane.passed(start, 100, &pace), start + ms(100));
        assert_eq!(lane.passed(start, 50, &pace), start + ms(150), "the second piece waits for the first");
        let later = start + ms(900);
        assert_eq!(lane.passed(later, 10, &pace), later + ms(10), "an idle link has saved nothing up");
        assert_eq!(lane.passed(later, 10, &Pace { bytes_per_second: None, ..pace }), later);
        lane.passed(later, 100_000, &pace);
        let faster = Pace { bytes_per_second: NonZeroU64::new(10_000), ..pace };
        assert_eq!(lane.passed(later, 100, &faster), later + ms(10), "another rate owes nothing of the one before");
    }

    #[test]
    fn jitter_goes_both_ways_and_repeats_with_its_seed() {
        let draw = |seed| {
            let mut rng = ChaCha12Rng::seed_from_u64(seed);
            (0..200).map(|_| under_way(&pace(50, 20, None), &mut rng)).collect::<Vec<_>>()
        };
        let drawn = draw(7);
        assert!(drawn.iter().all(|delay| (ms(30)..=ms(70)).contains(delay)), "{drawn:?}");
        assert!(drawn.iter().any(|delay| *delay < ms(40)) && drawn.iter().any(|delay| *delay > ms(60)));
        assert_eq!(drawn, draw(7));
        assert_ne!(drawn, draw(8));
    }

    #[test]
    fn a_slow_link_takes_small_pieces() {
        for (rate, room, piece) in
            [(None, 65_536, 65_536), (Some(1_000), 65_536, 512), (Some(1_000_000), 65_536, 20_000), (Some(1_000_000), 7, 7)]
        {
            assert_eq!(piece_bytes(&pace(0, 0, rate), room), piece, "{rate:?}");
        }
    }
}
