//! A finished, interrupted or killed run, read back from its facts.

use std::path::{Path, PathBuf};

use crate::analyze::Analysis;
use crate::analyze::figures::Figure;
use crate::analyze::findings::Findings;
use crate::record::error::RecordError;
use crate::record::fact::Fact;
use crate::record::files::{FACTS, LayerRows, RowBudget, replace};
use crate::record::read::FactReader;
use crate::record::run::RunStarted;
use crate::report::html::REPORT;
use crate::report::json::{LeftOut, run_file};
use crate::report::junit::Suite;
use crate::report::results::page_of;
use crate::report::text::{self, Place};

/// Why a run could not be told again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// There are no readable facts.
    #[error("{} is not the folder of a run: {source}", folder.display())]
    NoFacts {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it.
        source: RecordError,
    },
    /// The fact that tells which run it was is missing.
    #[error("{} does not begin with the run itself, so there is no run.json and no page to be made of it", folder.join(FACTS).display())]
    NoRun {
        /// The folder.
        folder: PathBuf,
    },
    /// The findings could not be written as JSON.
    #[error("cannot write the findings as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The page could not be written.
    #[error("no page: {0}")]
    Page(#[from] RecordError),
}

/// A run as its facts tell it.
#[derive(Debug)]
pub struct Replay {
    folder: PathBuf,
    analysis: Analysis,
    findings: Findings,
    left_out: LeftOut,
}

impl Replay {
    /// Reads all facts of a run's folder. A last line that is cut off is left, with a warning.
    ///
    /// # Errors
    /// If there are none, or a line before the last is damaged.
    pub fn read(folder: &Path) -> Result<Self, ReplayError> {
        let no_facts = |source| ReplayError::NoFacts { folder: folder.to_path_buf(), source };
        let mut facts = FactReader::open(folder).map_err(no_facts)?;
        let (mut analysis, mut budget, mut layers) = (Analysis::new(), RowBudget::default(), LayerRows::default());
        for stamped in facts.by_ref() {
            let stamped = stamped.map_err(no_facts)?;
            if let Fact::MetadataRequest { group, .. } = &stamped.fact {
                budget.admits(group, stamped.time_us);
            }
            layers.of(&stamped);
            analysis.fold(&stamped);
        }
        let mut findings = analysis.finish();
        if facts.was_cut() {
            findings.warnings.push(format!("the last line of {FACTS} is cut off: the run was killed, or its disk full, while it wrote"));
        }
        let left_out = LeftOut { metadata_rows_left_out: budget.left_out(), layer_rows_left_out: layers.left_out() };
        Ok(Self { folder: folder.to_path_buf(), analysis, findings, left_out })
    }

    /// What the run said about itself; `None`: its first fact is missing.
    #[must_use]
    pub fn run(&self) -> Option<&RunStarted> {
        self.analysis.run()
    }

    /// Every figure of the run by name, group and window.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        self.analysis.figures(&self.findings)
    }

    /// What was found.
    #[must_use]
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// The folder that it was read from.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The summary for people; names the page if `has_page`.
    #[must_use]
    pub fn text(&self, has_page: bool, colour: bool) -> String {
        text::render(self.analysis.run(), &self.findings, Some(Place { folder: &self.folder, has_page }), colour)
    }

    /// Writes the run's page into its folder, and tells where.
    ///
    /// # Errors
    /// If the run's first fact is missing, or the folder cannot be written to.
    pub fn write_page(&self) -> Result<PathBuf, ReplayError> {
        let content = page_of(&self.analysis, &self.findings)?.ok_or_else(|| ReplayError::NoRun { folder: self.folder.clone() })?;
        let path = self.folder.join(REPORT);
        replace(&path, content.as_bytes())?;
        Ok(path)
    }

    /// The run as a suite of JUnit's.
    #[must_use]
    pub fn suite(&self) -> Suite<'_> {
        Suite { run: self.analysis.run(), findings: &self.findings, folder: &self.folder }
    }

    /// What `run.json` holds of a run with these facts.
    ///
    /// # Errors
    /// If the run's first fact is missing.
    pub fn json(&self) -> Result<String, ReplayError> {
        let run = self.analysis.run().ok_or_else(|| ReplayError::NoRun { folder: self.folder.clone() })?;
        Ok(run_file(run, &self.findings, self.left_out)?)
    }
}

/// Fills a folder as a run would, whole or killed before its end.
#[cfg(test)]
pub(crate) fn sample_run(folder: &Path, whole: bool) {
    use crate::record::sample::{Pair, Sample};
    let stream = Sample::new(&[("steady", 1)]).pairs("steady", 1, 2).load("steady", -2, 20).step(1, "kill", "2", 10_000).gap(
        Pair("steady", 0, 0),
        10_000,
        Some(19_000),
    );
    let stream = if whole { stream.end(20_000) } else { stream };
    let folder = crate::record::folder::RunFolder::exactly(folder).unwrap();
    let mut results = crate::report::results::Results::create(folder).unwrap();
    stream.facts.iter().for_each(|fact| results.write(fact).unwrap());
    results.finish().unwrap();
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::analyze::findings::Verdict;
    use crate::record::files::RUN;

    #[test]
    fn the_facts_alone_give_what_run_json_holds() {
        let root = tempfile::tempdir().unwrap();
        sample_run(root.path(), true);
        let json = Replay::read(root.path()).unwrap().json().unwrap();
        assert_eq!(json, fs::read_to_string(root.path().join(RUN)).unwrap());
    }

    #[test]
    fn the_facts_alone_give_the_same_page() {
        let root = tempfile::tempdir().unwrap();
        sample_run(root.path(), true);
        let path = root.path().join(REPORT);
        let written = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(Replay::read(root.path()).unwrap().write_page().unwrap(), path);
        assert!(written == fs::read(&path).unwrap(), "another page");
    }

    #[test]
    fn a_run_whose_last_line_is_cut_is_still_told() {
        let root = tempfile::tempdir().unwrap();
        sample_run(root.path(), true);
        let path = root.path().join(FACTS);
        let facts = fs::read_to_string(&path).unwrap();
        fs::write(&path, &facts[..facts.len() - 9]).unwrap();
        let replay = Replay::read(root.path()).unwrap();
        assert_eq!(replay.findings().verdict, Verdict::Interrupted);
        let text = replay.text(false, false);
        assert!(text.contains("stalled up to 1 of 2") && text.contains("is cut off"), "{text}");
    }

    #[test]
    fn facts_without_their_run_are_told_as_text_but_not_as_json() {
        let root = tempfile::tempdir().unwrap();
        sample_run(root.path(), true);
        let path = root.path().join(FACTS);
        let facts = fs::read_to_string(&path).unwrap();
        fs::write(&path, facts.split_once('\n').unwrap().1).unwrap();
        let replay = Replay::read(root.path()).unwrap();
        assert!(replay.text(false, false).starts_with("(unnamed run)  "));
        assert!(matches!(replay.json(), Err(ReplayError::NoRun { .. })));
    }

    #[test]
    fn a_folder_without_facts_is_an_error_that_names_it() {
        let root = tempfile::tempdir().unwrap();
        let error = Replay::read(root.path()).unwrap_err().to_string();
        assert!(error.contains("is not the folder of a run: cannot open"), "{error}");
    }
}
