//! Nothing twice: what a rolling kill under load leaves in the log of an idempotent producer, counted by the brokers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kafka_chaos::clock::{Clock, Moment};
use kafka_chaos::cluster::{Cluster, DockerCluster};
use kafka_chaos::ids::{BrokerId, LeaderEpoch, PartitionIndex, TopicName, TopicPartition};
use kafka_chaos::kafka::admin::{Admin, End, NewTopic, Placement};
use kafka_chaos::kafka::core::config::ProducerConfig;
use kafka_chaos::kafka::event::{BatchDelivery, ClientEvent, ClientObserver, Outcome};
use kafka_chaos::kafka::net::producer::{Producer, Record};

use super::{THREE_NODES, down, ended};
use crate::support::{self, KAFKA, cluster_spec, run_id, up_options};

const PARTITIONS: u32 = 6;

#[derive(Debug, Default)]
struct Counts {
    ok: AtomicU64,
    /// How often batches came back to be sent again: partition, node and code, with the first and the last moment.
    retried: Mutex<BTreeMap<String, (u64, Moment, Moment)>>,
    /// A line for each batch that was not acknowledged: its partition, its records, its sends, its outcome.
    lost: Mutex<Vec<String>>,
}

impl ClientObserver for Counts {
    fn event(&self, at: Moment, event: &ClientEvent) {
        if let ClientEvent::BatchError { retried: true, partition, node, code, .. } = event {
            let mut retried = self.retried.lock().unwrap();
            let (count, _, last) = retried.entry(format!("{partition} on {node}: {code}")).or_insert((0, at, at));
            (*count, *last) = (*count + 1, at);
        }
    }

    fn delivered(&self, _at: Moment, delivery: &BatchDelivery<'_>) {
        let records = delivery.records.len() as u64;
        if matches!(delivery.outcome, Outcome::Ok { .. }) {
            self.ok.fetch_add(records, Ordering::Relaxed);
        } else {
            let BatchDelivery { partition, sends, outcome, .. } = delivery;
            self.lost.lock().unwrap().push(format!("partition {partition}: {records} records, {sends} sends, {outcome:?}"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_kill_leaves_every_acknowledged_record_once() {
    let Some(_guard) = support::brokers().await else { return };
    let cluster = DockerCluster::up(&cluster_spec(KAFKA, THREE_NODES), &run_id("nothing-twice"), &up_options()).await.unwrap();
    let topic = TopicName::from("orders");
    let admin = Admin::new(cluster.bootstrap(), "test-admin", Clock::real());
    let config = BTreeMap::from([("min.insync.replicas".to_owned(), "2".to_owned())]);
    let placement = Placement::Counted { partitions: PARTITIONS, replication_factor: 3 };
    admin.create_topics(&[NewTopic { name: topic.clone(), placement, config }]).await.unwrap();

    // A leader that is only being made may refuse a first batch and take the second: the first is lost then (KAFKA-15591).
    let all_made = async {
        while ends(&cluster, &admin, &topic).await.len() < PARTITIONS as usize {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), all_made).await.expect("every partition has a leader that serves it");

    let counts = Arc::new(Counts::default());
    let observer: Arc<dyn ClientObserver> = Arc::<Counts>::clone(&counts);
    let producer = Producer::start(ProducerConfig::default(), cluster.bootstrap(), "twice", Clock::real(), 1, observer);
    let load = tokio::spawn(send_until_closed(producer.clone(), topic.clone()));
    for node in [1, 2, 3].map(BrokerId) {
        tokio::time::sleep(Duration::from_secs(2)).await;
        cluster.kill(node).await.unwrap();
        assert_eq!(ended(&cluster, node).await, 137);
        cluster.start(node).await.unwrap();
        cluster.ready(&up_options()).await.unwrap();
    }
    load.abort();
    producer.close(Duration::from_secs(60)).await;

    let ends = ends(&cluster, &admin, &topic).await;
    assert_eq!(ends.len(), PARTITIONS as usize, "every partition has a leader");
    let written = ends.values().map(|end| u64::try_from(*end).unwrap()).sum::<u64>();
    let (ok, lost, retried) =
        (counts.ok.load(Ordering::Relaxed), counts.lost.lock().unwrap().clone(), counts.retried.lock().unwrap().clone());
    eprintln!("{ok} ok, {written} written, sent again: {retried:?}");
    assert!(!retried.is_empty(), "kills under load cut batches off");
    assert!(ok > 1_000, "{ok} ok");
    assert_eq!(lost, [""; 0], "no record is lost: each is sent again until its delivery time is over");
    assert_eq!(written, ok, "each acknowledged record is in the log once, and nothing else is");
    down(&cluster).await;
}

async fn send_until_closed(producer: Producer, topic: TopicName) {
    let clock = Clock::real();
    for number in 0_u64.. {
        let value = number.to_be_bytes();
        // Brokers forget producers whose last record is older than a day.
        let timestamp_ms = i64::try_from(clock.unix_time_of(clock.now()).as_millis()).unwrap();
        let record = Record { topic: &topic, partition: None, key: Some(&value), value: &value, timestamp_ms, mark: number, number };
        producer.send(&record).await.unwrap();
        if number.is_multiple_of(10) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Where the partitions end, each by its leader's word: of its high watermark nobody else tells.
async fn ends(cluster: &DockerCluster, admin: &Admin, topic: &TopicName) -> BTreeMap<TopicPartition, i64> {
    let any_epoch = |index| (TopicPartition { topic: topic.clone(), partition: PartitionIndex(index) }, None::<LeaderEpoch>);
    let asked: Vec<_> = (0..PARTITIONS.cast_signed()).map(any_epoch).collect();
    let mut ends = BTreeMap::new();
    for broker in cluster.bootstrap() {
        ends.extend(admin.ends_of(&broker, End::HighWatermark, &asked).await.unwrap());
    }
    ends
}
