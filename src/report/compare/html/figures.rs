//! Every figure in every cell, and what may be said of each difference, in words. Main figures and those that differ stand open.

use maud::{Markup, html};

use super::CELLS_MAX;
use super::cells::more_cells;
use crate::analyze::compare::findings::{Basis, ComparisonFindings, DifferenceFinding, FigureFinding, Judgement, Middle};
use crate::analyze::compare::values::value;
use crate::analyze::compare::words::drift_tags;
use crate::report::compare::text::{is_shown, of_cell, other_names, p, range, signed};
use crate::report::html::table::{ROWS_MAX, more, shortened};

/// The section.
pub(super) fn section(findings: &ComparisonFindings) -> Markup {
    let (shown, others): (Vec<&FigureFinding>, Vec<&FigureFinding>) = findings.figures.iter().partition(|figure| is_shown(figure));
    html! {
        (table(findings, &shown, "table-figures", "Main figures, and others that differ"))
        @if !others.is_empty() {
            details class="more" {
                summary { "The other " (others.len()) " figures" }
                (table(findings, &others, "table-other-figures", "Figures that show no difference"))
            }
        }
        (more_cells(findings))
        (notes(findings))
    }
}

/// A row per figure and cell, whole figures only.
fn table(findings: &ComparisonFindings, figures: &[&FigureFinding], id: &str, title: &str) -> Markup {
    let rows = findings.cells.len().clamp(1, CELLS_MAX);
    let fit = ROWS_MAX / rows;
    let has_drift = figures.iter().any(|figure| !figure.drift.is_empty());
    let difference = match findings.basis {
        Basis::Runs => "difference of the means",
        Basis::Seconds => "difference of the means over seconds",
    };
    html! {
        @if !figures.is_empty() {
            div class="scroll" tabindex="0" role="region" aria-label=(title) {
                table class="figures" id=(id) {
                    caption { (title) }
                    thead {
                        tr {
                            th scope="col" class="text" { "figure" }
                            th scope="col" class="text" { "unit" }
                            th scope="col" class="text" { "cell" }
                            th scope="col" class="number" { "median" }
                            th scope="col" class="number" { (difference) }
                            th scope="col" class="number" { "p" }
                            th scope="col" class="text" { "what may be said" }
                            @if has_drift { th scope="col" class="text" { "drift" } }
                        }
                    }
                    @for figure in figures.iter().take(fit) { (body(findings, figure, has_drift)) }
                }
            }
            (more(figures.len().saturating_sub(fit), "figures"))
        }
    }
}

/// `has_drift`: the table has a column for it.
fn body(findings: &ComparisonFindings, figure: &FigureFinding, has_drift: bool) -> Markup {
    let rows = findings.cells.len().min(CELLS_MAX);
    html! {
        tbody {
            @for (at, cell) in findings.cells.iter().take(CELLS_MAX).enumerate() {
                tr {
                    @if at == 0 {
                        th scope="rowgroup" rowspan=(rows) class="text" {
                            (shortened(&figure.name.to_string()))
                            @if !figure.also.is_empty() { span class="about-figure" { "the same as " (shortened(&other_names(figure))) } }
                            @if !figure.about.is_empty() { span class="about-figure" { (shortened(&figure.about)) } }
                        }
                        td rowspan=(rows) class="text" { (figure.unit.name()) }
                    }
                    th scope="row" class="text" { (shortened(&cell.name)) }
                    (median(figure, at))
                    @match at.checked_sub(1).and_then(|at| figure.differences.get(at)) {
                        Some(difference) => (against(figure, difference)),
                        None => { td {} td {} td class="text" { "the baseline" } },
                    }
                    @if has_drift { td class="text" { (drift_tags(figure, &[&cell.name])) } }
                }
            }
        }
    }
}

fn median(figure: &FigureFinding, cell: usize) -> Markup {
    let is_known = figure.cells[cell].median.is_some();
    html! { td class=(if is_known { "number" } else { "number unknown" }) { (of_cell(figure, cell)) } }
}

fn against(figure: &FigureFinding, difference: &DifferenceFinding) -> Markup {
    let by = difference.difference.map_or_else(String::new, |by| signed(figure, by));
    let interval = difference.interval.map_or_else(String::new, |interval| format!(" {}", range(figure, interval)));
    let class = if difference.judgement == Judgement::Difference { "text differs" } else { "text" };
    html! {
        td class="number" { (by) (interval) }
        td class="number" { (p(difference)) }
        td class=(class) { (in_words(figure, difference)) }
    }
}

/// A judgement as a reader needs it: what is shown, or what it would have taken.
pub(super) fn in_words(figure: &FigureFinding, difference: &DifferenceFinding) -> String {
    match difference.judgement {
        Judgement::Difference if difference.difference.is_some_and(|by| by > 0.0) => "higher".to_owned(),
        Judgement::Difference => "lower".to_owned(),
        Judgement::NoDifferenceShown { smallest_detectable } => {
            format!("no difference shown; one of {} would have been seen", value(figure.unit, smallest_detectable))
        }
        Judgement::TooFewRuns { needed, is_apart } => {
            let apart = if is_apart { ", though without overlap" } else { "" };
            format!("too few runs to say{apart}: it takes {needed} of each cell")
        }
        Judgement::OneRunEach => "one run each: no test possible".to_owned(),
        Judgement::SameInEveryRun => "the same in every run".to_owned(),
        Judgement::NotMeasured => "not measured in this cell or in the baseline".to_owned(),
        Judgement::KnownInFewRuns { known, of } => {
            format!("known in only {known} of the {of} runs of this cell or of the baseline: not compared")
        }
    }
}

fn notes(findings: &ComparisonFindings) -> Markup {
    let mut intervals = findings.figures.iter().flat_map(|figure| &figure.cells).filter_map(|cell| cell.interval);
    let has_means = intervals.any(|interval| interval.of == Middle::Mean);
    html! {
        p class="note" {
            "In brackets: where the true value lies with 99 % confidence, for each figure alone."
            @if has_means { " *: of the mean, by Student's t; that of a median takes 8 runs." }
            @if findings.figures.iter().any(|figure| !figure.drift.is_empty()) {
                " Drift: a trend of all cells, or of this one alone (trend-of-cell), or a control that does not fit among the first cell's runs; the "
                a href="#summary" { "warnings" } " say by how much."
            }
            @if findings.tests > 0 { " p respects all " (findings.tests) " questions that were asked." }
        }
    }
}
