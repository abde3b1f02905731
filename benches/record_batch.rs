//! Writing a record batch: records into the buffer, then header and CRC.

#![allow(missing_docs, clippy::unwrap_used, reason = "criterion's macros make public items; a benchmark may panic")]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use kafka_chaos::kafka::wire::batch::BatchBuilder;

const VALUE: [u8; 100] = [7; 100];

/// Records that fill a batch of so many bytes.
const SIZES: [(&str, usize, u64); 2] = [("16_KiB", 16_384, 145), ("1_MB", 1_000_000, 8_800)];

fn filled(limit_bytes: usize, records: u64) -> BatchBuilder {
    let mut batch = BatchBuilder::new(limit_bytes, limit_bytes);
    for index in 0..records {
        assert!(batch.try_append(index.cast_signed(), None, black_box(&VALUE)), "{records} records fit into {limit_bytes} bytes");
    }
    batch
}

fn write(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("record_batch/write");
    for (name, limit_bytes, records) in SIZES {
        group.throughput(Throughput::Elements(records));
        group.bench_function(name, |bench| bench.iter(|| filled(limit_bytes, records)));
    }
    group.finish();
}

fn finish(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("record_batch/finish_with_crc");
    for (name, limit_bytes, records) in SIZES {
        group.throughput(Throughput::Bytes(filled(limit_bytes, records).bytes() as u64));
        group.bench_function(name, |bench| {
            bench.iter_batched(|| filled(limit_bytes, records), |batch| batch.finish(None), BatchSize::LargeInput);
        });
    }
    group.finish();
}

criterion_group!(benches, write, finish);
criterion_main!(benches);
