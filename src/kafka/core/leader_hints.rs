//! Leaders named in Produce answers (KIP-951): a broker that no longer leads a partition says who does, and the retry goes there.
//!
//! Java's counterparts: `Sender.handleProduceResponse`, `Metadata.updatePartitionLeadership`. A hint is no update: the version stays, nobody is
//! woken, no clock moves, and the update that the error asks for is still made. Called by `produce_flow`, once per answer.

use std::sync::Arc;

use rand::Rng;
use rand::seq::SliceRandom;

use crate::clock::Moment;
use crate::ids::{BrokerId, HostPort, LeaderEpoch, PartitionIndex, TopicName, TopicPartition};
use crate::kafka::core::client::ProducerCore;
use crate::kafka::core::metadata::MetadataMachine;
use crate::kafka::metadata::Snapshot;
use crate::kafka::wire::error::ErrorCode;

/// What one answer says of leaders.
#[derive(Debug)]
pub(super) struct LeaderHints {
    endpoints: Vec<(BrokerId, HostPort)>,
    leaders: Vec<(TopicPartition, BrokerId, LeaderEpoch)>,
}

impl LeaderHints {
    /// None yet. `endpoints`: where the answer says that brokers listen.
    pub(super) fn new(endpoints: Vec<(BrokerId, HostPort)>) -> Self {
        Self { endpoints, leaders: Vec::new() }
    }

    /// Keeps what the answer says of a partition, if its error is one that a change of leader explains.
    pub(super) fn collect(
        &mut self,
        (topic, partition): (&TopicName, PartitionIndex),
        error: Option<ErrorCode>,
        leader: Option<(BrokerId, LeaderEpoch)>,
    ) {
        if let Some(ErrorCode::NOT_LEADER_OR_FOLLOWER | ErrorCode::FENCED_LEADER_EPOCH) = error
            && let Some((leader, epoch)) = leader
        {
            self.leaders.push((TopicPartition { topic: topic.clone(), partition }, leader, epoch));
        }
    }
}

impl MetadataMachine {
    /// Takes what is new in `hints` into the snapshot; returns the snapshot before, or `None` if nothing was new.
    ///
    /// A hint is dropped if its epoch is not higher than the one known, if nobody says where its broker listens, or if the snapshot does not hold
    /// its partition.
    pub(super) fn take_leader_hints(&mut self, hints: &LeaderHints, random: &mut impl Rng) -> Option<Arc<Snapshot>> {
        let mut nodes = hints.endpoints.clone();
        let known = self.snapshot().nodes.iter().filter(|(id, _)| !hints.endpoints.iter().any(|(named, _)| named == id));
        nodes.extend(known.cloned());
        let leaders: Vec<_> = hints
            .leaders
            .iter()
            .filter(|(at, leader, epoch)| {
                let is_newer = self.known_epoch(at).is_none_or(|known| *epoch > known);
                let is_cached = self.snapshot().topic(&at.topic).is_some_and(|topic| topic.partition(at.partition).is_some());
                is_newer && is_cached && nodes.iter().any(|(id, _)| id == leader)
            })
            .cloned()
            .collect();
        if leaders.is_empty() {
            return None;
        }
        nodes.shuffle(random);
        let next = Arc::new(self.snapshot().with_leaders(&leaders, nodes));
        Some(self.replace_silently(next, leaders))
    }
}

impl ProducerCore {
    /// Believes what is new in an answer's hints, and publishes it without waking anybody.
    pub(super) fn take_leader_hints(&mut self, node: BrokerId, hints: &LeaderHints, now: Moment) {
        if hints.leaders.is_empty() {
            return;
        }
        if let Some(previous) = self.machine.take_leader_hints(hints, &mut self.random) {
            self.publish(&previous, Some(node), false, now);
        }
    }
}
