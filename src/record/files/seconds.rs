//! `seconds.csv`: a group's figures, one row per second.

use std::path::PathBuf;

use super::append::CsvFile;
use super::cell;
use crate::record::error::{RecordError, Result};
use crate::record::fact::{GroupSecond, UNKNOWN_REASON};
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
        row.extend(counts(second).map(cell));
        row.extend(latency(second, "response_ok")?);
        row.extend(latency(second, "service_ok")?);
        self.table.row(row)
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.table.flush()
    }
}

/// Empty cells where the group's client cannot tell.
fn counts(second: &GroupSecond) -> [Option<u64>; 20] {
    let [all, age, error, disconnect, other] = requests(second);
    [
        Some(second.counts.due),
        Some(second.counts.sent),
        Some(second.counts.ok),
        Some(second.counts.failed),
        Some(second.counts.indeterminate),
        second.blocked_metadata,
        second.blocked_memory,
        Some(second.in_flight),
        second.buffer_free_bytes,
        all,
        age,
        error,
        disconnect,
        other,
        second.metadata_request_bytes,
        second.metadata_response_bytes,
        second.metadata_age_max_ms,
        second.cached_partitions_min.map(u64::from),
        second.cached_partitions_max.map(u64::from),
        Some(u64::from(second.partitions_used_max)),
    ]
}

/// All Metadata requests, and those for age, an error, a disconnect and other reasons: unknown as soon as one request has an unknown reason.
fn requests(second: &GroupSecond) -> [Option<u64>; 5] {
    let Some(reasons) = &second.metadata_requests else { return [None; 5] };
    let by = |names: &[&str]| names.iter().filter_map(|name| reasons.get(*name)).sum::<u64>();
    let all = reasons.values().sum::<u64>();
    let are_known = by(&[UNKNOWN_REASON]) == 0;
    let (age, error, disconnect) = (by(&["age"]), by(&["produce_error", "metadata_error"]), by(&["disconnect"]));
    let of_reason = [age, error, disconnect, all - age - error - disconnect].map(|count| are_known.then_some(count));
    let [age, error, disconnect, other] = of_reason;
    [Some(all), age, error, disconnect, other]
}

/// Median, p99 and maximum; empty cells where nothing was acknowledged.
fn latency(second: &GroupSecond, name: &str) -> Result<[String; 3]> {
    let histogram =
        second.histogram(name).map_err(|source| RecordError::Histogram { group: second.group.clone(), second: second.second, source })?;
    let quantile = |share| cell(histogram.as_ref().and_then(|histogram: &LatencyHistogram| histogram.quantile_us(share)));
    Ok([quantile(0.5), quantile(0.99), cell(histogram.as_ref().map(LatencyHistogram::max_us))])
}
