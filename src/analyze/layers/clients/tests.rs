//! What clients knew, and how they came to know it.

use super::*;
use crate::analyze::layers::log::ControllerLog;
use crate::record::sample::layers::{Part as Partition, answered};
use crate::record::sample::{Pair, Sample};

const MOVED: Partition = Partition(0, 3, 5, &[1, 3]);

struct Seen {
    clients: Clients,
    log: ControllerLog,
    index: Index,
}

fn seen(stream: &Sample) -> Seen {
    let mut seen = Seen { clients: Clients::default(), log: ControllerLog::default(), index: Index::default() };
    for stamped in &stream.facts {
        match &stamped.fact {
            Fact::ControllerImage(image) => seen.log.image(stamped.time_us, image, &mut seen.index),
            Fact::ControllerRecord(record) => seen.log.record(stamped.time_us, record, &mut seen.index),
            _ => seen.clients.fold(stamped, &mut seen.index),
        }
    }
    seen
}

fn moved() -> Sample {
    Sample::new(&[("steady", 4)])
        .image(&[Partition(0, 2, 4, &[1, 2, 3])], -1_500)
        .learned(Pair("steady", 0, 0), Partition(0, 2, 4, &[1, 2, 3]), 1, 2, -1_300)
        .step(1, "elect-leaders", "orders", 10_000)
        .record(501, MOVED.changed(), 10_020)
}

#[test]
fn a_client_learns_by_an_answer_or_by_a_hint() {
    let (asking, hinted, unknown) = (Pair("steady", 0, 0), Pair("steady", 1, 0), Pair("steady", 2, 0));
    let stream = moved()
        .learned(asking, Partition(0, 2, 4, &[1, 2, 3]), 2, 3, 10_030)
        .learned(asking, MOVED, 1, 4, 10_040)
        .asked(asking, answered(1, "age", 4), 10_040)
        .asked(hinted, answered(1, "age", 7), 10_010)
        .learned(hinted, MOVED, 2, 7, 10_050)
        .learned(unknown, MOVED, 1, 9, 10_060);
    let seen = seen(&stream);
    let learned = seen.clients.learned(&seen.log.changes()[0], &seen.index);
    let told: Vec<_> = learned
        .values()
        .map(|how| {
            (
                how.time_us / 1000,
                how.node.map(|node| node.0),
                how.reason.and_then(|reason| seen.index.words.get(reason)).map(String::as_str),
                how.is_hint,
            )
        })
        .collect();
    let expected = [(10_040, Some(1), Some("age"), false), (10_050, Some(2), None, true), (10_060, Some(1), None, true)];
    assert_eq!(told, expected);
}

#[test]
fn growth_is_learned_by_the_partition_count() {
    let pair = Pair("steady", 0, 0);
    let stream = Sample::new(&[("steady", 2)])
        .image(&[], -1_500)
        .counted(pair, (0, 3), "start", 2, -1_300)
        .counted(Pair("steady", 1, 0), (0, 3), "start", 2, -1_300)
        .step(1, "add-partitions", "orders 3 -> 6", 10_000)
        .record(501, Partition(5, 1, 0, &[1]).made(), 10_020)
        .counted(pair, (3, 6), "disconnect", 3, 12_000);
    let seen = seen(&stream);
    let learned = seen.clients.learned(&seen.log.changes()[0], &seen.index);
    assert_eq!(learned.values().map(|how| (how.time_us / 1000, how.node)).collect::<Vec<_>>(), [(12_000, Some(BrokerId(1)))]);
    let topic = seen.index.topics.find(&"orders".into()).unwrap();
    assert_eq!((seen.clients.knowing(topic, 0).len(), seen.clients.knowing(topic, -1_400_000).len()), (2, 0));
}

#[test]
fn producers_that_share_a_client_know_what_it_knows() {
    let stream = moved().learned(Pair("steady", 2, 0), MOVED, 1, 4, 10_040);
    let mut seen = seen(&stream);
    let client_of = |seen: &mut Seen, group: &str, producer: u32| {
        let who = seen.index.who(group, crate::ids::ProducerIndex(producer));
        seen.clients.client_of(who).map(|client| client.producer)
    };
    assert_eq!([0, 1, 2, 3].map(|producer| client_of(&mut seen, "steady", producer)), [Some(0), Some(0), Some(2), Some(2)]);
    assert_eq!(client_of(&mut seen, "silent", 0), None);
}

#[test]
fn requests_and_ends_of_connections_are_found_by_time() {
    let pair = Pair("steady", 0, 0);
    let stream = moved()
        .asked(pair, answered(1, "age", 3), 10_005)
        .asked(pair, answered(2, "age", 4), 10_500)
        .disconnected(pair, 3, ("refused", 0), 10_100)
        .disconnected(pair, 3, ("setup_timeout", 0), 10_200)
        .disconnected(pair, 3, ("setup_timeout", 0), 10_300);
    let mut seen = seen(&stream);
    let who = seen.index.who("steady", crate::ids::ProducerIndex(0));
    let asked = |from: i64, until: i64| seen.clients.asked(who, from * 1000, until * 1000).map(|asked| asked.node.0).collect::<Vec<_>>();
    assert_eq!((asked(10_000, 10_400), asked(10_010, 11_000)), (vec![1], vec![2]));
    assert_eq!(seen.clients.answered_by(BrokerId(2), 10_400_000, 10_600_000).count(), 1);
    let cause = |node: i32| {
        seen.clients.connections_end_by(who.group, BrokerId(node), 10_000_000, i64::MAX).and_then(|cause| seen.index.words.get(cause))
    };
    assert_eq!((cause(3).map(String::as_str), cause(1)), (Some("setup_timeout"), None));
}
