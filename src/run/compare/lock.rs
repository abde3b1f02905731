//! One process at a time works on a comparison: a file in its folder names it.
//!
//! A process that was killed leaves the file; that it is dead shows then, and the next one takes over.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::CompareError;
use crate::cluster::owner::{Liveness, Owner, Place};

/// The file, in the comparison's folder.
const IN_USE: &str = "in-use";

/// Holds a comparison's folder until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
}

impl Lock {
    /// Takes the folder.
    ///
    /// # Errors
    /// [`CompareError::InUse`] if a living process has it; or the file cannot be written.
    pub(super) fn take(folder: &Path) -> Result<Self, CompareError> {
        let path = folder.join(IN_USE);
        let file = |source| CompareError::File { path: path.clone(), source };
        match fs::read_to_string(&path) {
            Ok(text) => {
                if let Some(owner) = read(&text).filter(|owner| owner.liveness() == Liveness::Alive) {
                    return Err(CompareError::InUse { folder: folder.to_owned(), pid: owner.pid });
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(file(error)),
        }
        let Owner { pid, start_ticks, place } = Owner::current();
        fs::write(&path, format!("{pid} {start_ticks} {}\n", place.to_label())).map_err(file)?;
        Ok(Self { path })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A file that stays names a process that is dead by then.
        let _ = fs::remove_file(&self.path);
    }
}

/// The owner in the file; `None`: it names none, so nobody has the folder.
fn read(text: &str) -> Option<Owner> {
    let mut words = text.trim_end().splitn(3, ' ');
    Some(Owner { pid: words.next()?.parse().ok()?, start_ticks: words.next()?.parse().ok()?, place: Place::from_label(words.next()?)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_taken_by_one_living_process() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::take(folder.path()).unwrap();
        let pid = std::process::id();
        assert!(matches!(Lock::take(folder.path()), Err(CompareError::InUse { pid: other, .. }) if other == pid));
        drop(lock);
        assert!(!folder.path().join(IN_USE).exists());

        let dead = Owner { start_ticks: 1, ..Owner::current() };
        for text in [format!("{} 1 {}\n", dead.pid, dead.place.to_label()), "nonsense".to_owned(), String::new()] {
            fs::write(folder.path().join(IN_USE), text).unwrap();
            drop(Lock::take(folder.path()).unwrap());
        }
    }
}
