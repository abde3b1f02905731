//! For tests: brokers on loopback listeners that answer admin requests out of one shared state.
//!
//! Enough of Kafka to be asked and changed, and to fail on purpose. Not a model of it: nothing is elected by itself, or replicated.

mod changes;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::create_partitions_response::CreatePartitionsTopicResult;
use kafka_protocol::messages::create_topics_response::CreatableTopicResult;
use kafka_protocol::messages::delete_topics_response::DeletableTopicResult;
use kafka_protocol::messages::describe_cluster_response::DescribeClusterBroker;
use kafka_protocol::messages::describe_quorum_response::{PartitionData, ReplicaState, TopicData};
use kafka_protocol::messages::describe_topic_partitions_response::{
    DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};
use kafka_protocol::messages::list_offsets_response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
use kafka_protocol::messages::metadata_response::{MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic};
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, BrokerId, CreatePartitionsRequest, CreatePartitionsResponse, CreateTopicsRequest,
    CreateTopicsResponse, DeleteTopicsRequest, DeleteTopicsResponse, DescribeClusterRequest, DescribeClusterResponse,
    DescribeQuorumRequest, DescribeQuorumResponse, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, ListOffsetsRequest,
    ListOffsetsResponse, MetadataRequest, MetadataResponse, ResponseHeader, TopicName,
};
use kafka_protocol::protocol::{Encodable, HeaderVersion, Request, StrBytes, decode_request_header_from_buffer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::ids::HostPort;

/// What all brokers of a fake cluster know.
#[derive(Debug, Default)]
pub(crate) struct FakeState {
    /// Brokers that are listed, with their ports.
    pub(crate) brokers: BTreeMap<i32, u16>,
    /// Replicas per partition; the first leads unless `leaders` says otherwise. The ISR is all of them but `out_of_sync`.
    pub(crate) topics: BTreeMap<String, Vec<Vec<i32>>>,
    /// Ids of topics that were made by a request: how many had been made by then.
    pub(crate) topic_ids: BTreeMap<String, u128>,
    /// How many topics were made by requests.
    pub(crate) topics_made: u128,
    /// Leaders of partitions that are not led by their first replica; -1: nobody.
    pub(crate) leaders: BTreeMap<(String, i32), i32>,
    /// Partitions that are on their way, and for how many answers more.
    pub(crate) moving: BTreeMap<(String, i32), u32>,
    /// For how many answers a move is under way.
    pub(crate) moves_take: u32,
    /// Properties by kind and name of what they belong to.
    pub(crate) configs: BTreeMap<(i8, String), BTreeMap<String, String>>,
    /// Brokers that have not heard of any property, and for how many answers more.
    pub(crate) unheard: BTreeMap<i32, u32>,
    /// High watermark and log end of partitions, by topic and index.
    pub(crate) ends: BTreeMap<(String, i32), (i64, i64)>,
    /// Leader epochs of partitions, by topic and index; -1 without.
    pub(crate) epochs: BTreeMap<(String, i32), i32>,
    /// Replicas that are in no ISR.
    pub(crate) out_of_sync: BTreeSet<i32>,
    /// Eligible leader replicas of partitions, by topic and index.
    pub(crate) eligible: BTreeMap<(String, i32), Vec<i32>>,
    /// Brokers that show no topic.
    pub(crate) blind: BTreeSet<i32>,
    /// The active controller, if any.
    pub(crate) controller: Option<i32>,
    /// Codes that the next changes are refused with.
    pub(crate) refusals: VecDeque<i16>,
    /// Whether the next change is made but its response lost.
    pub(crate) loses_response: bool,
    /// Whether the next CreateTopics is carried out, and its answer leaves the last topic out.
    pub(crate) leaves_out: bool,
    /// Highest version of ApiVersions that is known.
    pub(crate) api_versions_max: i16,
    /// Connections that were made, to all brokers.
    pub(crate) connections: usize,
    /// Client id, key and version of what was asked.
    pub(crate) asked: Vec<(String, ApiKey, i16)>,
}

pub(crate) type Shared = Arc<Mutex<FakeState>>;

/// State of a cluster with this controller, without brokers or topics.
pub(crate) fn shared(controller: i32) -> Shared {
    Arc::new(Mutex::new(FakeState { controller: Some(controller), api_versions_max: 4, ..FakeState::default() }))
}

/// One broker; gone with its connections when it is dropped.
#[derive(Debug)]
pub(crate) struct FakeBroker {
    id: i32,
    state: Shared,
    address: SocketAddr,
    is_frozen: Arc<AtomicBool>,
    serving: JoinHandle<()>,
}

impl Drop for FakeBroker {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl FakeBroker {
    /// Serves on `port` (0: any), and is listed from now on.
    pub(crate) async fn start(id: i32, port: u16, state: &Shared) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let address = listener.local_addr().unwrap();
        state.lock().unwrap().brokers.insert(id, address.port());
        let is_frozen = Arc::new(AtomicBool::new(false));
        let serving = tokio::spawn(serve(id, listener, Arc::clone(state), Arc::clone(&is_frozen)));
        Self { id, state: Arc::clone(state), address, is_frozen, serving }
    }

    pub(crate) fn host_port(&self) -> HostPort {
        HostPort::new("127.0.0.1", self.address.port())
    }

    /// A frozen broker takes connections and requests, and does not answer before it is thawed.
    pub(crate) fn freeze(&self, is_frozen: bool) {
        self.is_frozen.store(is_frozen, Ordering::Relaxed);
    }

    /// Freezes it, and thaws it after a while.
    pub(crate) fn freeze_for(&self, span: Duration) {
        self.freeze(true);
        let is_frozen = Arc::clone(&self.is_frozen);
        tokio::spawn(async move {
            tokio::time::sleep(span).await;
            is_frozen.store(false, Ordering::Relaxed);
        });
    }

    /// Ends this one and returns another on the same port.
    pub(crate) async fn restart(self) -> Self {
        let (id, port, state) = (self.id, self.address.port(), Arc::clone(&self.state));
        self.stop().await;
        Self::start(id, port, &state).await
    }

    /// Ends it; returns when its listener is closed.
    pub(crate) async fn stop(mut self) {
        self.serving.abort();
        let _ = (&mut self.serving).await;
    }
}

async fn serve(id: i32, listener: TcpListener, state: Shared, is_frozen: Arc<AtomicBool>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        state.lock().unwrap().connections += 1;
        connections.spawn(converse(id, stream, Arc::clone(&state), Arc::clone(&is_frozen)));
    }
}

async fn converse(id: i32, mut stream: TcpStream, state: Shared, is_frozen: Arc<AtomicBool>) {
    while let Ok(length) = stream.read_i32().await {
        let mut frame = vec![0; usize::try_from(length).unwrap()];
        stream.read_exact(&mut frame).await.unwrap();
        while is_frozen.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let Some(answer) = answer(id, Bytes::from(frame), &mut state.lock().unwrap()) else { return };
        if stream.write_i32(i32::try_from(answer.len()).unwrap()).await.is_err() || stream.write_all(&answer).await.is_err() {
            return;
        }
    }
}

/// The response frame; `None` closes the connection.
fn answer(id: i32, mut frame: Bytes, state: &mut FakeState) -> Option<BytesMut> {
    let header = decode_request_header_from_buffer(&mut frame).unwrap();
    let (version, correlation_id) = (header.request_api_version, header.correlation_id);
    let api = ApiKey::try_from(header.request_api_key).unwrap();
    state.asked.push((header.client_id.unwrap_or_default().to_string(), api, version));
    let call = Call { correlation_id, version, frame };
    let before = (state.topics.clone(), state.leaders.clone(), state.configs.clone());
    let answer = match api {
        ApiKey::ApiVersions if version > state.api_versions_max => {
            let refused = ApiVersionsResponse::default().with_error_code(35).with_api_keys(vec![range(
                ApiKey::ApiVersions,
                0,
                state.api_versions_max,
            )]);
            encode::<ApiVersionsRequest>(correlation_id, 0, &refused)
        }
        ApiKey::ApiVersions => call.respond::<ApiVersionsRequest>(|_| api_versions(state)),
        ApiKey::Metadata => call.respond(|request| metadata(id, &request, state)),
        ApiKey::DescribeCluster => call.respond::<DescribeClusterRequest>(|_| describe_cluster(state)),
        ApiKey::DescribeQuorum => call.respond::<DescribeQuorumRequest>(|_| describe_quorum(state)),
        ApiKey::ListOffsets => call.respond(|request| list_offsets(request, state)),
        ApiKey::DescribeTopicPartitions => call.respond(|request| describe_topic_partitions(request, state)),
        ApiKey::CreateTopics => call.respond(|request| create_topics(request, state)),
        ApiKey::DeleteTopics => call.respond(|request| delete_topics(request, state)),
        ApiKey::CreatePartitions => call.respond(|request| create_partitions(request, state)),
        ApiKey::ElectLeaders => call.respond(|request| changes::elect_leaders(request, state)),
        ApiKey::AlterPartitionReassignments => call.respond(|request| changes::reassign(request, state)),
        ApiKey::ListPartitionReassignments => call.respond(|request| changes::ongoing(request, state)),
        ApiKey::DescribeConfigs => call.respond(|request| changes::describe_configs(id, request, state)),
        ApiKey::IncrementalAlterConfigs => call.respond(|request| changes::alter_configs(id, request, state)),
        other => panic!("nobody answers {other:?}"),
    };
    let is_lost =
        before != (state.topics.clone(), state.leaders.clone(), state.configs.clone()) && std::mem::take(&mut state.loses_response);
    (!is_lost).then_some(answer)
}

struct Call {
    correlation_id: i32,
    version: i16,
    frame: Bytes,
}

impl Call {
    fn respond<R: Request>(mut self, answer: impl FnOnce(R) -> R::Response) -> BytesMut {
        let request = R::decode(&mut self.frame, self.version).unwrap();
        encode::<R>(self.correlation_id, self.version, &answer(request))
    }
}

fn encode<R: Request>(correlation_id: i32, version: i16, response: &R::Response) -> BytesMut {
    let mut frame = BytesMut::new();
    let header = ResponseHeader::default().with_correlation_id(correlation_id);
    header.encode(&mut frame, R::Response::header_version(version)).unwrap();
    response.encode(&mut frame, version).unwrap();
    frame
}

fn range(api: ApiKey, min: i16, max: i16) -> ApiVersion {
    ApiVersion::default().with_api_key(api as i16).with_min_version(min).with_max_version(max)
}

fn api_versions(state: &FakeState) -> ApiVersionsResponse {
    ApiVersionsResponse::default().with_api_keys(vec![
        range(ApiKey::ApiVersions, 0, state.api_versions_max),
        range(ApiKey::ListOffsets, 1, 11),
        range(ApiKey::Metadata, 0, 13),
        range(ApiKey::CreateTopics, 2, 7),
        range(ApiKey::DeleteTopics, 1, 6),
        range(ApiKey::CreatePartitions, 0, 3),
        // As Kafka 3.9, which cannot tell of fenced brokers.
        range(ApiKey::DescribeCluster, 0, 1),
        range(ApiKey::DescribeQuorum, 0, 2),
        range(ApiKey::DescribeTopicPartitions, 0, 0),
        range(ApiKey::ElectLeaders, 0, 2),
        range(ApiKey::AlterPartitionReassignments, 0, 1),
        range(ApiKey::ListPartitionReassignments, 0, 0),
        range(ApiKey::DescribeConfigs, 1, 4),
        range(ApiKey::IncrementalAlterConfigs, 0, 1),
    ])
}

fn text(of: &str) -> StrBytes {
    StrBytes::from_string(of.to_owned())
}

fn metadata(id: i32, request: &MetadataRequest, state: &FakeState) -> MetadataResponse {
    assert!(!request.allow_auto_topic_creation, "asking must not create");
    let brokers = state.brokers.iter().map(|(broker, port)| {
        MetadataResponseBroker::default().with_node_id(BrokerId(*broker)).with_host(text("127.0.0.1")).with_port(i32::from(*port))
    });
    let names: Vec<String> = match &request.topics {
        Some(asked) => asked.iter().map(|topic| topic.name.as_ref().unwrap().to_string()).collect(),
        None if state.blind.contains(&id) => vec![],
        None => state.topics.keys().cloned().collect(),
    };
    let topics = names.iter().map(|name| {
        let id_of = state.topic_ids.get(name).map_or(uuid::Uuid::nil(), |id| uuid::Uuid::from_u128(*id));
        let topic = MetadataResponseTopic::default().with_name(Some(TopicName(text(name)))).with_topic_id(id_of);
        match state.topics.get(name).filter(|_| !state.blind.contains(&id)) {
            None => topic.with_error_code(3),
            Some(partitions) => {
                topic.with_partitions(partitions.iter().zip(0..).map(|(replicas, index)| partition(name, index, replicas, state)).collect())
            }
        }
    });
    MetadataResponse::default().with_controller_id(BrokerId(id)).with_brokers(brokers.collect()).with_topics(topics.collect())
}

fn partition(topic: &str, index: i32, replicas: &[i32], state: &FakeState) -> MetadataResponsePartition {
    let in_sync = replicas.iter().filter(|replica| !state.out_of_sync.contains(*replica));
    let leader = state.leaders.get(&(topic.to_owned(), index)).or(replicas.first()).copied().unwrap_or(-1);
    MetadataResponsePartition::default()
        .with_partition_index(index)
        .with_leader_id(BrokerId(leader))
        .with_leader_epoch(state.epochs.get(&(topic.to_owned(), index)).copied().unwrap_or(-1))
        .with_replica_nodes(replicas.iter().copied().map(BrokerId).collect())
        .with_isr_nodes(in_sync.copied().map(BrokerId).collect())
}

fn describe_cluster(state: &FakeState) -> DescribeClusterResponse {
    let broker = |(id, port): (&i32, &u16)| {
        DescribeClusterBroker::default().with_broker_id(BrokerId(*id)).with_host(text("127.0.0.1")).with_port(i32::from(*port))
    };
    DescribeClusterResponse::default().with_cluster_id(text("fake")).with_brokers(state.brokers.iter().map(broker).collect())
}

fn describe_quorum(state: &FakeState) -> DescribeQuorumResponse {
    let partition = match state.controller {
        None => PartitionData::default().with_error_code(6),
        Some(leader) => {
            let voter = |id: &i32| ReplicaState::default().with_replica_id(BrokerId(*id)).with_log_end_offset(60);
            PartitionData::default()
                .with_leader_id(BrokerId(leader))
                .with_leader_epoch(3)
                .with_high_watermark(60)
                .with_current_voters(state.brokers.keys().map(voter).collect())
        }
    };
    let topic = TopicData::default().with_topic_name(TopicName(text("__cluster_metadata"))).with_partitions(vec![partition]);
    DescribeQuorumResponse::default().with_topics(vec![topic])
}

/// A consumer (-1) sees up to the high watermark, a debugger (-2) all; partitions without ends have no leader here.
fn list_offsets(request: ListOffsetsRequest, state: &FakeState) -> ListOffsetsResponse {
    let sees_all = request.replica_id.0 == -2;
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            let answer = ListOffsetsPartitionResponse::default().with_partition_index(partition.partition_index);
            match state.ends.get(&(topic.name.to_string(), partition.partition_index)) {
                Some((high_watermark, log_end)) => answer.with_offset(if sees_all { *log_end } else { *high_watermark }),
                None => answer.with_error_code(6),
            }
        });
        let partitions = partitions.collect();
        ListOffsetsTopicResponse::default().with_name(topic.name).with_partitions(partitions)
    });
    ListOffsetsResponse::default().with_topics(topics.collect())
}

/// Only partitions that have eligible replicas; the last known are not told of any but the first.
fn describe_topic_partitions(request: DescribeTopicPartitionsRequest, state: &FakeState) -> DescribeTopicPartitionsResponse {
    let topics = request.topics.into_iter().map(|asked| {
        let topic = DescribeTopicPartitionsResponseTopic::default().with_name(Some(asked.name.clone()));
        let of_topic = state.eligible.iter().filter(|((name, _), _)| name.as_str() == asked.name.as_str());
        let partitions = of_topic.map(|((_, index), eligible)| {
            DescribeTopicPartitionsResponsePartition::default()
                .with_partition_index(*index)
                .with_eligible_leader_replicas(Some(eligible.iter().copied().map(BrokerId).collect()))
                .with_last_known_elr((*index == 0).then(Vec::new))
        });
        let partitions: Vec<_> = partitions.collect();
        topic.with_error_code(if partitions.is_empty() { 3 } else { 0 }).with_partitions(partitions)
    });
    DescribeTopicPartitionsResponse::default().with_topics(topics.collect())
}

fn create_topics(request: CreateTopicsRequest, state: &mut FakeState) -> CreateTopicsResponse {
    let results = request.topics.into_iter().map(|topic| {
        let code = state.refusals.pop_front().unwrap_or(if state.topics.contains_key(topic.name.as_str()) { 36 } else { 0 });
        if code == 0 {
            let counted = vec![vec![1]; usize::try_from(topic.num_partitions).unwrap_or(0)];
            let assigned = topic.assignments.iter().map(|partition| partition.broker_ids.iter().map(|id| id.0).collect());
            let partitions = if topic.assignments.is_empty() { counted } else { assigned.collect() };
            state.topics.insert(topic.name.to_string(), partitions);
            state.topics_made += 1;
            state.topic_ids.insert(topic.name.to_string(), state.topics_made);
            let config = topic.configs.iter().filter_map(|config| Some((config.name.to_string(), config.value.as_ref()?.to_string())));
            state.configs.insert((2, topic.name.to_string()), config.collect());
        }
        CreatableTopicResult::default().with_name(topic.name).with_error_code(code).with_error_message((code != 0).then(|| text("refused")))
    });
    let mut results: Vec<_> = results.collect();
    if std::mem::take(&mut state.leaves_out) {
        results.pop();
    }
    CreateTopicsResponse::default().with_topics(results)
}

fn delete_topics(request: DeleteTopicsRequest, state: &mut FakeState) -> DeleteTopicsResponse {
    let results = request.topics.into_iter().map(|topic| {
        let removed = state.topics.remove(topic.name.as_ref().unwrap().as_str());
        let id = state.topic_ids.remove(topic.name.as_ref().unwrap().as_str()).map_or(uuid::Uuid::nil(), uuid::Uuid::from_u128);
        DeletableTopicResult::default().with_topic_id(id).with_name(topic.name).with_error_code(if removed.is_some() { 0 } else { 3 })
    });
    let results = results.collect();
    DeleteTopicsResponse::default().with_responses(results)
}

fn create_partitions(request: CreatePartitionsRequest, state: &mut FakeState) -> CreatePartitionsResponse {
    let results = request.topics.into_iter().map(|topic| {
        let to = usize::try_from(topic.count).unwrap();
        let code = match state.topics.get_mut(topic.name.as_str()) {
            None => 3,
            Some(partitions) if partitions.len() >= to => 37,
            Some(partitions) => {
                partitions.resize(to, vec![1]);
                0
            }
        };
        CreatePartitionsTopicResult::default().with_name(topic.name).with_error_code(code)
    });
    let results = results.collect();
    CreatePartitionsResponse::default().with_results(results)
}
