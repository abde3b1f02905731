//! Small numbers for what repeats a million times: partitions, topic ids, sets of replicas, words.

use std::collections::BTreeMap;

use crate::ids::{BrokerId, PartitionIndex, ProducerIndex, TopicId, TopicName};

/// Values in the order in which they were first seen.
#[derive(Clone, Debug)]
pub(crate) struct Numbers<K> {
    values: Vec<K>,
    numbers: BTreeMap<K, u32>,
}

impl<K> Default for Numbers<K> {
    fn default() -> Self {
        Self { values: Vec::new(), numbers: BTreeMap::new() }
    }
}

impl<K: Ord + Clone> Numbers<K> {
    /// The value's number, given on first sight.
    pub(crate) fn number(&mut self, value: &K) -> u32 {
        if let Some(number) = self.numbers.get(value) {
            return *number;
        }
        let number = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        self.values.push(value.clone());
        self.numbers.insert(value.clone(), number);
        number
    }

    /// The number of a value that was seen before.
    pub(crate) fn find(&self, value: &K) -> Option<u32> {
        self.numbers.get(value).copied()
    }

    /// The value behind a number.
    pub(crate) fn get(&self, number: u32) -> Option<&K> {
        self.values.get(usize::try_from(number).ok()?)
    }
}

/// Room for at most so many sightings of a kind; what it refuses is counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Room<const MAX: usize> {
    kept: usize,
    pub(crate) refused: u64,
}

impl<const MAX: usize> Room<MAX> {
    /// Whether there is room for one more, which is then taken.
    pub(crate) fn take(&mut self) -> bool {
        let is_free = self.kept < MAX;
        self.kept += usize::from(is_free);
        self.refused += u64::from(!is_free);
        is_free
    }
}

/// A partition by its number.
pub(crate) type Part = u32;
/// A sorted set of nodes by its number.
pub(crate) type NodeSet = u32;

/// A producer, or a client by its first producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Who {
    pub(crate) group: u32,
    pub(crate) producer: u32,
}

/// Everything that has a number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    pub(crate) groups: Numbers<String>,
    pub(crate) topics: Numbers<TopicName>,
    parts: Numbers<(u32, i32)>,
    pub(crate) topic_ids: Numbers<TopicId>,
    sets: Numbers<Vec<BrokerId>>,
    /// Reasons of requests, ends of connections.
    pub(crate) words: Numbers<String>,
}

impl Index {
    pub(crate) fn part(&mut self, topic: &TopicName, partition: PartitionIndex) -> Part {
        let topic = self.topics.number(topic);
        self.parts.number(&(topic, partition.0))
    }

    pub(crate) fn find_part(&self, topic: &TopicName, partition: PartitionIndex) -> Option<Part> {
        self.parts.find(&(self.topics.find(topic)?, partition.0))
    }

    /// The number of a partition's topic, and its index there.
    pub(crate) fn of_part(&self, part: Part) -> Option<(u32, i32)> {
        self.parts.get(part).copied()
    }

    /// `orders/3`.
    pub(crate) fn part_name(&self, part: Part) -> String {
        let Some((topic, partition)) = self.of_part(part) else { return String::new() };
        format!("{}/{partition}", self.topics.get(topic).map_or("", |topic| topic.as_str()))
    }

    pub(crate) fn who(&mut self, group: &str, producer: ProducerIndex) -> Who {
        let group = match self.groups.numbers.get(group) {
            Some(number) => *number,
            None => self.groups.number(&group.to_owned()),
        };
        Who { group, producer: producer.0 }
    }

    pub(crate) fn group_name(&self, group: u32) -> &str {
        self.groups.get(group).map_or("", String::as_str)
    }

    /// The number of a set of nodes, in whatever order they were told.
    pub(crate) fn set(&mut self, nodes: &[BrokerId]) -> NodeSet {
        let mut sorted = nodes.to_vec();
        sorted.sort_unstable();
        self.sets.number(&sorted)
    }

    pub(crate) fn nodes(&self, set: NodeSet) -> &[BrokerId] {
        self.sets.get(set).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn word(&mut self, word: &str) -> u32 {
        match self.words.numbers.get(word) {
            Some(number) => *number,
            None => self.words.number(&word.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_room_refuses_is_counted() {
        let mut room = Room::<2>::default();
        assert_eq!(([room.take(), room.take(), room.take()], room.refused), ([true, true, false], 1));
    }

    #[test]
    fn a_value_keeps_its_number() {
        let mut index = Index::default();
        let orders = TopicName::from("orders");
        let parts: Vec<Part> = [0, 3, 0].map(|partition| index.part(&orders, PartitionIndex(partition))).to_vec();
        assert_eq!((parts, index.part_name(1)), (vec![0, 1, 0], "orders/3".to_owned()));
        assert_eq!(index.find_part(&orders, PartitionIndex(9)), None);
        let (one, other) = (index.set(&[BrokerId(3), BrokerId(1)]), index.set(&[BrokerId(1), BrokerId(3)]));
        assert_eq!((one, index.nodes(other)), (other, &[BrokerId(1), BrokerId(3)][..]));
        assert_eq!(index.nodes(9), []);
        let who = index.who("steady", ProducerIndex(4));
        assert_eq!((who.producer, index.group_name(who.group)), (4, "steady"));
        assert_eq!(index.word("age"), index.word("age"));
    }
}
