//! The way to a producer id, and what waits for it.

use super::lab::{Lab, ms, topic};
use crate::ids::{BrokerId, ProducerIdAndEpoch};
use crate::kafka::event::{ClientEvent, Outcome, UpdateReason};
use crate::kafka::wire::error::ErrorCode;

const INIT: i16 = 22;

/// A lab that knows `orders` and has one record queued; its first InitProducerId is on the wire.
fn asking(properties: &[(&str, &str)]) -> Lab {
    let mut lab = Lab::new(properties);
    lab.core.use_topic(&topic("orders"), lab.now);
    for _ in 0..300 {
        lab.run_silent(ms(1));
        for metadata in lab.take_written(3) {
            lab.answer_well(&metadata);
        }
    }
    assert_eq!(lab.core.snapshot().partition_count(&topic("orders")), Some(2), "metadata goes on without an id");
    assert!(lab.append(0, 1));
    lab
}

fn given(lab: &Lab) -> Vec<Result<ProducerIdAndEpoch, ErrorCode>> {
    let answers = lab.events.iter().filter_map(|event| match event {
        ClientEvent::ProducerIdAnswered { given, .. } => Some(*given),
        _ => None,
    });
    answers.collect()
}

#[test]
fn nothing_is_produced_before_there_is_an_id() {
    let mut lab = asking(&[]);
    lab.run_silent(ms(200));
    assert!(lab.take_written(0).is_empty());
    let asked = lab.take_written(INIT);
    assert_eq!(asked.len(), 1, "asked once");
    lab.answer_producer_id(&asked[0], 0, 3);
    lab.run(ms(30));
    assert!(matches!(&lab.take_outcomes()[..], [(1, Outcome::Ok { .. })]));
    assert_eq!(given(&lab), [Ok(ProducerIdAndEpoch { id: 7_000, epoch: 3 })]);
}

#[test]
fn without_idempotence_nobody_is_asked_and_batches_carry_no_number() {
    for properties in [[("enable.idempotence", "false")], [("acks", "1")]] {
        let mut lab = asking(&properties);
        lab.run_silent(ms(10));
        assert!(lab.take_written(INIT).is_empty());
        let written = lab.take_written(0);
        assert_eq!(written[0].batches()[0].producer, (-1, -1));
        assert_eq!(written[0].batches()[0].base_sequence, -1);
    }
}

#[test]
fn a_retriable_error_and_a_cut_connection_ask_again_after_one_backoff() {
    for is_cut in [false, true] {
        let mut lab = asking(&[]);
        let asked = lab.take_written(INIT);
        if is_cut {
            lab.core.on_disconnected(asked[0].node, asked[0].connection, lab.now);
        } else {
            lab.answer_producer_id(&asked[0], 15, 0);
        }
        lab.run_silent(ms(99));
        assert!(lab.take_written(INIT).is_empty());
        lab.run_silent(ms(60));
        assert_eq!(lab.take_written(INIT).len(), 1);
    }
}

#[test]
fn a_node_that_does_not_answer_is_given_up_after_the_request_timeout() {
    let mut lab = asking(&[("request.timeout.ms", "1000")]);
    lab.take_written(INIT);
    lab.run_silent(ms(700));
    assert!(lab.take_written(INIT).is_empty());
    lab.run_silent(ms(600));
    assert_eq!(lab.take_written(INIT).len(), 1);
}

#[test]
fn a_node_that_is_not_ready_costs_a_pause_and_then_a_metadata_request() {
    let mut lab = Lab::new(&[]);
    lab.dead = vec![BrokerId(-1)];
    lab.run_silent(ms(99));
    let asked_for =
        |lab: &Lab| lab.events.iter().any(|event| matches!(event, ClientEvent::UpdateRequested { reason: UpdateReason::ProducerId }));
    assert!(!asked_for(&lab));
    lab.run_silent(ms(2));
    assert!(asked_for(&lab));
    lab.dead.clear();
    lab.run(ms(2_000));
    assert_eq!(given(&lab).len(), 1);
}

#[test]
fn a_refused_id_fails_every_record_and_a_missing_right_only_those_that_wait() {
    for (code, kind, is_final) in [(-1, "KafkaException", true), (31, "ClusterAuthorizationException", false)] {
        let mut lab = asking(&[]);
        let asked = lab.take_written(INIT);
        lab.answer_producer_id(&asked[0], code, 0);
        lab.run_silent(ms(1));
        let outcomes = lab.take_outcomes();
        assert!(matches!(&outcomes[..], [(1, Outcome::Failed(failure))] if failure.kind == kind), "{outcomes:?}");
        lab.append(0, 2);
        lab.run(ms(300));
        let outcomes = lab.take_outcomes();
        match is_final {
            true => assert!(matches!(&outcomes[..], [(2, Outcome::Failed(_))]), "{outcomes:?}"),
            false => assert!(matches!(&outcomes[..], [(2, Outcome::Ok { .. })]), "{outcomes:?}"),
        }
    }
}

#[test]
fn brokers_that_know_no_producer_ids_fail_what_waits_and_at_once() {
    let mut lab = asking(&[]);
    lab.has_producer_ids = false;
    lab.cut(-1);
    // Only when the core asks to be called.
    for _ in 0..100 {
        lab.step();
        lab.take_written(3).iter().for_each(|metadata| lab.answer_well(metadata));
        if !lab.outcomes.is_empty() {
            break;
        }
        lab.now = lab.next.filter(|next| *next > lab.now).expect("a moment to come");
    }
    let outcomes = lab.take_outcomes();
    assert!(matches!(&outcomes[..], [(1, Outcome::Failed(failure))] if failure.kind == "UnsupportedVersionException"), "{outcomes:?}");
    assert!(lab.now < super::lab::START + ms(5_000), "by the first moment at which it is known");
    lab.append(0, 2);
    lab.step();
    assert!(matches!(&lab.take_outcomes()[..], [(2, Outcome::Failed(_))]), "and later records too");
}

#[test]
fn an_id_that_no_broker_can_have_given_is_asked_for_again() {
    let mut lab = asking(&[]);
    let asked = lab.take_written(INIT);
    lab.answer_producer_id(&asked[0], 0, -1);
    lab.run_silent(ms(50));
    assert!(lab.take_written(0).is_empty() && lab.take_outcomes().is_empty());
    lab.run(ms(300));
    assert!(matches!(&lab.take_outcomes()[..], [(1, Outcome::Ok { .. })]));
}

#[test]
fn records_expire_while_there_is_no_id() {
    let mut lab = asking(&[("request.timeout.ms", "60000"), ("delivery.timeout.ms", "60005")]);
    lab.run_silent(ms(60_006));
    assert!(matches!(&lab.take_outcomes()[..], [(1, Outcome::Failed(_))]), "never sent");
}
