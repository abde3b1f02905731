//! Compressed batches on a real broker: it takes them, and Kafka's own tool reads what was sent.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kafka_chaos::clock::{Clock, Moment};
use kafka_chaos::cluster::DockerCluster;
use kafka_chaos::ids::{BrokerId, HostPort, TopicName};
use kafka_chaos::kafka::admin::{Admin, NewTopic, Placement};
use kafka_chaos::kafka::core::config::ProducerConfig;
use kafka_chaos::kafka::event::{BatchDelivery, ClientEvent, ClientObserver, Outcome};
use kafka_chaos::kafka::net::producer::{Producer, Record};
use kafka_chaos::plan::model::Layout;

use crate::support::{self, KAFKA, cluster_spec, run_id, up_options};

/// Records per codec.
const RECORDS: u64 = 2_000;

/// Counts records by outcome, and keeps what went wrong.
#[derive(Debug, Default)]
struct Outcomes {
    ok: Mutex<usize>,
    others: Mutex<Vec<String>>,
}

impl ClientObserver for Outcomes {
    fn event(&self, _: Moment, _: &ClientEvent) {}

    fn delivered(&self, _: Moment, delivery: &BatchDelivery<'_>) {
        match delivery.outcome {
            Outcome::Ok { .. } => *self.ok.lock().unwrap() += delivery.records.len(),
            other => self.others.lock().unwrap().push(format!("{other:?}")),
        }
    }
}

fn value_of(mark: u64) -> String {
    format!("record {mark} of many that look alike, so that there is something to compress")
}

async fn produce(bootstrap: Vec<HostPort>, topic: &TopicName, properties: &[(&str, &str)]) {
    let properties = properties.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let (config, clock, outcomes) = (ProducerConfig::from_properties(&properties).unwrap(), Clock::real(), Arc::new(Outcomes::default()));
    let producer = Producer::start(config, bootstrap, "codecs", clock, 1, Arc::<Outcomes>::clone(&outcomes));
    for mark in 0..RECORDS {
        let value = value_of(mark);
        let record =
            Record { topic, partition: None, key: None, value: value.as_bytes(), timestamp_ms: 1_700_000_000_000, mark, number: mark };
        producer.send(&record).await.unwrap();
    }
    producer.close(Duration::from_secs(30)).await;
    assert_eq!(*outcomes.others.lock().unwrap(), Vec::<String>::new(), "{topic}");
    assert_eq!(*outcomes.ok.lock().unwrap() as u64, RECORDS, "{topic}");
}

/// The topic's only segment as `kafka-dump-log.sh` tells it, every record decompressed.
fn dumped(container: &str, topic: &TopicName) -> String {
    // What `find` says of itself means nothing: processes come and go below /proc while it looks.
    let script = format!(
        "file=$(find / -name 00000000000000000000.log -path '*/{topic}-0/*' 2>/dev/null); [ -n \"$file\" ] && \
         /opt/kafka/bin/kafka-dump-log.sh --deep-iteration --print-data-log --files $file"
    );
    let output = Command::new("docker").args(["exec", container, "/bin/sh", "-c", &script]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_takes_every_codec_and_kafkas_own_tool_reads_it() {
    let Some(_guard) = support::brokers().await else { return };
    let cluster = DockerCluster::up(&cluster_spec(KAFKA, Layout::Combined { nodes: 1 }), &run_id("codecs"), &up_options()).await.unwrap();
    let admin = Admin::new(cluster.bootstrap(), "codecs-admin", Clock::real());
    let mut rows = vec![
        ("none", "NONE", vec![("compression.type", "none")]),
        ("gzip", "GZIP", vec![("compression.type", "gzip")]),
        ("gzip-9", "GZIP", vec![("compression.type", "gzip"), ("compression.gzip.level", "9")]),
        ("snappy", "SNAPPY", vec![("compression.type", "snappy"), ("batch.size", "200000"), ("linger.ms", "500")]),
        ("lz4", "LZ4", vec![("compression.type", "lz4"), ("batch.size", "200000"), ("linger.ms", "500")]),
    ];
    if cfg!(feature = "zstd") {
        rows.push(("zstd", "ZSTD", vec![("compression.type", "zstd")]));
    }
    let container = cluster.run_id().container_name(BrokerId(1));
    for (name, codec, properties) in rows {
        let topic = TopicName::from(name);
        let placement = Placement::Counted { partitions: 1, replication_factor: 1 };
        admin.create_topics(&[NewTopic { name: topic.clone(), placement, config: Default::default() }]).await.unwrap();
        produce(cluster.bootstrap(), &topic, &properties).await;
        let text = dumped(&container, &topic);
        let batches: Vec<&str> = text.lines().filter(|line| line.starts_with("baseOffset:")).collect();
        assert!(
            !batches.is_empty() && batches.iter().all(|batch| batch.to_uppercase().contains(&format!("COMPRESSCODEC: {codec}"))),
            "{batches:?}"
        );
        assert!(batches.iter().all(|batch| batch.contains("isvalid: true")), "{batches:?}");
        let payloads: Vec<&str> = text.lines().filter_map(|line| line.split_once("payload: ").map(|(_, payload)| payload)).collect();
        let expected: Vec<String> = (0..RECORDS).map(value_of).collect();
        assert_eq!(payloads, expected, "{name}");
        let bytes: usize = batches.iter().filter_map(|batch| batch.split("size: ").nth(1)?.split(' ').next()?.parse::<usize>().ok()).sum();
        eprintln!("{name}: {} batches, {bytes} bytes", batches.len());
    }
    cluster.down().await.unwrap();
}
