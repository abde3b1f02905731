//! The controller's log on real clusters: what the tail tells is what Kafka's own tool prints, whoever leads, and soon.

mod dump;
mod resolution;
mod seen;

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_chaos::clock::Clock;
use kafka_chaos::cluster::{Cluster, DockerCluster};
use kafka_chaos::ids::{BrokerId, HostPort, PartitionIndex};
use kafka_chaos::kafka::admin::{Admin, NewTopic, Placement};
use kafka_chaos::kafka::net::traffic::Traffic;
use kafka_chaos::kafka::raft::image::{Change, Image};
use kafka_chaos::kafka::raft::{ImageReason, TailRecord};
use kafka_chaos::plan::model::{ClusterSpec, Layout};

use self::resolution::assert_committed_soon;
use self::seen::Seen;
use crate::support::{self, KAFKA, cluster_spec, run_id, up_options};

/// A small cluster with more properties.
fn spec(layout: Layout, properties: &[(&str, &str)]) -> ClusterSpec {
    let kafka = std::env::var("CHAOS_TEST_TAIL_KAFKA").unwrap_or_else(|_| KAFKA.to_owned());
    let mut spec = cluster_spec(&kafka, layout);
    spec.config.extend(properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    spec
}

fn admin_of(cluster: &DockerCluster) -> Admin {
    Admin::new(cluster.bootstrap(), "chaos-test", Clock::real())
}

fn controllers_of(cluster: &DockerCluster) -> Vec<HostPort> {
    cluster.nodes().iter().filter_map(|node| node.controller_listener.map(HostPort::from)).collect()
}

async fn make_topic(admin: &Admin, name: &str, partitions: u32, replication_factor: u16, config: &[(&str, &str)]) {
    let placement = Placement::Counted { partitions, replication_factor };
    let config: BTreeMap<_, _> = config.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    admin.create_topics(&[NewTopic { name: name.into(), placement, config }]).await.unwrap();
}

fn is_fenced(image: &Image, node: BrokerId) -> bool {
    image.brokers().get(&node).is_some_and(|broker| broker.is_fenced)
}

fn leads(image: &Image, node: BrokerId) -> bool {
    image.topics().values().flat_map(|topic| topic.partitions.values()).any(|partition| partition.leader == Some(node))
}

/// What was told and is committed.
fn committed(seen: &Seen) -> Vec<TailRecord> {
    seen.records().into_iter().take_while(|seen| seen.committed.is_some()).map(|seen| seen.record).collect()
}

/// Fails unless records of all kinds were compared that follow from what plans do.
fn assert_all_kinds(compared: &BTreeMap<String, usize>) {
    for kind in [
        "REGISTER_BROKER_RECORD",
        "TOPIC_RECORD",
        "PARTITION_RECORD",
        "PARTITION_CHANGE_RECORD",
        "REMOVE_TOPIC_RECORD",
        "BROKER_REGISTRATION_CHANGE_RECORD",
        "CONFIG_RECORD",
        "FEATURE_LEVEL_RECORD",
        "NO_OP_RECORD",
        "LeaderChange",
    ] {
        assert!(compared.contains_key(kind), "no {kind} was told");
    }
}

/// Reads the whole log of a cluster that others have changed, and compares it with what Kafka's own tool prints of it in this container. Then
/// sees how soon more is told, where the controller writes at once.
pub(crate) async fn assert_as_dumped(bootstrap: HostPort, controller: HostPort, container: &str) {
    let (clock, traffic) = (Clock::real(), Traffic::default());
    let dumped = dump::dumped(container);
    let (first, last) = (*dumped.first_key_value().unwrap().0, *dumped.last_key_value().unwrap().0);
    let (seen, tail) = Seen::start(vec![controller], &clock, &traffic, true);
    seen.until_offset(last).await;
    let told: Vec<TailRecord> = committed(&seen).into_iter().take_while(|record| record.offset <= last).collect();
    assert_eq!((told[0].offset, told.last().unwrap().offset), (first, last), "the whole log");
    let compared = dump::assert_equal(&told, &dumped);
    eprintln!("{} records compared: {compared:?}", told.len());
    assert_all_kinds(&compared);
    let admin = Admin::new(vec![bootstrap], "chaos-test", clock.clone());
    assert_committed_soon(&seen, &admin, &clock, "linger 0", 10.0).await;
    tail.stop().await;
    seen.assert_sound();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tail_tells_what_kafkas_own_tool_prints_whoever_leads() {
    let Some(_guard) = support::brokers().await else { return };
    let sessions = [("broker.session.timeout.ms", "3000"), ("broker.heartbeat.interval.ms", "500")];
    let cluster = DockerCluster::up(&spec(Layout::Combined { nodes: 3 }, &sessions), &run_id("tail"), &up_options()).await.unwrap();
    let (clock, traffic, admin) = (Clock::real(), Traffic::default(), admin_of(&cluster));
    let (seen, tail) = Seen::start(controllers_of(&cluster), &clock, &traffic, true);
    make_topic(&admin, "orders", 3, 3, &[("min.insync.replicas", "2")]).await;
    make_topic(&admin, "other", 2, 2, &[]).await;
    seen.until("two topics", |image| image.topics().len() == 2).await;

    let first = admin.describe_quorum().await.unwrap().leader;
    cluster.kill(first).await.unwrap();
    seen.until("the killed controller is fenced", |image| is_fenced(image, first) && !leads(image, first)).await;
    admin.create_partitions(&"orders".into(), 5).await.unwrap();
    cluster.start(first).await.unwrap();
    seen.until("it is back", |image| !is_fenced(image, first) && image.brokers().len() == 3).await;

    let second = admin.describe_quorum().await.unwrap().leader;
    assert_ne!(first, second, "another node leads now");
    let stopped = [1, 2, 3].map(BrokerId).into_iter().find(|node| ![first, second].contains(node)).unwrap();
    cluster.stop(stopped, Duration::from_secs(30)).await.unwrap();
    let is_stopping = |change: &Change| matches!(change, Change::BrokerChanged { after, .. } if after.in_controlled_shutdown);
    seen.until_change("a graceful stop", is_stopping).await;
    admin.delete_topics(&["other".into()]).await.unwrap();
    seen.until("one topic is left", |image| image.topics().len() == 1).await;

    let told = committed(&seen);
    assert_eq!(told[0].offset, 0, "the log has its beginning");
    let compared = dump::assert_equal(&told, &dump::dumped(&cluster.run_id().container_name(second)));
    eprintln!("{} records compared: {compared:?}", told.len());
    assert_all_kinds(&compared);
    let followed: Vec<_> = seen.followed().into_iter().map(|(_, node, _)| node).collect();
    assert_eq!(followed[..3], [Some(first), None, Some(second)], "{:?}", seen.followed());
    eprintln!("truncated: {:?}, cost: {:?}, skipped: {:?}", seen.truncated(), traffic.take(), tail.skipped());
    assert_as_metadata(&seen.image(), &admin).await;
    tail.stop().await;
    seen.assert_sound();
    cluster.down().await.unwrap();
}

/// Waits until a broker's answer to Metadata shows the image's partitions: its cache comes later.
async fn assert_as_metadata(image: &Image, admin: &Admin) {
    let ours = image.topics().iter().flat_map(|(id, topic)| topic.partitions.iter().map(move |(index, of)| (id, topic, index, of)));
    let mut ours: Vec<_> = ours
        .map(|(id, topic, index, of)| {
            (topic.name.clone(), Some(*id), *index, of.leader, Some(of.leader_epoch), of.replicas.clone(), of.isr.clone())
        })
        .collect();
    ours.sort();
    let mut theirs = Vec::new();
    for _ in 0..100 {
        let view = admin.metadata(None).await.unwrap();
        let partitions = view.topics.iter().flat_map(|topic| topic.partitions.iter().map(move |of| (topic, of)));
        theirs = partitions
            .map(|(topic, of)| {
                (topic.name.clone(), topic.id, of.partition, of.leader, of.leader_epoch, of.replicas.clone(), of.isr.clone())
            })
            .collect();
        theirs.sort();
        if theirs == ours {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(theirs, ours, "after 10 s");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_whose_beginning_is_gone_is_read_from_its_snapshot() {
    let Some(_guard) = support::brokers().await else { return };
    let snapshots = [("metadata.log.max.record.bytes.between.snapshots", "2000")];
    let cluster = DockerCluster::up(&spec(Layout::Combined { nodes: 1 }, &snapshots), &run_id("snapshot"), &up_options()).await.unwrap();
    let (clock, admin) = (Clock::real(), admin_of(&cluster));
    let (whole, first_tail) = Seen::start(controllers_of(&cluster), &clock, &Traffic::default(), true);
    assert_committed_soon(&whole, &admin, &clock, "linger 25 ms, as it is unless set", 40.0).await;
    let made = whole.image().topics().len();
    let (late, late_tail) = Seen::start(controllers_of(&cluster), &clock, &Traffic::default(), false);
    late.until("all topics", |image| image.topics().len() == made).await;
    eprintln!("from the beginning: {:?}; later: {:?}", whole.images(), late.images());
    // Before 4.0 a log that has its beginning still is read from there, whatever snapshots there are.
    let has_snapshots_first = !cluster.image().contains(":3.");
    assert_eq!(late.images()[0].0, if has_snapshots_first { ImageReason::Snapshot } else { ImageReason::First });
    make_topic(&admin, "one-more", 1, 1, &[]).await;
    let has_one_more =
        |image: &Image| image.topic(&"one-more".into()).is_some_and(|(_, topic)| topic.partitions.contains_key(&PartitionIndex(0)));
    whole.until("one more topic", has_one_more).await;
    late.until("one more topic", has_one_more).await;
    assert_eq!(whole.image(), late.image());
    assert_as_metadata(&late.image(), &admin).await;
    for (tail, seen) in [(first_tail, whole), (late_tail, late)] {
        tail.stop().await;
        seen.assert_sound();
    }
    cluster.down().await.unwrap();
}
