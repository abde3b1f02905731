//! Files of a page of results: a table as CSV, texts, and bytes.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;

/// Writes rows as a table with their fields' names above.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write<Row: Serialize>(path: &Path, rows: &[Row]) -> anyhow::Result<()> {
    let context = || format!("cannot write {}", path.display());
    let mut table = csv::Writer::from_path(path).with_context(context)?;
    rows.iter().try_for_each(|row| table.serialize(row)).with_context(context)?;
    table.flush().with_context(context)
}

/// Writes a text.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write_text(path: &Path, text: &str) -> anyhow::Result<()> {
    write_bytes(path, text.as_bytes())
}

/// Writes bytes.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
