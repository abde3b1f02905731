//! When something happened, as well as it is known, and what follows from the order in which layers depend on each other.
//!
//! A sighting is an interval: the state was old at `not_before_us`, and new at `time_us`. Stages of one change form a graph; none can have
//! happened before what it depends on. So:
//!
//! 1. If a stage was seen before one that it depends on, the latter was seen late: its end is pulled in to that of its successor.
//! 2. No stage begins before what it depends on may have begun.
//! 3. Where looks contradict each other all the same (an old answer that was under way for long), the earlier end counts, and the beginning
//!    gives way to it.
//!
//! Then every end lies at or after the ends, and after the beginnings, of all that it depends on.

/// When something was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sight {
    /// The last look that saw the old state; `None`: there was none.
    pub(crate) not_before_us: Option<i64>,
    /// The first look that saw the new one.
    pub(crate) time_us: i64,
}

impl Sight {
    /// An event whose time is known.
    pub(crate) fn exact(time_us: i64) -> Self {
        Self { not_before_us: Some(time_us), time_us }
    }

    /// The earliest time that is possible, as far as anybody looked.
    pub(crate) fn earliest_us(self) -> i64 {
        self.not_before_us.map_or(self.time_us, |not_before_us| not_before_us.min(self.time_us))
    }
}

/// A stage as it was seen, with those that it depends on by their position; they come before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    pub(crate) sight: Option<Sight>,
    pub(crate) after: Vec<usize>,
}

/// A stage in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) not_before_us: Option<i64>,
    /// `None`: it was not seen.
    pub(crate) time_us: Option<i64>,
    /// It cannot have happened later, since something that depends on it was seen then. Also known of stages that were not seen themselves.
    pub(crate) no_later_us: Option<i64>,
    /// Its own sighting came later than that of something that depends on it.
    pub(crate) is_pulled_in: bool,
}

/// Tightens all intervals by the rule above.
pub(crate) fn place(stages: &[Observed]) -> Vec<Placed> {
    let mut ends: Vec<Option<i64>> = stages.iter().map(|stage| stage.sight.map(|sight| sight.time_us)).collect();
    for (at, stage) in stages.iter().enumerate().rev() {
        let Some(end) = ends[at] else { continue };
        for before in stage.after.iter().filter(|before| **before < at) {
            ends[*before] = Some(ends[*before].map_or(end, |known| known.min(end)));
        }
    }
    let mut begins: Vec<Option<i64>> = Vec::with_capacity(stages.len());
    for (at, stage) in stages.iter().enumerate() {
        let own = stage.sight.and_then(|sight| sight.not_before_us);
        let latest = stage.after.iter().filter_map(|before| *begins.get(*before)?).chain(own).max();
        begins.push(latest.map(|begin| ends[at].map_or(begin, |end| begin.min(end))));
    }
    let placed = |(at, stage): (usize, &Observed)| Placed {
        not_before_us: begins[at],
        time_us: stage.sight.and(ends[at]),
        no_later_us: ends[at],
        is_pulled_in: stage.sight.is_some_and(|sight| ends[at].is_some_and(|end| end < sight.time_us)),
    };
    stages.iter().enumerate().map(placed).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stage(sight: Option<(i64, i64)>, after: &[usize]) -> Observed {
        let sight = sight.map(|(not_before, time_us)| Sight { not_before_us: (not_before >= 0).then_some(not_before), time_us });
        Observed { sight, after: after.to_vec() }
    }

    /// An interval and whether it was pulled in; -1: unknown.
    type Shown = (i64, i64, bool);

    fn placed(stages: &[Observed]) -> Vec<Shown> {
        place(stages).iter().map(|p| (p.not_before_us.unwrap_or(-1), p.time_us.unwrap_or(-1), p.is_pulled_in)).collect()
    }

    #[test]
    fn intervals_are_tightened_along_the_graph() {
        let table: [(&str, Vec<Observed>, &[Shown]); 6] = [
            (
                "in order: beginnings move up to those before",
                vec![stage(Some((10, 20)), &[]), stage(Some((5, 30)), &[0])],
                &[(10, 20, false), (10, 30, false)],
            ),
            (
                "a predecessor that was seen later was seen late",
                vec![stage(Some((10, 50)), &[]), stage(Some((5, 30)), &[0])],
                &[(10, 30, true), (10, 30, false)],
            ),
            (
                "looks that contradict each other: the earlier end counts",
                vec![stage(Some((40, 50)), &[]), stage(Some((5, 30)), &[0])],
                &[(30, 30, true), (30, 30, false)],
            ),
            (
                "the rule holds through a stage that nobody saw",
                vec![stage(Some((10, 50)), &[]), stage(None, &[0]), stage(Some((-1, 30)), &[1])],
                &[(10, 30, true), (10, -1, false), (10, 30, false)],
            ),
            (
                "branches: fetched by a majority before it is committed",
                vec![stage(Some((10, 11)), &[]), stage(Some((15, 25)), &[0]), stage(Some((12, 18)), &[0]), stage(Some((20, 30)), &[1, 2])],
                &[(10, 11, false), (15, 25, false), (12, 18, false), (20, 30, false)],
            ),
            ("nothing was seen", vec![stage(None, &[]), stage(None, &[0])], &[(-1, -1, false), (-1, -1, false)]),
        ];
        for (name, stages, expected) in table {
            assert_eq!(placed(&stages), expected, "{name}");
        }
    }

    #[test]
    fn what_was_not_seen_has_a_bound_but_no_time() {
        let stages = [stage(None, &[]), stage(Some((7, 9)), &[0])];
        assert_eq!(place(&stages)[0], Placed { not_before_us: None, time_us: None, no_later_us: Some(9), is_pulled_in: false });
    }

    fn any_stage(at: usize) -> impl Strategy<Value = Observed> {
        let sight = prop::option::of((prop::option::of(0_i64..100), 0_i64..100));
        (sight, prop::collection::vec(0..at.max(1), 0..3)).prop_map(move |(sight, after)| Observed {
            sight: sight.map(|(not_before_us, time_us)| Sight { not_before_us, time_us }),
            after: if at == 0 { Vec::new() } else { after },
        })
    }

    fn any_stages() -> impl Strategy<Value = Vec<Observed>> {
        (1_usize..9).prop_flat_map(|count| (0..count).map(any_stage).collect::<Vec<_>>())
    }

    proptest! {
        /// Whatever was seen: no stage ends before one that it depends on begins or ends, and no interval is empty.
        #[test]
        fn no_stage_comes_before_what_it_depends_on(stages in any_stages()) {
            let placed = place(&stages);
            for (stage, own) in stages.iter().zip(&placed) {
                prop_assert_eq!(own.time_us.is_some(), stage.sight.is_some());
                prop_assert!(own.time_us.zip(stage.sight).is_none_or(|(time, sight)| time <= sight.time_us));
                prop_assert!(own.not_before_us.zip(own.time_us).is_none_or(|(begin, end)| begin <= end));
                for before in &stage.after {
                    let before = &placed[*before];
                    prop_assert!(before.time_us.zip(own.time_us).is_none_or(|(before, end)| before <= end));
                    prop_assert!(before.not_before_us.zip(own.time_us).is_none_or(|(begin, end)| begin <= end));
                }
            }
        }
    }
}
