//! `compare.json`: everything that was found, and the curve of what a setting costs against what it brings.
//!
//! Names of fields are an interface: `docs/compare.md` lists them.

use serde::Serialize;

use crate::analyze::compare::findings::{CellFigure, ComparisonFindings};

/// The file's content.
#[derive(Debug, Serialize)]
struct CompareFile<'a> {
    #[serde(flatten)]
    findings: &'a ComparisonFindings,
    /// One point per cell.
    curve: Vec<Point<'a>>,
}

/// One cell on the curve.
#[derive(Debug, Serialize)]
pub(super) struct Point<'a> {
    pub(super) cell: &'a str,
    settings: &'a [(String, String)],
    /// Until the last producer's cache showed a change.
    pub(super) seen_ms: Option<Value>,
    /// The longest outage.
    pub(super) outage_ms: Option<Value>,
    /// In the baseline.
    pub(super) metadata_requests_per_second_per_1000_clients: Option<Value>,
    /// Mean over brokers in the baseline, of one core.
    pub(super) broker_cpu_percent: Option<Value>,
}

/// Over the cell's runs.
#[derive(Debug, Serialize)]
pub(super) struct Value {
    pub(super) median: f64,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
}

/// The content of `compare.json`, ending with a new line.
///
/// # Errors
/// If the serializer refuses.
pub fn compare_json(findings: &ComparisonFindings) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(&CompareFile { findings, curve: curve(findings) })? + "\n")
}

/// What each cell costs, and what it brings.
pub(super) fn curve(findings: &ComparisonFindings) -> Vec<Point<'_>> {
    (0..findings.cells.len()).map(|cell| point(findings, cell)).collect()
}

fn point(findings: &ComparisonFindings, cell: usize) -> Point<'_> {
    let value = |metric: &str, window: &str| {
        let figure = findings
            .figures
            .iter()
            .find(|figure| figure.is_called(|name| name.metric == metric && name.window == window && name.group.is_none()))?;
        of_cell(&figure.cells[cell])
    };
    Point {
        cell: &findings.cells[cell].name,
        settings: &findings.cells[cell].settings,
        seen_ms: value(seen_by(findings), "steps"),
        outage_ms: value("outage.max", "steps"),
        metadata_requests_per_second_per_1000_clients: value("metadata-requests.per-second-per-1000-clients", "baseline"),
        broker_cpu_percent: value("broker.cpu-percent", "baseline"),
    }
}

/// Which figure says when a change was seen: one for all cells, since two are no curve. Where topics grew, their growth is the change.
fn seen_by(findings: &ComparisonFindings) -> &'static str {
    let is_known = |metric: &str| {
        let figures = findings.figures.iter().filter(|figure| figure.is_called(|name| name.metric == metric && name.window == "steps"));
        figures.flat_map(|figure| &figure.cells).any(|cell| cell.median.is_some())
    };
    ["growth.cached.max", "layer.client-cache.max"].into_iter().find(|metric| is_known(metric)).unwrap_or("growth.cached.max")
}

fn of_cell(figure: &CellFigure) -> Option<Value> {
    let [low, high] = [figure.interval.map(|interval| interval.low), figure.interval.map(|interval| interval.high)];
    Some(Value { median: figure.median?, low, high })
}
