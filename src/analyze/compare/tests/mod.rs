//! What a comparison claims of made-up runs: seldom a difference that is not there, nearly always one that is.

pub(super) mod noise;
mod rules;

use super::findings::Judgement;
use super::model::CellRuns;
use super::*;
use crate::plan::model::Unit;
use noise::{Figure, Noise, Order, cells};

/// Comparisons of each kind.
const COMPARISONS: u64 = 200;

/// Fewer deals than by default, so that the tests take seconds.
const QUICK: Options = Options { seed: 7, permutations: 499 };

/// Figures as `plans/rolling-restart.toml` has them from run to run: outages of 9 s or 13 s, a latency, its tail, requests, few failures.
fn real_figures() -> Vec<Figure> {
    let figure = |metric, unit, is_main, noise| Figure { metric, unit, is_main, noise, effect: 0.0 };
    vec![
        figure("outage.max", Unit::Ms, true, Noise::TwoModes(9_000.0, 13_000.0, 0.5)),
        figure("latency.p99", Unit::Ms, true, Noise::Normal(15.8, 1.2)),
        figure("metadata-requests.total", Unit::Count, true, Noise::Normal(973.0, 40.0)),
        figure("records.failed", Unit::Count, true, Noise::Poisson(0.7)),
        figure("latency.max", Unit::Ms, false, Noise::LogNormal(40.0, 0.8)),
        figure("outage.hang", Unit::Count, false, Noise::Poisson(0.1)),
    ]
}

fn only(noise: Noise, unit: Unit, effect: f64) -> Vec<Figure> {
    vec![Figure { metric: "figure", unit, is_main: true, noise, effect }]
}

/// In how many of the comparisons any difference was claimed.
fn claims(figures: &[Figure], runs: usize, order: Order, rho: f64) -> u64 {
    let claims = |seed| has_difference(&compare(&cells(figures, runs, order, rho, seed), QUICK));
    (0..COMPARISONS).map(|seed| u64::from(claims(seed))).sum()
}

fn has_difference(findings: &ComparisonFindings) -> bool {
    let mut differences = findings.figures.iter().flat_map(|figure| &figure.differences);
    differences.any(|difference| difference.judgement == Judgement::Difference)
}

#[test]
fn equal_settings_are_seldom_told_apart() {
    for runs in [5, 12] {
        let claims = claims(&real_figures(), runs, Order::Rounds, 0.0);
        assert!(claims <= 6, "{runs} runs: a difference in {claims} of {COMPARISONS} comparisons");
    }
}

#[test]
fn two_modes_and_heavy_tails_do_not_deceive_few_runs() {
    let kinds = [
        (Noise::TwoModes(9_000.0, 13_000.0, 0.5), Unit::Ms),
        (Noise::TwoModes(9_000.0, 13_000.0, 0.15), Unit::Ms),
        (Noise::Poisson(0.7), Unit::Count),
        (Noise::LogNormal(40.0, 1.5), Unit::Ms),
    ];
    for (noise, unit) in kinds {
        let claims = claims(&only(noise, unit, 0.0), 5, Order::Rounds, 0.0);
        assert!(claims <= 6, "{noise:?}: a difference in {claims} of {COMPARISONS} comparisons");
    }
}

#[test]
fn drift_is_not_taken_for_a_difference() {
    let figures = only(Noise::Normal(15.8, 1.2), Unit::Ms, 0.0);
    for (order, rho) in [(Order::Rounds, 0.9), (Order::OneAfterTheOther, 0.3)] {
        let claims = claims(&figures, 8, order, rho);
        assert!(claims <= 6, "{order:?}, rho {rho}: a difference in {claims} of {COMPARISONS} comparisons");
    }
}

#[test]
fn two_standard_deviations_are_found_with_as_many_runs_as_are_said_to_be_needed() {
    let runs = runs_needed(1.0, 1);
    assert_eq!(runs, 12);
    let kinds = [
        (Noise::Normal(15.8, 1.2), Unit::Ms, 2.4),
        // The standard deviation of two equally likely values is half of what is between them.
        (Noise::TwoModes(9_000.0, 13_000.0, 0.5), Unit::Ms, -4_000.0),
        (Noise::Poisson(25.0), Unit::Count, 10.0),
    ];
    for (noise, unit, effect) in kinds {
        let claims = claims(&only(noise, unit, effect), runs, Order::Rounds, 0.0);
        assert!(claims >= 190, "{noise:?}: a difference in only {claims} of {COMPARISONS} comparisons");
    }
}

#[test]
fn few_runs_find_what_they_are_said_to() {
    for runs in [5, 6, 8] {
        let effect = 1.2 * detectable_by(runs, 1.0, 1);
        let claims = claims(&only(Noise::Normal(15.8, 1.2), Unit::Ms, effect), runs, Order::Rounds, 0.0);
        // 190 of 200 are promised; one comparison of 200 is half a percent, and the promise is a mean.
        assert!(claims >= 184, "{runs} runs: a difference in only {claims} of {COMPARISONS} comparisons");
    }
}

#[test]
fn a_difference_is_found_among_others_that_do_not_differ() {
    let mut figures = real_figures();
    figures[1].effect = 2.4;
    let runs = runs_needed(8.0, 1);
    assert_eq!(runs, 16);
    let claims = claims(&figures, runs, Order::Rounds, 0.0);
    assert!(claims >= 190, "a difference in only {claims} of {COMPARISONS} comparisons");
}

/// `docs/compare.md` tells how small a difference is found; its table is what these functions say.
#[test]
fn the_table_in_the_document_is_right() {
    let document = include_str!("../../../../docs/compare.md");
    let row = |runs: usize| {
        let cell = |tests: f64| format!("{:.1}", detectable_by(runs, tests, 1));
        format!("| {runs} | {} | {} | {} |", cell(1.0), cell(20.0), cell(200.0))
    };
    let mut rows: Vec<String> = [5, 6, 8, 10, 12, 16, 20, 30].map(row).to_vec();
    let needed = [1.0, 20.0, 200.0].map(|tests| runs_needed(tests, 1).to_string());
    rows.push(format!("| needed for 2.0 | {} |", needed.join(" | ")));
    rows.retain(|row| !document.contains(row.as_str()));
    assert!(rows.is_empty(), "docs/compare.md lacks\n{}", rows.join("\n"));
}
