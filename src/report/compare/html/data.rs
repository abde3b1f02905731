//! What the page's script draws, as one JSON object.

use serde::Serialize;

use super::CELLS_MAX;
use crate::analyze::compare::findings::ComparisonFindings;
use crate::report::compare::json::{Point, curve};
use crate::report::html::frame::inert;

/// Curves of percentiles that are drawn; each is one cell's, of one group in one window.
const CURVES_MAX: usize = 2_000;

/// Windows whose percentiles are drawn, as on the page of a run.
const WINDOWS: [&str; 2] = ["baseline", "after"];

#[derive(Debug, Serialize)]
struct Data<'a> {
    cells: Vec<&'a str>,
    curve: Vec<Point<'a>>,
    latencies: Vec<Latency<'a>>,
    latencies_left_out: usize,
}

/// Latency of a cell by percentile.
#[derive(Debug, Serialize)]
pub(super) struct Latency<'a> {
    /// The cell's index.
    cell: usize,
    /// `None`: all groups.
    group: Option<&'a str>,
    window: &'a str,
    /// Percentile, then the median, the least and the greatest over runs, in milliseconds.
    points: &'a [[f64; 4]],
}

/// The data as text that may stand within a `script` element.
pub(super) fn json(findings: &ComparisonFindings) -> Result<String, serde_json::Error> {
    let mut points = curve(findings);
    points.truncate(CELLS_MAX);
    let data = Data {
        cells: findings.cells.iter().take(CELLS_MAX).map(|cell| cell.name.as_str()).collect(),
        curve: points,
        latencies: latencies(findings).take(CURVES_MAX).collect(),
        latencies_left_out: latencies(findings).count().saturating_sub(CURVES_MAX),
    };
    Ok(inert(&serde_json::to_string(&data)?))
}

/// All curves of percentiles of the cells that are shown.
pub(super) fn latencies(findings: &ComparisonFindings) -> impl Iterator<Item = Latency<'_>> {
    let of_cells = findings.cells.iter().take(CELLS_MAX).enumerate();
    let all = of_cells.flat_map(|(cell, finding)| finding.latencies.iter().map(move |latency| (cell, latency)));
    all.filter(|(_, latency)| WINDOWS.contains(&latency.name.window.as_str()) && !latency.points.is_empty()).map(|(cell, latency)| {
        Latency { cell, group: latency.name.group.as_deref(), window: &latency.name.window, points: &latency.points }
    })
}
