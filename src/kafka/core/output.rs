//! What the core wants done and told: actions for the driver, events and deliveries for the observer, snapshots to publish.

use std::sync::Arc;

use crate::clock::Moment;
use crate::ids::{PartitionIndex, TopicName};
use crate::kafka::core::connections::{ConnectAttempt, ConnectionId};
use crate::kafka::event::{BatchDelivery, ClientEvent, Failure, Outcome, RecordTag};
use crate::kafka::metadata::Snapshot;
use crate::kafka::wire::outgoing::OutgoingFrame;

/// Work for the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open a connection.
    Connect(ConnectAttempt),
    /// Write a frame, after those handed over before.
    Write {
        /// On which connection.
        connection: ConnectionId,
        /// Length prefix, header and body.
        frame: OutgoingFrame,
    },
    /// Drop a connection (or an attempt) without a word; the core knows already.
    Close {
        /// Which.
        connection: ConnectionId,
    },
}

/// Records whose outcome is known.
#[derive(Debug)]
pub struct Delivery {
    /// When it became known.
    pub at: Moment,
    topic: TopicName,
    partition: PartitionIndex,
    tags: Vec<RecordTag>,
    outcome: Outcome,
    sends: u32,
}

impl Delivery {
    /// A delivery from its parts.
    #[must_use]
    pub fn new(at: Moment, topic: TopicName, partition: PartitionIndex, tags: Vec<RecordTag>, outcome: Outcome, sends: u32) -> Self {
        Self { at, topic, partition, tags, outcome, sends }
    }

    /// As an observer sees it.
    #[must_use]
    pub fn as_seen(&self) -> BatchDelivery<'_> {
        BatchDelivery { topic: &self.topic, partition: self.partition, records: &self.tags, outcome: &self.outcome, sends: self.sends }
    }
}

/// A snapshot to publish.
#[derive(Clone, Debug)]
pub struct Publication {
    /// The snapshot.
    pub snapshot: Arc<Snapshot>,
    /// Whether waiters are woken; going back to the bootstrap list wakes nobody.
    pub wake: bool,
}

/// Everything that has gathered since it was last taken.
#[derive(Debug, Default)]
pub struct Output {
    /// A connection that one side refused: every `send` that waits for metadata fails with it.
    pub refusal: Option<Failure>,
    /// In order.
    pub actions: Vec<Action>,
    /// In order.
    pub events: Vec<(Moment, ClientEvent)>,
    /// In order.
    pub deliveries: Vec<Delivery>,
    /// In order; each replaces the one before.
    pub publications: Vec<Publication>,
    /// Somebody who waited for memory has it.
    pub memory_granted: bool,
}

impl Output {
    /// Whether nothing has gathered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
            && self.events.is_empty()
            && self.deliveries.is_empty()
            && self.publications.is_empty()
            && !self.memory_granted
    }
}
