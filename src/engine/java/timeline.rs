//! One clock for two processes: times of the Java program as moments of this one. Pure.
//!
//! Asked for its clock, the program answers with `System.nanoTime`. The answer was read at some moment between question and answer; of several
//! such rounds the shortest one says most. On Linux both clocks are the same one (`CLOCK_MONOTONIC`), so that the distance stays what it is.

use std::time::Duration;

use crate::clock::Moment;

/// A question and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Round {
    pub(super) asked: Moment,
    pub(super) answered: Moment,
    pub(super) nanos: i64,
}

/// How the program's clock lies to this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offset {
    /// `System.nanoTime` less this process's clock.
    nanos: i64,
    /// It may be wrong by so much.
    pub(super) uncertainty: Duration,
}

impl Offset {
    /// From the shortest of the rounds; `None` without any.
    pub(super) fn of(rounds: &[Round]) -> Option<Self> {
        let best = rounds.iter().min_by_key(|round| round.answered.since(round.asked))?;
        let half = best.answered.since(best.asked) / 2;
        let middle = nanos(best.asked + half);
        // Half a microsecond more, because moments are whole ones.
        Some(Self { nanos: best.nanos.saturating_sub(middle), uncertainty: half + Duration::from_nanos(500) })
    }

    /// A moment as the program's clock shows it.
    pub(super) fn nanos_of(self, moment: Moment) -> i64 {
        nanos(moment).saturating_add(self.nanos)
    }
}

fn nanos(moment: Moment) -> i64 {
    i64::try_from(moment.0).unwrap_or(i64::MAX).saturating_mul(1_000)
}

/// The moment that lies so many microseconds after `origin`, or before it.
pub(super) fn moment(origin: Moment, micros: i64) -> Moment {
    let span = Duration::from_micros(micros.unsigned_abs());
    if micros < 0 { origin - span } else { origin + span }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_round_decides_and_says_how_sure_it_is() {
        let round = |asked, answered, nanos| Round { asked: Moment(asked), answered: Moment(answered), nanos };
        // The program's clock runs 5 s before this one; the second answer was read in the middle of 200 us.
        let rounds = [round(1_000, 9_000, 5_008_500_000), round(10_000, 10_200, 5_010_100_000), round(20_000, 21_000, 5_020_100_000)];
        let offset = Offset::of(&rounds).unwrap();
        assert_eq!(offset, Offset { nanos: 5_000_000_000, uncertainty: Duration::from_nanos(100_500) });
        assert_eq!(offset.nanos_of(Moment(2_000_000)), 7_000_000_000);
        assert_eq!(Offset::of(&[]), None);
    }

    #[test]
    fn times_before_the_origin_are_negative() {
        let origin = Moment(1_000);
        assert_eq!([-1, 0, 7].map(|micros| moment(origin, micros)), [Moment(999), Moment(1_000), Moment(1_007)]);
    }
}
