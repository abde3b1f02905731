//! Questions: what does a broker believe, who leads the quorum, does a listener serve?

use kafka_protocol::messages::describe_cluster_response::DescribeClusterBroker;
use kafka_protocol::messages::describe_quorum_request::{PartitionData, TopicData};
use kafka_protocol::messages::describe_quorum_response::ReplicaState;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::{MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic};
use kafka_protocol::messages::{
    BrokerId as WireBrokerId, DescribeClusterRequest, DescribeClusterResponse, DescribeQuorumRequest, DescribeQuorumResponse,
    MetadataRequest, MetadataResponse, TopicName as WireTopicName,
};
use kafka_protocol::protocol::StrBytes;

use super::view::{BrokerView, ClusterDescription, ClusterView, PartitionView, QuorumView, ReplicaView, TopicView};
use super::{Admin, AdminError, Failure, is_passing};
use crate::ids::{BrokerId, HostPort, LeaderEpoch, PartitionIndex, TopicId, TopicName};
use crate::kafka::net::rpc::RpcError;
use crate::kafka::wire::error::ErrorCode;
use crate::kafka::wire::versions::BrokerVersions;

/// Where the controller's log lives.
const METADATA_TOPIC: &str = "__cluster_metadata";

impl Admin {
    /// That very broker's own view, asked once; of all topics, or of those named (which are never created by asking).
    ///
    /// # Errors
    /// No answer within the call's bound, or one that is an error as a whole.
    pub async fn metadata_of(&self, broker: &HostPort, topics: Option<&[TopicName]>) -> Result<ClusterView, AdminError> {
        read_metadata(self.ask(broker, &metadata_request(topics)).await?).map_err(Failure::into_error)
    }

    /// The view of any broker that answers.
    ///
    /// # Errors
    /// None answered before patience was over.
    pub async fn metadata(&self, topics: Option<&[TopicName]>) -> Result<ClusterView, AdminError> {
        self.ask_any(&metadata_request(topics), read_metadata).await
    }

    /// The cluster's id and its brokers, fenced ones too where the broker can tell.
    ///
    /// # Errors
    /// No broker answered before patience was over.
    pub async fn describe_cluster(&self) -> Result<ClusterDescription, AdminError> {
        // Version 2 is needed for fenced brokers, and below it the field must not be set: ask again without it.
        match self.ask_any(&cluster_request(true), |response| read_cluster(response, true)).await {
            Err(AdminError::Rpc(RpcError::Unsendable { .. })) => {
                self.ask_any(&cluster_request(false), |response| read_cluster(response, false)).await
            }
            other => other,
        }
    }

    /// The same by that very broker's own word, asked once.
    ///
    /// # Errors
    /// No answer within the call's bound, or one that is an error as a whole.
    pub async fn cluster_of(&self, broker: &HostPort) -> Result<ClusterDescription, AdminError> {
        let (response, includes_fenced) = match self.ask(broker, &cluster_request(true)).await {
            Err(RpcError::Unsendable { .. }) => (self.ask(broker, &cluster_request(false)).await?, false),
            other => (other?, true),
        };
        read_cluster(response, includes_fenced).map_err(Failure::into_error)
    }

    /// The metadata quorum, asked through any broker, which forwards to the active controller.
    ///
    /// # Errors
    /// No broker reached an active controller before patience was over.
    pub async fn describe_quorum(&self) -> Result<QuorumView, AdminError> {
        self.ask_any(&quorum_request(), read_quorum).await
    }

    /// The metadata quorum, asked once at this listener (a broker's, or a controller's).
    ///
    /// # Errors
    /// No answer within the call's bound, or the node did not reach the active controller.
    pub async fn quorum_of(&self, listener: &HostPort) -> Result<QuorumView, AdminError> {
        read_quorum(self.ask(listener, &quorum_request()).await?).map_err(Failure::into_error)
    }

    /// Whether a listener serves: a new connection that answers `ApiVersions`. Returns what it speaks.
    ///
    /// # Errors
    /// It does not, and why.
    pub async fn api_versions(&self, listener: &HostPort) -> Result<BrokerVersions, AdminError> {
        let rpc = self.connect(listener).await?;
        Ok(rpc.versions().clone())
    }
}

impl Failure {
    pub(super) fn into_error(self) -> AdminError {
        match self {
            Self::Again(error) | Self::Final(error) => error,
        }
    }

    /// A broker's answer that is an error as a whole.
    pub(super) fn refused(asked: &'static str, code: ErrorCode, message: Option<&StrBytes>) -> Self {
        let error = AdminError::Refused { asked, code, message: message.map(ToString::to_string) };
        if is_passing(code) { Self::Again(error) } else { Self::Final(error) }
    }
}

pub(super) fn metadata_request(topics: Option<&[TopicName]>) -> MetadataRequest {
    let named = |topic: &TopicName| MetadataRequestTopic::default().with_name(Some(wire_name(topic)));
    MetadataRequest::default().with_topics(topics.map(|names| names.iter().map(named).collect())).with_allow_auto_topic_creation(false)
}

pub(super) fn read_metadata(response: MetadataResponse) -> Result<ClusterView, Failure> {
    if let Some(code) = ErrorCode::from_wire(response.error_code) {
        return Err(Failure::refused("Metadata", code, None));
    }
    let mut brokers: Vec<_> = response.brokers.into_iter().map(metadata_broker).collect();
    brokers.sort_by_key(|broker| broker.id);
    let mut topics: Vec<_> = response.topics.into_iter().map(topic_view).collect();
    topics.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(ClusterView {
        cluster_id: response.cluster_id.map(|id| id.to_string()),
        controller: known_broker(response.controller_id),
        brokers,
        topics,
    })
}

fn metadata_broker(broker: MetadataResponseBroker) -> BrokerView {
    BrokerView {
        id: BrokerId(broker.node_id.0),
        listener: listener(&broker.host, broker.port),
        rack: broker.rack.map(|rack| rack.to_string()),
        is_fenced: false,
    }
}

fn topic_view(topic: MetadataResponseTopic) -> TopicView {
    let mut partitions: Vec<_> = topic.partitions.into_iter().map(partition_view).collect();
    partitions.sort_by_key(|partition| partition.partition);
    TopicView {
        name: topic.name.map_or_else(|| TopicName::from(""), |name| TopicName::from(name.as_str())),
        id: (!topic.topic_id.is_nil()).then_some(TopicId(topic.topic_id)),
        is_internal: topic.is_internal,
        error: ErrorCode::from_wire(topic.error_code),
        partitions,
    }
}

fn partition_view(partition: MetadataResponsePartition) -> PartitionView {
    let ids = |nodes: Vec<WireBrokerId>| nodes.into_iter().map(|node| BrokerId(node.0)).collect();
    PartitionView {
        partition: PartitionIndex(partition.partition_index),
        error: ErrorCode::from_wire(partition.error_code),
        leader: known_broker(partition.leader_id),
        leader_epoch: (partition.leader_epoch >= 0).then_some(LeaderEpoch(partition.leader_epoch)),
        replicas: ids(partition.replica_nodes),
        isr: ids(partition.isr_nodes),
        offline: ids(partition.offline_replicas),
    }
}

fn cluster_request(include_fenced_brokers: bool) -> DescribeClusterRequest {
    DescribeClusterRequest::default().with_include_fenced_brokers(include_fenced_brokers)
}

fn read_cluster(response: DescribeClusterResponse, includes_fenced: bool) -> Result<ClusterDescription, Failure> {
    if let Some(code) = ErrorCode::from_wire(response.error_code) {
        return Err(Failure::refused("DescribeCluster", code, response.error_message.as_ref()));
    }
    let view = |broker: DescribeClusterBroker| BrokerView {
        id: BrokerId(broker.broker_id.0),
        listener: listener(&broker.host, broker.port),
        rack: broker.rack.map(|rack| rack.to_string()),
        is_fenced: broker.is_fenced,
    };
    let mut brokers: Vec<_> = response.brokers.into_iter().map(view).collect();
    brokers.sort_by_key(|broker| broker.id);
    let controller = known_broker(response.controller_id);
    Ok(ClusterDescription { cluster_id: response.cluster_id.to_string(), controller, brokers, includes_fenced })
}

pub(super) fn quorum_request() -> DescribeQuorumRequest {
    let topic = TopicData::default()
        .with_topic_name(WireTopicName(StrBytes::from_static_str(METADATA_TOPIC)))
        .with_partitions(vec![PartitionData::default().with_partition_index(0)]);
    DescribeQuorumRequest::default().with_topics(vec![topic])
}

pub(super) fn read_quorum(response: DescribeQuorumResponse) -> Result<QuorumView, Failure> {
    const ASKED: &str = "DescribeQuorum";
    if let Some(code) = ErrorCode::from_wire(response.error_code) {
        return Err(Failure::refused(ASKED, code, response.error_message.as_ref()));
    }
    let partition = response.topics.into_iter().flat_map(|topic| topic.partitions).next();
    let Some(partition) = partition else {
        return Err(Failure::Final(AdminError::Incomplete { asked: ASKED, missing: "partition" }));
    };
    if let Some(code) = ErrorCode::from_wire(partition.error_code) {
        return Err(Failure::refused(ASKED, code, partition.error_message.as_ref()));
    }
    let Some(leader) = known_broker(partition.leader_id) else {
        return Err(Failure::Again(AdminError::Incomplete { asked: ASKED, missing: "leader" }));
    };
    Ok(QuorumView {
        leader,
        leader_epoch: LeaderEpoch(partition.leader_epoch),
        high_watermark: partition.high_watermark,
        voters: replicas(partition.current_voters),
        observers: replicas(partition.observers),
    })
}

fn replicas(states: Vec<ReplicaState>) -> Vec<ReplicaView> {
    let known = |value: i64| (value >= 0).then_some(value);
    let mut views: Vec<_> = states
        .into_iter()
        .map(|state| ReplicaView {
            id: BrokerId(state.replica_id.0),
            log_end_offset: known(state.log_end_offset),
            last_fetch_ms: known(state.last_fetch_timestamp),
            last_caught_up_ms: known(state.last_caught_up_timestamp),
        })
        .collect();
    views.sort_by_key(|view| view.id);
    views
}

/// The wire says -1 for nobody.
pub(super) fn known_broker(id: WireBrokerId) -> Option<BrokerId> {
    (id.0 >= 0).then_some(BrokerId(id.0))
}

fn listener(host: &str, port: i32) -> HostPort {
    HostPort::new(host, u16::try_from(port).unwrap_or(0))
}

/// A topic's name for the wire.
pub(super) fn wire_name(topic: &TopicName) -> WireTopicName {
    WireTopicName(StrBytes::from_string(topic.as_str().to_owned()))
}
