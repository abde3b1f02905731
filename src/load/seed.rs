//! Seeds of the generators that one producer uses.

use sha2::{Digest, Sha256};

use crate::ids::ProducerIndex;

/// What a generator is for; each has a seed of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Gaps between records.
    Arrivals,
    /// Bytes of payloads.
    Payload,
    /// The client's own choices (backoff jitter, partitions).
    Client,
}

/// Seed of one producer's generator. Invariant: depends on its arguments alone, not on the worker that runs the producer.
#[must_use]
pub fn producer_seed(plan_seed: u64, group: &str, producer: ProducerIndex, purpose: Purpose) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(plan_seed.to_le_bytes());
    hash.update([match purpose {
        Purpose::Arrivals => 1,
        Purpose::Payload => 2,
        Purpose::Client => 3,
    }]);
    hash.update(producer.0.to_le_bytes());
    hash.update(group.as_bytes());
    hash.finalize().into()
}

/// The same as one number, for generators that take one.
#[must_use]
pub fn producer_seed_u64(plan_seed: u64, group: &str, producer: ProducerIndex, purpose: Purpose) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = producer_seed(plan_seed, group, producer, purpose);
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// A short stand-in for a group's name (FNV-1a), so that records of groups with equal producer indexes can be told apart.
#[must_use]
pub fn group_hash(group: &str) -> u32 {
    group.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_differ_by_every_argument() {
        let all = [
            producer_seed(7, "a", ProducerIndex(0), Purpose::Arrivals),
            producer_seed(8, "a", ProducerIndex(0), Purpose::Arrivals),
            producer_seed(7, "b", ProducerIndex(0), Purpose::Arrivals),
            producer_seed(7, "a", ProducerIndex(1), Purpose::Arrivals),
            producer_seed(7, "a", ProducerIndex(0), Purpose::Payload),
        ];
        for (i, left) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|right| left != right), "seed {i}");
        }
        assert_eq!(all[0], producer_seed(7, "a", ProducerIndex(0), Purpose::Arrivals));
    }
}
