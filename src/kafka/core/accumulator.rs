//! Records that wait to be sent, in one queue of batches per partition; and which of them are ready, for which node.
//!
//! Java's counterpart: `RecordAccumulator`. The leader is looked up when a batch is drained, not when its record comes: batches follow the
//! snapshot. Not here: requests and answers (`produce_flow`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rand::Rng;
use rustc_hash::FxHashMap;

use crate::clock::Moment;
use crate::ids::{BrokerId, PartitionIndex, ProducerIdAndEpoch, TopicName};
use crate::kafka::core::adaptive::NodeLatencies;
use crate::kafka::core::backoff::ExponentialBackoff;
use crate::kafka::core::batch::{Batch, BatchSize};
use crate::kafka::core::compression_ratio::CompressionRatio;
use crate::kafka::core::config::ProducerConfig;
use crate::kafka::core::memory::Memory;
use crate::kafka::core::numbering::Unsettled;
use crate::kafka::core::sequences::Ticket;
use crate::kafka::core::topic_queues::{Queue, TopicQueues};
use crate::kafka::event::RecordTag;
use crate::kafka::metadata::{Snapshot, TopicView};
use crate::kafka::wire::batch::{Packing, single_record_bytes_max};
use crate::kafka::wire::compression::Codec;

/// Position of a partition's queue: topic slot, partition.
pub(super) type Slot = (usize, PartitionIndex);

/// All queues of a client.
#[derive(Debug)]
pub struct Accumulator {
    topics: Vec<TopicQueues>,
    slots: FxHashMap<TopicName, usize>,
    /// Slot of the topic that was appended to last.
    latest_slot: usize,
    /// `buffer.memory`
    pub memory: Memory,
    batch_bytes: usize,
    linger: Duration,
    backoff: ExponentialBackoff,
    /// Where the last drain of a node stopped: the next begins behind it, so that no partition starves.
    last_drained: FxHashMap<BrokerId, Slot>,
    /// `partitioner.adaptive.partitioning.enable`
    is_adaptive: bool,
    latencies: NodeLatencies,
    /// Partitions whose sequences are in doubt.
    pub(super) unsettled: Unsettled,
    codec: Option<Codec>,
}

/// A record to append.
#[derive(Clone, Copy, Debug)]
pub struct Append<'a> {
    /// Its topic.
    pub topic: &'a TopicName,
    /// Its partition; `None`: the sticky one.
    pub partition: Option<PartitionIndex>,
    /// Its key.
    pub key: Option<&'a [u8]>,
    /// Its value.
    pub value: &'a [u8],
    /// Its timestamp.
    pub timestamp_ms: i64,
    /// What comes back with its outcome.
    pub tag: RecordTag,
}

/// What became of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// It is in a batch. `wake`: the I/O side must look, for a batch is new or full.
    Done {
        /// Whether the I/O side must look.
        wake: bool,
    },
    /// A new batch is needed, and there is no memory for it.
    NeedsMemory {
        /// How much it takes.
        bytes: usize,
    },
}

/// Which nodes have something to send.
#[derive(Debug, Default)]
pub struct ReadyNodes {
    /// Nodes with at least one sendable batch, each with all its non-empty partitions.
    pub nodes: BTreeMap<BrokerId, Vec<Slot>>,
    /// When the next batch becomes sendable by waiting.
    pub next_check: Option<Duration>,
    /// Topics with batches whose partition has no known leader.
    pub unknown_leaders: Vec<TopicName>,
}

/// What came of draining a node.
#[derive(Debug, Default)]
pub struct Drained {
    /// At most one per partition, closed.
    pub batches: Vec<Batch>,
    /// A partition whose head must wait for the outcome of batches in flight ended it: an answer lifts that, not time.
    pub is_blocked: bool,
}

impl Accumulator {
    /// No records.
    #[must_use]
    pub fn new(config: &ProducerConfig) -> Self {
        Self {
            topics: Vec::new(),
            slots: FxHashMap::default(),
            latest_slot: 0,
            memory: Memory::new(config.buffer_bytes),
            batch_bytes: config.batch_bytes,
            linger: config.linger,
            backoff: ExponentialBackoff::new(config.retry_backoff, config.retry_backoff_max),
            last_drained: FxHashMap::default(),
            is_adaptive: config.adaptive_partitioning,
            latencies: NodeLatencies::new(config.availability_timeout),
            unsettled: Unsettled::default(),
            codec: config.compression,
        }
    }

    fn slot_of(&mut self, topic: &TopicName) -> usize {
        // A sender hands in the same name again and again: no need to hash it for every record.
        if self.topics.get(self.latest_slot).is_some_and(|latest| Arc::ptr_eq(&latest.name.0, &topic.0)) {
            return self.latest_slot;
        }
        if let Some(slot) = self.slots.get(topic) {
            self.latest_slot = *slot;
            return *slot;
        }
        let slot = self.topics.len();
        self.latest_slot = slot;
        self.slots.insert(topic.clone(), slot);
        self.topics.push(TopicQueues::new(topic.clone()));
        slot
    }

    /// Appends a record. `granted_bytes`: memory that the caller already holds for it; what is not needed is given back.
    pub fn append(
        &mut self,
        record: &Append<'_>,
        view: &TopicView,
        granted_bytes: Option<usize>,
        now: Moment,
        random: &mut impl Rng,
    ) -> Appended {
        let slot = self.slot_of(record.topic);
        let (batch_bytes, topic) = (self.batch_bytes, &mut self.topics[slot]);
        let mut partition = record.partition.unwrap_or_else(|| topic.sticky_partition(view, batch_bytes, random));
        let mut joined = topic.join(partition, record);
        if joined.is_none() && record.partition.is_none() {
            // What could not take this record is full now: reason enough to leave the partition, if it has had its bytes.
            let other = topic.sticky_partition(view, batch_bytes, random);
            if other != partition {
                partition = other;
                joined = topic.join(partition, record);
            }
        }
        let (appended_bytes, wake) = match joined {
            Some(joined) => {
                if let Some(bytes) = granted_bytes {
                    self.memory.give_back(bytes);
                }
                joined
            }
            None => {
                let bytes = batch_bytes.max(single_record_bytes_max(record.key, record.value));
                let reserved_bytes = match granted_bytes {
                    Some(granted) => granted,
                    None if self.memory.try_take(bytes) => bytes,
                    None => return Appended::NeedsMemory { bytes },
                };
                let expected = topic.partitions.get(&partition).map_or_else(BatchSize::default, |queue| queue.last_size);
                let mut batch = Batch::new(topic.name.clone(), partition, bytes, expected, reserved_bytes, now);
                if let Some(codec) = self.codec {
                    batch.pack_with(Packing { codec, expected_ratio: topic.ratio.estimate() });
                }
                batch.try_append(record.timestamp_ms, record.key, record.value, record.tag);
                (topic.begin(batch), true)
            }
        };
        if record.partition.is_none() {
            topic.produced(appended_bytes, view, batch_bytes, random);
        }
        Appended::Done { wake }
    }

    /// Which nodes could be sent to now, by the leaders of `snapshot`.
    pub fn ready(&mut self, snapshot: &Snapshot, now: Moment, is_closing: bool, random: &mut impl Rng) -> ReadyNodes {
        let mut ready = ReadyNodes::default();
        let mut sendable: BTreeMap<BrokerId, bool> = BTreeMap::new();
        let hurry = is_closing || self.memory.is_exhausted();
        for (slot, topic) in self.topics.iter_mut().enumerate() {
            let view = snapshot.topic(&topic.name);
            // Adaptive only once every partition has had a batch: before, those without a queue would never be chosen. Where no record has ever
            // gone to a sticky partition, nobody asks for weights.
            let weighs = self.is_adaptive
                && topic.sticky.is_some()
                && topic.partitions.len() > 1
                && topic.partitions.len() >= view.map_or(0, |view| view.partitions.len());
            topic.load.begin(topic.partitions.len());
            for (partition, queue) in &mut topic.partitions {
                let waiting = queue.batches.len();
                if waiting == 0 && !weighs {
                    continue;
                }
                let known = view.and_then(|view| view.partition(*partition));
                let leader = known.and_then(|known| known.named_leader).filter(|_| view.is_some_and(|view| view.is_available(*partition)));
                if weighs && leader.is_some_and(|leader| waiting == 0 || !self.latencies.is_slow(leader)) {
                    topic.load.add(*partition, waiting);
                }
                let Some(head) = queue.batches.front_mut() else { continue };
                head.see_leader_epoch(known.and_then(|known| known.epoch));
                let Some(leader) = leader else {
                    if ready.unknown_leaders.last() != Some(&topic.name) {
                        ready.unknown_leaders.push(topic.name.clone());
                    }
                    continue;
                };
                ready.nodes.entry(leader).or_default().push((slot, *partition));
                if queue.muted || sendable.get(&leader) == Some(&true) {
                    continue;
                }
                let wait = head_wait(head, waiting, hurry, self.linger, &self.backoff, now, random);
                if wait.is_zero() {
                    sendable.insert(leader, true);
                } else {
                    ready.next_check = Some(ready.next_check.map_or(wait, |next| next.min(wait)));
                }
            }
            topic.load.finish();
        }
        ready.nodes.retain(|node, _| sendable.get(node) == Some(&true));
        ready
    }

    /// There is data for a node. `can_take`: and it can be sent now.
    pub(super) fn note_node(&mut self, node: BrokerId, can_take: bool, now: Moment) {
        self.latencies.note(node, can_take, now);
    }

    /// Takes batches for one node: at most one per partition, no more than `request_bytes_max` (but at least one). With idempotence, `producer`
    /// numbers them; a partition whose head must wait for others in flight then ends it, as in Java.
    #[allow(clippy::too_many_arguments, reason = "what a request may hold, and under whose number")]
    pub fn drain(
        &mut self,
        node: BrokerId,
        slots: &[Slot],
        request_bytes_max: usize,
        mute: bool,
        producer: Option<ProducerIdAndEpoch>,
        now: Moment,
        random: &mut impl Rng,
    ) -> Drained {
        let start = self.last_drained.get(&node).map_or(0, |last| slots.partition_point(|slot| slot <= last));
        let mut drained = Drained::default();
        let mut bytes = 0;
        for (slot, partition) in slots[start..].iter().chain(&slots[..start]) {
            let TopicQueues { partitions, ratio, .. } = &mut self.topics[*slot];
            let Some(queue) = partitions.get_mut(partition).filter(|queue| !queue.muted) else { continue };
            let Some(head) = queue.batches.front() else { continue };
            if !head.retry_wait(now, &self.backoff, random).is_zero() {
                continue;
            }
            if !drained.batches.is_empty() && bytes + head.bytes() > request_bytes_max {
                break;
            }
            if producer.is_some_and(|producer| queue.sequences.blocks(head.ticket, producer)) {
                drained.is_blocked = true;
                break;
            }
            queue.muted = mute;
            if let Some(mut batch) = queue.batches.pop_front() {
                queue.last_size = batch.size();
                let bytes_to_pack = batch.bytes_to_pack();
                let stamp = producer.and_then(|producer| queue.sequences.number(&mut batch, producer));
                batch.close(stamp);
                if let Some(plain_bytes) = bytes_to_pack {
                    ratio.observe(plain_bytes, batch.bytes());
                }
                bytes += batch.bytes();
                drained.batches.push(batch);
            }
            self.last_drained.insert(node, (*slot, *partition));
        }
        drained
    }

    /// Puts a batch back, to be sent again.
    pub fn reenqueue(&mut self, mut batch: Batch, now: Moment) {
        batch.reenqueued(now);
        self.put_back(batch);
    }

    /// Puts a batch in front of all that have no number, among the others in the order of their numbers.
    pub fn put_back(&mut self, batch: Batch) {
        let slot = self.slot_of(&batch.topic);
        let queue = self.topics[slot].partitions.entry(batch.partition).or_default();
        let place_of = |ticket: Option<Ticket>| ticket.and_then(|ticket| queue.sequences.place_of(ticket));
        let place = place_of(batch.ticket);
        let before = |other: &&Batch| place.is_some() && place_of(other.ticket).is_some_and(|other| Some(other) < place);
        let position = queue.batches.iter().take_while(before).count();
        queue.batches.insert(position, batch);
    }

    /// How the parts of a batch that was too large are compressed. The topic's guess of how well that goes begins anew, as in Java.
    pub(super) fn packing_after_split(&mut self, batch: &Batch) -> Option<Packing> {
        let slot = self.slot_of(&batch.topic);
        let ratio = &mut self.topics[slot].ratio;
        *ratio = CompressionRatio::default();
        self.codec.map(|codec| Packing { codec, expected_ratio: ratio.estimate() })
    }

    /// The queue of a batch's partition.
    pub(super) fn queue_of(&mut self, batch: &Batch) -> (Slot, &mut Queue) {
        self.queue_in(&batch.topic, batch.partition)
    }

    /// The queue of a partition.
    pub(super) fn queue_in(&mut self, topic: &TopicName, partition: PartitionIndex) -> (Slot, &mut Queue) {
        let slot = self.slot_of(topic);
        ((slot, partition), self.topics[slot].partitions.entry(partition).or_default())
    }

    /// The queue at a position.
    pub(super) fn queue_at(&mut self, (slot, partition): Slot) -> Option<&mut Queue> {
        self.topics.get_mut(slot)?.partitions.get_mut(&partition)
    }

    pub(super) fn queues_mut(&mut self) -> impl Iterator<Item = &mut Queue> {
        self.topics.iter_mut().flat_map(|topic| topic.partitions.values_mut())
    }

    fn queues(&self) -> impl Iterator<Item = &Queue> {
        self.topics.iter().flat_map(|topic| topic.partitions.values())
    }

    /// The partition's request was answered.
    pub fn unmute(&mut self, topic: &TopicName, partition: PartitionIndex) {
        let slot = self.slot_of(topic);
        if let Some(queue) = self.queue_at((slot, partition)) {
            queue.muted = false;
        }
    }

    /// Takes all queued batches whose delivery time is over.
    pub fn take_expired(&mut self, now: Moment, delivery_timeout: Duration) -> Vec<Batch> {
        let mut expired = Vec::new();
        for queue in self.queues_mut() {
            while queue.batches.front().is_some_and(|batch| batch.is_expired(now, delivery_timeout)) {
                expired.extend(queue.batches.pop_front());
            }
        }
        expired
    }

    /// Takes every batch.
    pub fn take_all(&mut self) -> Vec<Batch> {
        self.queues_mut().flat_map(|queue| queue.batches.drain(..)).collect()
    }

    /// The first batch of every queue.
    pub fn heads(&self) -> impl Iterator<Item = &Batch> {
        self.queues().filter_map(|queue| queue.batches.front())
    }

    /// All queued batches.
    pub fn batches(&self) -> impl Iterator<Item = &Batch> {
        self.queues().flat_map(|queue| &queue.batches)
    }
}

#[cfg(test)]
impl Accumulator {
    /// Another sticky partition for a topic, as if the one before had had its bytes.
    pub(super) fn choose_anew(&mut self, topic: &TopicName, view: &TopicView, random: &mut impl Rng) -> PartitionIndex {
        let slot = self.slot_of(topic);
        self.topics[slot].choose_sticky(view, random)
    }

    /// Drops what waits for a partition of the first topic.
    pub(super) fn drain_all_of(&mut self, partition: PartitionIndex) {
        self.topics[0].partitions.get_mut(&partition).unwrap().batches.clear();
    }

    /// Whether a node has let data wait for too long.
    pub(super) fn lets_wait(&self, node: BrokerId) -> bool {
        self.latencies.is_slow(node)
    }
}

/// How long the head batch of a partition must still wait; zero: it can be sent.
fn head_wait(
    head: &Batch,
    waiting: usize,
    hurry: bool,
    linger: Duration,
    backoff: &ExponentialBackoff,
    now: Moment,
    random: &mut impl Rng,
) -> Duration {
    let retry_wait = head.retry_wait(now, backoff, random);
    let is_due = hurry || waiting > 1 || head.is_full();
    if is_due { retry_wait } else { linger.saturating_sub(head.waited(now)) }
}
