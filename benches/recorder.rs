//! What measuring costs: the engine's recorder as a client's observer, per batch and (with [`criterion`]'s throughput) per record; and taking
//! out what it has gathered, once a second.

#![allow(missing_docs, clippy::unwrap_used, reason = "criterion's macros make public items; a benchmark may panic")]

mod support;

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kafka_chaos::audit::Ledger;
use kafka_chaos::clock::Moment;
use kafka_chaos::engine::recorder::{ClientRecorder, GroupRecorder, mark};
use kafka_chaos::ids::{PartitionIndex, ProducerIndex, TopicName};
use kafka_chaos::kafka::event::{BatchDelivery, ClientObserver, Outcome, RecordTag};
use kafka_chaos::plan::model::ProducerGroup;
use kafka_chaos::record::sink::{self, FactSource};

/// Records of a large batch.
const MOST_RECORDS: u64 = 9_000;

/// Microseconds between two records: latencies spread over the histogram as they do in life.
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
    let group = Arc::new(GroupRecorder::native(&group(), facts, Arc::new(Ledger::new(u64::MAX))));
    let client = ClientRecorder::new(Arc::clone(&group), ProducerIndex(0), 1, Moment(0));
    (group, client, source)
}

/// A producer that sends without a pause, and its batches as they are acknowledged: time goes on from one to the next, and no record is ever
/// long on its way.
struct Batches {
    records: u64,
    first: u64,
    last_us: u64,
}

/// The records of a batch, and when it is acknowledged.
struct Acknowledged {
    tags: Vec<RecordTag>,
    at: Moment,
}

impl Batches {
    fn of(records: u64) -> Self {
        Self { records, first: 0, last_us: 86_400_000_000 }
    }

    fn next(&mut self) -> Acknowledged {
        self.first += self.records;
        let first_us = self.last_us + SPACING_US;
        self.last_us += self.records * SPACING_US;
        let tag = |place: u64| {
            let sent_at = Moment(first_us + place * SPACING_US);
            RecordTag { mark: mark::pack(0, sent_at), number: self.first + place, sent_at }
        };
        Acknowledged { tags: (0..self.records).map(tag).collect(), at: Moment(self.last_us + SERVICE_US) }
    }
}

fn tell(client: &ClientRecorder, topic: &TopicName, batch: &Acknowledged) {
    let (records, outcome) = (black_box(batch.tags.as_slice()), &Outcome::Ok { base_offset: 0 });
    client.delivered(batch.at, &BatchDelivery { topic, partition: PartitionIndex(0), records, outcome, sends: 1 });
}

fn deliver(criterion: &mut Criterion) {
    let mut benches = criterion.benchmark_group("recorder/delivered");
    let topic = support::broker::topic();
    for records in [1, 150, MOST_RECORDS] {
        let (_group, client, _source) = recorders();
        let mut batches = Batches::of(records);
        benches.throughput(Throughput::Elements(records));
        benches.bench_function(BenchmarkId::from_parameter(records), |bench| {
            bench.iter_batched_ref(|| batches.next(), |batch| tell(&client, &topic, batch), BatchSize::LargeInput);
        });
    }
    benches.finish();
}

fn take_second(criterion: &mut Criterion) {
    let (group, client, _source) = recorders();
    let topic = support::broker::topic();
    let mut batches = Batches::of(MOST_RECORDS);
    criterion.bench_function("recorder/take_second", |bench| {
        // One by one, for each takes out all that was told before.
        bench.iter_batched(|| tell(&client, &topic, &batches.next()), |()| group.take_second(0), BatchSize::PerIteration);
    });
}

criterion_group!(benches, deliver, take_second);
criterion_main!(benches);
