//! What a fake broker says to a request, from the cluster's state.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::metadata_response::{MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::produce_response::{LeaderIdAndEpoch, NodeEndpoint, PartitionProduceResponse, TopicProduceResponse};
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, BrokerId, InitProducerIdRequest, InitProducerIdResponse, MetadataRequest,
    MetadataResponse, ProduceRequest, ProduceResponse, ResponseHeader, TopicName,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes, decode_request_header_from_buffer};
use kafka_protocol::records::RecordBatchDecoder;

use super::{FakeCluster, FakeTopic, Reaction, State};

const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
const NOT_LEADER_OR_FOLLOWER: i16 = 6;
const UNKNOWN_TOPIC_ID: i16 = 100;
const REBOOTSTRAP_REQUIRED: i16 = 129;

/// The answer with its length prefix; `None`: the request wants none.
pub(super) fn answer(state: &mut State, node: i32, mut frame: Bytes, reaction: Option<&Reaction>) -> Option<Bytes> {
    let header = decode_request_header_from_buffer(&mut frame).unwrap();
    let version = header.request_api_version;
    let correlation_id = match reaction {
        Some(Reaction::CorrelationId(other)) => *other,
        _ => header.correlation_id,
    };
    let refusal = match reaction {
        Some(Reaction::Refuse(code)) => Some(*code),
        _ => None,
    };
    let throttle_ms = match reaction {
        Some(Reaction::Throttle(span)) => millis(*span),
        _ => 0,
    };
    match ApiKey::try_from(header.request_api_key).unwrap() {
        ApiKey::ApiVersions => {
            let (_, highest) = state.versions[&(ApiKey::ApiVersions as i16)];
            let code = if version > highest { Some(35) } else { refusal };
            let spoken = if code.is_some() { 0 } else { version };
            Some(encode::<ApiVersionsRequest>(correlation_id, spoken, &api_versions(state, code).with_throttle_time_ms(throttle_ms)))
        }
        ApiKey::Metadata => {
            let request = MetadataRequest::decode(&mut frame, version).unwrap();
            let mut response = metadata(state, node, &request, refusal).with_throttle_time_ms(throttle_ms);
            match reaction {
                Some(Reaction::NoBrokers) => response.brokers.clear(),
                Some(Reaction::Rebootstrap) => response.error_code = REBOOTSTRAP_REQUIRED,
                _ => {}
            }
            Some(encode::<MetadataRequest>(correlation_id, version, &response))
        }
        ApiKey::Produce => {
            let request = ProduceRequest::decode(&mut frame, version).unwrap();
            let wants_none = request.acks == 0;
            let response = produce(state, node, request, version, refusal).with_throttle_time_ms(throttle_ms);
            (!wants_none).then(|| encode::<ProduceRequest>(correlation_id, version, &response))
        }
        ApiKey::InitProducerId => {
            state.next_producer_id += 1;
            let response = InitProducerIdResponse::default()
                .with_error_code(refusal.unwrap_or(0))
                .with_producer_id(state.next_producer_id.into())
                .with_producer_epoch(0);
            Some(encode::<InitProducerIdRequest>(correlation_id, version, &response))
        }
        other => panic!("no fake broker answers {other:?}"),
    }
}

fn encode<R: Request>(correlation_id: i32, version: i16, response: &R::Response) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_i32(0);
    let header = ResponseHeader::default().with_correlation_id(correlation_id);
    header.encode(&mut frame, R::Response::header_version(version)).unwrap();
    response.encode(&mut frame, version).unwrap();
    let length = i32::try_from(frame.len() - 4).unwrap();
    frame[..4].copy_from_slice(&length.to_be_bytes());
    frame.freeze()
}

fn millis(span: Duration) -> i32 {
    i32::try_from(span.as_millis()).unwrap()
}

fn text(of: &str) -> StrBytes {
    StrBytes::from_string(of.to_owned())
}

fn api_versions(state: &State, code: Option<i16>) -> ApiVersionsResponse {
    let ranges = state
        .versions
        .iter()
        .map(|(key, (min, max))| ApiVersion::default().with_api_key(*key).with_min_version(*min).with_max_version(*max));
    ApiVersionsResponse::default().with_error_code(code.unwrap_or(0)).with_api_keys(ranges.collect())
}

fn metadata(state: &State, node: i32, request: &MetadataRequest, refusal: Option<i16>) -> MetadataResponse {
    let brokers = state.brokers.iter().filter(|(_, broker)| broker.is_listed).map(|(id, _)| {
        let address = FakeCluster::address(*id);
        MetadataResponseBroker::default().with_node_id(BrokerId(*id)).with_host(text(&address.host)).with_port(i32::from(address.port))
    });
    let topics = state.brokers[&node].stale_topics.as_ref().unwrap_or(&state.topics);
    let named = request.topics.iter().flatten().map(|asked| {
        let name = asked.name.as_ref().unwrap().as_str();
        let topic = MetadataResponseTopic::default().with_name(Some(TopicName(text(name))));
        match (refusal, topics.get(name)) {
            (Some(code), _) => topic.with_error_code(code),
            (None, None) => topic.with_error_code(UNKNOWN_TOPIC_OR_PARTITION),
            (None, Some(known)) => topic.with_topic_id(known.id).with_partitions(partitions(known)),
        }
    });
    MetadataResponse::default()
        .with_cluster_id(Some(text("fake")))
        .with_controller_id(BrokerId(node))
        .with_brokers(brokers.collect())
        .with_topics(named.collect())
}

fn partitions(topic: &FakeTopic) -> Vec<MetadataResponsePartition> {
    let view = |(partition, index): (&super::FakePartition, i32)| {
        MetadataResponsePartition::default()
            .with_partition_index(index)
            .with_leader_id(BrokerId(partition.leader))
            .with_leader_epoch(partition.epoch)
            .with_replica_nodes(vec![BrokerId(partition.leader)])
            .with_isr_nodes(vec![BrokerId(partition.leader)])
    };
    topic.partitions.iter().zip(0..).map(view).collect()
}

fn produce(state: &mut State, node: i32, request: ProduceRequest, version: i16, refusal: Option<i16>) -> ProduceResponse {
    let mut named = Vec::new();
    let mut responses = Vec::new();
    for topic in request.topic_data {
        let name = name_of(state, &topic, version);
        let mut answers = Vec::new();
        for data in topic.partition_data {
            let answer = append(state, node, name.as_deref(), data, refusal);
            if answer.current_leader.leader_id.0 >= 0 {
                named.push(answer.current_leader.leader_id.0);
            }
            answers.push(answer);
        }
        responses
            .push(TopicProduceResponse::default().with_name(topic.name).with_topic_id(topic.topic_id).with_partition_responses(answers));
    }
    named.sort_unstable();
    named.dedup();
    let endpoint = |id: i32| {
        let address = FakeCluster::address(id);
        NodeEndpoint::default().with_node_id(BrokerId(id)).with_host(text(&address.host)).with_port(i32::from(address.port))
    };
    ProduceResponse::default().with_responses(responses).with_node_endpoints(named.into_iter().map(endpoint).collect())
}

fn name_of(state: &State, topic: &TopicProduceData, version: i16) -> Option<String> {
    if version < 13 {
        return Some(topic.name.to_string());
    }
    state.topics.iter().find(|(_, known)| known.id == topic.topic_id).map(|(name, _)| name.clone())
}

fn append(state: &mut State, node: i32, topic: Option<&str>, data: PartitionProduceData, refusal: Option<i16>) -> PartitionProduceResponse {
    let tells_leaders = state.tells_leaders;
    let answer = PartitionProduceResponse::default().with_index(data.index).with_base_offset(-1);
    if let Some(code) = refusal {
        return answer.with_error_code(code);
    }
    let Some(topic) = topic else { return answer.with_error_code(UNKNOWN_TOPIC_ID) };
    let index = usize::try_from(data.index).unwrap();
    let Some(partition) = state.topics.get_mut(topic).and_then(|topic| topic.partitions.get_mut(index)) else {
        return answer.with_error_code(UNKNOWN_TOPIC_OR_PARTITION);
    };
    if partition.leader != node {
        let answer = answer.with_error_code(NOT_LEADER_OR_FOLLOWER);
        let leader = LeaderIdAndEpoch::default().with_leader_id(BrokerId(partition.leader)).with_leader_epoch(partition.epoch);
        return if tells_leaders { answer.with_current_leader(leader) } else { answer };
    }
    let base_offset = i64::try_from(partition.log.len()).unwrap();
    for set in RecordBatchDecoder::decode_all(&mut data.records.unwrap()).unwrap() {
        partition.log.extend(set.records.into_iter().map(|record| record.value.unwrap_or_default().to_vec()));
    }
    answer.with_base_offset(base_offset)
}
