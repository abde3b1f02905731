//! Elections, moves and properties of the fake brokers.

use std::collections::BTreeMap;

use kafka_protocol::messages::alter_partition_reassignments_response::{ReassignablePartitionResponse, ReassignableTopicResponse};
use kafka_protocol::messages::describe_configs_response::{DescribeConfigsResourceResult, DescribeConfigsResult};
use kafka_protocol::messages::elect_leaders_response::{PartitionResult, ReplicaElectionResult};
use kafka_protocol::messages::incremental_alter_configs_response::AlterConfigsResourceResponse;
use kafka_protocol::messages::list_partition_reassignments_response::{OngoingPartitionReassignment, OngoingTopicReassignment};
use kafka_protocol::messages::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, DescribeConfigsRequest, DescribeConfigsResponse,
    ElectLeadersRequest, ElectLeadersResponse, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
    ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse,
};

use super::{FakeState, text};

/// What holds without a property of one's own.
const DEFAULTS: [(&str, &str); 2] = [("num.io.threads", "8"), ("retention.ms", "604800000")];

const BROKER: i8 = 4;

pub(super) fn elect_leaders(request: ElectLeadersRequest, state: &mut FakeState) -> ElectLeadersResponse {
    let is_unclean = request.election_type == 1;
    let topics = request.topic_partitions.unwrap().into_iter().map(|topic| {
        let name = topic.topic.to_string();
        let results = topic.partitions.iter().map(|index| {
            let code = state.refusals.pop_front().unwrap_or_else(|| elect(&name, *index, is_unclean, state));
            PartitionResult::default().with_partition_id(*index).with_error_code(code)
        });
        let results = results.collect();
        ReplicaElectionResult::default().with_topic(topic.topic).with_partition_result(results)
    });
    let topics = topics.collect();
    ElectLeadersResponse::default().with_replica_election_results(topics)
}

/// The code of one partition's election.
fn elect(topic: &str, index: i32, is_unclean: bool, state: &mut FakeState) -> i16 {
    let Some(replicas) = state.topics.get(topic).and_then(|partitions| partitions.get(index as usize)) else { return 3 };
    let first = replicas[0];
    let key = (topic.to_owned(), index);
    let leader = state.leaders.get(&key).copied().unwrap_or(first);
    if leader == first || (is_unclean && leader >= 0) {
        return 84;
    }
    if !is_unclean && state.out_of_sync.contains(&first) {
        return 80;
    }
    state.leaders.remove(&key);
    *state.epochs.entry(key).or_default() += 1;
    0
}

pub(super) fn reassign(request: AlterPartitionReassignmentsRequest, state: &mut FakeState) -> AlterPartitionReassignmentsResponse {
    let topics = request.topics.into_iter().map(|topic| {
        let name = topic.name.to_string();
        let results = topic.partitions.into_iter().map(|asked| {
            let replicas: Vec<i32> = asked.replicas.unwrap().into_iter().map(|broker| broker.0).collect();
            let code = if replicas.iter().all(|broker| state.brokers.contains_key(broker)) { 0 } else { 39 };
            if code == 0 {
                state.topics.get_mut(&name).unwrap()[asked.partition_index as usize] = replicas;
                state.moving.insert((name.clone(), asked.partition_index), state.moves_take);
            }
            ReassignablePartitionResponse::default().with_partition_index(asked.partition_index).with_error_code(code)
        });
        let results = results.collect();
        ReassignableTopicResponse::default().with_name(topic.name).with_partitions(results)
    });
    let topics = topics.collect();
    AlterPartitionReassignmentsResponse::default().with_responses(topics)
}

/// A move is under way for as many answers as moves take.
pub(super) fn ongoing(request: ListPartitionReassignmentsRequest, state: &mut FakeState) -> ListPartitionReassignmentsResponse {
    let topics = request.topics.unwrap().into_iter().map(|topic| {
        let mut ongoing = Vec::new();
        for index in topic.partition_indexes {
            if let Some(left) = state.moving.get_mut(&(topic.name.to_string(), index)).filter(|left| **left > 0) {
                *left -= 1;
                ongoing.push(OngoingPartitionReassignment::default().with_partition_index(index));
            }
        }
        OngoingTopicReassignment::default().with_name(topic.name).with_partitions(ongoing)
    });
    let topics: Vec<_> = topics.filter(|topic| !topic.partitions.is_empty()).collect();
    ListPartitionReassignmentsResponse::default().with_topics(topics)
}

pub(super) fn describe_configs(id: i32, request: DescribeConfigsRequest, state: &mut FakeState) -> DescribeConfigsResponse {
    let lag = state.unheard.get_mut(&id).filter(|answers| **answers > 0);
    let is_behind = lag.map(|answers| *answers -= 1).is_some();
    let results = request.resources.into_iter().map(|resource| {
        let (kind, name) = (resource.resource_type, resource.resource_name.to_string());
        let result = DescribeConfigsResult::default().with_resource_type(kind).with_resource_name(resource.resource_name);
        if let Some(code) = refusal(id, kind, &name, state) {
            return result.with_error_code(code);
        }
        let mut values: BTreeMap<&str, (&str, i8)> = DEFAULTS.into_iter().map(|(name, value)| (name, (value, 5))).collect();
        let own = state.configs.get(&(kind, name)).filter(|_| !is_behind);
        let source = if kind == BROKER { 2 } else { 1 };
        values.extend(own.into_iter().flatten().map(|(name, value)| (name.as_str(), (value.as_str(), source))));
        let is_asked = |name: &str| resource.configuration_keys.as_ref().is_none_or(|keys| keys.iter().any(|key| key.as_str() == name));
        let values = values.into_iter().filter(|(name, _)| is_asked(name)).map(|(name, (value, source))| {
            DescribeConfigsResourceResult::default().with_name(text(name)).with_value(Some(text(value))).with_config_source(source)
        });
        result.with_configs(values.collect())
    });
    DescribeConfigsResponse::default().with_results(results.collect())
}

pub(super) fn alter_configs(id: i32, request: IncrementalAlterConfigsRequest, state: &mut FakeState) -> IncrementalAlterConfigsResponse {
    let results = request.resources.into_iter().map(|resource| {
        let (kind, name) = (resource.resource_type, resource.resource_name.to_string());
        let code = state.refusals.pop_front().or_else(|| refusal(id, kind, &name, state)).unwrap_or(0);
        if code == 0 {
            let own = state.configs.entry((kind, name)).or_default();
            for config in resource.configs {
                match config.value {
                    Some(value) => own.insert(config.name.to_string(), value.to_string()),
                    None => own.remove(config.name.as_str()),
                };
            }
        }
        AlterConfigsResourceResponse::default().with_resource_type(kind).with_resource_name(resource.resource_name).with_error_code(code)
    });
    let results = results.collect();
    IncrementalAlterConfigsResponse::default().with_responses(results)
}

/// A broker speaks of itself alone, and of topics that there are.
fn refusal(id: i32, kind: i8, name: &str, state: &FakeState) -> Option<i16> {
    if kind == BROKER {
        return (name != id.to_string()).then_some(42);
    }
    (!state.topics.contains_key(name) || state.blind.contains(&id)).then_some(3)
}
