//! The core's way to a producer id: InitProducerId to the least loaded node, again until a broker gives one; and the epochs after it.
//!
//! Java's counterparts: `Sender.runOnce` and `maybeSendAndPollTransactionalRequest`, `TransactionManager.InitProducerIdHandler`. Nothing is produced
//! before there is an id; metadata goes on meanwhile, and goes first. Two differences: pauses do not stop the rest of the client, and queued
//! records expire during the wait too.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::messages::InitProducerIdRequest;

use crate::clock::Moment;
use crate::ids::BrokerId;
use crate::kafka::core::client::{ProducerCore, Request};
use crate::kafka::core::connections::ConnectionState;
use crate::kafka::core::failure;
use crate::kafka::core::producer_id::{Bumped, Phase};
use crate::kafka::event::{ClientEvent, DisconnectCause, Failure, UpdateReason};
use crate::kafka::wire::error::ErrorCode;
use crate::kafka::wire::producer_id::{decode_init_producer_id, encode_init_producer_id};

impl ProducerCore {
    /// Settles sequences in doubt and goes on with the way to an id. Returns how long to wait before looking again; `None`: an event will tell.
    pub(super) fn pursue_producer_id(&mut self, now: Moment) -> Option<Duration> {
        self.accumulator.resolve_sequences();
        if self.accumulator.needs_restart() {
            self.bump_epoch(now);
        }
        match self.producer_id.phase.clone() {
            Phase::Settled | Phase::Asked => None,
            Phase::Refused(failure) => {
                // Every pass comes by here from now on, and most have nothing to fail.
                if self.expiry_check_at.is_some() {
                    self.fail_everything(&failure, now);
                }
                None
            }
            Phase::Wanted { not_before: Some(at), .. } if now < at => Some(at.since(now)),
            Phase::Wanted { refresh_first: true, .. } => {
                self.request_update(UpdateReason::ProducerId, now);
                self.producer_id.try_again(self.config.retry_backoff, false, now);
                Some(self.config.retry_backoff)
            }
            Phase::Wanted { .. } => self.choose_node(now),
            Phase::Awaiting { node, until } => self.await_node(node, until, now),
        }
    }

    fn bump_epoch(&mut self, now: Moment) {
        if let Bumped::To(producer) = self.producer_id.bump() {
            self.accumulator.restart_sequences(producer);
            self.tell(now, ClientEvent::ProducerEpochBumped { producer });
        }
    }

    fn choose_node(&mut self, now: Moment) -> Option<Duration> {
        let snapshot = Arc::clone(self.machine.snapshot());
        let Some(node) = self.connections.least_loaded(&snapshot.nodes, now, &mut self.random).node else {
            self.producer_id.try_again(self.config.retry_backoff, false, now);
            return Some(self.config.retry_backoff);
        };
        if self.connections.can_connect(node, now) {
            self.begin_connect(node, now);
        }
        let until = now + self.config.request_timeout;
        self.producer_id.phase = Phase::Awaiting { node, until };
        self.await_node(node, until, now)
    }

    /// Sends the request as soon as the node can take it. A node whose connection fails, or is not ready in time, is given up.
    fn await_node(&mut self, node: BrokerId, until: Moment, now: Moment) -> Option<Duration> {
        if self.connections.can_send(node, now) && !self.is_update_due(now) {
            self.ask_producer_id(node, now);
            return None;
        }
        let is_lost = self.connections.get(node).is_none_or(|connection| connection.state == ConnectionState::Disconnected);
        if is_lost || now >= until {
            self.producer_id.try_again(self.config.retry_backoff, true, now);
            return Some(self.config.retry_backoff);
        }
        let throttled = self.connections.poll_delay(node, now).filter(|delay| !delay.is_zero());
        [Some(until.since(now)), throttled].into_iter().flatten().min()
    }

    fn ask_producer_id(&mut self, node: BrokerId, now: Moment) {
        let Some(version) = self.connections.version_for::<InitProducerIdRequest>(node) else {
            return self.refuse_producer_id(failure::no_idempotence(node), now);
        };
        let correlation_id = self.correlation_id();
        match encode_init_producer_id(correlation_id, &self.client_id, version) {
            Ok(frame) => {
                self.producer_id.phase = Phase::Asked;
                self.hand_over(node, correlation_id, frame.into(), Request::InitProducerId { version }, now);
            }
            Err(_) => self.refuse_producer_id(failure::no_idempotence(node), now),
        }
    }

    /// There will never be an id: what waits for it fails at once, for nothing else may happen for a long time.
    fn refuse_producer_id(&mut self, failure: Failure, now: Moment) {
        self.fail_everything(&failure, now);
        self.producer_id.refuse(failure);
    }

    pub(super) fn on_producer_id(&mut self, node: BrokerId, version: i16, sent_at: Moment, frame: Bytes, now: Moment) {
        let Ok(answer) = decode_init_producer_id(frame, version) else {
            self.on_producer_id_lost(now);
            return self.close_connection(node, DisconnectCause::Protocol, now);
        };
        self.throttle(node, answer.throttle_ms, now);
        self.tell(now, ClientEvent::ProducerIdAnswered { node, given: answer.given, round_trip: now.since(sent_at) });
        match answer.given {
            Ok(producer) if producer.is_valid() => {
                self.producer_id.given(producer);
                self.accumulator.restart_sequences(producer);
            }
            Ok(_) => self.on_producer_id_lost(now),
            Err(code) if code.is_retriable() => self.on_producer_id_lost(now),
            Err(code) if may_be_granted_later(code) => {
                self.fail_everything(&failure::exception(code, None), now);
                self.on_producer_id_lost(now);
            }
            Err(code) => self.refuse_producer_id(failure::producer_id_refused(code), now),
        }
    }

    /// The request came to nothing: it is sent again, to whichever node is the least loaded then.
    pub(super) fn on_producer_id_lost(&mut self, now: Moment) {
        self.producer_id.try_again(self.config.retry_backoff, false, now);
    }
}

/// Java fails what is queued and asks again: somebody may grant the right meanwhile.
fn may_be_granted_later(code: ErrorCode) -> bool {
    [ErrorCode::CLUSTER_AUTHORIZATION_FAILED, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED].contains(&code)
}
