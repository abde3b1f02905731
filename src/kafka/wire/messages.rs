//! A producer's requests and answers in plain types: ApiVersions and Metadata, and the answers to Produce.
//!
//! Keeps the codec crate's structs out of `core`. Encoding and decoding only; no decisions. Not here: Produce requests (`produce_request`),
//! InitProducerId (`producer_id`), requests and answers of the admin side.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::{MetadataResponsePartition, MetadataResponseTopic};
use kafka_protocol::messages::produce_response::{LeaderIdAndEpoch, NodeEndpoint};
use kafka_protocol::messages::{ApiVersionsRequest, MetadataRequest, MetadataResponse, ProduceRequest};
use kafka_protocol::protocol::{Message, StrBytes};

use crate::ids::{BrokerId, HostPort, LeaderEpoch, PartitionIndex, TopicId, TopicName};
use crate::kafka::wire::error::ErrorCode;
use crate::kafka::wire::frame::{WireError, decode_response, encode_request};
use crate::kafka::wire::versions::BrokerVersions;

/// A broker's answer to Metadata.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetadataAnswer {
    /// Version of the response; leader epochs are trusted from 9 on.
    pub version: i16,
    /// Error of the whole answer (version 13 and later).
    pub error: Option<ErrorCode>,
    /// The cluster's id.
    pub cluster_id: Option<String>,
    /// The active controller, or a random broker where the quorum is apart.
    pub controller: Option<BrokerId>,
    /// Brokers that are up.
    pub brokers: Vec<(BrokerId, HostPort)>,
    /// The topics that were asked for.
    pub topics: Vec<TopicAnswer>,
    /// How long the broker asks the client to be silent, in ms.
    pub throttle_ms: u32,
}

/// One topic of a [`MetadataAnswer`].
#[derive(Clone, Debug, PartialEq)]
pub struct TopicAnswer {
    /// Topic-level error.
    pub error: Option<ErrorCode>,
    /// Its name.
    pub name: TopicName,
    /// Its id, where the broker knows one.
    pub id: Option<TopicId>,
    /// Whether it is internal.
    pub internal: bool,
    /// Its partitions, in no particular order.
    pub partitions: Vec<PartitionAnswer>,
}

/// One partition of a [`TopicAnswer`].
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionAnswer {
    /// Partition-level error.
    pub error: Option<ErrorCode>,
    /// Its index.
    pub index: PartitionIndex,
    /// Its leader; `None` for -1.
    pub leader: Option<BrokerId>,
    /// The leader's epoch; `None` for -1 and before version 7.
    pub epoch: Option<LeaderEpoch>,
    /// All replicas.
    pub replicas: Vec<BrokerId>,
    /// Those in sync.
    pub isr: Vec<BrokerId>,
    /// Those that are down.
    pub offline: Vec<BrokerId>,
}

/// Encodes a Metadata request for `topics` (empty: brokers only), creating missing ones where the broker allows it.
///
/// # Errors
/// [`WireError::Encode`]
pub fn encode_metadata(correlation_id: i32, client_id: &StrBytes, version: i16, topics: &[TopicName]) -> Result<BytesMut, WireError> {
    let topics = topics.iter().map(|name| MetadataRequestTopic::default().with_name(Some(codec_name(name)))).collect();
    encode_request(
        correlation_id,
        client_id,
        version,
        &MetadataRequest::default().with_topics(Some(topics)).with_allow_auto_topic_creation(true),
    )
}

/// Decodes a Metadata response.
///
/// # Errors
/// [`WireError::Decode`]
pub fn decode_metadata(frame: Bytes, version: i16) -> Result<MetadataAnswer, WireError> {
    Ok(metadata_answer(decode_response::<MetadataRequest>(frame, version)?, version))
}

fn metadata_answer(response: MetadataResponse, version: i16) -> MetadataAnswer {
    MetadataAnswer {
        version,
        error: ErrorCode::from_wire(response.error_code),
        cluster_id: response.cluster_id.map(|id| id.as_str().to_owned()),
        controller: known_node(response.controller_id.0),
        brokers: response
            .brokers
            .iter()
            .map(|broker| (BrokerId(broker.node_id.0), HostPort::new(broker.host.as_str(), u16::try_from(broker.port).unwrap_or(0))))
            .collect(),
        topics: response.topics.into_iter().filter_map(topic_answer).collect(),
        throttle_ms: u32::try_from(response.throttle_time_ms).unwrap_or(0),
    }
}

fn topic_answer(topic: MetadataResponseTopic) -> Option<TopicAnswer> {
    Some(TopicAnswer {
        error: ErrorCode::from_wire(topic.error_code),
        name: TopicName::from(topic.name?.0.as_str()),
        id: (!topic.topic_id.is_nil()).then_some(TopicId(topic.topic_id)),
        internal: topic.is_internal,
        partitions: topic.partitions.iter().map(partition_answer).collect(),
    })
}

fn partition_answer(partition: &MetadataResponsePartition) -> PartitionAnswer {
    let ids = |nodes: &[kafka_protocol::messages::BrokerId]| nodes.iter().map(|node| BrokerId(node.0)).collect();
    PartitionAnswer {
        error: ErrorCode::from_wire(partition.error_code),
        index: PartitionIndex(partition.partition_index),
        leader: known_node(partition.leader_id.0),
        epoch: (partition.leader_epoch >= 0).then_some(LeaderEpoch(partition.leader_epoch)),
        replicas: ids(&partition.replica_nodes),
        isr: ids(&partition.isr_nodes),
        offline: ids(&partition.offline_replicas),
    }
}

fn known_node(id: i32) -> Option<BrokerId> {
    (id >= 0).then_some(BrokerId(id))
}

fn codec_name(name: &TopicName) -> kafka_protocol::messages::TopicName {
    kafka_protocol::messages::TopicName(StrBytes::from_string(name.as_str().to_owned()))
}

/// A broker's answer to Produce.
#[derive(Debug, Default)]
pub struct ProduceAnswer {
    /// One entry per batch.
    pub partitions: Vec<ProducePartition>,
    /// Where the leaders named in `partitions` listen (KIP-951, version 10 and later); entries without an address are left out.
    pub endpoints: Vec<(BrokerId, HostPort)>,
    /// How long the broker asks the client to be silent, in ms.
    pub throttle_ms: u32,
}

/// The answer for one batch.
#[derive(Debug)]
pub struct ProducePartition {
    /// The topic's name; empty from version 13 on.
    pub topic: String,
    /// The topic's id; `None` before version 13.
    pub topic_id: Option<TopicId>,
    /// Its partition.
    pub partition: PartitionIndex,
    /// Its error.
    pub error: Option<ErrorCode>,
    /// The broker's words about the error.
    pub message: Option<String>,
    /// Offset of the first record.
    pub base_offset: i64,
    /// The partition's leader and its epoch as the broker knows them (KIP-951); `None` unless both are given.
    pub leader: Option<(BrokerId, LeaderEpoch)>,
    /// Where the partition's log begins; `None` for -1.
    pub log_start_offset: Option<i64>,
}

/// Decodes a Produce response.
///
/// # Errors
/// [`WireError::Decode`]
pub fn decode_produce(frame: Bytes, version: i16) -> Result<ProduceAnswer, WireError> {
    let response = decode_response::<ProduceRequest>(frame, version)?;
    let mut answer = ProduceAnswer {
        partitions: Vec::new(),
        endpoints: response.node_endpoints.iter().filter_map(endpoint).collect(),
        throttle_ms: u32::try_from(response.throttle_time_ms).unwrap_or(0),
    };
    for topic in response.responses {
        for partition in topic.partition_responses {
            answer.partitions.push(ProducePartition {
                topic: topic.name.0.as_str().to_owned(),
                topic_id: (!topic.topic_id.is_nil()).then_some(TopicId(topic.topic_id)),
                partition: PartitionIndex(partition.index),
                error: ErrorCode::from_wire(partition.error_code),
                message: partition.error_message.map(|text| text.as_str().to_owned()),
                base_offset: partition.base_offset,
                leader: leader_hint(&partition.current_leader),
                log_start_offset: Some(partition.log_start_offset).filter(|offset| *offset >= 0),
            });
        }
    }
    Ok(answer)
}

fn endpoint(endpoint: &NodeEndpoint) -> Option<(BrokerId, HostPort)> {
    let port = u16::try_from(endpoint.port).ok()?;
    (!endpoint.host.is_empty()).then(|| (BrokerId(endpoint.node_id.0), HostPort::new(endpoint.host.as_str(), port)))
}

fn leader_hint(leader: &LeaderIdAndEpoch) -> Option<(BrokerId, LeaderEpoch)> {
    (leader.leader_id.0 != -1 && leader.leader_epoch != -1).then_some((BrokerId(leader.leader_id.0), LeaderEpoch(leader.leader_epoch)))
}

/// Highest ApiVersions version of this client; the first question on every connection.
pub const API_VERSIONS_VERSION_MAX: i16 = <ApiVersionsRequest as Message>::VERSIONS.max;

/// Encodes an ApiVersions request.
///
/// # Errors
/// [`WireError::Encode`]
pub fn encode_api_versions(correlation_id: i32, client_id: &StrBytes, version: i16) -> Result<BytesMut, WireError> {
    let mut request = ApiVersionsRequest::default();
    if version >= 3 {
        request = request
            .with_client_software_name(StrBytes::from_static_str("kafka-chaos"))
            .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")));
    }
    encode_request(correlation_id, client_id, version, &request)
}

/// Before this version brokers held their answers back themselves (KIP-219).
const FIRST_API_VERSIONS_THAT_THROTTLES: i16 = 2;

/// What a broker said to ApiVersions.
#[derive(Debug)]
pub enum ApiVersionsAnswer {
    /// What it speaks.
    Versions {
        /// Per request.
        versions: BrokerVersions,
        /// For how long it wants silence.
        throttle_ms: u32,
    },
    /// It does not know the version of the question: ask again with this one.
    AskAgain(i16),
    /// Another error.
    Refused(ErrorCode),
}

/// Decodes an ApiVersions response. A broker that does not know the asked version answers in version 0 with error 35.
///
/// # Errors
/// [`WireError::Decode`]
pub fn decode_api_versions(frame: Bytes, version: i16) -> Result<ApiVersionsAnswer, WireError> {
    let error_code = frame.get(4..6).map_or(0, |code| i16::from_be_bytes([code[0], code[1]]));
    let unsupported = ErrorCode::from_wire(error_code) == Some(ErrorCode::UNSUPPORTED_VERSION);
    let response = decode_response::<ApiVersionsRequest>(frame, if unsupported { 0 } else { version })?;
    Ok(match ErrorCode::from_wire(response.error_code) {
        None => ApiVersionsAnswer::Versions {
            versions: BrokerVersions::from_response(&response),
            throttle_ms: if version < FIRST_API_VERSIONS_THAT_THROTTLES {
                0
            } else {
                u32::try_from(response.throttle_time_ms).unwrap_or(0)
            },
        },
        Some(ErrorCode::UNSUPPORTED_VERSION) if version > 0 => {
            let listed = BrokerVersions::from_response(&response).highest_common::<ApiVersionsRequest>();
            ApiVersionsAnswer::AskAgain(listed.filter(|listed| *listed < version).unwrap_or(0))
        }
        Some(code) => ApiVersionsAnswer::Refused(code),
    })
}
