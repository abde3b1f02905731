//! Whole steps, made by hand: each round sticks one layer, and the answer must name it, from what was seen alone.

use super::findings::{Held, LayerFinding};
use crate::analyze::Analysis;
use crate::analyze::findings::Findings;
use crate::record::fact::Fact;
use crate::record::layer::{BrokerShows, ControllerChange, Layer};
use crate::record::sample::layers::{Part, answered, fenced, registered, stopping, unfenced};
use crate::record::sample::scenes::{BEFORE, MOVED, STEADY, cluster, followed_by, killed, noticed_kill};
use crate::record::sample::{Pair, Sample};

fn findings(stream: &Sample) -> Findings {
    let mut analysis = Analysis::new();
    stream.facts.iter().for_each(|fact| analysis.fold(fact));
    analysis.finish()
}

fn finding(stream: &Sample, step: u32) -> LayerFinding {
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

mod rounds;

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
fn a_wait_for_what_nobody_looked_at_is_not_told_as_nothing() {
    let finding = finding(&cluster().step(1, "kill", "2", 10_000).gap(Pair("steady", 0, 7), 10_020, Some(19_000)).end(40_000), 1);
    assert_eq!((finding.held, finding.waits, finding.unexplained), (None, 1, 1));
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
    let words = "orders/0: 2.8 of 3.0 s until leader 3 served (it refused with OFFSET_NOT_AVAILABLE (78))";
    assert_eq!(answer(&held(&stream.end(40_000), 1)), (Layer::Servable, Some(3), None, false, words));
}

#[test]
fn a_topic_that_is_gone_is_followed_by_brokers_and_caches() {
    use crate::record::layer::ControllerChange;
    use crate::record::sample::layers::topic_id;
    let removed = ControllerChange::TopicRemoved { topic: "orders".into(), topic_id: topic_id() };
    let gone = || BrokerShows::Topic { topic: "orders".into(), topic_id: None, partition_count: 0, error: Some(3) };
    let stream = cluster().step(1, "delete-topic", "orders", 10_000).record(501, removed, 10_020).committed(501, 10_030);
    let stream =
        [1, 2, 3].iter().fold(stream, |stream, node| stream.fetched(*node, 501, 10_032).shows(*node, gone(), 10_040 + i64::from(*node)));
    let stream = stream.counted(STEADY, (3, 0), "metadata_error", 3, 10_100).end(40_000);
    let finding = finding(&stream, 1);
    let words =
        "client cache: 1 of 2 producers of `steady` do not see the change since 10.0 s; they ask when their metadata.max.age.ms is over";
    assert_eq!(answer(finding.held.as_ref().unwrap()), (Layer::ClientCache, None, Some("steady"), true, words));
    let waterfall = finding.waterfall.unwrap();
    let seen: Vec<_> = waterfall.stages.iter().map(|stage| (stage.layer.name(), stage.time_ms)).collect();
    let fetched = [("fetched", Some(10_032)); 3];
    let mut expected = vec![("detected", Some(10_020)), ("committed", Some(10_030))];
    expected.extend(fetched);
    expected.extend([1, 2, 3].map(|node| ("broker_cache", Some(10_040 + node))));
    expected.push(("client_cache", Some(10_100)));
    assert_eq!((seen, waterfall.change.as_str()), (expected, "topic orders removed"));
}

#[test]
fn of_a_client_that_tells_of_no_leader_nothing_is_claimed() {
    let stream = Sample::new(&[("steady", 1)]).image(&BEFORE, -1_500).pairs("steady", 1, 1).load("steady", -2, 40);
    let stream = stream.counted(STEADY, (0, 3), "unknown", 0, -1_300).step(1, "elect-leaders", "orders", 10_000);
    let stream = followed_by(stream.record(503, MOVED.changed(), 10_020), &[1, 2, 3], 10_030).gap(STEADY, 10_030, None).end(40_000);
    let held = held(&stream, 1);
    assert_eq!((held.layer, held.node, held.is_stuck), (Layer::Delivery, Some(3), true));
    let words = "orders/0: `steady` gets nothing acknowledged since 10.0 s, and does not tell whether it knows leader 3, epoch 5";
    assert_eq!(held.in_words, words);
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
        .record(503, ControllerChange::PartitionChanged(unclean), 10_041)
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

/// Broker 2 was frozen while the ISR of a partition that it does not lead shrank and grew again: it shows one state all along.
#[test]
fn a_broker_that_was_away_in_between_is_not_stuck_with_what_is_so_again() {
    let (full, small) = (Part(2, 1, 4, &[1, 2, 3]), Part(2, 1, 4, &[1, 3]));
    let away = || {
        let stream = cluster().shows_partition(2, full, 9_000).step(1, "pause", "2", 10_000).record(501, small.changed(), 19_000);
        let stream = [1, 3]
            .iter()
            .fold(stream.committed(501, 19_010), |stream, node| stream.fetched(*node, 501, 19_011).shows_partition(*node, small, 19_020));
        stream.step(2, "unpause", "2", 40_000).record(502, unfenced(2), 40_300).fetched(2, 502, 40_600)
    };
    let grown = away().record(503, full.changed(), 40_400).committed(503, 40_410);
    let back = [1, 2, 3].iter().fold(grown, |stream, node| stream.fetched(*node, 503, 40_610));
    assert_eq!(finding(&back.end(60_000), 1).held, None);
    let held = held(&away().end(60_000), 1);
    let words = "broker 2 has fetched offset 501, but does not show it since 40.6 s; of orders/2 it still says leader 1, epoch 4";
    assert_eq!(answer(&held), (Layer::BrokerCache, Some(2), None, true, words));
}

#[test]
fn records_that_cannot_be_taken_in_are_a_warning() {
    let unreadable = ControllerChange::NotTakenIn { reason: "it ends early".into() };
    let stream = cluster().step(1, "stop", "2", 10_000).record(501, unreadable, 10_010).record(503, MOVED.changed(), 10_020);
    let findings = findings(&stream.end(40_000));
    let told = findings.warnings.iter().find(|warning| warning.contains("controller's log"));
    assert!(told.is_some_and(|warning| warning.contains("cannot be taken in: 1;")), "{told:?}");
}

#[test]
fn nothing_is_claimed_where_nobody_saw_the_controllers_log() {
    let stream = Sample::new(&[("steady", 1)]).pairs("steady", 1, 1).load("steady", -2, 20).step(1, "kill", "2", 10_000);
    let findings = findings(&stream.gap(STEADY, 10_020, Some(19_000)).end(20_000));
    assert_eq!((findings.layers.len(), findings.probes), (0, None));
}
