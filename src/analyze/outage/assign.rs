//! Which stretch is an outage, and which steps it belongs to.

use super::{Stretch, Stretches};
use crate::analyze::window::StepWindow;

/// A record that was due so long before a step may be the first that the step cut off; the group's usual response time
/// (at most half a second of it) comes on top.
const SLACK_US: i64 = 50_000;

/// What outages of a group are measured by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupBasis {
    /// p99 of the response time in the baseline; 0 without a baseline.
    pub(crate) p99_us: i64,
    /// End of the last second in which a record was due.
    pub(crate) due_until_us: i64,
}

impl GroupBasis {
    /// A stretch must be longer than this.
    pub(crate) fn threshold_us(self) -> i64 {
        self.p99_us + super::ABOVE_BASELINE_US
    }

    fn slack_us(self) -> i64 {
        self.p99_us.min(super::ABOVE_BASELINE_US) + SLACK_US
    }
}

/// An outage, and one step that it belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    /// Index into the windows; `None`: it belongs to no step.
    pub(crate) window: Option<usize>,
    /// Index into the stretches.
    pub(crate) stretch: usize,
    /// Its length; until the end of the run if it did not end.
    pub(crate) outage_us: i64,
    /// Whether it began before the step.
    pub(crate) began_before: bool,
}

/// All outages with the steps that they belong to; one hit per outage and step.
pub(crate) fn assign(all: &Stretches, windows: &[StepWindow], basis: &[GroupBasis], end_us: i64) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (index, stretch) in all.stretches.iter().enumerate() {
        let basis = basis[stretch.pair.group];
        let outage_us = stretch.first_ok_us.unwrap_or(end_us) - stretch.first_due_us;
        if outage_us <= basis.threshold_us() {
            continue;
        }
        let before = hits.len();
        hits.extend(windows.iter().enumerate().filter(|(_, window)| belongs(stretch, window, basis)).map(|(at, window)| Hit {
            window: Some(at),
            stretch: index,
            outage_us,
            began_before: stretch.first_due_us < window.requested_us - basis.slack_us(),
        }));
        if hits.len() == before && !is_start_up(stretch) {
            hits.push(Hit { window: None, stretch: index, outage_us, began_before: false });
        }
    }
    hits
}

/// Whether a stretch overlaps a step's window. One that begins just before the window's end is the next step's: it began with a record
/// that the next step cut off.
fn belongs(stretch: &Stretch, window: &StepWindow, basis: GroupBasis) -> bool {
    let length_us = window.until_us.saturating_sub(window.requested_us);
    let until_us = window.until_us.saturating_sub(basis.slack_us().min(length_us / 2));
    stretch.first_due_us < until_us && stretch.first_ok_us.is_none_or(|ok_us| ok_us > window.requested_us)
}

/// The way to a producer's first ack in the warm-up has figures of its own.
fn is_start_up(stretch: &Stretch) -> bool {
    stretch.last_ok_us.is_none() && stretch.first_ok_us.is_some() && stretch.first_due_us < 0
}
