//! What a comparison says, as plain values: the tables show them, `compare.json` holds them.
//!
//! Field names are an interface: `docs/compare.md` lists them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::analyze::compare::model::FigureName;
use crate::analyze::findings::Verdict;
use crate::plan::model::Unit;

/// All findings of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonFindings {
    /// What was found, in sentences, the most important first.
    pub summary: Vec<String>,
    /// Why figures may not be comparable, and whether the machine drifted.
    pub warnings: Vec<String>,
    /// What the differences rest on.
    pub basis: Basis,
    /// Chance that any difference at all is claimed where there is none.
    pub significance: f64,
    /// How many questions (figure and pair of cells) were asked together.
    pub tests: usize,
    /// How many ways of dealing the runs out anew were looked at; `None`: nobody had to.
    pub deals: Option<Deals>,
    /// Runs of each cell that find a difference of two standard deviations of a main figure in 95 of 100 comparisons; `None`: no main
    /// figure of runs was compared.
    pub runs_suggested: Option<usize>,
    /// Cells in their order, the baseline first; no controls.
    pub cells: Vec<CellFinding>,
    /// All runs, in the order of the sequence.
    pub runs: Vec<RunFinding>,
    /// Whether runs of the cells alternate, so that drift of the machine meets all of them.
    pub is_interleaved: bool,
    /// What drifted; empty also if nobody could tell.
    pub drift: Vec<DriftFinding>,
    /// Figures in the order of the runs, the main ones first.
    pub figures: Vec<FigureFinding>,
}

impl ComparisonFindings {
    /// Whether any cell has a run that can be used.
    #[must_use]
    pub fn has_usable_runs(&self) -> bool {
        self.cells.iter().any(|cell| cell.runs > 0)
    }
}

/// Ways of dealing the runs of two cells out anew, of the pair with the most of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Deals {
    /// How many there are.
    pub ways: f64,
    /// How many were looked at: all of them, or so many random ones.
    pub looked_at: f64,
    /// No probability by dealing out can be below this, however far cells are apart.
    pub p_min: f64,
}

/// What is taken as one observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// A run: what differs between cells is set against what differs between runs.
    Runs,
    /// A second, since there is one run in each cell: what differs from run to run is not seen.
    Seconds,
}

/// One run and where it belongs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunFinding {
    /// Its place in the sequence, from 1.
    pub order: u32,
    /// Its folder.
    pub name: String,
    /// Its cell.
    pub cell: String,
    /// Whether it is a control, which is in no cell's figures.
    pub is_control: bool,
    /// Start of its baseline, RFC 3339 in UTC.
    pub started_at: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Why it is left out of all figures; `None`: it is used.
    pub left_out: Option<String>,
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellFinding {
    /// Its name.
    pub name: String,
    /// What was varied, and its values here.
    pub settings: Vec<(String, String)>,
    /// Runs whose figures are used.
    pub runs: usize,
    /// Those that are not, and why.
    pub left_out: Vec<LeftOutRun>,
    /// All its runs by verdict.
    pub verdicts: BTreeMap<String, usize>,
    /// Latency by percentile: the median over its runs.
    pub latencies: Vec<CellLatency>,
}

/// A run without figures that could be believed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOutRun {
    /// Its folder.
    pub name: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Why it is left out: its verdict, UNKNOWN or INTERRUPTED; or the step that was not what the plan wanted.
    pub why: String,
}

/// Latency of one cell by percentile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellLatency {
    /// Of which group and window.
    pub name: FigureName,
    /// Percentile, then the median, the least and the greatest over the runs, in milliseconds.
    pub points: Vec<[f64; 4]>,
}

/// One figure in all cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureFinding {
    /// Its name.
    pub name: FigureName,
    /// Further names: figures with the same values in all runs are one question, and stand here once.
    pub also: Vec<FigureName>,
    /// What its values count.
    pub unit: Unit,
    /// Whether it is one of those that are asked about first.
    pub is_main: bool,
    /// What it is, in a few words.
    pub about: String,
    /// In the order of the cells.
    pub cells: Vec<CellFigure>,
    /// Each cell but the first against the first, in the order of the cells.
    pub differences: Vec<DifferenceFinding>,
    /// How drift was seen in it; empty also if it is no main figure, or nobody could tell.
    pub drift: Vec<Drift>,
}

impl FigureFinding {
    /// Whether this is one of its names.
    #[must_use]
    pub fn is_called(&self, is_it: impl Fn(&FigureName) -> bool) -> bool {
        is_it(&self.name) || self.also.iter().any(is_it)
    }
}

/// One figure in one cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CellFigure {
    /// Runs in which it is known.
    pub runs: usize,
    /// Runs in which it is unknown.
    pub unknown: usize,
    /// Median over runs; `None` without any, as all below.
    pub median: Option<f64>,
    /// Mean over runs.
    pub mean: Option<f64>,
    /// Standard deviation over runs; `None` also with a single one.
    pub standard_deviation: Option<f64>,
    /// The least.
    pub min: Option<f64>,
    /// The greatest.
    pub max: Option<f64>,
    /// Where the cell's true middle lies.
    pub interval: Option<Interval>,
    /// By how much the straight line through its values rises from the cell's first run to its last, whether that is chance or not; `None`
    /// with fewer than three.
    pub trend: Option<f64>,
    /// Values in the order of the runs.
    pub values: Vec<f64>,
}

/// Where a true value lies, with 99 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Of what.
    pub of: Middle,
    /// Not below.
    pub low: f64,
    /// Not above.
    pub high: f64,
}

/// Which middle of a cell's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Middle {
    /// The median, between two of the values; needs eight.
    Median,
    /// The mean, by Student's t.
    Mean,
    /// The difference of two means, by Welch's t.
    Difference,
}

/// One figure in one cell, against the baseline cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DifferenceFinding {
    /// The cell's name.
    pub cell: String,
    /// What an observation is.
    pub basis: Basis,
    /// Mean of the cell minus mean of the baseline cell; `None`: one of them is unknown.
    pub difference: Option<f64>,
    /// Where the true difference lies, for this figure alone; `None`: too few observations.
    pub interval: Option<Interval>,
    /// Probability of such a difference by chance, for this figure alone.
    pub p: Option<f64>,
    /// The same, respecting all questions that were asked (Holm).
    pub p_adjusted: Option<f64>,
    /// The same by exchanging runs between the cells (Westfall and Young); `None`: the other did not ask for it, or seconds are compared.
    pub p_permutation: Option<f64>,
    /// What may be said.
    pub judgement: Judgement,
}

/// What may be said of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Judgement {
    /// There is one.
    Difference,
    /// None is shown, which does not mean that there is none.
    NoDifferenceShown {
        /// A difference of so much would have been seen in 95 of 100 comparisons like this one.
        smallest_detectable: f64,
    },
    /// Whatever the values, so few runs cannot show a difference.
    TooFewRuns {
        /// So many in each of the two cells could.
        needed: usize,
        /// Whether all values of one cell lie above all of the other.
        is_apart: bool,
    },
    /// One run in each cell, and no seconds to look into.
    OneRunEach,
    /// All runs of both cells have the very same value.
    SameInEveryRun,
    /// In one of the cells nothing was measured.
    NotMeasured,
    /// In one of the cells it is unknown in more than half of the runs: whatever the others have, they need not be like those.
    KnownInFewRuns {
        /// Runs of that cell in which it is known.
        known: usize,
        /// Runs of that cell that are used.
        of: usize,
    },
}

/// A figure that changed while the comparison went on, whatever the setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DriftFinding {
    /// Its name.
    pub name: FigureName,
    /// What its values count.
    pub unit: Unit,
    /// How it was seen.
    pub seen: Drift,
}

/// How drift was seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Drift {
    /// A control does not fit among the runs of the first cell.
    Control {
        /// The control's folder.
        run: String,
        /// Its place in the sequence.
        order: u32,
        /// Its value.
        value: f64,
        /// Mean of the first cell's runs.
        mean: f64,
    },
    /// Values rise or fall with the place in the sequence.
    Trend {
        /// From the first run to the last.
        change: f64,
    },
    /// Values of one cell rise or fall so, and those of all cells together do not.
    TrendOfCell {
        /// The cell's name.
        cell: String,
        /// From the cell's first run to its last.
        change: f64,
    },
}
