//! Record batches, format v2 (KIP-98): written as records arrive, compressed when they close.
//!
//! A builder appends to one buffer and patches the header when the batch closes: no list of records is kept, and the size that decides
//! whether a batch is full is at hand at every append (an estimate, if the batch will be compressed). Also what is done to a closed batch: another
//! stamp in its header, and its records unpacked. Not here: records read back one by one (`records`), the codecs (`compression`).

use bytes::{Bytes, BytesMut};

use crate::ids::ProducerIdAndEpoch;
use crate::kafka::wire::compression::{Codec, decompress};

/// Bytes before the first record.
pub const HEADER_BYTES: usize = 61;

/// Upper bound of a record's own framing, as the Java client reckons it: length, timestamp and offset deltas, attributes.
const RECORD_OVERHEAD_BYTES_MAX: usize = 21;

/// Where the header's fields lie.
pub(super) mod at {
    pub(in crate::kafka::wire) const LENGTH: usize = 8;
    pub(in crate::kafka::wire) const CRC: usize = 17;
    pub(in crate::kafka::wire) const ATTRIBUTES: usize = 21;
    pub(in crate::kafka::wire) const LAST_OFFSET_DELTA: usize = 23;
    pub(in crate::kafka::wire) const BASE_TIMESTAMP: usize = 27;
    pub(in crate::kafka::wire) const MAX_TIMESTAMP: usize = 35;
    pub(in crate::kafka::wire) const PRODUCER_ID: usize = 43;
    pub(in crate::kafka::wire) const PRODUCER_EPOCH: usize = 51;
    pub(in crate::kafka::wire) const BASE_SEQUENCE: usize = 53;
    pub(in crate::kafka::wire) const RECORD_COUNT: usize = 57;
}

/// Least buffer that a new batch starts with, so that thousands of idle producers stay small.
const FIRST_BUFFER_BYTES_MIN: usize = 256;

/// Who writes a batch, and where it stands in the sequence of the partition's records (KIP-98).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The producer.
    pub producer: ProducerIdAndEpoch,
    /// Sequence number of the first record.
    pub base_sequence: i32,
}

impl Stamp {
    fn write(self, header: &mut [u8]) {
        header[at::PRODUCER_ID..][..8].copy_from_slice(&self.producer.id.to_be_bytes());
        header[at::PRODUCER_EPOCH..][..2].copy_from_slice(&self.producer.epoch.to_be_bytes());
        header[at::BASE_SEQUENCE..][..4].copy_from_slice(&self.base_sequence.to_be_bytes());
    }
}

/// Puts another stamp on a closed batch.
#[must_use]
pub fn restamped(batch: Bytes, stamp: Stamp) -> Bytes {
    // The network may still hold the bytes of an earlier send: those are left alone.
    let mut buffer = batch.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
    stamp.write(&mut buffer);
    write_crc(&mut buffer);
    buffer.freeze()
}

fn write_crc(batch: &mut [u8]) {
    let crc = crc32c::crc32c(&batch[at::ATTRIBUTES..]);
    batch[at::CRC..][..4].copy_from_slice(&crc.to_be_bytes());
}

/// Upper bound of a batch that holds one such record: what `buffer.memory` and `max.request.size` are compared with.
#[must_use]
pub fn single_record_bytes_max(key: Option<&[u8]>, value: &[u8]) -> usize {
    let key_bytes = key.map_or(1, |key| varint_bytes(key.len()) + key.len());
    HEADER_BYTES + RECORD_OVERHEAD_BYTES_MAX + key_bytes + varint_bytes(value.len()) + value.len() + 1
}

/// How a batch's records are compressed when it closes, and how well that is thought to go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packing {
    /// The codec.
    pub codec: Codec,
    /// Expected compressed bytes per byte.
    pub expected_ratio: f32,
}

impl Packing {
    /// What a batch of `plain_bytes`, header included, will take. A little more than expected, as the Java client reckons it.
    fn estimate(self, plain_bytes: usize) -> usize {
        const MARGIN: f32 = 1.05;
        HEADER_BYTES + ((plain_bytes - HEADER_BYTES) as f32 * self.expected_ratio * MARGIN) as usize
    }
}

/// A batch under construction.
#[derive(Debug)]
pub struct BatchBuilder {
    buffer: Vec<u8>,
    packing: Option<Packing>,
    limit_bytes: usize,
    count: i32,
    base_timestamp_ms: i64,
    max_timestamp_ms: i64,
}

impl BatchBuilder {
    /// An empty batch that takes records up to `limit_bytes` in all, and always at least one. Its buffer begins with room for `expected_bytes` and
    /// grows with its records.
    #[must_use]
    pub fn new(limit_bytes: usize, expected_bytes: usize) -> Self {
        let room = (expected_bytes + expected_bytes / 8).max(FIRST_BUFFER_BYTES_MIN).min(limit_bytes.max(HEADER_BYTES)) + HEAD_BYTES_MAX;
        let mut buffer = Vec::with_capacity(room);
        buffer.resize(HEADER_BYTES, 0);
        Self { buffer, packing: None, limit_bytes, count: 0, base_timestamp_ms: 0, max_timestamp_ms: 0 }
    }

    /// Its records will be compressed: its size is an estimate from now on.
    pub fn pack_with(&mut self, packing: Packing) {
        self.packing = Some(packing);
    }

    /// Whether its records will be compressed.
    #[must_use]
    pub fn is_packed(&self) -> bool {
        self.packing.is_some()
    }

    /// Bytes of the batch so far, header included; an estimate if it will be compressed.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.packing.map_or(self.buffer.len(), |packing| packing.estimate(self.buffer.len()))
    }

    /// Bytes written so far, header included, before compression.
    #[must_use]
    pub fn plain_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Whether nothing more fits.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.count > 0 && self.bytes() >= self.limit_bytes
    }

    /// Takes no more records, though there may be room.
    pub fn close_for_appends(&mut self) {
        self.limit_bytes = 0;
    }

    /// Appends a record, unless it would pass the limit (the first always fits). Returns whether it was taken.
    pub fn try_append(&mut self, timestamp_ms: i64, key: Option<&[u8]>, value: &[u8]) -> bool {
        if self.count == 0 {
            self.base_timestamp_ms = timestamp_ms;
            self.max_timestamp_ms = timestamp_ms;
        }
        let timestamp_delta = zigzag(timestamp_ms.wrapping_sub(self.base_timestamp_ms));
        let offset_delta = zigzag(i64::from(self.count));
        let body_bytes = 1
            + varint_u64_bytes(timestamp_delta)
            + varint_u64_bytes(offset_delta)
            + key.map_or(1, |key| varint_bytes(key.len()) + key.len())
            + varint_bytes(value.len())
            + value.len()
            + 1;
        let record_bytes = varint_bytes(body_bytes) + body_bytes;
        if self.count > 0 && self.bytes() + record_bytes > self.limit_bytes {
            return false;
        }
        let mut head = Head::default();
        head.put((body_bytes as u64) << 1);
        head.put(0);
        head.put(timestamp_delta);
        head.put(offset_delta);
        self.buffer.reserve(record_bytes + HEAD_BYTES_MAX);
        match key {
            Some(key) => {
                head.put((key.len() as u64) << 1);
                head.append_to(&mut self.buffer);
                self.buffer.extend_from_slice(key);
                head = Head::default();
            }
            None => head.put(zigzag(-1)),
        }
        head.put((value.len() as u64) << 1);
        head.append_to(&mut self.buffer);
        self.buffer.extend_from_slice(value);
        self.buffer.push(0);
        self.count += 1;
        self.max_timestamp_ms = self.max_timestamp_ms.max(timestamp_ms);
        true
    }

    /// Closes the batch: header, counts, CRC. Without a stamp (idempotence off) its fields are -1, as the Java client writes them.
    #[must_use]
    pub fn finish(self, stamp: Option<Stamp>) -> Bytes {
        let Self { mut buffer, packing, count, base_timestamp_ms, max_timestamp_ms, .. } = self;
        if let Some(packing) = packing {
            buffer = packed(&buffer, packing);
        }
        let length = i32::try_from(buffer.len() - at::LENGTH - 4).unwrap_or(i32::MAX);
        let mut header = [0_u8; HEADER_BYTES];
        header[at::LENGTH..][..4].copy_from_slice(&length.to_be_bytes());
        header[12..16].copy_from_slice(&(-1_i32).to_be_bytes());
        header[16] = 2;
        header[at::ATTRIBUTES + 1] = packing.map_or(0, |packing| packing.codec.id());
        header[at::LAST_OFFSET_DELTA..][..4].copy_from_slice(&(count - 1).to_be_bytes());
        header[at::BASE_TIMESTAMP..][..8].copy_from_slice(&base_timestamp_ms.to_be_bytes());
        header[at::MAX_TIMESTAMP..][..8].copy_from_slice(&max_timestamp_ms.to_be_bytes());
        match stamp {
            Some(stamp) => stamp.write(&mut header),
            None => header[at::PRODUCER_ID..][..14].fill(0xff),
        }
        header[at::RECORD_COUNT..][..4].copy_from_slice(&count.to_be_bytes());
        buffer[..HEADER_BYTES].copy_from_slice(&header);
        write_crc(&mut buffer);
        Bytes::from(buffer)
    }
}

/// A closed batch with its records decompressed; `None` if that cannot be done.
pub(super) fn unpacked(batch: Bytes) -> Option<Bytes> {
    const CODEC_BITS: u8 = 0b111;
    let codec_id = batch.get(at::ATTRIBUTES + 1)? & CODEC_BITS;
    if codec_id == 0 {
        return Some(batch);
    }
    let records = decompress(codec_id, batch.get(HEADER_BYTES..)?, i32::MAX as usize).ok()?;
    let mut plain = BytesMut::from(&batch[..HEADER_BYTES]);
    plain.extend_from_slice(&records);
    plain[at::ATTRIBUTES + 1] &= !CODEC_BITS;
    let length = i32::try_from(plain.len() - at::LENGTH - 4).ok()?;
    plain[at::LENGTH..][..4].copy_from_slice(&length.to_be_bytes());
    write_crc(&mut plain);
    Some(plain.freeze())
}

fn packed(plain: &[u8], packing: Packing) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(packing.estimate(plain.len()));
    buffer.resize(HEADER_BYTES, 0);
    packing.codec.compress(&plain[HEADER_BYTES..], &mut buffer);
    buffer
}

fn zigzag(value: i64) -> u64 {
    (value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned()
}

/// Bytes of a length as a zigzag varint.
fn varint_bytes(length: usize) -> usize {
    varint_u64_bytes((length as u64) << 1)
}

fn varint_u64_bytes(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// More than the varints of a record that stand together can take: lengths, deltas, attributes.
const HEAD_BYTES_MAX: usize = 48;

/// Varints that are put together on the stack and copied in one piece of constant size, which is a few moves instead of a call for each byte.
struct Head {
    bytes: [u8; HEAD_BYTES_MAX],
    length: usize,
}

impl Default for Head {
    fn default() -> Self {
        Self { bytes: [0; HEAD_BYTES_MAX], length: 0 }
    }
}

impl Head {
    fn put(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes[self.length] = (value as u8 & 0x7f) | 0x80;
            self.length += 1;
            value >>= 7;
        }
        self.bytes[self.length] = value as u8;
        self.length += 1;
    }

    fn append_to(&self, buffer: &mut Vec<u8>) {
        let end = buffer.len() + self.length;
        buffer.extend_from_slice(&self.bytes);
        buffer.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kafka_protocol::records::RecordBatchDecoder;
    use proptest::prelude::*;

    type Written = (i64, Option<Vec<u8>>, Vec<u8>);

    fn batch_of(records: &[Written], limit_bytes: usize) -> (Bytes, usize) {
        let mut builder = BatchBuilder::new(limit_bytes, 0);
        let taken = records.iter().take_while(|(at, key, value)| builder.try_append(*at, key.as_deref(), value)).count();
        (builder.finish(None), taken)
    }

    #[test]
    fn a_stamp_is_written_and_replaced_and_the_crc_follows() {
        let stamp = |id, epoch, base_sequence| Stamp { producer: ProducerIdAndEpoch { id, epoch }, base_sequence };
        let mut builder = BatchBuilder::new(usize::MAX, 0);
        assert!(builder.try_append(5, None, b"one") && builder.try_append(6, None, b"two"));
        let first = builder.finish(Some(stamp(7_000, 0, 40)));
        let kept = first.clone();
        let second = restamped(first, stamp(7_000, 1, 0));
        // The codec checks the CRC.
        for (mut bytes, epoch, sequences) in [(kept, 0, [40, 41]), (second, 1, [0, 1])] {
            let records = RecordBatchDecoder::decode_all(&mut bytes).unwrap().remove(0).records;
            assert_eq!(records.iter().map(|record| record.sequence).collect::<Vec<_>>(), sequences);
            assert!(records.iter().all(|record| (record.producer_id, record.producer_epoch) == (7_000, epoch)));
        }
    }

    #[test]
    fn a_batch_that_will_be_compressed_is_full_by_estimate() {
        let records = |expected_ratio: f32| {
            let mut builder = BatchBuilder::new(1_061, 0);
            builder.pack_with(Packing { codec: Codec::Snappy, expected_ratio });
            (0..1_000).take_while(|_| builder.try_append(0, None, &[7; 93])).count()
        };
        // 102 bytes a record and a margin of a twentieth; the record to come counts in full.
        assert_eq!((records(1.0), records(0.5), records(0.1)), (9, 17, 84));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            records in prop::collection::vec(
                (0_i64..2_000_000_000_000, prop::option::of(prop::collection::vec(any::<u8>(), 0..40)), prop::collection::vec(any::<u8>(), 0..300)),
                1..40,
            )
        ) {
            let (bytes, taken) = batch_of(&records, usize::MAX);
            prop_assert_eq!(taken, records.len());
            let mut bytes = bytes;
            let sets = RecordBatchDecoder::decode_all(&mut bytes).unwrap();
            prop_assert_eq!(sets.len(), 1, "one batch");
            let read: Vec<Written> = sets[0].records.iter()
                .map(|record| (record.timestamp, record.key.as_ref().map(|key| key.to_vec()), record.value.as_ref().unwrap().to_vec()))
                .collect();
            prop_assert_eq!(read, records);
            for (offset, record) in sets[0].records.iter().enumerate() {
                prop_assert_eq!(record.offset, offset as i64);
                prop_assert_eq!(record.producer_id, -1);
            }
        }

        #[test]
        fn a_compressed_batch_is_read_back(words in prop::collection::vec("[a-d]{0,20}", 1..400)) {
            let codecs = [Codec::Gzip { level: 6 }, Codec::Snappy];
            for codec in codecs {
                let mut builder = BatchBuilder::new(usize::MAX, 0);
                builder.pack_with(Packing { codec, expected_ratio: 1.0 });
                words.iter().for_each(|word| assert!(builder.try_append(5, None, word.as_bytes())));
                let plain_bytes = builder.plain_bytes();
                prop_assert!(builder.bytes() >= plain_bytes);
                let mut bytes = builder.finish(None);
                let sets = RecordBatchDecoder::decode_all(&mut bytes).unwrap();
                let read: Vec<String> =
                    sets[0].records.iter().map(|record| String::from_utf8(record.value.clone().unwrap().to_vec()).unwrap()).collect();
                prop_assert_eq!(&read, &words);
            }
        }

        #[test]
        fn a_batch_keeps_its_limit_but_takes_the_first_record(sizes in prop::collection::vec(0_usize..400, 1..40), limit_bytes in 0_usize..2_000) {
            let records: Vec<Written> = sizes.iter().map(|size| (0, None, vec![7; *size])).collect();
            let (bytes, taken) = batch_of(&records, limit_bytes);
            prop_assert!(taken >= 1);
            prop_assert!(taken == 1 || bytes.len() <= limit_bytes);
            let (alone, _) = batch_of(&records[..1], usize::MAX);
            prop_assert!(alone.len() <= single_record_bytes_max(None, &records[0].2));
        }
    }
}
