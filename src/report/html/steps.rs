//! Steps and their outages.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use maud::{Markup, html};

use super::Content;
use super::figure::figure;
use super::table::{Look, ROWS_MAX, more, table};
use crate::analyze::findings::{Findings, StepFinding};
use crate::report::text::steps::{self, is_of_interest};

/// A row of a step can be pointed at.
const STEPS: Look = Look {
    id: Some("table-steps"),
    row_id: |row| (!row[0].is_empty()).then(|| format!("step-{}", row[0])),
    row_class: |row| row.last().filter(|outcome| !outcome.is_empty() && *outcome != "done").map(|_| "bad"),
};

/// The section.
pub(super) fn section(content: Content<'_>) -> Markup {
    let findings = content.findings;
    let shown = shown(findings);
    let all = findings.steps.iter().filter(|step| is_of_interest(step)).count();
    let [outside, warm_up] = steps::outside(findings);
    html! {
        (table(&steps::steps(findings, |step| shown.contains(&step.step)), STEPS))
        (more(all - shown.len(), "steps, those with the shortest outages,"))
        @if !content.series.outages.steps.is_empty() {
            (figure("outages", "Outages by producer and partition, for each step", "recovery.csv"))
        }
        (table(&outside, Look::plain("table-stalls-outside")))
        (table(&warm_up, Look::plain("table-stalls-warm-up")))
    }
}

/// Steps that have a row: those that went wrong, then those with the longest outages.
fn shown(findings: &Findings) -> BTreeSet<u32> {
    let mut order: Vec<&StepFinding> = findings.steps.iter().filter(|step| is_of_interest(step)).collect();
    order.sort_by_key(|step| Reverse((step.outcome.as_deref() != Some("done"), longest_ms(step))));
    let mut room = ROWS_MAX;
    let fits = |step: &&StepFinding| {
        let rows = step.outages.len().max(1);
        let fits = rows <= room;
        room = room.saturating_sub(rows);
        fits
    };
    order.into_iter().take_while(fits).map(|step| step.step).collect()
}

/// A step's name, which leads to its row if it has one.
pub(super) fn link(findings: &Findings, step: u32, name: &Markup) -> Markup {
    html! {
        @if shown(findings).contains(&step) { a href={ "#step-" (step) } { (name) } } @else { (name) }
    }
}

/// The longest outage of any group; 0 without any.
pub(super) fn longest_ms(step: &StepFinding) -> i64 {
    step.outages.iter().filter_map(|outage| outage.outage_ms).map(|spread| spread.max).max().unwrap_or(0)
}
