//! A comparison's table and files.

use std::io::Write;
use std::path::Path;

use crate::analyze::compare::model::CellRuns;
use crate::analyze::compare::{Options, compare};
use crate::cli::Exit;
use crate::report::compare::{csv, json, text};

/// How a comparison is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown<'a> {
    /// As JSON on standard output.
    pub(super) json: bool,
    /// With colours.
    pub(super) colours: bool,
    /// Where its files go; `None`: nowhere.
    pub(super) folder: Option<&'a Path>,
}

/// Compares, writes the files, prints the table. UNKNOWN if no run can be used.
///
/// # Errors
/// A file cannot be written, or `out` cannot.
pub(super) fn tell(cells: &[CellRuns], shown: Shown<'_>, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let findings = compare(cells, Options::default());
    let json = json::compare_json(&findings)?;
    if let Some(folder) = shown.folder {
        let files = [
            ("compare.csv", csv::compare_csv(&findings)?),
            ("differences.csv", csv::differences_csv(&findings)?),
            ("runs.csv", csv::runs_csv(cells)?),
            ("compare.json", json.clone()),
        ];
        for (name, content) in files {
            let path = folder.join(name);
            std::fs::write(&path, content).map_err(|error| anyhow::anyhow!("cannot write {}: {error}", path.display()))?;
        }
    }
    if shown.json {
        write!(out, "{json}")?;
    } else {
        write!(out, "{}", text::render(&findings, shown.colours))?;
        if let Some(folder) = shown.folder {
            writeln!(out, "\nFiles\n  {}", folder.display())?;
        }
    }
    Ok(if findings.has_usable_runs() { Exit::Success } else { Exit::Unknown })
}
