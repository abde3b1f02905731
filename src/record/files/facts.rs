//! `facts.jsonl`: the stream itself, from which everything else can be made again.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use crate::record::error::{RecordError, Result};
use crate::record::fact::Stamped;

/// Longest file: days of an ordinary run, and what a machine can still read again.
const BYTES_MAX: u64 = 16 << 30;

#[derive(Debug)]
pub(super) struct FactsFile {
    path: PathBuf,
    writer: BufWriter<File>,
    /// The present line.
    line: Vec<u8>,
    /// Bytes that still fit.
    room: u64,
}

impl FactsFile {
    pub(super) fn create(path: PathBuf) -> Result<Self> {
        let file = File::create(&path).map_err(RecordError::io("create", &path))?;
        Ok(Self { path, writer: BufWriter::with_capacity(256 * 1024, file), line: Vec::new(), room: BYTES_MAX })
    }

    pub(super) fn write(&mut self, stamped: &Stamped) -> Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, stamped).map_err(|source| RecordError::Json { path: self.path.clone(), source })?;
        self.line.push(b'\n');
        self.room = self
            .room
            .checked_sub(self.line.len() as u64)
            .ok_or_else(|| RecordError::TooLong { path: self.path.clone(), bytes_max: BYTES_MAX })?;
        self.writer.write_all(&self.line).map_err(RecordError::io("write", &self.path))
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(RecordError::io("write", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fact::Fact;

    #[test]
    fn a_line_that_would_be_too_much_is_refused_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("facts.jsonl");
        let mut file = FactsFile::create(path.clone()).unwrap();
        let fact = Stamped { time_us: 1, worker: 0, fact: Fact::FactsLost { count: 7 } };
        file.room = 120;
        file.write(&fact).unwrap();
        let error = std::iter::repeat_with(|| file.write(&fact)).take(120).find_map(Result::err).unwrap();
        assert!(error.to_string().contains("has grown as long as it may"), "{error}");
        file.flush().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.len() <= 120 && text.ends_with('\n') && text.lines().count() > 1, "{text}");
    }
}
