//! Which partition a record goes to: by its key's hash, or the sticky partition of its topic (KIP-480, KIP-794).
//!
//! Java's counterparts: `Utils.murmur2`, `BuiltInPartitioner`. The weights of the adaptive mode are made in `adaptive`.

use rand::{Rng, RngExt};

use crate::ids::PartitionIndex;
use crate::kafka::core::adaptive::LoadStats;
use crate::kafka::metadata::TopicView;

/// Java's murmur2 of a key: 32 bits, little-endian words.
#[must_use]
pub fn murmur2(key: &[u8]) -> i32 {
    const SEED: u32 = 0x9747_b28c;
    const M: u32 = 0x5bd1_e995;
    let mut hash = SEED ^ (key.len() as u32);
    let mut words = key.chunks_exact(4);
    for word in &mut words {
        let mut k = u32::from_le_bytes([word[0], word[1], word[2], word[3]]).wrapping_mul(M);
        k = (k ^ (k >> 24)).wrapping_mul(M);
        hash = hash.wrapping_mul(M) ^ k;
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        for (position, byte) in rest.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * position);
        }
        hash = hash.wrapping_mul(M);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(M);
    (hash ^ (hash >> 15)).cast_signed()
}

/// The partition of a key among `count` (at least 1).
#[must_use]
pub fn partition_of_key(key: &[u8], count: u32) -> PartitionIndex {
    let positive = murmur2(key).cast_unsigned() & 0x7fff_ffff;
    PartitionIndex((positive % count.max(1)).cast_signed())
}

/// The partition that records without a key go to for now, and how many bytes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sticky {
    /// The partition.
    pub partition: PartitionIndex,
    /// Bytes appended to it since it was chosen.
    pub produced_bytes: usize,
}

impl Sticky {
    /// A new choice: by weight where there are weights, else uniform over the partitions whose leader is known, over all if none is.
    pub(super) fn choose(topic: &TopicView, load: &LoadStats, random: &mut impl Rng) -> Self {
        Self { partition: load.pick(random).unwrap_or_else(|| next_sticky(topic, random)), produced_bytes: 0 }
    }

    /// Whether it is time for another partition: after `batch_bytes` once the queue's last batch is closed, after twice that in any case.
    #[must_use]
    pub fn is_spent(self, batch_bytes: usize, all_batches_full: bool) -> bool {
        self.produced_bytes >= 2 * batch_bytes || (self.produced_bytes >= batch_bytes && all_batches_full)
    }
}

fn next_sticky(topic: &TopicView, random: &mut impl Rng) -> PartitionIndex {
    if topic.available.is_empty() {
        let position = random.random_range(0..topic.partitions.len().max(1));
        return topic.partitions.get(position).map_or(PartitionIndex(0), |partition| partition.index);
    }
    topic.available[random.random_range(0..topic.available.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn murmur2_is_javas() {
        let rows = [
            ("", 275_646_681, 0, 9),
            ("a", -1_563_381_124, 1, 4),
            ("ab", 316_155_434, 2, 2),
            ("abc", 479_470_107, 0, 3),
            ("abcd", -1_323_649_548, 2, 8),
            ("key-0", 29_210_041, 1, 1),
            ("key-1", 193_331_640, 0, 0),
            ("key-42", -187_086_521, 0, 3),
            ("foobar", -790_332_482, 0, 6),
            ("user-1234567890", -1_330_799_885, 0, 3),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971, 2, 5),
        ];
        for (key, hash, of_3, of_12) in rows {
            assert_eq!(murmur2(key.as_bytes()), hash, "{key}");
            assert_eq!(partition_of_key(key.as_bytes(), 3), PartitionIndex(of_3), "{key}");
            assert_eq!(partition_of_key(key.as_bytes(), 12), PartitionIndex(of_12), "{key}");
        }
    }

    #[test]
    fn a_sticky_partition_is_spent_at_one_batch_if_closed_and_at_two_in_any_case() {
        let sticky = |produced_bytes| Sticky { partition: PartitionIndex(0), produced_bytes };
        assert!(!sticky(99).is_spent(100, true));
        assert!(!sticky(100).is_spent(100, false));
        assert!(sticky(100).is_spent(100, true));
        assert!(!sticky(199).is_spent(100, false));
        assert!(sticky(200).is_spent(100, false));
    }
}
