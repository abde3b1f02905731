//! Causes that are about partitions, each by a sighting of its own.

use super::world::*;
use super::{check, diagnosed};
use crate::ids::{BrokerId, LeaderEpoch, PartitionIndex};
use crate::kafka::admin::ErrorCode;
use crate::probe::trace::diagnosis::{Cause, NoLeader, Outcome};
use crate::probe::trace::sighting::Sighting;

#[test]
fn partitions_without_a_leader() {
    const BY_ALL: &[i32] = &[1, 2, 3];
    check(&[
        (
            "its only replica is down",
            |s| {
                edit(s, BY_ALL, 0, |p| {
                    (p.leader, p.error, p.replicas, p.isr, p.offline) =
                        (None, Some(ErrorCode::LEADER_NOT_AVAILABLE), ids(&[2]), ids(&[2]), ids(&[2]));
                });
            },
            Cause::NoLeader(NoLeader::AllReplicasDown),
            &[2],
            "orders/0 has no leader: its only replica is down (replicas 2, offline 2, ISR 2, eligible unknown).",
        ),
        (
            "all of them are down",
            |s| edit(s, BY_ALL, 0, |p| (p.leader, p.isr, p.offline) = (None, ids(&[1]), ids(&[1, 2, 3]))),
            Cause::NoLeader(NoLeader::AllReplicasDown),
            &[1, 2, 3],
            "orders/0 has no leader: all replicas are down",
        ),
        (
            "nobody is in sync",
            |s| {
                edit(s, BY_ALL, 0, |p| (p.leader, p.isr, p.offline) = (None, vec![], ids(&[1])));
                eligible(s, 0, &[]);
            },
            Cause::NoLeader(NoLeader::IsrEmpty),
            &[1, 2, 3],
            "nobody is in sync, and nobody else may lead (replicas 1,2,3, offline 1, ISR none, eligible none)",
        ),
        (
            "nobody is in sync, and the rest could not be asked",
            |s| edit(s, BY_ALL, 0, |p| (p.leader, p.isr, p.offline) = (None, vec![], ids(&[1]))),
            Cause::NoLeader(NoLeader::IsrEmptyElrUnknown),
            &[1, 2, 3],
            "who else may lead (the ELR) could not be asked (replicas 1,2,3, offline 1, ISR none, eligible unknown)",
        ),
        (
            "the eligible one is down",
            |s| {
                edit(s, BY_ALL, 0, |p| (p.leader, p.isr, p.offline) = (None, vec![], ids(&[1])));
                eligible(s, 0, &[1]);
            },
            Cause::NoLeader(NoLeader::IsrDown),
            &[1, 2, 3],
            "all replicas that may lead are down; those that live may lack what is committed",
        ),
        (
            "the last in sync is down",
            |s| edit(s, BY_ALL, 0, |p| (p.leader, p.isr, p.offline) = (None, ids(&[1]), ids(&[1]))),
            Cause::NoLeader(NoLeader::IsrDown),
            &[1, 2, 3],
            "ISR 1, eligible unknown",
        ),
        (
            "nobody elects",
            |s| edit(s, BY_ALL, 0, |p| (p.leader, p.isr) = (None, ids(&[2, 3]))),
            Cause::NoLeader(NoLeader::NotElected),
            &[1, 2, 3],
            "though a replica that may lead is up",
        ),
        (
            "the leader has no such listener",
            |s| edit(s, BY_ALL, 0, |p| (p.leader, p.error) = (None, Some(ErrorCode::LISTENER_NOT_FOUND))),
            Cause::ListenerNotFound,
            &[],
            "orders/0 has a leader without a listener of the name that was asked through (LISTENER_NOT_FOUND (72))",
        ),
    ]);
}

#[test]
fn leaders_that_refuse() {
    check(&[
        (
            "not the leader",
            |s| refuse(s, 1, 0, 6),
            Cause::NotLeader,
            &[1],
            "broker 1, asked with epoch 4, answers NOT_LEADER_OR_FOLLOWER (6)",
        ),
        ("fenced epoch", |s| refuse(s, 1, 0, 74), Cause::FencedEpoch, &[1], "Brokers show an old leader epoch of orders/0"),
        ("unknown epoch", |s| refuse(s, 1, 0, 75), Cause::UnknownEpoch, &[1], "so it has not heard of that epoch yet"),
        ("storage error", |s| refuse(s, 1, 0, 56), Cause::StorageError, &[1], "orders/0 is not served, since a disk has failed"),
        ("no listener there", |s| refuse(s, 1, 0, 72), Cause::ListenerNotFound, &[1], "LISTENER_NOT_FOUND (72)"),
        ("not committed yet", |s| refuse(s, 1, 0, 78), Cause::NotYetServed, &[1], "does not know yet what is committed"),
        ("another code", |s| refuse(s, 1, 0, 3), Cause::Unserved(ErrorCode(3)), &[1], "answers UNKNOWN_TOPIC_OR_PARTITION (3)"),
    ]);
}

#[test]
fn replicas_that_lag() {
    let out = |s: &mut Sighting| (0..3).for_each(|index| edit(s, &[1, 2, 3], index, |p| p.isr = ids(&[1, 2])));
    let diagnosis = diagnosed(out);
    let finding = &diagnosis.findings[0];
    assert_eq!((finding.cause, &finding.nodes, finding.partition_count), (Cause::OutOfSync, &ids(&[3]), 3));
    assert_eq!(finding.partitions, [0, 1, 2].map(orders));
    assert_eq!(diagnosis.sentence, "orders/0 and 2 other partitions are under-replicated: for orders/0, replicas 1,2,3, ISR 1,2.");
}

#[test]
fn brokers_that_disagree() {
    check(&[
        (
            "one shows the leader before",
            |s| edit(s, &[1, 2], 0, |p| (p.leader, p.leader_epoch) = (Some(BrokerId(2)), Some(LeaderEpoch(5)))),
            Cause::BrokersDisagree,
            &[3],
            "Brokers disagree about orders/0: brokers 1 and 2 show leader 2 in epoch 5, broker 3 shows leader 1 in epoch 4.",
        ),
        (
            "the newest is right, also where it is alone",
            |s| edit(s, &[1], 0, |p| (p.leader, p.leader_epoch) = (Some(BrokerId(2)), Some(LeaderEpoch(5)))),
            Cause::BrokersDisagree,
            &[2, 3],
            "broker 1 shows leader 2 in epoch 5, brokers 2 and 3 show leader 1 in epoch 4",
        ),
        (
            "another ISR",
            |s| edit(s, &[2], 1, |p| p.isr = ids(&[1, 2])),
            Cause::BrokersDisagree,
            &[2],
            "orders/1: brokers 1 and 3 show ISR 1,2,3, broker 2 shows ISR 1,2",
        ),
        (
            "one does not know the topic",
            |s| view_of(s, 2).topics.clear(),
            Cause::BrokersDisagree,
            &[2],
            "orders/0 and 2 other partitions: for orders/0, brokers 1 and 3 show leader 1 in epoch 4, broker 2 shows no such partition",
        ),
        (
            "one knows the topic that was there before",
            |s| {
                let old = std::sync::Arc::make_mut(&mut view_of(s, 3).topics[0]);
                old.id = Some(crate::ids::TopicId(uuid::Uuid::from_u128(6)));
                old.partitions.iter_mut().for_each(|partition| partition.leader_epoch = Some(LeaderEpoch(40)));
            },
            Cause::BrokersDisagree,
            &[3],
            "brokers 1 and 2 show topic id 00000000-0000-0000-0000-000000000007, leader 1 in epoch 4, broker 3 shows topic id",
        ),
        (
            "only about who is there",
            |s| view_of(s, 2).brokers.retain(|broker| broker.id != BrokerId(3)),
            Cause::BrokersDisagree,
            &[2],
            "Brokers disagree about who is in the cluster: broker 2 lists 1,2; brokers 1 and 3 list 1,2,3.",
        ),
    ]);
}

#[test]
fn names_that_nobody_knows() {
    check(&[
        (
            "the topic",
            |s| ask_for(s, "ordrs", Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)),
            Cause::UnknownTopic,
            &[],
            "None of brokers 1, 2 and 3 knows a topic `ordrs` (UNKNOWN_TOPIC_OR_PARTITION (3)).",
        ),
        (
            "the partition",
            |s| {
                ask_for(s, "orders", None);
                s.scope.partition = Some(PartitionIndex(9));
            },
            Cause::UnknownPartition,
            &[],
            "The topic `orders` is there, but none of brokers 1, 2 and 3 knows this partition of it.",
        ),
        (
            "no name at all",
            |s| ask_for(s, "a b", Some(ErrorCode::INVALID_TOPIC_EXCEPTION)),
            Cause::Unserved(ErrorCode::INVALID_TOPIC_EXCEPTION),
            &[],
            "Brokers refuse the topic `a b`",
        ),
    ]);
    let denied = diagnosed(|s| {
        logged(s, |_| {});
        ask_for(s, "orders", Some(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
    });
    assert_eq!(denied.outcome, Outcome::Unknown, "{denied:#?}");
}
