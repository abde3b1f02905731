//! How long a comparison will take: from the plans before the first run, and from the runs that are over after that. Pure.

use std::time::Duration;

use crate::plan::model::Plan;
use crate::plan::timeline::Timeline;

/// From nothing to a cluster that is ready, and its removal.
const CLUSTER: Duration = Duration::from_secs(20);
/// What a run takes beyond its load: topics, clients, what is in flight at the end, a cluster made whole, files read.
const AROUND: Duration = Duration::from_secs(6);

/// What runs take beyond the load that their plans ask for.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Whether all runs use one cluster.
    one_cluster: bool,
    /// The time that runs took, less that of their plans, and how many they were.
    beyond: Duration,
    runs: u32,
}

/// How long a plan's load will be.
#[must_use]
pub fn load_of(plan: &Plan) -> Duration {
    Timeline::of(plan).end_at.expected
}

impl Pace {
    /// Before the first run.
    #[must_use]
    pub fn new(one_cluster: bool) -> Self {
        Self { one_cluster, beyond: Duration::ZERO, runs: 0 }
    }

    /// Takes in a run: what its plan's load was to take, and what the whole run took, without the start of a shared cluster.
    pub fn took(&mut self, load: Duration, whole: Duration) {
        self.beyond += whole.saturating_sub(load);
        self.runs += 1;
    }

    /// How long runs with these loads will take; `with_start`: the shared cluster has to be started yet.
    #[must_use]
    pub fn expects(&self, loads: impl IntoIterator<Item = Duration>, with_start: bool) -> Duration {
        let guess = if self.one_cluster { AROUND } else { AROUND + CLUSTER };
        let beyond = if self.runs == 0 { guess } else { self.beyond / self.runs };
        let start = if self.one_cluster && with_start { CLUSTER } else { Duration::ZERO };
        loads.into_iter().fold(start, |sum, load| sum.saturating_add(load).saturating_add(beyond))
    }
}

/// A length of time as it is told: `50 s`, `14 min`, `2 h 5 min`.
#[must_use]
pub fn words(time: Duration) -> String {
    let minutes = (time.as_secs() + 30) / 60;
    match (time.as_secs(), minutes) {
        (seconds @ 0..90, _) => format!("{seconds} s"),
        (_, minutes @ 0..60) => format!("{minutes} min"),
        (_, minutes) => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_guess_gives_way_to_what_was_seen() {
        let loads = || [seconds(30), seconds(60)];
        let mut pace = Pace::new(true);
        assert_eq!(pace.expects(loads(), true), seconds(20 + 36 + 66));
        assert_eq!(Pace::new(false).expects(loads(), true), seconds(56 + 86), "each run has a cluster of its own");
        pace.took(seconds(30), seconds(34));
        pace.took(seconds(60), seconds(68));
        assert_eq!(pace.expects(loads(), false), seconds(36 + 66));
        pace.took(seconds(60), seconds(20));
        assert_eq!(pace.expects([seconds(0)], false), seconds(4), "a run that ends early takes no time off others");
        assert_eq!(pace.expects([], false), Duration::ZERO);
    }

    #[test]
    fn times_are_told_no_finer_than_they_are_known() {
        for (time, expected) in
            [(0, "0 s"), (89, "89 s"), (90, "2 min"), (860, "14 min"), (3_569, "59 min"), (3_570, "1 h 0 min"), (7_530, "2 h 6 min")]
        {
            assert_eq!(words(seconds(time)), expected);
        }
    }
}
