//! What is told to somebody who watches.

use super::world::*;
use crate::ids::{BrokerId, LeaderEpoch};
use crate::probe::trace::sighting::{Sighting, Silence};
use crate::probe::trace::{Change, changes, diagnose};

/// Lines from a healthy cluster to this one, without what it all comes to.
fn lines(spoil: impl Fn(&mut Sighting)) -> Vec<String> {
    let (before, mut after) = (healthy(), healthy());
    spoil(&mut after);
    between(&before, &after)
}

fn between(before: &Sighting, after: &Sighting) -> Vec<String> {
    let told = changes((before, &diagnose(before)), (after, &diagnose(after)));
    let lines = told.iter().map(Change::line);
    lines.filter(|line| !line.starts_with("now: ")).collect()
}

#[test]
fn every_kind_of_change_has_its_line() {
    type Row = (fn(&mut Sighting), &'static [&'static str]);
    let rows: [Row; 9] = [
        (|_| {}, &[]),
        (
            |s| edit_quorum(s, |quorum| (quorum.leader, quorum.leader_epoch) = (BrokerId(2), LeaderEpoch(8))),
            &["active controller 1 -> 2, epoch 7 -> 8"],
        ),
        (
            |s| no_quorum(s, &[1, 2, 3], Silence::Silent),
            &[
                "active controller 1 -> unknown, epoch 7 -> unknown",
                "node 1: fetches the controller's log yes -> unknown",
                "node 2: fetches the controller's log yes -> unknown",
                "node 3: fetches the controller's log yes -> unknown",
            ],
        ),
        (
            |s| {
                silence(s, &[3]);
                fence(s, &[1, 2], 3);
                last_fetch(s, 3, 20_000);
            },
            &[
                "node 3: answers yes -> silent, fenced no -> yes, fetches the controller's log yes -> no",
                "brokers 1 and 2 show brokers 1,2,3 -> 1,2",
            ],
        ),
        (
            |s| {
                edit(s, &[1, 3], 0, |p| {
                    (p.leader, p.leader_epoch, p.isr, p.offline) = (Some(BrokerId(2)), Some(LeaderEpoch(5)), ids(&[2, 3]), ids(&[1]));
                });
            },
            &["brokers 1 and 3 show orders/0: leader 1 in epoch 4, ISR 1,2,3, offline none -> leader 2 in epoch 5, ISR 2,3, offline 1"],
        ),
        (|s| view_of(s, 2).topics.clear(), &["broker 2 shows orders: gone"]),
        (
            |s| [1, 2, 3].into_iter().for_each(|id| view_of(s, id).topics.push(topic("payments", vec![partition(0)]).into())),
            &["brokers 1, 2 and 3 show payments: new, with 1 partition"],
        ),
        (
            |s| {
                for id in [1, 2] {
                    view_of(s, id).topics = vec![topic("orders", [0, 1, 2, 3].map(partition).to_vec()).into()];
                }
            },
            &["brokers 1 and 2 show orders: partitions 3 -> 4"],
        ),
        (|s| refuse(s, 1, 0, 75), &["orders/0: broker 1 answers UNKNOWN_LEADER_EPOCH (75)"]),
    ];
    for (spoil, expected) in rows {
        assert_eq!(lines(spoil), expected);
    }
}

#[test]
fn a_refusal_that_is_over_is_told_only_if_the_leader_serves() {
    let mut refused = healthy();
    refuse(&mut refused, 1, 0, 6);
    assert_eq!(between(&refused, &healthy()), ["orders/0: served again"]);
    let mut silent = healthy();
    silence(&mut silent, &[1]);
    assert!(!between(&refused, &silent).iter().any(|line| line.contains("served")));
}

#[test]
fn what_always_moves_is_no_change_and_the_diagnosis_is_told_once() {
    let (mut early, mut late) = (healthy(), healthy());
    for (sighting, ms) in [(&mut early, 5_000), (&mut late, 9_000)] {
        silence(sighting, &[3]);
        last_fetch(sighting, 3, ms);
        edit_quorum(sighting, |quorum| quorum.high_watermark += ms);
    }
    assert_ne!(diagnose(&early).sentence, diagnose(&late).sentence);
    assert_eq!(changes((&early, &diagnose(&early)), (&late, &diagnose(&late))), []);
    let told = changes((&healthy(), &diagnose(&healthy())), (&early, &diagnose(&early)));
    assert!(told.last().unwrap().text.starts_with("now: Broker 3 does not answer"), "{told:?}");
}

#[test]
fn thousands_of_changes_are_counted_beyond_some() {
    let many = |epoch| {
        let mut sighting = healthy();
        let partitions: Vec<_> = (0..3_000)
            .map(|index| crate::kafka::admin::PartitionView {
                leader: Some(BrokerId(1)),
                leader_epoch: Some(LeaderEpoch(epoch)),
                ..partition(index)
            })
            .collect();
        let shown = std::sync::Arc::new(topic("many", partitions));
        [1, 2, 3].into_iter().for_each(|id| view_of(&mut sighting, id).topics = vec![std::sync::Arc::clone(&shown)]);
        sighting
    };
    let told = between(&many(1), &many(2));
    assert_eq!(told.len(), 51);
    assert_eq!(told[50], "and 2,950 more changes like these");
}
