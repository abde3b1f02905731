//! The top of the page, and its end: what was compared, what was found in sentences, what speaks against it, and how it was judged.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::{CELLS_MAX, Content};
use crate::analyze::compare::findings::{Basis, ComparisonFindings, Drift, DriftFinding};
use crate::analyze::compare::values::value;
use crate::report::compare::text::dealt;
use crate::report::html::summary::list;
use crate::report::html::table::{Look, more, shortened, table};
use crate::report::text::table::{Table, Titled};

/// Sentences that stand at the top.
const SENTENCES_FIRST: usize = 6;

/// Sentences that are shown.
const SENTENCES_MAX: usize = 200;

/// Cells that a heading names.
const NAMED_MAX: usize = 4;

/// The plan's name; without one, the cells against each other.
pub(super) fn heading(content: Content<'_>) -> String {
    let cells = &content.findings.cells;
    match (content.plan, cells.split_first()) {
        (Some(plan), _) => shortened(plan.name),
        (None, None) => "A comparison of nothing".to_owned(),
        (None, Some((first, []))) => shortened(&first.name),
        (None, Some((first, others))) => {
            let named: Vec<&str> = others.iter().take(NAMED_MAX).map(|cell| cell.name.as_str()).collect();
            let more = others.len() - named.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            shortened(&format!("{}{more} against {}", named.join(", "), first.name))
        }
    }
}

/// Heading, what varies, how many runs, and their verdicts.
pub(super) fn masthead(content: Content<'_>) -> Markup {
    html! {
        h1 { (heading(content)) }
        p class="facts" { (facts(content)) }
        p class="facts" { (verdicts(content.findings)) }
    }
}

/// `plans/x.toml, seed 7; varies metadata.max.age.ms; 2 cells, 16 runs, each cell against 5s`.
fn facts(content: Content<'_>) -> String {
    let findings = content.findings;
    let plan = content.plan.map(|plan| format!("{}, seed of the order {}", plan.path, plan.seed));
    let keys: Vec<&str> = findings.cells.first().into_iter().flat_map(|cell| &cell.settings).map(|(key, _)| key.as_str()).collect();
    let varies = (!keys.is_empty()).then(|| format!("varies {}", keys.join(", ")));
    let (cells, runs) = (findings.cells.len(), findings.cells.iter().map(|cell| cell.runs).sum::<usize>());
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let mut counts = format!("{cells} cell{}, {runs} run{} in them", plural(cells), plural(runs));
    if let Some(first) = findings.cells.first().filter(|_| cells > 1) {
        counts.push_str(&format!(", each cell against {}", first.name));
    }
    shortened(&plan.into_iter().chain(varies).chain([counts]).collect::<Vec<_>>().join("; "))
}

/// `Verdicts of all runs: 14 PASS, 2 HANG; 2 of them controls`.
fn verdicts(findings: &ComparisonFindings) -> String {
    let mut counts = BTreeMap::<&str, usize>::new();
    findings.runs.iter().for_each(|run| *counts.entry(run.verdict.word()).or_default() += 1);
    let counts: Vec<String> = counts.into_iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    let controls = findings.runs.iter().filter(|run| run.is_control).count();
    let controls = if controls > 0 { format!("; {controls} of them are controls") } else { String::new() };
    if counts.is_empty() { "No run is there.".to_owned() } else { format!("Verdicts of all runs: {}{controls}", counts.join(", ")) }
}

/// The sentences, warnings and drift.
pub(super) fn section(findings: &ComparisonFindings) -> Markup {
    let (first, rest) = findings.summary.split_at(findings.summary.len().min(SENTENCES_FIRST));
    html! {
        @for sentence in first { p class="sentence" { (shortened(sentence)) } }
        @if findings.summary.is_empty() { p class="sentence" { "There is nothing to compare." } }
        @if !rest.is_empty() {
            details class="more" {
                summary { (rest.len()) " more sentences" }
                @for sentence in rest.iter().take(SENTENCES_MAX) { p class="sentence" { (shortened(sentence)) } }
                (more(rest.len().saturating_sub(SENTENCES_MAX), "sentences"))
            }
        }
        @if !findings.warnings.is_empty() {
            h3 { "Warnings" }
            (list("warnings", &findings.warnings, "warnings"))
        }
        (table(&Titled::new("What drifted while the comparison went on", drift(&findings.drift)), Look::plain("table-drift")))
    }
}

fn drift(drift: &[DriftFinding]) -> Table {
    let mut table = Table::new(&["<figure", "<seen by", "<what it has", "the first cell's mean"]);
    for DriftFinding { name, unit, seen } in drift {
        let rose = |change: f64| {
            let word = if change > 0.0 { "rose" } else { "fell" };
            format!("{word} by {} from the first to the last", value(*unit, change.abs()))
        };
        let (by, has, mean) = match seen {
            Drift::Control { run, order, value: of_control, mean } => {
                (format!("control {run}, run {order}"), value(*unit, *of_control), value(*unit, *mean))
            }
            Drift::Trend { change } => ("all runs".to_owned(), rose(*change), String::new()),
            Drift::TrendOfCell { cell, change } => (format!("runs of {cell}"), rose(*change), String::new()),
        };
        table.row([name.to_string(), by, has, mean]);
    }
    table
}

/// What the judgements rest on.
pub(super) fn about(content: Content<'_>) -> Markup {
    let findings = content.findings;
    let basis = match findings.basis {
        Basis::Runs => "runs: what differs between cells is set against what differs from run to run",
        Basis::Seconds => "seconds within one run each: what differs from run to run is not seen",
    };
    let order = match (findings.basis, findings.is_interleaved) {
        (Basis::Seconds, _) => "one run each",
        (Basis::Runs, true) => "cells alternated, so that drift of the machine met all of them alike",
        (Basis::Runs, false) => "cells did not alternate: a change of the machine can hardly be told from a difference",
    };
    let least = findings.cells.iter().take(CELLS_MAX).map(|cell| cell.runs).min();
    html! {
        dl class="about" {
            dt { "compared" } dd { (basis) }
            dt { "order" } dd { (order) }
            dt { "chance that any difference is claimed where there is none" } dd { (findings.significance * 100.0) " %" }
            dt { "questions that were asked together" } dd { (findings.tests) }
            @if let Some(deals) = &findings.deals { dt { "deals" } dd { (dealt(deals)) } }
            @if let (Some(least), Some(needed)) = (least, findings.runs_suggested) {
                dt { "runs of each cell" }
                dd { (least) " at least; " (needed) " find a difference of two standard deviations in 95 of 100 comparisons" }
            }
        }
        p class="note" { "No difference shown does not say that there is none: it says how large one would have been seen." }
    }
}
