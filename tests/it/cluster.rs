//! Clusters on the real engine: up, ready, down, what can be done to a node, and that nothing is ever left behind.

mod ending;
mod idempotence;
mod links;
mod nodes;
mod starting;

use std::process::Command;
use std::time::Duration;

use kafka_chaos::cluster::daemon::Daemon;
use kafka_chaos::cluster::{Cluster, DockerCluster, NodeState, inventory};
use kafka_chaos::ids::BrokerId;
use kafka_chaos::plan::model::Layout;

const ONE_NODE: Layout = Layout::Combined { nodes: 1 };
const THREE_NODES: Layout = Layout::Combined { nodes: 3 };

async fn assert_nothing_left(run: &str) {
    let left = inventory::of_run(&Daemon::connect().await.unwrap(), run).await.unwrap();
    assert_eq!(left, inventory::RunObjects::default());
}

/// Takes a cluster down in order, and looks.
async fn down(cluster: &DockerCluster) {
    cluster.down().await.unwrap();
    assert_nothing_left(cluster.run_id().as_str()).await;
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

/// The program.
fn chaos() -> Command {
    Command::new(env!("CARGO_BIN_EXE_chaos"))
}
