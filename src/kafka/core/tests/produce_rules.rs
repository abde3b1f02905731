//! Batches against a pretended network: routes, retries, expiry, what a disconnect does.

use std::time::Duration;

use super::lab::{Lab, Written, answer, ms, partition, topic_answer};
use crate::ids::BrokerId;
use crate::kafka::event::{ClientEvent, DisconnectCause, MetadataOutcome, Outcome, UpdateReason};
use crate::kafka::wire::error::ErrorCode;

fn metadata_reasons(lab: &Lab) -> Vec<UpdateReason> {
    lab.events
        .iter()
        .filter_map(|event| match event {
            ClientEvent::MetadataRequestSent { reason, .. } => Some(*reason),
            _ => None,
        })
        .collect()
}

#[test]
fn records_linger_and_go_to_their_leader() {
    let mut lab = Lab::settled(&[("linger.ms", "5")]);
    lab.append(0, 1);
    lab.append(0, 2);
    lab.run_silent(ms(4));
    assert!(lab.take_written(0).is_empty());
    lab.run_silent(ms(1));
    let written = lab.take_written(0);
    assert_eq!(written.len(), 1, "one request for both");
    assert_eq!(written[0].node, BrokerId(1));
    lab.answer_well(&written[0]);
    lab.step();
    assert!(matches!(&lab.take_outcomes()[..], [(1, Outcome::Ok { .. }), (2, Outcome::Ok { .. })]));
}

#[test]
fn a_disconnect_retries_the_batch_and_refreshes_at_once() {
    let mut lab = Lab::settled(&[("linger.ms", "0")]);
    lab.append(0, 1);
    lab.run_silent(ms(2));
    assert_eq!(lab.take_written(0).len(), 1);
    lab.cut(1);
    lab.run_silent(ms(2));
    assert_eq!(metadata_reasons(&lab), [UpdateReason::Disconnect]);
    lab.cluster = answer(2, vec![topic_answer("orders", 7, vec![partition(0, 2, 6), partition(1, 2, 5)])]);
    lab.run(ms(5));
    assert!(matches!(&lab.take_outcomes()[..], [(1, Outcome::Ok { .. })]), "a newer leader is tried without backoff");
    assert!(lab.events.iter().any(|event| matches!(event, ClientEvent::RouteChanged { from: Some(BrokerId(1)), to: BrokerId(2), .. })));
}

#[test]
fn not_leader_asks_for_metadata_and_waits_its_backoff() {
    let mut lab = Lab::settled(&[("linger.ms", "0")]);
    lab.append(0, 1);
    lab.run_silent(ms(1));
    let written = lab.take_written(0);
    lab.answer_produce(&written[0], 6);
    lab.run_silent(ms(1));
    let asked = lab.take_written(3);
    assert_eq!(metadata_reasons(&lab), [UpdateReason::ProduceError(ErrorCode::NOT_LEADER_OR_FOLLOWER)]);
    lab.answer_well(&asked[0]);
    lab.run_silent(ms(70));
    assert!(lab.take_written(0).is_empty(), "the same epoch: the retry waits 80 to 119 ms");
    lab.run_silent(ms(60));
    assert_eq!(lab.take_written(0).len(), 1);
}

#[test]
fn a_refresh_that_is_due_goes_before_any_records() {
    let mut lab = Lab::settled(&[("linger.ms", "0"), ("metadata.max.age.ms", "1000")]);
    lab.now = lab.now + Duration::from_secs(2);
    lab.append(0, 77);
    lab.core.turn(lab.now);
    let output = lab.core.take_output();
    let sent: Vec<_> = output.events.iter().map(|(_, event)| event).collect();
    assert!(matches!(sent[..], [ClientEvent::MetadataRequestSent { reason: UpdateReason::Age, .. }]), "{sent:?}");
    assert_eq!(output.actions.len(), 1, "no node takes records in the same pass");
    lab.core.turn(lab.now);
    assert!(lab.core.take_output().events.iter().any(|(_, event)| matches!(event, ClientEvent::ProduceSent { .. })));
}

#[test]
fn a_batch_expires_from_its_creation_and_the_exact_time_is_over() {
    let timeouts = [("linger.ms", "0"), ("request.timeout.ms", "1000"), ("delivery.timeout.ms", "3000")];
    let mut lab = Lab::settled(&timeouts);
    lab.dead = vec![BrokerId(1), BrokerId(-1)];
    lab.cluster = answer(2, vec![topic_answer("orders", 7, vec![partition(0, -1, 6), partition(1, 2, 5)])]);
    lab.cut(1);
    lab.run(ms(500));
    lab.append(0, 1);
    lab.run(ms(2_999));
    assert!(lab.take_outcomes().is_empty());
    lab.run(ms(2));
    let outcomes = lab.take_outcomes();
    let [(1, Outcome::Failed(failure))] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert_eq!(
        failure.text,
        "Expiring 1 record(s) for orders-0:3000 ms has passed since batch creation. The request has not been sent, or no server response has \
         been received yet."
    );
}

#[test]
fn a_batch_that_was_sent_and_expires_is_indeterminate() {
    let mut lab = Lab::settled(&[("linger.ms", "0"), ("request.timeout.ms", "5000"), ("delivery.timeout.ms", "5000")]);
    lab.append(0, 1);
    lab.run_silent(ms(4_999));
    // Both times are over at once when somebody looks.
    lab.now = lab.now + ms(50);
    lab.step();
    let outcomes = lab.take_outcomes();
    assert!(
        matches!(&outcomes[..], [(1, Outcome::Indeterminate(failure))] if failure.text.starts_with("Expiring 1 record(s)")),
        "{outcomes:?}"
    );
}

/// A lab in which record 1 of partition 0 has expired, while its request is still on the wire to node 1.
fn expired_on_the_wire(in_flight_max: &str) -> (Lab, Written) {
    let mut lab = Lab::settled(&[
        ("linger.ms", "0"),
        ("request.timeout.ms", "3000"),
        ("delivery.timeout.ms", "3000"),
        ("max.in.flight.requests.per.connection", in_flight_max),
    ]);
    lab.dead = vec![BrokerId(1)];
    lab.cut(1);
    lab.append(0, 1);
    for _ in 0..1_000 {
        lab.run_silent(ms(1));
        lab.take_written(3).iter().for_each(|metadata| lab.answer_well(metadata));
    }
    lab.dead.clear();
    let mut written = Vec::new();
    while lab.outcomes.is_empty() {
        lab.run_silent(ms(1));
        lab.take_written(3).iter().for_each(|metadata| lab.answer_well(metadata));
        written.extend(lab.take_written(0));
    }
    assert!(matches!(&lab.take_outcomes()[..], [(1, Outcome::Indeterminate(_))]));
    assert_eq!(written.len(), 1);
    lab.events.clear();
    (lab, written.remove(0))
}

#[test]
fn the_answer_for_an_expired_batch_still_tells_of_its_partition() {
    for (code, expected) in [(6, 1), (0, 0), (87, 0)] {
        let (mut lab, written) = expired_on_the_wire("5");
        lab.answer_produce(&written, code);
        lab.run_silent(ms(2));
        assert_eq!(metadata_reasons(&lab).len(), expected, "{code}: {:?}", metadata_reasons(&lab));
        assert!(lab.take_outcomes().is_empty(), "{code}: no second outcome");
    }
}

#[test]
fn an_expired_batch_keeps_its_partition_muted_until_its_request_is_answered_or_cut_off() {
    for is_cut in [false, true] {
        let (mut lab, written) = expired_on_the_wire("1");
        // Another node leads the partition: its connection has room.
        lab.cluster = answer(2, vec![topic_answer("orders", 7, vec![partition(0, 2, 6), partition(1, 2, 5)])]);
        lab.core.request_topic(&super::lab::topic("orders"), lab.now);
        lab.run(ms(50));
        assert!(lab.append(0, 2));
        lab.run(ms(200));
        assert!(lab.take_outcomes().is_empty(), "its order is at stake");
        if is_cut {
            lab.cut(1);
        } else {
            lab.answer_well(&written);
        }
        lab.run(ms(50));
        assert!(matches!(&lab.take_outcomes()[..], [(2, Outcome::Ok { .. })]));
    }
}

#[test]
fn what_fails_with_everything_else_mutes_its_partition_no_longer_than_its_request() {
    let mut lab = Lab::settled(&[("linger.ms", "0"), ("max.in.flight.requests.per.connection", "1")]);
    lab.append(0, 1);
    lab.run_silent(ms(1));
    let written = lab.take_written(0);
    lab.core.fail_everything(&crate::kafka::core::failure::forced_close(), lab.now);
    lab.append(0, 2);
    lab.run(ms(20));
    assert!(matches!(&lab.take_outcomes()[..], [(1, Outcome::Indeterminate(_))]));
    lab.answer_well(&written[0]);
    lab.run(ms(20));
    assert!(matches!(&lab.take_outcomes()[..], [(2, Outcome::Ok { .. })]));
}

/// What a record is told that came back once with `code` and `base_offset`, and then expires in its queue.
fn told_after(acks: &str, code: i16, base_offset: i64) -> Outcome {
    let properties =
        [("linger.ms", "0"), ("acks", acks), ("request.timeout.ms", "1000"), ("delivery.timeout.ms", "1000"), ("retry.backoff.ms", "5000")];
    let mut lab = Lab::settled(&properties);
    lab.append(0, 1);
    lab.run_silent(ms(1));
    let written = lab.take_written(0);
    lab.answer_batches(&written[0], |_| (code, base_offset));
    lab.cluster = answer(2, vec![topic_answer("orders", 7, vec![partition(0, -1, 5), partition(1, 2, 5)])]);
    lab.run(ms(1_100));
    let outcomes = lab.take_outcomes();
    assert_eq!(outcomes.len(), 1, "{acks} {code}");
    outcomes[0].1.clone()
}

#[test]
fn with_acks_all_a_broker_may_refuse_what_it_has_appended() {
    for (code, base_offset) in [(6, 40), (3, 40), (56, 40), (6, -1), (3, -1), (56, -1), (19, 40)] {
        let told = told_after("all", code, base_offset);
        assert!(matches!(told, Outcome::Indeterminate(_)), "{code} at {base_offset}: {told:?}");
    }
    let told = told_after("1", 56, -1);
    assert!(matches!(told, Outcome::Indeterminate(_)), "a flush that failed: {told:?}");
    for (acks, code, base_offset) in [("all", 19, -1), ("all", 75, -1), ("1", 6, -1), ("1", 3, -1)] {
        let told = told_after(acks, code, base_offset);
        assert!(matches!(told, Outcome::Failed(_)), "acks={acks}, {code} at {base_offset}: {told:?}");
    }
}

#[test]
fn a_request_timeout_closes_the_connection_and_fails_all_on_it_as_7() {
    let mut lab = Lab::settled(&[("linger.ms", "0"), ("request.timeout.ms", "1000")]);
    lab.append(0, 1);
    lab.run_silent(ms(1));
    lab.append(0, 2);
    lab.run_silent(ms(1_000));
    assert_eq!(lab.take_written(0).len(), 2);
    lab.run_silent(ms(2));
    let codes: Vec<_> = lab
        .events
        .iter()
        .filter_map(|event| match event {
            ClientEvent::BatchError { code, retried: true, .. } => Some(code.0),
            _ => None,
        })
        .collect();
    assert_eq!(codes, [7, 7]);
    assert!(lab.events.iter().any(|event| matches!(
        event,
        ClientEvent::Disconnected { node: BrokerId(1), cause: DisconnectCause::RequestTimeout, in_flight: 2, .. }
    )));
    assert_eq!(metadata_reasons(&lab), [UpdateReason::Disconnect], "7 asks for nothing, the disconnect does");
}

#[test]
fn with_every_node_in_backoff_the_client_goes_back_to_its_bootstrap_list() {
    let mut lab = Lab::settled(&[("linger.ms", "0")]);
    lab.dead = vec![BrokerId(1), BrokerId(2), BrokerId(-1)];
    for node in [1, 2, -1] {
        lab.cut(node);
    }
    lab.run_silent(ms(300));
    assert!(lab.events.iter().any(|event| matches!(event, ClientEvent::Rebootstrapped { .. })));
    assert!(lab.core.snapshot().is_bootstrap);
    lab.dead.clear();
    lab.run(ms(2_500));
    assert!(!lab.core.snapshot().is_bootstrap);
}

#[test]
fn the_trigger_time_without_an_answer_rebootstraps_and_closes_everything() {
    let mut lab = Lab::settled(&[("metadata.recovery.rebootstrap.trigger.ms", "3000"), ("request.timeout.ms", "1000")]);
    lab.core.request_topic(&super::lab::topic("more"), lab.now);
    lab.run_silent(ms(2_990));
    assert!(!lab.events.iter().any(|event| matches!(event, ClientEvent::Rebootstrapped { .. })));
    lab.run_silent(ms(20));
    assert!(lab.events.iter().any(|event| matches!(event, ClientEvent::Rebootstrapped { .. })));
    let timed_out = |event: &&ClientEvent| matches!(event, ClientEvent::MetadataRequestDone { outcome: MetadataOutcome::TimedOut, .. });
    assert!(lab.events.iter().any(|event| timed_out(&event)), "a node that never answers is given up after request.timeout.ms");
}

#[test]
fn at_most_one_metadata_request_is_in_flight() {
    let mut lab = Lab::settled(&[("metadata.max.age.ms", "50")]);
    for _ in 0..400 {
        lab.core.request_topic(&super::lab::topic("more"), lab.now);
        lab.run_silent(ms(1));
        let waiting = lab.written.iter().filter(|written| written.api_key == 3).count();
        assert!(waiting <= 1);
        if lab.now.0.is_multiple_of(7_000) {
            lab.run(ms(1));
        }
    }
}

#[test]
fn with_acks_0_a_record_is_ok_when_written() {
    let mut lab = Lab::settled(&[("linger.ms", "0"), ("acks", "0")]);
    lab.append(0, 1);
    lab.run_silent(ms(1));
    assert!(matches!(&lab.take_outcomes()[..], [(1, Outcome::Ok { base_offset: -1 })]));
}

#[test]
fn with_acks_0_a_request_that_was_cut_off_before_it_was_written_is_sent_again() {
    let mut lab = Lab::settled(&[("linger.ms", "0"), ("acks", "0")]);
    lab.is_stalled = true;
    lab.append(0, 1);
    lab.run_silent(ms(1));
    assert!(lab.take_outcomes().is_empty());
    lab.is_stalled = false;
    lab.cut(1);
    lab.run(ms(500));
    assert!(matches!(&lab.take_outcomes()[..], [(1, Outcome::Ok { base_offset: -1 })]));
}

#[test]
fn closing_gives_every_record_one_outcome() {
    let mut lab = Lab::settled(&[]);
    lab.append(0, 1);
    lab.append(1, 2);
    lab.core.begin_close();
    lab.step();
    assert_eq!(lab.take_written(0).len(), 2, "no lingering any more");
    lab.core.shut_down(lab.now);
    lab.step();
    let outcomes = lab.take_outcomes();
    assert_eq!(outcomes.len(), 2);
    assert!(outcomes.iter().all(|(_, outcome)| matches!(outcome, Outcome::Indeterminate(_))));
    assert!(lab.core.is_drained());
}

#[test]
fn a_retry_goes_out_at_the_moments_that_the_core_asks_for() {
    let mut lab = Lab::settled(&[("linger.ms", "0")]);
    lab.append(0, 1);
    lab.step();
    for round in 0..50 {
        let written = lab.take_written(0);
        assert_eq!(written.len(), 1, "round {round}");
        lab.answer_produce(&written[0], 19);
        lab.step();
        let refused_at = lab.now;
        while !lab.written.iter().any(|written| written.api_key == 0) {
            lab.now = lab.next.filter(|next| *next > lab.now).expect("a moment to come");
            assert!(lab.now <= refused_at + ms(1_100), "round {round}: still waiting at {:?}", lab.now.since(refused_at));
            lab.step();
        }
    }
}

#[test]
fn batches_in_reverse_order_expire_without_a_deadline_in_the_past() {
    let mut lab = Lab::settled(&[("linger.ms", "0"), ("request.timeout.ms", "1000"), ("delivery.timeout.ms", "3000"), ("batch.size", "1")]);
    for mark in 1..=5 {
        lab.append(0, mark);
        lab.run_silent(ms(20));
    }
    lab.dead = vec![BrokerId(1), BrokerId(-1)];
    lab.cluster = answer(2, vec![topic_answer("orders", 7, vec![partition(0, -1, 6), partition(1, 2, 5)])]);
    lab.cut(1);
    lab.run(ms(2_850));
    while lab.outcomes.len() < 5 {
        lab.step();
        assert!(lab.next.is_none_or(|next| next > lab.now), "the core asks for a moment that is over");
        lab.run(ms(1));
    }
}
