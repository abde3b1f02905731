//! What asking has cost: requests by kind, and bytes each way. Not the producers' traffic, which their own events tell.
//!
//! Handed to every connection that somebody wants to know the cost of; read and set back by [`Traffic::take`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kafka_protocol::messages::ApiKey;

/// Counts what connections send and receive. Cheap to clone; all clones count together.
#[derive(Clone, Debug, Default)]
pub struct Traffic(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    requests: BTreeMap<i16, u64>,
    request_bytes: u64,
    response_bytes: u64,
}

/// What was sent and received since it was last asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrafficCounts {
    /// Requests by Kafka's name of them, such as `Metadata`; those that are sent at the making of a connection too.
    pub requests: BTreeMap<String, u64>,
    /// Bytes sent, with their length prefixes.
    pub request_bytes: u64,
    /// Bytes received, with their length prefixes, whether they made up an answer or not.
    pub response_bytes: u64,
}

impl Traffic {
    /// The counts so far; counting begins anew.
    #[must_use]
    pub fn take(&self) -> TrafficCounts {
        let Counts { requests, request_bytes, response_bytes } = std::mem::take(&mut *self.counts());
        let requests = requests.into_iter().map(|(key, count)| (api_name(key), count)).collect();
        TrafficCounts { requests, request_bytes, response_bytes }
    }

    /// A request is about to be written.
    pub(super) fn sent(&self, api_key: i16, bytes: usize) {
        let mut counts = self.counts();
        *counts.requests.entry(api_key).or_default() += 1;
        counts.request_bytes += bytes as u64;
    }

    /// Bytes have come.
    pub(super) fn received(&self, bytes: usize) {
        self.counts().response_bytes += bytes as u64;
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Kafka's name of a request.
pub(super) fn api_name(key: i16) -> String {
    ApiKey::try_from(key).map_or_else(|()| format!("request {key}"), |api| format!("{api:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_count_together_and_taking_begins_anew() {
        let traffic = Traffic::default();
        let clone = traffic.clone();
        traffic.sent(3, 40);
        clone.sent(3, 2);
        clone.sent(999, 1);
        clone.received(7);
        let requests = [("Metadata".to_owned(), 2), ("request 999".to_owned(), 1)].into();
        assert_eq!(traffic.take(), TrafficCounts { requests, request_bytes: 43, response_bytes: 7 });
        assert_eq!(clone.take(), TrafficCounts::default());
    }
}
