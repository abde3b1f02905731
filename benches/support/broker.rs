//! A broker in memory: takes every batch and answers at once. It reads requests as far as it must to answer them, and keeps nothing.

use std::future::Future;
use std::io;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use kafka_chaos::ids::HostPort;
use kafka_chaos::kafka::net::connector::Connector;
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::metadata_response::{MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic};
use kafka_protocol::messages::produce_response::{PartitionProduceResponse, TopicProduceResponse};
use kafka_protocol::messages::{
    ApiKey, ApiVersionsResponse, BrokerId, InitProducerIdResponse, MetadataRequest, MetadataResponse, ProduceRequest, ProduceResponse,
    ProducerId, RequestHeader, ResponseHeader,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::cluster::TOPIC;

/// Bytes on their way in one direction.
const PIPE_BYTES: usize = 1 << 20;

/// What the broker speaks: api key, lowest and highest version. Produce below 13 needs no topic ids.
const VERSIONS: [(ApiKey, i16, i16); 4] =
    [(ApiKey::Produce, 3, 9), (ApiKey::Metadata, 4, 9), (ApiKey::ApiVersions, 0, 3), (ApiKey::InitProducerId, 0, 4)];

/// Connects to a broker of its own for each connection; all lead the same partitions.
#[derive(Clone, Debug)]
pub(crate) struct InMemory {
    pub(crate) partitions: i32,
}

impl Connector for InMemory {
    type Stream = DuplexStream;

    fn connect(&self, _address: HostPort, _attempt: u32) -> impl Future<Output = io::Result<DuplexStream>> + Send + 'static {
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        tokio::spawn(serve(far, self.partitions));
        std::future::ready(Ok(near))
    }
}

async fn serve(mut stream: DuplexStream, partitions: i32) {
    while let Ok(bytes) = stream.read_i32().await {
        let mut frame = vec![0; usize::try_from(bytes).unwrap()];
        if stream.read_exact(&mut frame).await.is_err() {
            return;
        }
        let Some(answer) = answer(Bytes::from(frame), partitions) else { continue };
        if stream.write_all(&answer).await.is_err() {
            return;
        }
    }
}

fn answer(mut frame: Bytes, partitions: i32) -> Option<BytesMut> {
    let api = ApiKey::try_from((&frame[..2]).get_i16()).unwrap();
    let version = (&frame[2..4]).get_i16();
    let header = RequestHeader::decode(&mut frame, api.request_header_version(version)).unwrap();
    let mut out = BytesMut::new();
    out.put_i32(0);
    let response_header = ResponseHeader::default().with_correlation_id(header.correlation_id);
    response_header.encode(&mut out, api.response_header_version(version)).unwrap();
    match api {
        ApiKey::ApiVersions => api_versions().encode(&mut out, version).unwrap(),
        ApiKey::Metadata => {
            metadata(MetadataRequest::decode(&mut frame, version).unwrap(), partitions).encode(&mut out, version).unwrap();
        }
        ApiKey::InitProducerId => {
            InitProducerIdResponse::default().with_producer_id(ProducerId(1)).with_producer_epoch(0).encode(&mut out, version).unwrap();
        }
        ApiKey::Produce => {
            let request = ProduceRequest::decode(&mut frame, version).unwrap();
            if request.acks == 0 {
                return None;
            }
            produce(&request).encode(&mut out, version).unwrap();
        }
        other => panic!("{other:?} is not in the broker's versions"),
    }
    let bytes = i32::try_from(out.len() - 4).unwrap();
    out[..4].copy_from_slice(&bytes.to_be_bytes());
    Some(out)
}

fn api_versions() -> ApiVersionsResponse {
    let api =
        |(key, min, max): (ApiKey, i16, i16)| ApiVersion::default().with_api_key(key as i16).with_min_version(min).with_max_version(max);
    ApiVersionsResponse::default().with_api_keys(VERSIONS.into_iter().map(api).collect())
}

fn metadata(request: MetadataRequest, partitions: i32) -> MetadataResponse {
    let node = BrokerId(1);
    let broker = MetadataResponseBroker::default().with_node_id(node).with_host(StrBytes::from_static_str("in-memory")).with_port(9092);
    let partition = |index| {
        MetadataResponsePartition::default()
            .with_partition_index(index)
            .with_leader_id(node)
            .with_leader_epoch(0)
            .with_replica_nodes(vec![node])
            .with_isr_nodes(vec![node])
    };
    let topics = request
        .topics
        .unwrap_or_default()
        .into_iter()
        .map(|topic| MetadataResponseTopic::default().with_name(topic.name).with_partitions((0..partitions).map(partition).collect()));
    MetadataResponse::default().with_brokers(vec![broker]).with_topics(topics.collect())
}

fn produce(request: &ProduceRequest) -> ProduceResponse {
    let responses = request.topic_data.iter().map(|topic| {
        let partitions = topic.partition_data.iter().map(|data| PartitionProduceResponse::default().with_index(data.index));
        TopicProduceResponse::default().with_name(topic.name.clone()).with_partition_responses(partitions.collect())
    });
    ProduceResponse::default().with_responses(responses.collect())
}

/// The address that clients are given.
pub(crate) fn bootstrap() -> Vec<HostPort> {
    vec![HostPort::new("in-memory", 9092)]
}

/// The topic that the broker leads.
pub(crate) fn topic() -> kafka_chaos::ids::TopicName {
    kafka_chaos::ids::TopicName::from(TOPIC)
}
