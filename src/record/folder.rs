//! The folder of one run: found or made, never shared with another run.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;

use crate::record::error::{RecordError, Result};

/// How many runs of one plan may begin in the same second.
const SAME_SECOND_MAX: u32 = 100;

/// A run's folder, which exists and was empty when it was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Makes `ROOT/<UTC time>-<plan>`.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn create(root: &Path, started_at: SystemTime, plan: &str) -> Result<Self> {
        fs::create_dir_all(root).map_err(RecordError::io("create", root))?;
        let name = folder_name(started_at, plan);
        let mut path = root.join(&name);
        for attempt in 2..=SAME_SECOND_MAX {
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => path = root.join(format!("{name}-{attempt}")),
                Err(e) => return Err(RecordError::io("create", &path)(e)),
            }
        }
        Err(RecordError::FolderInUse { path: root.join(name) })
    }

    /// Takes exactly this folder (`--out DIR`), which must be empty or not exist.
    ///
    /// # Errors
    /// If it holds something, or cannot be read or made.
    pub fn exactly(path: &Path) -> Result<Self> {
        fs::create_dir_all(path).map_err(RecordError::io("create", path))?;
        let mut entries = fs::read_dir(path).map_err(RecordError::io("read", path))?;
        if entries.next().is_some() {
            return Err(RecordError::FolderInUse { path: path.to_path_buf() });
        }
        Ok(Self { path: path.to_path_buf() })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of one of its files.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// Sorts by time, and is a plain name on every file system.
fn folder_name(started_at: SystemTime, plan: &str) -> String {
    let time = Timestamp::try_from(started_at).unwrap_or(Timestamp::UNIX_EPOCH);
    let plan: String = plan.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' }).collect();
    format!("{}-{plan}", time.strftime("%Y-%m-%dT%H-%M-%SZ"))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    const STARTED_S: u64 = 1_764_410_403;

    #[test]
    fn the_name_holds_the_time_and_the_plan() {
        let root = tempfile::tempdir().unwrap();
        let at = UNIX_EPOCH + Duration::from_secs(STARTED_S);
        let first = RunFolder::create(root.path(), at, "my plan/x").unwrap();
        assert_eq!(first.path().file_name().unwrap(), "2025-11-29T10-00-03Z-my-plan-x");
        let second = RunFolder::create(root.path(), at, "my plan/x").unwrap();
        assert_eq!(second.path().file_name().unwrap(), "2025-11-29T10-00-03Z-my-plan-x-2");
    }

    #[test]
    fn a_named_folder_is_made_or_taken_empty_but_never_shared() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b");
        RunFolder::exactly(&path).unwrap();
        let folder = RunFolder::exactly(&path).unwrap();
        fs::write(folder.file("run.json"), "{}").unwrap();
        let refused = RunFolder::exactly(&path).unwrap_err();
        assert!(matches!(refused, RecordError::FolderInUse { .. }));
        assert!(refused.to_string().contains("is not empty"), "{refused}");
    }
}
