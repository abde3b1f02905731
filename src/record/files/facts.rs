//! `facts.jsonl`: the stream itself, from which everything else can be made again.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use crate::record::error::{RecordError, Result};
use crate::record::fact::Stamped;

#[derive(Debug)]
pub(super) struct FactsFile {
    path: PathBuf,
    writer: BufWriter<File>,
}

impl FactsFile {
    pub(super) fn create(path: PathBuf) -> Result<Self> {
        let file = File::create(&path).map_err(RecordError::io("create", &path))?;
        Ok(Self { path, writer: BufWriter::with_capacity(256 * 1024, file) })
    }

    pub(super) fn write(&mut self, stamped: &Stamped) -> Result<()> {
        serde_json::to_writer(&mut self.writer, stamped).map_err(|source| RecordError::Json { path: self.path.clone(), source })?;
        self.writer.write_all(b"\n").map_err(RecordError::io("write", &self.path))
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(RecordError::io("write", &self.path))
    }
}
