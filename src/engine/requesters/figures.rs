//! What a group's requesters have done since it was last told.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::ids::BrokerId;
use crate::kafka::admin::{AnswerCounts, RpcError};
use crate::record::histogram::LatencyHistogram;
use crate::record::requesters::RequesterSecond;

/// The group's figures, gathered by all its requesters.
#[derive(Debug, Default)]
pub(super) struct Gathered(Mutex<Figures>);

/// Counts since the last second was told; `in_flight` and `connected` are states.
#[derive(Debug, Default)]
pub(super) struct Figures {
    told: RequesterSecond,
    round_trip: LatencyHistogram,
    response: LatencyHistogram,
}

impl Gathered {
    pub(super) fn lock(&self) -> MutexGuard<'_, Figures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Figures {
    /// A requester has a connection, or has lost it.
    pub(super) fn connected(&mut self, is_connected: bool) {
        let change: fn(u64, u64) -> u64 = if is_connected { u64::saturating_add } else { u64::saturating_sub };
        self.told.connected = change(self.told.connected, 1);
    }

    /// A connection could not be made.
    pub(super) fn not_connected(&mut self, error: &RpcError) {
        self.error(error.kind());
    }

    /// A request goes out.
    pub(super) fn sent(&mut self, node: BrokerId) {
        self.told.sent += 1;
        self.told.in_flight += 1;
        *self.told.by_node.entry(node.to_string()).or_default() += 1;
    }

    /// Its bytes, and those of what came back.
    pub(super) fn carried(&mut self, request_bytes: u64, response_bytes: u64) {
        self.told.request_bytes += request_bytes;
        self.told.response_bytes += response_bytes;
    }

    /// It was answered.
    pub(super) fn answered(&mut self, round_trip: Duration, response: Duration, answer: &AnswerCounts) {
        self.told.in_flight -= 1;
        self.told.ok += 1;
        self.round_trip.record(micros(round_trip));
        self.response.record(micros(response));
        // `None` is less than any count.
        self.told.topics_max = self.told.topics_max.max(Some(answer.topics));
        self.told.partitions_max = self.told.partitions_max.max(Some(answer.partitions));
        for code in &answer.codes {
            self.error(&code.0.to_string());
        }
    }

    /// It never will be.
    pub(super) fn failed(&mut self, error: &RpcError) {
        self.told.in_flight -= 1;
        self.told.failed += 1;
        self.error(error.kind());
    }

    /// The run ends, and what is on its way with it.
    pub(super) fn give_up(&mut self) {
        let left = std::mem::take(&mut self.told.in_flight);
        self.told.failed += left;
        if left > 0 {
            *self.told.errors.entry("unanswered".to_owned()).or_default() += left;
        }
    }

    /// All since the last time; states stay as they are.
    pub(super) fn take(&mut self) -> RequesterSecond {
        let RequesterSecond { in_flight, connected, .. } = self.told;
        let states = RequesterSecond { in_flight, connected, ..RequesterSecond::default() };
        let mut told = std::mem::replace(&mut self.told, states);
        // Encoding into memory has no way to fail; a histogram that is missing all the same shows as such.
        let _ = told.put_times(&self.round_trip, &self.response);
        self.round_trip.reset();
        self.response.reset();
        told
    }

    fn error(&mut self, kind: &str) {
        *self.told.errors.entry(kind.to_owned()).or_default() += 1;
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::ids::HostPort;
    use crate::kafka::admin::ErrorCode;

    #[test]
    fn counts_are_told_once_and_states_stay() {
        let mut figures = Figures::default();
        let closed = RpcError::Closed { address: HostPort::new("127.0.0.1", 1), source: std::io::ErrorKind::ConnectionReset.into() };
        figures.connected(true);
        for _ in 0..3 {
            figures.sent(BrokerId(2));
        }
        let answer = AnswerCounts { codes: vec![ErrorCode(3)], topics: 1, partitions: 0 };
        figures.answered(Duration::from_micros(300), Duration::from_micros(900), &answer);
        figures.failed(&closed);
        let told = figures.take();
        assert_eq!((told.sent, told.ok, told.failed, told.in_flight, told.connected), (3, 1, 1, 1, 1));
        assert_eq!((told.round_trip_max_us, told.response_max_us), (300, 900));
        assert_eq!((told.topics_max, told.partitions_max), (Some(1), Some(0)));
        assert_eq!(told.by_node, BTreeMap::from([("2".to_owned(), 3)]));
        assert_eq!(told.errors, BTreeMap::from([("3".to_owned(), 1), ("disconnected".to_owned(), 1)]));
        let nothing = RequesterSecond { in_flight: 1, connected: 1, ..RequesterSecond::default() };
        assert_eq!(figures.take(), nothing);
        figures.give_up();
        let told = figures.take();
        assert_eq!((told.failed, told.in_flight, told.errors["unanswered"]), (1, 0, 1));
    }
}
