//! Nothing twice: what a rolling kill under load leaves in the log of an idempotent producer, counted by the brokers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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
    not_ok: AtomicU64,
    retried: AtomicU64,
}

impl ClientObserver for Counts {
    fn event(&self, _at: Moment, event: &ClientEvent) {
        if let ClientEvent::BatchError { retried: true, .. } = event {
            self.retried.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn delivered(&self, _at: Moment, delivery: &BatchDelivery<'_>) {
        let counter = if matches!(delivery.outcome, Outcome::Ok { .. }) { &self.ok } else { &self.not_ok };
        counter.fetch_add(delivery.records.len() as u64, Ordering::Relaxed);
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

    let written = written(&cluster, &admin, &topic).await;
    let (ok, not_ok) = (counts.ok.load(Ordering::Relaxed), counts.not_ok.load(Ordering::Relaxed));
    eprintln!("{ok} ok, {not_ok} not, {written} written, {} batches sent again", counts.retried.load(Ordering::Relaxed));
    assert!(counts.retried.load(Ordering::Relaxed) > 0, "kills under load cut batches off");
    assert!(ok > 1_000 && not_ok == 0, "{ok} ok, {not_ok} not");
    assert_eq!(written, ok, "each acknowledged record is in the log once, and nothing else is");
    down(&cluster).await;
}

async fn send_until_closed(producer: Producer, topic: TopicName) {
    for number in 0_u64.. {
        let value = number.to_be_bytes();
        let record = Record { topic: &topic, partition: None, key: Some(&value), value: &value, timestamp_ms: 0, mark: number };
        producer.send(&record).await.unwrap();
        if number.is_multiple_of(10) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// The sum of the logs' ends, each by its leader's word.
async fn written(cluster: &DockerCluster, admin: &Admin, topic: &TopicName) -> u64 {
    let any_epoch = |index| (TopicPartition { topic: topic.clone(), partition: PartitionIndex(index) }, None::<LeaderEpoch>);
    let asked: Vec<_> = (0..PARTITIONS.cast_signed()).map(any_epoch).collect();
    let mut ends = BTreeMap::new();
    for broker in cluster.bootstrap() {
        ends.extend(admin.ends_of(&broker, End::LogEnd, &asked).await.unwrap());
    }
    assert_eq!(ends.len(), asked.len(), "every partition has a leader");
    ends.values().map(|end| u64::try_from(*end).unwrap()).sum()
}
