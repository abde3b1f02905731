//! What is said in which case: one rule, one test.

use super::noise::{cell, cells, name, run};
use super::*;
use crate::analyze::compare::findings::Drift;
use crate::analyze::compare::model::{RunFigure, RunFigures, RunSeries};
use crate::analyze::findings::Verdict;

/// Runs whose only figure has these values, at every other place from `first` on.
fn runs(first: u32, values: &[f64]) -> Vec<RunFigures> {
    let orders = (0..).map(|at| first + 2 * at);
    orders.zip(values).map(|(order, value)| run(order, vec![figure("outage.max", Some(*value))])).collect()
}

/// Runs with these values, one in each round of so many cells.
fn at_places(place: u32, cells: u32, values: &[f64]) -> Vec<RunFigures> {
    let orders = (0..).map(|round| 1 + place + cells * round);
    orders.zip(values).map(|(order, value)| run(order, vec![figure("outage.max", Some(*value))])).collect()
}

fn figure(metric: &str, value: Option<f64>) -> RunFigure {
    RunFigure { name: name(metric), unit: Unit::Ms, value, is_main: true, about: String::new() }
}

fn pair(first: &[f64], second: &[f64]) -> Vec<CellRuns> {
    vec![cell("5s", runs(1, first)), cell("600s", runs(2, second))]
}

fn judgement(findings: &ComparisonFindings) -> Judgement {
    findings.figures[0].differences[0].judgement
}

#[test]
fn a_difference_is_told_with_its_interval() {
    let low = [9_030.0, 9_010.0, 9_050.0, 9_040.0, 9_000.0, 9_020.0];
    let found = compare(&pair(&low.map(|value| value + 4_000.0), &low), Options::default());
    assert_eq!(judgement(&found), Judgement::Difference);
    let sentence = &found.summary[0];
    assert_eq!(sentence, "outage.max: 600s is lower than 5s by 4.00 s on average (3.97 s to 4.03 s), median 9.03 s against 13.0 s.");
    assert!(found.is_interleaved && found.warnings.is_empty(), "{:?}", found.warnings);
}

#[test]
fn where_none_is_shown_it_is_told_what_would_have_been() {
    let found = compare(&pair(&[12_300.0, 12_600.0, 12_500.0, 12_400.0, 12_700.0], &[12_500.0; 5]), Options::default());
    let Judgement::NoDifferenceShown { smallest_detectable } = judgement(&found) else { panic!("{found:?}") };
    assert!((500.0..700.0).contains(&smallest_detectable), "{smallest_detectable}");
    let sentence = &found.summary[0];
    let start = "outage.max: no difference shown between 600s and 5s: median 12.5 s against 12.5 s; a difference of ";
    assert!(sentence.starts_with(start) && sentence.ends_with(" would have been seen."), "{sentence}");
    assert_eq!(found.runs_suggested, Some(12));
    assert!(found.summary.iter().any(|sentence| sentence.ends_with("(--repeat 12).")), "{:?}", found.summary);
}

#[test]
fn few_runs_show_nothing_however_far_they_are_apart() {
    let found = compare(&pair(&[1.0; 4], &[9_000.0; 4]), Options::default());
    assert_eq!(judgement(&found), Judgement::TooFewRuns { needed: 5, is_apart: true });
    assert!(found.summary[0].contains("fewer than 5 runs") && found.summary[0].ends_with("too few runs to be sure, are: outage.max."));
    assert_eq!(found.tests, 0);
}

#[test]
fn one_value_everywhere_is_no_question() {
    let found = compare(&pair(&[0.0; 6], &[0.0; 6]), Options::default());
    assert_eq!((judgement(&found), found.tests), (Judgement::SameInEveryRun, 0));
    assert!(found.summary[0].starts_with("The same in every run"), "{:?}", found.summary);
}

#[test]
fn figures_of_windows_that_coincide_are_one_question() {
    let mut cells = pair(&[9_000.0, 9_100.0, 9_300.0, 9_050.0, 9_200.0], &[9_010.0, 9_150.0, 9_250.0, 9_060.0, 9_170.0]);
    let alone = compare(&cells, Options::default());
    for run in cells.iter_mut().flat_map(|cell| &mut cell.runs) {
        let mut again = run.figures[0].clone();
        again.name.window = "step 1".to_owned();
        run.figures.push(again);
    }
    let found = compare(&cells, Options::default());
    assert_eq!((found.tests, found.figures.len(), found.figures[0].also[0].window.as_str()), (1, 1, "step 1"));
    assert_eq!(found.figures[0].differences, alone.figures[0].differences, "a name more makes nothing less certain");
}

#[test]
fn many_cells_do_not_make_the_deals_too_few_for_any_difference() {
    let values = |by: f64| (0..8).map(|at| by + f64::from(at)).collect::<Vec<f64>>();
    let mut cells = vec![cell("0", at_places(0, 61, &values(0.0)))];
    cells.extend((1..=60).map(|place| cell(&place.to_string(), at_places(place, 61, &values(0.0)))));
    cells[60] = cell("60", at_places(60, 61, &values(900.0)));
    let found = compare(&cells, Options::default());
    let judgements: Vec<Judgement> = found.figures[0].differences.iter().map(|difference| difference.judgement).collect();
    assert_eq!(judgements[59], Judgement::Difference, "{:?}", found.figures[0].differences[59]);
    let deals = found.deals.unwrap();
    assert_eq!((deals.ways, deals.looked_at, deals.p_min), (12_870.0, 12_870.0, 60.0 / 12_870.0));
    let two = compare(&[cells.remove(0), cells.remove(59)], Options::default()).deals.unwrap();
    assert_eq!((two.looked_at, two.p_min), (4_999.0, 1.0 / 4_999.0));
}

#[test]
fn what_is_unknown_is_counted_and_never_0() {
    let mut cells = pair(&[1.0; 6], &[1.0; 6]);
    cells[1].runs.iter_mut().for_each(|run| run.figures[0].value = None);
    let found = compare(&cells, Options::default());
    assert_eq!(judgement(&found), Judgement::NotMeasured);
    let of_cell = &found.figures[0].cells[1];
    assert_eq!((of_cell.runs, of_cell.unknown, of_cell.median, of_cell.interval), (0, 6, None, None));
    assert_eq!(found.figures[0].differences[0].difference, None);
}

#[test]
fn a_figure_that_some_runs_lack_is_unknown_in_them() {
    let mut cells = pair(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]);
    cells[0].runs[1].figures.clear();
    let found = compare(&cells, Options::default());
    assert_eq!((found.figures[0].cells[0].runs, found.figures[0].cells[0].unknown), (2, 1));
}

#[test]
fn a_figure_that_most_runs_of_a_cell_lack_is_not_compared() {
    let mut cells = pair(&[1.0; 12], &(0..12).map(|at| 900.0 + f64::from(at)).collect::<Vec<_>>());
    cells[1].runs[5..].iter_mut().for_each(|run| run.figures[0].value = None);
    let found = compare(&cells, Options::default());
    assert_eq!((judgement(&found), found.tests), (Judgement::KnownInFewRuns { known: 5, of: 12 }, 0));
    assert_eq!(found.summary[0], "Known in fewer than half of the runs of a cell, and so not compared: outage.max.");
    cells[1].runs[5].figures[0].value = Some(901.0);
    let found = compare(&cells, Options::default());
    assert_eq!(judgement(&found), Judgement::Difference);
    assert!(found.summary[0].contains("median 902 ms (known in 6 of 12 runs) against 1 ms"), "{}", found.summary[0]);
}

#[test]
fn runs_that_prove_nothing_are_left_out_and_counted() {
    let mut cells = pair(&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0, 3.0, 4.0]);
    cells[0].runs[0].verdict = Verdict::Unknown;
    cells[0].runs[3].verdict = Verdict::Interrupted;
    cells[1].runs[0].verdict = Verdict::Hang;
    let found = compare(&cells, Options::default());
    assert_eq!((found.cells[0].runs, found.cells[0].left_out.len(), found.cells[1].runs), (2, 2, 4));
    assert_eq!(found.figures[0].cells[0].values, [2.0, 3.0]);
    assert_eq!(found.warnings[0], "2 of 4 runs of 5s are left out: 1 UNKNOWN and 1 INTERRUPTED (run-001 and run-007)");
    assert_eq!(found.warnings[1], "1 of 4 runs of 600s did not pass, and their figures are used: 1 HANG");
    cells.iter_mut().flat_map(|cell| &mut cell.runs).for_each(|run| run.verdict = Verdict::Unknown);
    assert!(!compare(&cells, Options::default()).has_usable_runs());
}

#[test]
fn a_run_without_its_fault_is_left_out_whatever_its_verdict() {
    let mut cells = pair(&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0, 3.0, 4.0]);
    let why = "step 1 `kill 2` was not seen from outside in time";
    for (run, verdict) in cells[0].runs.iter_mut().zip([Verdict::Fail, Verdict::Hang]) {
        (run.verdict, run.unconfirmed) = (verdict, Some(why.to_owned()));
    }
    cells[0].runs[3].verdict = Verdict::Fail;
    let found = compare(&cells, Options::default());
    assert_eq!((found.cells[0].runs, found.cells[0].left_out[1].why.as_str()), (2, why));
    assert_eq!(found.figures[0].cells[0].values, [3.0, 4.0]);
    assert_eq!((found.runs[0].left_out.as_deref(), &found.runs[1].left_out), (Some(why), &None));
    assert_eq!(found.warnings[0], "2 of 4 runs of 5s are left out: 2 with a step that was not what the plan wanted (run-001 and run-003)");
    assert_eq!(found.warnings[1], "1 of 4 runs of 5s did not pass, and their figures are used: 1 FAIL");
}

#[test]
fn no_cells_and_one_cell_are_no_comparison_and_no_error() {
    let none = compare(&[], Options::default());
    assert!(none.figures.is_empty() && none.summary.is_empty() && !none.has_usable_runs(), "{none:?}");
    let one = compare(&[cell("5s", runs(1, &[1.0, 2.0, 3.0]))], Options::default());
    assert!(one.figures[0].differences.is_empty() && one.figures[0].cells[0].median == Some(2.0), "{one:?}");
}

#[test]
fn cells_one_after_the_other_are_warned_of() {
    let mut cells = pair(&[1.0, 2.0, 3.0, 2.0, 1.0, 2.0], &[1.0, 2.0, 3.0, 2.0, 1.0, 2.0]);
    for (order, run) in (1..).zip(cells.iter_mut().flat_map(|cell| &mut cell.runs)) {
        run.order = order;
    }
    let found = compare(&cells, Options::default());
    assert!(!found.is_interleaved && found.warnings[0].starts_with("runs of the cells did not alternate"), "{:?}", found.warnings);
}

#[test]
fn what_else_differs_between_runs_is_warned_of() {
    let mut cells = pair(&[2.0, 1.0, 3.0], &[2.0, 3.0, 1.0]);
    let run = &mut cells[1].runs[0];
    run.versions.insert("kafka".to_owned(), "4.0.1".to_owned());
    run.versions.insert("librdkafka".to_owned(), "2.12.0".to_owned());
    run.machine.insert("cores".to_owned(), "8".to_owned());
    run.plan_sha256 = "other".to_owned();
    run.common_plan_sha256 = Some("other".to_owned());
    let warnings = compare(&cells, Options::default()).warnings;
    let expected = [
        "runs differ in more of their plans than in what was varied",
        "runs of 600s have 2 different plans",
        "runs differ in version of kafka: 4.3.0 (5s, 600s); 4.0.1 (600s)",
        "runs differ in machine: cores: 2 (5s, 600s); 8 (600s)",
    ];
    assert_eq!(warnings, expected);
    cells.iter_mut().for_each(|cell| cell.settings[0].0 = "cluster.kafka".to_owned());
    assert_eq!(compare(&cells, Options::default()).warnings.len(), 3, "a varied version of Kafka is no warning");
}

#[test]
fn plans_of_folders_that_differ_are_warned_of() {
    let mut cells = pair(&[1.0, 2.0], &[1.0, 2.0]);
    for cell in &mut cells {
        cell.settings.clear();
        for run in &mut cell.runs {
            run.common_plan_sha256 = None;
            run.plan_sha256.clone_from(&cell.name);
        }
    }
    let warnings = compare(&cells, Options::default()).warnings;
    assert_eq!(warnings, ["the plans differ: a difference may come from anything in which they do"]);
}

#[test]
fn a_control_unlike_the_first_cell_shows_drift() {
    let mut cells = pair(&[10.0, 11.0, 10.5, 10.2, 10.8, 10.1], &[10.3, 11.0, 10.4, 10.2, 10.7, 10.1]);
    let mut controls = cell("5s", runs(0, &[10.4]));
    controls.is_control = true;
    controls.runs.push(run(13, vec![figure("outage.max", Some(25.0))]));
    cells.push(controls);
    let found = compare(&cells, Options::default());
    assert_eq!((found.cells.len(), found.figures[0].cells[0].runs), (2, 6), "a control is in no cell");
    let seen = &found.drift[0].seen;
    assert!(matches!(seen, Drift::Control { order: 13, value: 25.0, .. }), "{seen:?}");
    assert!(found.warnings[0].contains("drifted: control run-013 (run 13) has 25 ms"), "{:?}", found.warnings);
}

#[test]
fn a_trend_in_all_cells_shows_drift() {
    let rising: Vec<f64> = (0..8).map(|at| 100.0 + 10.0 * f64::from(at) + f64::from(at * 3 % 4)).collect();
    let found = compare(&pair(&rising, &rising), Options::default());
    let [drift] = &found.drift[..] else { panic!("{:?}", found.drift) };
    assert!(matches!(drift.seen, Drift::Trend { change } if (60.0..90.0).contains(&change)), "{drift:?}");
    assert!(found.warnings[0].contains("it rose by") && found.warnings[0].ends_with("all met it alike"), "{:?}", found.warnings);
}

#[test]
fn a_trend_in_one_cell_shows_drift_of_that_cell() {
    let rising: Vec<f64> = (0..8).map(|at| 100.0 + 10.0 * f64::from(at) + f64::from(at * 3 % 4)).collect();
    let level: Vec<f64> = (0..8).map(|at| 135.0 + 9.0 * f64::from(at * 5 % 8) - 8.0 * f64::from(at)).collect();
    let found = compare(&pair(&level, &rising), Options::default());
    let [drift] = &found.drift[..] else { panic!("{:?}", found.drift) };
    assert!(matches!(&drift.seen, Drift::TrendOfCell { cell, change } if cell == "600s" && (60.0..90.0).contains(change)), "{drift:?}");
    assert_eq!(found.figures[0].drift, std::slice::from_ref(&drift.seen));
    assert!(found.figures[0].cells[1].trend.is_some_and(|by| (60.0..90.0).contains(&by)), "{:?}", found.figures[0].cells[1]);
    assert!(found.warnings[0].starts_with("outage.max drifted in 600s: it rose by "), "{:?}", found.warnings);
    assert_eq!(words::drift_tags(&found.figures[0], &["5s", "600s"]), "trend-of-cell");
    assert_eq!(words::drift_tags(&found.figures[0], &["5s"]), "");
}

#[test]
fn one_run_each_is_compared_by_seconds_where_there_are_any() {
    let mut cells = pair(&[12.0], &[15.0]);
    for (cell, mean) in cells.iter_mut().zip([12.0, 15.0]) {
        let run = &mut cell.runs[0];
        run.figures.push(figure("latency.p99", Some(mean)));
        let seconds = (0..40).map(|second| mean + f64::from(second * 7 % 5) / 10.0).collect();
        run.series.push(RunSeries { name: name("latency.p99"), unit: Unit::Ms, seconds });
    }
    let found = compare(&cells, Options::default());
    assert_eq!((found.basis, judgement(&found)), (Basis::Seconds, Judgement::OneRunEach));
    assert_eq!(found.figures[1].differences[0].judgement, Judgement::Difference);
    assert!(found.summary[0].contains("what differs from run to run cannot be seen"), "{:?}", found.summary);
    assert!(found.summary.iter().any(|sentence| sentence == "One run each, no test possible: outage.max."), "{:?}", found.summary);
    assert_eq!(found.runs_suggested, None);
}

#[test]
fn latencies_of_a_cell_are_those_of_its_median_run() {
    let mut cells = pair(&[1.0; 3], &[1.0; 3]);
    for (at, run) in cells[0].runs.iter_mut().enumerate() {
        let points = vec![(50.0, float(at)), (99.0, 10.0 * float(at))];
        run.latencies.push(model::LatencyPoints { name: name("latency"), points });
    }
    let found = compare(&cells, Options::default());
    assert_eq!(found.cells[0].latencies[0].points, [[50.0, 1.0, 0.0, 2.0], [99.0, 10.0, 0.0, 20.0]]);
}

#[test]
fn the_same_runs_give_the_same_findings() {
    let cells = cells(&real_figures(), 12, Order::Rounds, 0.0, 3);
    let [one, other] = [(), ()].map(|()| compare(&cells, QUICK));
    assert_eq!(one, other);
}

#[test]
fn main_figures_come_first_and_are_known_by_name() {
    let figures =
        |order| run(order, vec![RunFigure { is_main: false, ..figure("latency.max", Some(1.0)) }, figure("outage.max", Some(2.0))]);
    let found = compare(&[cell("5s", vec![figures(1)])], Options::default());
    assert_eq!(found.figures.iter().map(|figure| figure.name.metric.as_str()).collect::<Vec<_>>(), ["outage.max", "latency.max"]);
    let named = |metric: &str, window: &str, group: Option<&str>| {
        model::FigureName { metric: metric.to_owned(), group: group.map(str::to_owned), window: window.to_owned() }.is_main()
    };
    assert!(named("outage.max", "steps", None) && !named("outage.max", "step 1", None) && !named("outage.max", "steps", Some("steady")));
}
