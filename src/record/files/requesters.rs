//! `requesters.csv`: what each group of requesters did, one row per second. Only of a run that has requesters.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::append::LateCsvFile;
use super::cell;
use crate::record::error::{RecordError, Result};
use crate::record::fact::RequesterSecond;
use crate::record::histogram::{HistogramError, LatencyHistogram};

pub(super) const COLUMNS: &str = "second,worker,group,due,sent,ok,failed,in_flight,connected,request_bytes,response_bytes,\
round_trip_p50_us,round_trip_p99_us,round_trip_max_us,response_p50_us,response_p99_us,response_max_us,by_node,errors,topics_max,\
partitions_max";

#[derive(Debug)]
pub(super) struct RequestersFile(LateCsvFile);

impl RequestersFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(LateCsvFile::new(path, COLUMNS))
    }

    pub(super) fn write(&mut self, worker: u32, second: &RequesterSecond) -> Result<()> {
        let unreadable = |source: HistogramError| RecordError::Histogram { group: second.group.clone(), second: second.second, source };
        let counts = [
            second.due,
            second.sent,
            second.ok,
            second.failed,
            second.in_flight,
            second.connected,
            second.request_bytes,
            second.response_bytes,
        ];
        let mut row = vec![second.second.to_string(), worker.to_string(), second.group.clone()];
        row.extend(counts.map(|count| count.to_string()));
        row.extend(times(second.round_trips().map_err(unreadable)?.as_ref()));
        row.extend(times(second.responses().map_err(unreadable)?.as_ref()));
        row.extend([listed(&second.by_node), listed(&second.errors), cell(second.topics_max), cell(second.partitions_max)]);
        self.0.row(row)
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.0.flush()
    }
}

/// Median, p99 and maximum; empty cells without answers.
pub(super) fn times(histogram: Option<&LatencyHistogram>) -> [String; 3] {
    let quantile = |share| cell(histogram.and_then(|histogram| histogram.quantile_us(share)));
    [quantile(0.5), quantile(0.99), cell(histogram.map(LatencyHistogram::max_us))]
}

/// `1=50 2=51`.
pub(super) fn listed(counts: &BTreeMap<String, u64>) -> String {
    counts.iter().map(|(name, count)| format!("{name}={count}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fact::Fact;
    use crate::record::sample::Sample;

    #[test]
    fn a_row_per_second_and_no_file_without_any() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("requesters.csv");
        let mut file = RequestersFile::new(path.clone());
        file.flush().unwrap();
        assert!(!path.exists());
        let sample = Sample::new(&[]).requesters("storm", 0, 2, |second| {
            if second.second == 1 {
                (second.ok, second.failed, second.round_trip, second.response) = (0, 100, None, None);
                (second.topics_max, second.partitions_max) = (None, None);
                second.errors = BTreeMap::from([("disconnected".to_owned(), 99), ("timed_out".to_owned(), 1)]);
            }
        });
        for stamped in &sample.facts {
            if let Fact::RequesterSecond(second) = &stamped.fact {
                file.write(0, second).unwrap();
            }
        }
        file.flush().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(
            rows,
            [
                COLUMNS,
                "0,0,storm,100,100,100,0,0,20,3000,500000,4001,4001,9000,4001,4001,9000,1=50 2=50,,10,100",
                "1,0,storm,100,100,0,100,0,20,3000,500000,,,,,,,1=50 2=50,disconnected=99 timed_out=1,,",
            ]
        );
    }
}
