//! The page of a comparison: what was found in sentences, the cells' figures side by side, the differences, what speaks against them.
//!
//! Shows main figures, and of the others those that differ; `compare.csv` and `differences.csv` have all.

use crate::analyze::compare::findings::{
    Basis, CellFigure, CellFinding, ComparisonFindings, Deals, DifferenceFinding, FigureFinding, Interval, Judgement, Middle,
};
use crate::analyze::compare::model::Unit;
use crate::analyze::compare::values::{probability, value};
use crate::analyze::compare::words::drift_tags;
use crate::report::text::format::wrapped;
use crate::report::text::style::Style;
use crate::report::text::table::Table;

/// Widest line: names of figures are long, and several cells stand side by side.
const WIDTH: usize = 140;

/// Figures that are shown; the files have all.
const SHOWN_MAX: usize = 40;

/// Other names of a figure that are shown; the files have all.
const NAMES_MAX: usize = 8;

/// Of a figure's name, so much is counted on beside the cells.
const NAME_WIDTH: usize = 60;

/// The whole page; at most 140 characters wide as long as cells have names of ordinary length.
#[must_use]
pub fn render(findings: &ComparisonFindings, colour: bool) -> String {
    let style = Style { colour };
    let mut lines = head(findings, style);
    for sentence in &findings.summary {
        lines.extend(hanging(sentence));
    }
    let shown: Vec<&FigureFinding> = findings.figures.iter().filter(|figure| is_shown(figure)).take(SHOWN_MAX).collect();
    for cells in blocks(findings, &shown) {
        let mut table = Table::new(&["<figure"]).within(WIDTH);
        cells.iter().for_each(|cell| table.column(findings.cells[*cell].name.clone()));
        if !shown.is_empty() {
            let of_cells = cells.iter().map(|cell| used(&findings.cells[*cell]));
            table.row(std::iter::once("runs that are used".to_owned()).chain(of_cells));
        }
        for figure in &shown {
            table.row(std::iter::once(figure.name.to_string()).chain(cells.iter().map(|cell| of_cell(figure, *cell))));
        }
        part(&mut lines, style, "Median over runs, and where it lies with 99 % confidence", table.lines(style));
    }
    lines.extend(notes(&shown).map(|note| style.faint(note)));
    lines.extend(same(&shown).iter().flat_map(|note| hanging(note)).map(|note| style.faint(&note)));
    differences(&mut lines, findings, &shown, style);
    let left_out = findings.figures.len() - shown.len();
    if left_out > 0 {
        lines.push(style.faint(&format!("  more figures in compare.csv and differences.csv: {left_out}")));
    }
    let warnings = findings.warnings.iter().flat_map(|warning| hanging(warning)).map(|line| style.warning(&line));
    part(&mut lines, style, "Warnings", warnings.collect());
    lines.join("\n") + "\n"
}

fn head(findings: &ComparisonFindings, style: Style) -> Vec<String> {
    let runs: usize = findings.cells.iter().map(|cell| cell.runs).sum();
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let cells = findings.cells.len();
    let mut line = format!("{cells} cell{}, {runs} run{}", plural(cells), plural(runs));
    if let Some(first) = findings.cells.first().filter(|_| cells > 1) {
        line.push_str(&format!(", each cell against {}", first.name));
    }
    vec![style.heading(&line)]
}

/// Main figures that anybody measured, and others that differ.
pub(super) fn is_shown(figure: &FigureFinding) -> bool {
    let differs = figure.differences.iter().any(|difference| difference.judgement == Judgement::Difference);
    differs || figure.is_main && figure.cells.iter().any(|cell| cell.median.is_some())
}

/// Cells that fit side by side, the first of all in each block.
fn blocks(findings: &ComparisonFindings, shown: &[&FigureFinding]) -> Vec<Vec<usize>> {
    let width = |cell: usize| {
        let widest = shown.iter().map(|figure| of_cell(figure, cell).chars().count()).max().unwrap_or(0);
        2 + widest.max(findings.cells[cell].name.chars().count())
    };
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    let mut left = 0;
    for cell in 0..findings.cells.len() {
        match blocks.last_mut() {
            Some(block) if block.len() < 2 || width(cell) <= left => block.push(cell),
            None => blocks.push(vec![cell]),
            Some(_) => {
                blocks.push(vec![0, cell]);
                left = (WIDTH - NAME_WIDTH).saturating_sub(width(0));
            }
        }
        if cell == 0 {
            left = WIDTH - NAME_WIDTH;
        }
        left = left.saturating_sub(width(cell));
    }
    blocks
}

/// `7 of 8`: runs of a cell whose figures are used.
pub(super) fn used(cell: &CellFinding) -> String {
    format!("{} of {}", cell.runs, cell.runs + cell.left_out.len())
}

/// `12.6 s [9.01 s, 13.1 s]`, and how often it is unknown.
pub(super) fn of_cell(figure: &FigureFinding, cell: usize) -> String {
    let CellFigure { median, interval, unknown, .. } = &figure.cells[cell];
    let Some(median) = median else { return "unknown".to_owned() };
    let interval = interval.map_or_else(String::new, |interval| format!(" {}", range(figure, interval)));
    let unknown = if *unknown > 0 { format!(", {unknown} unknown") } else { String::new() };
    format!("{}{interval}{unknown}", value(figure.unit, *median))
}

/// `[9.01 s, 13.1 s]`, marked if it is a mean's.
pub(super) fn range(figure: &FigureFinding, interval: Interval) -> String {
    let mark = if interval.of == Middle::Mean { "*" } else { "" };
    format!("[{}, {}]{mark}", value(figure.unit, interval.low), value(figure.unit, interval.high))
}

fn notes(shown: &[&FigureFinding]) -> impl Iterator<Item = &'static str> {
    let intervals = || shown.iter().flat_map(|figure| &figure.cells).filter_map(|cell| cell.interval);
    let of_mean = intervals().any(|interval| interval.of == Middle::Mean);
    of_mean.then_some("  *: of the mean, by Student's t; that of a median takes 8 runs").into_iter()
}

/// Figures that are the same in all runs, by all their names.
fn same(shown: &[&FigureFinding]) -> Vec<String> {
    let with_others = shown.iter().filter(|figure| !figure.also.is_empty());
    with_others.map(|figure| format!("{} is in all runs the same as {}", figure.name, other_names(figure))).collect()
}

/// What else a figure is called; of many names, some.
pub(super) fn other_names(figure: &FigureFinding) -> String {
    let mut names: Vec<String> = figure.also.iter().take(NAMES_MAX).map(ToString::to_string).collect();
    let more = figure.also.len() - names.len();
    names.extend((more > 0).then(|| format!("{more} more")));
    names.join(", ")
}

fn differences(lines: &mut Vec<String>, findings: &ComparisonFindings, shown: &[&FigureFinding], style: Style) {
    let mut table = Table::new(&["<figure", "<cell", "difference", "<99 % interval", "p", "<shown", "<seen from", "<drift"]).within(WIDTH);
    for figure in shown {
        for (at, difference) in figure.differences.iter().enumerate() {
            let name = if at == 0 { figure.name.to_string() } else { String::new() };
            let amount = difference.difference.map_or_else(String::new, |by| signed(figure, by));
            let interval = difference.interval.map_or_else(String::new, |interval| range(figure, interval));
            let (shown, from) = said(figure, difference);
            let drift = drift_tags(figure, &[&findings.cells[0].name, &difference.cell]);
            table.row([name, difference.cell.clone(), amount, interval, p(difference), shown.to_owned(), from, drift]);
        }
    }
    let title = match findings.basis {
        Basis::Runs => "Differences of the means over runs",
        Basis::Seconds => "Differences of the means over seconds of two runs",
    };
    part(lines, style, title, table.lines(style));
    if findings.tests > 0 {
        let questions = format!("p respects all {} questions that were asked", findings.tests);
        let note = format!("  {questions}; the interval is of each figure alone; seen from: found in 95 of 100 comparisons");
        lines.push(style.faint(&note));
    }
    lines.extend(findings.deals.iter().map(|deals| style.faint(&format!("  {}", dealt(deals)))));
}

/// How many ways of dealing runs out were looked at, and what that leaves open.
pub(super) fn dealt(deals: &Deals) -> String {
    let (ways, looked_at) = (value(Unit::Count, deals.ways), value(Unit::Count, deals.looked_at));
    let how = if deals.looked_at < deals.ways { format!("{looked_at} of the {ways}") } else { format!("all {ways}") };
    format!("{how} ways of dealing the runs of two cells out anew were looked at: no p is below {}", probability(deals.p_min))
}

/// `+3.10 s`, `-198/s`.
pub(super) fn signed(figure: &FigureFinding, by: f64) -> String {
    let sign = if by > 0.0 { "+" } else { "" };
    format!("{sign}{}", value(figure.unit, by))
}

/// The greater of both probabilities that decide.
pub(super) fn p(difference: &DifferenceFinding) -> String {
    let decides = difference.p_adjusted.map(|p| p.max(difference.p_permutation.unwrap_or(0.0)));
    decides.map_or_else(String::new, probability)
}

/// What is shown, and from which size, or with how many runs, something would be.
fn said(figure: &FigureFinding, difference: &DifferenceFinding) -> (&'static str, String) {
    match difference.judgement {
        Judgement::Difference if difference.difference.is_some_and(|by| by > 0.0) => ("higher", String::new()),
        Judgement::Difference => ("lower", String::new()),
        Judgement::NoDifferenceShown { smallest_detectable } => ("no", value(figure.unit, smallest_detectable)),
        Judgement::TooFewRuns { needed, is_apart: true } => ("no, no overlap", format!("{needed} runs")),
        Judgement::TooFewRuns { needed, .. } => ("no", format!("{needed} runs")),
        Judgement::OneRunEach => ("one run each", String::new()),
        Judgement::SameInEveryRun => ("the same", String::new()),
        Judgement::NotMeasured => ("not measured", String::new()),
        Judgement::KnownInFewRuns { known, of } => ("not compared", format!("known in {known} of {of} runs")),
    }
}

fn part(lines: &mut Vec<String>, style: Style, title: &str, of_part: Vec<String>) {
    if !of_part.is_empty() {
        lines.extend([String::new(), style.heading(title)]);
        lines.extend(of_part);
    }
}

fn hanging(sentence: &str) -> Vec<String> {
    let lines = wrapped(sentence, WIDTH - 4).into_iter().enumerate();
    lines.map(|(at, line)| format!("{}{line}", if at == 0 { "  - " } else { "    " })).collect()
}
