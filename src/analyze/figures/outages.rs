//! Outages. At a step, those that belong to it; in other windows, those of no step that began then.

use std::collections::BTreeSet;

use super::cut::{Cut, float};
use super::{Selection, Unknown};
use crate::analyze::outage::{Hit, Pair};
use crate::analyze::spread::Spread;
use crate::plan::model::Point;
use crate::record::files::millis;

/// The outages of a cut.
#[derive(Debug)]
pub(super) struct Outages {
    /// Over each outage and step that it belongs to; `None` without any.
    spread: Option<Spread>,
    /// Pairs with an outage.
    pub(super) stalled: u64,
    /// Pairs without any ok after one.
    pub(super) hanging: u64,
}

impl Cut<'_> {
    /// 0 without any outage.
    pub(super) fn outage(&self, point: Point) -> Result<f64, Unknown> {
        Ok(self.outages()?.spread.map_or(0.0, |spread| float(at(spread, point))))
    }

    pub(super) fn outages(&self) -> Result<&Outages, Unknown> {
        let selection = self.selection()?;
        Ok(self.outages.get_or_init(|| self.gather(selection)))
    }

    fn gather(&self, selection: &Selection) -> Outages {
        let all = &self.measured.analysis.stretches;
        let step_of = |hit: &Hit| hit.window.map(|at| self.measured.windows[at].step);
        let first_due_us = |hit: &Hit| all.stretches[hit.stretch].first_due_us;
        // An outage that began with a step that does not count is not counted at the step after it either.
        let left_out: BTreeSet<usize> = (self.measured.hits.iter())
            .filter(|hit| !hit.began_before && selection.leaves_out(step_of(hit), first_due_us(hit)))
            .map(|hit| hit.stretch)
            .collect();
        let is_of_group = |hit: &Hit| self.group.is_none_or(|name| all.groups.name(all.stretches[hit.stretch].pair.group) == name);
        let hits: Vec<&Hit> = (self.measured.hits.iter())
            .filter(|hit| selection.holds_outage(step_of(hit), first_due_us(hit)) && !left_out.contains(&hit.stretch) && is_of_group(hit))
            .collect();
        let pairs = |hits: &mut dyn Iterator<Item = &&Hit>| {
            let pairs: BTreeSet<Pair> = hits.map(|hit| all.stretches[hit.stretch].pair).collect();
            pairs.len() as u64
        };
        Outages {
            spread: Spread::of(hits.iter().map(|hit| millis(hit.outage_us))),
            stalled: pairs(&mut hits.iter()),
            hanging: pairs(&mut hits.iter().filter(|hit| all.stretches[hit.stretch].first_ok_us.is_none())),
        }
    }
}

/// A point of a spread.
pub(super) fn at(spread: Spread, point: Point) -> i64 {
    match point {
        Point::Median => spread.median,
        Point::P99 => spread.p99,
        Point::Max => spread.max,
    }
}
