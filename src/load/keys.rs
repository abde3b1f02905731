//! Keys of records.

use std::num::NonZeroU32;

/// Keys `key-0` to `key-<count - 1>`, in turn: among any `count` records that a producer sends to a topic, each key occurs once. With
/// enough keys, all partitions of a topic are used, at a steady pace. Producers of a group begin at different keys.
#[derive(Clone, Debug)]
pub struct Keys {
    count: NonZeroU32,
    first: u32,
    text: Vec<u8>,
}

const PREFIX: &[u8] = b"key-";

impl Keys {
    /// Keys for one producer; `producer_seed` decides which is its first.
    #[must_use]
    pub fn new(count: NonZeroU32, producer_seed: u64) -> Self {
        let first = u32::try_from(producer_seed % u64::from(count.get())).unwrap_or(0);
        Self { count, first, text: Vec::with_capacity(PREFIX.len() + 10) }
    }

    /// The key of the `round`-th record that the producer sends to a topic.
    pub fn key(&mut self, round: u64) -> &[u8] {
        let count = u64::from(self.count.get());
        let mut number = (u64::from(self.first) + round % count) % count;
        // Written backwards: cheaper than the formatting machinery, once per record.
        let mut digits = [0_u8; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.text.clear();
        self.text.extend_from_slice(PREFIX);
        self.text.extend_from_slice(&digits[at..]);
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_key_comes_once_per_round() {
        let mut keys = Keys::new(NonZeroU32::new(12).unwrap(), 7);
        assert_eq!(keys.key(0), b"key-7");
        assert_eq!(keys.key(4), b"key-11");
        assert_eq!(keys.key(5), b"key-0");
        let seen: BTreeSet<Vec<u8>> = (100..112).map(|round| keys.key(round).to_vec()).collect();
        assert_eq!(seen.len(), 12);
        assert_eq!(keys.key(12 * 1_000_000_007), b"key-7");
    }
}
