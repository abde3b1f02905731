//! Whether a group's `ramp` is over when the baseline begins, and before the run ends.

use std::time::Duration;

use crate::plan::model::{Plan, ProducerGroup};
use crate::plan::problem::{Collector, Problem};
use crate::plan::raw::Fields;
use crate::plan::timeline::Timeline;
use crate::plan::units::show_duration;

/// Warns of ramps that last too long. `sections` are those of the plan's producers.
pub(super) fn check(plan: &Plan, sections: &[Fields<'_>], problems: &Collector) {
    let steady_at = plan.phases.warmup;
    let end_at = Timeline::of(plan).end_at.expected;
    for (group, fields) in plan.producers.iter().zip(sections) {
        let last_at = start_of_last(group);
        let warning = |message: String| Problem::warning(fields.span_of("ramp"), message);
        if group.ramp.is_zero() || group.active.until.is_some_and(|until| last_at >= until) {
            // Said already where it is an error.
        } else if last_at >= end_at {
            let message =
                format!("the run is over after some {}, before the last producer of `{}` starts", show_duration(end_at), group.name);
            problems.push(warning(message).hint("shorten `ramp`, or let the phases last longer"));
        } else if group.active.from < steady_at && last_at > steady_at {
            let message = format!("producers of `{}` still start in the baseline: it is that of a part of the group", group.name);
            problems.push(warning(message).hint("let `warmup` last longer than `ramp`"));
        }
    }
}

/// From the start of the load.
fn start_of_last(group: &ProducerGroup) -> Duration {
    group.active.from + group.ramp.mul_f64(f64::from(group.count.saturating_sub(1)) / f64::from(group.count.max(1)))
}
