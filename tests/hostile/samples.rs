//! Well-formed responses of every kind, to be spoilt.

use bytes::{BufMut, Bytes, BytesMut};
use kafka_chaos::kafka::wire::frame::decode_response;
use kafka_protocol::messages::alter_partition_reassignments_response::{ReassignablePartitionResponse, ReassignableTopicResponse};
use kafka_protocol::messages::alter_user_scram_credentials_response::AlterUserScramCredentialsResult;
use kafka_protocol::messages::api_versions_response::{ApiVersion, FinalizedFeatureKey, SupportedFeatureKey};
use kafka_protocol::messages::create_partitions_response::CreatePartitionsTopicResult;
use kafka_protocol::messages::create_topics_response::{CreatableTopicConfigs, CreatableTopicResult};
use kafka_protocol::messages::delete_topics_response::DeletableTopicResult;
use kafka_protocol::messages::describe_cluster_response::DescribeClusterBroker;
use kafka_protocol::messages::describe_configs_response::{DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym};
use kafka_protocol::messages::describe_quorum_response::{PartitionData, ReplicaState, TopicData};
use kafka_protocol::messages::describe_topic_partitions_response::{
    Cursor, DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};
use kafka_protocol::messages::elect_leaders_response::{PartitionResult, ReplicaElectionResult};
use kafka_protocol::messages::fetch_response::{
    AbortedTransaction, EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch as FetchLeader, NodeEndpoint as FetchEndpoint,
    PartitionData as FetchPartition, SnapshotId,
};
use kafka_protocol::messages::fetch_snapshot_response::{PartitionSnapshot, TopicSnapshot};
use kafka_protocol::messages::incremental_alter_configs_response::AlterConfigsResourceResponse;
use kafka_protocol::messages::list_offsets_response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
use kafka_protocol::messages::list_partition_reassignments_response::{OngoingPartitionReassignment, OngoingTopicReassignment};
use kafka_protocol::messages::metadata_response::{MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic};
use kafka_protocol::messages::produce_response::{
    BatchIndexAndErrorMessage, LeaderIdAndEpoch, NodeEndpoint, PartitionProduceResponse, TopicProduceResponse,
};
use kafka_protocol::messages::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse, ApiVersionsRequest, ApiVersionsResponse, BrokerId, CreatePartitionsRequest,
    CreatePartitionsResponse, CreateTopicsRequest, CreateTopicsResponse, DeleteTopicsRequest, DeleteTopicsResponse, DescribeClusterRequest,
    DescribeClusterResponse, DescribeConfigsRequest, DescribeConfigsResponse, DescribeQuorumRequest, DescribeQuorumResponse,
    DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, ElectLeadersRequest, ElectLeadersResponse, FetchRequest,
    FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
    InitProducerIdRequest, InitProducerIdResponse, ListOffsetsRequest, ListOffsetsResponse, ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse, MetadataRequest, MetadataResponse, ProduceRequest, ProduceResponse, ResponseHeader,
    SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse, TopicName,
};
use kafka_protocol::protocol::{Encodable, HeaderVersion, Request, StrBytes};
use uuid::Uuid;

/// A response frame without its length prefix, and what reads it.
pub(crate) struct Sample {
    pub(crate) what: String,
    pub(crate) frame: Bytes,
    decode: fn(Bytes, i16) -> bool,
    version: i16,
}

impl Sample {
    /// Whether these bytes are read as such a response.
    pub(crate) fn reads(&self, frame: Bytes) -> bool {
        (self.decode)(frame, self.version)
    }
}

/// A response with its header and correlation id.
pub(crate) fn frame_of<R: Request>(correlation_id: i32, version: i16, response: &R::Response) -> Bytes {
    let mut frame = BytesMut::new();
    let header = ResponseHeader::default().with_correlation_id(correlation_id);
    header.encode(&mut frame, R::Response::header_version(version)).unwrap();
    response.encode(&mut frame, version).unwrap();
    frame.freeze()
}

/// The same behind its length.
pub(crate) fn prefixed(frame: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(frame.len() + 4);
    bytes.put_i32(i32::try_from(frame.len()).unwrap());
    bytes.put_slice(frame);
    bytes.freeze()
}

fn sample<R: Request>(version: i16, response: &R::Response) -> Sample {
    Sample {
        what: format!("{} version {version}", std::any::type_name::<R>()),
        frame: frame_of::<R>(7, version, response),
        decode: |frame, version| decode_response::<R>(frame, version).is_ok(),
        version,
    }
}

pub(crate) fn text(of: &str) -> StrBytes {
    StrBytes::from_string(of.to_owned())
}

/// The id of `orders`.
const ORDERS: Uuid = Uuid::from_u128(7);

fn name(of: &str) -> TopicName {
    TopicName(text(of))
}

/// What a broker speaks, Produce up to this version.
pub(crate) fn api_versions(produce_max: i16) -> ApiVersionsResponse {
    let range = |key, max| ApiVersion::default().with_api_key(key).with_min_version(0).with_max_version(max);
    ApiVersionsResponse::default().with_api_keys(vec![range(0, produce_max), range(3, 13), range(18, 4), range(22, 5)])
}

/// Three brokers that lead `partitions` partitions of `orders`.
pub(crate) fn metadata(partitions: i32) -> MetadataResponse {
    let broker = |id| MetadataResponseBroker::default().with_node_id(BrokerId(id)).with_host(text("broker")).with_port(9092);
    let partition = |index: i32| {
        MetadataResponsePartition::default()
            .with_partition_index(index)
            .with_leader_id(BrokerId(1 + index % 3))
            .with_leader_epoch(5)
            .with_replica_nodes(vec![BrokerId(1), BrokerId(2)])
            .with_isr_nodes(vec![BrokerId(1)])
    };
    let orders = MetadataResponseTopic::default()
        .with_name(Some(name("orders")))
        .with_topic_id(ORDERS)
        .with_partitions((0..partitions).map(partition).collect());
    MetadataResponse::default().with_brokers(vec![broker(1), broker(2), broker(3)]).with_topics(vec![orders])
}

fn produce(version: i16) -> ProduceResponse {
    let mut partition = PartitionProduceResponse::default().with_error_code(6);
    let mut response = ProduceResponse::default();
    if version >= 8 {
        let error = BatchIndexAndErrorMessage::default().with_batch_index_error_message(Some(text("bad record")));
        partition = partition.with_record_errors(vec![error.clone(), error]).with_error_message(Some(text("no leader")));
    }
    if version >= 10 {
        partition = partition.with_current_leader(LeaderIdAndEpoch::default().with_leader_id(BrokerId(2)).with_leader_epoch(6));
        response = response.with_node_endpoints(vec![NodeEndpoint::default().with_node_id(BrokerId(2)).with_host(text("broker"))]);
    }
    let mut orders = TopicProduceResponse::default().with_partition_responses(vec![partition.clone(), partition]);
    if version >= 13 {
        orders = orders.with_topic_id(ORDERS);
    }
    response.with_responses(vec![orders])
}

fn fetch(version: i16) -> FetchResponse {
    let records = super::log::batches().to_vec().repeat(2);
    let mut partition = FetchPartition::default().with_high_watermark(40).with_records(Some(records.into()));
    let aborted = AbortedTransaction::default();
    partition = partition.with_aborted_transactions(Some(vec![aborted.clone(), aborted]));
    let mut response = FetchResponse::default();
    if version >= 12 {
        let diverging = EpochEndOffset::default().with_epoch(3).with_end_offset(30);
        let leader = FetchLeader::default().with_leader_id(BrokerId(2)).with_leader_epoch(6);
        let snapshot = SnapshotId::default().with_epoch(3).with_end_offset(20);
        partition = partition.with_diverging_epoch(diverging).with_current_leader(leader).with_snapshot_id(snapshot);
    }
    if version >= 16 {
        response = response.with_node_endpoints(vec![FetchEndpoint::default().with_node_id(BrokerId(2)).with_host(text("controller"))]);
    }
    response.with_responses(vec![FetchableTopicResponse::default().with_partitions(vec![partition])])
}

fn snapshot() -> FetchSnapshotResponse {
    let partition = PartitionSnapshot::default().with_size(900).with_unaligned_records(super::log::batches());
    FetchSnapshotResponse::default().with_topics(vec![TopicSnapshot::default().with_partitions(vec![partition])])
}

/// Responses of every kind that this client reads, in old and new versions.
pub(crate) fn all() -> Vec<Sample> {
    let features = api_versions(13)
        .with_supported_features(vec![SupportedFeatureKey::default().with_name(text("kraft.version"))])
        .with_finalized_features(vec![FinalizedFeatureKey::default().with_name(text("kraft.version"))]);
    let created = |topic: CreatableTopicResult| CreateTopicsResponse::default().with_topics(vec![topic.with_name(name("orders"))]);
    let config = CreatableTopicConfigs::default().with_name(text("retention.ms")).with_value(Some(text("1")));
    let deleted = DeletableTopicResult::default().with_name(Some(name("orders")));
    let grown = CreatePartitionsTopicResult::default().with_name(name("orders"));
    let broker = DescribeClusterBroker::default().with_host(text("broker"));
    let replicas = vec![ReplicaState::default(), ReplicaState::default()];
    let quorum = PartitionData::default().with_current_voters(replicas.clone()).with_observers(replicas);
    let quorum = TopicData::default().with_topic_name(name("__cluster_metadata")).with_partitions(vec![quorum]);
    let offsets = ListOffsetsTopicResponse::default()
        .with_name(name("orders"))
        .with_partitions(vec![ListOffsetsPartitionResponse::default(), ListOffsetsPartitionResponse::default()]);
    let replicas = DescribeTopicPartitionsResponsePartition::default()
        .with_replica_nodes(vec![BrokerId(1), BrokerId(2)])
        .with_eligible_leader_replicas(Some(vec![BrokerId(2)]));
    let described = DescribeTopicPartitionsResponseTopic::default().with_name(Some(name("orders"))).with_partitions(vec![replicas]);
    let described = DescribeTopicPartitionsResponse::default()
        .with_topics(vec![described])
        .with_next_cursor(Some(Cursor::default().with_topic_name(name("orders"))));
    let elected = PartitionResult::default().with_error_message(Some(text("no such leader")));
    let elected = ReplicaElectionResult::default().with_topic(name("orders")).with_partition_result(vec![elected]);
    let moved = ReassignablePartitionResponse::default().with_error_message(Some(text("no such broker")));
    let moved = ReassignableTopicResponse::default().with_name(name("orders")).with_partitions(vec![moved]);
    let ongoing =
        OngoingPartitionReassignment::default().with_replicas(vec![BrokerId(1), BrokerId(2)]).with_adding_replicas(vec![BrokerId(2)]);
    let ongoing = OngoingTopicReassignment::default().with_name(name("orders")).with_partitions(vec![ongoing]);
    let synonym = DescribeConfigsSynonym::default().with_name(text("log.retention.ms")).with_value(Some(text("1")));
    let property =
        DescribeConfigsResourceResult::default().with_name(text("retention.ms")).with_value(Some(text("1"))).with_synonyms(vec![synonym]);
    let properties = DescribeConfigsResult::default().with_resource_name(text("orders")).with_configs(vec![property]);
    let altered =
        AlterConfigsResourceResponse::default().with_error_message(Some(text("no such property"))).with_resource_name(text("orders"));
    let enrolled = AlterUserScramCredentialsResult::default().with_user(text("chaos")).with_error_message(Some(text("no")));
    let logged_in = SaslAuthenticateResponse::default().with_error_message(Some(text("no"))).with_auth_bytes(Bytes::from_static(b"v=x"));
    vec![
        sample::<ApiVersionsRequest>(0, &api_versions(13)),
        sample::<ApiVersionsRequest>(4, &features),
        sample::<MetadataRequest>(1, &metadata(4)),
        sample::<MetadataRequest>(8, &metadata(4)),
        sample::<MetadataRequest>(13, &metadata(4)),
        sample::<ProduceRequest>(3, &produce(3)),
        sample::<ProduceRequest>(8, &produce(8)),
        sample::<ProduceRequest>(12, &produce(12)),
        sample::<ProduceRequest>(13, &produce(13)),
        sample::<InitProducerIdRequest>(4, &InitProducerIdResponse::default()),
        sample::<CreateTopicsRequest>(4, &created(CreatableTopicResult::default())),
        sample::<CreateTopicsRequest>(7, &created(CreatableTopicResult::default().with_configs(Some(vec![config])))),
        sample::<DeleteTopicsRequest>(6, &DeleteTopicsResponse::default().with_responses(vec![deleted])),
        sample::<CreatePartitionsRequest>(3, &CreatePartitionsResponse::default().with_results(vec![grown])),
        sample::<DescribeClusterRequest>(1, &DescribeClusterResponse::default().with_brokers(vec![broker])),
        sample::<DescribeQuorumRequest>(1, &DescribeQuorumResponse::default().with_topics(vec![quorum])),
        sample::<ListOffsetsRequest>(5, &ListOffsetsResponse::default().with_topics(vec![offsets.clone()])),
        sample::<FetchRequest>(4, &fetch(4)),
        sample::<FetchRequest>(12, &fetch(12)),
        sample::<FetchRequest>(18, &fetch(18)),
        sample::<FetchSnapshotRequest>(1, &snapshot()),
        sample::<ListOffsetsRequest>(8, &ListOffsetsResponse::default().with_topics(vec![offsets])),
        sample::<DescribeTopicPartitionsRequest>(0, &described),
        sample::<ElectLeadersRequest>(1, &ElectLeadersResponse::default().with_replica_election_results(vec![elected.clone()])),
        sample::<ElectLeadersRequest>(2, &ElectLeadersResponse::default().with_replica_election_results(vec![elected])),
        sample::<AlterPartitionReassignmentsRequest>(1, &AlterPartitionReassignmentsResponse::default().with_responses(vec![moved])),
        sample::<ListPartitionReassignmentsRequest>(0, &ListPartitionReassignmentsResponse::default().with_topics(vec![ongoing])),
        sample::<DescribeConfigsRequest>(1, &DescribeConfigsResponse::default().with_results(vec![properties.clone()])),
        sample::<DescribeConfigsRequest>(4, &DescribeConfigsResponse::default().with_results(vec![properties])),
        sample::<IncrementalAlterConfigsRequest>(1, &IncrementalAlterConfigsResponse::default().with_responses(vec![altered])),
        sample::<AlterUserScramCredentialsRequest>(0, &AlterUserScramCredentialsResponse::default().with_results(vec![enrolled])),
        sample::<SaslHandshakeRequest>(1, &SaslHandshakeResponse::default().with_mechanisms(vec![text("PLAIN"), text("SCRAM-SHA-256")])),
        sample::<SaslAuthenticateRequest>(1, &logged_in),
        sample::<SaslAuthenticateRequest>(2, &logged_in),
    ]
}
