//! The producer's hot path in parts: reading the snapshot, choosing a partition, writing a batch.
//!
//! Run with `cargo bench`, or `cargo bench -- --test` to only see that they work.

#![allow(missing_docs, reason = "criterion's macros make public items")]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use kafka_chaos::ids::{BrokerId, HostPort, LeaderEpoch, PartitionIndex, TopicName, UpdateVersion};
use kafka_chaos::kafka::core::partitioner::partition_of_key;
use kafka_chaos::kafka::metadata::{PartitionView, Snapshot, SnapshotCell, TopicMap, TopicView};
use kafka_chaos::kafka::wire::batch::BatchBuilder;

fn snapshot(partitions: i32) -> Snapshot {
    let nodes: Vec<_> = (1..=3).map(|id| (BrokerId(id), HostPort::new("127.0.0.1", 9092))).collect();
    let replicas: Arc<[BrokerId]> = nodes.iter().map(|(id, _)| *id).collect();
    let partition = |index: i32| PartitionView {
        index: PartitionIndex(index),
        error: None,
        named_leader: Some(BrokerId(index % 3 + 1)),
        epoch: Some(LeaderEpoch(0)),
        replicas: Arc::clone(&replicas),
        isr: Arc::clone(&replicas),
        offline: Arc::from([]),
    };
    let view = TopicView { id: None, internal: false, partitions: (0..partitions).map(partition).collect(), available: Vec::new() };
    let topics = TopicMap::from_iter([(TopicName::from("orders"), Arc::new(view))]);
    Snapshot::new(UpdateVersion(1), nodes, None, None, topics)
}

fn read_snapshot(criterion: &mut Criterion) {
    let topic = TopicName::from("orders");
    for partitions in [10, 1_000, 100_000] {
        let cell = SnapshotCell::new(snapshot(partitions));
        criterion.bench_function(&format!("snapshot_read/{partitions}_partitions"), |bench| {
            bench.iter(|| black_box(cell.load().leader(&topic, PartitionIndex(7))));
        });
    }
}

fn choose_partition(criterion: &mut Criterion) {
    criterion.bench_function("partition_of_key/8_bytes", |bench| bench.iter(|| partition_of_key(black_box(b"key-1234"), 6)));
}

fn write_batch(criterion: &mut Criterion) {
    const RECORDS: u64 = 100;
    let value = [7_u8; 100];
    let mut group = criterion.benchmark_group("record_batch");
    group.throughput(Throughput::Elements(RECORDS));
    group.bench_function("100_records_of_100_bytes", |bench| {
        bench.iter_batched(
            || BatchBuilder::new(16_384, 16_384),
            |mut batch| {
                for index in 0..RECORDS {
                    batch.try_append(index.cast_signed(), Some(b"key-1234"), black_box(&value));
                }
                batch.finish()
            },
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

criterion_group!(benches, read_snapshot, choose_partition, write_batch);
criterion_main!(benches);
