//! The only place that reads time.
//!
//! Everything else takes a [`Moment`] (pure code) or a [`Clock`] (shells). Not a scheduler: sleeping is the caller's, through
//! [`Clock::instant_of`]. The real clock reads tokio's, so that a test with tokio's paused time drives it too.

use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A point on the process's monotonic clock, in microseconds since the clock was made (plus a fixed start, so that subtracting a
/// configured age never underflows).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub u64);

/// What a real clock's first reading is: one day, so that `moment - 300 s` stays a valid moment.
const FIRST_READING_US: u64 = 86_400_000_000;

impl Moment {
    /// Time since `earlier`, or zero if that is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// Signed distance to `origin`, in microseconds: negative before it.
    #[must_use]
    pub fn micros_from(self, origin: Self) -> i64 {
        i64::try_from(i128::from(self.0) - i128::from(origin.0)).unwrap_or(i64::MAX)
    }
}

impl Add<Duration> for Moment {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_micros()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Moment {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(span.as_micros()).unwrap_or(u64::MAX)))
    }
}

/// Reads time. Cheap to clone; all clones share one origin.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    Real { origin: tokio::time::Instant, wall_origin: SystemTime },
    Manual(std::sync::Arc<AtomicU64>),
}

impl Clock {
    /// The machine's clock.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "this is the one place that reads time")]
    pub fn real() -> Self {
        Self(Source::Real { origin: tokio::time::Instant::now(), wall_origin: SystemTime::now() })
    }

    /// A clock that moves only by [`Clock::advance`]; for tests of pure code.
    #[must_use]
    pub fn manual() -> Self {
        Self(Source::Manual(std::sync::Arc::new(AtomicU64::new(FIRST_READING_US))))
    }

    /// The present moment.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "this is the one place that reads time")]
    pub fn now(&self) -> Moment {
        match &self.0 {
            Source::Real { origin, .. } => Moment(
                FIRST_READING_US + u64::try_from(tokio::time::Instant::now().duration_since(*origin).as_micros()).unwrap_or(u64::MAX),
            ),
            Source::Manual(at) => Moment(at.load(Ordering::Relaxed)),
        }
    }

    /// Moves a manual clock forward; a real clock is left alone.
    pub fn advance(&self, span: Duration) {
        if let Source::Manual(at) = &self.0 {
            at.fetch_add(u64::try_from(span.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
    }

    /// The tokio instant to sleep until, for a moment of this clock.
    ///
    /// # Panics
    /// On a manual clock, which nothing can sleep on.
    #[must_use]
    pub fn instant_of(&self, moment: Moment) -> tokio::time::Instant {
        match &self.0 {
            Source::Real { origin, .. } => *origin + Duration::from_micros(moment.0.saturating_sub(FIRST_READING_US)),
            Source::Manual(_) => panic!("a manual clock cannot be slept on"),
        }
    }

    /// Wall-clock time of a moment, for stamps that people read and for joining with brokers' logs. Follows the monotonic clock
    /// from one reading at the start: a step of the system's clock during a run does not show.
    #[must_use]
    pub fn wall_time_of(&self, moment: Moment) -> SystemTime {
        match &self.0 {
            Source::Real { wall_origin, .. } => *wall_origin + Duration::from_micros(moment.0.saturating_sub(FIRST_READING_US)),
            Source::Manual(_) => UNIX_EPOCH + Duration::from_micros(moment.0),
        }
    }

    /// By how much the machine's wall clock is now ahead of [`Self::wall_time_of`], in microseconds: what somebody has set it by since this
    /// clock was made, and what it has drifted.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "this is the one place that reads time")]
    pub fn wall_set_by_us(&self) -> i64 {
        if let Source::Manual(_) = &self.0 {
            return 0;
        }
        let expected = self.wall_time_of(self.now());
        let micros = |span: Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        SystemTime::now().duration_since(expected).map_or_else(|behind| -micros(behind.duration()), micros)
    }

    /// The same as time since 1970; zero on a machine whose clock stands before that.
    #[must_use]
    pub fn unix_time_of(&self, moment: Moment) -> Duration {
        self.wall_time_of(moment).duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}
