//! `comparison.json`: what a comparison is and in which order its runs are made, so that it can be resumed and told again.
//!
//! Which runs are there is not in it: their folders say so (`state`). Not here: carrying runs out.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::CompareError;
use super::order::{Role, order};
use crate::plan::model::Plan;
use crate::plan::vary::{Cell, Change, Setting};

/// The file's name, in the comparison's folder.
pub const MANIFEST: &str = "comparison.json";
/// The folder of the runs, in the comparison's folder.
pub const RUNS: &str = "runs";
/// Version of the file.
const FORMAT: u32 = 1;
/// Longest part of a folder's name that tells the cell.
const SLUG_CHARACTERS_MAX: usize = 40;

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
        let run = |slot: super::order::Slot| {
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
        let manifest: Self = serde_json::from_str(&text).map_err(|source| CompareError::Manifest { path: path.clone(), source })?;
        if manifest.format != FORMAT {
            return Err(CompareError::Format { path, found: manifest.format, known: FORMAT });
        }
        Ok(Some(manifest))
    }

    /// Writes it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), CompareError> {
        let path = folder.join(MANIFEST);
        let text = serde_json::to_string_pretty(self).map_err(|source| CompareError::Manifest { path: path.clone(), source })? + "\n";
        fs::write(&path, text).map_err(|source| CompareError::File { path, source })
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
mod tests {
    use super::*;
    use crate::plan::{self, vary};

    fn cells(plan_text: &str, changes: &[Change]) -> (Plan, Vec<Cell>) {
        (plan::parse("p.toml", plan_text).unwrap().plan, vary::cells("p.toml", plan_text, changes).unwrap())
    }

    fn plan_text(steps: &str) -> String {
        format!(
            "name = \"p\"\nseed = 9\n[[topic]]\nname = \"a\"\npartitions = 1\nreplication = 1\n[[producers]]\nname = \"g\"\ntopics = [\"a\"]\nrate = \"1/s\"\n{steps}"
        )
    }

    fn manifest(changes: &[&str], repeats: u32, steps: &str) -> Manifest {
        let changes: Vec<Change> = changes.iter().map(|text| Change::Vary((*text).to_owned())).collect();
        let (plan, cells) = cells(&plan_text(steps), &changes);
        Manifest::new(Design { plan: &plan, changes: &changes, repeats, seed: None }, &cells)
    }

    #[test]
    fn the_file_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), None);
        let manifest = manifest(&["topic.a.partitions=1,2"], 2, "");
        manifest.write(folder.path()).unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), Some(manifest.clone()));
        let folders: Vec<&str> = manifest.runs.iter().map(|run| run.folder.as_str()).collect();
        assert_eq!((folders.len(), folders[0], folders[5]), (6, "001-1-control", "006-1-control"));
        assert_eq!(manifest.seed, 9, "the plan's");

        let path = folder.path().join(MANIFEST);
        fs::write(&path, fs::read_to_string(&path).unwrap().replace("\"format\": 1", "\"format\": 2")).unwrap();
        assert!(matches!(Manifest::read(folder.path()), Err(CompareError::Format { found: 2, .. })));
        fs::write(&path, "{}").unwrap();
        assert!(matches!(Manifest::read(folder.path()), Err(CompareError::Manifest { .. })));
    }

    #[test]
    fn only_the_same_comparison_is_resumed() {
        let begun = manifest(&["topic.a.partitions=1,2"], 2, "");
        assert_eq!(manifest(&["topic.a.partitions=1,2"], 2, "").differs(&begun), None);
        let rows = [
            (manifest(&["topic.a.partitions=1,3"], 2, ""), "what varies: --vary 'topic.a.partitions=1,2'"),
            (manifest(&["topic.a.partitions=1,2"], 3, ""), "--repeat 2"),
            (manifest(&["topic.a.partitions=1,2"], 2, "# other"), "the text of the plan (p.toml)"),
            (Manifest { seed: 1, ..begun.clone() }, "--seed 9"),
            (Manifest { one_cluster: false, ..begun.clone() }, "the way in which version"),
        ];
        for (other, expected) in rows {
            let said = other.differs(&begun).unwrap();
            assert!(said.starts_with(expected), "{said}");
        }
    }

    #[test]
    fn a_cluster_is_shared_only_by_plans_that_ask_for_the_same_and_leave_it_so() {
        let joins = "[[step]]\nat = \"0s\"\nadd-broker = {}\n";
        let rows = [("topic.a.partitions=1,2", "", true), ("cluster.nodes=1,3", "", false), ("topic.a.partitions=1,2", joins, false)];
        for (change, steps, expected) in rows {
            assert_eq!(manifest(&[change], 1, steps).one_cluster, expected, "{change} {steps}");
        }
    }

    #[test]
    fn a_folder_tells_number_and_cell() {
        let rows = [
            (1, "2s", true, "001-2s-control"),
            (12, "2s, 3", false, "012-2s-3"),
            (7, "[[1, 2]]", false, "007-1-2"),
            (1234, "", false, "1234"),
            (2, "äö/../x", false, "002-..-x"),
        ];
        for (number, cell, is_control, expected) in rows {
            assert_eq!(folder_name(number, cell, is_control), expected);
        }
    }
}
