//! Links: what a step does to the way between two nodes, or between clients and a broker.

use std::num::NonZeroU64;
use std::time::Duration;

/// What a plan's steps need of the links of its cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkNeeds {
    /// Nodes can be cut off from each other.
    pub nodes: bool,
    /// Clients reach the brokers through the relay.
    pub clients: bool,
}

/// What is done to a link between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkAct {
    /// All packets are dropped.
    Cut,
    /// They pass again.
    Mend,
}

impl LinkAct {
    /// The fault's word in plans.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cut => "black-hole",
            Self::Mend => "none",
        }
    }
}

/// What is wrong with the links between clients and a broker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientFault {
    /// Nothing.
    #[default]
    None,
    /// They are slow.
    Slow(Pace),
    /// Nothing passes, and nobody is told; what is sent meanwhile waits.
    BlackHole,
    /// Connections are reset, those that are there and those that come.
    Reset,
    /// Connections that are there lose the broker's side, and their clients are not told.
    HalfOpen,
}

/// How slow a link is, in each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// How long bytes are under way.
    pub delay: Duration,
    /// By how much at most that varies, both ways; not more than the delay.
    pub jitter: Duration,
    /// Of all connections together; `None`: unbounded.
    pub bytes_per_second: Option<NonZeroU64>,
}

impl ClientFault {
    /// The faults that plans call by a word.
    pub const NAMED: [(Self, &'static str); 4] =
        [(Self::BlackHole, "black-hole"), (Self::Reset, "reset"), (Self::HalfOpen, "half-open"), (Self::None, "none")];
}
