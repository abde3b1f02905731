//! Every figure in every cell, and each cell against the first. The story of the tests, one pair of cells after the other.

use std::collections::BTreeMap;

use crate::analyze::compare::alike::{Once, once};
use crate::analyze::compare::exchange::{Dealt, OTHER_SHARE, deals_max, p_values};
use crate::analyze::compare::findings::{Basis, Deals, DifferenceFinding, FigureFinding, Judgement};
use crate::analyze::compare::model::{FigureName, RunFigure, RunFigures};
use crate::analyze::compare::sample::{Sample, cell_figure, float, mean, variance_floor};
use crate::analyze::compare::together::{adjusted, can_be_shown, cost, runs_needed, ways, weights};
use crate::analyze::compare::welch::Welch;
use crate::analyze::compare::{Options, SIGNIFICANCE, seconds};

/// A cell with the runs that can be used, in the order of the sequence.
#[derive(Clone, Debug)]
pub(super) struct UsedCell<'a> {
    pub(super) name: &'a str,
    pub(super) runs: Vec<&'a RunFigures>,
}

impl UsedCell<'_> {
    /// A figure by run.
    pub(super) fn values(&self, name: &FigureName) -> Vec<Option<f64>> {
        self.runs.iter().map(|run| run.figures.iter().find(|figure| figure.name == *name)?.value).collect()
    }
}

/// A difference that can be tested.
struct Test {
    figure: usize,
    /// Which of the figure's differences.
    pair: usize,
    welch: Welch,
    is_main: bool,
}

/// What was asked, and what came of it.
pub(super) struct Asked {
    /// All figures, the main ones first.
    pub(super) figures: Vec<FigureFinding>,
    /// How many questions were asked.
    pub(super) tests: usize,
    /// How runs were dealt out anew; `None`: they were not.
    pub(super) deals: Option<Deals>,
}

/// Asks for every figure and pair of cells.
pub(super) fn figures(cells: &[UsedCell<'_>], basis: Basis, options: Options) -> Asked {
    let names = names(cells);
    // Of single runs, two values that agree say nothing of their seconds.
    let asked = if basis == Basis::Runs { once(cells, names) } else { names.into_iter().map(Once::alone).collect() };
    let mut figures: Vec<FigureFinding> = asked.into_iter().map(|once| of_cells(cells, once)).collect();
    let mut tests = Vec::new();
    for (at, figure) in figures.iter_mut().enumerate() {
        for (pair, cell) in cells.iter().enumerate().skip(1) {
            let welch = match basis {
                Basis::Runs => of_runs(&cells[0], cell, figure, cells.len() - 1),
                Basis::Seconds => of_seconds(&cells[0], cell, figure),
            };
            let (difference, welch) = started(cell.name, basis, figure, pair, welch);
            figure.differences.push(difference);
            tests.extend(welch.map(|welch| Test { figure: at, pair: pair - 1, welch, is_main: figure.is_main }));
        }
    }
    let main = tests.iter().filter(|test| test.is_main).count();
    let [of_main, of_others] = weights(main, tests.len() - main);
    let weight = |test: &Test| if test.is_main { of_main } else { of_others };
    let p = adjusted(&tests.iter().map(|test| (test.welch.p(), weight(test))).collect::<Vec<_>>());
    tests.iter().zip(p).for_each(|(test, p)| difference_of(&mut figures, test).p_adjusted = Some(p));
    let deals = if basis == Basis::Runs { exchange(cells, &mut figures, &tests, options) } else { None };
    let all: f64 = tests.iter().map(weight).sum();
    for test in &tests {
        let sizes = [0, test.pair + 1].map(|cell| figures[test.figure].cells[cell].runs);
        let cost = if basis == Basis::Runs { cost(SIGNIFICANCE, sizes, cells.len() - 1) } else { 1.0 };
        let smallest_detectable = cost * test.welch.detectable(SIGNIFICANCE * weight(test) / all);
        let difference = difference_of(&mut figures, test);
        difference.judgement = judged(difference, smallest_detectable);
    }
    Asked { figures, tests: tests.len(), deals }
}

/// What each run calls its figures: in the order of the first run that has one, the main ones first.
fn names<'a>(cells: &[UsedCell<'a>]) -> Vec<&'a RunFigure> {
    let mut seen = BTreeMap::new();
    for figure in cells.iter().flat_map(|cell| &cell.runs).flat_map(|run| &run.figures) {
        let next = seen.len();
        seen.entry(&figure.name).or_insert((next, figure));
    }
    let mut figures: Vec<(usize, &RunFigure)> = seen.into_values().collect();
    figures.sort_by_key(|(order, figure)| (!figure.is_main, *order));
    figures.into_iter().map(|(_, figure)| figure).collect()
}

fn of_cells(cells: &[UsedCell<'_>], Once { figure, also }: Once<'_>) -> FigureFinding {
    let of_cell = |cell: &UsedCell<'_>| {
        let values = cell.values(&figure.name);
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        let unknown = values.len() - known.len();
        cell_figure(known, unknown, figure.unit)
    };
    FigureFinding {
        name: figure.name.clone(),
        also,
        unit: figure.unit,
        is_main: figure.is_main,
        about: figure.about.clone(),
        cells: cells.iter().map(of_cell).collect(),
        differences: Vec::new(),
        drift: Vec::new(),
    }
}

/// A test, or why there is none.
type Tested = Result<Welch, Judgement>;

fn of_runs(first: &UsedCell<'_>, second: &UsedCell<'_>, figure: &FigureFinding, pairs: usize) -> Tested {
    let [from, to] = [first, second].map(|cell| in_sequence(cell, &figure.name));
    let [of_first, of_second] = [&from, &to].map(|values| values.iter().map(|(_, value)| *value).collect::<Vec<f64>>());
    let samples = [Sample::of(&of_first, figure.unit), Sample::of(&of_second, figure.unit)];
    let [Some(one), Some(other)] = samples else { return Err(Judgement::NotMeasured) };
    if let Some(few) = known_in_few([(from.len(), first.runs.len()), (to.len(), second.runs.len())]) {
        return Err(few);
    }
    let is_known_in_all = from.len() == first.runs.len() && to.len() == second.runs.len();
    if is_known_in_all && of_second.iter().chain(&of_first).all(|value| value.total_cmp(&of_first[0]).is_eq()) {
        return Err(Judgement::SameInEveryRun);
    }
    if !can_be_shown(SIGNIFICANCE, [from.len(), to.len()], pairs) {
        return Err(Judgement::TooFewRuns { needed: runs_needed(SIGNIFICANCE, pairs), is_apart: are_apart(&of_first, &of_second) });
    }
    let mut observations: Vec<(u32, usize, f64)> = from.iter().map(|(order, value)| (*order, 0, *value)).collect();
    observations.extend(to.iter().map(|(order, value)| (*order, 1, *value)));
    observations.sort_by_key(|(order, ..)| *order);
    let observations: Vec<(usize, f64)> = observations.into_iter().map(|(_, cell, value)| (cell, value)).collect();
    Ok(Welch::of_runs([one, other], &observations))
}

/// Why nothing is asked, if one of two cells knows the figure in fewer than half of its runs; of (known, all), the worse one.
fn known_in_few(cells: [(usize, usize); 2]) -> Option<Judgement> {
    let few = cells.into_iter().filter(|(known, of)| 2 * known < *of);
    let worst = few.min_by(|(known, of), (other_known, other_of)| (known * other_of).cmp(&(other_known * of)));
    worst.map(|(known, of)| Judgement::KnownInFewRuns { known, of })
}

/// Place in the sequence and value of the runs in which the figure is known.
fn in_sequence(cell: &UsedCell<'_>, name: &FigureName) -> Vec<(u32, f64)> {
    cell.runs.iter().zip(cell.values(name)).filter_map(|(run, value)| Some((run.order, value?))).collect()
}

/// Whether all values of the one lie above all of the other.
fn are_apart(one: &[f64], other: &[f64]) -> bool {
    let ends = |values: &[f64]| values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), v| (min.min(*v), max.max(*v)));
    let ((one_min, one_max), (other_min, other_max)) = (ends(one), ends(other));
    one_max < other_min || other_max < one_min
}

fn of_seconds(first: &UsedCell<'_>, second: &UsedCell<'_>, figure: &FigureFinding) -> Tested {
    if [first, second].iter().any(|cell| cell.values(&figure.name).iter().flatten().next().is_none()) {
        return Err(Judgement::NotMeasured);
    }
    let series = |cell: &UsedCell<'_>| cell.runs.iter().flat_map(|run| &run.series).find(|series| series.name == figure.name).cloned();
    let welch = series(first).zip(series(second)).and_then(|(first, second)| seconds::welch(&first, &second));
    welch.ok_or(Judgement::OneRunEach)
}

/// A difference before it is judged with all others.
fn started(cell: &str, basis: Basis, figure: &FigureFinding, pair: usize, tested: Tested) -> (DifferenceFinding, Option<Welch>) {
    let means = figure.cells[0].mean.zip(figure.cells[pair].mean);
    let welch = tested.ok();
    let finding = DifferenceFinding {
        cell: cell.to_owned(),
        basis,
        difference: welch.map(|welch| welch.difference).or_else(|| means.map(|(from, to)| to - from)),
        interval: welch.and_then(|welch| welch.interval()),
        p: welch.map(|welch| welch.p()),
        p_adjusted: None,
        p_permutation: None,
        judgement: tested.err().unwrap_or(Judgement::NotMeasured),
    };
    (finding, welch)
}

fn difference_of<'a>(figures: &'a mut [FigureFinding], test: &Test) -> &'a mut DifferenceFinding {
    &mut figures[test.figure].differences[test.pair]
}

/// The second opinion, asked for only where the first has found something.
fn exchange(cells: &[UsedCell<'_>], figures: &mut [FigureFinding], tests: &[Test], options: Options) -> Option<Deals> {
    let pairs = cells.len().saturating_sub(1);
    let mut most: Option<Deals> = None;
    for pair in 0..pairs {
        let of_pair: Vec<&Test> = tests.iter().filter(|test| test.pair == pair).collect();
        let is_found = |test: &&Test| figures[test.figure].differences[pair].p_adjusted.is_some_and(|p| p <= SIGNIFICANCE);
        if !of_pair.iter().any(is_found) {
            continue;
        }
        let dealt: Vec<Dealt> = of_pair.iter().map(|test| dealt(&cells[0], &cells[pair + 1], &figures[test.figure])).collect();
        let (first, second) = (cells[0].runs.len(), cells[pair + 1].runs.len());
        let answer = p_values(&dealt, first, first + second, deals_max(options.permutations, pairs), options.seed);
        let deals = Deals { ways: ways(first, second), looked_at: answer.deals, p_min: (float(pairs) / answer.deals).min(1.0) };
        most = most.filter(|most| most.ways >= deals.ways).or(Some(deals));
        for (test, p) in of_pair.into_iter().zip(answer.p) {
            // Each pair is dealt by itself: the chance of being wrong adds up over pairs.
            difference_of(figures, test).p_permutation = Some((p * float(pairs)).min(1.0));
        }
    }
    most
}

fn dealt(first: &UsedCell<'_>, second: &UsedCell<'_>, figure: &FigureFinding) -> Dealt {
    let mut values = first.values(&figure.name);
    values.extend(second.values(&figure.name));
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    let floor = variance_floor(figure.unit, mean(&known).unwrap_or(0.0));
    Dealt::new(&values, floor, if figure.is_main { 1.0 } else { OTHER_SHARE })
}

/// Both opinions must agree that there is a difference; of seconds there is only one.
fn judged(difference: &DifferenceFinding, smallest_detectable: f64) -> Judgement {
    let is_shown = |p: Option<f64>| p.is_some_and(|p| p <= SIGNIFICANCE);
    let by_exchange = difference.basis == Basis::Seconds || is_shown(difference.p_permutation);
    if is_shown(difference.p_adjusted) && by_exchange {
        Judgement::Difference
    } else {
        Judgement::NoDifferenceShown { smallest_detectable }
    }
}
