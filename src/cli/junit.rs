//! `--junit FILE`: where the results of `chaos run` and `chaos report` go for programs that gather tests' results.

use std::fs;
use std::path::Path;

use anyhow::Context;

use crate::report::junit;

/// Writes the document; the file is replaced.
///
/// # Errors
/// If it cannot be written.
pub(super) fn write(path: &Path, document: &str) -> anyhow::Result<()> {
    fs::write(path, document).with_context(|| format!("cannot write {}: give --junit a file in a folder that exists", path.display()))
}

/// Writes that the run has not come to its end: true until the end replaces it, whatever happens to the process.
///
/// # Errors
/// If it cannot be written.
pub(super) fn begin(path: &Path, plan: &str) -> anyhow::Result<()> {
    write(path, &junit::unfinished(plan, "the run was killed before it could tell what came of it"))
}
