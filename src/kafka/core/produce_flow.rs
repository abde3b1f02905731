//! The core's way with batches: out to their leaders, back with an outcome, again, or given up.
//!
//! Java's counterpart: `Sender`. Which batches are ready is decided in `accumulator`, what an outcome means for sequence numbers in `numbering`.

use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::messages::ProduceRequest;

use crate::clock::Moment;
use crate::ids::{BrokerId, TopicPartition};
use crate::kafka::core::batch::Batch;
use crate::kafka::core::client::{ProducerCore, Request};
use crate::kafka::core::config::Acks;
use crate::kafka::core::connections::Connections;
use crate::kafka::core::failure::{batch_error, expired};
use crate::kafka::core::in_flight::{GivenUp, InFlightBatches, Sent};
use crate::kafka::core::leader_hints::LeaderHints;
use crate::kafka::core::output::Delivery;
use crate::kafka::event::{ClientEvent, DisconnectCause, Failure, Outcome, UpdateReason};
use crate::kafka::wire::error::ErrorCode;
use crate::kafka::wire::messages::decode_produce;
use crate::kafka::wire::produce_request::{ProduceBatch, encode_produce};

/// Until the next look at a batch whose backoff was over by one draw of the jitter and not by the next.
const REDRAW_WAIT: Duration = Duration::from_millis(1);

/// What came back for one batch: a partition's part of an answer, or what a disconnect says.
#[derive(Debug)]
struct Reply {
    error: Option<ErrorCode>,
    message: Option<String>,
    base_offset: i64,
    log_start_offset: Option<i64>,
}

impl Reply {
    fn error(code: ErrorCode, message: String) -> Self {
        Self { error: Some(code), message: Some(message), base_offset: -1, log_start_offset: None }
    }
}

/// Before this version brokers held their answers back themselves (KIP-219).
const FIRST_PRODUCE_VERSION_THAT_THROTTLES: i16 = 6;

impl ProducerCore {
    /// Sends what is ready to every node that can take it, and begins to connect to those that cannot. Returns whether anything was sent, and
    /// how long to wait before looking again (`None`: an event will tell).
    pub(super) fn send_ready(&mut self, now: Moment) -> (bool, Option<Duration>) {
        if !self.producer_id.lets_produce() {
            return (false, None);
        }
        let snapshot = std::sync::Arc::clone(self.machine.snapshot());
        let ready = self.accumulator.ready(&snapshot, now, self.is_closing(), &mut self.random);
        for topic in &ready.unknown_leaders {
            self.use_topic(topic, now);
            self.request_update(UpdateReason::NoLeader, now);
        }
        let mut sent = false;
        let mut wait = ready.next_check;
        for (node, slots) in &ready.nodes {
            let can_take = self.connections.can_send(*node, now) && !self.is_update_due(now);
            self.accumulator.note_node(*node, can_take, now);
            if can_take {
                let mute = self.config.in_flight_max == 1;
                let (producer, bytes_max) = (self.producer_id.current(), self.config.request_bytes_max);
                let drained = self.accumulator.drain(*node, slots, bytes_max, mute, producer, now, &mut self.random);
                if !drained.batches.is_empty() {
                    sent = true;
                    self.send_batches(*node, drained.batches, now);
                } else if !drained.is_blocked {
                    // `drain` draws the jitter of a retry's backoff anew and may say "not yet": look again soon.
                    wait = Some(wait.map_or(REDRAW_WAIT, |wait| wait.min(REDRAW_WAIT)));
                }
                continue;
            }
            if self.connections.can_connect(*node, now) {
                self.begin_connect(*node, now);
            }
            if let Some(delay) = self.connections.poll_delay(*node, now).filter(|delay| !delay.is_zero()) {
                wait = Some(wait.map_or(delay, |wait| wait.min(delay)));
            }
        }
        (sent, wait)
    }

    fn send_batches(&mut self, node: BrokerId, mut batches: Vec<Batch>, now: Moment) {
        batches.sort_by(|one, other| one.topic.cmp(&other.topic));
        let Some(version) = self.connections.version_for::<ProduceRequest>(node) else {
            return self.refuse(batches, None, now);
        };
        let correlation_id = self.correlation_id();
        let topic_ids: Vec<_> = batches.iter().map(|batch| self.machine.topic_id(&batch.topic)).collect();
        let contents: Vec<Bytes> = batches.iter().map(Batch::content).collect();
        let parts: Vec<ProduceBatch<'_>> = batches
            .iter()
            .zip(&topic_ids)
            .zip(&contents)
            .map(|((batch, topic_id), records)| ProduceBatch {
                topic: &batch.topic,
                topic_id: *topic_id,
                partition: batch.partition,
                records,
            })
            .collect();
        let timeout_ms = i32::try_from(self.config.request_timeout.as_millis()).unwrap_or(i32::MAX);
        let frame = match encode_produce(correlation_id, &self.client_id, version, self.config.acks.on_the_wire(), timeout_ms, &parts) {
            Ok(frame) => frame,
            Err(error) => return self.refuse(batches, Some(&error.to_string()), now),
        };
        let records = batches.iter().map(|batch| batch.tags.len()).sum();
        self.tell(now, ClientEvent::ProduceSent { node, batches: batches.len(), records, request_bytes: frame.bytes() });
        for batch in &mut batches {
            batch.sends += 1;
            if let Some((partition, from)) = self.routes.moved(&batch.topic, batch.partition, node) {
                self.output.events.push((now, ClientEvent::RouteChanged { partition, from, to: node }));
            }
        }
        let batches = InFlightBatches::new(topic_ids.into_iter().zip(batches));
        self.hand_over(node, correlation_id, frame, Request::Produce { version, batches }, now);
    }

    /// No request can carry these batches to their node.
    fn refuse(&mut self, batches: Vec<Batch>, words: Option<&str>, now: Moment) {
        for batch in batches {
            self.accumulator.unmute(&batch.topic, batch.partition);
            self.give_up(batch, ErrorCode::UNSUPPORTED_VERSION, words.map(str::to_owned), now);
        }
    }

    pub(super) fn on_produce(
        &mut self,
        node: BrokerId,
        version: i16,
        mut batches: InFlightBatches,
        sent_at: Moment,
        frame: Bytes,
        now: Moment,
    ) {
        let Ok(answer) = decode_produce(frame, version) else {
            self.close_connection(node, DisconnectCause::Protocol, now);
            return self.fail_batches(node, batches, DisconnectCause::Protocol, now);
        };
        self.tell(now, ClientEvent::ProduceDone { node, round_trip: now.since(sent_at) });
        if version >= FIRST_PRODUCE_VERSION_THAT_THROTTLES {
            self.throttle(node, answer.throttle_ms, now);
        }
        let mut hints = LeaderHints::new(answer.endpoints);
        for partition in answer.partitions {
            if let Some(sent) = batches.take(&partition) {
                hints.collect(sent.at(), partition.error, partition.leader);
                let (error, message, base_offset) = (partition.error, partition.message, partition.base_offset);
                let reply = Reply { error, message, base_offset, log_start_offset: partition.log_start_offset };
                self.complete(node, sent, reply, now);
            }
        }
        for sent in batches.into_rest() {
            self.complete(node, sent, Reply::error(ErrorCode::UNKNOWN_SERVER_ERROR, "not in the response".to_owned()), now);
        }
        self.take_leader_hints(node, &hints, now);
    }

    /// With `acks=0` a request is done when it is written.
    pub(super) fn complete_unanswered(&mut self, node: BrokerId, now: Moment) {
        if self.config.acks != Acks::None {
            return;
        }
        let Some(connection) = self.connections.get_mut(node) else { return };
        if !matches!(connection.in_flight.back(), Some(request) if matches!(request.kind, Request::Produce { .. })) {
            return;
        }
        let Some(Request::Produce { batches, .. }) = connection.in_flight.pop_back().map(|request| request.kind) else { return };
        for sent in batches.into_rest() {
            self.complete(node, sent, Reply { error: None, message: None, base_offset: -1, log_start_offset: None }, now);
        }
    }

    /// The connection of these batches is gone.
    pub(super) fn fail_batches(&mut self, node: BrokerId, batches: InFlightBatches, cause: DisconnectCause, now: Moment) {
        let (code, text) = match cause {
            DisconnectCause::RequestTimeout => (ErrorCode::REQUEST_TIMED_OUT, format!("Disconnected from node {node} due to timeout")),
            _ => (ErrorCode::NETWORK_EXCEPTION, format!("Disconnected from node {node}")),
        };
        for sent in batches.into_rest() {
            self.complete(node, sent, Reply::error(code, text.clone()), now);
        }
    }

    fn complete(&mut self, node: BrokerId, sent: Sent, reply: Reply, now: Moment) {
        let (topic, partition) = sent.at();
        self.accumulator.unmute(topic, partition);
        let batch = match sent {
            Sent::Waiting(batch) => *batch,
            Sent::GivenUp(given_up) => return self.complete_late(&given_up, reply.error, now),
        };
        let base_offset = match reply.error {
            None => reply.base_offset,
            // The number was taken before, by this very batch: it is in the log, at an offset that the broker has forgotten.
            Some(ErrorCode::DUPLICATE_SEQUENCE_NUMBER) => -1,
            Some(code) => return self.complete_badly(node, batch, code, reply, now),
        };
        self.accumulator.sequence_acked(&batch);
        self.finish(batch, Outcome::Ok { base_offset }, now);
    }

    /// What came back for a batch that was given up before: its records have their outcome, but the partition learns from it.
    fn complete_late(&mut self, given_up: &GivenUp, error: Option<ErrorCode>, now: Moment) {
        match error {
            None | Some(ErrorCode::DUPLICATE_SEQUENCE_NUMBER) => self.accumulator.sequence_acked_late(given_up),
            Some(code) if code.invalidates_metadata() => self.request_update(UpdateReason::ProduceError(code), now),
            Some(_) => {}
        }
    }

    fn complete_badly(&mut self, node: BrokerId, mut batch: Batch, code: ErrorCode, reply: Reply, now: Moment) {
        let is_appended_first = self.config.acks == Acks::All;
        batch.may_be_written |= leaves_doubt(code) || (is_appended_first && (reply.base_offset >= 0 || leaves_doubt_after_append(code)));
        if code == ErrorCode::MESSAGE_TOO_LARGE && batch.tags.len() > 1 && self.split_and_reenqueue(&batch) {
            return self.tell_error(node, &batch, code, true, now);
        }
        let retried = batch.attempts < self.config.retries
            && !batch.is_expired(now, self.config.delivery_timeout)
            && (code.is_retriable() || self.accumulator.is_mended_by_sequence(&batch, code, reply.log_start_offset));
        self.tell_error(node, &batch, code, retried, now);
        if retried {
            self.accumulator.reenqueue(batch, now);
        } else {
            self.give_up(batch, code, reply.message, now);
        }
        if code.invalidates_metadata() {
            self.request_update(UpdateReason::ProduceError(code), now);
        }
    }

    fn tell_error(&mut self, node: BrokerId, batch: &Batch, code: ErrorCode, retried: bool, now: Moment) {
        let partition = TopicPartition { topic: batch.topic.clone(), partition: batch.partition };
        self.tell(now, ClientEvent::BatchError { partition, node, code, retried, records: batch.tags.len() });
    }

    /// A batch fails for good. Its number may be missing in the log then, unless its attempts or its time are used up: nobody knows in that case,
    /// and the batches behind it will tell.
    fn give_up(&mut self, batch: Batch, code: ErrorCode, message: Option<String>, now: Moment) {
        let failure = batch_error(&batch.topic, code, message);
        if self.config.idempotence && ends_idempotence(code) {
            self.producer_id.refuse(failure.clone());
        }
        if code.is_retriable() && batch.is_expired(now, self.config.delivery_timeout) {
            self.accumulator.sequence_expired(&batch);
        } else {
            let sequence_is_lost = [ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode::UNKNOWN_PRODUCER_ID].contains(&code);
            self.accumulator.sequence_failed(&batch, sequence_is_lost || batch.attempts < self.config.retries);
        }
        self.fail(batch, &failure, now);
    }

    fn fail(&mut self, batch: Batch, failure: &Failure, now: Moment) {
        let failure = failure.clone();
        let outcome = if batch.may_be_written { Outcome::Indeterminate(failure) } else { Outcome::Failed(failure) };
        self.finish(batch, outcome, now);
    }

    fn finish(&mut self, batch: Batch, outcome: Outcome, now: Moment) {
        self.output.memory_granted |= self.accumulator.memory.give_back(batch.reserved_bytes);
        self.output.deliveries.push(Delivery::new(now, batch.topic, batch.partition, batch.tags, outcome, batch.sends));
    }

    /// Gives up the batches whose delivery time is over, queued or in flight.
    pub(super) fn expire_batches(&mut self, now: Moment) {
        if self.expiry_check_at.is_none_or(|at| now < at) {
            return;
        }
        let timeout = self.config.delivery_timeout;
        let mut overdue = self.accumulator.take_expired(now, timeout);
        for batch in &overdue {
            self.accumulator.sequence_expired(batch);
        }
        let accumulator = &mut self.accumulator;
        for batches in produces_in_flight(&mut self.connections) {
            overdue.extend(batches.give_up(|batch| batch.is_expired(now, timeout), |batch| accumulator.sequence_expired(batch)));
        }
        // Partitions stay muted: what is on the wire is still to be answered.
        for batch in overdue {
            let failure = expired(&batch, now);
            self.fail(batch, &failure, now);
        }
        // As in Java, only the head of a queue expires: what waits behind it is looked at when it has become the head.
        let oldest = self.accumulator.heads().chain(self.batches_in_flight()).map(|batch| batch.created_at).min();
        self.expiry_check_at = oldest.map(|created_at| created_at + timeout);
    }

    /// Batches that wait for an answer.
    pub(super) fn batches_in_flight(&self) -> impl Iterator<Item = &Batch> {
        self.connections
            .iter()
            .flat_map(|(_, connection)| &connection.in_flight)
            .filter_map(|request| match &request.kind {
                Request::Produce { batches, .. } => Some(batches),
                _ => None,
            })
            .flat_map(InFlightBatches::waiting)
    }

    /// Whether no record waits for its outcome.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.accumulator.batches().chain(self.batches_in_flight()).next().is_none()
    }

    /// Every record that is left fails.
    pub(super) fn fail_everything(&mut self, failure: &Failure, now: Moment) {
        self.accumulator.forget_sequences();
        let mut left = self.accumulator.take_all();
        for batches in produces_in_flight(&mut self.connections) {
            left.extend(batches.give_up(|_| true, |_| None));
        }
        for batch in left {
            self.fail(batch, failure, now);
        }
        self.expiry_check_at = None;
    }
}

/// All Produce requests that wait for their answers.
fn produces_in_flight(connections: &mut Connections<Request>) -> impl Iterator<Item = &mut InFlightBatches> {
    connections.in_flight_mut().filter_map(|request| match &mut request.kind {
        Request::Produce { batches, .. } => Some(batches),
        _ => None,
    })
}

/// Whether this code means that no broker will take anything of this producer any more: its fatal state in Java.
fn ends_idempotence(code: ErrorCode) -> bool {
    [
        ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode::UNSUPPORTED_VERSION,
        ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode::INVALID_PRODUCER_ID_MAPPING,
        ErrorCode::PRODUCER_FENCED,
    ]
    .contains(&code)
}

/// Whether a batch that came back with this code may be in the log all the same, whatever `acks` asks for.
fn leaves_doubt(code: ErrorCode) -> bool {
    [
        ErrorCode::REQUEST_TIMED_OUT,
        ErrorCode::NETWORK_EXCEPTION,
        ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode::UNKNOWN_SERVER_ERROR,
        // The disk may fail when what is written is flushed.
        ErrorCode::KAFKA_STORAGE_ERROR,
    ]
    .contains(&code)
}

/// Whether a broker may say this of a batch that it has appended. With `acks=all` it appends first and then waits for the replicas
/// (`DelayedProduce`): if the partition's leadership or its replica goes meanwhile, that is what it answers. Its base offset tells the
/// two apart, if the broker is Kafka's own; nobody is to rely on that to call a record lost.
fn leaves_doubt_after_append(code: ErrorCode) -> bool {
    [ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, ErrorCode::NOT_LEADER_OR_FOLLOWER].contains(&code)
}
