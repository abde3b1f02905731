//! What can be done to a node.

use std::time::Duration;

use kafka_chaos::cluster::{Cluster, DockerCluster, NodeState};
use kafka_chaos::ids::BrokerId;

use super::{ONE_NODE, THREE_NODES, down, ended};
use crate::support::{self, KAFKA, cluster_spec, run_id, up_options};

#[tokio::test(flavor = "multi_thread")]
async fn a_node_goes_through_its_states() {
    let Some(_guard) = support::brokers().await else { return };
    let cluster = DockerCluster::up(&cluster_spec(KAFKA, ONE_NODE), &run_id("states"), &up_options()).await.unwrap();
    let node = BrokerId(1);

    cluster.pause(node).await.unwrap();
    assert_eq!(cluster.state(node).await.unwrap(), NodeState::Paused);
    assert!(cluster.pause(node).await.is_err(), "a second pause changes nothing");
    assert!(cluster.start(node).await.is_err(), "paused is not ended");
    cluster.unpause(node).await.unwrap();
    assert_eq!(cluster.state(node).await.unwrap(), NodeState::Running);
    assert!(cluster.start(node).await.is_err(), "it runs already");

    // Also a paused node dies at once.
    cluster.pause(node).await.unwrap();
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
    down(&cluster).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_were_down_together_come_back_as_themselves() {
    let Some(_guard) = support::brokers().await else { return };
    let cluster = DockerCluster::up(&cluster_spec(KAFKA, THREE_NODES), &run_id("together"), &up_options()).await.unwrap();
    let before = cluster.bootstrap();
    for node in [1, 2] {
        cluster.kill(BrokerId(node)).await.unwrap();
    }
    for node in [1, 2] {
        assert_eq!(ended(&cluster, BrokerId(node)).await, 137);
    }
    // In the other order: addresses that followed the order of starting would be swapped now, and the quorum lost.
    for node in [2, 1] {
        cluster.start(BrokerId(node)).await.unwrap();
    }
    cluster.ready(&up_options()).await.unwrap();
    assert_eq!(cluster.bootstrap(), before);

    let folder = tempfile::tempdir().unwrap();
    let saved = cluster.save_logs(&folder.path().join("logs")).await.unwrap();
    let names: Vec<_> = saved.iter().map(|log| log.path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["broker-1.log", "broker-2.log", "broker-3.log"]);
    let text = std::fs::read_to_string(&saved[0].path).unwrap();
    assert!(text.matches("Kafka Server started").count() >= 2, "the log spans both lives of the node");
    down(&cluster).await;
}
