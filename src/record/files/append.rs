//! CSV files that grow row by row.

use std::fs::File;
use std::path::PathBuf;

use crate::record::error::{RecordError, Result};

/// A table with its header written.
#[derive(Debug)]
pub(super) struct CsvFile {
    path: PathBuf,
    writer: csv::Writer<File>,
}

/// A table that is made with its first row: there is no file if there is nothing to tell.
#[derive(Debug)]
pub(super) struct LateCsvFile {
    path: PathBuf,
    columns: &'static str,
    table: Option<CsvFile>,
}

impl LateCsvFile {
    pub(super) fn new(path: PathBuf, columns: &'static str) -> Self {
        Self { path, columns, table: None }
    }

    pub(super) fn row<C: AsRef<[u8]>>(&mut self, cells: impl IntoIterator<Item = C>) -> Result<()> {
        let mut table = match self.table.take() {
            Some(table) => table,
            None => CsvFile::create(self.path.clone(), self.columns)?,
        };
        table.row(cells)?;
        self.table = Some(table);
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.table.as_mut().map_or(Ok(()), CsvFile::flush)
    }
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
