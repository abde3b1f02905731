//! Files that are replaced whole: readers see the old one or the new one, never half of either.

use std::fs;
use std::path::Path;

use crate::record::error::{RecordError, Result};

/// Replaces a file's content by writing another beside it and renaming that.
///
/// # Errors
/// If the folder cannot be written to.
pub fn replace(path: &Path, content: &[u8]) -> Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".part");
    let part = path.with_file_name(name);
    fs::write(&part, content).map_err(RecordError::io("write", &part))?;
    fs::rename(&part, path).map_err(RecordError::io("replace", path))
}

/// The same for a table.
pub(super) fn replace_table<C: AsRef<[u8]>, R: IntoIterator<Item = C>>(
    path: &Path,
    columns: &str,
    rows: impl IntoIterator<Item = R>,
) -> Result<()> {
    let csv_error = |source| RecordError::Csv { path: path.to_path_buf(), source };
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(columns.split(',')).map_err(csv_error)?;
    for row in rows {
        table.write_record(row).map_err(csv_error)?;
    }
    let content = table.into_inner().map_err(|e| RecordError::io("write", path)(e.into_error()))?;
    replace(path, &content)
}
