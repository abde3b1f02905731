//! What a set of connections has carried: requests by Kafka's name of them, bytes each way.
//!
//! For those whose own cost is to be known (probes). Not the producers' figures: their core counts for itself.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use kafka_protocol::messages::ApiKey;

/// Counts what connections carry; shared by all of them.
#[derive(Debug, Default)]
pub struct Traffic(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    requests: BTreeMap<i16, u64>,
    request_bytes: u64,
    response_bytes: u64,
}

/// What was carried in some time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Requests that were sent, by Kafka's name of them; `ApiVersions` of each new connection is among them.
    pub requests: BTreeMap<String, u64>,
    /// Bytes sent.
    pub request_bytes: u64,
    /// Bytes received.
    pub response_bytes: u64,
}

impl Traffic {
    /// What was carried since this was last asked.
    #[must_use]
    pub fn take(&self) -> Carried {
        let counted = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let requests = counted.requests.into_iter().map(|(key, count)| (api_name(key), count)).collect();
        Carried { requests, request_bytes: counted.request_bytes, response_bytes: counted.response_bytes }
    }

    /// A request went out.
    pub(super) fn sent(&self, key: i16, bytes: usize) {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counted.requests.entry(key).or_default() += 1;
        counted.request_bytes += bytes as u64;
    }

    /// Bytes of a response came in.
    pub(super) fn received(&self, bytes: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).response_bytes += bytes as u64;
    }
}

/// Kafka's name of a request.
pub(super) fn api_name(key: i16) -> String {
    ApiKey::try_from(key).map_or_else(|()| format!("request {key}"), |api| format!("{api:?}"))
}
