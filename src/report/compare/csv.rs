//! `compare.csv`, `differences.csv` and `runs.csv`: one row per figure and cell, per figure and difference, per run.
//!
//! Columns are an interface: `docs/compare.md` lists them. An empty cell: unknown, or it does not apply.

use std::collections::{BTreeMap, BTreeSet};

use csv::{Result, Writer};
use serde::Serialize;

use crate::analyze::compare::findings::{CellFinding, ComparisonFindings, FigureFinding, Interval, Judgement};
use crate::analyze::compare::model::{CellRuns, FigureName};
use crate::analyze::compare::words::drift_tags;

/// `compare.csv`: what each cell's runs have.
///
/// # Errors
/// If the writer refuses.
pub fn compare_csv(findings: &ComparisonFindings) -> Result<String> {
    let mut table = Writer::from_writer(Vec::new());
    let mut header = strings(["metric", "group", "window", "unit", "main", "cell"]);
    header.extend(keys(&findings.cells));
    header.extend(strings([
        "runs",
        "unknown",
        "median",
        "mean",
        "standard_deviation",
        "min",
        "max",
        "low",
        "high",
        "interval_of",
        "also",
        "trend",
        "drift",
    ]));
    table.write_record(header)?;
    for figure in &findings.figures {
        for (cell, of_cell) in findings.cells.iter().zip(&figure.cells) {
            let mut row = named(figure);
            row.push(cell.name.clone());
            row.extend(settings(findings, cell));
            row.extend([of_cell.runs.to_string(), of_cell.unknown.to_string()]);
            let numbers = [of_cell.median, of_cell.mean, of_cell.standard_deviation, of_cell.min, of_cell.max];
            row.extend(numbers.map(number));
            row.extend(ends(of_cell.interval));
            row.push(of_cell.interval.map_or_else(String::new, |interval| word(&interval.of)));
            row.extend([also(figure), number(of_cell.trend), drift_tags(figure, &[&cell.name])]);
            table.write_record(row)?;
        }
    }
    content(table)
}

/// `differences.csv`: each cell but the first against the first.
///
/// # Errors
/// If the writer refuses.
pub fn differences_csv(findings: &ComparisonFindings) -> Result<String> {
    let mut table = Writer::from_writer(Vec::new());
    let mut header = strings(["metric", "group", "window", "unit", "main", "baseline", "cell"]);
    header.extend(keys(&findings.cells));
    header.extend(strings(["basis", "difference", "low", "high", "p", "p_adjusted", "p_permutation", "judgement"]));
    header.extend(strings(["smallest_detectable", "runs_needed", "apart", "also", "drift"]));
    table.write_record(header)?;
    for figure in &findings.figures {
        for (cell, difference) in findings.cells.iter().skip(1).zip(&figure.differences) {
            let mut row = named(figure);
            row.extend([findings.cells[0].name.clone(), cell.name.clone()]);
            row.extend(settings(findings, cell));
            row.extend([word(&difference.basis), number(difference.difference)]);
            row.extend(ends(difference.interval));
            row.extend([difference.p, difference.p_adjusted, difference.p_permutation].map(number));
            row.extend(judged(difference.judgement));
            row.extend([also(figure), drift_tags(figure, &[&findings.cells[0].name, &cell.name])]);
            table.write_record(row)?;
        }
    }
    content(table)
}

/// `runs.csv`: every run with its settings and all its figures, those that are left out too.
///
/// # Errors
/// If the writer refuses.
pub fn runs_csv(cells: &[CellRuns]) -> Result<String> {
    let mut names: Vec<&FigureName> = Vec::new();
    let mut seen = BTreeSet::new();
    for figure in cells.iter().flat_map(|cell| &cell.runs).flat_map(|run| &run.figures) {
        if seen.insert(&figure.name) {
            names.push(&figure.name);
        }
    }
    let keys: Vec<&String> = cells.first().map_or_else(Vec::new, |cell| cell.settings.iter().map(|(key, _)| key).collect());
    let mut table = Writer::from_writer(Vec::new());
    let mut header = strings(["order", "run", "cell", "control"]);
    header.extend(keys.iter().map(|key| (*key).clone()));
    header.extend(strings(["started_at", "verdict", "unconfirmed", "plan_sha256"]));
    header.extend(names.iter().map(ToString::to_string));
    table.write_record(header)?;
    let mut runs: Vec<_> = cells.iter().flat_map(|cell| cell.runs.iter().map(move |run| (cell, run))).collect();
    runs.sort_by_key(|(_, run)| run.order);
    for (cell, run) in runs {
        let mut row = vec![run.order.to_string(), run.name.clone(), cell.name.clone(), cell.is_control.to_string()];
        row.extend(keys.iter().map(|key| setting(&cell.settings, key)));
        let unconfirmed = run.unconfirmed.clone().unwrap_or_default();
        row.extend([run.started_at.clone(), run.verdict.word().to_owned(), unconfirmed, run.plan_sha256.clone()]);
        let values: BTreeMap<&FigureName, Option<f64>> = run.figures.iter().map(|figure| (&figure.name, figure.value)).collect();
        row.extend(names.iter().map(|name| number(values.get(name).copied().flatten())));
        table.write_record(row)?;
    }
    content(table)
}

fn named(figure: &FigureFinding) -> Vec<String> {
    let FigureName { metric, group, window } = &figure.name;
    let group = group.clone().unwrap_or_default();
    vec![metric.clone(), group, window.clone(), figure.unit.name().to_owned(), figure.is_main.to_string()]
}

/// What else it is called, with `; ` between.
fn also(figure: &FigureFinding) -> String {
    figure.also.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The judgement's name, and what it tells besides.
fn judged(judgement: Judgement) -> [String; 4] {
    let (name, detectable, needed, apart) = match judgement {
        Judgement::Difference => ("difference", None, None, None),
        Judgement::NoDifferenceShown { smallest_detectable } => ("no-difference-shown", Some(smallest_detectable), None, None),
        Judgement::TooFewRuns { needed, is_apart } => ("too-few-runs", None, Some(needed), Some(is_apart)),
        Judgement::OneRunEach => ("one-run-each", None, None, None),
        Judgement::SameInEveryRun => ("same-in-every-run", None, None, None),
        Judgement::NotMeasured => ("not-measured", None, None, None),
        Judgement::KnownInFewRuns { .. } => ("known-in-few-runs", None, None, None),
    };
    let text = |value: Option<String>| value.unwrap_or_default();
    [name.to_owned(), number(detectable), text(needed.map(|needed| needed.to_string())), text(apart.map(|apart| apart.to_string()))]
}

/// Varied keys, as columns.
fn keys(cells: &[CellFinding]) -> Vec<String> {
    cells.first().map_or_else(Vec::new, |cell| cell.settings.iter().map(|(key, _)| key.clone()).collect())
}

fn settings(findings: &ComparisonFindings, cell: &CellFinding) -> Vec<String> {
    keys(&findings.cells).iter().map(|key| setting(&cell.settings, key)).collect()
}

fn setting(settings: &[(String, String)], key: &str) -> String {
    settings.iter().find(|(known, _)| known == key).map_or_else(String::new, |(_, value)| value.clone())
}

fn ends(interval: Option<Interval>) -> [String; 2] {
    [interval.map(|interval| interval.low), interval.map(|interval| interval.high)].map(number)
}

/// Seven digits: more than any figure is worth, and the same on every machine.
fn number(value: Option<f64>) -> String {
    let rounded = |value: f64| format!("{value:.6e}").parse::<f64>().unwrap_or(value);
    value.map_or_else(String::new, |value| rounded(value).to_string())
}

/// A value's name in JSON, which is that in tables.
fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn strings<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

fn content(table: Writer<Vec<u8>>) -> Result<String> {
    let bytes = table.into_inner().map_err(|refused| csv::Error::from(refused.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
