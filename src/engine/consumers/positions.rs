//! Where a consumer is in each partition, and who leads it. Pure, behind a lock.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::ids::{BrokerId, LeaderEpoch, TopicId, TopicName, TopicPartition};
use crate::kafka::admin::{ClusterView, FetchFrom};

/// All partitions of a consumer's topics.
#[derive(Debug, Default)]
pub(super) struct Positions {
    by_partition: Mutex<BTreeMap<TopicPartition, Position>>,
    /// Somebody leads other partitions than before.
    pub(super) moved: Notify,
    /// Somebody does not lead what it was thought to lead.
    pub(super) doubted: Notify,
}

/// One partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) topic: TopicId,
    /// `None`: nobody, or it is doubted.
    pub(super) leader: Option<BrokerId>,
    pub(super) leader_epoch: Option<LeaderEpoch>,
    /// First offset that was not read.
    pub(super) offset: i64,
    /// First offset that cannot be read yet, by the last leader that said so.
    pub(super) end: Option<i64>,
}

impl Positions {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, Position>> {
        self.by_partition.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what a broker says of these topics. An older epoch than one that is known is not believed. A topic that was made anew is read from
    /// its beginning.
    pub(super) fn follow(&self, view: &ClusterView, topics: &[TopicName]) {
        let mut positions = self.lock();
        for name in topics {
            let Some((topic, id)) = view.topic(name).and_then(|topic| Some((topic, topic.id?))) else { continue };
            for seen in &topic.partitions {
                let key = TopicPartition { topic: name.clone(), partition: seen.partition };
                let new = Position { topic: id, leader: None, leader_epoch: None, offset: 0, end: None };
                let position = positions.entry(key).or_insert(new);
                if position.topic != id {
                    *position = new;
                }
                if seen.leader_epoch >= position.leader_epoch {
                    (position.leader, position.leader_epoch) = (seen.leader, seen.leader_epoch);
                }
            }
        }
        drop(positions);
        self.moved.notify_waiters();
    }

    /// What this broker leads, with where to read on.
    pub(super) fn of(&self, node: BrokerId) -> Vec<(TopicPartition, FetchFrom)> {
        let from = |key: &TopicPartition, position: &Position| FetchFrom {
            topic: position.topic,
            partition: key.partition,
            leader_epoch: position.leader_epoch,
            offset: position.offset,
        };
        let positions = self.lock();
        positions
            .iter()
            .filter(|(_, position)| position.leader == Some(node))
            .map(|(key, position)| (key.clone(), from(key, position)))
            .collect()
    }

    /// This partition was read up to there; `false`: somebody else has read it meanwhile, or the topic was made anew, and what was read does not count.
    pub(super) fn advance(&self, key: &TopicPartition, asked: &FetchFrom, next: i64, end: i64) -> bool {
        let mut positions = self.lock();
        let Some(position) = positions.get_mut(key).filter(|position| position.topic == asked.topic && position.offset == asked.offset)
        else {
            return false;
        };
        (position.offset, position.end) = (next, Some(end));
        true
    }

    /// This broker does not lead the partition, or cannot be reached.
    pub(super) fn doubt(&self, key: &TopicPartition, asked: &FetchFrom) {
        if let Some(position) = self.lock().get_mut(key)
            && position.leader_epoch == asked.leader_epoch
        {
            position.leader = None;
        }
        self.doubted.notify_one();
    }

    /// Whether somebody is to be asked soon: a leader is missing, or nothing is known yet.
    pub(super) fn are_doubted(&self) -> bool {
        let positions = self.lock();
        positions.is_empty() || positions.values().any(|position| position.leader.is_none())
    }

    /// Records that could be read and were not, by the leaders' last word, and partitions without a leader.
    pub(super) fn behind(&self) -> (Option<u64>, u64) {
        let positions = self.lock();
        let behind = positions.values().filter_map(|position| Some((position.end? - position.offset).max(0).unsigned_abs()));
        let is_known = positions.values().any(|position| position.end.is_some());
        let without = positions.values().filter(|position| position.leader.is_none()).count();
        (is_known.then(|| behind.sum()), without as u64)
    }
}
