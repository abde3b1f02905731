//! When a cluster is ready: every node has read the controller's log to its end, every broker lists all brokers, every ISR is full.
//!
//! "A reply came" is not enough: a broker answers before it has caught up, and names brokers that it has not heard of yet to nobody.
//! The decision is pure ([`missing`]); the loop around it asks each broker apart and looks for nodes that have ended.

use std::fmt::Write as _;
use std::time::Duration;

use futures_util::future::join_all;

use super::docker::DockerCluster;
use super::{Cluster, ClusterError, Node, NodeState, Progress, ProgressFn};
use crate::clock::Clock;
use crate::ids::{BrokerId, HostPort};
use crate::kafka::admin::{Admin, ClusterView, QuorumView};
use crate::kafka::net::security::Credentials;

/// Pause between two rounds of questions.
const ROUND: Duration = Duration::from_millis(200);
/// Bound of one question; a node that starts may accept and never answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// What the nodes said in one round.
#[derive(Debug, Default)]
struct Round {
    /// The quorum, from whichever broker answered.
    quorum: Option<QuorumView>,
    /// Each broker's own view; `None`: it did not answer.
    views: Vec<(BrokerId, Option<ClusterView>)>,
}

/// Tells the cluster of a user, as soon as its controllers can be told anything.
///
/// # Errors
/// [`ClusterError::NotReady`] after `within`, or as soon as they refuse; it shows the nodes' last lines.
pub(crate) async fn enrol(cluster: &DockerCluster, user: &Credentials, clock: &Clock, within: Duration) -> Result<(), ClusterError> {
    let controllers = cluster.nodes().iter().filter_map(|node| node.controller_listener);
    let controllers = controllers.map(HostPort::from).collect();
    let client = cluster.access().controllers.named("chaos-admin");
    let admin = Admin::new(controllers, client, clock.clone()).with_call_timeout(ANSWER_WITHIN).with_patience(within);
    match admin.enrol(user).await {
        Ok(()) => Ok(()),
        Err(error) => {
            let missing = format!("the user {} could not be made: {error}", user.user);
            Err(ClusterError::NotReady { within, missing, log: all_telling_lines(cluster).await })
        }
    }
}

/// Waits until the cluster is ready.
///
/// # Errors
/// [`ClusterError::NodeEnded`] as soon as a node has ended, [`ClusterError::NotReady`] after `within`; both show the nodes' last lines.
pub(crate) async fn wait(cluster: &DockerCluster, clock: &Clock, within: Duration, progress: &ProgressFn) -> Result<(), ClusterError> {
    let admin = Admin::new(cluster.bootstrap(), cluster.access().clients.named("chaos-admin"), clock.clone())
        .with_call_timeout(ANSWER_WITHIN)
        .with_patience(Duration::ZERO);
    let give_up_at = clock.now() + within;
    let mut target = None;
    let mut said = String::new();
    loop {
        let mut members = Vec::new();
        for node in cluster.nodes() {
            match cluster.state(node.id).await? {
                NodeState::Exited { code } => {
                    return Err(ClusterError::NodeEnded { node: node.id, code, log: cluster.telling_lines(node.id).await });
                }
                // No part of the cluster yet.
                NodeState::NotStarted if node.joins_later => {}
                _ => members.push(node),
            }
        }
        let round = ask(&admin, &members).await;
        target = target.or_else(|| end_offset(&members, round.quorum.as_ref()));
        let Some(missing) = missing(&members, target, &round) else { return Ok(()) };
        if clock.now() >= give_up_at {
            return Err(ClusterError::NotReady { within, missing, log: all_telling_lines(cluster).await });
        }
        if missing != said {
            progress(Progress::Waiting { missing: missing.clone() });
            said = missing;
        }
        tokio::time::sleep(ROUND).await;
    }
}

async fn ask(admin: &Admin, nodes: &[&Node]) -> Round {
    let listeners = nodes.iter().filter_map(|node| Some((node.id, node.client_listener.as_ref()?)));
    let view_of = async |(id, listener): (BrokerId, &HostPort)| (id, admin.metadata_of(listener, None).await.ok());
    let (quorum, views) = tokio::join!(admin.describe_quorum(), join_all(listeners.map(view_of)));
    Round { quorum: quorum.ok(), views }
}

/// Where the controller's log ended when all nodes were first listed; every node must reach it. Not read anew in each round: the log
/// grows by itself twice a second, and a node that fetches is always a little behind.
fn end_offset(nodes: &[&Node], quorum: Option<&QuorumView>) -> Option<i64> {
    let quorum = quorum?;
    let all_listed = nodes.iter().all(|node| quorum.replicas().any(|replica| replica.id == node.id));
    let leader = quorum.voters.iter().find(|voter| voter.id == quorum.leader)?;
    if all_listed { leader.log_end_offset } else { None }
}

/// The first thing that is still missing, in words; `None`: the cluster is ready.
fn missing(nodes: &[&Node], target: Option<i64>, round: &Round) -> Option<String> {
    let silent: Vec<BrokerId> = round.views.iter().filter(|(_, view)| view.is_none()).map(|(id, _)| *id).collect();
    if !silent.is_empty() {
        return Some(format!("no answer from broker {}", join(&silent)));
    }
    let Some(quorum) = &round.quorum else { return Some("no active controller".into()) };
    let Some(target) = target else {
        let unseen = nodes.iter().map(|node| node.id).filter(|id| quorum.replicas().all(|replica| replica.id != *id));
        return Some(format!("the controller does not know node {} yet", join(&unseen.collect::<Vec<_>>())));
    };
    let behind = quorum.replicas().filter(|replica| replica.log_end_offset.is_none_or(|offset| offset < target));
    let behind: Vec<BrokerId> = behind.map(|replica| replica.id).filter(|id| nodes.iter().any(|node| node.id == *id)).collect();
    if !behind.is_empty() {
        return Some(format!("node {} has not reached offset {target} of the controller's log", join(&behind)));
    }
    round.views.iter().find_map(|(broker, view)| view.as_ref().and_then(|view| missing_in(nodes, *broker, view)))
}

/// What is missing in one broker's own view.
fn missing_in(nodes: &[&Node], broker: BrokerId, view: &ClusterView) -> Option<String> {
    let unlisted: Vec<BrokerId> = nodes.iter().filter(|node| node.is_broker && !view.lists(node.id)).map(|node| node.id).collect();
    if !unlisted.is_empty() {
        return Some(format!("broker {broker} does not list broker {}", join(&unlisted)));
    }
    view.topics.iter().find_map(|topic| {
        let partition = topic.partitions.iter().find(|partition| !partition.is_full())?;
        Some(format!("{}/{} is under-replicated in broker {broker}'s view", topic.name, partition.partition))
    })
}

fn join(ids: &[BrokerId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

async fn all_telling_lines(cluster: &DockerCluster) -> String {
    let mut text = String::new();
    for node in cluster.nodes() {
        let _ = writeln!(text, "node {}:\n{}", node.id, cluster.telling_lines(node.id).await);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{LeaderEpoch, PartitionIndex, TopicName};
    use crate::kafka::admin::{BrokerView, PartitionView, ReplicaView, TopicView};

    fn nodes() -> Vec<Node> {
        let node = |id, is_broker| Node {
            id: BrokerId(id),
            is_broker,
            is_controller: !is_broker,
            client_listener: None,
            relay_listener: None,
            controller_listener: None,
            joins_later: false,
        };
        vec![node(1, true), node(2, true), node(3, false)]
    }

    fn quorum(offsets: &[(i32, i64)]) -> QuorumView {
        let replica = |(id, offset): &(i32, i64)| ReplicaView {
            id: BrokerId(*id),
            log_end_offset: Some(*offset),
            last_fetch_ms: None,
            last_caught_up_ms: None,
        };
        let (voters, observers): (Vec<_>, Vec<_>) = offsets.iter().map(replica).partition(|replica| replica.id == BrokerId(3));
        QuorumView { leader: BrokerId(3), leader_epoch: LeaderEpoch(1), high_watermark: 1, voters, observers }
    }

    fn view(brokers: &[i32], isr: &[i32]) -> ClusterView {
        let ids = |ids: &[i32]| ids.iter().copied().map(BrokerId).collect::<Vec<_>>();
        let partition = PartitionView {
            partition: PartitionIndex(0),
            error: None,
            leader: Some(BrokerId(1)),
            leader_epoch: None,
            replicas: ids(&[1, 2]),
            isr: ids(isr),
            offline: Vec::new(),
        };
        let topic = TopicView { name: TopicName::from("orders"), id: None, is_internal: false, error: None, partitions: vec![partition] };
        let broker = |id: &i32| BrokerView { id: BrokerId(*id), listener: HostPort::new("127.0.0.1", 1), rack: None, is_fenced: false };
        ClusterView { cluster_id: None, controller: None, brokers: brokers.iter().map(broker).collect(), topics: vec![topic] }
    }

    #[test]
    fn the_first_thing_missing_is_named() {
        let full = || Some(view(&[1, 2], &[1, 2]));
        let all = || Some(quorum(&[(1, 9), (2, 9), (3, 9)]));
        let cases = [
            ("silent broker", Some(9), all(), full(), None, Some("no answer from broker 2")),
            ("no quorum", Some(9), None, full(), full(), Some("no active controller")),
            ("unknown node", None, Some(quorum(&[(1, 9), (3, 9)])), full(), full(), Some("the controller does not know node 2 yet")),
            (
                "behind",
                Some(9),
                Some(quorum(&[(1, 9), (2, 8), (3, 12)])),
                full(),
                full(),
                Some("node 2 has not reached offset 9 of the controller's log"),
            ),
            ("unlisted", Some(9), all(), full(), Some(view(&[2], &[1, 2])), Some("broker 2 does not list broker 1")),
            ("ISR not full", Some(9), all(), Some(view(&[1, 2], &[1])), full(), Some("orders/0 is under-replicated in broker 1's view")),
            ("ready", Some(9), all(), full(), full(), None),
        ];
        for (name, target, quorum, first, second, expected) in cases {
            let round = Round { quorum, views: vec![(BrokerId(1), first), (BrokerId(2), second)] };
            assert_eq!(missing(&nodes().iter().collect::<Vec<_>>(), target, &round).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn the_target_is_the_leaders_end_once_all_nodes_are_listed() {
        let nodes = nodes();
        let nodes: Vec<&Node> = nodes.iter().collect();
        assert_eq!(end_offset(&nodes, None), None);
        assert_eq!(end_offset(&nodes, Some(&quorum(&[(1, 4), (3, 9)]))), None);
        assert_eq!(end_offset(&nodes, Some(&quorum(&[(1, 4), (2, -1), (3, 9)]))), Some(9));
    }
}
