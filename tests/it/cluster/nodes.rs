//! What can be done to a node.

use std::time::Duration;

use kafka_chaos::clock::Clock;
use kafka_chaos::cluster::{Cluster, DockerCluster, NodeState};
use kafka_chaos::ids::BrokerId;
use kafka_chaos::kafka::admin::{Admin, AdminError, RpcError};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

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
async fn a_node_leaves_its_network_and_comes_back_as_itself() {
    let Some(_guard) = support::brokers().await else { return };
    let cluster = DockerCluster::up(&cluster_spec(KAFKA, THREE_NODES), &run_id("off"), &up_options()).await.unwrap();
    let (node, clock) = (BrokerId(2), Clock::real());
    let listener = cluster.bootstrap()[1].clone();
    let admin = Admin::new(vec![], "test", clock.clone()).with_call_timeout(Duration::from_secs(2));
    let mut open = TcpStream::connect(("127.0.0.1", listener.port)).await.unwrap();
    assert!(cluster.connect(node).await.is_err(), "it is on its network");

    cluster.disconnect(node).await.unwrap();
    assert_eq!((cluster.state(node).await.unwrap(), cluster.is_connected(node).await.unwrap()), (NodeState::Disconnected, false));
    assert!(cluster.disconnect(node).await.is_err(), "a second time changes nothing");
    assert_eq!(cluster.usage(node).await.unwrap().rx_bytes_total, None, "the interface and its counts are gone");
    let cut = tokio::time::timeout(Duration::from_secs(2), open.read_u8()).await;
    assert!(cut.is_ok_and(|read| read.is_err()), "the engine ends connections through the published port");
    let refused = admin.api_versions(&listener).await.unwrap_err();
    assert!(matches!(&refused, AdminError::Rpc(RpcError::Connect { .. })), "{refused}");
    // Also a process that starts there is off the network.
    cluster.kill(node).await.unwrap();
    assert_eq!(ended(&cluster, node).await, 137);
    cluster.start(node).await.unwrap();
    assert_eq!(cluster.state(node).await.unwrap(), NodeState::Disconnected);

    cluster.connect(node).await.unwrap();
    assert_eq!((cluster.state(node).await.unwrap(), cluster.is_connected(node).await.unwrap()), (NodeState::Running, true));
    cluster.ready(&up_options()).await.unwrap();
    assert_eq!(cluster.bootstrap()[1], listener);
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
    let saved = cluster.save_logs(&folder.path().join("logs")).await.unwrap().logs;
    let names: Vec<_> = saved.iter().map(|log| log.path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["broker-1.log", "broker-2.log", "broker-3.log"]);
    let text = std::fs::read_to_string(&saved[0].path).unwrap();
    assert!(text.matches("Kafka Server started").count() >= 2, "the log spans both lives of the node");
    down(&cluster).await;
}
