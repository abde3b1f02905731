//! The page as a whole: what it says without its script, what it never does, and how large it may get.

use serde_json::Value;

use super::*;
use crate::analyze::compare::findings::{Basis, CellLatency, DifferenceFinding, Drift, DriftFinding, Judgement, LeftOutRun};
use crate::analyze::compare::model::{FigureName, Unit};
use crate::analyze::findings::Verdict;
use crate::report::compare::tests::found;
use crate::report::html::assets::STYLES;

const PLAN: ComparedPlan<'_> = ComparedPlan { name: "refresh-rate", path: "plans/refresh-rate.toml", seed: 7 };

fn page_of(findings: &ComparisonFindings) -> String {
    page(Content { findings, plan: Some(PLAN), runs: Some("runs") }).unwrap()
}

/// The page without its styles and scripts.
fn markup(page: &str) -> String {
    COMPARE_SCRIPTS.iter().chain(&STYLES).fold(page.to_owned(), |page, asset| page.replace(asset, ""))
}

fn data_of(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"chaos-data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

fn latency(group: Option<&str>, window: &str) -> CellLatency {
    let name = FigureName { metric: "latency".to_owned(), group: group.map(str::to_owned), window: window.to_owned() };
    CellLatency { name, points: vec![[50.0, 1.5, 1.25, 2.0], [99.0, 4.0, 3.0, 9.0], [100.0, 40.0, 30.0, 90.0]] }
}

/// Of eight runs each, with latencies, a run that cannot be used, and drift.
fn whole() -> ComparisonFindings {
    let mut findings = found(8);
    for cell in &mut findings.cells {
        cell.latencies = vec![latency(None, "baseline"), latency(Some("steady"), "after"), latency(None, "run")];
    }
    findings.cells[1].left_out = vec![LeftOutRun { name: "017".to_owned(), verdict: Verdict::Unknown, why: "UNKNOWN".to_owned() }];
    findings.warnings = vec!["latency.p50 drifted".to_owned()];
    let name = FigureName { metric: "latency.p50".to_owned(), group: None, window: "baseline".to_owned() };
    findings.drift = vec![DriftFinding { name, unit: Unit::Ms, seen: Drift::Trend { change: -1.5 } }];
    findings.figures[0].drift = vec![Drift::Trend { change: 20.0 }];
    findings
}

#[test]
fn the_page_reads_without_its_script() {
    let page = page_of(&whole());
    let markup = markup(&page);
    for part in [
        "<h1>refresh-rate</h1>",
        "plans/refresh-rate.toml, seed of the order 7; varies metadata.max.age.ms; 2 cells, 16 runs in them, each cell against 5s",
        "Verdicts of all runs: 16 PASS",
        "<p class=\"sentence\">metadata-requests.per-second-per-1000-clients (baseline): 600s is lower than 5s by 198/s",
        "<ul class=\"warnings\"><li>latency.p50 drifted</li></ul>",
        "<td class=\"text\">all runs</td><td class=\"text\">fell by 1.50 ms from the first to the last</td>",
        "<td class=\"text\">metadata.max.age.ms = 600s</td><td class=\"number\">8 of 9</td><td class=\"text\">8 PASS</td><td class=\"text\">017 UNKNOWN</td>",
        "<figure class=\"chart\" id=\"fig-curve\" data-chart=\"curve\">",
        "<td class=\"number\">2.10/s [1.96/s, 2.21/s]</td>",
        "<figure class=\"chart\" id=\"fig-cell-percentiles\" data-chart=\"cell-percentiles\">",
        "<th scope=\"rowgroup\" rowspan=\"2\" class=\"text\">outage.max (steps)",
        "<td class=\"number\">0 ms [-3.17 s, 3.17 s]</td><td class=\"number\">1.00</td><td class=\"text\">no difference shown; one of 6.09 s would have been seen</td><td class=\"text\">trend</td>",
        "<td class=\"number\">0.0004</td><td class=\"text differs\">lower</td>",
        "<summary>The other 1 figures</summary>",
        "Drift: a trend of all cells, or of this one alone",
        "<a href=\"runs/001/report.html\">001</a>",
        "<td class=\"text met\">PASS</td><td class=\"text\"></td><td class=\"text\">2026-01-01 00:01:00</td>",
    ] {
        assert!(markup.contains(part), "{part} is not in {markup}");
    }
    assert_eq!(page, page_of(&whole()), "the same findings give another page");
}

#[test]
fn every_link_within_the_page_has_a_place_and_every_id_is_its_own() {
    let page = markup(&page_of(&whole()));
    let values = |before: &str| page.split(before).skip(1).map(|rest| rest.split('"').next().unwrap()).collect::<Vec<_>>();
    let mut ids = values(" id=\"");
    for link in values("href=\"#") {
        assert!(ids.contains(&link), "{link} leads nowhere");
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id is there twice");
}

#[test]
fn runs_that_are_elsewhere_have_no_link_and_cells_without_a_plan_name_the_page() {
    let findings = whole();
    let page = markup(&page(Content { findings: &findings, plan: None, runs: None }).unwrap());
    assert!(page.contains("<h1>600s against 5s</h1>") && !page.contains("/report.html"), "{page}");
}

#[test]
fn hostile_names_stay_text() {
    const HOSTILE: &str = "</script></style></title><img src=x onerror=alert(1)>\"'><svg onload=alert(2)><!--\u{2028}";
    let hostile = || HOSTILE.to_owned();
    let mut findings = whole();
    (findings.summary, findings.warnings) = (vec![hostile(); 8], vec![hostile()]);
    let seen = Drift::Control { run: hostile(), order: 1, value: 1.0, mean: 2.0 };
    findings.drift.push(DriftFinding { name: findings.drift[0].name.clone(), unit: Unit::Count, seen });
    for cell in &mut findings.cells {
        (cell.name, cell.settings, cell.verdicts) = (hostile(), vec![(hostile(), hostile())], [(hostile(), 1)].into());
        cell.left_out = vec![LeftOutRun { name: hostile(), verdict: Verdict::Interrupted, why: hostile() }];
        cell.latencies.push(latency(Some(HOSTILE), "baseline"));
    }
    for run in &mut findings.runs {
        (run.name, run.cell, run.started_at, run.left_out) = (hostile(), hostile(), hostile(), Some(hostile()));
    }
    for figure in &mut findings.figures {
        (figure.name.metric, figure.name.group, figure.about) = (hostile(), Some(hostile()), hostile());
        figure.also = vec![figure.name.clone()];
    }
    let plan = ComparedPlan { name: HOSTILE, path: HOSTILE, seed: 1 };
    let page = page(Content { findings: &findings, plan: Some(plan), runs: Some("runs") }).unwrap();
    let markup = markup(&page);
    for tag in ["<img", "<svg", "<!--"] {
        assert!(!markup.contains(tag), "{tag} in the page");
    }
    assert_eq!(["<script", "</script", "<style", "</style", "</title"].map(|tag| markup.matches(tag).count()), [3, 3, 2, 2, 1]);
    assert!(markup.contains("&lt;img src=x onerror=alert(1)&gt;") && markup.contains("href=\"runs/%3C%2Fscript%3E"));
    assert_eq!(data_of(&page)["cells"][1].as_str(), Some(HOSTILE));
}

#[test]
fn a_folders_name_is_one_part_of_an_address() {
    for (name, address) in [("007-600s", "007-600s"), ("a b/c", "a%20b%2Fc"), ("é?#", "%C3%A9%3F%23"), ("v1.2:3%", "v1.2%3A3%25")] {
        assert_eq!(runs::in_address(name), address);
    }
}

#[test]
fn a_policy_allows_only_what_the_page_carries() {
    let page = page_of(&found(3));
    let (_, policy) = page.split_once("http-equiv=\"Content-Security-Policy\" content=\"").unwrap();
    let policy = policy.split_once('"').unwrap().0;
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-") && !policy.contains("unsafe"), "{policy}");
    assert!(page.find("Content-Security-Policy").unwrap() < page.find("<style").unwrap(), "the policy comes too late");
}

#[test]
fn every_judgement_is_said_in_words() {
    let mut findings = found(8);
    let figure = findings.figures.remove(0);
    let with = |judgement: Judgement, by: f64| DifferenceFinding { judgement, difference: Some(by), ..figure.differences[0].clone() };
    let rows = [
        (with(Judgement::Difference, 1.0), "higher"),
        (with(Judgement::Difference, -1.0), "lower"),
        (
            with(Judgement::NoDifferenceShown { smallest_detectable: 6_090.0 }, 0.0),
            "no difference shown; one of 6.09 s would have been seen",
        ),
        (with(Judgement::TooFewRuns { needed: 5, is_apart: false }, 1.0), "too few runs to say: it takes 5 of each cell"),
        (
            with(Judgement::TooFewRuns { needed: 5, is_apart: true }, 1.0),
            "too few runs to say, though without overlap: it takes 5 of each cell",
        ),
        (with(Judgement::OneRunEach, 1.0), "one run each: no test possible"),
        (with(Judgement::SameInEveryRun, 0.0), "the same in every run"),
        (with(Judgement::NotMeasured, 0.0), "not measured in this cell or in the baseline"),
        (
            with(Judgement::KnownInFewRuns { known: 2, of: 12 }, 0.0),
            "known in only 2 of the 12 runs of this cell or of the baseline: not compared",
        ),
    ];
    for (difference, words) in rows {
        assert_eq!(figures::in_words(&figure, &difference), words);
    }
}

#[test]
fn the_data_are_those_of_the_curve_and_of_the_windows_that_are_drawn() {
    let data = data_of(&page_of(&whole()));
    assert_eq!(data["cells"], serde_json::json!(["5s", "600s"]));
    assert_eq!(data["curve"][0]["outage_ms"]["median"], 11_010.0);
    assert_eq!(data["curve"][0]["seen_ms"], Value::Null, "what was not measured");
    let latencies: Vec<_> = data["latencies"].as_array().unwrap().iter().map(|one| (&one["cell"], &one["group"], &one["window"])).collect();
    let expected =
        [(0, Value::Null, "baseline"), (0, "steady".into(), "after"), (1, Value::Null, "baseline"), (1, "steady".into(), "after")];
    assert_eq!(latencies.len(), expected.len(), "{latencies:?}");
    for (found, (cell, group, window)) in latencies.into_iter().zip(expected) {
        assert_eq!(found, (&Value::from(cell), &group, &Value::from(window)));
    }
    assert_eq!(data["latencies"][0]["points"][0], serde_json::json!([50.0, 1.5, 1.25, 2.0]));
}

#[test]
fn a_comparison_of_nothing_has_a_page_too() {
    let nothing = crate::analyze::compare::compare(&[], crate::analyze::compare::Options::default());
    let page = page(Content { findings: &nothing, plan: None, runs: None }).unwrap();
    assert!(page.contains("<h1>A comparison of nothing</h1>") && page.contains("There is nothing to compare."));
    assert!(!page.contains("<figure"), "there is nothing to draw");
}

/// More than any comparison has.
#[test]
fn the_page_of_a_comparison_at_all_bounds_is_below_five_megabytes() {
    let mut findings = whole();
    findings.basis = Basis::Runs;
    let windows = (0..40).map(|group| latency(Some(&format!("group-{group}")), "baseline"));
    findings.cells[1].latencies.extend(windows);
    let (cell, run) = (findings.cells[1].clone(), findings.runs[0].clone());
    findings.cells.resize(150, cell);
    findings.runs.resize(4_000, run);
    for figure in &mut findings.figures {
        figure.about = "x".repeat(9_000);
        let (cell, difference) = (figure.cells[1].clone(), figure.differences[0].clone());
        figure.cells.resize(150, cell);
        figure.differences.resize(149, difference);
    }
    let other = findings.figures[2].clone();
    findings.figures.resize(400, other);
    findings.summary = vec!["A sentence of ordinary length about what differs between two cells.".repeat(2); 1_000];
    findings.warnings.clone_from(&findings.summary);
    let page = page_of(&findings);
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    for left_out in ["50 more cells are", "3,000 more runs are", "388 more figures are", "794 more sentences are", "800 more warnings are"]
    {
        assert!(page.contains(left_out), "{left_out} is not told");
    }
    assert!(data_of(&page)["latencies_left_out"].as_u64() > Some(0));
}
