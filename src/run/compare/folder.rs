//! The folder of a comparison that is carried out: made, or taken up again; held by one process.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::CompareError;
use super::lock::Lock;
use super::manifest::{LOGS, MANIFEST, Manifest, RUNS};
use super::state::{State, states};
use crate::plan::vary::Cell;
use crate::record::folder::RunFolder;

/// A comparison's folder, which this process holds until it is dropped.
#[derive(Debug)]
pub struct Opened {
    /// Where it is.
    pub path: PathBuf,
    /// What is in it.
    pub manifest: Manifest,
    /// Whether it was there before.
    pub is_resumed: bool,
    _lock: Lock,
}

impl Opened {
    /// Makes the folder `results/<UTC time>-compare-<plan>`, or exactly `out`; takes `out` up again if the same comparison was begun there.
    ///
    /// # Errors
    /// `out` holds something else, another process holds it, or it cannot be made.
    pub fn make(out: Option<&Path>, manifest: Manifest, now: SystemTime) -> Result<Self, CompareError> {
        if let Some(out) = out
            && let Some(begun) = Manifest::read(out)?
        {
            return match manifest.differs(&begun) {
                Some(what) => Err(CompareError::OtherComparison { folder: out.to_owned(), what }),
                None => Self::take(out, begun, true),
            };
        }
        let folder = match out {
            Some(path) => RunFolder::exactly(path)?,
            None => RunFolder::create("results".as_ref(), now, &format!("compare-{}", manifest.plan))?,
        };
        manifest.write(folder.path())?;
        Self::take(folder.path(), manifest, false)
    }

    /// Takes up the comparison of a folder.
    ///
    /// # Errors
    /// There is none, or another process holds it.
    pub fn resume(folder: &Path) -> Result<Self, CompareError> {
        let manifest = Manifest::read(folder)?.ok_or_else(|| CompareError::NoComparison { folder: folder.to_owned() })?;
        Self::take(folder, manifest, true)
    }

    /// The cells, made from the manifest's plan.
    ///
    /// # Errors
    /// As [`Manifest::cells_of`].
    pub fn cells(&self) -> Result<Vec<Cell>, CompareError> {
        self.manifest.cells_of(&self.path)
    }

    fn take(path: &Path, manifest: Manifest, is_resumed: bool) -> Result<Self, CompareError> {
        let lock = Lock::take(path)?;
        let runs = path.join(RUNS);
        fs::create_dir_all(&runs).map_err(|source| CompareError::File { path: runs, source })?;
        Ok(Self { path: path.to_owned(), manifest, is_resumed, _lock: lock })
    }

    /// Removes a folder that was made and that no run has left anything in; `false`: there is something, and it stays.
    #[must_use]
    pub fn remove_if_empty(self) -> bool {
        // What was set aside is something, as are logs, and without the manifest nobody could go on from it.
        let has_more = self.is_resumed || super::count_set_aside(&self.path) > 0 || self.path.join(LOGS).exists();
        let is_empty = !has_more && fs::remove_dir(self.path.join(RUNS)).is_ok();
        let Self { path, _lock, .. } = self;
        if is_empty {
            // Each may be gone, or hold what somebody else has put there.
            let _ = fs::remove_file(path.join(MANIFEST));
            drop(_lock);
            let _ = fs::remove_dir(&path);
        }
        is_empty
    }
}

/// What has become of the runs of a comparison in the folder that it is to have; empty if it was not begun there.
///
/// # Errors
/// The folder holds another comparison, or cannot be read.
pub fn begun(out: &Path, manifest: &Manifest) -> Result<Vec<State>, CompareError> {
    let Some(begun) = Manifest::read(out)? else { return Ok(Vec::new()) };
    match manifest.differs(&begun) {
        Some(what) => Err(CompareError::OtherComparison { folder: out.to_owned(), what }),
        None => states(out, &begun),
    }
}

/// Takes a folder for results alone, which must be empty or not exist.
///
/// # Errors
/// It holds something, or cannot be made.
pub fn empty_folder(path: &Path) -> Result<PathBuf, CompareError> {
    Ok(RunFolder::exactly(path)?.path().to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;
    use crate::plan::{self, vary};
    use crate::run::compare::Design;

    const PLAN: &str = "name = \"p\"\n[[topic]]\nname = \"a\"\npartitions = 1\nreplication = 1\n[[producers]]\nname = \"g\"\ntopics = [\"a\"]\nrate = \"1/s\"\n";

    fn manifest(repeats: u32) -> Manifest {
        let plan = plan::parse("p.toml", PLAN).unwrap().plan;
        let cells = vary::cells("p.toml", PLAN, &[]).unwrap();
        Manifest::new(Design { plan: &plan, changes: &[], repeats, seed: None }, &cells)
    }

    #[test]
    fn a_folder_is_made_resumed_and_never_shared_with_another_comparison() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("out");
        let made = Opened::make(Some(&out), manifest(2), UNIX_EPOCH).unwrap();
        assert!(!made.is_resumed && out.join(RUNS).is_dir());
        assert!(matches!(Opened::resume(&out), Err(CompareError::InUse { .. })));
        drop(made);
        assert!(Opened::make(Some(&out), manifest(2), UNIX_EPOCH).unwrap().is_resumed);
        assert!(Opened::resume(&out).unwrap().is_resumed);
        assert!(matches!(Opened::make(Some(&out), manifest(3), UNIX_EPOCH), Err(CompareError::OtherComparison { .. })));
        assert!(matches!(Opened::resume(root.path()), Err(CompareError::NoComparison { .. })));
        fs::write(root.path().join("precious"), "data").unwrap();
        assert_eq!(begun(&out, &manifest(2)).unwrap(), [State::Missing, State::Missing]);
        assert!(matches!(begun(&out, &manifest(3)), Err(CompareError::OtherComparison { .. })));
        assert!(begun(root.path(), &manifest(2)).unwrap().is_empty());
        let refused = Opened::make(Some(root.path()), manifest(2), UNIX_EPOCH).unwrap_err();
        assert!(matches!(refused, CompareError::Folder(_)) && refused.is_request_fault());
    }

    #[test]
    fn a_folder_is_removed_only_if_it_is_new_and_no_run_has_left_anything() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("out");
        let make = || Opened::make(Some(&out), manifest(2), UNIX_EPOCH).unwrap();
        assert!(make().remove_if_empty() && !out.exists());
        drop(make());
        assert!(!make().remove_if_empty() && out.exists(), "resumed");
        fs::remove_dir_all(&out).unwrap();
        let made = make();
        fs::create_dir(out.join(LOGS)).unwrap();
        assert!(!made.remove_if_empty() && out.join(MANIFEST).exists(), "logs of a cluster that did not start");
        fs::remove_dir_all(&out).unwrap();
        let made = make();
        fs::create_dir(out.join(RUNS).join("001-x")).unwrap();
        assert!(!made.remove_if_empty() && out.exists());
    }
}
