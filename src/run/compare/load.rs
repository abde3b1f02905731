//! Runs read back from their folders, as a comparison takes them.
//!
//! Not here: which figures there are (`analyze`), and what they mean together (`analyze::compare`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::CompareError;
use super::figures;
use super::manifest::{CellEntry, Manifest, RUNS};
use super::order::Role;
use super::seconds;
use super::state::states;
use crate::analyze::compare::model::{CellRuns, RunFigures};
use crate::analyze::findings::CheckFinding;
use crate::report::replay::{Replay, ReplayError};

/// The runs of a comparison, as far as they are there.
#[derive(Debug)]
pub struct Loaded {
    /// The cells in their order, the controls last.
    pub cells: Vec<CellRuns>,
    /// Runs that are finished.
    pub finished: usize,
}

/// Reads the finished runs of a comparison's folder.
///
/// # Errors
/// One of them cannot be read.
pub fn load(folder: &Path, manifest: &Manifest) -> Result<Loaded, CompareError> {
    let mut cells: Vec<CellRuns> = manifest.cells.iter().map(|cell| empty(cell, false)).collect();
    let mut controls = manifest.cells.first().map(|cell| empty(cell, true)).into_iter().collect::<Vec<_>>();
    let mut finished = 0;
    for (run, state) in manifest.runs.iter().zip(states(folder, manifest)?) {
        if !state.is_finished() {
            continue;
        }
        let (figures, _) = run_figures(&folder.join(RUNS).join(&run.folder), run.number, Some(manifest.plan_sha256.clone()))?;
        finished += 1;
        let cell = if run.role == Role::Control { controls.first_mut() } else { cells.get_mut(run.cell) };
        if let Some(cell) = cell {
            cell.runs.push(figures);
        }
    }
    cells.extend(controls.into_iter().filter(|cell| !cell.runs.is_empty()));
    in_time(&mut cells);
    let runs = cells.iter().flat_map(|cell| &cell.runs);
    let folders = runs.map(|run| (run.order, folder.join(RUNS).join(&run.name))).collect();
    complete(&mut cells, &folders)?;
    Ok(Loaded { cells, finished })
}

/// Numbers runs by the time of their baseline: one that was made anew has its place in the plan of the comparison early, and in time late,
/// and what drifts goes by time.
fn in_time(cells: &mut [CellRuns]) {
    let mut runs: Vec<&mut RunFigures> = cells.iter_mut().flat_map(|cell| &mut cell.runs).collect();
    runs.sort_by_key(|run| (run.started_at.parse::<Timestamp>().ok(), run.order));
    for (place, run) in (1..).zip(runs) {
        run.order = place;
    }
}

fn empty(cell: &CellEntry, is_control: bool) -> CellRuns {
    let settings = cell.settings.iter().map(|setting| (setting.path.clone(), setting.value.clone())).collect();
    let name = if cell.name.is_empty() { "the plan".to_owned() } else { cell.name.clone() };
    CellRuns { name, settings, is_control, runs: Vec::new() }
}

/// A run's folder as figures; and the seed that it ran with.
pub(super) fn run_figures(folder: &Path, order: u32, common_plan_sha256: Option<String>) -> Result<(RunFigures, u64), CompareError> {
    let replay = Replay::read(folder)?;
    let run = replay.run().ok_or_else(|| ReplayError::NoRun { folder: PathBuf::from(folder) })?;
    let (figures, latencies) = figures::of_run(&replay.figures());
    let figures = RunFigures {
        name: folder.file_name().map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned()),
        order,
        started_at: run.steady_at.clone(),
        plan_sha256: run.plan_sha256.clone(),
        common_plan_sha256,
        versions: run.versions.clone(),
        machine: run.machine.clone(),
        verdict: replay.findings().verdict,
        unconfirmed: unconfirmed(&replay.findings().checks),
        figures,
        series: Vec::new(),
        latencies,
    };
    Ok((figures, run.seed))
}

/// The first step that was not what the plan wanted, in words.
fn unconfirmed(checks: &[CheckFinding]) -> Option<String> {
    checks.iter().find(|check| check.is_unconfirmed_step()).map(|check| check.reasons.first().unwrap_or(&check.name).clone())
}

/// What is known only once all runs are read: figures that no run has go, and runs that stand alone in their cell get theirs by second.
/// `folders` are those of the runs, by their places in the order.
pub(super) fn complete(cells: &mut [CellRuns], folders: &BTreeMap<u32, PathBuf>) -> Result<(), CompareError> {
    figures::drop_unknown(cells);
    let lonely = cells.iter().filter(|cell| !cell.is_control).all(|cell| cell.runs.len() <= 1);
    for cell in cells.iter_mut().filter(|cell| lonely && !cell.is_control) {
        for run in &mut cell.runs {
            if let Some(folder) = folders.get(&run.order) {
                run.series = seconds::of_folder(folder)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::Analysis;
    use crate::record::fact::StepOutcome;
    use crate::record::sample::Sample;
    use crate::report::replay::sample_run;

    #[test]
    fn runs_are_numbered_by_the_time_at_which_they_were_made() {
        let folder = tempfile::tempdir().unwrap();
        sample_run(folder.path(), true);
        let at = |order: u32, minute: u32| RunFigures {
            started_at: format!("2026-01-01T00:{minute:02}:00.5Z"),
            ..run_figures(folder.path(), order, None).unwrap().0
        };
        let cell = |runs: Vec<RunFigures>| CellRuns { name: "c".to_owned(), settings: Vec::new(), is_control: false, runs };
        // The second of four was made anew in the end.
        let mut cells = [cell(vec![at(1, 1), at(3, 7)]), cell(vec![at(2, 50), at(4, 10)])];
        in_time(&mut cells);
        let orders: Vec<u32> = cells.iter().flat_map(|cell| &cell.runs).map(|run| run.order).collect();
        assert_eq!(orders, [1, 2, 4, 3]);
    }

    #[test]
    fn a_step_that_was_not_done_and_seen_is_named() {
        for (outcome, expected) in [
            (StepOutcome::Done, None),
            (StepOutcome::NoOp, Some("changed nothing")),
            (StepOutcome::Failed, Some("failed")),
            (StepOutcome::NotObserved, Some("was not seen from outside in time")),
        ] {
            let stream =
                Sample::new(&[("steady", 1)]).load("steady", -2, 20).child(1, None, None, "kill", "2", 10_000).done(1, 10_100, outcome);
            let mut analysis = Analysis::new();
            stream.end(20_000).facts.iter().for_each(|fact| analysis.fold(fact));
            let found = unconfirmed(&analysis.finish().checks);
            assert_eq!(found.is_some(), expected.is_some(), "{outcome:?}: {found:?}");
            assert!(expected.is_none_or(|words| found.unwrap().contains(words)), "{outcome:?}");
        }
    }
}
