//! Values of records: exactly as long as the plan says, with an identity for later audits.
//!
//! Layout (little endian), each field present only where it fits whole:
//!
//! | bytes | field |
//! |---|---|
//! | 0..4 | magic `KCv2` |
//! | 4..8 | index of the producer in its group |
//! | 8..16 | sequence number of the record, from 0, over all topics of the producer |
//! | 16..20 | hash of the group's name |
//! | 20..28 | due time in microseconds since the start of `steady` (signed) |
//! | 28..32 | CRC-32C of all other bytes of the value |
//! | 32.. | filler |
//!
//! So a value of [`FULL_HEADER`] bytes or more says everything. From [`IDENTITY`] bytes on it still tells which record of which group's
//! producer it is, from 16 on of which producer, from 8 on whose; below 4 bytes it is filler alone. Filler is pseudo-random and differs from
//! record to record: it does not compress.

use crate::ids::ProducerIndex;
use crate::load::seed::group_hash;

/// Shortest value that holds the whole header.
pub const FULL_HEADER: usize = 32;

/// Shortest value that says of which group's producer it is which record.
pub const IDENTITY: usize = GROUP_END;

const MAGIC: [u8; 4] = *b"KCv2";
const PRODUCER_END: usize = 8;
const SEQUENCE_END: usize = 16;
const GROUP_END: usize = 20;
const DUE_END: usize = 28;

/// Writes the values of one producer, one after the other into the same buffer.
#[derive(Clone, Debug)]
pub struct Payload {
    producer: ProducerIndex,
    group_hash: u32,
    filler_seed: u64,
    value: Vec<u8>,
}

impl Payload {
    /// Values of `size_bytes` for a producer of a group.
    #[must_use]
    pub fn new(size_bytes: usize, group: &str, producer: ProducerIndex, filler_seed: u64) -> Self {
        Self { producer, group_hash: group_hash(group), filler_seed, value: vec![0; size_bytes] }
    }

    /// The value of the record with this sequence number, due at `due_us` (since the start of `steady`).
    pub fn write(&mut self, sequence: u64, due_us: i64) -> &[u8] {
        let length = self.value.len();
        let header_end = header_end(length);
        let mut header = [0_u8; FULL_HEADER];
        header[..MAGIC.len()].copy_from_slice(&MAGIC);
        header[MAGIC.len()..PRODUCER_END].copy_from_slice(&self.producer.0.to_le_bytes());
        header[PRODUCER_END..SEQUENCE_END].copy_from_slice(&sequence.to_le_bytes());
        header[SEQUENCE_END..GROUP_END].copy_from_slice(&self.group_hash.to_le_bytes());
        header[GROUP_END..DUE_END].copy_from_slice(&due_us.to_le_bytes());
        self.value[..header_end].copy_from_slice(&header[..header_end]);
        fill(&mut self.value[header_end..], self.filler_seed ^ sequence.wrapping_mul(GOLDEN));
        if header_end == FULL_HEADER {
            let checksum = checksum(&self.value);
            self.value[DUE_END..FULL_HEADER].copy_from_slice(&checksum.to_le_bytes());
        }
        &self.value
    }
}

/// Where the last field ends that fits into `length` bytes whole.
fn header_end(length: usize) -> usize {
    [FULL_HEADER, DUE_END, GROUP_END, SEQUENCE_END, PRODUCER_END, MAGIC.len()].into_iter().find(|end| *end <= length).unwrap_or(0)
}

/// Of all bytes of a value that holds the whole header, but the checksum's own.
fn checksum(value: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&value[..DUE_END]), &value[FULL_HEADER..])
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64, eight bytes at a step: about 1 ns each.
fn fill(bytes: &mut [u8], mut state: u64) {
    for chunk in bytes.chunks_mut(8) {
        state = state.wrapping_add(GOLDEN);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^= word >> 31;
        chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
    }
}

/// What a value says of its record; fields that it is too short for are `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Index of the producer in its group.
    pub producer: ProducerIndex,
    /// Sequence number of the record.
    pub sequence: Option<u64>,
    /// Hash of the group's name, as in [`group_hash`].
    pub group_hash: Option<u32>,
    /// Due time in microseconds since the start of `steady`.
    pub due_us: Option<i64>,
    /// Whether the checksum is that of the value's bytes.
    pub is_intact: Option<bool>,
}

/// Reads a value back. `None`: it is not one of ours, or too short to say whose it is.
#[must_use]
pub fn parse(value: &[u8]) -> Option<Identity> {
    let (magic, rest) = value.split_first_chunk::<4>()?;
    if *magic != MAGIC {
        return None;
    }
    let (producer, rest) = rest.split_first_chunk::<4>()?;
    let sequence = rest.split_first_chunk::<8>();
    let group = sequence.and_then(|(_, rest)| rest.split_first_chunk::<4>());
    let due = group.and_then(|(_, rest)| rest.split_first_chunk::<8>());
    let sum = due.and_then(|(_, rest)| rest.first_chunk::<4>());
    Some(Identity {
        producer: ProducerIndex(u32::from_le_bytes(*producer)),
        sequence: sequence.map(|(bytes, _)| u64::from_le_bytes(*bytes)),
        group_hash: group.map(|(bytes, _)| u32::from_le_bytes(*bytes)),
        due_us: due.map(|(bytes, _)| i64::from_le_bytes(*bytes)),
        is_intact: sum.map(|bytes| u32::from_le_bytes(*bytes) == checksum(value)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_says_as_much_as_fits() {
        let group = Some(group_hash("steady"));
        for (size, sequence, group_hash, due_us, is_intact) in [
            (8, None, None, None, None),
            (15, None, None, None, None),
            (16, Some(77), None, None, None),
            (IDENTITY, Some(77), group, None, None),
            (27, Some(77), group, None, None),
            (28, Some(77), group, Some(-5), None),
            (31, Some(77), group, Some(-5), None),
            (FULL_HEADER, Some(77), group, Some(-5), Some(true)),
            (1_000, Some(77), group, Some(-5), Some(true)),
        ] {
            let mut payload = Payload::new(size, "steady", ProducerIndex(3), 1);
            let value = payload.write(77, -5);
            assert_eq!(value.len(), size);
            let identity = Identity { producer: ProducerIndex(3), sequence, group_hash, due_us, is_intact };
            assert_eq!(parse(value), Some(identity), "{size} bytes");
        }
    }

    #[test]
    fn any_bit_that_differs_breaks_the_checksum() {
        let good = Payload::new(45, "steady", ProducerIndex(3), 1).write(77, -5).to_vec();
        // A magic that differs makes it nobody's.
        for bit in MAGIC.len() * 8..good.len() * 8 {
            let mut value = good.clone();
            value[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse(&value).unwrap().is_intact, Some(false), "bit {bit}");
        }
    }

    #[test]
    fn short_and_foreign_values_are_nobodys() {
        for size in 0..8 {
            assert_eq!(parse(Payload::new(size, "steady", ProducerIndex(3), 1).write(0, 0)), None);
        }
        assert_eq!(parse(b"somebody else's record of some length"), None);
    }

    #[test]
    fn filler_differs_between_records_and_is_not_constant() {
        let mut payload = Payload::new(100, "steady", ProducerIndex(0), 9);
        let (first, second) = (payload.write(0, 0).to_vec(), payload.write(1, 0).to_vec());
        assert_ne!(first[FULL_HEADER..], second[FULL_HEADER..]);
        assert!(first[FULL_HEADER..].iter().filter(|byte| **byte == 0).count() < 8);
        assert_eq!(first, payload.write(0, 0));
    }
}
