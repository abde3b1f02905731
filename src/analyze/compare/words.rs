//! A comparison in sentences.
//!
//! Nothing is concluded anew: judgements are those of the findings.

use crate::analyze::compare::SIGNIFICANCE;
use crate::analyze::compare::findings::{Basis, CellFigure, ComparisonFindings, DifferenceFinding, Drift, FigureFinding, Judgement};
use crate::analyze::compare::model::FigureName;
use crate::analyze::compare::values::value;
use crate::plan::model::Unit;

/// Figures that one sentence names.
const NAMED_MAX: usize = 8;

/// All sentences, differences of main figures first.
pub(super) fn summary(findings: &ComparisonFindings) -> Vec<String> {
    let mut sentences = Vec::new();
    if findings.basis == Basis::Seconds && findings.cells.len() > 1 {
        sentences.push(
            "There is one run in each cell: they are compared by their seconds, and what differs from run to run cannot be seen. A \
             difference below is one of these two runs, not of the settings."
                .to_owned(),
        );
    }
    let main = || findings.figures.iter().filter(|figure| figure.is_main);
    sentences.extend(main().filter_map(|figure| differences(findings, figure)));
    sentences.extend(main().filter_map(|figure| none_shown(findings, figure)));
    sentences.extend(too_few(findings));
    sentences.extend(others(findings));
    sentences.extend(one_run(findings));
    sentences.extend(not_compared(findings));
    sentences.extend(repeat(findings));
    sentences
}

/// Differences of a figure that satisfy a condition, with the cell's figure.
fn judged<'a>(
    figure: &'a FigureFinding,
    is_it: impl Fn(&Judgement) -> bool + 'a,
) -> impl Iterator<Item = (&'a DifferenceFinding, &'a CellFigure)> {
    figure.differences.iter().zip(&figure.cells[1..]).filter(move |(difference, _)| is_it(&difference.judgement))
}

/// `outage.max: 10s is lower than 2s by 3.1 s on average (2.0 s to 4.2 s), median 9.1 s against 12.2 s.`
fn differences(findings: &ComparisonFindings, figure: &FigureFinding) -> Option<String> {
    let first = figure.cells.first()?;
    let first = with_known(figure.unit, first.median?, first);
    let mut parts = Vec::new();
    for (difference, cell) in judged(figure, |judgement| *judgement == Judgement::Difference) {
        let (by, interval, median) = (difference.difference?, difference.interval?, cell.median?);
        let (word, low, high) = if by > 0.0 { ("higher", interval.low, interval.high) } else { ("lower", -interval.high, -interval.low) };
        let than = format!("{} is {word} than {} by {}", difference.cell, findings.cells.first()?.name, value(figure.unit, by.abs()));
        let range = format!("{} to {}", value(figure.unit, low), value(figure.unit, high));
        parts.push(format!("{than} on average ({range}), median {} against {}", with_known(figure.unit, median, cell), first));
    }
    (!parts.is_empty()).then(|| format!("{}: {}.", figure.name, parts.join("; ")))
}

/// `outage.max: no difference shown between 600s and 5s: median 12.6 s against 12.4 s; a difference of 2.1 s would have been seen.`
fn none_shown(findings: &ComparisonFindings, figure: &FigureFinding) -> Option<String> {
    let first = figure.cells.first()?;
    let first = with_known(figure.unit, first.median?, first);
    let (mut names, mut medians, mut detectable): (Vec<&str>, Vec<String>, f64) = (Vec::new(), Vec::new(), 0.0);
    for (difference, cell) in judged(figure, |judgement| matches!(judgement, Judgement::NoDifferenceShown { .. })) {
        let Judgement::NoDifferenceShown { smallest_detectable } = difference.judgement else { continue };
        names.push(&difference.cell);
        medians.push(with_known(figure.unit, cell.median?, cell));
        detectable = detectable.max(smallest_detectable);
    }
    if names.is_empty() {
        return None;
    }
    let (names, medians, base) = (listed(&names), medians.join(", "), &findings.cells.first()?.name);
    let seen = format!("a difference of {} would have been seen", value(figure.unit, detectable));
    Some(format!("{}: no difference shown between {names} and {base}: median {medians} against {first}; {seen}.", figure.name))
}

/// A cell's median, and in how many of its runs the figure is known, if not in all.
fn with_known(unit: Unit, median: f64, cell: &CellFigure) -> String {
    let CellFigure { runs, unknown, .. } = cell;
    let known = if *unknown > 0 { format!(" (known in {runs} of {} runs)", runs + unknown) } else { String::new() };
    value(unit, median) + &known
}

/// Why few runs show nothing, and what looks as if it differed.
fn too_few(findings: &ComparisonFindings) -> Option<String> {
    let is_too_few = |judgement: &Judgement| matches!(judgement, Judgement::TooFewRuns { .. });
    let all =
        || findings.figures.iter().flat_map(move |figure| judged(figure, is_too_few).map(move |(difference, _)| (figure, difference)));
    let of_judgement = |(figure, difference): (&FigureFinding, &DifferenceFinding)| match difference.judgement {
        Judgement::TooFewRuns { needed, is_apart } => Some((figure.is_main, figure.name.to_string(), needed, is_apart)),
        _ => None,
    };
    let found: Vec<(bool, String, usize, bool)> = all().filter_map(of_judgement).collect();
    let needed = found.iter().map(|(_, _, needed, _)| *needed).max()?;
    let mut names: Vec<&str> = found.iter().filter(|(main, _, _, apart)| *main && *apart).map(|(_, name, ..)| name.as_str()).collect();
    names.dedup();
    let percent = SIGNIFICANCE * 100.0;
    let few = format!(
        "Where fewer than {needed} runs of a cell have a figure, chance alone may part them: no difference is claimed at {percent} %"
    );
    if names.is_empty() {
        return Some(format!("{few}."));
    }
    Some(format!("{few}. Without overlap, but with too few runs to be sure, are: {}.", named(&names)))
}

/// What the other figures say.
fn others(findings: &ComparisonFindings) -> Option<String> {
    let others: Vec<&FigureFinding> = findings.figures.iter().filter(|figure| !figure.is_main).collect();
    let is_tested = |figure: &&&FigureFinding| figure.differences.iter().any(|difference| difference.p_adjusted.is_some());
    let tested = others.iter().filter(is_tested).count();
    let differs = |figure: &&&FigureFinding| judged(figure, |judgement| *judgement == Judgement::Difference).next().is_some();
    let names: Vec<String> = others.iter().filter(differs).map(|figure| figure.name.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match (tested, names.len()) {
        (0, _) => None,
        (_, 0) => Some(format!("Other figures that were compared: {tested}; none shows a difference.")),
        (_, count) => Some(format!("Other figures that were compared: {tested}; of these, {count} differ: {}.", named(&names))),
    }
}

fn one_run(findings: &ComparisonFindings) -> Option<String> {
    let names: Vec<String> = main_named(findings, |judgement| *judgement == Judgement::OneRunEach);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    (!names.is_empty()).then(|| format!("One run each, no test possible: {}.", named(&names)))
}

/// Main figures that are the same everywhere, or were not measured.
fn not_compared(findings: &ComparisonFindings) -> Vec<String> {
    let same = main_named(findings, |judgement| *judgement == Judgement::SameInEveryRun);
    let unknown = main_named(findings, |judgement| *judgement == Judgement::NotMeasured);
    let few = main_named(findings, |judgement| matches!(judgement, Judgement::KnownInFewRuns { .. }));
    let mut sentences = Vec::new();
    for (names, what) in [
        (same, "The same in every run of a cell and of the first"),
        (few, "Known in fewer than half of the runs of a cell, and so not compared"),
        (unknown, "Not measured in a cell or in the first"),
    ] {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if !names.is_empty() {
            sentences.push(format!("{what}: {}.", named(&names)));
        }
    }
    sentences
}

fn main_named(findings: &ComparisonFindings, is_it: impl Fn(&Judgement) -> bool) -> Vec<String> {
    let main = findings.figures.iter().filter(|figure| figure.is_main);
    main.filter(|figure| judged(figure, &is_it).next().is_some()).map(|figure| figure.name.to_string()).collect()
}

/// How many runs would show more.
fn repeat(findings: &ComparisonFindings) -> Option<String> {
    let (runs, needed) = (findings.cells.iter().map(|cell| cell.runs).min()?, findings.runs_suggested?);
    let what = "a difference of two standard deviations of a main figure";
    (runs < needed).then(|| format!("To see {what} in 95 of 100 comparisons takes {needed} runs of each cell (--repeat {needed})."))
}

/// Drift in a sentence, for the warnings.
pub(super) fn drift(name: &FigureName, unit: Unit, seen: &Drift, is_interleaved: bool) -> String {
    let met = if is_interleaved {
        "the cells alternated, so that all met it alike"
    } else {
        "the cells did not alternate: a difference may be this"
    };
    match seen {
        Drift::Control { run, order, value: of_control, mean } => {
            let (of_control, mean) = (value(unit, *of_control), value(unit, *mean));
            format!("{name} drifted: control {run} (run {order}) has {of_control}, the first cell's runs {mean} on average; {met}")
        }
        Drift::Trend { change } => {
            let word = if *change > 0.0 { "rose" } else { "fell" };
            format!("{name} drifted: it {word} by {} from the first run to the last; {met}", value(unit, change.abs()))
        }
        Drift::TrendOfCell { cell, change } => {
            let word = if *change > 0.0 { "rose" } else { "fell" };
            format!("{name} drifted in {cell}: it {word} by {} from that cell's first run to its last", value(unit, change.abs()))
        }
    }
}

/// Which drift was seen of a figure that touches one of these cells, in a word each: `trend, control`. Empty: none.
#[must_use]
pub fn drift_tags(figure: &FigureFinding, cells: &[&str]) -> String {
    let tag = |drift: &Drift| match drift {
        Drift::Trend { .. } => Some("trend"),
        // A control is compared with the first cell, against which every other is held.
        Drift::Control { .. } => Some("control"),
        Drift::TrendOfCell { cell, .. } => cells.contains(&cell.as_str()).then_some("trend-of-cell"),
    };
    let mut tags: Vec<&str> = figure.drift.iter().filter_map(tag).collect();
    tags.dedup();
    tags.join(", ")
}

/// Names in a row; of many, some are counted only.
pub(super) fn named(names: &[&str]) -> String {
    if names.len() <= NAMED_MAX {
        return listed(names);
    }
    format!("{} and {} more", names[..NAMED_MAX].join(", "), names.len() - NAMED_MAX)
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_cut_and_counted() {
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
        let names: Vec<String> = (0..10).map(|at| at.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(named(&names), "0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
    }
}
