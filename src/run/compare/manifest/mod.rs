//! `comparison.json`: what a comparison is and in which order its runs are made, so that it can be resumed and told again.
//!
//! Which runs are there is not in it: their folders say so (`state`). Not here: carrying runs out.

mod flaw;

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use self::flaw::flaw;
use super::CompareError;
use super::order::{Role, Slot, order};
use crate::plan::model::Plan;
use crate::plan::vary::{Cell, Change, Setting, VaryError};
use crate::plan::{self, vary};
use crate::record::files::replace;

/// The file's name, in the comparison's folder.
pub const MANIFEST: &str = "comparison.json";
/// The folder of the runs, in the comparison's folder.
pub const RUNS: &str = "runs";
/// The folder of the logs of a shared cluster that did not start, in the comparison's folder.
pub(super) const LOGS: &str = "logs";
/// Version of the file.
const FORMAT: u32 = 1;
/// Longest part of a folder's name that tells the cell.
const SLUG_CHARACTERS_MAX: usize = 40;

/// What every version of the file has.
#[derive(Deserialize)]
struct Versioned {
    format: u32,
}

/// The file's content; names of fields are an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    format: u32,
    /// Version of `chaos` that began it.
    pub chaos: String,
    /// The plan's name.
    pub plan: String,
    /// The file that it came from.
    pub plan_path: String,
    /// SHA-256 of its text.
    pub plan_sha256: String,
    /// What varies, as the command line said it.
    pub changes: Vec<Change>,
    /// How often each cell is run, controls not counted.
    pub repeats: u32,
    /// Seed of the order.
    pub seed: u64,
    /// Whether all runs use one cluster, which is made whole between them.
    pub one_cluster: bool,
    /// The cells, the baseline first.
    pub cells: Vec<CellEntry>,
    /// The runs in their order.
    pub runs: Vec<RunEntry>,
    /// The plan's text, before anything varied.
    pub plan_text: String,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellEntry {
    /// Its name.
    pub name: String,
    /// What varies, and its values here.
    pub settings: Vec<Setting>,
    /// SHA-256 of its plan's text.
    pub plan_sha256: String,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEntry {
    /// Its place in the order, from 1.
    pub number: u32,
    /// Index of its cell.
    pub cell: usize,
    /// What it is for.
    pub role: Role,
    /// Its folder, below `runs/`.
    pub folder: String,
}

/// How a comparison is to be made.
#[derive(Clone, Copy, Debug)]
pub struct Design<'a> {
    /// The plan, before anything varied.
    pub plan: &'a Plan,
    /// What varies.
    pub changes: &'a [Change],
    /// How often each cell is run.
    pub repeats: u32,
    /// Seed of the order; `None`: the plan's.
    pub seed: Option<u64>,
}

impl Manifest {
    /// Of a comparison that has not begun.
    #[must_use]
    pub fn new(design: Design<'_>, cells: &[Cell]) -> Self {
        let seed = design.seed.unwrap_or(design.plan.seed);
        let run = |slot: Slot| {
            let (name, is_control) = (&cells[slot.cell].name, slot.role == Role::Control);
            RunEntry { number: slot.number, cell: slot.cell, role: slot.role, folder: folder_name(slot.number, name, is_control) }
        };
        Self {
            format: FORMAT,
            chaos: env!("CARGO_PKG_VERSION").to_owned(),
            plan: design.plan.name.clone(),
            plan_path: design.plan.source.path.clone(),
            plan_sha256: design.plan.source.sha256.clone(),
            changes: design.changes.to_vec(),
            repeats: design.repeats,
            seed,
            one_cluster: can_share(cells),
            cells: cells
                .iter()
                .map(|cell| CellEntry {
                    name: cell.name.clone(),
                    settings: cell.settings.clone(),
                    plan_sha256: cell.checked.plan.source.sha256.clone(),
                })
                .collect(),
            runs: order(cells.len(), design.repeats, seed).into_iter().map(run).collect(),
            plan_text: design.plan.source.text.clone(),
        }
    }

    /// Reads that of a comparison's folder; `None`: it is no such folder.
    ///
    /// # Errors
    /// The file cannot be read, or is none that this version writes.
    pub fn read(folder: &Path) -> Result<Option<Self>, CompareError> {
        let path = folder.join(MANIFEST);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => return Ok(None),
            Err(source) => return Err(CompareError::File { path, source }),
        };
        let unread = |source| CompareError::Manifest { path: path.clone(), source };
        // Of another format only this is known.
        let Versioned { format } = serde_json::from_str(&text).map_err(unread)?;
        if format != FORMAT {
            return Err(CompareError::Format { path, found: format, known: FORMAT });
        }
        let manifest: Self = serde_json::from_str(&text).map_err(unread)?;
        match flaw(&manifest) {
            Some(what) => Err(CompareError::Flawed { path, what }),
            None => Ok(Some(manifest)),
        }
    }

    /// Writes it whole: nobody finds half of it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), CompareError> {
        let path = folder.join(MANIFEST);
        let text = serde_json::to_string_pretty(self).map_err(|source| CompareError::Manifest { path: path.clone(), source })? + "\n";
        Ok(replace(&path, text.as_bytes())?)
    }

    /// The cells, made from its plan.
    ///
    /// # Errors
    /// Its plan is not the one that it was made of, or cannot be varied so any more: it was with another version of `chaos`.
    pub fn cells_of(&self, folder: &Path) -> Result<Vec<Cell>, CompareError> {
        let cells = vary::cells(&self.plan_path, &self.plan_text, &self.changes)?;
        let base = plan::parse(&self.plan_path, &self.plan_text).map_err(VaryError::from)?.plan;
        if base.source.sha256 != self.plan_sha256 {
            return Err(CompareError::Flawed { path: folder.join(MANIFEST), what: "the text of its plan was changed".to_owned() });
        }
        let design = Design { plan: &base, changes: &self.changes, repeats: self.repeats, seed: Some(self.seed) };
        match Self::new(design, &cells).differs(self) {
            Some(_) => Err(CompareError::MadeOtherwise { folder: folder.to_owned(), chaos: self.chaos.clone() }),
            None => Ok(cells),
        }
    }

    /// What is another in a comparison that was begun, in words; `None`: it is the same one, and can be resumed.
    #[must_use]
    pub fn differs(&self, begun: &Self) -> Option<String> {
        let changes = |changes: &[Change]| changes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        if self.plan_sha256 != begun.plan_sha256 {
            return Some(format!("the text of the plan ({})", begun.plan_path));
        }
        if self.changes != begun.changes {
            return Some(format!("what varies: {}", changes(&begun.changes)));
        }
        if self.repeats != begun.repeats {
            return Some(format!("--repeat {}", begun.repeats));
        }
        if self.seed != begun.seed {
            return Some(format!("--seed {}", begun.seed));
        }
        let is_same = self.cells == begun.cells && self.runs == begun.runs && self.one_cluster == begun.one_cluster;
        (!is_same).then(|| format!("the way in which version {} makes a comparison of the same arguments", begun.chaos))
    }
}

/// Whether one cluster can serve all cells, one after the other: it is the same for all, and no plan leaves it another.
fn can_share(cells: &[Cell]) -> bool {
    let specs = cells.iter().map(|cell| &cell.checked.plan.cluster);
    cells.first().is_some_and(|first| specs.into_iter().all(|spec| *spec == first.checked.plan.cluster && spec.joining == 0))
}

/// Sorts in the order of the runs, tells the cell, and is a plain name on every file system.
fn folder_name(number: u32, cell: &str, is_control: bool) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.') { c } else { '-' };
    let words: String = cell.chars().map(plain).collect();
    let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
    let slug: String = words.join("-").chars().take(SLUG_CHARACTERS_MAX).collect();
    let parts = [format!("{number:03}"), slug, if is_control { "control".to_owned() } else { String::new() }];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests;
