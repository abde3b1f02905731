//! The way of a record from `send` on: the part under the sender's hands (choose the partition, append 100 bytes), and handing it over to a
//! producer whose driver, and a broker in memory, work on the same thread.
//!
//! Per record, of which there are many per iteration: `time` divided by the elements. An iteration of the latter ends when its last record is
//! handed over, not with that one's outcome; what the driver has yet to do then falls into the next.

#![allow(missing_docs, clippy::unwrap_used, reason = "criterion's macros make public items; a benchmark may panic")]

mod support;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kafka_chaos::clock::{Clock, Moment};
use kafka_chaos::engine::{BURSTS_PER_TURN, RECORDS_PER_LOOK};
use kafka_chaos::kafka::core::accumulator::{Accumulator, Append, Appended};
use kafka_chaos::kafka::core::config::ProducerConfig;
use kafka_chaos::kafka::core::partitioner::partition_of_key;
use kafka_chaos::kafka::event::{BatchDelivery, ClientEvent, ClientObserver, RecordTag};
use kafka_chaos::kafka::net::producer::{Producer, Record, TrySendError};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

const PARTITIONS: i32 = 6;
const VALUE: [u8; 100] = [7; 100];

/// Records per iteration.
const RECORDS: u64 = 10_000;

/// Batch sizes: Java's default and librdkafka's.
const BATCH_BYTES: [(&str, usize); 2] = [("16_KiB_batches", 16_384), ("1_MB_batches", 1_000_000)];

fn choose_partition(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("send_path/partition_of_key");
    group.bench_function("8_bytes", |bench| bench.iter(|| partition_of_key(black_box(b"key-1234"), 6)));
    group.finish();
}

fn append(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("send_path/append");
    group.throughput(Throughput::Elements(RECORDS));
    let view = support::cluster::topic_view(PARTITIONS);
    let topic = support::broker::topic();
    for (name, batch_bytes) in BATCH_BYTES {
        let config = ProducerConfig { batch_bytes, ..ProducerConfig::default() };
        let mut accumulator = Accumulator::new(&config);
        let mut random = ChaCha8Rng::seed_from_u64(1);
        group.bench_function(name, |bench| {
            bench.iter(|| {
                for sequence in 0..RECORDS {
                    let tag = RecordTag { mark: sequence, number: sequence, sent_at: Moment(1) };
                    let record = Append { topic: &topic, partition: None, key: None, value: black_box(&VALUE), timestamp_ms: 1, tag };
                    let appended = accumulator.append(&record, &view, None, Moment(1), &mut random);
                    assert!(matches!(appended, Appended::Done { .. }), "there is memory for one iteration");
                }
                for batch in accumulator.take_all() {
                    accumulator.memory.give_back(batch.reserved_bytes);
                }
            });
        });
    }
    group.finish();
}

#[derive(Debug)]
struct Nobody;

impl ClientObserver for Nobody {
    fn event(&self, _at: Moment, _event: &ClientEvent) {}
    fn delivered(&self, _at: Moment, _delivery: &BatchDelivery<'_>) {}
}

/// One iteration's records.
async fn send(producer: &Producer, clock: &Clock) {
    let topic = support::broker::topic();
    let mut now = clock.now();
    for sequence in 0..RECORDS {
        if sequence % RECORDS_PER_LOOK as u64 == 0 {
            now = clock.now();
        }
        let record = Record { topic: &topic, partition: None, key: None, value: &VALUE, timestamp_ms: 1, mark: sequence, number: sequence };
        match producer.try_send(now, &record) {
            Ok(()) => {}
            Err(TrySendError::WouldBlock(_)) => producer.send(&record).await.unwrap(),
            Err(TrySendError::Failed(failure)) => panic!("{failure:?}"),
        }
        // As the engine's senders give way.
        if (sequence + 1) % (RECORDS_PER_LOOK * BURSTS_PER_TURN) as u64 == 0 {
            tokio::task::yield_now().await;
        }
    }
}

fn producer(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("send_path/producer");
    group.throughput(Throughput::Elements(RECORDS));
    for (name, batch_bytes) in BATCH_BYTES {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let clock = Clock::real();
        let properties = BTreeMap::from([("batch.size".to_owned(), batch_bytes.to_string())]);
        let config = ProducerConfig::from_properties(&properties).unwrap();
        let connector = support::broker::InMemory { partitions: PARTITIONS };
        let bootstrap = support::broker::bootstrap();
        let make = async { Producer::start_with(connector, config, bootstrap, "bench", clock.clone(), 1, Arc::new(Nobody)) };
        let producer = runtime.block_on(make);
        group.bench_function(name, |bench| bench.iter(|| runtime.block_on(send(&producer, &clock))));
    }
    group.finish();
}

criterion_group!(benches, choose_partition, append, producer);
criterion_main!(benches);
