//! Runs read back from their folders, as a comparison takes them.
//!
//! Not here: which figures there are (`analyze`), and what they mean together (`analyze::compare`).

use std::path::{Path, PathBuf};

use super::CompareError;
use super::manifest::{Manifest, RUNS};
use super::order::Role;
use super::state::{State, states};
use crate::analyze::compare::model::{CellRuns, RunFigures};
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
    let settings = |cell: &super::CellEntry| cell.settings.iter().map(|setting| (setting.path.clone(), setting.value.clone())).collect();
    let cell = |index: usize, is_control: bool| {
        let cell = &manifest.cells[index];
        CellRuns { name: cell.name.clone(), settings: settings(cell), is_control, runs: Vec::new() }
    };
    let mut cells: Vec<CellRuns> = (0..manifest.cells.len()).map(|index| cell(index, false)).collect();
    let (mut controls, mut finished) = (cell(0, true), 0);
    for (run, state) in manifest.runs.iter().zip(states(folder, manifest)?) {
        if !matches!(state, State::Finished(_)) {
            continue;
        }
        let figures = run_figures(&folder.join(RUNS).join(&run.folder), run.number, Some(manifest.plan_sha256.clone()))?;
        finished += 1;
        if run.role == Role::Control { controls.runs.push(figures) } else { cells[run.cell].runs.push(figures) }
    }
    if !controls.runs.is_empty() {
        cells.push(controls);
    }
    Ok(Loaded { cells, finished })
}

/// A run's folder as figures.
pub(super) fn run_figures(folder: &Path, order: u32, common_plan_sha256: Option<String>) -> Result<RunFigures, CompareError> {
    let replay = Replay::read(folder)?;
    let run = replay.run().ok_or_else(|| ReplayError::NoRun { folder: PathBuf::from(folder) })?;
    Ok(RunFigures {
        name: folder.file_name().map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned()),
        order,
        started_at: run.steady_at.clone(),
        plan_sha256: run.plan_sha256.clone(),
        common_plan_sha256,
        versions: run.versions.clone(),
        machine: run.machine.clone(),
        verdict: replay.findings().verdict,
        figures: Vec::new(),
        series: Vec::new(),
        latencies: Vec::new(),
    })
}
