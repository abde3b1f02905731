//! Clusters on the real engine: up, ready, down, and what can be done to a node.

use std::time::Duration;

use kafka_chaos::cluster::{Cluster, DockerCluster, NodeState, inventory};
use kafka_chaos::ids::BrokerId;
use kafka_chaos::plan::model::Layout;

use crate::support::{self, KAFKA, cluster_spec, run_id, up_options};

const COMBINED: Layout = Layout::Combined { nodes: 3 };

async fn assert_nothing_left(cluster: &DockerCluster) {
    let left = inventory::of_run(cluster.daemon(), cluster.run_id().as_str()).await.unwrap();
    assert_eq!(left, inventory::RunObjects::default());
}

#[tokio::test(flavor = "multi_thread")]
async fn three_combined_nodes_come_up_and_leave_nothing() {
    let Some(_guard) = support::brokers().await else { return };
    let cluster = DockerCluster::up(&cluster_spec(KAFKA, COMBINED), &run_id("combined"), &up_options()).await.unwrap();
    assert_eq!(cluster.bootstrap().len(), 3);
    for node in cluster.nodes() {
        assert!(node.is_broker && node.is_controller);
        assert_eq!(cluster.state(node.id).await.unwrap(), NodeState::Running);
    }
    cluster.down().await.unwrap();
    assert_nothing_left(&cluster).await;
    // A second time changes nothing.
    cluster.down().await.unwrap();
    assert_eq!(cluster.state(BrokerId(1)).await.unwrap(), NodeState::Absent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_goes_through_its_states() {
    let Some(_guard) = support::brokers().await else { return };
    let layout = Layout::Combined { nodes: 1 };
    let cluster = DockerCluster::up(&cluster_spec(KAFKA, layout), &run_id("states"), &up_options()).await.unwrap();
    let node = BrokerId(1);

    cluster.pause(node).await.unwrap();
    assert_eq!(cluster.state(node).await.unwrap(), NodeState::Paused);
    assert!(cluster.pause(node).await.is_err(), "a second pause changes nothing");
    cluster.unpause(node).await.unwrap();
    assert_eq!(cluster.state(node).await.unwrap(), NodeState::Running);
    assert!(cluster.start(node).await.is_err(), "it runs already");

    cluster.kill(node).await.unwrap();
    assert_eq!(ended(&cluster, node).await, 137);
    assert!(cluster.kill(node).await.is_err(), "it is dead already");
    assert!(cluster.stop(node, Duration::from_secs(5)).await.is_err(), "it is dead already");
    cluster.start(node).await.unwrap();
    assert_eq!(cluster.state(node).await.unwrap(), NodeState::Running);

    // A node that is still formatting its storage does not hear SIGTERM.
    cluster.ready(&up_options()).await.unwrap();
    cluster.stop(node, Duration::from_secs(30)).await.unwrap();
    assert_eq!(ended(&cluster, node).await, 143);
    assert!(cluster.kill(BrokerId(9)).await.is_err());
    assert!(!cluster.logs(node).await.unwrap().is_empty());
    cluster.down().await.unwrap();
    assert_nothing_left(&cluster).await;
}

/// Waits until a node has ended; its exit code.
async fn ended(cluster: &DockerCluster, node: BrokerId) -> i64 {
    for _ in 0..100 {
        if let NodeState::Exited { code } = cluster.state(node).await.unwrap() {
            return code;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("node {node} has not ended within 10 s");
}
