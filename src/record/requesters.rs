//! What a group of requesters did in one second: Metadata requests that are no producer's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::histogram::{HistogramError, LatencyHistogram};

/// A group of requesters, for the run's first fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequesterInfo {
    /// Its name.
    pub name: String,
    /// How many requesters.
    pub requesters: u32,
    /// What they ask for: `all`, `none`, or how many topics by name.
    pub list: String,
}

/// A group's figures of one second: counts of this second, not sums so far, unless a field says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequesterSecond {
    /// The group.
    pub group: String,
    /// Which second; 0 begins with `steady`, warm-up is negative.
    pub second: i64,
    /// Requests that became due.
    pub due: u64,
    /// Requests that were sent.
    pub sent: u64,
    /// Requests that were answered, with or without error codes in the answer.
    pub ok: u64,
    /// Requests that were sent and will never be answered.
    pub failed: u64,
    /// Requests on their way, at the end of the second.
    pub in_flight: u64,
    /// Requesters that have a connection, at the end of the second.
    pub connected: u64,
    /// Bytes of what was sent.
    pub request_bytes: u64,
    /// Bytes of the answers that came.
    pub response_bytes: u64,
    /// Most topics in an answer that came; `None` without answers.
    #[serde(default)]
    pub topics_max: Option<u32>,
    /// Most partitions in an answer that came.
    #[serde(default)]
    pub partitions_max: Option<u32>,
    /// Requests that were sent, by the node that was asked.
    pub by_node: BTreeMap<String, u64>,
    /// What went wrong, by kind: `connect` (attempts that failed), `disconnected`, `timed_out`, `malformed`, `unanswered` (at the end of the run), other
    /// words of the client, and the numbers of error codes, counted once per answer.
    pub errors: BTreeMap<String, u64>,
    /// Time from send to answer, in HDR's V2-deflate form as base64; unit: microseconds. Absent without answers.
    pub round_trip: Option<String>,
    /// Its exact greatest value.
    pub round_trip_max_us: u64,
    /// Time from the due time to the answer: what waited for an earlier answer or a connection shows here.
    pub response: Option<String>,
    /// Its exact greatest value.
    pub response_max_us: u64,
}

impl RequesterSecond {
    /// Takes both histograms in; empty ones are left out.
    ///
    /// # Errors
    /// If one cannot be encoded.
    pub fn put_times(&mut self, round_trip: &LatencyHistogram, response: &LatencyHistogram) -> Result<(), HistogramError> {
        if !round_trip.is_empty() {
            (self.round_trip, self.round_trip_max_us) = (Some(round_trip.encode()?), round_trip.max_us());
        }
        if !response.is_empty() {
            (self.response, self.response_max_us) = (Some(response.encode()?), response.max_us());
        }
        Ok(())
    }

    /// Times from send to answer; `None` without answers.
    ///
    /// # Errors
    /// If the text is no histogram.
    pub fn round_trips(&self) -> Result<Option<LatencyHistogram>, HistogramError> {
        self.round_trip.as_ref().map(|text| LatencyHistogram::decode(text, Some(self.round_trip_max_us))).transpose()
    }

    /// Times from due to answer; `None` without answers.
    ///
    /// # Errors
    /// If the text is no histogram.
    pub fn responses(&self) -> Result<Option<LatencyHistogram>, HistogramError> {
        self.response.as_ref().map(|text| LatencyHistogram::decode(text, Some(self.response_max_us))).transpose()
    }
}
