//! Writing a record batch: records into the buffer, then header and CRC; and compressing it on the way.

#![allow(missing_docs, clippy::unwrap_used, reason = "criterion's macros make public items; a benchmark may panic")]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use kafka_chaos::kafka::wire::batch::{BatchBuilder, Packing};
use kafka_chaos::kafka::wire::compression::Codec;

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

/// A full batch of 16 KiB of records that look like orders: they compress as such things do.
fn orders(codec: Codec) -> BatchBuilder {
    let mut batch = BatchBuilder::new(16_384, 16_384);
    batch.pack_with(Packing { codec, expected_ratio: 1.0 });
    let order = |index: u64| {
        let random = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!(r#"{{"order":{index:08},"customer":"{random:016x}","amount":{:05},"currency":"EUR","state":"new"}}"#, random % 100_000)
    };
    assert!((0..100).all(|index| batch.try_append(index as i64, None, order(index).as_bytes())), "100 orders fit into 16 KiB");
    batch
}

fn compress(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("record_batch/compress_and_finish");
    let codecs = [
        ("gzip_6", Codec::Gzip { level: 6 }),
        ("snappy", Codec::Snappy),
        ("lz4", Codec::Lz4),
        #[cfg(feature = "zstd")]
        ("zstd_3", Codec::Zstd { level: 3 }),
    ];
    for (name, codec) in codecs {
        group.throughput(Throughput::Bytes(orders(codec).plain_bytes() as u64));
        group.bench_function(name, |bench| bench.iter_batched(|| orders(codec), |batch| batch.finish(None), BatchSize::LargeInput));
    }
    group.finish();
}

criterion_group!(benches, write, finish, compress);
criterion_main!(benches);
