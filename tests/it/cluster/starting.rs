//! Starts that end well, in each shape.

use kafka_chaos::cluster::daemon::Daemon;
use kafka_chaos::cluster::{Cluster, DockerCluster, NodeState, image};
use kafka_chaos::ids::BrokerId;
use kafka_chaos::plan::model::{ClusterSpec, Layout, NetworkMode};

use super::{ONE_NODE, THREE_NODES, chaos, down};
use crate::support::{self, KAFKA, cluster_spec, run_id, up_options};

#[tokio::test(flavor = "multi_thread")]
async fn three_combined_nodes_come_up_and_leave_nothing() {
    let Some(_guard) = support::brokers().await else { return };
    let cluster = DockerCluster::up(&cluster_spec(KAFKA, THREE_NODES), &run_id("combined"), &up_options()).await.unwrap();
    assert_eq!(cluster.bootstrap().len(), 3);
    for node in cluster.nodes() {
        assert!(node.is_broker && node.is_controller);
        assert_eq!(cluster.state(node.id).await.unwrap(), NodeState::Running);
    }
    down(&cluster).await;
    // A second time changes nothing.
    cluster.down().await.unwrap();
    assert_eq!(cluster.state(BrokerId(1)).await.unwrap(), NodeState::Absent);
}

#[tokio::test(flavor = "multi_thread")]
async fn older_versions_come_up_too() {
    let Some(_guard) = support::brokers().await else { return };
    let daemon = Daemon::connect().await.unwrap();
    let versions = std::env::var("CHAOS_TEST_KAFKA_VERSIONS").unwrap_or_else(|_| "3.9.2 4.0.2".to_owned());
    for version in versions.split_whitespace().filter(|version| *version != KAFKA) {
        assert!(image::find(&daemon, version).await.unwrap().is_some(), "no image of Kafka {version}: make image KAFKA={version}");
        let spec = cluster_spec(version, Layout::Dedicated { brokers: 2, controllers: 1 });
        let cluster = DockerCluster::up(&spec, &run_id("older"), &up_options()).await.unwrap();
        down(&cluster).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dedicated_controller_is_no_broker() {
    let Some(_guard) = support::brokers().await else { return };
    let spec = cluster_spec(KAFKA, Layout::Dedicated { brokers: 3, controllers: 1 });
    let cluster = DockerCluster::up(&spec, &run_id("dedicated"), &up_options()).await.unwrap();
    assert_eq!(cluster.bootstrap().len(), 3);
    let controller = &cluster.nodes()[3];
    assert!(controller.is_controller && !controller.is_broker && controller.client_listener.is_none());
    assert!(cluster.nodes()[..3].iter().all(|node| node.is_broker && node.controller_listener.is_none()));
    let stream = tokio::net::TcpStream::connect(controller.controller_listener.unwrap()).await;
    assert!(stream.is_ok(), "the controller's listener is published");
    down(&cluster).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hosts_network_needs_no_published_ports() {
    let Some(_guard) = support::brokers().await else { return };
    for layout in [THREE_NODES, Layout::Dedicated { brokers: 1, controllers: 1 }] {
        let spec = ClusterSpec { network: NetworkMode::Host, ..cluster_spec(KAFKA, layout) };
        let cluster = DockerCluster::up(&spec, &run_id("host"), &up_options()).await.unwrap();
        down(&cluster).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_cluster_is_mended_and_used_again() {
    let Some(_guard) = support::brokers().await else { return };
    // Made by another process: one's own cluster counts as in use.
    let setting = "broker.session.timeout.ms=9000";
    let output = chaos().args(["cluster", "up", "--kafka", KAFKA, "--nodes", "3", "--set", setting]).output().unwrap();
    assert!(output.status.success(), "{output:?}");

    let spec = cluster_spec(KAFKA, THREE_NODES);
    let cluster = DockerCluster::attach(&spec, &up_options()).await.unwrap().expect("the kept cluster fits");
    assert!(cluster.is_kept());
    cluster.kill(BrokerId(1)).await.unwrap();
    cluster.pause(BrokerId(2)).await.unwrap();
    let run = cluster.run_id().to_string();
    drop(cluster);

    let other = ClusterSpec { heap_bytes: spec.heap_bytes + (1 << 20), ..spec.clone() };
    assert!(DockerCluster::attach(&other, &up_options()).await.unwrap().is_none(), "another spec does not fit");
    let again = DockerCluster::attach(&spec, &up_options()).await.unwrap().expect("it was left as it was");
    assert_eq!(again.run_id().as_str(), run);
    for node in again.nodes() {
        assert_eq!(again.state(node.id).await.unwrap(), NodeState::Running);
    }
    again.down().await.unwrap();
    assert_eq!(again.state(BrokerId(1)).await.unwrap(), NodeState::Running, "a kept cluster is left");

    let output = chaos().args(["cluster", "down", &run]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    super::assert_nothing_left(&run).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_request_log_brokers_name_clients_and_requests() {
    let Some(_guard) = support::brokers().await else { return };
    let options = kafka_chaos::cluster::UpOptions { request_log: true, ..up_options() };
    let cluster = DockerCluster::up(&cluster_spec(KAFKA, ONE_NODE), &run_id("requests"), &options).await.unwrap();
    let log = String::from_utf8(cluster.logs(BrokerId(1)).await.unwrap()).unwrap();
    assert!(log.lines().any(|line| line.contains("chaos-admin") && line.contains("METADATA")), "the readiness check's own requests");
    down(&cluster).await;
}
