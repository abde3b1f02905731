//! Whole steps, made by hand: each round sticks one layer, and the answer must name it, from what was seen alone.

use super::findings::{Held, LayerFinding};
use crate::analyze::Analysis;
use crate::analyze::findings::Findings;
use crate::ids::BrokerId;
use crate::record::broker::{Led, LogEnd};
use crate::record::fact::{Fact, StepOutcome};
use crate::record::layer::{BrokerShows, Layer};
use crate::record::sample::layers::{Asked, Part, answered, fenced, registered, stopping, unfenced};
use crate::record::sample::scenes::{MOVED, STEADY, cluster, followed_by, killed, noticed_kill};
use crate::record::sample::{Pair, Sample};

fn findings(stream: &Sample) -> Findings {
    let mut analysis = Analysis::new();
    stream.facts.iter().for_each(|fact| analysis.fold(fact));
    analysis.finish()
}

pub(super) fn finding(stream: &Sample, step: u32) -> LayerFinding {
    findings(stream).layers.into_iter().find(|finding| finding.step == step).unwrap()
}

fn held(stream: &Sample, step: u32) -> Held {
    let finding = finding(stream, step);
    finding.held.unwrap_or_else(|| panic!("nothing is held up: {:?}", finding.waterfall))
}

/// Layer, node, group, whether it is stuck, and the words.
fn answer(held: &Held) -> (Layer, Option<i32>, Option<&str>, bool, &str) {
    (held.layer, held.node, held.group.as_deref(), held.is_stuck, &held.in_words)
}

#[test]
fn a_kill_is_held_up_by_the_session() {
    let finding = finding(&killed().end(40_000), 1);
    let held = finding.held.as_ref().unwrap();
    let words = "orders/0: 9.0 of 9.3 s until the controller fenced broker 2 (its session timeout)";
    assert_eq!(answer(held), (Layer::Detected, Some(2), None, false, words));
    assert_eq!((held.since_ms, held.for_ms, held.of_ms), (10_020, 8_976, 9_280));
    assert_eq!((finding.partitions, finding.leaders_changed, finding.waits), (2, 1, 2));
    let median = finding.held_median.unwrap();
    assert_eq!((median.layer, median.partition.as_deref()), (Layer::Detected, Some("orders/1")));
}

#[test]
fn a_waterfall_begins_at_the_fault_and_no_stage_precedes_what_it_depends_on() {
    let finding = finding(&killed().end(40_000), 1);
    let waterfall = finding.waterfall.unwrap();
    let name = |node: Option<i32>, group: Option<&str>| node.map_or_else(|| group.unwrap_or("").to_owned(), |node| node.to_string());
    let stages: Vec<_> = waterfall
        .stages
        .iter()
        .map(|stage| {
            let whose = name(stage.node, stage.group.as_deref());
            (stage.layer.name(), whose, stage.not_before_ms.unwrap_or(-1), stage.time_ms.unwrap_or(-1), stage.what.as_str())
        })
        .collect();
    let expected = [
        ("detected", "2", 18_996, 19_001, "fenced"),
        ("detected", "", 18_996, 19_001, "leader 3, epoch 5"),
        ("committed", "", 19_002, 19_012, "offset 502"),
        ("fetched", "1", 19_004, 19_014, "offset 502"),
        ("fetched", "2", 18_996, -1, "offset 502"),
        ("fetched", "3", 19_004, 19_014, "offset 502"),
        ("broker_cache", "1", 19_010, 19_020, "its own answer"),
        ("broker_cache", "2", 19_002, -1, "its own answer"),
        ("broker_cache", "3", 19_010, 19_020, "its own answer"),
        ("servable", "3", 19_017, 19_027, "serves in its epoch"),
        ("client_cache", "steady", 19_040, 19_040, "its cache"),
        ("route", "3", 19_045, 19_045, "requests go there"),
        ("delivery", "steady", 19_300, 19_300, "first ack"),
    ];
    let expected: Vec<_> =
        expected.into_iter().map(|(layer, whose, from, until, what)| (layer, whose.to_owned(), from, until, what)).collect();
    assert_eq!(stages, expected);
    assert_eq!((waterfall.change.as_str(), waterfall.last_ack_ms), ("leader 2 -> 3, epoch 4 -> 5", Some(19_300)));
    let down: Vec<i32> = waterfall.stages.iter().filter(|stage| stage.is_down).filter_map(|stage| stage.node).collect();
    assert_eq!(down, [2, 2]);
    let client = waterfall.stages.iter().find(|stage| stage.layer == Layer::ClientCache).unwrap();
    assert_eq!(
        (client.never, client.by_reason.clone(), client.by_node.clone()),
        (1, [("no_leader".to_owned(), 1)].into(), [(1, 1)].into())
    );
    let charged: Vec<_> = waterfall.segments.iter().map(|segment| (segment.layer.name(), segment.for_ms)).collect();
    let expected = [("detected", 8_976), ("committed", 16), ("fetched", 2), ("broker_cache", 6), ("client_cache", 20)];
    assert_eq!(charged[..5], expected);
    assert_eq!(charged[5..], [("route", 5), ("delivery", 255)]);
}

#[test]
fn a_killed_controller_costs_an_election_before_anybody_can_notice() {
    let stream = killed().followed(None, 10_050).followed(Some(3), 13_000).end(40_000);
    let finding = finding(&stream, 1);
    let sum = |layer: Layer| {
        let segments = &finding.waterfall.as_ref().unwrap().segments;
        segments.iter().filter(|segment| segment.layer == layer).map(|segment| segment.for_ms).sum::<i64>()
    };
    assert_eq!((sum(Layer::Committed), sum(Layer::Detected)), (2_950 + 16, 9_000 - 24 - 2_950));
    assert_eq!(finding.held.unwrap().layer, Layer::Detected);
}

#[test]
fn a_start_that_moves_no_leader_while_nobody_waits_is_held_up_by_nothing() {
    let stream = killed()
        .step(2, "start", "2", 24_000)
        .record(510, registered(2), 29_000)
        .committed(510, 29_010)
        .fetched(1, 510, 29_010)
        .fetched(2, 511, 30_500)
        .record(512, unfenced(2), 31_000)
        .record(513, Part(0, 3, 5, &[1, 2, 3]).changed(), 31_500)
        .committed(513, 31_520);
    let stream = [1, 2, 3]
        .iter()
        .fold(stream, |stream, node| stream.fetched(*node, 513, 31_520).shows_partition(*node, Part(0, 3, 5, &[1, 2, 3]), 31_530));
    let finding = finding(&stream.end(40_000), 2);
    assert_eq!(finding.held, None);
    let waterfall = finding.waterfall.unwrap();
    let noticed: Vec<_> = waterfall.stages.iter().filter(|stage| stage.layer == Layer::Detected).map(|stage| stage.what.as_str()).collect();
    assert_eq!(noticed, ["registered, broker epoch 311", "caught up to its registration", "unfenced", "ISR 1 2 3"]);
}

#[test]
fn a_graceful_stop_hands_over_and_nothing_is_held_up() {
    let stream =
        cluster().step(1, "stop", "2", 10_000).record(501, stopping(2), 10_200).record(502, MOVED.changed(), 10_210).committed(503, 10_230);
    let stream = followed_by(stream, &[1, 2, 3], 10_230)
        .asked(STEADY, answered(1, "produce_error", 4), 10_400)
        .learned(STEADY, MOVED, 1, 4, 10_400)
        .routed(STEADY, 3, 10_405)
        .gap(STEADY, 10_215, Some(10_800))
        .end(40_000);
    assert_eq!(finding(&stream, 1).held, None);
}

#[test]
fn a_wait_that_a_later_step_ends_is_explained_by_that_steps_records() {
    // The node is back before its session is over: its registration moves its leaderships.
    let stream = cluster().step(1, "kill", "2", 10_000).step(2, "start", "2", 12_000).record(501, registered(2), 17_000).record(
        502,
        MOVED.changed(),
        17_001,
    );
    let stream = followed_by(stream, &[1, 3], 17_010).gap(STEADY, 10_020, Some(17_300)).end(40_000);
    let kill = finding(&stream, 1);
    let words = "orders/0: 7.0 of 7.3 s until broker 2 had registered again";
    assert_eq!(answer(kill.held.as_ref().unwrap()), (Layer::Detected, Some(2), None, false, words));
    let waterfall = kill.waterfall.unwrap();
    assert_eq!((waterfall.partition.as_deref(), waterfall.offset, waterfall.last_ack_ms), (Some("orders/0"), 502, Some(17_300)));
    assert_eq!((kill.partitions, finding(&stream, 2).held), (0, None));
}

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
    let words = "leader 3 of orders/0 refuses: error 56 since 10.0 s";
    assert_eq!(answer(&held), (Layer::Servable, Some(3), None, true, words));
}

#[test]
fn a_leader_that_refuses_for_a_while_is_named_with_its_error() {
    let stream = cluster().step(1, "elect-leaders", "orders", 10_000).record(503, MOVED.changed(), 10_020);
    let mut stream = followed_by(stream, &[1, 2, 3], 10_030);
    stream.facts.retain(|stamped| !matches!(stamped.fact, Fact::Servable { .. }));
    let stream = stream
        .serves(3, MOVED, Some(78), 10_050)
        .asked(STEADY, answered(1, "produce_error", 4), 10_200)
        .learned(STEADY, MOVED, 1, 4, 10_200)
        .routed(STEADY, 3, 10_210)
        .serves(3, MOVED, None, 13_000)
        .gap(STEADY, 10_030, Some(13_020));
    let words = "orders/0: 2.8 of 3.0 s until leader 3 served (it refused with error 78)";
    assert_eq!(answer(&held(&stream.end(40_000), 1)), (Layer::Servable, Some(3), None, false, words));
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
    let stream = cluster().step(1, "elect-leaders", "orders", 10_000).record(503, MOVED.changed(), 10_020);
    followed_by(stream, &[1, 2, 3], 10_030)
        .asked(STEADY, answered(1, "produce_error", 4), 10_200)
        .learned(STEADY, MOVED, 1, 4, 10_200)
        .gap(STEADY, 10_050, None)
}

/// Round: the clients' link to the new leader is a black hole: with an open connection, requests go there and nothing comes back.
#[test]
fn requests_that_do_not_reach_the_new_leader_are_stuck_on_their_route() {
    let stream = log_of_new_leader(log_of_new_leader(moved_and_known(), 12, 70, 70), 30, 70, 70);
    let words = "orders/0: producers of `steady` know leader 3, epoch 5, but nothing reaches it since 10.2 s";
    assert_eq!(answer(&held(&stream.routed(STEADY, 3, 10_205).end(40_000), 1)), (Layer::Route, Some(3), Some("steady"), true, words));
    // Without one, they cannot even be sent; nobody looks at the log.
    let disconnected = Fact::Disconnected {
        group: "steady".to_owned(),
        producer: crate::ids::ProducerIndex(0),
        node: BrokerId(3),
        cause: "setup_timeout".to_owned(),
        in_flight: 0,
        metadata_in_flight: false,
    };
    let stream = moved_and_known().at(20_400, disconnected).end(40_000);
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

/// The link was a black hole already, and no leader moved.
#[test]
fn a_leader_that_clients_cannot_reach_is_named_without_any_change() {
    let stream = log_of_new_leader(log_of_new_leader(cluster().step(1, "link", "clients -> 2", 10_000), 12, 70, 70), 30, 70, 70);
    let stream = stream.at(
        20_000,
        Fact::Disconnected {
            group: "steady".to_owned(),
            producer: crate::ids::ProducerIndex(0),
            node: BrokerId(2),
            cause: "request_timeout".to_owned(),
            in_flight: 1,
            metadata_in_flight: false,
        },
    );
    let held = held(&stream.gap(STEADY, 10_050, None).end(40_000), 1);
    assert_eq!((held.layer, held.node, held.is_stuck), (Layer::Route, Some(2), true));
}

#[test]
fn a_leader_that_takes_records_and_acknowledges_none_is_stuck_in_delivery() {
    let stream = log_of_new_leader(log_of_new_leader(moved_and_known(), 12, 70, 60), 30, 90, 60);
    let words = "orders/0: requests of `steady` reach leader 3, epoch 5, but it acknowledges nothing since 10.2 s";
    assert_eq!(answer(&held(&stream.routed(STEADY, 3, 10_205).end(40_000), 1)), (Layer::Delivery, Some(3), Some("steady"), true, words));
}

/// A paused leader is not noticed before its session is over; its clients wait for its answer for longer than that.
#[test]
fn a_client_that_waits_for_a_paused_leader_has_not_asked() {
    let mut stream = followed_by(noticed_kill(), &[1, 3], 19_012);
    for stamped in &mut stream.facts {
        if let Fact::StepRequested { action, .. } = &mut stamped.fact {
            *action = "pause".to_owned();
        }
    }
    let stream = stream
        .asked(STEADY, answered(1, "disconnect", 4), 40_040)
        .learned(STEADY, MOVED, 1, 4, 40_040)
        .routed(STEADY, 3, 40_045)
        .gap(STEADY, 10_020, Some(40_300))
        .end(45_000);
    let words = "orders/0: 21.0 of 30.3 s until `steady` asked again (by disconnect)";
    assert_eq!(answer(&held(&stream, 1)), (Layer::ClientCache, None, Some("steady"), false, words));
}

#[test]
fn a_fault_that_the_controller_does_not_notice_is_held_up_there() {
    let stream = cluster().step(1, "pause", "2", 10_000).step(2, "unpause", "2", 16_000);
    let held_up = held(&stream.gap(STEADY, 10_020, Some(16_100)).end(40_000), 1);
    let words = "orders/0: 6.1 of 6.1 s in which the controller did not notice that broker 2 was down";
    assert_eq!(answer(&held_up), (Layer::Detected, Some(2), None, false, words));
    let stream = cluster().step(1, "kill", "2", 10_000).gap(STEADY, 10_020, None).end(18_000);
    let words = "orders/0: the controller has not noticed since 10.0 s that broker 2 is down; it still says leader 2, epoch 4";
    assert_eq!(answer(&held(&stream, 1)), (Layer::Detected, Some(2), None, true, words));
}

#[test]
fn a_partition_without_a_leader_waits_for_one() {
    let lost = Part(0, 0, 5, &[]);
    let stream =
        cluster().step(1, "kill", "2", 10_000).record(501, fenced(2), 19_000).record(502, lost.changed(), 19_001).committed(502, 19_010);
    let words = "orders/0: no leader since 19.0 s: no replica can be elected";
    assert_eq!(answer(&held(&stream.gap(STEADY, 10_020, None).end(40_000), 1)), (Layer::Detected, None, None, true, words));
}

#[test]
fn a_leader_hint_needs_no_cache_of_a_broker() {
    // Broker 2 leads no more and says so in its answer to Produce, before its own answers to Metadata were looked at again.
    let stream = cluster().step(1, "elect-leaders", "orders", 10_000).record(503, MOVED.changed(), 10_020);
    let stream =
        followed_by(stream, &[1, 2, 3], 10_030).learned(STEADY, MOVED, 2, 2, 10_033).delivered(STEADY, 3, 10_030, 10_060).end(40_000);
    let finding = finding(&stream, 1);
    let waterfall = finding.waterfall.unwrap();
    let stage = |layer: Layer, node: Option<i32>| waterfall.stages.iter().find(|stage| stage.layer == layer && stage.node == node).unwrap();
    assert_eq!(stage(Layer::ClientCache, None).by_reason, [("leader_hint".to_owned(), 1)].into());
    // What it depends on is not pulled in to it.
    assert_eq!(stage(Layer::BrokerCache, Some(2)).time_ms, Some(10_038));
    assert_eq!(finding.held, None);
}

#[test]
fn what_is_seen_late_is_pulled_in_to_what_depends_on_it() {
    // The tail hears of the record and its commit only after it has found the new controller.
    let stream = cluster().step(1, "kill", "2", 10_000).late_record(502, MOVED.changed(), 19_000, 21_000).committed(503, 21_000);
    let stream = (1..=3).step_by(2).fold(stream, |stream, node| stream.shows_partition(node, MOVED, 19_030));
    let stages = finding(&stream.end(40_000), 1).waterfall.unwrap().stages;
    let seen: Vec<_> = stages
        .iter()
        .filter(|stage| !stage.is_down && stage.layer <= Layer::BrokerCache && stage.layer != Layer::Fetched)
        .map(|stage| (stage.layer.name(), stage.not_before_ms, stage.time_ms, stage.is_pulled_in))
        .collect();
    let expected = [
        ("detected", Some(19_000), Some(19_030), true),
        ("committed", Some(19_030), Some(19_030), true),
        ("broker_cache", Some(19_030), Some(19_030), false),
        ("broker_cache", Some(19_030), Some(19_030), false),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn flips_skipped_elections_unclean_ones_and_refused_answers_are_told() {
    let (none, back) = (Part(0, 0, 5, &[2]), Part(0, 2, 6, &[2]));
    let mut unclean = Part(2, 1, 5, &[1]).state();
    unclean.is_unclean = true;
    let stream = cluster()
        .step(1, "config", "orders", 10_000)
        .record(501, none.changed(), 10_020)
        .record(502, back.changed(), 10_040)
        .record(503, crate::record::layer::ControllerChange::PartitionChanged(unclean), 10_041)
        .committed(503, 10_050)
        .shows_partition(1, back, 10_060)
        .shows_partition(2, back, 10_900)
        .shows_partition(3, back, 10_100)
        .learned(STEADY, back, 1, 3, 10_061)
        .asked(STEADY, answered(1, "age", 3), 10_061)
        .asked(STEADY, answered(2, "age", 4), 10_500)
        .end(40_000);
    let remarks = finding(&stream, 1).remarks;
    let expected = [
        "Brokers disagreed on orders/0 for 840 ms: broker 1 showed the change first, broker 2 last; a client that asked broker 2 \
         meanwhile would have got leader 2, epoch 4.",
        "A leader went and came back: orders/0: leader 2 -> none -> 2 within 20 ms.",
        "Broker 1 went from epoch 4 to 6 of orders/0 at once: 2 elections, of which it showed the last alone (3 such jumps).",
        "Unclean election: orders/2 is led by leader 1, epoch 5, ISR [1 2 3] -> [1]; committed records may be lost.",
        "1 late answer of broker 2 named an old epoch of orders/0 to clients that knew the new one, and was refused.",
    ];
    for expected in expected {
        assert!(remarks.iter().any(|remark| remark.starts_with(expected)), "{expected}\nis not in\n{}", remarks.join("\n"));
    }
}

#[test]
fn nothing_is_claimed_where_nobody_saw_the_controllers_log() {
    let stream = Sample::new(&[("steady", 1)]).pairs("steady", 1, 1).load("steady", -2, 20).step(1, "kill", "2", 10_000);
    let findings = findings(&stream.gap(STEADY, 10_020, Some(19_000)).end(20_000));
    assert_eq!((findings.layers.len(), findings.probes), (0, None));
}

#[test]
fn a_broker_that_does_not_answer_though_it_runs_is_named() {
    let stream = cluster().step(1, "elect-leaders", "orders", 10_000).record(503, MOVED.changed(), 10_020);
    let stream =
        followed_by(stream, &[1, 3], 10_030).fetched(2, 503, 10_040).shows(2, BrokerShows::Nothing { why: "timed out".into() }, 11_000);
    let words = "broker 2 does not answer Metadata requests (timed out)";
    assert_eq!(answer(&held(&stream.end(40_000), 1)), (Layer::BrokerCache, Some(2), None, true, words));
}
