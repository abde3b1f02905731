//! The producer's core: one state that senders append to and a driver moves, without sockets or clock.
//!
//! `turn` does what one pass of Java's `Sender.runOnce` and `NetworkClient.poll` decides; the `on_...` functions take what the network did. Both
//! leave their wishes in [`Output`]. The parts: `metadata_flow` (asking and answering for metadata), `producer_id_flow` (asking for
//! a producer id, and its epochs), `produce_flow` (batches out, outcomes in), `split` (batches that are too large).

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::clock::Moment;
use crate::ids::{BrokerId, HostPort, PartitionIndex, TopicName, UpdateVersion};
use crate::kafka::core::accumulator::{Accumulator, Append, Appended};
use crate::kafka::core::config::ProducerConfig;
use crate::kafka::core::connections::{ConnectionId, ConnectionState, Connections, InFlightRequest};
use crate::kafka::core::failure::forced_close;
use crate::kafka::core::in_flight::InFlightBatches;
use crate::kafka::core::memory::MemoryTicket;
use crate::kafka::core::metadata::{MetadataMachine, UpdateRequest};
use crate::kafka::core::output::{Action, Output};
use crate::kafka::core::producer_id::ProducerIdState;
use crate::kafka::core::routes::Routes;
use crate::kafka::event::{ClientEvent, DisconnectCause, Failure, RecordTag, UpdateReason};
use crate::kafka::metadata::{Snapshot, TopicView};
use crate::kafka::wire::error::ErrorCode;
use crate::kafka::wire::frame::correlation_id_of;
use crate::kafka::wire::messages::{API_VERSIONS_VERSION_MAX, ApiVersionsAnswer, decode_api_versions, encode_api_versions};
use crate::kafka::wire::outgoing::OutgoingFrame;

/// A request of this client.
#[derive(Debug)]
pub(super) enum Request {
    ApiVersions { version: i16 },
    Metadata { request: UpdateRequest, version: i16, request_bytes: usize },
    InitProducerId { version: i16 },
    Produce { version: i16, batches: InFlightBatches },
}

/// The state of a producer.
#[derive(Debug)]
pub struct ProducerCore {
    pub(super) config: ProducerConfig,
    pub(super) client_id: StrBytes,
    pub(super) machine: MetadataMachine,
    pub(super) connections: Connections<Request>,
    pub(super) accumulator: Accumulator,
    pub(super) random: ChaCha8Rng,
    pub(super) output: Output,
    /// Whether a Metadata request is in flight; at most one is.
    pub(super) metadata_in_flight: bool,
    /// When the attempt to refresh began that has not succeeded yet (KIP-1102).
    pub(super) refresh_attempt_since: Option<Moment>,
    /// Invariant: no head of a queue and no batch in flight expires before it; `None`: there is none.
    pub(super) expiry_check_at: Option<Moment>,
    pub(super) routes: Routes,
    pub(super) producer_id: ProducerIdState,
    next_correlation_id: i32,
    is_closing: bool,
}

impl ProducerCore {
    /// A fresh producer: nothing is connected, a full update is due.
    #[must_use]
    pub fn new(config: ProducerConfig, bootstrap: Vec<HostPort>, client_id: &str, seed: u64) -> Self {
        Self {
            client_id: StrBytes::from_string(client_id.to_owned()),
            machine: MetadataMachine::new(&config, bootstrap),
            connections: Connections::new(&config),
            accumulator: Accumulator::new(&config),
            random: ChaCha8Rng::seed_from_u64(seed),
            output: Output::default(),
            metadata_in_flight: false,
            refresh_attempt_since: None,
            expiry_check_at: None,
            routes: Routes::default(),
            producer_id: ProducerIdState::new(config.idempotence),
            next_correlation_id: 0,
            is_closing: false,
            config,
        }
    }

    /// The settings in force.
    #[must_use]
    pub fn config(&self) -> &ProducerConfig {
        &self.config
    }

    /// What the client believes of the cluster.
    #[must_use]
    pub fn snapshot(&self) -> &std::sync::Arc<Snapshot> {
        self.machine.snapshot()
    }

    /// Takes what has gathered.
    pub fn take_output(&mut self) -> Output {
        std::mem::take(&mut self.output)
    }

    /// Appends a record to a topic that the caller found in a snapshot.
    pub fn append(&mut self, record: &Append<'_>, view: &TopicView, granted_bytes: Option<usize>, now: Moment) -> Appended {
        self.use_topic(record.topic, now);
        let appended = self.accumulator.append(record, view, granted_bytes, now, &mut self.random);
        if self.expiry_check_at.is_none() {
            self.expiry_check_at = Some(now + self.config.delivery_timeout);
        }
        appended
    }

    /// Notes the use of a topic; a new one is asked for.
    pub fn use_topic(&mut self, topic: &TopicName, now: Moment) {
        if self.machine.add_topic(topic, now) {
            self.tell(now, ClientEvent::UpdateRequested { reason: UpdateReason::NewTopic });
        }
    }

    /// Asks for an update because a `send` misses the topic or one of its partitions. Returns the version to wait past.
    pub fn request_topic(&mut self, topic: &TopicName, now: Moment) -> UpdateVersion {
        self.use_topic(topic, now);
        self.machine.request_update_for_topic(topic)
    }

    /// The error that a `send` to this topic must fail with, after an answer. Clears all such errors.
    pub fn take_topic_error(&mut self, topic: &TopicName) -> Option<ErrorCode> {
        self.machine.take_recoverable_error(topic)
    }

    /// Whether the last answer called the topic's name invalid.
    #[must_use]
    pub fn is_invalid_topic(&self, topic: &TopicName) -> bool {
        self.machine.is_invalid(topic)
    }

    /// The topic's error in the last answer.
    #[must_use]
    pub fn topic_error(&self, topic: &TopicName) -> Option<ErrorCode> {
        self.machine.error_of(topic)
    }

    /// Queues for memory.
    pub fn queue_for_memory(&mut self, bytes: usize) -> MemoryTicket {
        self.accumulator.memory.queue(bytes)
    }

    /// The memory that a ticket was granted, if it was.
    pub fn redeem_memory(&mut self, ticket: MemoryTicket) -> Option<usize> {
        self.accumulator.memory.redeem(ticket)
    }

    /// Gives a place in the queue for memory up.
    pub fn abandon_memory(&mut self, ticket: MemoryTicket) {
        self.accumulator.memory.abandon(ticket);
    }

    /// Total and free `buffer.memory`.
    #[must_use]
    pub fn memory_bytes(&self) -> (usize, usize) {
        (self.accumulator.memory.total_bytes(), self.accumulator.memory.free_bytes())
    }

    /// No record comes any more: what is queued goes out without lingering.
    pub fn begin_close(&mut self) {
        self.is_closing = true;
    }

    /// Whether `begin_close` was called.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// Last accepted full answer.
    #[must_use]
    pub fn last_successful_refresh(&self) -> Option<Moment> {
        self.machine.last_successful_refresh()
    }

    /// Decides what to do now. Returns when to be called again at the latest; any event calls for it sooner.
    pub fn turn(&mut self, now: Moment) -> Option<Moment> {
        // In this order, as in Java: a batch whose time is over fails as expired, and not as one that a timed-out request brings back.
        self.expire_batches(now);
        self.close_overdue(now);
        loop {
            let producer_id_wait = self.pursue_producer_id(now);
            let (sent, ready_wait) = self.send_ready(now);
            let metadata_wait = self.maybe_update(now);
            if !sent {
                return self.next_turn_at(now, [producer_id_wait, ready_wait, metadata_wait]);
            }
        }
    }

    fn next_turn_at(&self, now: Moment, waits: [Option<Duration>; 3]) -> Option<Moment> {
        let by_waits = waits.into_iter().flatten().min().map(|wait| now + wait);
        let by_connections = self.connections.next_deadline(self.config.request_timeout, self.config.idle_max);
        [by_waits, by_connections, self.expiry_check_at, self.rebootstrap_at()].into_iter().flatten().min()
    }

    fn close_overdue(&mut self, now: Moment) {
        let (setup, requests) = self.connections.overdue(now, self.config.request_timeout);
        for node in setup {
            self.close_connection(node, DisconnectCause::SetupTimeout, now);
        }
        for node in requests {
            self.close_connection(node, DisconnectCause::RequestTimeout, now);
        }
        while let Some(node) = self.connections.idle(now, self.config.idle_max) {
            self.close_connection(node, DisconnectCause::Idle, now);
        }
        self.rebootstrap_if_overdue(now);
    }

    pub(super) fn begin_connect(&mut self, node: BrokerId, now: Moment) {
        let Some(address) = self.machine.snapshot().address_of(node).cloned() else { return };
        let attempt = self.connections.begin(node, &address, now, &mut self.random);
        self.tell(now, ClientEvent::Connecting { node });
        self.output.actions.push(Action::Connect(attempt));
    }

    /// A connection is up.
    pub fn on_connected(&mut self, node: BrokerId, id: ConnectionId, now: Moment) {
        let Some(connection) = self.connections.current_mut(node, id) else { return };
        let took = now.since(connection.last_attempt);
        self.connections.established(node, now, &mut self.random);
        self.tell(now, ClientEvent::Connected { node, took });
        self.ask_api_versions(node, API_VERSIONS_VERSION_MAX, now);
    }

    fn ask_api_versions(&mut self, node: BrokerId, version: i16, now: Moment) {
        let correlation_id = self.correlation_id();
        match encode_api_versions(correlation_id, &self.client_id, version) {
            Ok(frame) => self.hand_over(node, correlation_id, frame.into(), Request::ApiVersions { version }, now),
            Err(_) => self.close_connection(node, DisconnectCause::Protocol, now),
        }
    }

    pub(super) fn correlation_id(&mut self) -> i32 {
        let id = self.next_correlation_id;
        self.next_correlation_id = self.next_correlation_id.wrapping_add(1) & i32::MAX;
        id
    }

    pub(super) fn hand_over(&mut self, node: BrokerId, correlation_id: i32, frame: OutgoingFrame, kind: Request, now: Moment) {
        let Some(connection) = self.connections.get_mut(node) else { return };
        connection.unwritten += 1;
        connection.last_active = now;
        connection.in_flight.push_back(InFlightRequest { correlation_id, sent_at: now, throttled: Duration::ZERO, kind });
        self.output.actions.push(Action::Write { connection: connection.id, frame });
    }

    /// An attempt to connect failed.
    pub fn on_connect_failed(&mut self, node: BrokerId, id: ConnectionId, now: Moment) {
        if self.connections.current_mut(node, id).is_some() {
            self.drop_connection(node, DisconnectCause::Refused, now);
        }
    }

    /// TLS or SASL failed. As in Java, whoever waits for metadata is told at once, the attempt is repeated after its backoff, and records that were
    /// appended before wait for that.
    pub fn on_refused(&mut self, node: BrokerId, id: ConnectionId, failure: Failure, now: Moment) {
        if self.connections.current_mut(node, id).is_some() {
            self.output.refusal = Some(failure);
            self.close_connection(node, DisconnectCause::Authentication, now);
        }
    }

    /// The other side closed, or the network failed.
    pub fn on_disconnected(&mut self, node: BrokerId, id: ConnectionId, now: Moment) {
        if self.connections.current_mut(node, id).is_some() {
            self.drop_connection(node, DisconnectCause::Lost, now);
        }
    }

    /// A frame was written to the socket in whole.
    pub fn on_written(&mut self, node: BrokerId, id: ConnectionId, now: Moment) {
        let Some(connection) = self.connections.current_mut(node, id) else { return };
        connection.unwritten = connection.unwritten.saturating_sub(1);
        connection.last_active = now;
        self.complete_unanswered(node, now);
    }

    /// Bytes that are no frame came.
    pub fn on_malformed(&mut self, node: BrokerId, id: ConnectionId, now: Moment) {
        if self.connections.current_mut(node, id).is_some() {
            self.close_connection(node, DisconnectCause::Protocol, now);
        }
    }

    /// A response frame came, without its length prefix.
    pub fn on_frame(&mut self, node: BrokerId, id: ConnectionId, frame: Bytes, now: Moment) {
        let Some(connection) = self.connections.current_mut(node, id) else { return };
        connection.last_active = now;
        let expected = connection.in_flight.front().map(|request| request.correlation_id);
        if expected.is_none() || correlation_id_of(&frame) != expected {
            return self.close_connection(node, DisconnectCause::Protocol, now);
        }
        let Some(request) = connection.in_flight.pop_front() else { return };
        match request.kind {
            Request::ApiVersions { version } => self.on_api_versions(node, frame, version, request.sent_at, now),
            Request::Metadata { request: update, version, request_bytes } => {
                self.on_metadata(node, &update, version, request_bytes, request.sent_at, frame, now);
            }
            Request::InitProducerId { version } => self.on_producer_id(node, version, request.sent_at, frame, now),
            Request::Produce { version, batches } => self.on_produce(node, version, batches, request.sent_at, frame, now),
        }
    }

    fn on_api_versions(&mut self, node: BrokerId, frame: Bytes, version: i16, sent_at: Moment, now: Moment) {
        match decode_api_versions(frame, version) {
            Ok(ApiVersionsAnswer::Versions { versions, throttle_ms }) => {
                self.throttle(node, throttle_ms, now);
                self.connections.ready(node, versions, now);
                self.tell(now, ClientEvent::Ready { node, took: now.since(sent_at) });
            }
            Ok(ApiVersionsAnswer::AskAgain(lower)) => self.ask_api_versions(node, lower, now),
            Ok(ApiVersionsAnswer::Refused(_)) | Err(_) => self.close_connection(node, DisconnectCause::Protocol, now),
        }
    }

    pub(super) fn throttle(&mut self, node: BrokerId, throttle_ms: u32, now: Moment) {
        if throttle_ms > 0 {
            self.connections.throttle(node, Duration::from_millis(u64::from(throttle_ms)), now);
        }
    }

    /// Ends a connection from this side.
    pub(super) fn close_connection(&mut self, node: BrokerId, cause: DisconnectCause, now: Moment) {
        let Some(connection) = self.connections.get(node).filter(|connection| connection.state != ConnectionState::Disconnected) else {
            return;
        };
        self.output.actions.push(Action::Close { connection: connection.id });
        self.drop_connection(node, cause, now);
    }

    /// Order matters, as in Java: a Metadata request in flight fails first; then an update that is due counts as a failed attempt; then the
    /// disconnect asks for an update itself; last come the batches.
    fn drop_connection(&mut self, node: BrokerId, cause: DisconnectCause, now: Moment) {
        let in_flight = self.connections.disconnected(node, now, &mut self.random);
        let metadata_in_flight = in_flight.iter().any(|request| matches!(request.kind, Request::Metadata { .. }));
        self.tell(now, ClientEvent::Disconnected { node, cause, in_flight: in_flight.len(), metadata_in_flight });
        let produces = self.fail_other_requests(node, in_flight, cause, now);
        if self.is_update_due(now) {
            self.machine.failed_update(now);
        }
        self.request_update(UpdateReason::Disconnect, now);
        for batches in produces {
            self.fail_batches(node, batches, cause, now);
        }
    }

    fn fail_other_requests(
        &mut self,
        node: BrokerId,
        in_flight: VecDeque<InFlightRequest<Request>>,
        cause: DisconnectCause,
        now: Moment,
    ) -> Vec<InFlightBatches> {
        let mut produces = Vec::new();
        for request in in_flight {
            match request.kind {
                Request::ApiVersions { .. } => {}
                Request::Metadata { request: update, request_bytes, .. } => {
                    self.on_metadata_lost(node, &update, request_bytes, request.sent_at, cause, now);
                }
                Request::InitProducerId { .. } => self.on_producer_id_lost(now),
                Request::Produce { batches, .. } => produces.push(batches),
            }
        }
        produces
    }

    pub(super) fn request_update(&mut self, reason: UpdateReason, now: Moment) {
        self.machine.request_update(reason);
        self.tell(now, ClientEvent::UpdateRequested { reason });
    }

    pub(super) fn tell(&mut self, at: Moment, event: ClientEvent) {
        self.output.events.push((at, event));
    }

    /// Ends everything: connections are closed, every record that is left fails. Nothing may follow but taking the output.
    pub fn shut_down(&mut self, now: Moment) {
        self.is_closing = true;
        self.fail_everything(&forced_close(), now);
        let nodes: Vec<BrokerId> = self.connections.iter().map(|(node, _)| node).collect();
        for node in nodes {
            self.close_connection(node, DisconnectCause::Closing, now);
        }
        self.tell(now, ClientEvent::Closed);
    }

    /// Per partition with waiting records: the mark of the oldest, and how many wait. Queued and in flight alike.
    #[must_use]
    pub fn unserved(&self) -> Vec<(TopicName, PartitionIndex, u64, usize)> {
        let mut unserved: BTreeMap<(TopicName, PartitionIndex), (RecordTag, usize)> = BTreeMap::new();
        for batch in self.accumulator.batches().chain(self.batches_in_flight()) {
            let Some(oldest) = batch.tags.iter().min_by_key(|tag| tag.sent_at).copied() else { continue };
            let entry = unserved.entry((batch.topic.clone(), batch.partition)).or_insert((oldest, 0));
            if oldest.sent_at < entry.0.sent_at {
                entry.0 = oldest;
            }
            entry.1 += batch.tags.len();
        }
        unserved.into_iter().map(|((topic, partition), (tag, records))| (topic, partition, tag.mark, records)).collect()
    }
}
