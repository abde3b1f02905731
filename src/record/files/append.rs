//! A CSV file that grows row by row.

use std::fs::File;
use std::path::PathBuf;

use crate::record::error::{RecordError, Result};

/// A table with its header written.
#[derive(Debug)]
pub(super) struct CsvFile {
    path: PathBuf,
    writer: csv::Writer<File>,
}

impl CsvFile {
    pub(super) fn create(path: PathBuf, columns: &str) -> Result<Self> {
        let file = File::create(&path).map_err(RecordError::io("create", &path))?;
        let mut table = Self { path, writer: csv::Writer::from_writer(file) };
        table.row(columns.split(','))?;
        table.flush()?;
        Ok(table)
    }

    pub(super) fn row<C: AsRef<[u8]>>(&mut self, cells: impl IntoIterator<Item = C>) -> Result<()> {
        self.writer.write_record(cells).map_err(|source| RecordError::Csv { path: self.path.clone(), source })
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(RecordError::io("write", &self.path))
    }
}
