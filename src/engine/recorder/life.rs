//! What a client's recorder knows of the client itself: its stages until the first ack, its Metadata requests, its waits; and how events
//! become facts.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::clock::Moment;
use crate::engine::recorder::errors::{BatchErrorKey, batch_error};
use crate::engine::recorder::figures::{REASONS, Series, by_reason, reason_index};
use crate::engine::recorder::foreign::ForeignRequest;
use crate::engine::recorder::{GroupRecorder, lock};
use crate::ids::{BrokerId, ProducerIndex, UpdateVersion};
use crate::kafka::event::{BlockedOn, ClientEvent, DisconnectCause, MetadataOutcome, UpdateReason};
use crate::record::fact::{Fact, Totals};

/// A client's life so far.
#[derive(Debug)]
pub(crate) struct Life {
    made_at: Moment,
    connected: Option<Moment>,
    ready: Option<Moment>,
    metadata: Option<Moment>,
    producer_id: Option<Moment>,
    acknowledged: bool,
    pub(super) metadata_requests: [u64; REASONS.len()],
    request: Option<Request>,
    /// The same of a client that says no more of it than [`ForeignRequest`] holds.
    pub(super) foreign_request: Option<ForeignRequest>,
    /// Reason of the request whose answer came last.
    last_reason: Option<UpdateReason>,
    pub(super) update_version: UpdateVersion,
    blocked_metadata: Duration,
    blocked_memory: Duration,
    /// Since when connections are being made that cannot be used yet.
    connecting: BTreeMap<BrokerId, Moment>,
}

/// A Metadata request that is under way.
#[derive(Clone, Copy, Debug)]
struct Request {
    sent_at: Moment,
    node: BrokerId,
    reason: UpdateReason,
    full: bool,
    topics: usize,
    request_bytes: usize,
}

impl Life {
    /// A client that is being made.
    pub(crate) fn new(made_at: Moment) -> Self {
        Self {
            made_at,
            connected: None,
            ready: None,
            metadata: None,
            producer_id: None,
            acknowledged: false,
            metadata_requests: [0; REASONS.len()],
            request: None,
            foreign_request: None,
            last_reason: None,
            update_version: UpdateVersion(0),
            blocked_metadata: Duration::ZERO,
            blocked_memory: Duration::ZERO,
            connecting: BTreeMap::new(),
        }
    }

    /// The first acknowledgement, told once.
    pub(crate) fn first_ack(&mut self, at: Moment, group: &GroupRecorder, producer: ProducerIndex) -> Option<Fact> {
        if std::mem::replace(&mut self.acknowledged, true) {
            return None;
        }
        let since_made = |moment: Moment| micros(moment.since(self.made_at));
        Some(Fact::FirstAck {
            group: group.name.clone(),
            producer,
            connected_us: self.connected.map(since_made),
            ready_us: self.ready.map(since_made),
            metadata_us: self.metadata.map(since_made),
            producer_id_us: self.producer_id.map(since_made),
            ack_us: since_made(at),
        })
    }

    /// Takes an event in; the fact that it makes, if any.
    pub(crate) fn event(&mut self, at: Moment, event: &ClientEvent, recorder: &GroupRecorder, producer: ProducerIndex) -> Option<Fact> {
        let group = || recorder.name.clone();
        match event {
            ClientEvent::Connected { .. } => {
                self.connected.get_or_insert(at);
                None
            }
            ClientEvent::Connecting { node, .. } => {
                self.connecting.insert(*node, at);
                None
            }
            ClientEvent::Ready { node, .. } => {
                self.connecting.remove(node);
                self.ready.get_or_insert(at);
                None
            }
            ClientEvent::ProducerIdAnswered { given, .. } => {
                if given.is_ok() {
                    self.producer_id.get_or_insert(at);
                }
                None
            }
            ClientEvent::MetadataRequestSent { .. } => {
                self.request_sent(at, event, recorder);
                None
            }
            ClientEvent::MetadataRequestDone { .. } => self.request_done(event, recorder, producer),
            ClientEvent::PartitionCountChanged { topic, topic_id, from, to, node, update_version } => {
                if *to > 0 {
                    self.metadata.get_or_insert(at);
                }
                let reason = self.request.map(|request| request.reason).or(self.last_reason);
                let reason = node.and(reason).map(|reason| REASONS[reason_index(reason).0].to_owned());
                let (topic, update_version) = (topic.clone(), *update_version);
                Some(Fact::PartitionCount {
                    group: group(),
                    producer,
                    topic,
                    topic_id: *topic_id,
                    from: *from,
                    to: *to,
                    node: *node,
                    reason,
                    update_version: Some(update_version),
                })
            }
            ClientEvent::LeaderChanged { partition, topic_id, from, to, epoch, node, update_version } => Some(Fact::LeaderSeen {
                group: group(),
                producer,
                topic: partition.topic.clone(),
                partition: partition.partition,
                topic_id: *topic_id,
                from: *from,
                to: *to,
                epoch: *epoch,
                node: *node,
                update_version: *update_version,
            }),
            ClientEvent::RouteChanged { partition, from, to } => Some(Fact::RouteChanged {
                group: group(),
                producer,
                topic: partition.topic.clone(),
                partition: partition.partition,
                from: *from,
                to: *to,
            }),
            ClientEvent::Disconnected { node, cause, in_flight, metadata_in_flight } => Some(Fact::Disconnected {
                group: group(),
                producer,
                node: *node,
                cause: cause_name(*cause).to_owned(),
                in_flight: u32::try_from(*in_flight).unwrap_or(u32::MAX),
                metadata_in_flight: *metadata_in_flight,
                not_ready_us: self.connecting.remove(node).map(|since| micros(at.since(since))),
            }),
            ClientEvent::Rebootstrapped { update_version } => {
                Some(Fact::Rebootstrapped { group: group(), producer, update_version: *update_version })
            }
            ClientEvent::BatchError { partition, node, code, retried, records } => {
                let key = BatchErrorKey { producer, partition: partition.clone(), node: *node, code: code.0, retried: *retried };
                let is_first = lock(&recorder.batch_errors).enter(at, key.clone(), *records);
                is_first.then(|| batch_error(&recorder.name, key, *records as u64))
            }
            ClientEvent::Blocked { on, took, .. } => {
                self.blocked(*on, *took, recorder);
                None
            }
            ClientEvent::UpdateRequested { .. }
            | ClientEvent::ProducerEpochBumped { .. }
            | ClientEvent::ProduceSent { .. }
            | ClientEvent::ProduceDone { .. }
            | ClientEvent::Closed => None,
        }
    }

    /// The Metadata request that has not been answered by the end of the run.
    pub(crate) fn unanswered(&mut self, at: Moment, group: &GroupRecorder, producer: ProducerIndex) -> Option<Fact> {
        if let Some(request) = self.foreign_request.take() {
            return Some(request.fact(at, group, producer, self.update_version, "unanswered"));
        }
        let request = self.request.take()?;
        let took = at.since(request.sent_at);
        Some(request_fact(group, producer, request, 0, took, self.update_version, "unanswered"))
    }

    /// A sender's totals; what belongs to the client is told with the first one's.
    pub(crate) fn totals(
        &self,
        group: &GroupRecorder,
        producer: ProducerIndex,
        is_first: bool,
        totals: Totals,
        cached: Option<&BTreeMap<String, u32>>,
    ) -> Fact {
        let tells = group.tells();
        let of_client = |is_told: bool, span: Duration| is_told.then(|| if is_first { micros(span) } else { 0 });
        let requests = || if is_first { by_reason(&self.metadata_requests) } else { BTreeMap::new() };
        Fact::ProducerTotals {
            group: group.name.clone(),
            producer,
            totals,
            metadata_requests: tells.metadata_requests.then(requests),
            blocked_metadata_us: of_client(tells.waits_for_metadata, self.blocked_metadata),
            blocked_memory_us: of_client(tells.waits_for_memory, self.blocked_memory),
            cached_partitions: cached.cloned(),
        }
    }

    /// Requests that are told as counts alone.
    #[cfg(feature = "librdkafka")]
    pub(crate) fn count_requests(&mut self, reason: usize, more: u64, group: &GroupRecorder) {
        self.metadata_requests[reason] += more;
        group.shards.mine().metadata_requests[reason] += more;
    }

    fn request_sent(&mut self, at: Moment, event: &ClientEvent, group: &GroupRecorder) {
        let ClientEvent::MetadataRequestSent { node, reason, full, topics, request_bytes } = *event else { return };
        self.request = Some(Request { sent_at: at, node, reason, full, topics, request_bytes });
        let (index, _) = reason_index(reason);
        self.metadata_requests[index] += 1;
        let mut figures = group.shards.mine();
        figures.metadata_requests[index] += 1;
        figures.metadata_request_bytes += request_bytes as u64;
    }

    fn request_done(&mut self, event: &ClientEvent, group: &GroupRecorder, producer: ProducerIndex) -> Option<Fact> {
        let ClientEvent::MetadataRequestDone {
            node,
            reason,
            full,
            topics,
            request_bytes,
            response_bytes,
            round_trip,
            outcome,
            update_version,
        } = *event
        else {
            return None;
        };
        let sent_at = self.request.take().map_or(Moment(0), |request| request.sent_at);
        self.last_reason = Some(reason);
        self.update_version = update_version;
        let mut figures = group.shards.mine();
        figures.metadata_response_bytes += response_bytes as u64;
        if response_bytes > 0 {
            figures.series(Series::MetadataRoundTrip).record(micros(round_trip));
        }
        drop(figures);
        let request = Request { sent_at, node, reason, full, topics, request_bytes };
        Some(request_fact(group, producer, request, response_bytes, round_trip, update_version, outcome_name(outcome)))
    }

    fn blocked(&mut self, on: BlockedOn, took: Duration, group: &GroupRecorder) {
        let mut figures = group.shards.mine();
        match on {
            BlockedOn::Metadata => {
                self.blocked_metadata += took;
                figures.blocked_metadata += 1;
            }
            BlockedOn::Memory => {
                self.blocked_memory += took;
                figures.blocked_memory += 1;
            }
        }
    }
}

fn request_fact(
    group: &GroupRecorder,
    producer: ProducerIndex,
    request: Request,
    response_bytes: usize,
    round_trip: Duration,
    update_version: UpdateVersion,
    outcome: &str,
) -> Fact {
    let (index, code) = reason_index(request.reason);
    Fact::MetadataRequest {
        group: group.name.clone(),
        producer,
        reason: REASONS[index].to_owned(),
        code,
        full: Some(request.full),
        topics: Some(u32::try_from(request.topics).unwrap_or(u32::MAX)),
        request_bytes: Some(request.request_bytes as u64),
        response_bytes: Some(response_bytes as u64),
        round_trip_us: micros(round_trip),
        node: request.node,
        update_version,
        outcome: outcome.to_owned(),
    }
}

pub(super) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

pub(super) fn outcome_name(outcome: MetadataOutcome) -> &'static str {
    match outcome {
        MetadataOutcome::Updated => "updated",
        MetadataOutcome::Empty => "empty",
        MetadataOutcome::Disconnected => "disconnected",
        MetadataOutcome::TimedOut => "timed_out",
        MetadataOutcome::RebootstrapRequired => "rebootstrap_required",
        MetadataOutcome::Malformed => "malformed",
    }
}

fn cause_name(cause: DisconnectCause) -> &'static str {
    match cause {
        DisconnectCause::Lost => "lost",
        DisconnectCause::Refused => "refused",
        DisconnectCause::Authentication => "authentication",
        DisconnectCause::SetupTimeout => "setup_timeout",
        DisconnectCause::RequestTimeout => "request_timeout",
        DisconnectCause::Idle => "idle",
        DisconnectCause::Protocol => "protocol",
        DisconnectCause::Rebootstrap => "rebootstrap",
        DisconnectCause::Closing => "closing",
    }
}
