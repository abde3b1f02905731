//! The cells: how many runs each has and what became of them; and each as a point on the curve of cost and benefit.

use maud::{Markup, html};

use super::CELLS_MAX;
use crate::analyze::compare::findings::{CellFinding, ComparisonFindings};
use crate::analyze::compare::model::Unit;
use crate::analyze::compare::values::value;
use crate::report::compare::json::{Value, curve as points};
use crate::report::compare::text::used;
use crate::report::html::figure::figure;
use crate::report::html::table::{Look, more, table};
use crate::report::text::table::{Table, Titled};

/// Runs that are left out and named, of one cell.
const LEFT_OUT_NAMED_MAX: usize = 5;

/// A row per cell.
pub(super) fn section(findings: &ComparisonFindings) -> Markup {
    let mut rows = Table::new(&["<cell", "<settings", "runs used", "<verdicts", "<left out"]);
    for cell in findings.cells.iter().take(CELLS_MAX) {
        rows.row([cell.name.clone(), settings(cell), used(cell), verdicts(cell), left_out(cell)]);
    }
    html! {
        (table(&Titled::new("What varies, and the runs of each cell; the first cell is the baseline", rows), Look::plain("table-cells")))
        (more_cells(findings))
    }
}

/// A remark on cells that the page does not show.
pub(super) fn more_cells(findings: &ComparisonFindings) -> Markup {
    more(findings.cells.len().saturating_sub(CELLS_MAX), "cells")
}

fn settings(cell: &CellFinding) -> String {
    cell.settings.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ")
}

fn verdicts(cell: &CellFinding) -> String {
    cell.verdicts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect::<Vec<_>>().join(", ")
}

fn left_out(cell: &CellFinding) -> String {
    let named = cell.left_out.iter().take(LEFT_OUT_NAMED_MAX).map(|run| format!("{} {}", run.name, run.why));
    let more = cell.left_out.len().saturating_sub(LEFT_OUT_NAMED_MAX);
    named.chain((more > 0).then(|| format!("{more} more"))).collect::<Vec<_>>().join(", ")
}

/// What a cell costs against what it brings; nothing if no cell has both.
pub(super) fn curve(findings: &ComparisonFindings) -> Markup {
    let points = points(findings);
    let has_place = points.iter().any(|point| {
        let costs = [&point.metadata_requests_per_second_per_1000_clients, &point.broker_cpu_percent];
        costs.iter().any(|cost| cost.is_some()) && (point.seen_ms.is_some() || point.outage_ms.is_some())
    });
    let mut rows = Table::new(&["<cell", "requests per 1,000 clients", "CPU of a broker", "until a change is seen", "longest outage"]);
    for point in points.iter().take(CELLS_MAX) {
        rows.row([
            point.cell.to_owned(),
            with_ends(Unit::PerSecond, point.metadata_requests_per_second_per_1000_clients.as_ref()),
            with_ends(Unit::Percent, point.broker_cpu_percent.as_ref()),
            with_ends(Unit::Ms, point.seen_ms.as_ref()),
            with_ends(Unit::Ms, point.outage_ms.as_ref()),
        ]);
    }
    html! {
        @if has_place {
            p class="note" {
                "Each point is a cell. Further left costs less, further down is faster: a setting is worth its cost only as far as the curve "
                "falls. Whiskers, and brackets in the table, say where the middle lies with 99 % confidence; where they overlap, the "
                a href="#figures" { "figures" } " say whether a difference is shown."
            }
            (figure("curve", "Metadata requests against time: what being told of a change costs, and how long it takes", "compare.json"))
            (table(&Titled::new("The points: medians over runs", rows), Look::plain("table-curve")))
            (more_cells(findings))
        }
    }
}

fn with_ends(unit: Unit, of: Option<&Value>) -> String {
    let Some(Value { median, low, high }) = of else { return "unknown".to_owned() };
    let ends = low.zip(*high).map_or_else(String::new, |(low, high)| format!(" [{}, {}]", value(unit, low), value(unit, high)));
    format!("{}{ends}", value(unit, *median))
}
