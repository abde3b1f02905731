//! Hand-made histories: a log as brokers keep it, a ledger as clients fill it, and in each something planted that must be found, and nothing else.

use bytes::{Bytes, BytesMut};
use kafka_protocol::records::{Compression, Record, RecordBatchEncoder, RecordEncodeOptions, TimestampType};

use super::check::{EPOCHS_MAX, PartitionCheck, PartitionFindings};
use super::ledger::{Index, Ledger, NO_PARTITION, Outcomes, PairOutcomes, ProducerEntry};
use crate::ids::{LeaderEpoch, PartitionIndex, ProducerIndex, TopicPartition};
use crate::kafka::wire::log::next_unpacked;
use crate::load::payload::Payload;
use crate::record::audit::{AuditCounts, LostPlace};

const GROUP: &str = "steady";

fn partition() -> TopicPartition {
    TopicPartition { topic: "orders".into(), partition: PartitionIndex(0) }
}

/// The value of a producer's record; due 1 ms after the one before.
fn value(producer: u32, number: u32) -> Vec<u8> {
    Payload::new(100, GROUP, ProducerIndex(producer), 7).write(u64::from(number), i64::from(number) * 1_000).to_vec()
}

/// A log that is being made.
struct Log {
    bytes: BytesMut,
    next: i64,
    epoch: i32,
}

impl Log {
    fn new() -> Self {
        Self { bytes: BytesMut::new(), next: 0, epoch: 0 }
    }

    /// A batch with these values.
    fn values(mut self, values: Vec<Vec<u8>>, is_control: bool) -> Self {
        let record = |(offset, value): (i64, Vec<u8>)| Record {
            transactional: is_control,
            control: is_control,
            delete_horizon: false,
            partition_leader_epoch: self.epoch,
            producer_id: -1,
            producer_epoch: -1,
            timestamp_type: TimestampType::Creation,
            offset,
            sequence: offset as i32,
            timestamp: 1_000 + offset,
            key: None,
            value: Some(Bytes::from(value)),
            headers: Default::default(),
        };
        let records: Vec<Record> = (self.next..).zip(values).map(record).collect();
        let options = RecordEncodeOptions { version: 2, compression: Compression::None };
        RecordBatchEncoder::encode(&mut self.bytes, &records, &options).unwrap();
        self.next += records.len() as i64;
        self
    }

    /// A batch of a producer's records.
    fn batch(self, producer: u32, numbers: impl IntoIterator<Item = u32>) -> Self {
        self.values(numbers.into_iter().map(|number| value(producer, number)).collect(), false)
    }

    fn epoch(mut self, epoch: i32) -> Self {
        self.epoch = epoch;
        self
    }

    /// Offsets at which there is nothing.
    fn gap(mut self, offsets: i64) -> Self {
        self.next += offsets;
        self
    }

    /// Read from this offset on, against what clients said.
    fn check_from(self, start: i64, said: &[(u32, i32, Outcomes)]) -> PartitionFindings {
        let index = index(said);
        let mut check = PartitionCheck::new(partition(), start);
        let (mut bytes, end) = (self.bytes.freeze(), self.next);
        while let Some(batch) = next_unpacked(&mut bytes).unwrap() {
            check.batch(&batch, &index);
        }
        check.finish(end, &index, 100)
    }

    fn check(self, said: &[(u32, i32, Outcomes)]) -> PartitionFindings {
        self.check_from(0, said)
    }
}

fn index(said: &[(u32, i32, Outcomes)]) -> Index {
    let ledger = Ledger::new(1_000_000);
    let mut producers: Vec<u32> = said.iter().map(|(producer, ..)| *producer).collect();
    producers.dedup();
    for producer in producers {
        let of = |(_, partition, outcomes): &(u32, i32, Outcomes)| PairOutcomes {
            topic: "orders".into(),
            partition: PartitionIndex(*partition),
            outcomes: outcomes.clone(),
        };
        let pairs: Vec<PairOutcomes> = said.iter().filter(|(of, ..)| *of == producer).map(of).collect();
        let sent = pairs.iter().map(|pair| pair.outcomes.len()).sum();
        ledger.enter(ProducerEntry { group: GROUP.to_owned(), producer: ProducerIndex(producer), sent, pairs });
    }
    ledger.take()
}

fn acknowledged(numbers: impl IntoIterator<Item = u32>) -> Outcomes {
    let mut outcomes = Outcomes::default();
    outcomes.acknowledged.extend(numbers);
    outcomes
}

fn counts(findings: &PartitionFindings, producer: u32) -> AuditCounts {
    findings.pairs.iter().find(|pair| pair.producer == ProducerIndex(producer)).unwrap().counts
}

#[test]
fn a_clean_history_passes() {
    let log = Log::new().batch(0, 0..50).batch(1, [0, 2, 4]).batch(0, 50..100).values(vec![vec![0; 6]], true);
    let findings = log.check(&[(0, 0, acknowledged(0..100)), (1, 0, acknowledged([0, 2, 4]))]);
    assert_eq!(counts(&findings, 0), AuditCounts { acknowledged: 100, found: 100, ..AuditCounts::default() });
    assert_eq!(counts(&findings, 1), AuditCounts { acknowledged: 3, found: 3, ..AuditCounts::default() });
    let log = &findings.partition;
    assert_eq!((log.records, log.control_records, log.missing_offsets, log.foreign, log.corrupt), (103, 1, 0, 0, 0));
    assert_eq!(log.end_offset, 104);
    assert!(findings.lost.is_empty() && findings.lost_untold == 0);
}

#[test]
fn what_a_new_leader_did_not_have_is_lost_at_its_first_offset() {
    let log = Log::new().batch(0, 0..10).epoch(3).batch(0, 15..20);
    let findings = log.check(&[(0, 0, acknowledged(0..20))]);
    assert_eq!(counts(&findings, 0), AuditCounts { acknowledged: 20, found: 15, lost: 5, ..AuditCounts::default() });
    let [lost] = &findings.lost[..] else { panic!("{:?}", findings.lost) };
    assert_eq!((lost.first_sequence, lost.last_sequence, lost.records), (10, 14, 5));
    assert_eq!((lost.due_after_us, lost.due_before_us), (Some(9_000), Some(15_000)));
    assert_eq!(lost.place, LostPlace::LeaderChange { epoch_before: Some(LeaderEpoch(0)), epoch: LeaderEpoch(3), start_offset: 10 });
}

#[test]
fn every_place_where_records_can_be_missing_is_told() {
    let change = |before: Option<i32>, epoch, start_offset| LostPlace::LeaderChange {
        epoch_before: before.map(LeaderEpoch),
        epoch: LeaderEpoch(epoch),
        start_offset,
    };
    let rows: [(&str, Log, i64, LostPlace); 6] = [
        ("within", Log::new().epoch(2).batch(0, (0..10).chain(15..20)), 0, LostPlace::WithinEpoch { epoch: LeaderEpoch(2) }),
        ("deleted", Log::new().gap(5).batch(0, 5..20), 5, LostPlace::BeforeStart { log_start_offset: 5 }),
        ("at the end", Log::new().batch(0, 0..10), 0, LostPlace::AtEnd { epoch: LeaderEpoch(0), end_offset: 10 }),
        ("cut off for good", Log::new().batch(0, 0..10).epoch(1).batch(1, 0..3), 0, change(Some(0), 1, 10)),
        ("at the beginning", Log::new().epoch(4).batch(0, 10..20), 0, change(None, 4, 0)),
        ("a new topic", Log::new().batch(0, 10..20), 0, LostPlace::Nowhere),
    ];
    for (name, log, start, place) in rows {
        let findings = log.check_from(start, &[(0, 0, acknowledged(0..20))]);
        assert_eq!(findings.lost[0].place, place, "{name}");
    }
    let gone = PartitionCheck::new(partition(), 0).gone(&index(&[(0, 0, acknowledged(0..20))]), 100);
    assert_eq!((gone.lost[0].place, gone.lost[0].records), (LostPlace::NoPartition, 20));
}

#[test]
fn copies_are_counted_beyond_the_first_and_are_not_out_of_order() {
    let findings = Log::new().batch(0, 0..10).batch(0, 5..10).batch(0, 10..20).check(&[(0, 0, acknowledged(0..20))]);
    let expected = AuditCounts { acknowledged: 20, found: 20, duplicated: 5, ..AuditCounts::default() };
    assert_eq!(counts(&findings, 0), expected);
    assert_eq!(findings.partition.records, 25);
}

#[test]
fn records_behind_a_later_one_are_out_of_order() {
    let findings = Log::new().batch(0, [0, 1, 4, 5, 2, 3, 6]).check(&[(0, 0, acknowledged(0..7))]);
    assert_eq!(counts(&findings, 0), AuditCounts { acknowledged: 7, found: 7, out_of_order: 2, ..AuditCounts::default() });
}

#[test]
fn a_damaged_record_is_nobodys_and_the_one_that_it_was_is_lost() {
    let mut damaged = value(0, 1);
    damaged[60] ^= 0x10;
    let log = Log::new().batch(0, [0]).values(vec![damaged], false).batch(0, [2]);
    let findings = log.check(&[(0, 0, acknowledged(0..3))]);
    assert_eq!(findings.partition.corrupt, 1);
    assert_eq!(counts(&findings, 0), AuditCounts { acknowledged: 3, found: 2, lost: 1, ..AuditCounts::default() });
    assert_eq!(findings.lost[0].first_sequence, 1);
}

#[test]
fn records_of_nobody_in_this_run_are_foreign() {
    let stranger = Payload::new(100, "other", ProducerIndex(0), 7).write(0, 0).to_vec();
    let unknown = value(9, 0);
    let log = Log::new().values(vec![stranger, unknown, b"{}".to_vec(), Vec::new()], false).batch(0, [0]);
    let findings = log.check(&[(0, 0, acknowledged([0]))]);
    assert_eq!(findings.partition.foreign, 4);
    assert_eq!(counts(&findings, 0).found, 1);
}

#[test]
fn records_that_failed_or_may_be_there_are_set_against_what_is() {
    let mut said = acknowledged(0..2);
    said.failed_mut().extend([2, 3]);
    said.indeterminate_mut().extend([4, 5, 6]);
    let mut nowhere = Outcomes::default();
    nowhere.failed_mut().extend([7, 8]);
    let log = Log::new().batch(0, [0, 1, 2, 4, 5, 7, 30]);
    let findings = log.check(&[(0, 0, said), (0, NO_PARTITION.0, nowhere)]);
    let expected = AuditCounts {
        acknowledged: 2,
        found: 7,
        failed: 2,
        failed_found: 2,
        indeterminate: 3,
        indeterminate_found: 2,
        untold_found: 1,
        ..AuditCounts::default()
    };
    assert_eq!(counts(&findings, 0), expected);
}

#[test]
fn offsets_that_hold_nothing_are_counted() {
    let log = Log::new().batch(0, 0..5).gap(3).batch(0, 5..10).gap(2);
    let findings = log.check(&[(0, 0, acknowledged(0..10))]);
    assert_eq!((findings.partition.records, findings.partition.missing_offsets, findings.partition.end_offset), (10, 5, 15));
    assert_eq!(counts(&findings, 0).lost, 0);
}

#[test]
fn a_batch_that_was_seen_and_records_before_the_beginning_are_passed_over() {
    let log = Log::new().batch(0, 0..10).batch(0, 10..20);
    let again = [&log.bytes[..], &log.bytes[..]].concat();
    let log = Log { bytes: BytesMut::from(&again[..]), ..log };
    let findings = log.check_from(4, &[(0, 0, acknowledged(0..20))]);
    let expected = AuditCounts { acknowledged: 20, found: 16, lost: 4, ..AuditCounts::default() };
    assert_eq!(counts(&findings, 0), expected);
    assert_eq!((findings.partition.log_start_offset, findings.partition.records), (4, 16));
}

#[test]
fn stretches_beyond_the_bound_are_counted() {
    let findings = {
        let index = index(&[(0, 0, acknowledged(0..100))]);
        let mut check = PartitionCheck::new(partition(), 0);
        let mut bytes = Log::new().batch(0, (0..100).step_by(2)).bytes.freeze();
        check.batch(&next_unpacked(&mut bytes).unwrap().unwrap(), &index);
        check.finish(50, &index, 3)
    };
    assert_eq!((counts(&findings, 0).lost, findings.lost.len(), findings.lost_untold), (50, 3, 47));
}

#[test]
fn a_stretch_takes_in_numbers_that_went_elsewhere() {
    // Odd numbers went to another partition.
    let said = acknowledged((0..20).filter(|number| number % 2 == 0));
    let findings = Log::new().batch(0, [0, 2, 4]).epoch(1).batch(0, [14, 16, 18]).check(&[(0, 0, said)]);
    let [lost] = &findings.lost[..] else { panic!("{:?}", findings.lost) };
    assert_eq!((lost.first_sequence, lost.last_sequence, lost.records), (6, 12, 4));
}

#[test]
fn beyond_so_many_epochs_a_partition_is_still_counted_in_full() {
    let written = (0..1_500_u32).filter(|number| *number != 1_250);
    let log = written.fold(Log::new(), |log, number| log.epoch(i32::try_from(number).unwrap()).batch(0, [number]));
    let findings = log.check(&[(0, 0, acknowledged(0..1_500))]);
    assert_eq!(counts(&findings, 0), AuditCounts { acknowledged: 1_500, found: 1_499, lost: 1, ..AuditCounts::default() });
    assert_eq!(findings.partition.epochs.len(), EPOCHS_MAX);
    // In which of the epochs that found no room it vanished, nobody kept.
    let [lost] = &findings.lost[..] else { panic!("{:?}", findings.lost) };
    assert_eq!((lost.first_sequence, lost.place), (1_250, LostPlace::SinceEpoch { epoch: LeaderEpoch(999) }));
}

/// A second producer has written but in epochs whose beginnings nobody kept.
#[test]
fn beyond_so_many_epochs_nothing_is_said_of_where_they_begin() {
    let log = (0..1_200_u32).fold(Log::new(), |log, number| log.epoch(i32::try_from(number).unwrap()).batch(0, [number]));
    let log = log.epoch(1_300).batch(1, [1, 2]).epoch(1_400).batch(1, [5, 6]);
    let findings = log.check(&[(0, 0, acknowledged(0..1_200)), (1, 0, acknowledged(0..10))]);
    let places: Vec<_> = findings.lost.iter().map(|lost| (lost.first_sequence, lost.last_sequence, lost.place)).collect();
    let since = |epoch| LostPlace::SinceEpoch { epoch: LeaderEpoch(epoch) };
    assert_eq!(places, [(0, 0, since(999)), (3, 4, since(1_300)), (7, 9, since(1_400))]);
}
