//! The core's way with batches: out to their leaders, back with an outcome, again, or given up.
//!
//! Java's counterpart: `Sender`. Which batches are ready is decided in `accumulator`.

use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::messages::ProduceRequest;

use crate::clock::Moment;
use crate::ids::{BrokerId, TopicId};
use crate::kafka::core::accumulator::Urgency;
use crate::kafka::core::batch::Batch;
use crate::kafka::core::client::{ProducerCore, Request};
use crate::kafka::core::config::Acks;
use crate::kafka::core::failure::{batch_error, expired, forced_close};
use crate::kafka::core::leader_hints::LeaderHints;
use crate::kafka::core::output::Delivery;
use crate::kafka::event::{ClientEvent, DisconnectCause, Failure, Outcome, UpdateReason};
use crate::kafka::wire::error::ErrorCode;
use crate::kafka::wire::messages::{ProducePartition, decode_produce};
use crate::kafka::wire::produce_request::{ProduceBatch, encode_produce};
use crate::kafka::wire::versions::BrokerVersions;

/// Until the next look at a batch whose backoff was over by one draw of the jitter and not by the next.
const REDRAW_WAIT: Duration = Duration::from_millis(1);

/// The batches of a Produce request that waits for its answer; a batch that expires meanwhile is taken out.
#[derive(Debug)]
pub(super) struct InFlightBatches(Vec<(Option<TopicId>, Option<Batch>)>);

impl ProducerCore {
    /// Sends what is ready to every node that can take it, and begins to connect to those that cannot. Returns whether anything was sent, and
    /// how long to wait before looking again (`None`: an event will tell).
    pub(super) fn send_ready(&mut self, now: Moment) -> (bool, Option<Duration>) {
        let snapshot = std::sync::Arc::clone(self.machine.snapshot());
        let urgency = Urgency { flush: self.is_closing() };
        let ready = self.accumulator.ready(&snapshot, now, urgency, &mut self.random);
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
                let batches = self.accumulator.drain(*node, slots, self.config.request_bytes_max, mute, now, &mut self.random);
                if batches.is_empty() {
                    // `drain` draws the jitter of a retry's backoff anew and may say "not yet": look again soon.
                    wait = Some(wait.map_or(REDRAW_WAIT, |wait| wait.min(REDRAW_WAIT)));
                } else {
                    sent = true;
                    self.send_batches(*node, batches, now);
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
        let versions = self.connections.get(node).and_then(|connection| connection.versions.as_ref());
        let Some(version) = versions.and_then(BrokerVersions::highest_common::<ProduceRequest>) else {
            return self.refuse(node, batches, None, now);
        };
        let correlation_id = self.correlation_id();
        let topic_ids: Vec<_> = batches.iter().map(|batch| self.machine.topic_id(&batch.topic)).collect();
        let contents: Vec<Bytes> = batches.iter_mut().map(Batch::close).collect();
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
            Err(error) => return self.refuse(node, batches, Some(&error.to_string()), now),
        };
        let records = batches.iter().map(|batch| batch.tags.len()).sum();
        self.tell(now, ClientEvent::ProduceSent { node, batches: batches.len(), records, request_bytes: frame.bytes() });
        for batch in &mut batches {
            batch.sends += 1;
            if let Some((partition, from)) = self.routes.moved(&batch.topic, batch.partition, node) {
                self.output.events.push((now, ClientEvent::RouteChanged { partition, from, to: node }));
            }
        }
        let batches = InFlightBatches(topic_ids.into_iter().zip(batches.into_iter().map(Some)).collect());
        self.hand_over(node, correlation_id, frame, Request::Produce { version, batches }, now);
    }

    /// No request can carry these batches to this node.
    fn refuse(&mut self, node: BrokerId, batches: Vec<Batch>, words: Option<&str>, now: Moment) {
        for batch in batches {
            self.accumulator.unmute(&batch.topic, batch.partition);
            let failure = batch_error(node, ErrorCode::UNSUPPORTED_VERSION, words.map(str::to_owned));
            self.fail(batch, &failure, now);
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
        self.throttle(node, answer.throttle_ms, now);
        let mut hints = LeaderHints::new(answer.endpoints);
        for partition in answer.partitions {
            if let Some(batch) = batches.take(&partition) {
                hints.collect(&batch, partition.error, partition.leader);
                self.complete(node, batch, partition.error, partition.message, partition.base_offset, now);
            }
        }
        for batch in batches.0.into_iter().filter_map(|(_, batch)| batch) {
            self.complete(node, batch, Some(ErrorCode::UNKNOWN_SERVER_ERROR), Some("not in the response".to_owned()), -1, now);
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
        for batch in batches.0.into_iter().filter_map(|(_, batch)| batch) {
            self.complete(node, batch, None, None, -1, now);
        }
    }

    /// The connection of these batches is gone.
    pub(super) fn fail_batches(&mut self, node: BrokerId, batches: InFlightBatches, cause: DisconnectCause, now: Moment) {
        let (code, text) = match cause {
            DisconnectCause::RequestTimeout => (ErrorCode::REQUEST_TIMED_OUT, format!("Disconnected from node {node} due to timeout")),
            _ => (ErrorCode::NETWORK_EXCEPTION, format!("Disconnected from node {node}")),
        };
        for batch in batches.0.into_iter().filter_map(|(_, batch)| batch) {
            self.complete(node, batch, Some(code), Some(text.clone()), -1, now);
        }
    }

    fn complete(
        &mut self,
        node: BrokerId,
        mut batch: Batch,
        error: Option<ErrorCode>,
        message: Option<String>,
        base_offset: i64,
        now: Moment,
    ) {
        self.accumulator.unmute(&batch.topic, batch.partition);
        let Some(code) = error else { return self.finish(batch, Outcome::Ok { base_offset }, now) };
        batch.may_be_written |= leaves_doubt(code);
        let retried = code.is_retriable()
            && batch.attempts < self.config.retries
            && !batch.is_expired(now, self.config.delivery_timeout)
            && self.config.acks != Acks::None;
        self.tell(
            now,
            ClientEvent::BatchError {
                partition: crate::ids::TopicPartition { topic: batch.topic.clone(), partition: batch.partition },
                node,
                code,
                retried,
                records: batch.tags.len(),
            },
        );
        if retried {
            self.accumulator.reenqueue(batch, now);
        } else {
            let failure = batch_error(node, code, message);
            self.fail(batch, &failure, now);
        }
        if code.invalidates_metadata() {
            self.request_update(UpdateReason::ProduceError(code), now);
        }
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
        let nodes: Vec<BrokerId> = self.connections.iter().map(|(node, _)| node).collect();
        for node in nodes {
            let Some(connection) = self.connections.get_mut(node) else { continue };
            for request in &mut connection.in_flight {
                let Request::Produce { batches, .. } = &mut request.kind else { continue };
                for (_, slot) in &mut batches.0 {
                    if let Some(mut batch) = slot.take_if(|batch| batch.is_expired(now, timeout)) {
                        batch.may_be_written = true;
                        overdue.push(batch);
                    }
                }
            }
        }
        for batch in overdue {
            self.accumulator.unmute(&batch.topic, batch.partition);
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
            .flat_map(|batches| batches.0.iter().filter_map(|(_, batch)| batch.as_ref()))
    }

    /// Whether no record waits for its outcome.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.accumulator.batches().chain(self.batches_in_flight()).next().is_none()
    }

    /// Every record that is left fails, as at a forced close.
    pub(super) fn fail_everything(&mut self, now: Moment) {
        let mut left = self.accumulator.take_all();
        let nodes: Vec<BrokerId> = self.connections.iter().map(|(node, _)| node).collect();
        for node in nodes {
            let Some(connection) = self.connections.get_mut(node) else { continue };
            for request in &mut connection.in_flight {
                let Request::Produce { batches, .. } = &mut request.kind else { continue };
                for mut batch in batches.0.iter_mut().filter_map(|(_, slot)| slot.take()) {
                    batch.may_be_written = true;
                    left.push(batch);
                }
            }
        }
        for batch in left {
            self.fail(batch, &forced_close(), now);
        }
    }
}

impl InFlightBatches {
    /// Takes the batch that an answer speaks of: by topic id where it has one, else by name.
    fn take(&mut self, answer: &ProducePartition) -> Option<Batch> {
        let (_, slot) = self.0.iter_mut().find(|(topic_id, batch)| {
            batch.as_ref().is_some_and(|batch| {
                batch.partition == answer.partition
                    && if answer.topic.is_empty() { *topic_id == answer.topic_id } else { batch.topic.as_str() == answer.topic }
            })
        })?;
        slot.take()
    }
}

/// Whether a batch that came back with this code may be in the log all the same.
fn leaves_doubt(code: ErrorCode) -> bool {
    const NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode = ErrorCode(20);
    [ErrorCode::REQUEST_TIMED_OUT, ErrorCode::NETWORK_EXCEPTION, NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode::UNKNOWN_SERVER_ERROR]
        .contains(&code)
}
