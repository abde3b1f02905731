//! What is compared: runs as values, each with its figures, gathered in cells. A cell is one setting; its runs are repeats of it.
//!
//! Nothing is read or judged here. Filled by whoever carries out or finds the runs; read by [`compare`](super::compare) and by the tables.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::analyze::findings::Verdict;
pub use crate::plan::model::Unit;

/// One setting and the runs made with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellRuns {
    /// Short and unlike the others' names; of a control, the first cell's.
    pub name: String,
    /// Keys that were varied and their values in this cell, in the same order in every cell; empty if nobody knows.
    pub settings: Vec<(String, String)>,
    /// Whether these runs only repeat the first cell at the beginning and at the end, to show drift: they are in no cell's figures.
    pub is_control: bool,
    /// The runs, in any order; those without a usable verdict too, they are counted here.
    pub runs: Vec<RunFigures>,
}

/// One run as a comparison sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFigures {
    /// The run's folder, by its last name.
    pub name: String,
    /// Its place in the sequence of all runs that are compared, controls included; from 1.
    pub order: u32,
    /// Start of its baseline, RFC 3339 in UTC.
    pub started_at: String,
    /// SHA-256 of its plan.
    pub plan_sha256: String,
    /// SHA-256 of its plan without the values that were varied; `None`: nobody knows what was.
    pub common_plan_sha256: Option<String>,
    /// As in [`RunStarted`](crate::record::run::RunStarted).
    pub versions: BTreeMap<String, String>,
    /// As in [`RunStarted`](crate::record::run::RunStarted).
    pub machine: BTreeMap<String, String>,
    /// UNKNOWN and INTERRUPTED runs are left out of all figures.
    pub verdict: Verdict,
    /// The first step that was not what the plan wanted, with what is wrong: what such a run suffered is not what it is compared by, and it
    /// is left out of all figures too. `None`: every step was done and seen.
    pub unconfirmed: Option<String>,
    /// Every figure, the most telling first; each name once.
    pub figures: Vec<RunFigure>,
    /// Figures second by second, for runs that stand alone in their cell; may be empty.
    pub series: Vec<RunSeries>,
    /// Latency by percentile, to be drawn; may be empty.
    pub latencies: Vec<LatencyPoints>,
}

/// What a figure is called: the same in every run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FigureName {
    /// Such as `outage.max`.
    pub metric: String,
    /// Of which group; `None`: over all.
    pub group: Option<String>,
    /// Over which part of the run, such as `baseline` or `step 2`.
    pub window: String,
}

impl fmt::Display for FigureName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.metric)?;
        if let Some(group) = &self.group {
            write!(f, " of {group}")?;
        }
        if self.window != "run" {
            write!(f, " ({})", self.window)?;
        }
        Ok(())
    }
}

/// Figures that are asked about first, by the windows in which they are: what a change costs in outages and records, what it costs in
/// latency, and what being told of it costs in requests and CPU.
const MAIN: [(&str, &[&str]); 15] = [
    ("outage.max", &["steps"]),
    ("outage.median", &["steps"]),
    ("records.failed", &["run"]),
    ("records.indeterminate", &["run"]),
    ("latency.p50", &["baseline", "after"]),
    ("latency.p99", &["baseline", "after"]),
    ("latency.p99.9", &["baseline", "after"]),
    ("metadata-requests.per-second-per-1000-clients", &["baseline", "run"]),
    ("metadata-requests.by-age.per-producer", &["run"]),
    ("growth.cached.median", &["steps"]),
    ("growth.cached.max", &["steps"]),
    ("layer.client-cache.max", &["steps"]),
    ("broker.cpu-percent", &["baseline", "run"]),
    ("first-ack.median", &["run"]),
    ("first-ack.max", &["run"]),
];

impl FigureName {
    /// Whether it is one of those that are asked about first; always over all groups.
    #[must_use]
    pub fn is_main(&self) -> bool {
        self.main_place().is_some()
    }

    /// Its place among those that are asked about first; `None`: it is none of them.
    #[must_use]
    pub fn main_place(&self) -> Option<usize> {
        let is_it = |(metric, windows): &(&str, &[&str])| *metric == self.metric && windows.contains(&self.window.as_str());
        if self.group.is_none() { MAIN.iter().position(is_it) } else { None }
    }
}

/// A figure of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFigure {
    /// Its name.
    pub name: FigureName,
    /// What its value counts.
    pub unit: Unit,
    /// Its value, finite; `None`: unknown, or there was nothing to measure.
    pub value: Option<f64>,
    /// Whether it is one of those that are asked about first.
    pub is_main: bool,
    /// What it is, in a few words.
    pub about: String,
}

/// A figure of each second, the seconds in order without a gap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSeries {
    /// Its name.
    pub name: FigureName,
    /// What its values count.
    pub unit: Unit,
    /// One value per second, finite.
    pub seconds: Vec<f64>,
}

/// Latency of one group in one window by percentile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyPoints {
    /// Such as `latency`, with group and window.
    pub name: FigureName,
    /// Percentiles, such as 99.9, rising, with the latency in milliseconds; the same percentiles in every run.
    pub points: Vec<(f64, f64)>,
}
