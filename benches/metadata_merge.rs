//! Taking in a Metadata answer: a full one of all topics, and a partial one of one new topic beside them; snapshots of 10 to 100,000 partitions.

#![allow(missing_docs, clippy::unwrap_used, reason = "criterion's macros make public items; a benchmark may panic")]

mod support;

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use kafka_chaos::clock::Moment;
use kafka_chaos::ids::{BrokerId, LeaderEpoch, PartitionIndex, TopicName};
use kafka_chaos::kafka::core::config::ProducerConfig;
use kafka_chaos::kafka::core::metadata::{Accepted, MetadataMachine, UpdateRequest};
use kafka_chaos::kafka::wire::messages::{MetadataAnswer, PartitionAnswer, TopicAnswer};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use support::cluster::{PARTITIONS_PER_TOPIC, nodes, topic_sizes};

const PARTITIONS: [i32; 5] = [10, 100, 1_000, 10_000, 100_000];
const NOW: Moment = Moment(86_400_000_000);

fn answer(topics: impl Iterator<Item = (TopicName, i32)>) -> MetadataAnswer {
    let partition = |index: i32| PartitionAnswer {
        error: None,
        index: PartitionIndex(index),
        leader: Some(BrokerId(index % 3 + 1)),
        epoch: Some(LeaderEpoch(0)),
        replicas: (1..=3).map(BrokerId).collect(),
        isr: (1..=3).map(BrokerId).collect(),
        offline: Vec::new(),
    };
    let topic = |(name, partitions)| TopicAnswer {
        error: None,
        name,
        id: None,
        internal: false,
        partitions: (0..partitions).map(partition).collect(),
    };
    MetadataAnswer { version: 12, brokers: nodes(), topics: topics.map(topic).collect(), ..MetadataAnswer::default() }
}

/// A client that knows so many partitions, its full request, and its random numbers.
fn client(partitions: i32) -> (MetadataMachine, UpdateRequest, ChaCha8Rng) {
    let mut machine = MetadataMachine::new(&ProducerConfig::default(), support::broker::bootstrap());
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for (name, _) in topic_sizes(partitions) {
        machine.add_topic(&name, NOW);
    }
    let request = machine.next_request(NOW);
    assert!(matches!(machine.accept(&request, answer(topic_sizes(partitions)), NOW, true, &mut random), Accepted::Updated { .. }));
    (machine, request, random)
}

fn full(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("metadata_merge/full");
    for partitions in PARTITIONS {
        let (mut machine, request, mut random) = client(partitions);
        let all = answer(topic_sizes(partitions));
        group.bench_function(BenchmarkId::from_parameter(partitions), |bench| {
            let accept = |answer| black_box(machine.accept(&request, answer, NOW, true, &mut random));
            bench.iter_batched(|| all.clone(), accept, BatchSize::LargeInput);
        });
    }
    group.finish();
}

fn partial(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("metadata_merge/partial_of_50_beside");
    for partitions in PARTITIONS {
        let (mut machine, _, mut random) = client(partitions);
        let name = TopicName::from("new");
        machine.add_topic(&name, NOW);
        let request = machine.next_request(NOW);
        assert!(!request.full, "one new topic calls for a partial update");
        let one = answer(std::iter::once((name, PARTITIONS_PER_TOPIC)));
        group.bench_function(BenchmarkId::from_parameter(partitions), |bench| {
            let accept = |answer| black_box(machine.accept(&request, answer, NOW, true, &mut random));
            bench.iter_batched(|| one.clone(), accept, BatchSize::LargeInput);
        });
    }
    group.finish();
}

criterion_group!(benches, full, partial);
criterion_main!(benches);
