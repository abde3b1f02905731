//! What measuring costs: the engine's recorder as a client's observer, per batch and (with [`criterion`]'s throughput) per record.

#![allow(missing_docs, clippy::unwrap_used, reason = "criterion's macros make public items; a benchmark may panic")]

mod support;

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kafka_chaos::clock::Moment;
use kafka_chaos::engine::recorder::{ClientRecorder, GroupRecorder, mark};
use kafka_chaos::ids::{PartitionIndex, ProducerIndex};
use kafka_chaos::kafka::event::{BatchDelivery, ClientObserver, Outcome, RecordTag};
use kafka_chaos::plan::model::ProducerGroup;
use kafka_chaos::record::sink::{self, FactSource};

/// Microseconds between two records of a batch: latencies spread over the histogram as they do in life.
const SPACING_US: u64 = 3;

/// From a batch's last record to its acknowledgement.
const SERVICE_US: u64 = 2_500;

/// Facts that may wait; nobody reads them here.
const FACTS_MAX: usize = 1_024;

fn group() -> ProducerGroup {
    let text = "name = 'bench'\n[[topic]]\nname = 'orders'\npartitions = 6\nreplication = 1\n[[producers]]\nname = 'native'\ntopics = ['orders']\nrate = 'max'\n";
    kafka_chaos::plan::parse("bench", text).unwrap().plan.producers.remove(0)
}

fn recorders() -> (Arc<GroupRecorder>, ClientRecorder, FactSource) {
    let (facts, source) = sink::channel(Moment(0), 0, FACTS_MAX);
    let group = Arc::new(GroupRecorder::native(&group(), facts));
    let client = ClientRecorder::new(Arc::clone(&group), ProducerIndex(0), 1, Moment(0));
    (group, client, source)
}

/// The records of a batch whose last one is sent at `last_us`.
fn tags(records: u64, last_us: u64) -> Vec<RecordTag> {
    let tag = |place: u64| {
        let sent_at = Moment(last_us - (records - 1 - place) * SPACING_US);
        RecordTag { mark: mark::pack(0, sent_at), sent_at }
    };
    (0..records).map(tag).collect()
}

fn deliver(criterion: &mut Criterion) {
    let mut benches = criterion.benchmark_group("recorder/delivered");
    let topic = support::broker::topic();
    for records in [1, 150, 9_000] {
        let (_group, client, _source) = recorders();
        let tags = tags(records, 86_400_000_000);
        let outcome = Outcome::Ok { base_offset: 0 };
        let mut at = Moment(86_400_000_000 + SERVICE_US);
        benches.throughput(Throughput::Elements(records));
        benches.bench_with_input(BenchmarkId::from_parameter(records), &tags, |bench, tags| {
            bench.iter(|| {
                // Time goes on, or each batch would end a stretch without service.
                at.0 += 1;
                let records = black_box(tags.as_slice());
                client.delivered(at, &BatchDelivery { topic: &topic, partition: PartitionIndex(0), records, outcome: &outcome, sends: 1 });
            });
        });
    }
    benches.finish();
}

fn take_second(criterion: &mut Criterion) {
    let (group, client, _source) = recorders();
    let topic = support::broker::topic();
    let tags = tags(9_000, 86_400_000_000);
    let outcome = Outcome::Ok { base_offset: 0 };
    criterion.bench_function("recorder/take_second", |bench| {
        bench.iter(|| {
            let delivery = BatchDelivery { topic: &topic, partition: PartitionIndex(0), records: &tags, outcome: &outcome, sends: 1 };
            client.delivered(Moment(86_400_000_000 + SERVICE_US), &delivery);
            black_box(group.take_second(0))
        });
    });
}

criterion_group!(benches, deliver, take_second);
criterion_main!(benches);
