//! What speaks against setting these runs against each other: other plans, versions or machines, runs that cannot be used.
//!
//! Nothing is left out here, and no figure is looked at.

use std::collections::{BTreeMap, BTreeSet};

use crate::analyze::compare::model::{CellRuns, RunFigures};
use crate::analyze::compare::words::{listed, named};
use crate::analyze::findings::Verdict;

/// A varied key that begins so may change the version of Kafka.
const KAFKA_KEY: &str = "cluster.kafka";

/// Facts that follow from the version of Kafka.
const KAFKA_FACTS: [&str; 2] = ["kafka", "image"];

/// Values of one fact that a warning names.
const VALUES_MAX: usize = 4;

/// Why a run's figures may not be used; `None`: they may.
pub(super) fn left_out(run: &RunFigures) -> Option<String> {
    match run.verdict {
        Verdict::Unknown | Verdict::Interrupted => Some(run.verdict.word().to_owned()),
        Verdict::Pass | Verdict::Fail | Verdict::Hang => run.unconfirmed.clone(),
    }
}

/// Whether a run's figures may be used.
pub(super) fn is_usable(run: &RunFigures) -> bool {
    left_out(run).is_none()
}

/// All warnings, in a fixed order.
pub(super) fn warnings(cells: &[CellRuns]) -> Vec<String> {
    let mut warnings: Vec<String> = cells.iter().filter(|cell| !cell.is_control).flat_map(runs).collect();
    warnings.extend(controls(cells));
    warnings.extend(plans(cells));
    warnings.extend(facts(cells, "version of", |run| &run.versions));
    warnings.extend(facts(cells, "machine:", |run| &run.machine));
    warnings
}

fn runs(cell: &CellRuns) -> Vec<String> {
    let count = |is_it: &dyn Fn(&RunFigures) -> bool| cell.runs.iter().filter(|run| is_it(run)).count();
    let with = |verdict: Verdict| count(&|run| run.verdict == verdict);
    let used_with = |verdict: Verdict| count(&|run| run.verdict == verdict && is_usable(run));
    let (unknown, interrupted) = (with(Verdict::Unknown), with(Verdict::Interrupted));
    let left_out = count(&|run| !is_usable(run));
    let (failed, hanging) = (used_with(Verdict::Fail), used_with(Verdict::Hang));
    let (all, name) = (cell.runs.len(), &cell.name);
    let mut warnings = Vec::new();
    if left_out > 0 {
        let unconfirmed = left_out - unknown - interrupted;
        let why =
            told(&[(unknown, "UNKNOWN"), (interrupted, "INTERRUPTED"), (unconfirmed, "with a step that was not what the plan wanted")]);
        let names: Vec<&str> = cell.runs.iter().filter(|run| !is_usable(run)).map(|run| run.name.as_str()).collect();
        warnings.push(format!("{left_out} of {all} runs of {name} are left out: {why} ({})", named(&names)));
    }
    if failed + hanging > 0 {
        let why = told(&[(failed, "FAIL"), (hanging, "HANG")]);
        warnings.push(format!("{} of {all} runs of {name} did not pass, and their figures are used: {why}", failed + hanging));
    }
    warnings
}

/// `2 UNKNOWN and 1 INTERRUPTED`, without what there is none of.
fn told(counts: &[(usize, &str)]) -> String {
    let words: Vec<String> = counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    listed(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn controls(cells: &[CellRuns]) -> Option<String> {
    let controls: Vec<&RunFigures> = cells.iter().filter(|cell| cell.is_control).flat_map(|cell| &cell.runs).collect();
    let left_out = controls.iter().filter(|run| !is_usable(run)).count();
    (left_out > 0).then(|| format!("{left_out} of {} controls cannot be used: drift is seen less well", controls.len()))
}

fn plans(cells: &[CellRuns]) -> Vec<String> {
    let mut warnings = Vec::new();
    let common: BTreeSet<Option<&str>> = used(cells).map(|(_, run)| run.common_plan_sha256.as_deref()).collect();
    if common.len() > 1 {
        warnings.push("runs differ in more of their plans than in what was varied".to_owned());
    }
    for cell in cells {
        let of_cell: BTreeSet<&str> = cell.runs.iter().filter(|run| is_usable(run)).map(|run| run.plan_sha256.as_str()).collect();
        if of_cell.len() > 1 {
            warnings.push(format!("runs of {} have {} different plans", cell.name, of_cell.len()));
        }
    }
    let all: BTreeSet<&str> = used(cells).map(|(_, run)| run.plan_sha256.as_str()).collect();
    if common.contains(&None) && all.len() > 1 && cells.iter().all(|cell| cell.settings.is_empty()) {
        warnings.push("the plans differ: a difference may come from anything in which they do".to_owned());
    }
    warnings
}

/// Facts that are not the same in all runs, unless they were varied.
fn facts(cells: &[CellRuns], what: &str, of: impl Fn(&RunFigures) -> &BTreeMap<String, String>) -> Vec<String> {
    // With one value in all cells it does not vary.
    let of_kafka: BTreeSet<&(String, String)> =
        cells.iter().flat_map(|cell| &cell.settings).filter(|(key, _)| key.starts_with(KAFKA_KEY)).collect();
    let is_varied = of_kafka.len() > of_kafka.iter().map(|(key, _)| key).collect::<BTreeSet<_>>().len();
    let names: BTreeSet<&str> = used(cells).flat_map(|(_, run)| of(run).keys()).map(String::as_str).collect();
    let mut warnings = Vec::new();
    for name in names.into_iter().filter(|name| !(is_varied && KAFKA_FACTS.contains(name))) {
        let mut values: Vec<(&str, Vec<&str>)> = Vec::new();
        for (cell, run) in used(cells) {
            // A run that lacks it says nothing: another engine's version is told only by runs that use it.
            let Some(value) = of(run).get(name).map(String::as_str) else { continue };
            match values.iter_mut().find(|(known, _)| *known == value) {
                Some((_, names)) if names.contains(&cell) => {}
                Some((_, names)) => names.push(cell),
                None => values.push((value, vec![cell])),
            }
        }
        if values.len() > 1 {
            warnings.push(format!("runs differ in {what} {name}: {}", in_words(&values)));
        }
    }
    warnings
}

fn in_words(values: &[(&str, Vec<&str>)]) -> String {
    let mut words: Vec<String> = values.iter().take(VALUES_MAX).map(|(value, cells)| format!("{value} ({})", cells.join(", "))).collect();
    if values.len() > VALUES_MAX {
        words.push(format!("and {} more", values.len() - VALUES_MAX));
    }
    words.join("; ")
}

/// Runs that are used, with their cells' names.
fn used(cells: &[CellRuns]) -> impl Iterator<Item = (&str, &RunFigures)> {
    cells.iter().flat_map(|cell| cell.runs.iter().map(move |run| (cell.name.as_str(), run))).filter(|(_, run)| is_usable(run))
}
