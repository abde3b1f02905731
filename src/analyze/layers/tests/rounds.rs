//! Rounds that stick one layer each, or none.

use super::{answer, finding, held};
use crate::record::broker::{Led, LogEnd};
use crate::record::fact::{Fact, StepOutcome};
use crate::record::histogram::LatencyHistogram;
use crate::record::layer::{BrokerShows, ControllerChange, Layer};
use crate::record::sample::layers::{Asked, Part, answered, fenced, registered, topic_id, unfenced};
use crate::record::sample::scenes::{MOVED, STEADY, cluster, followed_by};
use crate::record::sample::{Pair, Sample};
use crate::record::second::GroupSecond;

/// Round: the quorum has lost its majority, then a broker is killed.
#[test]
fn without_a_majority_nothing_is_committed() {
    let stream = cluster().followed(None, 9_000).step(1, "kill", "2", 10_000).gap(STEADY, 10_020, None).end(40_000);
    let held = held(&stream, 1);
    let words = "no active controller since 10.0 s: nothing is noticed or committed, orders/0 waits";
    assert_eq!(answer(&held), (Layer::Committed, None, None, true, words));
    assert_eq!((held.for_ms, held.of_ms), (29_980, 29_980));
}

/// The same with a request of an administrator, for which no record waits; and with a record that was written and never committed.
#[test]
fn without_a_majority_an_administrators_change_is_not_committed_either() {
    let request =
        |stream: Sample| stream.child(1, None, None, "add-partitions", "orders 3 -> 6", 10_000).done(1, 39_000, StepOutcome::Failed);
    let lost = cluster().followed(None, 9_000);
    let words = "no active controller since 10.0 s: nothing is noticed or committed";
    assert_eq!(answer(&held(&request(lost).end(40_000), 1)), (Layer::Committed, None, None, true, words));
    let written = request(cluster()).record(501, Part(3, 1, 0, &[1, 2, 3]).made(), 10_030).followed(None, 13_000);
    let words = "no active controller since 13.0 s: records from offset 501 on are not committed";
    assert_eq!(answer(&held(&written.end(40_000), 1)), (Layer::Committed, None, None, true, words));
}

/// Round: broker 2 cannot reach the controllers, and leaders move (off it, since it is fenced).
#[test]
fn a_broker_that_is_cut_off_from_the_controllers_is_named() {
    let cut = || cluster().step(1, "link", "2 -> controllers", 10_000).record(501, fenced(2), 19_000).record(502, MOVED.changed(), 19_001);
    // Its clients send on to it, and it takes what they send.
    let waiting = followed_by(cut(), &[1, 3], 19_012).gap(STEADY, 19_010, None).end(40_000);
    let words = "orders/0: broker 2 has not fetched the controller's log past offset 502 since 19.0 s; it still says leader 2, epoch 4";
    assert_eq!(answer(&held(&waiting, 1)), (Layer::Fetched, Some(2), None, true, words));
    // Nobody waits: its answers are wrong all the same.
    let finding = finding(&followed_by(cut(), &[1, 3], 19_012).end(40_000), 1);
    let words = "node 2 has not fetched the controller's log past offset 501 since 19.0 s; of orders/0 it still says leader 2, epoch 4";
    assert_eq!(answer(finding.held.as_ref().unwrap()), (Layer::Fetched, Some(2), None, true, words));
    let remark = "Brokers disagreed on orders/0 for 21.0 s, until the end: broker 1 showed the change first, broker 2 last; a client that \
                  asked broker 2 meanwhile would have got leader 2, epoch 4.";
    assert_eq!(finding.remarks, [remark]);
}

/// The same, healed before the end.
#[test]
fn a_broker_that_was_cut_off_for_a_while_is_named_too() {
    let stream = cluster().step(1, "link", "2 -> controllers", 10_000).record(501, fenced(2), 19_000).record(502, MOVED.changed(), 19_001);
    let stream = followed_by(stream, &[1, 3], 19_012).fetched(2, 510, 31_000).shows_partition(2, MOVED, 31_010).end(40_000);
    let held = held(&stream, 1);
    assert_eq!((held.layer, held.node, held.is_stuck, held.for_ms), (Layer::Fetched, Some(2), false, 11_999));
    // Clients that went on sending to it waited for it.
    let waited = stream.asked(STEADY, answered(2, "produce_error", 4), 31_040).learned(STEADY, MOVED, 2, 4, 31_040).gap(
        STEADY,
        19_020,
        Some(31_100),
    );
    let finding = finding(&waited, 1);
    let words = "orders/0: 12.0 of 12.1 s until broker 2, to which `steady` still sent, had fetched the record";
    assert_eq!(answer(finding.held.as_ref().unwrap()), (Layer::Fetched, Some(2), None, false, words));
}

#[test]
fn a_broker_that_has_fetched_but_does_not_show_it_is_stuck_in_its_cache() {
    let stream = cluster().step(1, "elect-leaders", "orders", 10_000).record(503, MOVED.changed(), 10_020);
    let stream = followed_by(stream, &[1, 3], 10_030).fetched(2, 503, 10_040).end(40_000);
    let words = "broker 2 has fetched offset 503, but does not show it since 10.0 s; of orders/0 it still says leader 2, epoch 4";
    assert_eq!(answer(&held(&stream, 1)), (Layer::BrokerCache, Some(2), None, true, words));
}

#[test]
fn a_leader_that_refuses_is_stuck_in_serving() {
    let stream = cluster().step(1, "elect-leaders", "orders", 10_000).record(503, MOVED.changed(), 10_020);
    let mut stream = followed_by(stream, &[1, 2, 3], 10_030);
    stream.facts.retain(|stamped| !matches!(stamped.fact, Fact::Servable { .. }));
    let held = held(&stream.serves(3, MOVED, Some(56), 10_050).end(40_000), 1);
    let words = "leader 3 of orders/0 refuses: KAFKA_STORAGE_ERROR (56) since 10.0 s";
    assert_eq!(answer(&held), (Layer::Servable, Some(3), None, true, words));
}

/// `orders` grows to four partitions, and all brokers know.
fn grown() -> Sample {
    let new = Part(3, 1, 0, &[1, 2, 3]);
    let stream = cluster().step(1, "add-partitions", "orders 3 -> 4", 10_000).record(501, new.made(), 10_020).committed(501, 10_030);
    let stream = (1..=3)
        .fold(stream, |stream, node| stream.fetched(node, 501, 10_032).shows_count(node, 4, 10_040).shows_partition(node, new, 10_040));
    stream.serves(1, new, None, 10_045)
}

/// Round: caches with a metadata.max.age.ms of 600 s under growth.
#[test]
fn caches_that_never_ask_are_stuck() {
    let held = held(&grown().counted(Pair("steady", 1, 0), (3, 4), "disconnect", 3, 14_000).end(40_000), 1);
    let words =
        "client cache: 1 of 2 producers of `steady` do not see orders/3 since 10.0 s; they ask when their metadata.max.age.ms is over";
    assert_eq!(answer(&held), (Layer::ClientCache, None, Some("steady"), true, words));
    assert_eq!(held.for_ms, 29_960);
}

#[test]
fn growth_that_all_caches_see_soon_is_held_up_by_nothing_and_late_by_their_age() {
    let seen = |at_ms: i64| {
        let stream = (0..2).fold(grown(), |stream, producer| stream.counted(Pair("steady", producer, 0), (3, 4), "age", 3, at_ms));
        stream.first_used(Pair("steady", 0, 3), at_ms + 10).end(40_000)
    };
    assert_eq!(finding(&seen(11_900), 1).held, None);
    let held = held(&seen(39_000), 1);
    let words = "client cache: the last of 2 producers of `steady` saw orders/3 only after 29.0 s";
    assert_eq!(answer(&held), (Layer::ClientCache, None, Some("steady"), false, words));
}

/// A look at the log of `orders/0` on broker 3.
fn log_of_new_leader(stream: Sample, second: i64, end: i64, high_watermark: i64) -> Sample {
    stream.broker(3, second, |seen| {
        let partition = LogEnd {
            topic: "orders".into(),
            partition: crate::ids::PartitionIndex(0),
            leader_epoch: None,
            replicas: None,
            high_watermark: Some(high_watermark),
            log_end_offset: Some(end),
        };
        seen.led = Some(Led { leaders: 2, under_replicated: 0, probed: vec![partition] });
    })
}

/// `orders/0` is moved to 3, everybody knows, and records of `steady` wait from then on.
fn moved_and_known() -> Sample {
    moved_and_known_until(None)
}

fn moved_and_known_until(ok_ms: Option<i64>) -> Sample {
    let stream = cluster().step(1, "elect-leaders", "orders", 10_000).record(503, MOVED.changed(), 10_020);
    followed_by(stream, &[1, 2, 3], 10_030)
        .asked(STEADY, answered(1, "produce_error", 4), 10_200)
        .learned(STEADY, MOVED, 1, 4, 10_200)
        .gap(STEADY, 10_050, ok_ms)
}

/// Round: the clients' link to the new leader is a black hole: with an open connection, requests go there and nothing comes back.
#[test]
fn requests_that_do_not_reach_the_new_leader_are_stuck_on_their_route() {
    let stream = log_of_new_leader(log_of_new_leader(moved_and_known(), 12, 70, 70), 30, 70, 70);
    let words = "orders/0: producers of `steady` know leader 3, epoch 5, but nothing reaches it since 10.2 s";
    assert_eq!(answer(&held(&stream.routed(STEADY, 3, 10_205).end(40_000), 1)), (Layer::Route, Some(3), Some("steady"), true, words));
    // Without one, they cannot even be sent; nobody looks at the log.
    let stream = moved_and_known().disconnected(STEADY, 3, ("setup_timeout", 0), 20_400);
    let stream = (0..3).fold(stream, |stream, _| stream.disconnected(STEADY, 3, ("closing", 0), 39_900)).end(40_000);
    let words = "orders/0: producers of `steady` know leader 3, epoch 5, but nothing reaches it since 10.2 s (their connections end by \
                 setup_timeout)";
    assert_eq!(answer(&held(&stream, 1)), (Layer::Route, Some(3), Some("steady"), true, words));
}

/// The same, and the client's own question goes to the broker that it cannot reach.
#[test]
fn a_question_that_nobody_answers_is_stuck_on_its_route_too() {
    let stream = cluster().step(1, "elect-leaders", "orders", 10_000).record(503, MOVED.changed(), 10_020);
    let unanswered = Asked { node: 3, reason: "produce_error", outcome: "unanswered", took_ms: 29_800, version: 2 };
    let stream = followed_by(stream, &[1, 2, 3], 10_030).asked(STEADY, unanswered, 40_000).gap(STEADY, 10_050, None).end(40_000);
    let words = "orders/0: node 3 does not answer Metadata requests of `steady` since 10.2 s";
    assert_eq!(answer(&held(&stream, 1)), (Layer::Route, Some(3), Some("steady"), true, words));
}

/// The same, and the client's question would go there: its new connection is not even ready for one.
#[test]
fn a_connection_that_is_never_ready_for_a_question_is_stuck_on_its_route_too() {
    let moved = || cluster().step(1, "elect-leaders", "orders", 10_000).record(503, MOVED.changed(), 10_020);
    let stream = || followed_by(moved(), &[1, 2, 3], 10_030).gap(STEADY, 10_050, None);
    let words = "orders/0: node 3 does not answer a new connection of `steady` since 10.1 s, which asks nobody meanwhile";
    let held_by = held(&stream().never_ready(STEADY, 3, 33_000, 40_000).end(40_000), 1);
    assert_eq!(answer(&held_by), (Layer::Route, Some(3), Some("steady"), true, words));
    // Whoever asks all the same, through another connection, is not kept from it.
    let asked = stream().asked(STEADY, answered(1, "age", 2), 30_000).never_ready(STEADY, 3, 33_000, 40_000).end(40_000);
    assert_eq!(held(&asked, 1).layer, Layer::ClientCache);
}

/// The link was a black hole already, and no leader moved.
#[test]
fn a_leader_that_clients_cannot_reach_is_named_without_any_change() {
    let stream = log_of_new_leader(log_of_new_leader(cluster().step(1, "link", "clients -> 2", 10_000), 12, 70, 70), 30, 70, 70);
    let stream = stream.disconnected(STEADY, 2, ("request_timeout", 1), 20_000);
    let held = held(&stream.gap(STEADY, 10_050, None).end(40_000), 1);
    assert_eq!((held.layer, held.node, held.is_stuck), (Layer::Route, Some(2), true));
}

/// Roll: the new leader waits for a replica that is killed meanwhile, and acknowledges when it is back, before anybody has noticed.
#[test]
fn a_leader_that_waits_for_a_dead_replica_is_held_up_by_that() {
    let stream = |ok_ms| log_of_new_leader(log_of_new_leader(moved_and_known_until(Some(ok_ms)), 12, 70, 60), 18, 90, 60);
    let killed = |ok_ms| stream(ok_ms).step(2, "kill", "1", 11_600).step(3, "start", "1", 15_600);
    let held_by = held(&killed(21_600).end(40_000), 1);
    let words = "orders/0: 10.0 of 11.6 s in which the controller did not notice that broker 1 was down";
    assert_eq!(answer(&held_by), (Layer::Detected, Some(1), None, false, words));
    // Once the ISR has lost it, the leader may go on, and whoever still waits does not wait for it.
    let shrunk = Part(0, 3, 5, &[3]);
    let held_by = held(&killed(31_600).record(504, shrunk.changed(), 13_000).committed(504, 13_010).end(40_000), 1);
    assert_eq!((held_by.layer, held_by.for_ms), (Layer::Delivery, 20_005));
    // Of a dead node that is not in its ISR it waits for nothing.
    let held_by = held(&stream(21_600).step(2, "kill", "2", 11_600).end(40_000), 1);
    assert_eq!(held_by.layer, Layer::Delivery);
}

#[test]
fn a_leader_that_takes_records_and_acknowledges_none_is_stuck_in_delivery() {
    let stream = log_of_new_leader(log_of_new_leader(moved_and_known(), 12, 70, 60), 30, 90, 60);
    let words = "orders/0: requests of `steady` reach leader 3, epoch 5, but it acknowledges nothing since 10.2 s";
    assert_eq!(answer(&held(&stream.routed(STEADY, 3, 10_205).end(40_000), 1)), (Layer::Delivery, Some(3), Some("steady"), true, words));
}

/// The topic came back under its name, but without this partition.
#[test]
fn records_for_a_partition_that_is_gone_wait_in_the_client() {
    let removed = ControllerChange::TopicRemoved { topic: "orders".into(), topic_id: topic_id() };
    let stream = cluster().step(1, "recreate-topic", "orders", 10_000).record(503, removed, 10_020).gap(STEADY, 10_050, None).end(40_000);
    let words = "orders/0 exists no more: records of `steady` for it wait since 10.1 s, until their delivery.timeout.ms is over";
    assert_eq!(answer(&held(&stream, 1)), (Layer::Delivery, None, Some("steady"), true, words));
}

#[test]
fn a_broker_that_does_not_answer_though_it_runs_is_named() {
    let stream = cluster().step(1, "elect-leaders", "orders", 10_000).record(503, MOVED.changed(), 10_020);
    let stream =
        followed_by(stream, &[1, 3], 10_030).fetched(2, 503, 10_040).shows(2, BrokerShows::Nothing { why: "timed out".into() }, 11_000);
    let words = "broker 2 does not answer Metadata requests (timed out)";
    assert_eq!(answer(&held(&stream.end(40_000), 1)), (Layer::BrokerCache, Some(2), None, true, words));
}

/// Its only replica comes back: both what was noticed of it held it up.
#[test]
fn the_parts_of_a_wait_in_one_layer_are_told_each() {
    let [lost, back] = [Part(0, 0, 5, &[]), Part(0, 2, 6, &[2])];
    let stream = cluster().step(1, "kill", "2", 10_000).record(501, lost.changed(), 20_000).record(502, fenced(2), 20_000);
    let stream =
        stream.committed(502, 20_010).step(2, "start", "2", 21_000).record(510, registered(2), 22_000).record(511, unfenced(2), 25_700);
    let stream = stream.record(512, back.changed(), 25_700).committed(512, 25_710);
    let stream = [1, 3].iter().fold(stream, |stream, node| {
        let stream = stream.fetched(*node, 502, 20_010).shows_partition(*node, lost, 20_020);
        stream.fetched(*node, 512, 25_710).shows_partition(*node, back, 25_720)
    });
    let stream = stream.learned(STEADY, back, 1, 4, 25_750);
    let held = held(&stream.gap(STEADY, 10_000, Some(26_000)).end(40_000), 1);
    let words = "orders/0: 15.7 of 16.0 s: 10.0 s until the controller fenced broker 2 (its session timeout), then 2.0 s until broker 2 had \
                 registered again, then 3.7 s until broker 2 was unfenced";
    assert_eq!(answer(&held), (Layer::Detected, Some(2), None, false, words));
}

/// It ended without the end of a connection, and the leader committed what others sent.
#[test]
fn a_leader_that_serves_others_first_is_slow_and_not_out_of_reach() {
    let moved = || moved_and_known_until(Some(14_300)).routed(STEADY, 3, 10_205);
    let stream = log_of_new_leader(log_of_new_leader(moved(), 11, 70, 70), 13, 90, 90).end(40_000);
    let words = "orders/0: 4.1 of 4.3 s until leader 3 acknowledged, which committed records of the partition meanwhile (no connection of \
                 `steady` to it ended)";
    assert_eq!(answer(&held(&stream, 1)), (Layer::Delivery, Some(3), Some("steady"), false, words));
    let stream = log_of_new_leader(log_of_new_leader(moved(), 11, 70, 70), 13, 90, 90);
    let words = "orders/0: 4.1 of 4.3 s in which requests of `steady` did not reach leader 3";
    let stream = stream.disconnected(STEADY, 3, ("reset", 1), 14_000).end(40_000);
    assert_eq!(answer(&held(&stream, 1)), (Layer::Route, Some(3), Some("steady"), false, words));
}

/// A machine whose slowest ordinary records take 300 ms: 1.6 s are not held up there, and are where all records are quick.
#[test]
fn what_is_ordinary_follows_the_baseline() {
    let moved = || {
        let stream = followed_by(cluster().step(1, "stop", "2", 10_000).record(503, MOVED.changed(), 10_020), &[1, 3], 10_030);
        stream.learned(STEADY, MOVED, 1, 4, 10_060).routed(STEADY, 3, 11_660).gap(STEADY, 10_030, Some(11_670)).end(40_000)
    };
    let quick = held(&moved(), 1);
    let words = "orders/0: 1.6 of 1.6 s in which requests of `steady` did not reach leader 3";
    assert_eq!(answer(&quick), (Layer::Route, Some(3), Some("steady"), false, words));
    let slow = |figures: &mut GroupSecond| {
        let mut latency = LatencyHistogram::new();
        latency.record_n(300_000, 100);
        figures.histograms.insert("response_ok".to_owned(), latency.encode().unwrap());
        figures.histogram_max_us.insert("response_ok".to_owned(), 300_000);
    };
    assert_eq!(finding(&moved().second("steady", 5, slow), 1).held, None);
}

/// What is sent to a new leader waits for what the old one holds: one that is cut off and believes to lead, or one that is frozen.
#[test]
fn batches_behind_those_of_an_old_leader_wait_for_it() {
    let moved = |step: &str| followed_by(cluster().step(1, step, "2", 10_000).record(503, MOVED.changed(), 19_001), &[1, 3], 19_012);
    let told = |stream: Sample| stream.learned(STEADY, MOVED, 1, 4, 19_040).routed(STEADY, 3, 19_045).refused(STEADY, 3, 45, 19_050);
    let ended = |stream: Sample| stream.gap(STEADY, 10_020, Some(39_000)).end(60_000);
    let knows_late = |stream: Sample| stream.fetched(2, 503, 38_900).shows_partition(2, MOVED, 38_950);
    let words = "orders/0: 19.9 of 29.0 s until broker 2, which had not answered batches of `steady` that go first, had fetched the record";
    let of_broker = (Layer::Fetched, Some(2), None, false, words);
    assert_eq!(answer(&held(&ended(knows_late(told(moved("link")))), 1)), of_broker);
    // It answers them as soon as it knows; nothing was sent to the new leader until then.
    let silent = knows_late(moved("link").learned(STEADY, MOVED, 1, 4, 19_040)).refused(STEADY, 2, 6, 38_951).routed(STEADY, 3, 38_960);
    assert_eq!(answer(&held(&ended(silent), 1)), of_broker);
    let words = "orders/0: 20.0 of 29.0 s in which batches of `steady` waited for those before them, which broker 2 did not answer";
    let of_clients = (Layer::Delivery, Some(2), Some("steady"), false, words);
    assert_eq!(answer(&held(&ended(told(moved("pause"))), 1)), of_clients);
}

/// A leader that takes records while a follower is cut off; after the wait they go through, and its connections end.
#[test]
fn what_comes_after_a_wait_explains_nothing_of_it() {
    let stream = log_of_new_leader(log_of_new_leader(moved_and_known_until(Some(30_000)), 12, 70, 60), 28, 90, 60);
    let stream = log_of_new_leader(stream.routed(STEADY, 3, 10_205), 33, 95, 95);
    let words = "orders/0: 19.8 of 20.0 s in which leader 3 acknowledged nothing of `steady`, though requests reach it";
    assert_eq!(answer(&held(&stream.end(40_000), 1)), (Layer::Delivery, Some(3), Some("steady"), false, words));
}

#[test]
fn where_nobody_looked_nothing_is_claimed_of_requests() {
    let stream = moved_and_known().routed(STEADY, 3, 10_205).end(40_000);
    let words = "orders/0: `steady` gets nothing acknowledged by leader 3 since 10.2 s; whether requests reach it, nobody saw";
    assert_eq!(answer(&held(&stream, 1)), (Layer::Delivery, Some(3), Some("steady"), true, words));
    let stream = moved_and_known().routed(STEADY, 3, 10_205).refused(STEADY, 3, 19, 39_000).end(40_000);
    let words = "orders/0: leader 3 refuses since 10.2 s (NOT_ENOUGH_REPLICAS (19))";
    assert_eq!(answer(&held(&stream, 1)), (Layer::Delivery, Some(3), Some("steady"), true, words));
}
