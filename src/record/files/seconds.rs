//! `seconds.csv`: a group's figures, one row per second.

use std::path::PathBuf;

use super::append::CsvFile;
use super::cell;
use crate::record::error::{RecordError, Result};
use crate::record::fact::GroupSecond;
use crate::record::histogram::LatencyHistogram;

pub(super) const COLUMNS: &str = "second,worker,group,due,sent,ok,failed,indeterminate,blocked_metadata,blocked_memory,in_flight,\
buffer_free_bytes,metadata_requests,metadata_requests_age,metadata_requests_error,metadata_requests_disconnect,metadata_requests_other,\
metadata_request_bytes,metadata_response_bytes,metadata_age_max_ms,cached_partitions_min,cached_partitions_max,partitions_used_max,\
response_p50_us,response_p99_us,response_max_us,service_p50_us,service_p99_us,service_max_us";

#[derive(Debug)]
pub(super) struct SecondsFile {
    table: CsvFile,
}

impl SecondsFile {
    pub(super) fn create(path: PathBuf) -> Result<Self> {
        Ok(Self { table: CsvFile::create(path, COLUMNS)? })
    }

    pub(super) fn write(&mut self, worker: u32, second: &GroupSecond) -> Result<()> {
        let mut row = vec![second.second.to_string(), worker.to_string(), second.group.clone()];
        row.extend(counts(second).map(|count| count.to_string()));
        row.extend(latency(second, "response_ok")?);
        row.extend(latency(second, "service_ok")?);
        self.table.row(row)
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.table.flush()
    }
}

fn counts(second: &GroupSecond) -> [u64; 20] {
    let by = |reasons: &[&str]| reasons.iter().filter_map(|reason| second.metadata_requests.get(*reason)).sum::<u64>();
    let (all, age) = (second.metadata_requests.values().sum::<u64>(), by(&["age"]));
    let (error, disconnect) = (by(&["produce_error", "metadata_error"]), by(&["disconnect"]));
    [
        second.counts.due,
        second.counts.sent,
        second.counts.ok,
        second.counts.failed,
        second.counts.indeterminate,
        second.blocked_metadata,
        second.blocked_memory,
        second.in_flight,
        second.buffer_free_bytes,
        all,
        age,
        error,
        disconnect,
        all - age - error - disconnect,
        second.metadata_request_bytes,
        second.metadata_response_bytes,
        second.metadata_age_max_ms,
        u64::from(second.cached_partitions_min),
        u64::from(second.cached_partitions_max),
        u64::from(second.partitions_used_max),
    ]
}

/// Median, p99 and maximum; empty cells where nothing was acknowledged.
fn latency(second: &GroupSecond, name: &str) -> Result<[String; 3]> {
    let histogram =
        second.histogram(name).map_err(|source| RecordError::Histogram { group: second.group.clone(), second: second.second, source })?;
    let quantile = |share| cell(histogram.as_ref().and_then(|histogram: &LatencyHistogram| histogram.quantile_us(share)));
    Ok([quantile(0.5), quantile(0.99), cell(histogram.as_ref().map(LatencyHistogram::max_us))])
}
