//! What of an answer is believed: epochs, topic ids, leaders, merges.

use super::lab::{START, answer, partition, topic, topic_answer, topic_error};
use super::machine::Machine;
use crate::ids::{BrokerId, LeaderEpoch, PartitionIndex};
use crate::kafka::core::metadata::Accepted;
use crate::kafka::event::UpdateReason;
use crate::kafka::wire::error::ErrorCode;
use crate::kafka::wire::messages::{MetadataAnswer, TopicAnswer};

struct Believer(Machine);

impl Believer {
    fn new() -> Self {
        let mut lab = Machine::new(&[]);
        lab.machine.add_topic(&topic("orders"), lab.now);
        Self(lab)
    }

    fn hear(&mut self, answer: MetadataAnswer) -> Vec<UpdateReason> {
        self.0.machine.request_update(UpdateReason::Disconnect);
        let request = self.0.machine.next_request(self.0.now);
        match self.0.accept(&request, answer) {
            Accepted::Updated { raised, .. } => raised,
            other => panic!("{other:?}"),
        }
    }

    fn hear_partial(&mut self, answer: MetadataAnswer) {
        let request = self.0.machine.next_request(self.0.now);
        assert!(!request.full);
        self.0.accept(&request, answer);
    }

    fn leader(&self, index: i32) -> Option<(i32, Option<i32>)> {
        let (leader, epoch) = self.0.machine.snapshot().leader(&topic("orders"), PartitionIndex(index))?;
        Some((leader.0, epoch.map(|LeaderEpoch(epoch)| epoch)))
    }
}

fn orders(id: u128, leader: i32, epoch: i32) -> TopicAnswer {
    topic_answer("orders", id, vec![partition(0, leader, epoch)])
}

#[test]
fn the_epoch_rule() {
    let rows = [
        ("higher epoch", 7, 2, 6, Some((2, Some(6)))),
        ("equal epoch may change the leader", 7, 2, 5, Some((2, Some(5)))),
        ("lower epoch is stale: the cached leader stays", 7, 2, 4, Some((1, Some(5)))),
        ("another topic id: accepted even if lower", 8, 2, 1, Some((2, Some(1)))),
        ("no epoch: accepted, epoch unknown", 7, 2, -1, Some((2, None))),
    ];
    for (what, id, leader, epoch, expected) in rows {
        let mut believer = Believer::new();
        believer.hear(answer(2, vec![orders(7, 1, 5)]));
        believer.hear(answer(2, vec![orders(id, leader, epoch)]));
        assert_eq!(believer.leader(0), expected, "{what}");
    }
}

#[test]
fn epochs_of_old_versions_are_not_trusted() {
    let mut believer = Believer::new();
    believer.hear(answer(2, vec![orders(0, 1, 5)]));
    believer.hear(MetadataAnswer { version: 8, ..answer(2, vec![orders(0, 2, 3)]) });
    assert_eq!(believer.leader(0), Some((2, None)));
    believer.hear(answer(2, vec![orders(0, 1, 1)]));
    assert_eq!(believer.leader(0), Some((1, Some(1))), "what had been seen is forgotten");
}

#[test]
fn epochs_are_judged_per_partition() {
    let mut believer = Believer::new();
    believer.hear(answer(2, vec![topic_answer("orders", 7, vec![partition(0, 1, 5), partition(1, 1, 5)])]));
    believer.hear(answer(2, vec![topic_answer("orders", 7, vec![partition(0, 2, 4), partition(1, 2, 6)])]));
    assert_eq!((believer.leader(0), believer.leader(1)), (Some((1, Some(5))), Some((2, Some(6)))));
}

#[test]
fn after_a_rebootstrap_a_lower_epoch_is_accepted_for_a_topic_with_an_id() {
    let mut believer = Believer::new();
    believer.hear(answer(2, vec![orders(7, 1, 5)]));
    believer.0.machine.rebootstrap();
    assert!(believer.0.machine.snapshot().is_bootstrap);
    assert_eq!(believer.0.machine.snapshot().nodes[0].0, BrokerId(-1));
    believer.hear(answer(2, vec![orders(7, 2, 4)]));
    assert_eq!(believer.leader(0), Some((2, Some(4))));
}

#[test]
fn a_topic_with_an_error_vanishes_but_its_epochs_stay() {
    let mut believer = Believer::new();
    believer.hear(answer(2, vec![orders(0, 1, 5)]));
    let raised = believer.hear(answer(2, vec![topic_error("orders", 5)]));
    assert_eq!(raised, [UpdateReason::MetadataError(ErrorCode::LEADER_NOT_AVAILABLE)]);
    assert_eq!(believer.0.machine.snapshot().partition_count(&topic("orders")), None);
    assert_eq!(believer.0.machine.error_of(&topic("orders")), Some(ErrorCode::LEADER_NOT_AVAILABLE));
    believer.hear(answer(2, vec![orders(0, 2, 4)]));
    assert_eq!(believer.leader(0), None, "stale, and nothing is cached");
    assert_eq!(believer.0.machine.snapshot().partition_count(&topic("orders")), Some(0));
}

#[test]
fn a_leaderless_partition_counts_but_is_not_available() {
    let mut believer = Believer::new();
    let raised =
        believer.hear(answer(2, vec![topic_answer("orders", 7, vec![partition(0, 1, 5), partition(1, -1, 5), partition(2, 9, 5)])]));
    assert!(raised.is_empty());
    let view = believer.0.machine.snapshot().topic(&topic("orders")).cloned().unwrap();
    assert_eq!(view.partition_count(), 3);
    assert_eq!(view.available, [PartitionIndex(0)], "broker 9 is not in the answer's list");
    assert_eq!((believer.leader(1), believer.leader(2)), (None, None));
}

#[test]
fn a_partial_answer_replaces_the_node_list_for_old_topics_too() {
    let mut believer = Believer::new();
    believer.hear(answer(2, vec![orders(7, 2, 5)]));
    believer.0.machine.add_topic(&topic("more"), START);
    believer.hear_partial(answer(1, vec![topic_answer("more", 8, vec![partition(0, 1, 0)])]));
    assert_eq!(believer.0.machine.snapshot().partition_count(&topic("orders")), Some(1), "kept");
    assert_eq!(believer.leader(0), None, "its leader's node is gone from the list");
    assert!(believer.0.machine.snapshot().topic(&topic("orders")).unwrap().available.is_empty());
}

#[test]
fn a_topic_stays_refused_until_an_answer_names_it_or_is_full() {
    let mut believer = Believer::new();
    believer.hear(answer(2, vec![topic_error("orders", 17)]));
    assert!(believer.0.machine.is_invalid(&topic("orders")));
    believer.0.machine.add_topic(&topic("late"), START);
    believer.hear_partial(answer(2, vec![topic_error("late", 3)]));
    assert!(believer.0.machine.is_invalid(&topic("orders")), "a partial answer about another topic");
    assert_eq!(believer.0.machine.take_recoverable_error(&topic("orders")), Some(ErrorCode::INVALID_TOPIC_EXCEPTION), "and told again");
    believer.hear(answer(2, vec![topic_answer("orders", 7, vec![partition(0, 1, 5)])]));
    assert!(!believer.0.machine.is_invalid(&topic("orders")));
}

#[test]
fn recoverable_errors_are_told_once_to_whoever_asks_first() {
    let mut believer = Believer::new();
    believer.0.machine.add_topic(&topic("secret"), START);
    believer.hear(answer(2, vec![topic_error("orders", 17), topic_error("secret", 29)]));
    assert_eq!(believer.0.machine.take_recoverable_error(&topic("other")), None);
    assert_eq!(believer.0.machine.take_recoverable_error(&topic("orders")), None, "the first question cleared all");
    believer.hear(answer(2, vec![topic_error("orders", 17)]));
    assert_eq!(believer.0.machine.take_recoverable_error(&topic("orders")), Some(ErrorCode::INVALID_TOPIC_EXCEPTION));
}
