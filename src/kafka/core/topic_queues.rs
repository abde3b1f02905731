//! The queues of one topic: the last batch of each partition takes records, and which partition takes those without a key.
//!
//! Java's counterparts: `RecordAccumulator.TopicInfo`, `BuiltInPartitioner`. The rules of the choice are in `partitioner` and `adaptive`. Not here: which
//! batches are ready, and memory (`accumulator`, the only caller).

use std::collections::{BTreeMap, VecDeque};

use rand::Rng;

use crate::ids::{PartitionIndex, TopicName};
use crate::kafka::core::accumulator::Append;
use crate::kafka::core::adaptive::LoadStats;
use crate::kafka::core::batch::{Batch, BatchSize};
use crate::kafka::core::compression_ratio::CompressionRatio;
use crate::kafka::core::partitioner::Sticky;
use crate::kafka::core::sequences::Sequences;
use crate::kafka::metadata::TopicView;

/// One topic's queues.
#[derive(Debug)]
pub(super) struct TopicQueues {
    pub(super) name: TopicName,
    pub(super) partitions: BTreeMap<PartitionIndex, Queue>,
    pub(super) sticky: Option<Sticky>,
    pub(super) load: LoadStats,
    pub(super) ratio: CompressionRatio,
}

/// One partition's batches.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) batches: VecDeque<Batch>,
    /// What the last batch that left held: what the next one is likely to.
    pub(super) last_size: BatchSize,
    /// In flight with `max.in.flight.requests.per.connection = 1`.
    pub(super) muted: bool,
    /// Their numbers, with idempotence.
    pub(super) sequences: Sequences,
}

impl TopicQueues {
    /// No queues yet.
    pub(super) fn new(name: TopicName) -> Self {
        Self { name, partitions: BTreeMap::new(), sticky: None, load: LoadStats::default(), ratio: CompressionRatio::default() }
    }

    /// The partition for a record without a key: another one, if the one before has had its bytes.
    pub(super) fn sticky_partition(&mut self, view: &TopicView, batch_bytes: usize, random: &mut impl Rng) -> PartitionIndex {
        if let Some(sticky) = self.sticky
            && !self.is_spent(sticky, batch_bytes)
        {
            return sticky.partition;
        }
        self.choose_sticky(view, random)
    }

    pub(super) fn choose_sticky(&mut self, view: &TopicView, random: &mut impl Rng) -> PartitionIndex {
        let sticky = Sticky::choose(view, &self.load, random);
        self.sticky = Some(sticky);
        sticky.partition
    }

    /// Appends to the last batch of a partition; returns by how much that grew, and whether it is full now. `None`: there is none, or it had no
    /// room and is closed now.
    pub(super) fn join(&mut self, partition: PartitionIndex, record: &Append<'_>) -> Option<(usize, bool)> {
        let last = self.partitions.get_mut(&partition)?.batches.back_mut()?;
        let before = last.bytes();
        if last.try_append(record.timestamp_ms, record.key, record.value, record.tag) {
            return Some((last.bytes() - before, last.is_full()));
        }
        last.close_for_appends();
        None
    }

    /// Puts a new batch behind the others of its partition; returns its bytes.
    pub(super) fn begin(&mut self, batch: Batch) -> usize {
        let bytes = batch.bytes();
        self.partitions.entry(batch.partition).or_default().batches.push_back(batch);
        bytes
    }

    /// Whether the last batch of a partition takes no more records.
    fn is_last_full(&self, partition: PartitionIndex) -> bool {
        self.partitions.get(&partition).and_then(|queue| queue.batches.back()).is_none_or(Batch::is_full)
    }

    pub(super) fn produced(&mut self, bytes: usize, view: &TopicView, batch_bytes: usize, random: &mut impl Rng) {
        let Some(sticky) = &mut self.sticky else { return };
        sticky.produced_bytes += bytes;
        let sticky = *sticky;
        if self.is_spent(sticky, batch_bytes) {
            self.choose_sticky(view, random);
        }
    }

    /// Looks into the queue only once the bytes alone don't decide.
    fn is_spent(&self, sticky: Sticky, batch_bytes: usize) -> bool {
        sticky.produced_bytes >= batch_bytes && sticky.is_spent(batch_bytes, self.is_last_full(sticky.partition))
    }
}
