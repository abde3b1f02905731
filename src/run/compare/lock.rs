//! One process at a time works on a comparison: a file in its folder names it.
//!
//! A process that was killed leaves the file; that it is dead shows then, and the next one takes over. Where that cannot be seen, because the
//! process is of another machine or container, nobody takes over but whoever removes the file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::CompareError;
use crate::cluster::owner::{Liveness, Owner, Place};

/// The file, in the comparison's folder.
const IN_USE: &str = "in-use";

/// How often the file is tried for, while others come and go.
const ATTEMPTS: u32 = 5;

/// Holds a comparison's folder until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    /// What the file holds as long as the folder is held.
    text: String,
}

impl Lock {
    /// Takes the folder.
    ///
    /// # Errors
    /// [`CompareError::InUse`] if a living process has it, [`CompareError::PerhapsInUse`] if one has that cannot be seen from here; or the
    /// file cannot be written.
    pub(super) fn take(folder: &Path) -> Result<Self, CompareError> {
        let path = folder.join(IN_USE);
        let Owner { pid, start_ticks, place } = Owner::current();
        let text = format!("{pid} {start_ticks} {}\n", place.to_label());
        for _ in 0..ATTEMPTS {
            if put(&path, &text).map_err(at(&path))? {
                return Ok(Self { path, text });
            }
            let found = match fs::read_to_string(&path) {
                Ok(found) => found,
                // It was given back meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(at(&path)(error)),
            };
            if let Some(owner) = read(&found) {
                match owner.liveness() {
                    Liveness::Alive => return Err(CompareError::InUse { folder: folder.to_owned(), pid: owner.pid }),
                    Liveness::Unknown => return Err(CompareError::PerhapsInUse { file: path, pid: owner.pid, host: owner.place.host }),
                    Liveness::Dead => {}
                }
            }
            clear(&path, &found).map_err(at(&path))?;
        }
        Err(at(&path)(io::Error::other("others take it all the time")))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A file that stays names a process that is dead by then; one that somebody else has put there is theirs.
        if fs::read_to_string(&self.path).is_ok_and(|text| text == self.text) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> CompareError {
    move |source| CompareError::File { path: path.to_owned(), source }
}

/// Puts the file there, whole and only if there is none; `false`: there is one.
fn put(path: &Path, text: &str) -> io::Result<bool> {
    let own = own_name(path, "mine");
    fs::write(&own, text)?;
    // Unlike a rename, a link never takes the place of a file; unlike a file that is opened, it is never there without its content.
    let linked = fs::hard_link(&own, path);
    fs::remove_file(&own)?;
    match linked {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Takes away the file of a process that is dead, if it still holds that text.
fn clear(path: &Path, text: &str) -> io::Result<()> {
    let own = own_name(path, "theirs");
    match fs::rename(path, &own) {
        Ok(()) => {}
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    if fs::read_to_string(&own)? != text {
        // Another process took the folder between the look and the move: it gets its file back.
        match fs::hard_link(&own, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    fs::remove_file(&own)
}

/// A name that no other process uses.
fn own_name(path: &Path, what: &str) -> PathBuf {
    path.with_file_name(format!("{IN_USE}.{what}-{}", std::process::id()))
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
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
    }

    #[test]
    fn a_process_that_cannot_be_seen_is_not_taken_for_dead() {
        let folder = tempfile::tempdir().unwrap();
        let here = Owner::current();
        let place = Place { host: "elsewhere".to_owned(), boot: "another".to_owned(), ..here.place };
        fs::write(folder.path().join(IN_USE), format!("7 1 {}\n", place.to_label())).unwrap();
        let refused = Lock::take(folder.path()).unwrap_err();
        assert!(matches!(&refused, CompareError::PerhapsInUse { pid: 7, host, .. } if host == "elsewhere"), "{refused}");
        assert!(refused.is_request_fault() && refused.to_string().contains("remove "), "{refused}");
    }

    #[test]
    fn of_many_that_find_a_dead_process_one_takes_over() {
        let folder = tempfile::tempdir().unwrap();
        let dead = Owner { start_ticks: 1, ..Owner::current() };
        let text = format!("{} 1 {}\n", dead.pid, dead.place.to_label());
        fs::write(folder.path().join(IN_USE), &text).unwrap();
        // One looks, another takes the folder, and the first goes on with what it saw.
        clear(&folder.path().join(IN_USE), &text).unwrap();
        let lock = Lock::take(folder.path()).unwrap();
        clear(&folder.path().join(IN_USE), &text).unwrap();
        assert!(matches!(Lock::take(folder.path()), Err(CompareError::InUse { .. })), "what is no longer that of the dead stays");
        drop(lock);
        assert!(!folder.path().join(IN_USE).exists());
    }

    #[test]
    fn a_file_that_is_not_its_own_stays() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::take(folder.path()).unwrap();
        fs::write(folder.path().join(IN_USE), "1 2 other").unwrap();
        drop(lock);
        assert!(folder.path().join(IN_USE).exists());
    }
}
