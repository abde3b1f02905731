//! What was asked and answered in each part of a run, as plain values: the summary shows them, `run.json` holds them.
//!
//! Field names are an interface: `docs/results.md` lists them.

use serde::{Deserialize, Serialize};

use crate::analyze::findings::Quantiles;
use crate::analyze::spread::Spread;

/// One part of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StormFinding {
    /// `warm-up`, `baseline`, `after` (of it, without a step yet), `step`, or `more steps` (those that are too many).
    pub part: String,
    /// The step, if it is one's.
    pub step: Option<u32>,
    /// Seconds that clients told of it.
    pub seconds: u64,
    /// Groups of producers, then of requesters, in plan order.
    pub clients: Vec<ClientFinding>,
    /// Nodes whose CPU time is known.
    pub brokers: Vec<BrokerFinding>,
}

/// Metadata requests of one group. `None`: its client cannot tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientFinding {
    /// The group.
    pub group: String,
    /// Whether it does nothing else.
    pub is_requesters: bool,
    /// How many clients.
    pub clients: u32,
    /// Requests that were sent.
    pub requests: Option<u64>,
    /// Most that were sent in one second.
    pub requests_per_second_max: Option<u64>,
    /// Requests of each client; `None` also of requesters, who are counted by group.
    pub per_client: Option<Spread>,
    /// Most that any one client sent in one second.
    pub per_client_second_max: Option<u64>,
    /// Bytes sent.
    pub request_bytes: Option<u64>,
    /// Bytes received.
    pub response_bytes: Option<u64>,
    /// Most bytes received in one second.
    pub response_bytes_per_second_max: Option<u64>,
    /// From send to answer, by when the answer came; `None` also without answers.
    pub round_trip: Option<Quantiles>,
}

/// CPU time of one node, in percent of one core.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokerFinding {
    /// `node.id`.
    pub node: i32,
    /// Seconds over which it is known.
    pub seconds: u64,
    /// On average.
    pub cpu_percent: f64,
    /// In the worst second.
    pub cpu_percent_max: f64,
}
