//! The controller's log on real clusters: what the tail tells is what Kafka's own tool prints, whoever leads, and soon.

pub(crate) mod dump;
pub(crate) mod seen;

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_chaos::clock::Clock;
use kafka_chaos::cluster::{Cluster, DockerCluster};
use kafka_chaos::ids::{BrokerId, PartitionIndex, TopicName};
use kafka_chaos::kafka::admin::{Admin, NewTopic, Placement};
use kafka_chaos::kafka::net::traffic::Traffic;
use kafka_chaos::kafka::raft::TailRecord;
use kafka_chaos::kafka::raft::image::{Change, Image};
use kafka_chaos::plan::model::{ClusterSpec, Layout};

use self::seen::{Seen, SeenRecord};
use crate::support::{self, KAFKA, cluster_spec, run_id, up_options};

const THREE_NODES: Layout = Layout::Combined { nodes: 3 };

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

#[tokio::test(flavor = "multi_thread")]
async fn the_tail_tells_what_kafkas_own_tool_prints_whoever_leads() {
    let Some(_guard) = support::brokers().await else { return };
    let sessions = [("broker.session.timeout.ms", "3000"), ("broker.heartbeat.interval.ms", "500")];
    let cluster = DockerCluster::up(&spec(THREE_NODES, &sessions), &run_id("tail"), &up_options()).await.unwrap();
    let (clock, traffic, admin) = (Clock::real(), Traffic::default(), admin_of(&cluster));
    let (seen, tail) = Seen::start(&cluster, &clock, &traffic, true);
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
    let followed: Vec<_> = seen.followed().into_iter().map(|(_, node, _)| node).collect();
    assert_eq!(followed[..3], [Some(first), None, Some(second)], "{:?}", seen.followed());
    eprintln!("truncated: {:?}, cost: {:?}, skipped: {:?}", seen.truncated(), traffic.take(), tail.skipped());
    assert_as_metadata(&seen.image(), &admin).await;
    tail.stop().await;
    seen.assert_sound();
    cluster.down().await.unwrap();
}

/// The image's partitions against a broker's answer to Metadata.
async fn assert_as_metadata(image: &Image, admin: &Admin) {
    let view = admin.metadata(None).await.unwrap();
    let told: BTreeMap<&TopicName, _> = view.topics.iter().map(|topic| (&topic.name, topic)).collect();
    assert_eq!(told.len(), image.topics().len());
    for (id, topic) in image.topics() {
        let told = told[&topic.name];
        assert_eq!((told.id, told.partitions.len()), (Some(*id), topic.partitions.len()));
        for (partition, (index, ours)) in told.partitions.iter().zip(&topic.partitions) {
            assert_eq!((partition.partition, partition.leader, partition.leader_epoch), (*index, ours.leader, Some(ours.leader_epoch)));
            assert_eq!((&partition.replicas, &partition.isr), (&ours.replicas, &ours.isr), "{}/{index}", topic.name);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_whose_beginning_is_gone_is_read_from_its_snapshot() {
    let Some(_guard) = support::brokers().await else { return };
    let snapshots = [("metadata.log.max.record.bytes.between.snapshots", "2000")];
    let cluster = DockerCluster::up(&spec(Layout::Combined { nodes: 1 }, &snapshots), &run_id("snapshot"), &up_options()).await.unwrap();
    let (clock, admin) = (Clock::real(), admin_of(&cluster));
    let (whole, first_tail) = Seen::start(&cluster, &clock, &Traffic::default(), true);
    for number in 0..20 {
        make_topic(&admin, &format!("topic-{number}"), 2, 1, &[("retention.ms", "1000")]).await;
    }
    whole.until("twenty topics", |image| image.topics().len() == 20).await;
    let (late, late_tail) = Seen::start(&cluster, &clock, &Traffic::default(), false);
    late.until("twenty topics", |image| image.topics().len() == 20).await;
    eprintln!("from the beginning: {:?}; later: {:?}", whole.images(), late.images());
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

/// Least, median and greatest of the distances from the controller's timestamp to the arrival of the commit, in ms.
fn distances(records: &[SeenRecord], clock: &Clock) -> [f64; 3] {
    let is_topic = |seen: &&SeenRecord| matches!(seen.record.change, Change::TopicMade { .. });
    let distance = |seen: &SeenRecord| clock.unix_time_of(seen.committed.unwrap()).as_secs_f64() * 1e3 - seen.record.timestamp_ms as f64;
    let mut distances: Vec<_> = records.iter().filter(is_topic).map(distance).collect();
    distances.sort_by(f64::total_cmp);
    assert!(distances.len() >= 30);
    [distances[0], distances[distances.len() / 2], distances[distances.len() - 1]]
}

/// Makes topics one by one.
async fn resolution(layout: Layout, properties: &[(&str, &str)]) -> [f64; 3] {
    let cluster = DockerCluster::up(&spec(layout, properties), &run_id("resolution"), &up_options()).await.unwrap();
    let (clock, admin) = (Clock::real(), admin_of(&cluster));
    let (seen, tail) = Seen::start(&cluster, &clock, &Traffic::default(), false);
    for number in 0..32 {
        make_topic(&admin, &format!("topic-{number}"), 1, 1, &[]).await;
    }
    seen.until("all topics", |image| image.topics().len() == 32).await;
    tail.stop().await;
    seen.assert_sound();
    cluster.down().await.unwrap();
    let distances = distances(&seen.records(), &clock);
    eprintln!("{layout:?} {properties:?}: a record is seen committed after {distances:.1?} ms (least, median, greatest)");
    distances
}

#[tokio::test(flavor = "multi_thread")]
async fn a_committed_record_is_seen_soon() {
    let Some(_guard) = support::brokers().await else { return };
    let [_, median_ms, _] = resolution(THREE_NODES, &[("controller.quorum.append.linger.ms", "0")]).await;
    assert!(median_ms <= 10.0, "{median_ms}");
    let [_, median_ms, _] = resolution(Layout::Dedicated { brokers: 1, controllers: 3 }, &[]).await;
    assert!(median_ms <= 40.0, "{median_ms}");
}
