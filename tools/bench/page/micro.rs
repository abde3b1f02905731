//! Criterion's benchmarks.

use std::path::Path;

use crate::micro::{FILE, Row};
use crate::page::{Section, rows, table, three_digits};

/// The section.
pub(super) fn section(folder: &Path) -> anyhow::Result<Section> {
    let mut text = String::from("## Parts of the hot path, on one thread\n\n");
    match rows::<Row>(folder, FILE)? {
        None => text.push_str("Not measured.\n\n"),
        Some(rows) => text.push_str(&table(&["benchmark", "median", "95 % confidence", "by"], &rows.iter().map(cells).collect::<Vec<_>>())),
    }
    Ok(Section { text, bars: Vec::new() })
}

fn cells(row: &Row) -> Vec<String> {
    let units = row.units.unwrap_or(1).max(1) as f64;
    let each = |ns: f64| time(ns / units);
    let by = match row.unit.as_deref() {
        None => "iteration",
        Some("elements") => "record",
        Some("bytes") => "byte",
        Some(other) => other,
    };
    vec![row.benchmark.clone(), each(row.median_ns), format!("{} to {}", each(row.low_ns), each(row.high_ns)), by.to_owned()]
}

/// A time in the unit that suits it.
pub(super) fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns => (ns / 1e6, "ms"),
    };
    format!("{} {unit}", three_digits(value))
}
