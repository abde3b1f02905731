//! The core's way with metadata: whom to ask, what to do with the answer, when to go back to the bootstrap list.
//!
//! Java's counterpart: `NetworkClient.DefaultMetadataUpdater`. What an answer means is decided in `metadata`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::messages::MetadataRequest;

use crate::clock::Moment;
use crate::ids::BrokerId;
use crate::kafka::core::client::{ProducerCore, Request};
use crate::kafka::core::config::RecoveryStrategy;
use crate::kafka::core::metadata::{Accepted, UpdateRequest};
use crate::kafka::core::output::Publication;
use crate::kafka::event::{ClientEvent, DisconnectCause, MetadataOutcome, UpdateReason};
use crate::kafka::metadata::{CountChange, LeaderChange, Snapshot, SnapshotChanges};
use crate::kafka::wire::messages::{decode_metadata, encode_metadata};

/// Before this version brokers held their answers back themselves (KIP-219).
const FIRST_METADATA_VERSION_THAT_THROTTLES: i16 = 6;

impl ProducerCore {
    /// Whether a Metadata request must go out now. While it is so, no node takes Produce requests (as in Java).
    pub(super) fn is_update_due(&mut self, now: Moment) -> bool {
        !self.metadata_in_flight && self.machine.time_to_next_update(now, &mut self.random).is_zero()
    }

    /// Sends a Metadata request if one is due and a node can take it, or makes its way ready. Returns how long to wait before trying again;
    /// `None`: an event will tell.
    pub(super) fn maybe_update(&mut self, now: Moment) -> Option<Duration> {
        if self.metadata_in_flight {
            return None;
        }
        let wait = self.machine.time_to_next_update(now, &mut self.random);
        if !wait.is_zero() {
            return Some(wait);
        }
        self.refresh_attempt_since.get_or_insert(now);
        let retry_soon = Some(self.config.reconnect_backoff);
        let Some(node) = self.node_to_ask(now) else { return retry_soon };
        if self.connections.can_send(node, now) {
            self.send_metadata_request(node, now);
            return None;
        }
        if self.connections.is_any_connecting(&self.machine.snapshot().nodes) {
            return retry_soon;
        }
        if self.connections.can_connect(node, now) {
            self.begin_connect(node, now);
            return retry_soon;
        }
        None
    }

    fn node_to_ask(&mut self, now: Moment) -> Option<BrokerId> {
        let snapshot = Arc::clone(self.machine.snapshot());
        let least_loaded = self.connections.least_loaded(&snapshot.nodes, now, &mut self.random);
        if least_loaded.node.is_some() || least_loaded.any_ready || self.config.recovery_strategy == RecoveryStrategy::None {
            return least_loaded.node;
        }
        self.rebootstrap(now);
        let snapshot = Arc::clone(self.machine.snapshot());
        self.connections.least_loaded(&snapshot.nodes, now, &mut self.random).node
    }

    fn send_metadata_request(&mut self, node: BrokerId, now: Moment) {
        let request = self.machine.next_request(now);
        let correlation_id = self.correlation_id();
        let frame = self.connections.version_for::<MetadataRequest>(node).and_then(|version| {
            let frame = encode_metadata(correlation_id, &self.client_id, version, &request.topics).ok()?;
            Some((version, frame))
        });
        let Some((version, frame)) = frame else { return self.close_connection(node, DisconnectCause::Protocol, now) };
        let (topics, request_bytes) = (request.topics.len(), frame.len());
        self.tell(now, ClientEvent::MetadataRequestSent { node, reason: request.reason, full: request.full, topics, request_bytes });
        self.metadata_in_flight = true;
        self.hand_over(node, correlation_id, frame.into(), Request::Metadata { request, version, request_bytes }, now);
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one in-flight request and its answer")]
    pub(super) fn on_metadata(
        &mut self,
        node: BrokerId,
        request: &UpdateRequest,
        version: i16,
        request_bytes: usize,
        sent_at: Moment,
        frame: Bytes,
        now: Moment,
    ) {
        let response_bytes = frame.len() + 4;
        self.metadata_in_flight = false;
        let outcome = match decode_metadata(frame, version) {
            Err(_) => {
                self.machine.failed_update(now);
                MetadataOutcome::Malformed
            }
            Ok(answer) => {
                if version >= FIRST_METADATA_VERSION_THAT_THROTTLES {
                    self.throttle(node, answer.throttle_ms, now);
                }
                let heeds = self.config.recovery_strategy == RecoveryStrategy::Rebootstrap;
                match self.machine.accept(request, answer, now, heeds, &mut self.random) {
                    Accepted::RebootstrapRequired => MetadataOutcome::RebootstrapRequired,
                    Accepted::Empty => MetadataOutcome::Empty,
                    Accepted::Updated { previous, raised } => {
                        self.refresh_attempt_since = None;
                        self.publish(&previous, Some(node), true, now);
                        for reason in raised {
                            self.tell(now, ClientEvent::UpdateRequested { reason });
                        }
                        MetadataOutcome::Updated
                    }
                }
            }
        };
        self.tell_request_done(node, request, request_bytes, response_bytes, sent_at, outcome, now);
        match outcome {
            MetadataOutcome::Malformed => self.close_connection(node, DisconnectCause::Protocol, now),
            MetadataOutcome::RebootstrapRequired => self.rebootstrap_from_scratch(now),
            _ => {}
        }
    }

    /// A Metadata request was cut off.
    pub(super) fn on_metadata_lost(
        &mut self,
        node: BrokerId,
        request: &UpdateRequest,
        request_bytes: usize,
        sent_at: Moment,
        cause: DisconnectCause,
        now: Moment,
    ) {
        self.metadata_in_flight = false;
        self.machine.failed_update(now);
        let outcome = match cause {
            DisconnectCause::RequestTimeout => MetadataOutcome::TimedOut,
            _ => MetadataOutcome::Disconnected,
        };
        self.tell_request_done(node, request, request_bytes, 0, sent_at, outcome, now);
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one in-flight request and its answer")]
    fn tell_request_done(
        &mut self,
        node: BrokerId,
        request: &UpdateRequest,
        request_bytes: usize,
        response_bytes: usize,
        sent_at: Moment,
        outcome: MetadataOutcome,
        now: Moment,
    ) {
        let event = ClientEvent::MetadataRequestDone {
            node,
            reason: request.reason,
            full: request.full,
            topics: request.topics.len(),
            request_bytes,
            response_bytes,
            round_trip: now.since(sent_at),
            outcome,
            update_version: self.machine.update_version(),
        };
        self.tell(now, event);
    }

    /// Publishes the machine's snapshot and tells what differs from the one before.
    pub(super) fn publish(&mut self, previous: &Snapshot, node: Option<BrokerId>, wake: bool, now: Moment) {
        let snapshot = Arc::clone(self.machine.snapshot());
        let update_version = snapshot.update_version;
        let changes = SnapshotChanges::between(previous, &snapshot);
        self.output.publications.push(Publication { snapshot, wake });
        for CountChange { topic, topic_id, from, to } in changes.partition_counts {
            self.tell(now, ClientEvent::PartitionCountChanged { topic, topic_id, from, to, node, update_version });
        }
        for LeaderChange { partition, topic_id, from, to, epoch } in changes.leaders {
            self.tell(now, ClientEvent::LeaderChanged { partition, topic_id, from, to, epoch, node, update_version });
        }
    }

    /// Goes back to the bootstrap list; all topics are forgotten, nobody is woken.
    fn rebootstrap(&mut self, now: Moment) {
        let previous = Arc::clone(self.machine.snapshot());
        self.machine.rebootstrap();
        self.refresh_attempt_since = Some(now);
        self.tell(now, ClientEvent::UpdateRequested { reason: UpdateReason::Rebootstrap });
        self.tell(now, ClientEvent::Rebootstrapped { update_version: self.machine.update_version() });
        self.publish(&previous, None, false, now);
    }

    /// The same, closing the connections to all known nodes first.
    fn rebootstrap_from_scratch(&mut self, now: Moment) {
        let nodes: Vec<BrokerId> = self.machine.snapshot().nodes.iter().map(|(node, _)| *node).collect();
        for node in nodes {
            self.close_connection(node, DisconnectCause::Rebootstrap, now);
        }
        self.rebootstrap(now);
    }

    /// When the attempt to refresh will have lasted too long.
    pub(super) fn rebootstrap_at(&self) -> Option<Moment> {
        if self.config.recovery_strategy == RecoveryStrategy::None {
            return None;
        }
        // Java compares with a strict "greater than" in whole milliseconds.
        self.refresh_attempt_since.map(|since| since + self.config.rebootstrap_trigger + Duration::from_millis(1))
    }

    pub(super) fn rebootstrap_if_overdue(&mut self, now: Moment) {
        if self.rebootstrap_at().is_some_and(|at| now >= at) {
            self.rebootstrap_from_scratch(now);
        }
    }
}
