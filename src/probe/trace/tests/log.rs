//! What the controllers' log adds to the brokers' answers, and what it does not.

use super::world::*;
use super::{check, diagnosed};
use crate::ids::{BrokerId, LeaderEpoch, PartitionIndex};
use crate::kafka::admin::ErrorCode;
use crate::probe::trace::diagnosis::{Cause, Outcome};
use crate::probe::trace::sighting::Sighting;

#[test]
fn replicas_that_a_reassignment_adds_are_not_missing() {
    let adds_3 = |s: &mut Sighting, offline: &[i32]| {
        edit(s, &[1, 2, 3], 0, |p| (p.isr, p.offline) = (ids(&[1, 2]), ids(offline)));
        logged(s, |p| (p.isr, p.adding) = (ids(&[1, 2]), ids(&[3])));
    };
    let diagnosis = diagnosed(|s| adds_3(s, &[]));
    assert_eq!((diagnosis.outcome, diagnosis.findings.len()), (Outcome::Healthy, 0), "{diagnosis:#?}");
    assert!(diagnosis.sentence.ends_with("of 3 partitions in 1 topic; 1 partition is being reassigned."), "{}", diagnosis.sentence);
    assert_eq!(diagnosed(|s| adds_3(s, &[3])).findings[0].cause, Cause::OutOfSync, "it is down");

    let ended = diagnosed(|s| {
        adds_3(s, &[]);
        logged(s, |_| {});
        logged_before(s, |p| (p.isr, p.adding) = (ids(&[1, 2]), ids(&[3])));
    });
    assert_eq!(ended.outcome, Outcome::Healthy, "it has ended since brokers answered: {ended:#?}");

    let unread = diagnosed(|s| edit(s, &[1, 2, 3], 0, |p| p.isr = ids(&[1, 2])));
    assert!(unread.next.contains("or a reassignment adds these replicas"), "{}", unread.next);
}

#[test]
fn what_the_controllers_log_has_and_no_broker_shows() {
    check(&[
        (
            "another leader",
            |s| logged(s, |p| (p.leader, p.leader_epoch, p.isr) = (BrokerId(2), 5, ids(&[2, 3]))),
            Cause::BrokersBehind,
            &[],
            "The controllers' log has newer things of orders/0 than any broker shows: the log has leader 2 in epoch 5, ISR 2,3, brokers show \
             leader 1 in epoch 4, ISR 1,2,3.",
        ),
        (
            "another ISR in the same epoch",
            |s| logged(s, |p| p.isr = ids(&[1, 2])),
            Cause::BrokersBehind,
            &[],
            "the log has ISR 1,2, brokers show ISR 1,2,3",
        ),
        (
            "a topic that was made",
            |s| {
                logged(s, |_| {});
                [1, 2, 3].into_iter().for_each(|id| view_of(s, id).topics.clear());
            },
            Cause::BrokersBehind,
            &[],
            "The controllers' log has newer things of orders/0 and 2 other partitions than any broker shows: for orders/0, the log has leader 1 \
             in epoch 4, brokers show no such partition.",
        ),
        (
            "the topic that was asked for",
            |s| {
                logged(s, |_| {});
                ask_for(s, "orders", Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
            },
            Cause::BrokersBehind,
            &[],
            "The controllers' log has newer things of orders/0 and 2 other partitions than any broker shows",
        ),
        (
            "the partition that was asked for",
            |s| {
                logged(s, |_| {});
                ask_for(s, "orders", None);
                s.scope.partition = Some(PartitionIndex(2));
                [1, 2, 3].into_iter().for_each(|id| drop(std::sync::Arc::make_mut(&mut view_of(s, id).topics[0]).partitions.pop()));
            },
            Cause::BrokersBehind,
            &[],
            "The controllers' log has newer things of orders/2 than any broker shows: the log has leader 3 in epoch 4, brokers show no such",
        ),
        (
            "a topic that was made anew",
            |s| {
                logged(s, |_| {});
                let made_before = crate::ids::TopicId(uuid::Uuid::from_u128(6));
                for id in [1, 2, 3] {
                    let old = std::sync::Arc::make_mut(&mut view_of(s, id).topics[0]);
                    old.id = Some(made_before);
                    old.partitions.iter_mut().for_each(|partition| partition.leader_epoch = Some(LeaderEpoch(40)));
                }
            },
            Cause::BrokersBehind,
            &[],
            "orders/0 and 2 other partitions than any broker shows: for orders/0, the log has topic id 00000000-0000-0000-0000-000000000007",
        ),
    ]);
    // As the log has it, though in another order; and a log that was read before the brokers were asked.
    for spoil in [
        |s: &mut Sighting| logged(s, |p| p.isr = ids(&[3, 1, 2])),
        |s: &mut Sighting| logged(s, |p| (p.leader, p.leader_epoch) = (BrokerId(2), 3)),
    ] {
        assert_eq!(diagnosed(spoil).outcome, Outcome::Healthy);
    }
}

#[test]
fn a_log_with_records_that_may_be_committed_puts_nobody_behind() {
    // Brokers may have heard first that a change is committed: another ISR in the same epoch, or a topic that is gone.
    let shrunk = |s: &mut Sighting| edit(s, &[1, 2, 3], 0, |p| p.isr = ids(&[1, 2]));
    let gone = |s: &mut Sighting| [1, 2, 3].into_iter().for_each(|id| view_of(s, id).topics.clear());
    for change in [&shrunk as &dyn Fn(&mut Sighting), &gone] {
        let is_behind = |pending: usize| {
            let diagnosis = diagnosed(|s| {
                logged(s, |_| {});
                s.log.as_mut().unwrap().pending = pending;
                change(s);
            });
            diagnosis.findings.iter().any(|finding| finding.cause == Cause::BrokersBehind)
        };
        assert_eq!([0, 1].map(is_behind), [true, false]);
    }
}

#[test]
fn what_has_changed_in_the_controllers_log_while_brokers_were_asked_puts_nobody_behind() {
    // An election, and an ISR that is another in the same epoch: of such two nobody can tell the older.
    for spoil in [
        |s: &mut Sighting| logged(s, |p| (p.leader, p.leader_epoch, p.isr) = (BrokerId(2), 5, ids(&[2, 3]))),
        |s: &mut Sighting| logged(s, |p| p.isr = ids(&[1, 2])),
    ] {
        let diagnosis = diagnosed(|s| {
            spoil(s);
            logged_before(s, |_| {});
        });
        assert_eq!(diagnosis.outcome, Outcome::Healthy, "{diagnosis:#?}");
        assert_eq!(diagnosed(spoil).findings[0].cause, Cause::BrokersBehind, "it was there before");
        let diagnosis = diagnosed(|s| {
            spoil(s);
            s.log_before = None;
        });
        assert_eq!(diagnosis.outcome, Outcome::Healthy, "nobody knows how it was before: {diagnosis:#?}");
        assert_eq!(diagnosis.unknown, ["whether brokers are behind the controllers' log (it was read only after they were asked)"]);
    }
}

#[test]
fn a_fenced_broker_without_replicas_is_known_from_the_controllers_log() {
    // Before Kafka 4.0 nobody else tells of it.
    let spare = |s: &mut Sighting| {
        forget(s, &[1, 2, 3], 3);
        s.voices.pop();
        edit_quorum(s, |quorum| quorum.voters.retain(|voter| voter.id != BrokerId(3)));
        for index in 0..3 {
            edit(s, &[1, 2], index, |p| (p.leader, p.replicas, p.isr) = (Some(BrokerId(1)), ids(&[1, 2]), ids(&[1, 2])));
        }
    };
    assert!(!diagnosed(spare).findings.iter().any(|finding| finding.nodes.contains(&BrokerId(3))), "nobody knows it");
    let diagnosis = diagnosed(|s| {
        spare(s);
        logged(s, |_| {});
    });
    let down = diagnosis.findings.iter().find(|finding| finding.cause == Cause::Down).unwrap();
    assert_eq!(down.sentence, "Broker 3 is down, or up and fenced (fenced); the cluster goes on without it.");
    assert_eq!(down.nodes, ids(&[3]));
}

#[test]
fn a_broker_that_only_the_controllers_log_knows_is_unknown_unless_it_is_fenced() {
    let diagnosed = |is_fenced: bool| {
        diagnosed(|s| {
            logged(s, |_| {});
            logged_broker(s, 4, is_fenced);
        })
    };
    let unfenced = diagnosed(false);
    assert_eq!((unfenced.outcome, unfenced.findings.len()), (Outcome::Unknown, 0), "{unfenced:#?}");
    assert_eq!(unfenced.unknown, ["broker 4, of which only the controllers' log knows"]);
    let fenced = diagnosed(true);
    assert_eq!((fenced.findings[0].cause, fenced.unknown.len()), (Cause::Down, 0), "{fenced:#?}");
}

#[test]
fn the_controllers_log_tells_who_is_fenced_and_who_is_eligible() {
    let diagnosis = diagnosed(|s| {
        forget(s, &[1, 2, 3], 3);
        logged(s, |p| (p.leader, p.isr, p.elr) = (BrokerId(-1), vec![], Some(ids(&[2]))));
        edit(s, &[1, 2, 3], 0, |p| (p.leader, p.isr, p.offline) = (None, vec![], ids(&[2])));
    });
    assert!(diagnosis.sentence.contains("ISR none, eligible 2"), "{}", diagnosis.sentence);
    let fenced = diagnosis.findings.iter().find(|finding| finding.cause == Cause::Down).unwrap();
    assert!(fenced.sentence.starts_with("Broker 3 is down, or up and fenced (fenced)"), "{}", fenced.sentence);
    assert_eq!((fenced.nodes.as_slice(), diagnosis.unknown.len()), (&[BrokerId(3)][..], 0), "{diagnosis:#?}");
}
