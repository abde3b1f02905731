//! Pages and tables of small made-up comparisons, to the letter.

use std::collections::BTreeMap;

use super::{csv, json, text};
use crate::analyze::compare::findings::{ComparisonFindings, Drift};
use crate::analyze::compare::model::{CellRuns, FigureName, RunFigure, RunFigures, Unit};
use crate::analyze::compare::{Options, compare};
use crate::analyze::findings::Verdict;

fn figure(metric: &str, window: &str, unit: Unit, value: Option<f64>) -> RunFigure {
    let name = FigureName { metric: metric.to_owned(), group: None, window: window.to_owned() };
    RunFigure { is_main: name.is_main(), name, unit, value, about: String::new() }
}

/// A run by its outage and its requests.
fn run(order: u32, outage_ms: f64, requests: Option<f64>) -> RunFigures {
    RunFigures {
        name: format!("{order:03}"),
        order,
        started_at: format!("2026-01-01T00:{order:02}:00Z"),
        plan_sha256: "aa".to_owned(),
        common_plan_sha256: Some("cc".to_owned()),
        versions: BTreeMap::new(),
        machine: BTreeMap::new(),
        verdict: Verdict::Pass,
        unconfirmed: None,
        figures: vec![
            figure("outage.max", "steps", Unit::Ms, Some(outage_ms)),
            figure("metadata-requests.per-second-per-1000-clients", "baseline", Unit::PerSecond, requests),
            figure("latency.max", "baseline", Unit::Ms, Some(40.0 + outage_ms / 1e6)),
        ],
        series: Vec::new(),
        latencies: Vec::new(),
    }
}

/// Two cells, `runs` each: outages alike, requests a hundredfold apart, and in the second cell unknown once.
fn cells(runs: u32) -> Vec<CellRuns> {
    let outages = [9_000.0, 12_980.0, 9_040.0, 13_020.0, 9_010.0, 12_990.0, 9_020.0, 13_010.0];
    let of_cell = |name: &str, first: u32, requests: f64| {
        let at = |place: u32| {
            let known = (first == 1 || place != 1).then_some(requests + f64::from(place % 3) / 10.0);
            run(first + 2 * place, outages[(place + first) as usize % outages.len()], known)
        };
        let settings = vec![("metadata.max.age.ms".to_owned(), name.to_owned())];
        CellRuns { name: name.to_owned(), settings, is_control: false, runs: (0..runs).map(at).collect() }
    };
    vec![of_cell("5s", 1, 200.0), of_cell("600s", 2, 2.0)]
}

pub(super) fn found(runs: u32) -> ComparisonFindings {
    compare(&cells(runs), Options::default())
}

#[test]
fn the_page_tells_what_differs_and_what_does_not() {
    let page = text::render(&found(8), false);
    assert_eq!(page, include_str!("sample.txt"));
}

#[test]
fn the_page_of_few_runs_says_so() {
    let page = text::render(&found(3), false);
    assert!(page.contains("no, no overlap  5 runs"), "{page}");
    assert!(page.contains("of the mean, by Student's t"), "{page}");
}

#[test]
fn the_page_keeps_its_width_with_many_cells() {
    let mut many = cells(6);
    for copy in 0..6 {
        let mut cell = many[1].clone();
        cell.name = format!("max-age={copy}00s");
        many.push(cell);
    }
    let page = text::render(&compare(&many, Options::default()), false);
    let widest = page.lines().map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|widest| widest <= 140), "{widest:?}\n{page}");
    assert!((0..6).all(|copy| page.contains(&format!("max-age={copy}00s"))), "{page}");
}

#[test]
fn colour_is_only_where_it_is_allowed() {
    let found = found(8);
    assert!(!text::render(&found, false).contains('\u{1b}') && text::render(&found, true).contains('\u{1b}'));
}

#[test]
fn tables_have_a_row_per_figure_and_cell() {
    let found = found(8);
    let table = csv::compare_csv(&found).unwrap();
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows.len(), 1 + 3 * 2);
    let header = "metric,group,window,unit,main,cell,metadata.max.age.ms,runs,unknown,median,mean,standard_deviation,min,max,low,high,interval_of,also,trend,drift";
    assert_eq!(rows[0], header);
    assert_eq!(rows[1], "outage.max,,steps,ms,true,5s,5s,8,0,11010,11008.75,2128.799,9000,13020,9000,13020,median,,-1335.833,");
    assert!(rows[4].starts_with("metadata-requests.per-second-per-1000-clients,,baseline,per second,true,600s,600s,7,1,2"), "{}", rows[4]);
    let table = csv::differences_csv(&found).unwrap();
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows.len(), 1 + 3);
    assert!(rows[1].contains(",no-difference-shown,") && rows[2].ends_with(",difference,,,,,"), "{table}");
}

#[test]
fn a_figure_with_other_names_stands_once_and_tells_them() {
    let mut cells = cells(8);
    for run in cells.iter_mut().flat_map(|cell| &mut cell.runs) {
        let mut again = run.figures[0].clone();
        again.name.window = "kill".to_owned();
        run.figures.push(again);
    }
    let found = compare(&cells, Options::default());
    let page = text::render(&found, false);
    assert!(page.contains("outage.max (steps) is in all runs the same as outage.max (kill)"), "{page}");
    assert_eq!(csv::compare_csv(&found).unwrap().lines().count(), 1 + 3 * 2);
    assert!(csv::differences_csv(&found).unwrap().lines().nth(1).unwrap().ends_with(",outage.max (kill),"));
    assert!(csv::runs_csv(&cells).unwrap().lines().next().unwrap().ends_with(",outage.max (kill)"), "every run has all its figures");
    let file: serde_json::Value = serde_json::from_str(&json::compare_json(&found).unwrap()).unwrap();
    assert_eq!((&file["figures"][0]["also"][0]["window"], &file["curve"][0]["outage_ms"]["median"]), (&"kill".into(), &11_010.0.into()));
}

#[test]
fn drift_is_a_column_of_every_table() {
    let mut found = found(8);
    assert!(!text::render(&found, false).contains("  drift"));
    found.figures[0].drift = vec![Drift::Trend { change: 300.0 }, Drift::TrendOfCell { cell: "600s".to_owned(), change: 1.0 }];
    assert!(text::render(&found, false).contains("  drift\n") && text::render(&found, false).contains("trend, trend-of-cell\n"));
    let (cells, differences) = (csv::compare_csv(&found).unwrap(), csv::differences_csv(&found).unwrap());
    let rows: Vec<&str> = cells.lines().collect();
    assert!(rows[1].ends_with(",trend") && rows[2].ends_with(",\"trend, trend-of-cell\"") && rows[3].ends_with(','), "{cells}");
    assert!(differences.lines().nth(1).unwrap().ends_with(",\"trend, trend-of-cell\""), "{differences}");
    let file: serde_json::Value = serde_json::from_str(&json::compare_json(&found).unwrap()).unwrap();
    assert_eq!(file["figures"][0]["drift"][0]["by"], "trend");
    assert!(file["figures"][0]["cells"][0]["trend"].is_number());
}

#[test]
fn runs_have_a_column_per_figure_and_empty_cells_where_it_is_unknown() {
    let table = csv::runs_csv(&cells(3)).unwrap();
    let rows: Vec<&str> = table.lines().collect();
    let header = "order,run,cell,control,metadata.max.age.ms,started_at,verdict,unconfirmed,plan_sha256,outage.max (steps),\
metadata-requests.per-second-per-1000-clients (baseline),latency.max (baseline)";
    assert_eq!(rows[0], header);
    assert_eq!(rows[1], "1,001,5s,false,5s,2026-01-01T00:01:00Z,PASS,,aa,12980,200,40.01298");
    assert_eq!(rows[4], "4,004,600s,false,600s,2026-01-01T00:04:00Z,PASS,,aa,13020,,40.01302");
    assert_eq!(rows.len(), 7);
}

#[test]
fn the_file_for_programs_holds_all_and_the_curve() {
    let file: serde_json::Value = serde_json::from_str(&json::compare_json(&found(8)).unwrap()).unwrap();
    assert_eq!(file["basis"], "runs");
    assert_eq!(file["figures"][1]["differences"][0]["judgement"]["is"], "difference");
    assert_eq!(file["runs"].as_array().unwrap().len(), 16);
    let point = &file["curve"][1];
    assert_eq!((&point["cell"], &point["settings"][0][1]), (&"600s".into(), &"600s".into()));
    assert_eq!(point["outage_ms"]["median"], 11_010.0);
    assert!(point["seen_ms"].is_null() && point["metadata_requests_per_second_per_1000_clients"]["low"].is_number(), "{point}");
}

#[test]
fn the_same_findings_give_the_same_bytes() {
    let files = || {
        let found = found(8);
        [
            text::render(&found, true),
            csv::compare_csv(&found).unwrap(),
            csv::differences_csv(&found).unwrap(),
            json::compare_json(&found).unwrap(),
        ]
    };
    assert_eq!(files(), files());
}

#[test]
fn nothing_to_compare_gives_a_short_page_and_headers() {
    let found = compare(&[], Options::default());
    assert_eq!(text::render(&found, false), "0 cells, 0 runs\n");
    assert_eq!([csv::compare_csv(&found).unwrap().lines().count(), csv::runs_csv(&[]).unwrap().lines().count()], [1, 1]);
}
