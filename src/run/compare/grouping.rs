//! Runs that are there already, as cells: repeats of one setting together.
//!
//! Either the caller says which folders belong together, or they do if plan, seed and version of Kafka are the same. Two runs alike are two
//! cells all the same: nobody names two folders to learn that they are repeats.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use jiff::Timestamp;

use super::CompareError;
use super::load::{complete, run_figures};
use super::manifest::Manifest;
use crate::analyze::compare::model::{CellRuns, RunFigures};

/// Folders of runs that are repeats of one setting: `NAME=DIR,DIR`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellOfFolders {
    /// The setting's name.
    pub name: String,
    /// The runs' folders.
    pub folders: Vec<PathBuf>,
}

impl FromStr for CellOfFolders {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, folders) = text.split_once('=').ok_or("write NAME=DIR,DIR")?;
        let folders: Vec<&str> = folders.split(',').map(str::trim).collect();
        if name.trim().is_empty() || folders.iter().any(|folder| folder.is_empty()) {
            return Err("write NAME=DIR,DIR");
        }
        Ok(Self { name: name.trim().to_owned(), folders: folders.into_iter().map(PathBuf::from).collect() })
    }
}

/// A run that was read, with its folder.
struct Found {
    folder: PathBuf,
    figures: RunFigures,
    /// What runs of one setting have in common.
    setting: String,
}

/// Reads runs and puts those alike into one cell, the first folder's first.
///
/// # Errors
/// A folder is none of a run, or is a comparison's; or there is only one.
pub fn of_folders(folders: &[PathBuf]) -> Result<Vec<CellRuns>, CompareError> {
    let found = read(folders)?;
    let settings: Vec<&str> = found.iter().map(|run| run.setting.as_str()).collect();
    let groups = group(&settings);
    let cells = groups.iter().map(|members| CellOfFolders {
        name: name_of(members, &found),
        folders: members.iter().map(|index| found[*index].folder.clone()).collect(),
    });
    made(cells.collect(), found)
}

/// Reads runs into the cells that they were given.
///
/// # Errors
/// As [`of_folders`]; also if two cells have one name, or one folder is in two of them.
pub fn of_cells(cells: &[CellOfFolders]) -> Result<Vec<CellRuns>, CompareError> {
    let mut names: Vec<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(CompareError::CellTwice { name: twice[0].to_owned() });
    }
    let folders: Vec<PathBuf> = cells.iter().flat_map(|cell| cell.folders.iter().cloned()).collect();
    made(cells.to_vec(), read(&folders)?)
}

fn read(folders: &[PathBuf]) -> Result<Vec<Found>, CompareError> {
    if let [only] = folders {
        return Err(CompareError::OneRun { folder: only.clone() });
    }
    let mut found: Vec<Found> = Vec::new();
    for folder in folders {
        if Manifest::read(folder)?.is_some() {
            return Err(CompareError::AmongRuns { folder: folder.clone() });
        }
        if found.iter().any(|run| is_same(&run.folder, folder)) {
            return Err(CompareError::FolderTwice { folder: folder.clone() });
        }
        let (figures, seed) = run_figures(folder, 0, None)?;
        let kafka = figures.versions.get("kafka").map_or("", String::as_str);
        let setting = format!("{} {seed} {kafka}", figures.plan_sha256);
        found.push(Found { folder: folder.clone(), figures, setting });
    }
    number(&mut found);
    Ok(found)
}

fn is_same(a: &Path, b: &Path) -> bool {
    a == b || a.canonicalize().ok().zip(b.canonicalize().ok()).is_some_and(|(a, b)| a == b)
}

/// Numbers runs by the time of their baseline.
fn number(found: &mut [Found]) {
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|index| found[*index].figures.started_at.parse::<Timestamp>().ok());
    for (place, index) in (1..).zip(order) {
        found[index].figures.order = place;
    }
}

/// Which of these belong together, by what they have in common; in the order of the first of each. Two that are alike are kept apart if they
/// are all there is.
fn group(settings: &[&str]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, setting) in settings.iter().enumerate() {
        let place = *known.entry(setting).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(index);
    }
    if groups.len() == 1 && settings.len() == 2 { vec![vec![0], vec![1]] } else { groups }
}

/// The last name of the first folder, or all of it where that is not the only one of this name.
fn name_of(members: &[usize], found: &[Found]) -> String {
    let Some(first) = members.first().map(|index| &found[*index]) else { return String::new() };
    let is_unique = found.iter().filter(|run| run.figures.name == first.figures.name).count() == 1;
    if is_unique { first.figures.name.clone() } else { first.folder.display().to_string() }
}

fn made(cells: Vec<CellOfFolders>, found: Vec<Found>) -> Result<Vec<CellRuns>, CompareError> {
    let folders: BTreeMap<u32, PathBuf> = found.iter().map(|run| (run.figures.order, run.folder.clone())).collect();
    let mut by_folder: BTreeMap<PathBuf, RunFigures> = found.into_iter().map(|run| (run.folder, run.figures)).collect();
    let cell = |cell: CellOfFolders| {
        let runs = cell.folders.iter().filter_map(|folder| by_folder.remove(folder)).collect();
        CellRuns { name: cell.name, settings: Vec::new(), is_control: false, runs }
    };
    let mut made: Vec<CellRuns> = cells.into_iter().map(cell).collect();
    complete(&mut made, &folders)?;
    Ok(made)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::report::replay::sample_run;

    #[test]
    fn alike_are_together_and_two_alike_apart() {
        let rows: [(&[&str], &[&[usize]]); 5] = [
            (&["a", "b"], &[&[0], &[1]]),
            (&["a", "b", "a", "c", "b"], &[&[0, 2], &[1, 4], &[3]]),
            (&["a", "a"], &[&[0], &[1]]),
            (&["a", "a", "a"], &[&[0, 1, 2]]),
            (&["a", "b", "b"], &[&[0], &[1, 2]]),
        ];
        for (settings, expected) in rows {
            assert_eq!(group(settings), expected, "{settings:?}");
        }
    }

    #[test]
    fn a_cell_is_written_as_its_name_and_its_folders() {
        let expected = CellOfFolders { name: "before".into(), folders: vec!["a/b".into(), "c".into()] };
        assert_eq!("before=a/b, c".parse(), Ok(expected));
        for text in ["before", "=a", "before=", "before=a,,b"] {
            assert!(text.parse::<CellOfFolders>().is_err(), "{text}");
        }
    }

    #[test]
    fn runs_become_cells_by_folder_or_as_they_are_told() {
        let root = tempfile::tempdir().unwrap();
        let folders: Vec<PathBuf> = ["x/one", "y/one", "two"].iter().map(|name| root.path().join(name)).collect();
        folders.iter().for_each(|folder| sample_run(folder, true));
        let names = |cells: &[CellRuns]| cells.iter().map(|cell| (cell.name.clone(), cell.runs.len())).collect::<Vec<_>>();
        let cells = of_folders(&folders[1..]).unwrap();
        assert_eq!(names(&cells), [("one".to_owned(), 1), ("two".to_owned(), 1)]);
        assert_eq!(cells.iter().map(|cell| cell.runs[0].order).collect::<Vec<_>>(), [1, 2]);
        let cells = of_folders(&folders).unwrap();
        assert_eq!(names(&cells), [(folders[0].display().to_string(), 3)]);
        let cell = |name: &str, folders: &[PathBuf]| CellOfFolders { name: name.into(), folders: folders.to_vec() };
        let cells = of_cells(&[cell("before", &folders[..1]), cell("after", &folders[1..])]).unwrap();
        assert_eq!(names(&cells), [("before".to_owned(), 1), ("after".to_owned(), 2)]);
    }

    #[test]
    fn what_cannot_be_compared_is_told() {
        let root = tempfile::tempdir().unwrap();
        let [run, comparison, empty] = ["run", "comparison", "empty"].map(|name| root.path().join(name));
        sample_run(&run, true);
        fs::create_dir(&comparison).unwrap();
        fs::write(comparison.join(crate::run::compare::MANIFEST), "{}").unwrap();
        fs::create_dir(&empty).unwrap();
        let of = |folders: &[&PathBuf]| of_folders(&folders.iter().map(|folder| (*folder).clone()).collect::<Vec<_>>()).unwrap_err();
        assert!(matches!(of(&[&run]), CompareError::OneRun { .. }));
        assert!(matches!(of(&[&run, &run.join(".")]), CompareError::FolderTwice { .. }));
        assert!(matches!(of(&[&run, &comparison]), CompareError::Manifest { .. }));
        assert!(matches!(of(&[&run, &empty]), CompareError::Replay(_)));
        let twice = [CellOfFolders { name: "a".into(), folders: vec![run] }, CellOfFolders { name: "a".into(), folders: vec![empty] }];
        assert!(matches!(of_cells(&twice), Err(CompareError::CellTwice { .. })));
    }
}
