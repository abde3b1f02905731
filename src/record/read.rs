//! Reads `facts.jsonl` back, also one whose writer was killed in the middle of its last line.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::record::error::{RecordError, Result};
use crate::record::fact::Stamped;
use crate::record::files::FACTS;

/// The facts of a run, one at a time, in the order in which they were written.
#[derive(Debug)]
pub struct FactReader {
    path: PathBuf,
    lines: BufReader<File>,
    line: usize,
    cut: bool,
}

impl FactReader {
    /// Opens the facts of a run's folder.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(FACTS);
        let file = File::open(&path).map_err(RecordError::io("open", &path))?;
        Ok(Self { path, lines: BufReader::new(file), line: 0, cut: false })
    }

    /// Whether the last line was cut off; known once the facts are read.
    #[must_use]
    pub fn was_cut(&self) -> bool {
        self.cut
    }

    fn read(&mut self) -> Result<Option<Stamped>> {
        let mut text = Vec::new();
        let length = self.lines.read_until(b'\n', &mut text).map_err(RecordError::io("read", &self.path))?;
        if length == 0 {
            return Ok(None);
        }
        self.line += 1;
        match serde_json::from_slice(&text) {
            Ok(fact) => Ok(Some(fact)),
            Err(_) if text.last() != Some(&b'\n') => {
                self.cut = true;
                Ok(None)
            }
            Err(source) => Err(RecordError::BadFact { path: self.path.clone(), line: self.line, source }),
        }
    }
}

impl Iterator for FactReader {
    type Item = Result<Stamped>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"time_us":5,"worker":0,"fact":"phase_started","phase":"steady"}"#;

    fn read(text: &str) -> (Vec<Result<Stamped>>, bool) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FACTS), text).unwrap();
        let mut reader = FactReader::open(folder.path()).unwrap();
        (reader.by_ref().collect(), reader.was_cut())
    }

    #[test]
    fn whole_lines_are_read_and_a_cut_last_one_is_left() {
        let (facts, cut) = read(&format!("{LINE}\n{LINE}\n{}", &LINE[..20]));
        assert_eq!((facts.len(), cut), (2, true));
        let (facts, cut) = read(&format!("{LINE}\n"));
        assert_eq!((facts.len(), cut), (1, false));
    }

    #[test]
    fn a_broken_line_in_the_middle_is_an_error_with_its_number() {
        let (facts, _) = read(&format!("{LINE}\nnonsense\n{LINE}\n"));
        assert!(facts[1].as_ref().unwrap_err().to_string().contains("line 2: not a fact"));
    }
}
