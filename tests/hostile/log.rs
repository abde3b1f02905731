//! The controller's log against spoilt bytes: batches, the records in them, and what they do to an image.

use bytes::{BufMut, Bytes, BytesMut};
use kafka_chaos::kafka::raft::image::Image;
use kafka_chaos::kafka::raft::record::{ControlRecord, MetadataRecord};
use kafka_chaos::kafka::wire::log::next_batch;
use proptest::prelude::*;

use super::{alone, peak_bytes_of};

/// What reading may take per byte of the log, and besides.
const BYTES_PER_BYTE_MAX: usize = 48;
const BYTES_BESIDES_MAX: usize = 64 * 1024;
/// Bytes of a batch before its first record, and where its checksum and what that covers begin.
const HEADER_BYTES: usize = 61;
const CHECKSUM_AT: usize = 17;
const CHECKED_FROM: usize = 21;

/// Values of records as controllers write them: a topic, two partitions, their change, a broker's registration and change, a property.
fn values() -> Vec<Vec<u8>> {
    let topic_id = [7; 16];
    let brokers = |count: u8| [vec![count + 1], (0..count).flat_map(|id| [0, 0, 0, id]).collect()].concat();
    let partition = |index: u8| {
        let sets = [brokers(3), brokers(2), brokers(0), brokers(0)].concat();
        let tail = [&[0, 0, 0, 1][..], &[0; 8], &[2], &[9; 16], &[2, 1, 5], &brokers(1), &[2, 5], &brokers(1)].concat();
        [&[1, 3, 2, 0, 0, 0, index][..], &topic_id, &sets, &tail].concat()
    };
    let change = [&[1, 5, 2, 0, 0, 0, 0][..], &topic_id, &[3, 0, 9], &brokers(2), &[1, 4, 0, 0, 0, 2, 8, 17, 2], &[9; 16]].concat();
    let endpoint = [&[7][..], b"CLIENT", &[7], b"broker", &[0x23, 0x84, 0, 0, 0]].concat();
    let feature = [&[14][..], b"group.version", &[0, 0, 0, 1, 0]].concat();
    let registration = [&[1, 0, 4, 0, 0, 0, 1, 0][..], &[3; 16], &[0; 8], &[2], &endpoint, &[2], &feature, &[0, 1, 0]].concat();
    let directories = [&[2, 0, 17, 2][..], &[9; 16], &[1, 1, 1]].concat();
    vec![
        [&[1, 2, 0, 7][..], b"orders", &topic_id, &[0]].concat(),
        partition(0),
        partition(1),
        change,
        [registration, directories].concat(),
        vec![1, 17, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0xff, 1, 1, 1],
        [&[1, 4, 0, 2, 7][..], b"orders", &[13], b"retention.ms", &[3], b"10", &[0]].concat(),
        vec![1, 20, 0, 0],
    ]
}

/// A batch of all of them.
pub(crate) fn batches() -> Bytes {
    let mut records = BytesMut::new();
    for (delta, value) in (0_u8..).zip(values()) {
        let body = [&[0, 0, 2 * delta, 1][..], &varint(2 * value.len()), &value, &[0]].concat();
        records.put_slice(&varint(2 * body.len()));
        records.put_slice(&body);
    }
    let count = i32::try_from(values().len()).unwrap();
    let mut batch = BytesMut::new();
    batch.put_i64(40);
    batch.put_i32(i32::try_from(HEADER_BYTES + records.len() - 12).unwrap());
    batch.put_slice(&[0, 0, 0, 5, 2, 0, 0, 0, 0, 0, 0]);
    batch.put_i32(count - 1);
    batch.put_bytes(0, 30);
    batch.put_i32(count);
    batch.put_slice(&records);
    with_checksum(batch.to_vec())
}

fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// One who means harm writes a checksum that fits.
fn with_checksum(mut batch: Vec<u8>) -> Bytes {
    if batch.len() > CHECKED_FROM {
        let checksum = crc32c::crc32c(&batch[CHECKED_FROM..]);
        batch[CHECKSUM_AT..CHECKED_FROM].copy_from_slice(&checksum.to_be_bytes());
    }
    batch.into()
}

/// Reads a log as the tail does; how many records went into the image.
fn read(mut log: Bytes) -> usize {
    let (mut image, mut replayed) = (Image::default(), 0);
    while let Ok(Some(batch)) = next_batch(&mut log) {
        for record in batch.records().map_while(Result::ok) {
            let value = record.value.unwrap_or_default();
            let _ = ControlRecord::decode(record.key.unwrap_or_default(), value);
            let Ok(said) = MetadataRecord::decode(value) else { continue };
            replayed += usize::from(image.replay(&said).is_ok());
        }
    }
    replayed
}

fn read_within_bounds(log: &Bytes) -> usize {
    let most = log.len() * BYTES_PER_BYTE_MAX + BYTES_BESIDES_MAX;
    let mut replayed = 0;
    let peak = peak_bytes_of(|| replayed = read(log.clone()));
    assert!(peak <= most, "{peak} bytes for a log of {}: {log:?}", log.len());
    replayed
}

#[test]
fn no_count_in_the_log_makes_room_for_what_is_not_there() {
    let _alone = alone();
    assert_eq!(read_within_bounds(&batches()), values().len(), "the sample is well-formed");
    let counts: [&[u8]; 5] = [&[0x7f, 0xff, 0xff, 0xff], &[0x00, 0x0f, 0xff, 0xff], &[0xff, 0xff, 0xff, 0xff, 0x0f], &[0xff; 10], &[0]];
    let whole = batches();
    for at in 0..whole.len() {
        for count in counts {
            let mut over = whole.to_vec();
            let end = (at + count.len()).min(over.len());
            over[at..end].copy_from_slice(&count[..end - at]);
            read_within_bounds(&with_checksum(over));
            let inserted = [&whole[..at], count, &whole[at..]].concat();
            read_within_bounds(&with_checksum(inserted));
        }
        assert_eq!(read_within_bounds(&whole.slice(..at)), 0, "cut at {at}");
    }
}

#[test]
fn spoilt_logs_are_refused_or_read_within_bounds() {
    let _alone = alone();
    let index = any::<prop::sample::Index>;
    let changes = prop::collection::vec((index(), any::<u8>()), 1..12);
    proptest!(ProptestConfig::with_cases(400), |(changes in changes, has_checksum in any::<bool>())| {
        let mut log = batches().to_vec();
        for (at, byte) in &changes {
            let at = at.index(log.len());
            log[at] = *byte;
        }
        read_within_bounds(&if has_checksum { with_checksum(log) } else { log.into() });
    });
}

#[test]
fn a_long_honest_log_takes_memory_in_proportion() {
    let _alone = alone();
    let log = batches().to_vec().repeat(2_000);
    assert_eq!(read_within_bounds(&log.into()), 2_000 * values().len());
}
