//! A comparison's table, page and files.

use std::io::Write;
use std::path::Path;

use crate::analyze::compare::findings::ComparisonFindings;
use crate::analyze::compare::model::CellRuns;
use crate::analyze::compare::{Options, compare};
use crate::cli::Exit;
use crate::report::compare::html::{COMPARE, ComparedPlan, Content, page};
use crate::report::compare::{csv, json, text};
use crate::run::compare::{Manifest, RUNS};

/// How a comparison is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown<'a> {
    /// As JSON on standard output.
    pub(super) json: bool,
    /// With colours.
    pub(super) colours: bool,
    /// What was carried out; `None`: the runs were there already.
    pub(super) manifest: Option<&'a Manifest>,
    /// Where its files go.
    pub(super) files: Files<'a>,
}

/// Where the files of a comparison go.
#[derive(Clone, Copy, Debug)]
pub(super) enum Files<'a> {
    /// Nowhere.
    None,
    /// Into a folder of their own.
    Apart(&'a Path),
    /// Beside the runs, where a comparison has just been carried out.
    Beside(&'a Path),
    /// The same, anew. If the folder cannot be written to, that is a warning: the table is what was asked for.
    Again(&'a Path),
}

/// Compares, writes the files, prints the table, and warnings on standard error. UNKNOWN if no run can be used.
///
/// # Errors
/// A file cannot be written, or `out` cannot.
pub(super) fn tell(cells: &[CellRuns], shown: Shown<'_>, out: &mut dyn Write, warnings: &mut dyn Write) -> anyhow::Result<Exit> {
    let findings = compare(cells, Options::default());
    let written = match shown.files {
        Files::None => None,
        Files::Apart(folder) | Files::Beside(folder) => {
            write_files(folder, cells, &findings, shown)?;
            Some(folder)
        }
        Files::Again(folder) => match write_files(folder, cells, &findings, shown) {
            Ok(()) => Some(folder),
            Err(error) => {
                writeln!(warnings, "warning: the comparison's files are not made anew: {error}")?;
                None
            }
        },
    };
    if shown.json {
        write!(out, "{}", json::compare_json(&findings)?)?;
    } else {
        write!(out, "{}", text::render(&findings, shown.colours))?;
        if let Some(folder) = written {
            writeln!(out, "\nFiles\n  {}\n  {} (open it in a browser)", folder.display(), folder.join(COMPARE).display())?;
        }
    }
    Ok(if findings.has_usable_runs() { Exit::Success } else { Exit::Unknown })
}

fn write_files(folder: &Path, cells: &[CellRuns], findings: &ComparisonFindings, shown: Shown<'_>) -> anyhow::Result<()> {
    let plan = shown.manifest.map(|manifest| ComparedPlan { name: &manifest.plan, path: &manifest.plan_path, seed: manifest.seed });
    let runs = matches!(shown.files, Files::Beside(_) | Files::Again(_)).then_some(RUNS);
    let files = [
        ("compare.csv", csv::compare_csv(findings)?),
        ("differences.csv", csv::differences_csv(findings)?),
        ("runs.csv", csv::runs_csv(cells)?),
        ("compare.json", json::compare_json(findings)?),
        (COMPARE, page(Content { findings, plan, runs })?),
    ];
    for (name, content) in files {
        let path = folder.join(name);
        std::fs::write(&path, content).map_err(|error| anyhow::anyhow!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(files: Files<'_>, json: bool) -> (anyhow::Result<Exit>, String, String) {
        let (mut out, mut warnings) = (Vec::new(), Vec::new());
        let exit = tell(&[], Shown { json, colours: false, manifest: None, files }, &mut out, &mut warnings);
        (exit, String::from_utf8(out).unwrap(), String::from_utf8(warnings).unwrap())
    }

    #[test]
    fn all_files_are_written_and_the_page_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let (exit, out, warnings) = told(Files::Apart(folder.path()), false);
        assert!(matches!(exit.unwrap(), Exit::Unknown) && warnings.is_empty(), "{warnings}");
        assert!(out.contains("compare.html (open it in a browser)"), "{out}");
        for file in ["compare.csv", "differences.csv", "runs.csv", "compare.json", COMPARE] {
            assert!(folder.path().join(file).is_file(), "no {file}");
        }
        let (_, out, _) = told(Files::None, false);
        assert!(!out.contains("Files"), "{out}");
        let (_, out, _) = told(Files::Beside(folder.path()), true);
        assert_eq!(out, std::fs::read_to_string(folder.path().join("compare.json")).unwrap());
    }

    #[test]
    fn files_that_cannot_be_made_anew_are_a_warning_and_those_that_were_asked_for_an_error() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(COMPARE)).unwrap();
        let (exit, out, warnings) = told(Files::Again(folder.path()), false);
        assert!(exit.is_ok() && !out.contains("Files"), "{out}");
        assert!(warnings.starts_with("warning: the comparison's files are not made anew: cannot write "), "{warnings}");
        assert!(told(Files::Apart(folder.path()), false).0.is_err());
    }
}
