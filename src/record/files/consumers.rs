//! `consumers.csv`: what each consumer has read, one row per second. Only of a run that has consumers.

use std::path::PathBuf;

use super::append::LateCsvFile;
use super::cell;
use super::requesters::{listed, times};
use crate::record::consumers::ConsumerSecond;
use crate::record::error::{RecordError, Result};
use crate::record::histogram::HistogramError;

pub(super) const COLUMNS: &str = "second,worker,group,records,undated,bytes,behind,without_leader,end_to_end_p50_us,end_to_end_p99_us,\
end_to_end_max_us,errors";

#[derive(Debug)]
pub(super) struct ConsumersFile(LateCsvFile);

impl ConsumersFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(LateCsvFile::new(path, COLUMNS))
    }

    pub(super) fn write(&mut self, worker: u32, second: &ConsumerSecond) -> Result<()> {
        let unreadable = |source: HistogramError| RecordError::Histogram { group: second.group.clone(), second: second.second, source };
        let mut row = vec![second.second.to_string(), worker.to_string(), second.group.clone()];
        row.extend([second.records, second.undated, second.bytes].map(|count| count.to_string()));
        row.extend([cell(second.behind), second.without_leader.to_string()]);
        row.extend(times(second.times().map_err(unreadable)?.as_ref()));
        row.push(listed(&second.errors));
        self.0.row(row)
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fact::Fact;
    use crate::record::sample::Sample;

    #[test]
    fn a_row_per_second_and_no_file_without_any() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("consumers.csv");
        let mut file = ConsumersFile::new(path.clone());
        file.flush().unwrap();
        assert!(!path.exists());
        let sample = Sample::new(&[]).consumer("reader", 0, 2, |second| {
            if second.second == 1 {
                (second.records, second.end_to_end, second.behind, second.without_leader) = (0, None, None, 3);
                second.errors.insert("6".to_owned(), 2);
            }
        });
        for stamped in &sample.facts {
            if let Fact::ConsumerSecond(second) = &stamped.fact {
                file.write(0, second).unwrap();
            }
        }
        file.flush().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(rows, [COLUMNS, "0,0,reader,100,1,20000,5,0,4001,9000,9000,", "1,0,reader,0,1,20000,,3,,,,6=2"]);
    }
}
