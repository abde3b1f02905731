//! Helpers: answers by hand, and a core between a pretended network and a pretended clock.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::produce_response::{PartitionProduceResponse, TopicProduceResponse};
use kafka_protocol::messages::{
    ApiVersionsResponse, InitProducerIdResponse, ProduceRequest, ProduceResponse, ProducerId, RequestHeader, ResponseHeader,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, StrBytes};
use kafka_protocol::records::RecordBatchDecoder;

use crate::clock::Moment;
use crate::ids::{BrokerId, HostPort, LeaderEpoch, PartitionIndex, TopicId, TopicName};
use crate::kafka::core::accumulator::Append;
use crate::kafka::core::client::ProducerCore;
use crate::kafka::core::config::ProducerConfig;
use crate::kafka::core::connections::ConnectionId;
use crate::kafka::core::output::Action;
use crate::kafka::event::{ClientEvent, Outcome, RecordTag};
use crate::kafka::wire::error::ErrorCode;
use crate::kafka::wire::messages::{MetadataAnswer, PartitionAnswer, TopicAnswer};

pub(super) const START: Moment = Moment(86_400_000_000);

pub(super) fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(super) fn topic(name: &str) -> TopicName {
    TopicName::from(name)
}

pub(super) fn config(pairs: &[(&str, &str)]) -> ProducerConfig {
    ProducerConfig::from_properties(&pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()).unwrap()
}

pub(super) fn partition(index: i32, leader: i32, epoch: i32) -> PartitionAnswer {
    PartitionAnswer {
        error: None,
        index: PartitionIndex(index),
        leader: (leader >= 0).then_some(BrokerId(leader)),
        epoch: (epoch >= 0).then_some(LeaderEpoch(epoch)),
        replicas: vec![BrokerId(leader)],
        isr: vec![BrokerId(leader)],
        offline: Vec::new(),
    }
}

pub(super) fn topic_answer(name: &str, id: u128, partitions: Vec<PartitionAnswer>) -> TopicAnswer {
    let id = (id > 0).then(|| TopicId(uuid::Uuid::from_u128(id)));
    TopicAnswer { error: None, name: topic(name), id, internal: false, partitions }
}

pub(super) fn topic_error(name: &str, code: i16) -> TopicAnswer {
    TopicAnswer { error: ErrorCode::from_wire(code), ..topic_answer(name, 0, Vec::new()) }
}

/// An answer in version 12 from a cluster of brokers 1 to `brokers`.
pub(super) fn answer(brokers: i32, topics: Vec<TopicAnswer>) -> MetadataAnswer {
    let brokers = (1..=brokers).map(|id| (BrokerId(id), HostPort::new("127.0.0.1", 9000 + u16::try_from(id).unwrap()))).collect();
    MetadataAnswer { version: 12, brokers, topics, ..MetadataAnswer::default() }
}

/// A core whose network does what the test says.
pub(super) struct Lab {
    pub(super) core: ProducerCore,
    pub(super) now: Moment,
    /// Requests written and not answered, oldest first.
    pub(super) written: VecDeque<Written>,
    pub(super) events: Vec<ClientEvent>,
    pub(super) outcomes: Vec<(u64, Outcome)>,
    /// Whether sockets take nothing: what is to be written stays unwritten.
    pub(super) is_stalled: bool,
    links: Vec<(ConnectionId, BrokerId)>,
    /// Attempts to these nodes fail.
    pub(super) dead: Vec<BrokerId>,
    /// When the core wants to be called again.
    pub(super) next: Option<Moment>,
    /// What [`Lab::run`] answers to Metadata.
    pub(super) cluster: MetadataAnswer,
    /// Whether the brokers know InitProducerId.
    pub(super) has_producer_ids: bool,
}

/// A request on the wire.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) node: BrokerId,
    pub(super) connection: ConnectionId,
    pub(super) api_key: i16,
    pub(super) version: i16,
    pub(super) correlation_id: i32,
    pub(super) body: Bytes,
}

impl Lab {
    pub(super) fn new(properties: &[(&str, &str)]) -> Self {
        let bootstrap = vec![HostPort::new("127.0.0.1", 9001)];
        let cluster = answer(2, vec![topic_answer("orders", 7, vec![partition(0, 1, 5), partition(1, 2, 5)])]);
        Self {
            core: ProducerCore::new(config(properties), bootstrap, "lab", 1),
            now: START,
            written: VecDeque::new(),
            events: Vec::new(),
            outcomes: Vec::new(),
            is_stalled: false,
            links: Vec::new(),
            dead: Vec::new(),
            next: None,
            cluster,
            has_producer_ids: true,
        }
    }

    /// A lab whose core has its connections, knows `orders` and has nothing to do.
    pub(super) fn settled(properties: &[(&str, &str)]) -> Self {
        let mut lab = Self::new(properties);
        lab.core.use_topic(&topic("orders"), lab.now);
        lab.run(ms(300));
        assert_eq!(lab.core.snapshot().partition_count(&topic("orders")), Some(2));
        for (index, mark) in [(0, 900), (1, 901)] {
            assert!(lab.append(index, mark));
        }
        lab.run(ms(300));
        assert_eq!(lab.take_outcomes().len(), 2, "both leaders are connected");
        lab.events.clear();
        lab
    }

    pub(super) fn append(&mut self, index: i32, mark: u64) -> bool {
        self.append_value(index, mark, b"value")
    }

    pub(super) fn append_value(&mut self, index: i32, mark: u64, value: &[u8]) -> bool {
        let name = topic("orders");
        let Some(view) = self.core.snapshot().topic(&name).cloned() else { return false };
        let record = Append {
            topic: &name,
            partition: Some(PartitionIndex(index)),
            key: None,
            value,
            timestamp_ms: 0,
            tag: RecordTag { mark, number: 0, sent_at: self.now },
        };
        self.core.append(&record, &view, None, self.now);
        true
    }

    /// Lets time pass, answering every request well after a millisecond.
    pub(super) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            self.step();
            while let Some(written) = self.written.pop_front() {
                self.answer_well(&written);
            }
            self.now = (self.now + ms(1)).min(end);
        }
    }

    /// Lets time pass without answering anything.
    pub(super) fn run_silent(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            self.step();
            self.now = (self.now + ms(1)).min(end);
        }
        self.step();
    }

    /// One pass: the core decides, the pretended network connects and writes at once.
    pub(super) fn step(&mut self) {
        loop {
            self.next = self.core.turn(self.now);
            let output = self.core.take_output();
            self.events.extend(output.events.into_iter().map(|(_, event)| event));
            for delivery in &output.deliveries {
                let seen = delivery.as_seen();
                let is_in_doubt = matches!(seen.outcome, Outcome::Indeterminate(_));
                assert!(seen.sends > 0 || !is_in_doubt, "what was never sent is not in the log: {seen:?}");
                self.outcomes.extend(seen.records.iter().map(|tag| (tag.mark, seen.outcome.clone())));
            }
            if output.actions.is_empty() {
                return;
            }
            for action in output.actions {
                self.perform(action);
            }
        }
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Connect(attempt) if self.dead.contains(&attempt.node) => {
                self.core.on_connect_failed(attempt.node, attempt.id, self.now);
            }
            Action::Connect(attempt) => {
                self.links.push((attempt.id, attempt.node));
                self.core.on_connected(attempt.node, attempt.id, self.now);
            }
            Action::Write { connection, frame } => {
                let node = self.node_of(connection);
                let written = read_request(node, connection, frame.to_bytes());
                if self.is_stalled {
                    return;
                }
                self.core.on_written(node, connection, self.now);
                if written.api_key == 18 {
                    self.answer_well(&written);
                } else {
                    self.written.push_back(written);
                }
            }
            Action::Close { connection } => self.links.retain(|(id, _)| *id != connection),
        }
    }

    fn node_of(&self, connection: ConnectionId) -> BrokerId {
        self.links.iter().find(|(id, _)| *id == connection).unwrap().1
    }

    /// The peer closes the connection to a node; what was written on it is gone.
    pub(super) fn cut(&mut self, node: i32) {
        let (id, node) = *self.links.iter().find(|(_, linked)| *linked == BrokerId(node)).unwrap();
        self.links.retain(|(linked, _)| *linked != id);
        self.written.retain(|written| written.connection != id);
        self.core.on_disconnected(node, id, self.now);
    }

    /// The same for the connection of a request, if it is still there.
    pub(super) fn cut_connection(&mut self, written: &Written) {
        if self.links.iter().any(|(linked, _)| *linked == written.connection) {
            self.links.retain(|(linked, _)| *linked != written.connection);
            self.written.retain(|other| other.connection != written.connection);
            self.core.on_disconnected(written.node, written.connection, self.now);
        }
    }

    /// The same, if there is a connection.
    pub(super) fn cut_if_connected(&mut self, node: i32) {
        if self.links.iter().any(|(_, linked)| *linked == BrokerId(node)) {
            self.cut(node);
        }
    }

    pub(super) fn answer_well(&mut self, written: &Written) {
        let frame = match written.api_key {
            18 => api_versions_frame(written, self.has_producer_ids),
            3 => metadata_frame(written, &self.cluster),
            0 => produce_frame(written, 0),
            22 => producer_id_frame(written, 0, 0),
            other => panic!("unexpected api key {other}"),
        };
        self.core.on_frame(written.node, written.connection, frame, self.now);
    }

    /// Answers InitProducerId with this epoch of producer 7000, or an error.
    pub(super) fn answer_producer_id(&mut self, written: &Written, code: i16, epoch: i16) {
        let frame = producer_id_frame(written, code, epoch);
        self.core.on_frame(written.node, written.connection, frame, self.now);
    }

    /// The same for Produce, with a place where the log begins.
    pub(super) fn answer_produce_with_start(&mut self, written: &Written, code: i16, log_start_offset: i64) {
        let frame = produce_frame_with(written, |_| (code, -1), log_start_offset);
        self.core.on_frame(written.node, written.connection, frame, self.now);
    }

    /// Answers each batch of a Produce request on its own: error code and base offset.
    pub(super) fn answer_batches(&mut self, written: &Written, answer: impl FnMut(&SentBatch) -> (i16, i64)) {
        let frame = produce_frame_with(written, answer, 0);
        self.core.on_frame(written.node, written.connection, frame, self.now);
    }

    /// Answers a Produce request with one error for all its partitions.
    pub(super) fn answer_produce(&mut self, written: &Written, code: i16) {
        let frame = produce_frame(written, code);
        self.core.on_frame(written.node, written.connection, frame, self.now);
    }

    pub(super) fn take_written(&mut self, api_key: i16) -> Vec<Written> {
        let (taken, left): (Vec<_>, Vec<_>) = self.written.drain(..).partition(|written| written.api_key == api_key);
        self.written = left.into();
        taken
    }

    pub(super) fn take_outcomes(&mut self) -> Vec<(u64, Outcome)> {
        std::mem::take(&mut self.outcomes)
    }
}

pub(super) fn read_request(node: BrokerId, connection: ConnectionId, mut frame: Bytes) -> Written {
    frame.advance(4);
    let (api_key, version) = (i16::from_be_bytes([frame[0], frame[1]]), i16::from_be_bytes([frame[2], frame[3]]));
    let api = kafka_protocol::messages::ApiKey::try_from(api_key).unwrap();
    let header = RequestHeader::decode(&mut frame, api.request_header_version(version)).unwrap();
    Written { node, connection, api_key, version, correlation_id: header.correlation_id, body: frame }
}

pub(super) fn response<R: Encodable + HeaderVersion>(written: &Written, body: &R) -> Bytes {
    let mut frame = BytesMut::new();
    ResponseHeader::default().with_correlation_id(written.correlation_id).encode(&mut frame, R::header_version(written.version)).unwrap();
    body.encode(&mut frame, written.version).unwrap();
    frame.freeze()
}

pub(super) fn api_versions_frame(written: &Written, has_producer_ids: bool) -> Bytes {
    let range = |key, min, max| ApiVersion::default().with_api_key(key).with_min_version(min).with_max_version(max);
    let mut keys = vec![range(0, 3, 12), range(3, 0, 12), range(18, 0, 4)];
    keys.extend(has_producer_ids.then(|| range(22, 0, 4)));
    response(written, &ApiVersionsResponse::default().with_api_keys(keys))
}

pub(super) fn metadata_frame(written: &Written, cluster: &MetadataAnswer) -> Bytes {
    use kafka_protocol::messages::metadata_response::{MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic};
    use kafka_protocol::messages::{BrokerId as CodecBroker, MetadataRequest, MetadataResponse};
    let request = MetadataRequest::decode(&mut written.body.clone(), written.version).unwrap();
    let asked: Vec<String> = request.topics.unwrap().into_iter().map(|topic| topic.name.unwrap().0.as_str().to_owned()).collect();
    let brokers = cluster.brokers.iter().map(|(id, address)| {
        MetadataResponseBroker::default()
            .with_node_id(CodecBroker(id.0))
            .with_host(StrBytes::from_string(address.host.to_string()))
            .with_port(i32::from(address.port))
    });
    let partition = |partition: &PartitionAnswer| {
        MetadataResponsePartition::default()
            .with_error_code(partition.error.map_or(0, |code| code.0))
            .with_partition_index(partition.index.0)
            .with_leader_id(CodecBroker(partition.leader.map_or(-1, |id| id.0)))
            .with_leader_epoch(partition.epoch.map_or(-1, |epoch| epoch.0))
    };
    let topics = cluster.topics.iter().filter(|topic| asked.iter().any(|name| name == topic.name.as_str())).map(|topic| {
        MetadataResponseTopic::default()
            .with_error_code(topic.error.map_or(0, |code| code.0))
            .with_name(Some(kafka_protocol::messages::TopicName(StrBytes::from_string(topic.name.to_string()))))
            .with_topic_id(topic.id.map_or_else(uuid::Uuid::nil, |id| id.0))
            .with_partitions(topic.partitions.iter().map(partition).collect())
    });
    response(written, &MetadataResponse::default().with_brokers(brokers.collect()).with_topics(topics.collect()))
}

pub(super) fn producer_id_frame(written: &Written, code: i16, epoch: i16) -> Bytes {
    let given = InitProducerIdResponse::default().with_producer_id(ProducerId(7_000)).with_producer_epoch(epoch);
    response(written, &given.with_error_code(code))
}

/// A batch as a broker reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SentBatch {
    pub(super) partition: i32,
    pub(super) producer: (i64, i16),
    pub(super) base_sequence: i32,
    pub(super) values: Vec<Bytes>,
}

impl Written {
    /// The batches of a Produce request, with their checksums proved.
    pub(super) fn batches(&self) -> Vec<SentBatch> {
        let request = ProduceRequest::decode(&mut self.body.clone(), self.version).unwrap();
        let parts = request.topic_data.into_iter().flat_map(|topic| topic.partition_data);
        parts.map(|part| sent_batch(part.index, part.records.unwrap())).collect()
    }

    /// Partition, epoch, base sequence and records of each batch.
    pub(super) fn numbers(&self) -> Vec<(i32, i16, i32, usize)> {
        let numbers = |batch: SentBatch| (batch.partition, batch.producer.1, batch.base_sequence, batch.values.len());
        self.batches().into_iter().map(numbers).collect()
    }
}

fn sent_batch(partition: i32, mut records: Bytes) -> SentBatch {
    let records = RecordBatchDecoder::decode(&mut records).unwrap().records;
    let first = &records[0];
    SentBatch {
        partition,
        producer: (first.producer_id, first.producer_epoch),
        base_sequence: first.sequence,
        values: records.iter().map(|record| record.value.clone().unwrap()).collect(),
    }
}

pub(super) fn produce_frame(written: &Written, code: i16) -> Bytes {
    produce_frame_with(written, |_| (code, if code == 0 { 0 } else { -1 }), 0)
}

fn produce_frame_with(written: &Written, mut answer: impl FnMut(&SentBatch) -> (i16, i64), log_start_offset: i64) -> Bytes {
    let request = ProduceRequest::decode(&mut written.body.clone(), written.version).unwrap();
    let responses = request.topic_data.into_iter().map(|topic| {
        let partitions = topic.partition_data.into_iter().map(|data| {
            let (code, base_offset) = answer(&sent_batch(data.index, data.records.unwrap()));
            let response = PartitionProduceResponse::default().with_index(data.index).with_error_code(code);
            response.with_base_offset(base_offset).with_log_start_offset(log_start_offset)
        });
        TopicProduceResponse::default().with_name(topic.name).with_partition_responses(partitions.collect())
    });
    response(written, &ProduceResponse::default().with_responses(responses.collect()))
}
