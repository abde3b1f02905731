//! What a consumer has read in one second.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::histogram::{HistogramError, LatencyHistogram};

/// A consumer, for the run's first fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsumerInfo {
    /// Its name.
    pub name: String,
    /// What it reads.
    pub topics: Vec<String>,
}

/// A consumer's figures of one second: counts of this second, not sums so far, unless a field says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsumerSecond {
    /// The consumer.
    pub group: String,
    /// Which second; 0 begins with `steady`, warm-up is negative.
    pub second: i64,
    /// Records that arrived.
    pub records: u64,
    /// Those of them that do not say when they were due, or are damaged: they have no latency.
    pub undated: u64,
    /// Bytes that came.
    pub bytes: u64,
    /// Records that could be read and were not yet, by the leaders' last word, at the end of the second; `None`: no leader has said anything.
    pub behind: Option<u64>,
    /// Partitions that it had no leader to read from, at the end of the second.
    pub without_leader: u64,
    /// What went wrong, by kind: `connect`, `disconnected`, `timed_out`, `malformed`, `refused`, `unsendable`, and the numbers of error codes.
    pub errors: BTreeMap<String, u64>,
    /// Time from a record's due time to its arrival, in HDR's V2-deflate form as base64; unit: microseconds. Absent without records.
    pub end_to_end: Option<String>,
    /// Its exact greatest value.
    pub end_to_end_max_us: u64,
    /// Values above the histogram's bound (they are recorded as the bound).
    pub out_of_range: u64,
}

impl ConsumerSecond {
    /// Takes the histogram in; an empty one is left out.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn put_times(&mut self, end_to_end: &LatencyHistogram) -> Result<(), HistogramError> {
        if !end_to_end.is_empty() {
            (self.end_to_end, self.end_to_end_max_us) = (Some(end_to_end.encode()?), end_to_end.max_us());
        }
        self.out_of_range = end_to_end.out_of_range();
        Ok(())
    }

    /// Times from due to arrival; `None` without records.
    ///
    /// # Errors
    /// If the text is no histogram.
    pub fn times(&self) -> Result<Option<LatencyHistogram>, HistogramError> {
        self.end_to_end.as_ref().map(|text| LatencyHistogram::decode(text, Some(self.end_to_end_max_us))).transpose()
    }
}
