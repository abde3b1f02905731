//! What a broker shows of the watched topics, and what of it has changed since its answer before. Pure.

use std::collections::BTreeMap;

use crate::ids::{BrokerId, PartitionIndex, TopicName};
use crate::kafka::admin::{ClusterView, PartitionView, TopicView};
use crate::record::layer::BrokerShows;

/// Puts an answer in the form that answers are compared in: without what is drawn anew for each answer, or means nothing by its order.
pub(super) fn comparable(mut view: ClusterView) -> ClusterView {
    view.controller = None;
    for partition in view.topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
        partition.isr.sort_unstable();
        partition.offline.sort_unstable();
    }
    view
}

/// What `now` shows that `before` did not; without a `before`, all of it. Both are [`comparable`].
pub(super) fn changes(before: Option<&ClusterView>, now: &ClusterView) -> Vec<BrokerShows> {
    if before == Some(now) {
        return Vec::new();
    }
    let before = before.map(Known::of).unwrap_or_default();
    let mut changes = Vec::new();
    let brokers = brokers_of(now);
    if before.brokers.as_ref() != Some(&brokers) {
        changes.push(BrokerShows::Brokers { brokers });
    }
    for topic in &now.topics {
        let known = before.topics.get(&topic.name);
        if known.is_none_or(|known| !is_same(known, topic)) {
            changes.push(topic_of(topic));
        }
        for partition in &topic.partitions {
            let part = partition_of(topic, partition);
            let key = (&topic.name, partition.partition);
            if before.partitions.get(&key).is_none_or(|(topic, partition)| partition_of(topic, partition) != part) {
                changes.push(part);
            }
        }
    }
    changes
}

/// An answer by what it is asked for.
#[derive(Default)]
struct Known<'a> {
    brokers: Option<Vec<BrokerId>>,
    topics: BTreeMap<&'a TopicName, &'a TopicView>,
    partitions: BTreeMap<(&'a TopicName, PartitionIndex), (&'a TopicView, &'a PartitionView)>,
}

impl<'a> Known<'a> {
    fn of(view: &'a ClusterView) -> Self {
        let of_topic = |topic: &'a TopicView| topic.partitions.iter().map(move |of| ((&topic.name, of.partition), (topic, of)));
        Self {
            brokers: Some(brokers_of(view)),
            topics: view.topics.iter().map(|topic| (&topic.name, topic)).collect(),
            partitions: view.topics.iter().flat_map(of_topic).collect(),
        }
    }
}

fn brokers_of(view: &ClusterView) -> Vec<BrokerId> {
    view.brokers.iter().map(|broker| broker.id).collect()
}

fn is_same(left: &TopicView, right: &TopicView) -> bool {
    (left.id, left.error, left.partitions.len()) == (right.id, right.error, right.partitions.len())
}

fn topic_of(topic: &TopicView) -> BrokerShows {
    BrokerShows::Topic {
        topic: topic.name.clone(),
        topic_id: topic.id,
        partition_count: u32::try_from(topic.partitions.len()).unwrap_or(u32::MAX),
        error: topic.error.map(|code| code.0),
    }
}

fn partition_of(topic: &TopicView, view: &PartitionView) -> BrokerShows {
    BrokerShows::Partition {
        topic: topic.name.clone(),
        topic_id: topic.id,
        partition: view.partition,
        leader: view.leader,
        leader_epoch: view.leader_epoch,
        isr: view.isr.clone(),
        offline: view.offline.clone(),
        error: view.error.map(|code| code.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::sample::{self, TopicSample};

    fn view(brokers: &[i32], topics: &[TopicSample<'_>]) -> ClusterView {
        comparable(sample::view(brokers, topics))
    }

    /// The changes in short.
    fn told(before: Option<&ClusterView>, now: &ClusterView) -> Vec<String> {
        let short = |shows: BrokerShows| match shows {
            BrokerShows::Brokers { brokers } => format!("brokers {brokers:?}"),
            BrokerShows::Topic { topic, partition_count, error, .. } => format!("{topic} has {partition_count} {error:?}"),
            BrokerShows::Partition { topic, partition, leader, leader_epoch, .. } => {
                format!("{topic}/{partition} {:?} in {:?}", leader.map(|leader| leader.0), leader_epoch.map(|epoch| epoch.0))
            }
            BrokerShows::Nothing { why } => why,
        };
        changes(before, now).into_iter().map(short).collect()
    }

    #[test]
    fn a_first_answer_is_told_whole_and_the_same_again_not_at_all() {
        let first = view(&[1, 2], &[("orders", 7, &[(1, 3), (2, 0)]), ("absent", 0, &[])]);
        let all = ["brokers [BrokerId(1), BrokerId(2)]", "absent has 0 Some(3)", "orders has 2 None", "orders/0 Some(1) in Some(3)"];
        let told_first = told(None, &first);
        assert_eq!(told_first[..4], all);
        assert_eq!(told_first[4..], ["orders/1 Some(2) in Some(0)"]);
        assert_eq!(told(Some(&first), &first), [""; 0]);
    }

    #[test]
    fn only_what_differs_is_told() {
        let before = view(&[1, 2], &[("orders", 7, &[(1, 3), (2, 0)])]);
        let rows: [(&str, ClusterView, &[&str]); 5] = [
            ("a leader", view(&[1, 2], &[("orders", 7, &[(2, 4), (2, 0)])]), &["orders/0 Some(2) in Some(4)"]),
            ("an epoch", view(&[1, 2], &[("orders", 7, &[(1, 5), (2, 0)])]), &["orders/0 Some(1) in Some(5)"]),
            ("growth", view(&[1, 2], &[("orders", 7, &[(1, 3), (2, 0), (1, 0)])]), &["orders has 3 None", "orders/2 Some(1) in Some(0)"]),
            (
                "another topic of that name",
                view(&[1, 2], &[("orders", 8, &[(1, 3), (2, 0)])]),
                &["orders has 2 None", "orders/0 Some(1) in Some(3)", "orders/1 Some(2) in Some(0)"],
            ),
            ("a broker gone, a topic gone", view(&[2], &[("orders", 0, &[])]), &["brokers [BrokerId(2)]", "orders has 0 Some(3)"]),
        ];
        for (name, now, expected) in rows {
            assert_eq!(told(Some(&before), &now), expected, "{name}");
        }
    }

    #[test]
    fn orders_and_drawn_controllers_are_no_difference() {
        let mut shuffled = sample::view(&[1, 2], &[("orders", 7, &[(1, 3)])]);
        let plain = comparable(shuffled.clone());
        shuffled.controller = Some(BrokerId(2));
        shuffled.topics[0].partitions[0].isr.reverse();
        assert_eq!(told(Some(&plain), &comparable(shuffled)), [""; 0]);
        let mut shrunk = plain.clone();
        shrunk.topics[0].partitions[0].isr.pop();
        assert_eq!(told(Some(&plain), &shrunk), ["orders/0 Some(1) in Some(3)"], "who is in sync is one");
    }
}
