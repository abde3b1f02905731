//! The plan's topics: made before the load, and known to every broker before the first record is due.
//!
//! "Created" is the controller's word only: a broker that has not heard yet answers "unknown topic", which would show as a fault that the
//! plan did not ask for. And a broker shows a topic before it has made its own replicas: a leader that refuses a partition's first batch for
//! that and then takes the second never takes the first any more, up to Kafka 4.4 (KAFKA-15591). So each leader is asked where its logs end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::join_all;

use super::RunError;
use crate::cluster::Node;
use crate::ids::{BrokerId, HostPort, PartitionIndex, TopicName, TopicPartition};
use crate::kafka::admin::{Admin, ClusterView, End, NewTopic, Placement};
use crate::plan::model::{Action, Plan, Replication, Step, TopicSpec};

/// Longest wait until the brokers agree.
const AGREED_WITHIN: Duration = Duration::from_secs(60);

/// Pause between two rounds of questions.
const ROUND: Duration = Duration::from_millis(100);

/// Makes the plan's topics and waits until every broker knows them with leaders and full ISRs, and the leaders serve them.
///
/// # Errors
/// Kafka refused a topic, or the brokers did not agree in time.
pub(super) async fn create(admin: &Admin, nodes: &[Node], topics: &[TopicSpec]) -> Result<(), RunError> {
    if topics.is_empty() {
        return Ok(());
    }
    let new: Vec<NewTopic> = topics.iter().map(new_topic).collect();
    admin.create_topics(&new).await.map_err(RunError::Topics)?;
    let listeners = listeners(nodes);
    until_none(async || match in_views(admin, &listeners, |view| missing(topics, view)).await {
        None => unserved(admin, &listeners, topics).await,
        missing => missing,
    })
    .await
}

/// Deletes what an earlier run on a kept cluster left under the names that this plan will use.
///
/// # Errors
/// A topic could not be deleted, or a broker still shows it.
pub(super) async fn delete_left_over(admin: &Admin, nodes: &[Node], plan: &Plan) -> Result<(), RunError> {
    let mut names: Vec<TopicName> = plan.topics.iter().map(|topic| topic.name.clone()).collect();
    names.extend(created_by(&plan.steps));
    // Brokers make a topic that is merely asked for, where the plan lets them.
    names.extend(plan.producers.iter().flat_map(|group| &group.topics).cloned());
    names.sort();
    names.dedup();
    let view = admin.metadata(None).await.map_err(RunError::Topics)?;
    names.retain(|name| view.topic(name).is_some());
    delete(admin, nodes, &names).await
}

/// Deletes every topic that is not one of Kafka's own: on a lent cluster all of them are of earlier runs.
///
/// # Errors
/// As [`delete_left_over`].
pub(super) async fn delete_all(admin: &Admin, nodes: &[Node]) -> Result<(), RunError> {
    let view = admin.metadata(None).await.map_err(RunError::Topics)?;
    let names: Vec<TopicName> = view.topics.into_iter().filter(|topic| !topic.is_internal).map(|topic| topic.name).collect();
    delete(admin, nodes, &names).await
}

/// Deletes topics and waits until no broker shows them.
async fn delete(admin: &Admin, nodes: &[Node], names: &[TopicName]) -> Result<(), RunError> {
    if names.is_empty() {
        return Ok(());
    }
    admin.delete_topics(names).await.map_err(RunError::Topics)?;
    let left = |view: &ClusterView| {
        let left = names.iter().find(|name| view.topic(name).is_some_and(|topic| topic.error.is_none()))?;
        Some(format!("{left} is still there"))
    };
    let listeners = listeners(nodes);
    until_none(async || in_views(admin, &listeners, left).await).await
}

fn created_by(steps: &[Step]) -> Vec<TopicName> {
    let of = |step: &Step| match &step.action {
        Action::CreateTopic { topic } => vec![topic.name.clone()],
        Action::Repeat { steps, .. } => created_by(steps),
        _ => Vec::new(),
    };
    steps.iter().flat_map(of).collect()
}

fn new_topic(spec: &TopicSpec) -> NewTopic {
    let placement = match &spec.replication {
        Replication::Factor(replication_factor) => {
            Placement::Counted { partitions: spec.partitions, replication_factor: *replication_factor }
        }
        Replication::Assignment(brokers) => Placement::Assigned(brokers.clone()),
    };
    NewTopic { name: spec.name.clone(), placement, config: spec.config.clone() }
}

fn listeners(nodes: &[Node]) -> Vec<(BrokerId, &HostPort)> {
    nodes
        .iter()
        .filter(|node| !node.joins_later)
        .filter_map(|node| node.client_listener.as_ref().map(|listener| (node.id, listener)))
        .collect()
}

/// Looks until there is no problem.
async fn until_none(problem: impl AsyncFn() -> Option<String>) -> Result<(), RunError> {
    let mut last = "no broker has answered".to_owned();
    let looks = async {
        while let Some(problem) = problem().await {
            last = problem;
            tokio::time::sleep(ROUND).await;
        }
    };
    match tokio::time::timeout(AGREED_WITHIN, looks).await {
        Ok(()) => Ok(()),
        Err(_) => Err(RunError::TopicsNotAgreed { within: AGREED_WITHIN, problem: last }),
    }
}

/// Asks every broker for its view, each apart; the first problem.
async fn in_views(admin: &Admin, listeners: &[(BrokerId, &HostPort)], problem: impl Fn(&ClusterView) -> Option<String>) -> Option<String> {
    let answers = join_all(listeners.iter().map(|(_, listener)| admin.metadata_of(listener, None))).await;
    listeners.iter().zip(answers).find_map(|((broker, _), answer)| match answer {
        Ok(view) => problem(&view).map(|what| format!("broker {broker}: {what}")),
        Err(error) => Some(format!("broker {broker}: {error}")),
    })
}

/// What one broker's view lacks of the topics, in words.
fn missing(topics: &[TopicSpec], view: &ClusterView) -> Option<String> {
    topics.iter().find_map(|spec| {
        let Some(topic) = view.topic(&spec.name) else { return Some(format!("{} is unknown", spec.name)) };
        if topic.partitions.len() < spec.partitions as usize {
            return Some(format!("{} has {} of {} partitions", spec.name, topic.partitions.len(), spec.partitions));
        }
        let partition = topic.partitions.iter().find(|partition| !partition.is_full())?;
        Some(format!("{}/{} is under-replicated", spec.name, partition.partition))
    })
}

/// The first partition that no broker serves as its leader, in words.
async fn unserved(admin: &Admin, listeners: &[(BrokerId, &HostPort)], topics: &[TopicSpec]) -> Option<String> {
    let partitions = topics.iter().flat_map(|spec| {
        (0..spec.partitions).map(|index| TopicPartition { topic: spec.name.clone(), partition: PartitionIndex(index.cast_signed()) })
    });
    let asked: Vec<_> = partitions.map(|partition| (partition, None)).collect();
    let answers = join_all(listeners.iter().map(|(_, listener)| admin.ends_of(listener, End::HighWatermark, &asked))).await;
    // What a broker without an answer leads is missing in the others' answers.
    let served: BTreeSet<TopicPartition> = answers.into_iter().flatten().flat_map(BTreeMap::into_keys).collect();
    let unserved = asked.iter().find(|(partition, _)| !served.contains(partition));
    unserved.map(|(partition, _)| format!("{partition} has no leader that serves it"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::Clock;
    use crate::ids::{LeaderEpoch, PartitionIndex};
    use crate::kafka::admin::fake::{FakeBroker, shared};
    use crate::kafka::admin::{PartitionView, TopicView};

    fn spec(partitions: u32) -> TopicSpec {
        TopicSpec { name: "orders".into(), partitions, replication: Replication::Factor(2), config: BTreeMap::new() }
    }

    fn view(isrs: &[&[i32]]) -> ClusterView {
        let partition = |(index, isr): (usize, &&[i32])| PartitionView {
            partition: PartitionIndex(index as i32),
            error: None,
            leader: isr.first().copied().map(BrokerId),
            leader_epoch: Some(LeaderEpoch(0)),
            replicas: vec![BrokerId(1), BrokerId(2)],
            isr: isr.iter().copied().map(BrokerId).collect(),
            offline: Vec::new(),
        };
        let partitions = isrs.iter().enumerate().map(partition).collect();
        let topic = TopicView { name: "orders".into(), id: None, is_internal: false, error: None, partitions };
        ClusterView { cluster_id: None, controller: None, brokers: Vec::new(), topics: vec![topic] }
    }

    #[test]
    fn a_topic_is_known_with_all_partitions_and_full_isrs() {
        let unknown = ClusterView { topics: Vec::new(), ..view(&[]) };
        let rows = [
            (unknown, Some("orders is unknown")),
            (view(&[&[1, 2]]), Some("orders has 1 of 2 partitions")),
            (view(&[&[1, 2], &[2]]), Some("orders/1 is under-replicated")),
            (view(&[&[1, 2], &[]]), Some("orders/1 is under-replicated")),
            (view(&[&[1, 2], &[2, 1]]), None),
        ];
        for (view, expected) in rows {
            assert_eq!(missing(&[spec(2)], &view).as_deref(), expected);
        }
    }

    #[tokio::test]
    async fn a_topic_is_made_when_its_leaders_serve_it() {
        let state = shared(1);
        let broker = FakeBroker::start(1, 0, &state).await;
        let listener = Some(broker.host_port());
        let node = Node {
            id: BrokerId(1),
            is_broker: true,
            is_controller: true,
            client_listener: listener,
            relay_listener: None,
            controller_listener: None,
            joins_later: false,
        };
        let serving = Arc::clone(&state);
        tokio::spawn(async move {
            for index in 0..2 {
                tokio::time::sleep(Duration::from_millis(150)).await;
                serving.lock().unwrap().ends.insert(("orders".into(), index), (0, 0));
            }
        });
        let admin = Admin::new(vec![broker.host_port()], "test", Clock::real());
        create(&admin, &[node], &[spec(2)]).await.unwrap();
        assert_eq!(state.lock().unwrap().ends.len(), 2, "not before");
    }

    #[test]
    fn topics_of_repeated_steps_are_found() {
        let create = Step { at: Duration::ZERO, action: Action::CreateTopic { topic: spec(1) }, line: 1 };
        let repeat = Step { at: Duration::ZERO, action: Action::Repeat { times: 2, steps: vec![create] }, line: 1 };
        assert_eq!(created_by(&[repeat]), [TopicName::from("orders")]);
    }
}
