//! Seconds of a run; what a group did in one, and counts of records by what became of them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Moment;

const SECOND_US: i64 = 1_000_000;

/// Which second a moment lies in, counted from the start of `steady`.
pub fn second_of(at: Moment, steady: Moment) -> i64 {
    at.micros_from(steady).div_euclid(SECOND_US)
}

/// The end of that second.
pub fn second_end(second: i64, steady: Moment) -> Moment {
    let from_steady = Duration::from_micros((second + 1).unsigned_abs() * SECOND_US.unsigned_abs());
    if second < -1 { steady - from_steady } else { steady + from_steady }
}

/// Records by what became of them. `due` counts what should have been sent by now, sent or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Due so far.
    pub due: u64,
    /// Handed to the client.
    pub sent: u64,
    /// Acknowledged.
    pub ok: u64,
    /// Certainly not in the log.
    pub failed: u64,
    /// May be in the log.
    pub indeterminate: u64,
}

/// A group's figures of one second: counts of this second, not sums so far, unless a field says otherwise. `None`: the group's client cannot
/// tell, or there is no client yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupSecond {
    /// The group.
    pub group: String,
    /// Which second; 0 begins with `steady`, warm-up is negative.
    pub second: i64,
    /// Records by what became of them in this second.
    pub counts: Totals,
    /// Sends that waited for metadata in this second (ended or still waiting).
    pub blocked_metadata: Option<u64>,
    /// Sends that waited for memory.
    pub blocked_memory: Option<u64>,
    /// Records handed over and not yet known, at the end of the second.
    pub in_flight: u64,
    /// Least free `buffer.memory` of any producer, at the end of the second.
    pub buffer_free_bytes: Option<u64>,
    /// Metadata requests sent, by reason; under [`UNKNOWN_REASON`](super::fact::UNKNOWN_REASON) those of a client that does not say why.
    pub metadata_requests: Option<BTreeMap<String, u64>>,
    /// Bytes of them.
    pub metadata_request_bytes: Option<u64>,
    /// Bytes of the answers that came in this second.
    pub metadata_response_bytes: Option<u64>,
    /// Greatest time since the last full answer of any producer that had one, at the end of the second.
    pub metadata_age_max_ms: Option<u64>,
    /// Least partition count of any producer's topic in its cache, at the end of the second; 0: a topic is not in it.
    pub cached_partitions_min: Option<u32>,
    /// Greatest.
    pub cached_partitions_max: Option<u32>,
    /// Highest partition index acknowledged in this second, plus one; 0 without any.
    pub partitions_used_max: u32,
    /// Producer-partition pairs whose oldest unserved record has been due for longer than 500 ms, at the end of the second.
    pub stalled_pairs: Option<u64>,
    /// How long that record of the worst pair has been due.
    pub stalled_max_ms: Option<u64>,
    /// Histograms by name, each in HDR's V2-deflate form as base64: `response_ok`, `response_bad`, `service_ok`, `service_bad`,
    /// `metadata_round_trip`; unit: microseconds. Absent when empty.
    pub histograms: BTreeMap<String, String>,
    /// Exact greatest value of each histogram, in microseconds (a histogram itself keeps three digits).
    #[serde(default)]
    pub histogram_max_us: BTreeMap<String, u64>,
    /// Values above the histograms' bound (they are counted here and recorded as the bound).
    pub out_of_range: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_count_from_steady_and_are_negative_before() {
        let steady = Moment(10_500_000);
        for (at, second, end) in [
            (10_500_000, 0, 11_500_000),
            (11_499_999, 0, 11_500_000),
            (10_499_999, -1, 10_500_000),
            (8_500_000, -2, 9_500_000),
            (8_499_999, -3, 8_500_000),
        ] {
            assert_eq!(second_of(Moment(at), steady), second);
            assert_eq!(second_end(second, steady), Moment(end));
        }
    }
}
