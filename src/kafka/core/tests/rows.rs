//! The rules by their numbers in the list that this client was ported by (of the Java producer, 4.3.0): which tests show each, and those
//! that show what no other file does.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::lab::{Lab, START, answer, config, ms, partition, topic, topic_answer, topic_error};
use super::machine::{Machine, orders};
use crate::ids::{BrokerId, HostPort};
use crate::kafka::core::connections::Connections;
use crate::kafka::event::{ClientEvent, UpdateReason};
use crate::kafka::wire::versions::BrokerVersions;

/// Row, its rule, the tests.
const ROWS: [(u8, &str, &[&str]); 29] = [
    (1, "bootstrap: version 1, full, due at once, no topics", &["a_fresh_client_has_version_one_and_asks_for_brokers_only_at_once"]),
    (2, "a full request during a full one is lost", &["a_full_update_asked_for_while_one_is_in_flight_is_lost"]),
    (3, "a full request during a partial one is kept", &["a_full_update_asked_for_while_a_partial_one_is_in_flight_survives"]),
    (4, "a new topic during a request: one backoff late", &["a_new_topic_is_due_at_once_but_waits_one_backoff_if_a_request_was_in_flight"]),
    (5, "a new topic otherwise: at once", &["a_new_topic_is_due_at_once_but_waits_one_backoff_if_a_request_was_in_flight"]),
    (6, "a partial answer does not move the age", &["a_partial_answer_does_not_move_the_age_and_the_exact_age_is_due"]),
    (
        7,
        "at the exact age a full request",
        &["a_partial_answer_does_not_move_the_age_and_the_exact_age_is_due", "new_partitions_are_seen_at_the_exact_age"],
    ),
    (
        8,
        "backoff: ranges, cap, constant",
        &["row_08_backoff_after_success_and_after_one_to_six_failures", "ranges_are_those_of_the_java_client"],
    ),
    (
        9,
        "no progress: what counts, what resets it",
        &["row_09_what_is_progress_and_what_is_not", "polling_for_a_missing_topic_backs_off_and_news_end_that"],
    ),
    (
        10,
        "the four epoch rows, and version 8",
        &["the_epoch_rule", "epochs_of_old_versions_are_not_trusted", "epochs_are_judged_per_partition"],
    ),
    (11, "a topic error: vanishes, epoch kept", &["a_topic_with_an_error_vanishes_but_its_epochs_stay"]),
    (12, "partial merge", &["a_partial_answer_replaces_the_node_list_for_old_topics_too"]),
    (13, "idle topics expire on answers only", &["a_topic_is_forgotten_only_while_an_answer_is_processed_and_only_at_its_exact_age"]),
    (
        14,
        "a leaderless partition counts",
        &["a_leaderless_partition_counts_but_is_not_available", "a_send_to_a_partition_without_a_leader_does_not_wait"],
    ),
    (
        15,
        "leader hints",
        &["a_hint_is_no_update", "what_is_not_new_or_not_whole_is_dropped", "a_hint_for_a_partition_that_the_snapshot_lost_is_dropped"],
    ),
    // Without authentication no error is fatal to a client; what is handed out once are the topic errors 17 and 29.
    (
        16,
        "waiting: asks again, text and cause, handed out once, close",
        &[
            "an_update_that_does_not_bring_the_topic_makes_the_sender_ask_again",
            "a_topic_error_is_the_cause_of_the_timeout",
            "recoverable_errors_are_told_once_to_whoever_asks_first",
            "closing_ends_a_send_that_waits",
        ],
    ),
    (
        17,
        "a partition beyond the count",
        &["a_send_to_a_partition_to_come_waits_for_it_and_then_goes_through", "a_partition_that_never_comes_fails_with_its_count"],
    ),
    (
        18,
        "no brokers: a failed attempt",
        &["an_empty_broker_list_is_a_failed_attempt", "a_starting_broker_that_names_no_brokers_is_asked_again_after_a_backoff"],
    ),
    (
        19,
        "129: no update, rebootstrap in the same pass",
        &["a_broker_may_ask_for_a_rebootstrap_and_nothing_else_counts_then", "a_rebootstrap_that_a_broker_asks_for_happens_at_that_moment"],
    ),
    (
        20,
        "all nodes out: at once; the timer is strict",
        &["with_every_node_in_backoff_the_client_goes_back_to_its_bootstrap_list", "row_20_the_rebootstrap_timer_is_strict"],
    ),
    (21, "after a rebootstrap a lower epoch is accepted", &["after_a_rebootstrap_a_lower_epoch_is_accepted_for_a_topic_with_an_id"]),
    (
        22,
        "least loaded: order, random start, last connecting, oldest attempt",
        &[
            "a_node_that_can_take_a_request_is_preferred_and_the_least_loaded_wins",
            "connecting_comes_before_connectable_and_the_oldest_attempt_is_repeated",
            "row_22_the_start_is_random_and_the_last_one_connecting_wins",
        ],
    ),
    (23, "a disconnect while an update is due is a failure", &["row_23_a_disconnect_while_an_update_is_due_is_a_failed_attempt"]),
    (
        24,
        "a request timeout fails all in flight as 7",
        &["a_request_timeout_closes_the_connection_and_fails_all_on_it_as_7", "a_silent_broker_is_left_after_the_request_timeout"],
    ),
    (
        25,
        "a new leader: no retry backoff, once",
        &["row_25_a_new_leader_spares_one_backoff", "a_leader_that_moved_is_found_in_one_round_trip"],
    ),
    (
        26,
        "delivery timeout: inclusive, from creation",
        &["a_batch_expires_from_its_creation_and_the_exact_time_is_over", "a_batch_that_was_sent_and_expires_is_indeterminate"],
    ),
    (27, "murmur2", &["murmur2_is_javas"]),
    (
        28,
        "sticky switch at one and two batches; adaptive weights",
        &["a_sticky_partition_is_spent_at_one_batch_if_closed_and_at_two_in_any_case", "queues_weigh_once_every_partition_has_had_a_batch"],
    ),
    (
        29,
        "no node is ready while an update is due",
        &["row_29_no_node_takes_records_while_an_update_is_due", "a_refresh_that_is_due_goes_before_any_records"],
    ),
];

#[test]
fn every_row_names_tests_that_exist() {
    let mut names = BTreeSet::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kafka")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { names.extend(tests_in(&fs::read_to_string(path).unwrap())) }
        }
    }
    for (expected, (row, rule, tests)) in (1..).zip(ROWS) {
        assert_eq!(row, expected);
        assert!(!tests.is_empty(), "row {row} ({rule}) has no test");
        for test in tests {
            assert!(names.contains(*test), "row {row} ({rule}): there is no test {test}");
        }
    }
}

/// The names of functions that have a test's attribute right before them.
fn tests_in(source: &str) -> Vec<String> {
    let lines = || source.lines().map(str::trim_start);
    let pairs = lines().zip(lines().skip(1)).filter(|(mark, _)| mark.starts_with("#[test]") || mark.starts_with("#[tokio::test"));
    pairs.filter_map(|(_, line)| Some(line.trim_start_matches("async ").strip_prefix("fn ")?.split_once('(')?.0.to_owned())).collect()
}

#[test]
fn row_08_backoff_after_success_and_after_one_to_six_failures() {
    let mut lab = Machine::settled(&[]);
    lab.machine.request_update(UpdateReason::Disconnect);
    let rows = [(80, 119), (80, 119), (160, 239), (320, 479), (640, 959), (800, 1_000), (800, 1_000)];
    for (failures, expected) in rows.into_iter().enumerate() {
        if failures > 0 {
            lab.machine.failed_update(lab.now);
        }
        assert_eq!(lab.waits_ms(), expected, "after {failures} failures");
    }
    for (initial, max) in [("100", "70"), ("70", "70")] {
        let mut lab = Machine::settled(&[("retry.backoff.ms", initial), ("retry.backoff.max.ms", max)]);
        lab.machine.request_update(UpdateReason::Disconnect);
        assert_eq!(lab.waits_ms(), (70, 70), "{initial} up to {max} is constant");
    }
}

#[test]
fn row_09_what_is_progress_and_what_is_not() {
    // Two answers that teach nothing make the next wait 160 to 239 ms; then comes:
    type Then = fn(&mut Machine);
    let rows: [(&str, Then, (u128, u128)); 7] = [
        ("the same epochs", |lab| lab.hear(vec![orders(7, 2, 5)]), (320, 479)),
        ("an unknown topic only", |lab| lab.hear(vec![topic_error("orders", 3)]), (320, 479)),
        ("a higher epoch", |lab| lab.hear(vec![orders(7, 2, 6)]), (80, 119)),
        ("a new partition", |lab| lab.hear(vec![orders(7, 3, 5)]), (80, 119)),
        ("another topic id", |lab| lab.hear(vec![orders(8, 2, 5)]), (80, 119)),
        ("a failed attempt", |lab| lab.machine.failed_update(lab.now), (80, 119)),
        // Without that, some of the wait would be left.
        ("age", |lab| lab.now = lab.now + ms(150), (0, 0)),
    ];
    for (what, then, expected) in rows {
        let mut lab = Machine::settled(if what == "age" { &[("metadata.max.age.ms", "150")] } else { &[] });
        lab.hear(vec![orders(7, 2, 5)]);
        lab.hear(vec![orders(7, 2, 5)]);
        lab.machine.request_update(UpdateReason::Disconnect);
        assert_eq!(lab.waits_ms(), (160, 239), "two answers without news");
        then(&mut lab);
        lab.machine.request_update(UpdateReason::Disconnect);
        assert_eq!(lab.waits_ms(), expected, "{what}");
    }
}

#[test]
fn row_20_the_rebootstrap_timer_is_strict() {
    let mut lab = Lab::settled(&[("metadata.recovery.rebootstrap.trigger.ms", "3000"), ("request.timeout.ms", "5000")]);
    let has_rebootstrapped = |lab: &Lab| lab.events.iter().any(|event| matches!(event, ClientEvent::Rebootstrapped { .. }));
    lab.core.request_topic(&topic("more"), lab.now);
    lab.run_silent(ms(3_000));
    assert!(!has_rebootstrapped(&lab), "not at exactly 3000 ms");
    lab.run_silent(ms(1));
    assert!(has_rebootstrapped(&lab));
}

#[test]
fn row_22_the_start_is_random_and_the_last_one_connecting_wins() {
    let address = HostPort::new("127.0.0.1", 9000);
    let nodes: Vec<_> = (1..=3).map(|id| (BrokerId(id), address.clone())).collect();
    let mut random = ChaCha8Rng::seed_from_u64(22);
    let mut choose = |prepare: &dyn Fn(&mut Connections<()>, &mut ChaCha8Rng)| {
        let mut connections = Connections::new(&config(&[]));
        prepare(&mut connections, &mut random);
        let mut chosen: BTreeMap<i32, u32> = BTreeMap::new();
        for _ in 0..3_000 {
            *chosen.entry(connections.least_loaded(&nodes, START, &mut random).node.unwrap().0).or_default() += 1;
        }
        chosen
    };
    let all_idle = choose(&|connections, random| {
        for (node, address) in &nodes {
            connections.begin(*node, address, START, random);
            connections.established(*node, START, random);
            connections.ready(*node, BrokerVersions::default(), START);
        }
    });
    assert!(all_idle.len() == 3 && all_idle.values().all(|count| (850..1_150).contains(count)), "{all_idle:?}");
    // From node 1: 1, 2; from 2: 2, 1; from 3: 1, 2. The last of them is node 2 twice out of three times.
    let two_connecting = choose(&|connections, random| {
        connections.begin(BrokerId(1), &address, START, random);
        connections.begin(BrokerId(2), &address, START, random);
    });
    assert!((1_850..2_150).contains(&two_connecting[&2]) && two_connecting.len() == 2, "{two_connecting:?}");
}

#[test]
fn row_23_a_disconnect_while_an_update_is_due_is_a_failed_attempt() {
    for (is_due, expected) in [(true, (80, 119)), (false, (0, 0))] {
        let mut lab = Lab::settled(&[]);
        if is_due {
            lab.core.request_update(UpdateReason::NoLeader, lab.now);
        }
        lab.cut(2);
        let now = lab.now;
        let mut random = ChaCha8Rng::seed_from_u64(23);
        let waits: Vec<_> = (0..20_000).map(|_| lab.core.machine.time_to_next_update(now, &mut random).as_millis()).collect();
        assert_eq!((*waits.iter().min().unwrap(), *waits.iter().max().unwrap()), expected, "an update was due: {is_due}");
    }
}

#[test]
fn row_25_a_new_leader_spares_one_backoff() {
    let mut lab = Lab::settled(&[("linger.ms", "0")]);
    lab.append(0, 1);
    lab.step();
    let written = lab.take_written(0);
    lab.cluster = answer(2, vec![topic_answer("orders", 7, vec![partition(0, 2, 6), partition(1, 2, 5)])]);
    lab.answer_produce(&written[0], 6);
    lab.step();
    let asked = lab.take_written(3);
    lab.answer_well(&asked[0]);
    lab.step();
    let written = lab.take_written(0);
    assert_eq!(written.iter().map(|written| written.node).collect::<Vec<_>>(), [BrokerId(2)], "at once");
    lab.answer_produce(&written[0], 19);
    lab.run_silent(ms(159));
    assert!(lab.take_written(0).is_empty(), "the second retry waits 160 to 239 ms: the leader is the same");
    lab.run_silent(ms(239 - 159 + 1));
    assert_eq!(lab.take_written(0).len(), 1);
}

#[test]
fn row_29_no_node_takes_records_while_an_update_is_due() {
    let mut lab = Lab::settled(&[("linger.ms", "0"), ("metadata.max.age.ms", "1000")]);
    lab.now = lab.now + Duration::from_secs(2);
    lab.append(0, 1);
    lab.append(1, 2);
    let mut sent_in_pass = || {
        lab.core.turn(lab.now);
        let events = lab.core.take_output().events.into_iter();
        events
            .filter_map(|(_, event)| match event {
                ClientEvent::MetadataRequestSent { .. } => Some("metadata"),
                ClientEvent::ProduceSent { .. } => Some("records"),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(sent_in_pass(), ["metadata"]);
    assert_eq!(sent_in_pass(), ["records"], "to the other node; the one that was asked has an unwritten frame");
}
