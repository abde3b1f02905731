//! The name of what is measured: two runs belong together if it is the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, bail};
use sha2::{Digest, Sha256};

use crate::source::{is_changed, said};

/// What takes part in a measurement: the program's own sources, plans, and what runs in containers.
const MEASURED: [&str; 6] = ["src", "clients", "images", "plans", "Cargo.toml", "Cargo.lock"];

/// The version, and a digest of everything that is measured as it is committed, so that a measurement may go on with a later commit, or on
/// another machine, as long as that stays the same; of the program's file, if it has changes that no commit holds, or there is no git.
///
/// # Errors
/// The program cannot be read, or is older than one of its sources.
pub(crate) fn name(program: &Path) -> anyhow::Result<String> {
    let made_at = modified_at(program).with_context(|| format!("cannot read {}: cargo build --release makes it", program.display()))?;
    if let Some(newer) = newer_source(made_at) {
        bail!("{} is older than {}: cargo build --release makes it anew", program.display(), newer.display());
    }
    let (kind, digest) = match contents() {
        Some(contents) => ("sources", Sha256::digest(contents)),
        None => ("program", Sha256::digest(fs::read(program)?)),
    };
    let digest: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{} ({kind} {digest})", env!("CARGO_PKG_VERSION")))
}

fn modified_at(path: &Path) -> std::io::Result<SystemTime> {
    fs::metadata(path)?.modified()
}

/// A source that is newer than this.
fn newer_source(than: SystemTime) -> Option<PathBuf> {
    let mut left: Vec<PathBuf> = ["src", "Cargo.toml", "Cargo.lock"].map(PathBuf::from).to_vec();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())));
        } else if modified_at(&path).is_ok_and(|at| at > than) {
            return Some(path);
        }
    }
    None
}

/// The contents of all of it, as git names them.
fn contents() -> Option<String> {
    if is_changed(&MEASURED)? {
        return None;
    }
    let objects = MEASURED.map(|path| format!("HEAD:{path}"));
    let mut arguments = vec!["rev-parse"];
    arguments.extend(objects.iter().map(String::as_str));
    said("git", &arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_those_of_every_measured_path() {
        // A checkout without git, or with changes, has none.
        if let Some(contents) = contents() {
            assert_eq!(contents.lines().count(), MEASURED.len());
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        assert!(name(Path::new("no/such/program")).is_err());
        let program = tempfile::NamedTempFile::new().unwrap();
        assert!(name(program.path()).unwrap().starts_with(env!("CARGO_PKG_VERSION")));
        program.as_file().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(name(program.path()).unwrap_err().to_string().contains("is older than"));
    }
}
