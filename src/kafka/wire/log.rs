//! Reading record batches (format v2) out of a log that a broker sends, one by one and without copying.
//!
//! Nothing that a batch announces is believed before its bytes are there, and no room is made for what it announces. The controller's log has
//! no compressed batches ([`next_batch`] refuses one); those of topics are unpacked ([`next_unpacked`]). Not here: what the records say (`raft`,
//! `audit`), batches that this client writes (`batch`).

use bytes::{Buf, Bytes};

use crate::kafka::wire::batch::{HEADER_BYTES, at};
use crate::kafka::wire::compression::decompress;
use crate::kafka::wire::frame::FRAME_BYTES_MAX;

/// Bytes of a batch's base offset and length.
const PREFIX_BYTES: usize = 12;
/// The only format that is read.
const MAGIC: u8 = 2;
/// Most bytes that may come out of one compressed batch: hundreds of times what brokers take by default (`message.max.bytes`).
const UNPACKED_BYTES_MAX: usize = 256 << 20;
/// Which of the attributes' bits name the codec.
const CODEC_BITS: i16 = 0b111;
/// The timestamps are those of the append, not of the records.
const LOG_APPEND_TIME_BIT: i16 = 1 << 3;
/// The batch holds control records.
const CONTROL_BIT: i16 = 1 << 5;

/// What is wrong with a log's bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// A batch announces less than a header, or more than any answer can hold.
    #[error("a batch at offset {offset} is said to have {bytes} bytes")]
    Length {
        /// The batch's base offset.
        offset: i64,
        /// What it announces.
        bytes: i32,
    },
    /// Another format than v2.
    #[error("the batch at offset {offset} has format {magic}; only 2 is read")]
    Magic {
        /// The batch's base offset.
        offset: i64,
        /// Its format.
        magic: u8,
    },
    /// Its checksum is not that of its bytes.
    #[error("the batch at offset {offset} is damaged: its checksum does not fit")]
    Checksum {
        /// The batch's base offset.
        offset: i64,
    },
    /// It cannot be unpacked.
    #[error("the batch at offset {offset}, compressed with codec {codec}, cannot be unpacked: {what}")]
    Unpack {
        /// The batch's base offset.
        offset: i64,
        /// The codec's number.
        codec: i16,
        /// Why.
        what: String,
    },
    /// It is compressed.
    #[error("the batch at offset {offset} is compressed with codec {codec}, which no controller does")]
    Compressed {
        /// The batch's base offset.
        offset: i64,
        /// The codec's number.
        codec: i16,
    },
    /// Its offsets or counts contradict each other.
    #[error("the batch at offset {offset} counts {records} records up to offset delta {last_delta}")]
    Counts {
        /// The batch's base offset.
        offset: i64,
        /// How many records it announces.
        records: i32,
        /// Its last offset, as a delta.
        last_delta: i32,
    },
    /// A record's own framing does not hold.
    #[error("a record of the batch at offset {offset} is malformed: {what}")]
    Record {
        /// The batch's base offset.
        offset: i64,
        /// What is wrong.
        what: &'static str,
    },
}

/// One batch: its header, and its records as they came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogBatch {
    /// Offset of its first record.
    pub base_offset: i64,
    /// First offset behind it.
    pub next_offset: i64,
    /// Epoch of the leader that wrote it.
    pub leader_epoch: i32,
    /// Whether it holds control records.
    pub is_control: bool,
    /// `Some`: the append's time, which stands for that of each record.
    append_time_ms: Option<i64>,
    base_timestamp_ms: i64,
    record_count: i32,
    records: Bytes,
}

/// A record of a [`LogBatch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRecord<'a> {
    /// Its offset.
    pub offset: i64,
    /// Its timestamp, in ms since 1970.
    pub timestamp_ms: i64,
    /// Its key; `None`: null.
    pub key: Option<&'a [u8]>,
    /// Its value; `None`: null.
    pub value: Option<&'a [u8]>,
}

/// Takes the next whole batch off the front of a controller's log; `None` if its end is not there yet.
///
/// # Errors
/// What is wrong with it, or that it is compressed; the log cannot be read on.
pub fn next_batch(log: &mut Bytes) -> Result<Option<LogBatch>, LogError> {
    match next_packed(log)? {
        Some((batch, 0)) => Ok(Some(batch)),
        Some((batch, codec)) => Err(LogError::Compressed { offset: batch.base_offset, codec }),
        None => Ok(None),
    }
}

/// Takes the next whole batch off the front of any log, and unpacks it if it is compressed.
///
/// # Errors
/// What is wrong with it; the log cannot be read on.
pub fn next_unpacked(log: &mut Bytes) -> Result<Option<LogBatch>, LogError> {
    match next_packed(log)? {
        Some((mut batch, codec)) if codec != 0 => {
            // Three bits.
            let unpacked = decompress(codec as u8, &batch.records, UNPACKED_BYTES_MAX);
            let refused = |source: std::io::Error| LogError::Unpack { offset: batch.base_offset, codec, what: source.to_string() };
            batch.records = unpacked.map_err(refused)?.into();
            Ok(Some(batch))
        }
        other => Ok(other.map(|(batch, _)| batch)),
    }
}

/// The same as it is, with the codec's number.
fn next_packed(log: &mut Bytes) -> Result<Option<(LogBatch, i16)>, LogError> {
    let Some(prefix) = log.first_chunk::<PREFIX_BYTES>() else { return Ok(None) };
    let (offset, bytes) = (i64_at(prefix, 0), i32_at(prefix, at::LENGTH));
    let length = usize::try_from(bytes).ok().filter(|bytes| (HEADER_BYTES - PREFIX_BYTES..=FRAME_BYTES_MAX).contains(bytes));
    let Some(length) = length else { return Err(LogError::Length { offset, bytes }) };
    if log.len() < PREFIX_BYTES + length {
        return Ok(None);
    }
    let mut batch = log.split_to(PREFIX_BYTES + length);
    let header = batch.split_to(HEADER_BYTES);
    check(offset, &header, &batch)?;
    let (records, last_delta) = (i32_at(&header, at::RECORD_COUNT), i32_at(&header, at::LAST_OFFSET_DELTA));
    let next_offset = offset.checked_add(i64::from(last_delta) + 1);
    let Some(next_offset) = next_offset.filter(|_| offset >= 0 && records >= 0 && last_delta >= 0 && records - 1 <= last_delta) else {
        return Err(LogError::Counts { offset, records, last_delta });
    };
    let attributes = i16_at(&header, at::ATTRIBUTES);
    let batch = LogBatch {
        base_offset: offset,
        next_offset,
        leader_epoch: i32_at(&header, PREFIX_BYTES),
        is_control: attributes & CONTROL_BIT != 0,
        append_time_ms: (attributes & LOG_APPEND_TIME_BIT != 0).then(|| i64_at(&header, at::MAX_TIMESTAMP)),
        base_timestamp_ms: i64_at(&header, at::BASE_TIMESTAMP),
        record_count: records,
        records: batch,
    };
    Ok(Some((batch, attributes & CODEC_BITS)))
}

fn check(offset: i64, header: &[u8], records: &[u8]) -> Result<(), LogError> {
    let magic = header[PREFIX_BYTES + 4];
    if magic != MAGIC {
        return Err(LogError::Magic { offset, magic });
    }
    let crc = crc32c::crc32c_append(crc32c::crc32c(&header[at::ATTRIBUTES..]), records);
    if i32_at(header, at::CRC).cast_unsigned() != crc {
        return Err(LogError::Checksum { offset });
    }
    Ok(())
}

impl LogBatch {
    /// Its records, in order. An error is the last item.
    pub fn records(&self) -> impl Iterator<Item = Result<LogRecord<'_>, LogError>> {
        let mut rest = &self.records[..];
        let mut left = self.record_count;
        std::iter::from_fn(move || {
            if left == 0 {
                let surplus = !std::mem::take(&mut rest).is_empty();
                return surplus.then_some(Err(self.malformed("there are bytes behind the last record")));
            }
            let read = self.record(&mut rest);
            left = if read.is_ok() { left - 1 } else { 0 };
            if read.is_err() {
                rest = &[];
            }
            Some(read)
        })
    }

    fn record<'a>(&self, rest: &mut &'a [u8]) -> Result<LogRecord<'a>, LogError> {
        let length = self.varint(rest)?;
        let length = usize::try_from(length).map_err(|_| self.malformed("its length is negative"))?;
        let (mut record, behind) = rest.split_at_checked(length).ok_or_else(|| self.malformed("it is cut short"))?;
        *rest = behind;
        if !record.has_remaining() {
            return Err(self.malformed("it is empty"));
        }
        let _attributes = record.get_u8();
        let timestamp_delta = self.varint(&mut record)?;
        let offset_delta = self.varint(&mut record)?;
        let offset = self.base_offset.checked_add(offset_delta).filter(|offset| (self.base_offset..self.next_offset).contains(offset));
        let read = LogRecord {
            offset: offset.ok_or_else(|| self.malformed("its offset lies outside its batch"))?,
            timestamp_ms: self.append_time_ms.unwrap_or_else(|| self.base_timestamp_ms.saturating_add(timestamp_delta)),
            key: self.nullable(&mut record)?,
            value: self.nullable(&mut record)?,
        };
        // Headers, which controllers do not write, are passed over by the record's length.
        Ok(read)
    }

    fn nullable<'a>(&self, rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, LogError> {
        let length = self.varint(rest)?;
        if length == -1 {
            return Ok(None);
        }
        let length = usize::try_from(length).map_err(|_| self.malformed("a length is negative"))?;
        let (bytes, behind) = rest.split_at_checked(length).ok_or_else(|| self.malformed("a key or value is cut short"))?;
        *rest = behind;
        Ok(Some(bytes))
    }

    /// A zigzag varint of up to ten bytes.
    fn varint(&self, rest: &mut &[u8]) -> Result<i64, LogError> {
        let mut value = 0_u64;
        for shift in (0..70).step_by(7) {
            let Some((byte, behind)) = rest.split_first() else { return Err(self.malformed("a number is cut short")) };
            *rest = behind;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
            }
        }
        Err(self.malformed("a number has more than 64 bits"))
    }

    fn malformed(&self, what: &'static str) -> LogError {
        LogError::Record { offset: self.base_offset, what }
    }
}

fn i16_at(bytes: &[u8], at: usize) -> i16 {
    (&bytes[at..]).get_i16()
}

fn i32_at(bytes: &[u8], at: usize) -> i32 {
    (&bytes[at..]).get_i32()
}

fn i64_at(bytes: &[u8], at: usize) -> i64 {
    (&bytes[at..]).get_i64()
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use kafka_protocol::records::{Compression, Record, RecordBatchEncoder, RecordEncodeOptions, TimestampType};
    use proptest::prelude::*;

    use super::*;

    fn record(offset: i64, timestamp: i64, key: Option<Vec<u8>>, value: Vec<u8>) -> Record {
        Record {
            transactional: false,
            control: false,
            delete_horizon: false,
            partition_leader_epoch: 5,
            producer_id: -1,
            producer_epoch: -1,
            timestamp_type: TimestampType::Creation,
            offset,
            // The codec begins a new batch where sequences and offsets do not go together.
            sequence: offset as i32,
            timestamp,
            key: key.map(Bytes::from),
            value: Some(Bytes::from(value)),
            headers: Default::default(),
        }
    }

    /// A batch as the codec crate writes it.
    fn batch(records: &[Record], compression: Compression) -> BytesMut {
        let mut bytes = BytesMut::new();
        RecordBatchEncoder::encode(&mut bytes, records, &RecordEncodeOptions { version: 2, compression }).unwrap();
        bytes
    }

    fn two() -> BytesMut {
        batch(&[record(40, 1_000, Some(b"key".to_vec()), b"one".to_vec()), record(41, 1_005, None, b"two".to_vec())], Compression::None)
    }

    /// Puts bytes in their place and makes the checksum fit.
    fn spoilt(mut bytes: BytesMut, at: usize, with: &[u8]) -> Bytes {
        bytes[at..at + with.len()].copy_from_slice(with);
        let crc = crc32c::crc32c(&bytes[at::ATTRIBUTES..]);
        bytes[at::CRC..at::CRC + 4].copy_from_slice(&crc.to_be_bytes());
        bytes.freeze()
    }

    #[test]
    fn batches_are_taken_off_one_by_one_and_an_unfinished_one_waits() {
        let mut log = [&two()[..], &two()[..]].concat();
        log.truncate(log.len() - 1);
        let mut log = Bytes::from(log);
        let first = next_batch(&mut log).unwrap().unwrap();
        assert_eq!((first.base_offset, first.next_offset, first.leader_epoch, first.is_control), (40, 42, 5, false));
        let records: Vec<_> = first.records().map(Result::unwrap).collect();
        assert_eq!(records[0], LogRecord { offset: 40, timestamp_ms: 1_000, key: Some(b"key"), value: Some(b"one") });
        assert_eq!(records[1], LogRecord { offset: 41, timestamp_ms: 1_005, key: None, value: Some(b"two") });
        assert_eq!(next_batch(&mut log), Ok(None));
        assert_eq!(log.len(), two().len() - 1);
    }

    #[test]
    fn what_is_wrong_with_a_batch_is_told() {
        let rows = [
            (spoilt(two(), at::LENGTH, &[0, 0, 0, 9]), "a batch at offset 40 is said to have 9 bytes"),
            (spoilt(two(), at::LENGTH, &[0x7f; 4]), "a batch at offset 40 is said to have 2139062143 bytes"),
            (spoilt(two(), 16, &[1]), "has format 1"),
            (spoilt(two(), at::LAST_OFFSET_DELTA, &[0; 4]), "counts 2 records up to offset delta 0"),
            (spoilt(two(), at::RECORD_COUNT, &[0xff; 4]), "counts -1 records"),
            (spoilt(two(), 0, &[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), "counts 2 records"),
            (batch(&[record(40, 0, None, vec![7; 90])], Compression::Gzip).freeze(), "is compressed with codec 1"),
        ];
        for (mut log, words) in rows {
            let error = next_batch(&mut log).unwrap_err();
            assert!(error.to_string().contains(words), "{words}: {error}");
        }
        let mut damaged = two();
        damaged[HEADER_BYTES + 3] ^= 1;
        assert_eq!(next_batch(&mut damaged.freeze()), Err(LogError::Checksum { offset: 40 }));
    }

    #[test]
    fn what_is_wrong_with_a_record_is_told_and_ends_the_batch() {
        let at = HEADER_BYTES;
        let rows: [(usize, &[u8], &str); 6] = [
            (at, &[0x7f], "its length is negative"),
            (at, &[0xfe, 0x01], "it is cut short"),
            (at, &[0], "it is empty"),
            (at + 3, &[4], "its offset lies outside its batch"),
            (at + 4, &[40], "a key or value is cut short"),
            (at, &[0xff; 10], "a number has more than 64 bits"),
        ];
        for (at, bytes, words) in rows {
            let batch = next_batch(&mut spoilt(two(), at, bytes)).unwrap().unwrap();
            let read: Vec<_> = batch.records().collect();
            let error = read.last().unwrap().clone().unwrap_err();
            assert!(error.to_string().contains(words), "{words}: {error}");
            assert!(read.len() <= 2);
        }
        let fewer = next_batch(&mut spoilt(two(), at::RECORD_COUNT, &[0, 0, 0, 1])).unwrap().unwrap();
        let error = fewer.records().last().unwrap().unwrap_err();
        assert!(error.to_string().contains("behind the last record"), "{error}");
    }

    #[test]
    fn compressed_batches_of_topics_are_unpacked_and_broken_ones_told() {
        let written = [record(40, 1_000, Some(b"key".to_vec()), vec![7; 90]), record(41, 1_005, None, vec![8; 90])];
        for codec in [Compression::None, Compression::Gzip, Compression::Snappy] {
            let mut log = batch(&written, codec).freeze();
            let read = next_unpacked(&mut log).unwrap().unwrap();
            let values: Vec<_> = read.records().map(|record| record.unwrap().value.unwrap().to_vec()).collect();
            assert_eq!(values, [vec![7; 90], vec![8; 90]], "{codec:?}");
        }
        let mut broken = spoilt(batch(&written, Compression::Gzip), HEADER_BYTES, &[0]);
        let error = next_unpacked(&mut broken).unwrap_err();
        assert!(error.to_string().contains("codec 1, cannot be unpacked"), "{error}");
        let mut unknown = spoilt(two(), at::ATTRIBUTES, &[0, 7]);
        let error = next_unpacked(&mut unknown).unwrap_err();
        assert!(error.to_string().contains("codec 7 is not built in"), "{error}");
    }

    proptest! {
        #[test]
        fn what_the_codec_writes_is_read(
            records in prop::collection::vec(
                (0_i64..2_000_000_000_000, prop::option::of(prop::collection::vec(any::<u8>(), 0..40)), prop::collection::vec(any::<u8>(), 0..300)),
                1..20,
            ),
            base in 0_i64..1_000_000_000_000,
        ) {
            let written: Vec<_> = (base..).zip(&records).map(|(offset, (at, key, value))| record(offset, *at, key.clone(), value.clone())).collect();
            let mut log = batch(&written, Compression::None).freeze();
            let batch = next_batch(&mut log).unwrap().unwrap();
            prop_assert!(log.is_empty());
            prop_assert_eq!((batch.base_offset, batch.next_offset), (base, base + records.len() as i64));
            for (read, written) in batch.records().zip(&written) {
                let read = read.unwrap();
                prop_assert_eq!((read.offset, read.timestamp_ms), (written.offset, written.timestamp));
                prop_assert_eq!((read.key, read.value), (written.key.as_deref(), written.value.as_deref()));
            }
            prop_assert_eq!(batch.records().count(), records.len());
        }
    }
}
