//! Whether runs with different settings differ, and whether that may be believed.
//!
//! Pure: takes runs as values ([`model`]), gives values ([`findings`]). Reads no folders and starts no runs: whoever carries out a
//! comparison does, and `report` shows what was found.
//!
//! The argument, in short (docs/compare.md has it in plain words):
//!
//! * **A run is one observation.** Thousands of records within a run share one cluster and one moment; what differs from run to run is the
//!   noise that a setting's effect must be told from. Cells' means over runs are set against each other by Welch's t (`welch`), since
//!   nothing says that cells scatter alike.
//! * **Order counts.** Runs that follow each other are alike. The variance is widened by what the lag-1 correlation of the residuals makes
//!   of the order (`order`): by nothing if cells alternate, by much if all runs of one cell came first.
//! * **Agreement is not certainty.** Five runs that agree to the digit are known to that digit and no better: the variance has a floor
//!   (`sample`).
//! * **No distribution is believed in.** Outages are 9 s or 13 s and nothing between: by chance all runs of a cell may have the same one of
//!   both, and t, with no variance to speak of, would be certain. So each difference must also stand out among all ways of dealing the same
//!   runs out to the cells (`exchange`). This is why few runs can show nothing: with n each, two of the C(2n, n) deals look as
//!   good as the one that happened.
//! * **Many questions.** t respects all of them by Holm's procedure (`together`), the deals by the greatest t of any figure in each deal. A
//!   difference is claimed if both stay within 1 %, so that a whole comparison of equal settings claims any at all in at most one of
//!   100 cases.
//! * **One question once.** Figures with the same values in all runs are one, whatever they are called (`alike`).
//! * **None shown is not none.** With each goes the difference that would have been seen in 95 of 100 comparisons with this noise, these
//!   runs and these questions (`student`), by a margin for what it takes both to agree (`together`).

mod alike;
mod checks;
mod drift;
mod exchange;
mod figures;
pub mod findings;
pub mod model;
mod order;
mod sample;
mod seconds;
mod student;
mod together;
pub mod values;
mod welch;
pub mod words;

use std::collections::BTreeMap;

use crate::analyze::compare::checks::{is_usable, left_out};
use crate::analyze::compare::figures::UsedCell;
use crate::analyze::compare::findings::{
    Basis, CellFinding, CellLatency, ComparisonFindings, DifferenceFinding, FigureFinding, Judgement, LeftOutRun, RunFinding,
};
use crate::analyze::compare::model::{CellRuns, FigureName, LatencyPoints, RunFigures};
use crate::analyze::compare::sample::{float, median};
use crate::analyze::compare::together::{can_be_shown, cost};

/// Chance that a comparison claims any difference where there is none.
pub const SIGNIFICANCE: f64 = 0.01;

/// Widening of a difference's variance by drift above which cells count as one after the other; 1 if order made no difference.
const EXPOSURE_MAX: f64 = 1.2;

/// No comparison is asked to have more runs of a cell.
const RUNS_MAX: usize = 1_000;

/// What a comparison takes besides runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Of the random deals; the same seed gives the same findings.
    pub seed: u64,
    /// Ways of dealing runs out to two cells that are looked at: all, if they are no more than that, else so many random ones; more where
    /// many cells share the chance of being wrong.
    pub permutations: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { seed: 1, permutations: 4_999 }
    }
}

/// Sets each cell against the first. Without cells, or without usable runs, nothing is found and nothing fails.
#[must_use]
pub fn compare(cells: &[CellRuns], options: Options) -> ComparisonFindings {
    let (mut controls, mut used) = (UsedCell { name: "", runs: Vec::new() }, Vec::new());
    for cell in cells {
        let mut runs: Vec<&RunFigures> = cell.runs.iter().filter(|run| is_usable(run)).collect();
        runs.sort_by_key(|run| run.order);
        if cell.is_control {
            controls.runs.extend(runs);
        } else {
            used.push(UsedCell { name: &cell.name, runs });
        }
    }
    let basis = if used.len() > 1 && used.iter().all(|cell| cell.runs.len() == 1) { Basis::Seconds } else { Basis::Runs };
    let figures::Asked { mut figures, tests, deals } = figures::figures(&used, basis, options);
    let findings: Vec<CellFinding> = cells.iter().filter(|cell| !cell.is_control).zip(&used).map(cell_finding).collect();
    let drift = drift::drift(&used, &controls, &mut figures);
    let is_interleaved = is_interleaved(&used);
    let mut warnings = checks::warnings(cells);
    if !is_interleaved && basis == Basis::Runs {
        warnings
            .push("runs of the cells did not alternate: a change of the machine meanwhile can hardly be told from a difference".to_owned());
    }
    warnings.extend(drift.iter().map(|drift| words::drift(&drift.name, drift.unit, &drift.seen, is_interleaved)));
    let mut found = ComparisonFindings {
        summary: Vec::new(),
        warnings,
        basis,
        significance: SIGNIFICANCE,
        tests,
        deals,
        runs_suggested: suggested(basis, &figures),
        cells: findings,
        runs: runs(cells),
        is_interleaved,
        drift,
        figures,
    };
    found.summary = words::summary(&found);
    found
}

/// Runs of each cell that find a difference of two standard deviations in 95 of 100 comparisons, if so many questions of equal weight are
/// asked, over so many pairs of cells.
#[must_use]
pub fn runs_needed(tests: f64, pairs: usize) -> usize {
    let finds = |runs: &usize| can_be_shown(SIGNIFICANCE, [*runs; 2], pairs) && detectable_by(*runs, tests, pairs) <= 2.0;
    (2..RUNS_MAX).find(finds).unwrap_or(RUNS_MAX)
}

/// The same difference that so many runs of each cell find, in standard deviations.
fn detectable_by(runs: usize, tests: f64, pairs: usize) -> f64 {
    let errors = student::detectable(SIGNIFICANCE / tests.max(1.0), 2.0 * (float(runs) - 1.0));
    cost(SIGNIFICANCE, [runs; 2], pairs) * errors * (2.0 / float(runs)).sqrt()
}

/// For as many questions as were asked of main figures, or would have been with more runs.
fn suggested(basis: Basis, figures: &[FigureFinding]) -> Option<usize> {
    let is_asked = |difference: &&DifferenceFinding| {
        matches!(difference.judgement, Judgement::Difference | Judgement::NoDifferenceShown { .. } | Judgement::TooFewRuns { .. })
    };
    let asked = |is_main: bool| {
        let figures = figures.iter().filter(move |figure| figure.is_main == is_main);
        figures.flat_map(|figure| &figure.differences).filter(is_asked).count()
    };
    let (main, others) = (asked(true), asked(false));
    let pairs = figures.first().map_or(0, |figure| figure.differences.len());
    let share = if others > 0 { 2.0 } else { 1.0 };
    (basis == Basis::Runs && main > 0).then(|| runs_needed(share * float(main), pairs))
}

/// Whether drift would meet every cell as it meets the first.
fn is_interleaved(used: &[UsedCell<'_>]) -> bool {
    let Some((first, others)) = used.split_first() else { return true };
    others.iter().filter(|cell| !cell.runs.is_empty() && !first.runs.is_empty()).all(|cell| {
        let weight = |of: &UsedCell<'_>| 1.0 / float(of.runs.len());
        let mut places: Vec<(u32, usize, f64)> = first.runs.iter().map(|run| (run.order, 0, -weight(first))).collect();
        places.extend(cell.runs.iter().map(|run| (run.order, 1, weight(cell))));
        places.sort_by_key(|(order, ..)| *order);
        let places: Vec<(usize, f64)> = places.into_iter().map(|(_, cell, weight)| (cell, weight)).collect();
        order::exposure(&places) <= EXPOSURE_MAX
    })
}

fn cell_finding((cell, used): (&CellRuns, &UsedCell<'_>)) -> CellFinding {
    let mut verdicts = BTreeMap::new();
    cell.runs.iter().for_each(|run| *verdicts.entry(run.verdict.word().to_owned()).or_default() += 1);
    let unused = |run: &RunFigures| Some(LeftOutRun { name: run.name.clone(), verdict: run.verdict, why: left_out(run)? });
    CellFinding {
        name: cell.name.clone(),
        settings: cell.settings.clone(),
        runs: used.runs.len(),
        left_out: cell.runs.iter().filter_map(unused).collect(),
        verdicts,
        latencies: latencies(&used.runs),
    }
}

fn runs(cells: &[CellRuns]) -> Vec<RunFinding> {
    let of_cell = |cell: &CellRuns, run: &RunFigures| RunFinding {
        order: run.order,
        name: run.name.clone(),
        cell: cell.name.clone(),
        is_control: cell.is_control,
        started_at: run.started_at.clone(),
        verdict: run.verdict,
        left_out: left_out(run),
    };
    let mut runs: Vec<RunFinding> = cells.iter().flat_map(|cell| cell.runs.iter().map(move |run| of_cell(cell, run))).collect();
    runs.sort_by_key(|run| run.order);
    runs
}

/// Latency by percentile, over the runs that have it.
fn latencies(runs: &[&RunFigures]) -> Vec<CellLatency> {
    let mut by_name: BTreeMap<&FigureName, Vec<&LatencyPoints>> = BTreeMap::new();
    for latency in runs.iter().flat_map(|run| &run.latencies) {
        by_name.entry(&latency.name).or_default().push(latency);
    }
    let point = |percentile: f64, of_runs: &[&LatencyPoints]| {
        let at =
            |latency: &&LatencyPoints| latency.points.iter().find(|(known, _)| known.total_cmp(&percentile).is_eq()).map(|(_, ms)| *ms);
        let mut values: Vec<f64> = of_runs.iter().filter_map(at).collect();
        values.sort_by(f64::total_cmp);
        Some([percentile, median(&values)?, *values.first()?, *values.last()?])
    };
    let of_name = |(name, of_runs): (&FigureName, Vec<&LatencyPoints>)| CellLatency {
        name: name.clone(),
        points: of_runs[0].points.iter().filter_map(|(percentile, _)| point(*percentile, &of_runs)).collect(),
    };
    by_name.into_iter().map(of_name).collect()
}

#[cfg(test)]
mod tests;
