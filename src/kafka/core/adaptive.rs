//! Partitions weighed by how few batches wait for them (KIP-794, adaptive mode), and nodes that leave data waiting for too long.
//!
//! Java's counterparts: `BuiltInPartitioner.updatePartitionLoadStats`, `RecordAccumulator.NodeLatencyStats`. Gathered anew at each look for ready
//! batches, in buffers that are kept; used when the sticky partition changes, never per record.

use std::time::Duration;

use rand::{Rng, RngExt};
use rustc_hash::FxHashMap;

use crate::clock::Moment;
use crate::ids::{BrokerId, PartitionIndex};

/// One topic's weights.
#[derive(Debug, Default)]
pub(super) struct LoadStats {
    partitions: Vec<PartitionIndex>,
    /// Queue lengths while they are gathered; then running sums of the weights.
    table: Vec<u32>,
    /// How many queues there are, also those without a leader or left out.
    queues: usize,
}

impl LoadStats {
    /// Forgets all weights: the choice is uniform.
    pub(super) fn clear(&mut self) {
        self.partitions.clear();
        self.table.clear();
    }

    /// Begins to gather the lengths of `queues` queues.
    pub(super) fn begin(&mut self, queues: usize) {
        self.clear();
        self.queues = queues;
    }

    /// A partition that has a leader, and how many batches wait for it.
    pub(super) fn add(&mut self, partition: PartitionIndex, waiting: usize) {
        self.partitions.push(partition);
        self.table.push(u32::try_from(waiting).unwrap_or(u32::MAX / 2));
    }

    /// Makes weights of the lengths: longest + 1 - own. With fewer than two queues, none that may be chosen, or all alike (and none left out), the
    /// choice stays uniform.
    pub(super) fn finish(&mut self) {
        let (Some(longest), Some(shortest)) = (self.table.iter().max().copied(), self.table.iter().min().copied()) else { return };
        if self.queues < 2 || (longest == shortest && self.table.len() == self.queues) {
            return self.clear();
        }
        let mut sum = 0_u32;
        for entry in &mut self.table {
            sum = sum.saturating_add(longest + 1 - *entry);
            *entry = sum;
        }
    }

    /// A partition by weight; `None`: choose uniformly.
    pub(super) fn pick(&self, random: &mut impl Rng) -> Option<PartitionIndex> {
        let sum = *self.table.last()?;
        let drawn = random.random_range(0..sum);
        self.partitions.get(self.table.partition_point(|entry| *entry <= drawn)).copied()
    }
}

/// Since when each node has had data that it did not take.
#[derive(Debug)]
pub(super) struct NodeLatencies {
    /// `partitioner.availability.timeout.ms`; `None`: off.
    timeout: Option<Duration>,
    /// When a node was last seen with data for it, and when it last could take some.
    nodes: FxHashMap<BrokerId, (Moment, Moment)>,
}

impl NodeLatencies {
    /// Nothing known. Zero turns it off.
    pub(super) fn new(timeout: Duration) -> Self {
        Self { timeout: (!timeout.is_zero()).then_some(timeout), nodes: FxHashMap::default() }
    }

    /// There is data for a node now. `can_take`: and it can be sent.
    pub(super) fn note(&mut self, node: BrokerId, can_take: bool, now: Moment) {
        if self.timeout.is_some() {
            let (ready_at, drained_at) = self.nodes.entry(node).or_insert((now, now));
            *ready_at = now;
            if can_take {
                *drained_at = now;
            }
        }
    }

    /// Whether a node has left data waiting for too long.
    pub(super) fn is_slow(&self, node: BrokerId) -> bool {
        let waited = || self.nodes.get(&node).map(|(ready_at, drained_at)| ready_at.since(*drained_at));
        self.timeout.is_some_and(|timeout| waited().is_some_and(|waited| waited > timeout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// Weights of these queues (partition, length), as shares of 8,000 draws in thousands; `None`: uniform.
    fn shares(queues: usize, lengths: &[(i32, usize)]) -> Option<Vec<(i32, usize)>> {
        let mut stats = LoadStats::default();
        stats.begin(queues);
        lengths.iter().for_each(|(partition, length)| stats.add(PartitionIndex(*partition), *length));
        stats.finish();
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let draws: Option<Vec<_>> = (0..8_000).map(|_| stats.pick(&mut random)).collect();
        draws.map(|draws| {
            let share = |partition| (draws.iter().filter(|drawn| **drawn == PartitionIndex(partition)).count() + 500) / 1_000;
            lengths.iter().map(|(partition, _)| (*partition, share(*partition))).collect()
        })
    }

    #[test]
    fn short_queues_weigh_more() {
        assert_eq!(shares(3, &[(0, 0), (1, 3), (2, 1)]), Some(vec![(0, 4), (1, 1), (2, 3)]));
        assert_eq!(shares(2, &[(4, 0), (9, 6)]), Some(vec![(4, 7), (9, 1)]));
    }

    #[test]
    fn without_a_difference_the_choice_is_uniform() {
        for (queues, lengths) in [(3, vec![(0, 2), (1, 2), (2, 2)]), (1, vec![(0, 5)]), (3, Vec::new())] {
            assert_eq!(shares(queues, &lengths), None, "{queues} {lengths:?}");
        }
    }

    #[test]
    fn a_partition_that_is_left_out_is_never_chosen_even_if_the_others_are_alike() {
        assert_eq!(shares(3, &[(0, 1), (2, 1)]), Some(vec![(0, 4), (2, 4)]));
        assert_eq!(shares(2, &[(1, 9)]), Some(vec![(1, 8)]));
    }

    #[test]
    fn new_lengths_replace_the_old_ones() {
        let mut stats = LoadStats::default();
        for _ in 0..3 {
            stats.begin(2);
            stats.add(PartitionIndex(0), 0);
            stats.add(PartitionIndex(1), 1);
            stats.finish();
        }
        assert_eq!(stats.table, [2, 3]);
        stats.clear();
        assert_eq!(stats.pick(&mut ChaCha8Rng::seed_from_u64(1)), None);
    }

    #[test]
    fn a_node_is_slow_if_data_waited_longer_than_the_timeout() {
        let (node, start) = (BrokerId(1), Moment(1_000_000));
        let after = |ms| start + Duration::from_millis(ms);
        let mut latencies = NodeLatencies::new(Duration::from_millis(100));
        latencies.note(node, true, start);
        latencies.note(node, false, after(100));
        assert!(!latencies.is_slow(node), "exactly the timeout is not longer");
        latencies.note(node, false, after(101));
        assert!(latencies.is_slow(node));
        latencies.note(node, true, after(102));
        assert!(!latencies.is_slow(node));
        let mut off = NodeLatencies::new(Duration::ZERO);
        off.note(node, false, start);
        off.note(node, false, after(9_000));
        assert!(!off.is_slow(node));
    }
}
