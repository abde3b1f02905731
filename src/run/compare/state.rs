//! What has become of the runs of a comparison, by their folders; and runs that are made anew, set aside.
//!
//! A folder is finished when its `run.json` gives a verdict that is not INTERRUPTED: that is written last. Not here: what a run found.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::CompareError;
use super::manifest::{Manifest, RUNS};
use crate::analyze::findings::Verdict;
use crate::record::fact::StepOutcome;
use crate::record::files::RUN;

/// Where runs go that are made anew, in the comparison's folder.
pub(super) const SET_ASIDE: &str = "set-aside";

/// What has become of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has not begun, or left nothing.
    Missing,
    /// It has begun and did not end in order.
    Broken,
    /// It is over, with this verdict.
    Finished(Verdict),
    /// It is over, and no comparison uses it: its verdict is UNKNOWN, or a step was not what the plan wanted.
    Unusable(Verdict),
}

impl State {
    /// Whether the run is over.
    #[must_use]
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Finished(_) | Self::Unusable(_))
    }

    /// Whether the run has to be made; `again`: those that no comparison uses, too.
    #[must_use]
    pub fn is_missing(self, again: bool) -> bool {
        !self.is_finished() || again && matches!(self, Self::Unusable(_))
    }
}

/// The part of `run.json` that is asked for.
#[derive(Deserialize)]
struct Ended {
    verdict: Verdict,
    #[serde(default)]
    steps: Vec<EndedStep>,
}

/// The same of a step.
#[derive(Deserialize)]
struct EndedStep {
    outcome: Option<String>,
}

impl Ended {
    fn is_usable(&self) -> bool {
        let is_done = |step: &EndedStep| step.outcome.as_deref() == Some(StepOutcome::Done.name());
        self.verdict != Verdict::Unknown && self.steps.iter().all(is_done)
    }
}

/// What has become of the run in this folder.
///
/// # Errors
/// The folder is there and cannot be read.
pub(super) fn state_of(folder: &Path) -> Result<State, CompareError> {
    let file = |path: PathBuf| move |source| CompareError::File { path, source };
    let is_empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(file(folder.to_owned())(error)),
    };
    if is_empty {
        return Ok(State::Missing);
    }
    let path = folder.join(RUN);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(State::Broken),
        Err(error) => return Err(file(path)(error)),
    };
    Ok(match serde_json::from_str::<Ended>(&text) {
        Ok(Ended { verdict: Verdict::Interrupted, .. }) | Err(_) => State::Broken,
        Ok(ended) if ended.is_usable() => State::Finished(ended.verdict),
        Ok(ended) => State::Unusable(ended.verdict),
    })
}

/// What has become of each run, in the order of the manifest.
///
/// # Errors
/// As `state_of`.
pub fn states(folder: &Path, manifest: &Manifest) -> Result<Vec<State>, CompareError> {
    manifest.runs.iter().map(|run| state_of(&folder.join(RUNS).join(&run.folder))).collect()
}

/// Moves what a run has left out of the way, under the first free number.
///
/// # Errors
/// It cannot be moved.
pub(super) fn set_aside(folder: &Path, run: &str) -> Result<PathBuf, CompareError> {
    let aside = folder.join(SET_ASIDE);
    let file = |path: &Path| {
        let path = path.to_owned();
        move |source| CompareError::File { path, source }
    };
    fs::create_dir_all(&aside).map_err(file(&aside))?;
    let free = (1_u32..).map(|number| aside.join(format!("{run}-{number}"))).find(|path| !path.exists());
    let Some(free) = free else { return Err(file(&aside)(io::Error::other("no name is free"))) };
    let from = folder.join(RUNS).join(run);
    fs::rename(&from, &free).map_err(file(&from))?;
    Ok(free)
}

/// How many runs were set aside; 0 where there is no such folder.
#[must_use]
pub fn count_set_aside(folder: &Path) -> usize {
    fs::read_dir(folder.join(SET_ASIDE)).map_or(0, Iterator::count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::replay::sample_run;

    #[test]
    fn a_folder_says_what_has_become_of_its_run() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        sample_run(&at("whole"), true);
        sample_run(&at("killed"), false);
        fs::create_dir(at("empty")).unwrap();
        sample_run(&at("headless"), true);
        fs::remove_file(at("headless").join(RUN)).unwrap();
        sample_run(&at("cut"), true);
        fs::write(at("cut").join(RUN), "{\"verdict\": \"PA").unwrap();
        let rows = [
            ("absent", State::Missing),
            ("empty", State::Missing),
            ("whole", State::Finished(Verdict::Pass)),
            ("killed", State::Broken),
            ("headless", State::Broken),
            ("cut", State::Broken),
        ];
        for (name, expected) in rows {
            assert_eq!(state_of(&at(name)).unwrap(), expected, "{name}");
        }
    }

    #[test]
    fn a_run_that_no_comparison_uses_is_missing_only_if_it_is_asked_for_again() {
        let root = tempfile::tempdir().unwrap();
        let state = |text: &str| {
            fs::write(root.path().join(RUN), text).unwrap();
            state_of(root.path()).unwrap()
        };
        let rows = [
            (r#"{"verdict": "UNKNOWN"}"#, State::Unusable(Verdict::Unknown)),
            (r#"{"verdict": "FAIL", "steps": [{"outcome": "done"}, {"outcome": "no-op"}]}"#, State::Unusable(Verdict::Fail)),
            (r#"{"verdict": "FAIL", "steps": [{"outcome": null}]}"#, State::Unusable(Verdict::Fail)),
            (r#"{"verdict": "FAIL", "steps": [{"outcome": "done"}]}"#, State::Finished(Verdict::Fail)),
        ];
        for (text, expected) in rows {
            let found = state(text);
            assert_eq!(found, expected, "{text}");
            assert_eq!((found.is_missing(false), found.is_missing(true)), (false, matches!(found, State::Unusable(_))), "{text}");
        }
        assert!(State::Broken.is_missing(false) && State::Missing.is_missing(false));
    }

    #[test]
    fn what_is_set_aside_is_kept_each_time_and_counted() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(count_set_aside(root.path()), 0);
        for number in 1..=2 {
            sample_run(&root.path().join(RUNS).join("003-2s"), false);
            let aside = set_aside(root.path(), "003-2s").unwrap();
            assert_eq!(aside.file_name().unwrap().to_str().unwrap(), format!("003-2s-{number}"));
            assert_eq!(state_of(&root.path().join(RUNS).join("003-2s")).unwrap(), State::Missing);
        }
        assert_eq!(count_set_aside(root.path()), 2);
    }
}
