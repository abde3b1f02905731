//! Where records without a key go: when the sticky partition changes, and how queues weigh.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::lab::{Lab, START, answer, config, ms, partition, topic, topic_answer};
use crate::clock::Moment;
use crate::ids::{BrokerId, HostPort, PartitionIndex, TopicName};
use crate::kafka::core::accumulator::{Accumulator, Append, Appended};
use crate::kafka::core::metadata::MetadataMachine;
use crate::kafka::event::{ClientEvent, RecordTag};
use crate::kafka::metadata::Snapshot;

struct Queues {
    accumulator: Accumulator,
    snapshot: Snapshot,
    random: ChaCha8Rng,
    name: TopicName,
    now: Moment,
}

impl Queues {
    /// Queues over `orders` in three partitions, led by brokers 1, 2 and 3; a leader of -1 is none.
    fn new(properties: &[(&str, &str)], leaders: [i32; 3]) -> Self {
        let config = config(properties);
        let mut random = ChaCha8Rng::seed_from_u64(11);
        let mut machine = MetadataMachine::new(&config, vec![HostPort::new("127.0.0.1", 9001)]);
        machine.add_topic(&topic("orders"), START);
        let request = machine.next_request(START);
        let partitions = (0..).zip(leaders).map(|(index, leader)| partition(index, leader, 5)).collect();
        machine.accept(&request, answer(3, vec![topic_answer("orders", 7, partitions)]), START, true, &mut random);
        Self { accumulator: Accumulator::new(&config), snapshot: (**machine.snapshot()).clone(), random, name: topic("orders"), now: START }
    }

    fn append(&mut self, partition: Option<i32>, value: &[u8]) {
        let view = std::sync::Arc::clone(self.snapshot.topic(&self.name).unwrap());
        let tag = RecordTag { mark: 0, number: 0, sent_at: self.now };
        let record = Append { topic: &self.name, partition: partition.map(PartitionIndex), key: None, value, timestamp_ms: 0, tag };
        let appended = self.accumulator.append(&record, &view, None, self.now, &mut self.random);
        assert!(matches!(appended, Appended::Done { .. }), "{appended:?}");
    }

    fn look(&mut self) {
        self.accumulator.ready(&self.snapshot, self.now, false, &mut self.random);
    }

    /// Records per batch, partition by partition.
    fn batches(&self) -> BTreeMap<i32, Vec<usize>> {
        let mut batches: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
        for batch in self.accumulator.batches() {
            batches.entry(batch.partition.0).or_default().push(batch.tags.len());
        }
        batches
    }
}

#[test]
fn the_sticky_partition_changes_at_the_end_of_a_batch_and_leaves_no_crumbs() {
    // 61 bytes of header and 9 records of 107 are 1,024 at most; the tenth finds no room.
    let mut queues = Queues::new(&[("batch.size", "1024"), ("partitioner.adaptive.partitioning.enable", "false")], [1, 2, 3]);
    for _ in 0..900 {
        queues.append(None, &[7; 100]);
    }
    let batches = queues.batches();
    let open = batches.values().flatten().filter(|records| **records != 9 && **records != 8).count();
    assert!(open <= 1, "only the last batch may hold fewer: {batches:?}");
    assert!(batches.len() == 3, "{batches:?}");
}

#[test]
fn no_record_joins_a_batch_that_another_found_too_small() {
    let mut queues = Queues::new(&[("batch.size", "1024"), ("buffer.memory", "1024")], [1, 2, 3]);
    queues.append(Some(0), &[7; 700]);
    let view = std::sync::Arc::clone(queues.snapshot.topic(&queues.name).unwrap());
    let tag = RecordTag { mark: 0, number: 0, sent_at: START };
    for value in [&[7; 400][..], &[7; 10][..]] {
        let record = Append { topic: &queues.name, partition: Some(PartitionIndex(0)), key: None, value, timestamp_ms: 0, tag };
        let appended = queues.accumulator.append(&record, &view, None, START, &mut queues.random);
        assert_eq!(appended, Appended::NeedsMemory { bytes: 1024 }, "{}", value.len());
    }
}

/// How often each partition is chosen next, in thousands of 6,000.
fn choices(queues: &mut Queues) -> [usize; 3] {
    let mut counts = [0; 3];
    let view = std::sync::Arc::clone(queues.snapshot.topic(&queues.name).unwrap());
    for _ in 0..6_000 {
        let chosen = queues.accumulator.choose_anew(&queues.name, &view, &mut queues.random);
        counts[usize::try_from(chosen.0).unwrap()] += 1;
    }
    counts.map(|count| (count + 500) / 1_000)
}

/// Fills the queues to these numbers of batches: `batch.size` 1 makes a batch of every record.
fn filled(properties: &[(&str, &str)], leaders: [i32; 3], lengths: [usize; 3]) -> Queues {
    let mut properties = properties.to_vec();
    properties.push(("batch.size", "1"));
    let mut queues = Queues::new(&properties, leaders);
    choices(&mut queues);
    for (index, length) in (0..).zip(lengths) {
        for _ in 0..length {
            queues.append(Some(index), &[7; 100]);
        }
    }
    queues.look();
    queues
}

#[test]
fn queues_weigh_once_every_partition_has_had_a_batch() {
    // Weights 4 + 1 - length: 1, 3 and 2 of 6.
    assert_eq!(choices(&mut filled(&[], [1, 2, 3], [4, 2, 3])), [1, 3, 2]);
    let off = [("partitioner.adaptive.partitioning.enable", "false")];
    assert_eq!(choices(&mut filled(&off, [1, 2, 3], [4, 2, 3])), [2, 2, 2]);
    assert_eq!(choices(&mut filled(&[], [1, 2, 3], [4, 2, 0])), [2, 2, 2], "the third has had none");
    assert_eq!(choices(&mut filled(&[], [1, 2, 3], [3, 3, 3])), [2, 2, 2]);
}

#[test]
fn nothing_is_weighed_before_a_record_goes_to_a_sticky_partition() {
    let mut queues = Queues::new(&[("batch.size", "1")], [1, 2, 3]);
    for index in [0, 0, 0, 0, 1, 1, 2] {
        queues.append(Some(index), &[7; 100]);
    }
    queues.look();
    assert_eq!(choices(&mut queues), [2, 2, 2]);
    queues.look();
    // Weights 4 + 1 - length: 1, 3 and 4 of 8.
    let [most, fewer, fewest] = choices(&mut queues);
    assert!(most == 1 && fewer == 2 && fewest == 3, "{most} {fewer} {fewest}");
}

#[test]
fn an_empty_queue_weighs_most_and_a_leaderless_one_nothing() {
    let mut queues = filled(&[], [1, 2, 3], [2, 1, 2]);
    queues.accumulator.drain_all_of(PartitionIndex(1));
    queues.look();
    // Weights 2 + 1 - length: 1, 3 and 1 of 5.
    assert_eq!(choices(&mut queues), [1, 4, 1]);
    assert_eq!(choices(&mut filled(&[], [1, -1, 3], [2, 5, 2])), [3, 0, 3], "alike, but one is left out");
}

#[test]
fn the_partitions_of_a_node_that_lets_data_wait_are_left_out() {
    let mut queues = filled(&[("partitioner.availability.timeout.ms", "100")], [1, 2, 3], [2, 2, 2]);
    queues.accumulator.note_node(BrokerId(2), false, START);
    queues.accumulator.note_node(BrokerId(2), false, START + ms(101));
    queues.look();
    assert_eq!(choices(&mut queues), [3, 0, 3]);
    queues.accumulator.note_node(BrokerId(2), true, START + ms(102));
    queues.look();
    assert_eq!(choices(&mut queues), [2, 2, 2]);
}

#[test]
fn the_core_tells_the_queues_which_node_lets_data_wait() {
    let mut lab = Lab::settled(&[("linger.ms", "0"), ("partitioner.availability.timeout.ms", "50"), ("request.timeout.ms", "5000")]);
    for _ in 0..6 {
        lab.append(0, 1);
        lab.run_silent(ms(1));
    }
    assert_eq!(lab.take_written(0).len(), 5, "five are in flight, the sixth waits for broker 1");
    lab.run_silent(ms(60));
    assert!(lab.core.accumulator.lets_wait(BrokerId(1)));
    assert!(!lab.core.accumulator.lets_wait(BrokerId(2)));
    assert!(!lab.events.iter().any(|event| matches!(event, ClientEvent::Disconnected { .. })));
}
