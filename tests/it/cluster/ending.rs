//! Starts that fail or are broken off, and owners that die: nothing is left, and nothing of others is touched.

use std::collections::HashMap;
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bollard::Docker;
use bollard::models::ContainerCreateBody;
use bollard::query_parameters::{CreateContainerOptionsBuilder, InspectContainerOptions, RemoveContainerOptionsBuilder};
use kafka_chaos::cluster::daemon::Daemon;
use kafka_chaos::cluster::janitor::{self, Fate};
use kafka_chaos::cluster::{Cluster, ClusterError, DockerCluster, NodeState, Progress, UpOptions, image, inventory};
use kafka_chaos::ids::BrokerId;
use kafka_chaos::plan::model::{ClusterSpec, NetworkMode};

use super::{ONE_NODE, THREE_NODES, assert_nothing_left, chaos, down};
use crate::program::signal;
use crate::support::{self, KAFKA, cluster_spec, run_id, up_options};

/// Options that take one of the chosen ports away, the first time, after it was found free.
fn thief(stolen: &Arc<Mutex<Option<TcpListener>>>) -> UpOptions {
    let stolen = Arc::clone(stolen);
    let progress = move |progress: Progress| {
        eprintln!("{progress}");
        let mut stolen = stolen.lock().unwrap();
        if let (Progress::PortsChosen { ports }, None) = (&progress, &*stolen) {
            *stolen = Some(TcpListener::bind(("127.0.0.1", ports[0])).unwrap());
        }
    };
    UpOptions { progress: Arc::new(progress), ..up_options() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_is_taken_in_the_last_moment_is_replaced() {
    let Some(_guard) = support::brokers().await else { return };
    for network in [NetworkMode::Bridge, NetworkMode::Host] {
        let stolen = Arc::new(Mutex::new(None));
        let spec = ClusterSpec { network, ..cluster_spec(KAFKA, ONE_NODE) };
        let cluster = DockerCluster::up(&spec, &run_id("port"), &thief(&stolen)).await.unwrap();
        let taken = stolen.lock().unwrap().as_ref().unwrap().local_addr().unwrap().port();
        assert_ne!(cluster.bootstrap()[0].port, taken, "{network:?}");
        down(&cluster).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_is_broken_off_leaves_nothing() {
    let Some(_guard) = support::brokers().await else { return };
    let (spec, run) = (cluster_spec(KAFKA, THREE_NODES), run_id("cancelled"));
    for after in [Duration::from_millis(100), Duration::from_millis(700), Duration::from_secs(3)] {
        assert!(tokio::time::timeout(after, DockerCluster::up(&spec, &run, &up_options())).await.is_err(), "too fast to be cancelled");
        assert_nothing_left(run.as_str()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_ends_while_starting_is_told_with_its_last_words() {
    let Some(_guard) = support::brokers().await else { return };
    let mut spec = cluster_spec(KAFKA, ONE_NODE);
    spec.config.insert("num.io.threads".into(), "many".into());
    let run = run_id("broken");
    let folder = tempfile::tempdir().unwrap();
    let options = UpOptions { logs_on_failure: Some(folder.path().to_owned()), ..up_options() };
    let error = DockerCluster::up(&spec, &run, &options).await.unwrap_err();
    assert!(matches!(error, ClusterError::NodeEnded { node: BrokerId(1), .. }), "{error}");
    assert!(error.to_string().contains("num.io.threads"), "{error}");
    assert!(std::fs::read_to_string(folder.path().join("broker-1.log")).unwrap().contains("num.io.threads"));
    assert_nothing_left(run.as_str()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_image_is_told_with_the_command_that_builds_it() {
    let Some(_guard) = support::brokers().await else { return };
    let options = UpOptions { pull_within: Duration::from_secs(5), ..up_options() };
    let error = DockerCluster::up(&cluster_spec("0.0.1", ONE_NODE), &run_id("image"), &options).await.unwrap_err();
    assert!(matches!(error, ClusterError::ImageMissing { .. }), "{error}");
    assert!(error.to_string().contains("make image KAFKA=0.0.1"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_is_dropped_or_panicked_over_is_removed() {
    let Some(_guard) = support::brokers().await else { return };
    let run = run_id("panic");
    let cluster = DockerCluster::up(&cluster_spec(KAFKA, ONE_NODE), &run, &up_options()).await.unwrap();
    // Paused: the hardest to remove.
    cluster.pause(BrokerId(1)).await.unwrap();
    let panicked = tokio::spawn(async move {
        let _cluster = cluster;
        panic!("as planned");
    });
    assert!(panicked.await.is_err());
    assert_nothing_left(run.as_str()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_while_starting_leaves_nothing() {
    let Some(_guard) = support::brokers().await else { return };
    for name in ["INT", "TERM"] {
        let child = chaos().args(["cluster", "up", "--kafka", KAFKA]).stdout(Stdio::null()).spawn().unwrap();
        let run = run_owned_by(child.id()).await;
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{name}");
        assert_nothing_left(&run).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_a_dead_owner_has_left_is_cleaned() {
    let Some(_guard) = support::brokers().await else { return };
    let stranger = Stranger::start().await;
    let living = DockerCluster::up(&cluster_spec(KAFKA, ONE_NODE), &run_id("living"), &up_options()).await.unwrap();

    // The command would keep it; but a start that was killed has kept nothing.
    let mut child = chaos().args(["cluster", "up", "--kafka", KAFKA]).stdout(Stdio::null()).spawn().unwrap();
    let orphan = run_owned_by(child.id()).await;
    let daemon = Daemon::connect().await.unwrap();
    assert_eq!(janitor::fate_of(&inventory::of_run(&daemon, &orphan).await.unwrap()), Fate::InUse);
    child.kill().unwrap();
    child.wait().unwrap();
    let runs = inventory::all(&daemon).await.unwrap();
    assert_eq!(janitor::fate_of(&runs[&orphan]), Fate::Leftover);
    assert_eq!(janitor::fate_of(&runs[living.run_id().as_str()]), Fate::InUse);

    let said = |arguments: &[&str]| String::from_utf8(chaos().args(arguments).output().unwrap().stdout).unwrap();
    let dry = said(&["clean", "--dry-run"]);
    assert!(dry.contains(&format!("{orphan}: left over")) && dry.contains("would remove"), "{dry}");
    let cleaned = said(&["clean"]);
    assert!(cleaned.contains(&format!("{}: in use; left alone", living.run_id())), "{cleaned}");
    assert_nothing_left(&orphan).await;
    assert_eq!(living.state(BrokerId(1)).await.unwrap(), NodeState::Running);
    assert!(stranger.is_there().await, "a container without our label was touched");
    down(&living).await;
    stranger.remove().await;
}

/// The run that a process has begun to make, once its first container is there.
async fn run_owned_by(pid: u32) -> String {
    let daemon = Daemon::connect().await.unwrap();
    for _ in 0..200 {
        let runs = inventory::all(&daemon).await.unwrap();
        let mut owned = runs.into_iter().filter(|(_, objects)| objects.owner().is_some_and(|owner| owner.pid == pid));
        if let Some((run, _)) = owned.find(|(_, objects)| !objects.containers.is_empty()) {
            return run;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("process {pid} has made no container within 10 s");
}

/// A container that is not ours.
struct Stranger {
    docker: Docker,
    name: String,
}

impl Stranger {
    async fn start() -> Self {
        let docker = Docker::connect_with_defaults().unwrap().negotiate_version().await.unwrap();
        let name = format!("stranger-{}", std::process::id());
        let named = CreateContainerOptionsBuilder::new().name(&name).build();
        let image = image::find(&Daemon::connect().await.unwrap(), KAFKA).await.unwrap();
        let labels = HashMap::from([("io.kafka-chaos.node".to_owned(), "1".to_owned())]);
        let request = ContainerCreateBody { image, labels: Some(labels), ..ContainerCreateBody::default() };
        docker.create_container(Some(named), request).await.unwrap();
        Self { docker, name }
    }

    async fn is_there(&self) -> bool {
        self.docker.inspect_container(&self.name, None::<InspectContainerOptions>).await.is_ok()
    }

    async fn remove(self) {
        let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        self.docker.remove_container(&self.name, Some(options)).await.unwrap();
    }
}
