//! When the machine asks, and what an answer clears.

use std::time::Duration;

use super::lab::{START, answer, ms, partition, topic, topic_answer, topic_error};
use super::machine::{Machine, orders};
use crate::ids::UpdateVersion;
use crate::kafka::core::metadata::Accepted;
use crate::kafka::event::UpdateReason;
use crate::kafka::wire::messages::MetadataAnswer;

#[test]
fn a_fresh_client_has_version_one_and_asks_for_brokers_only_at_once() {
    let mut lab = Machine::new(&[]);
    assert_eq!(lab.machine.update_version(), UpdateVersion(1));
    assert_eq!(lab.waits(), (ms(0), ms(0)));
    let request = lab.machine.next_request(lab.now);
    assert!(request.full && request.topics.is_empty());
    assert_eq!(request.reason, UpdateReason::Start);
}

#[test]
fn a_full_update_asked_for_while_one_is_in_flight_is_lost() {
    let mut lab = Machine::settled(&[]);
    lab.machine.request_update(UpdateReason::Disconnect);
    let request = lab.machine.next_request(lab.now);
    lab.machine.request_update(UpdateReason::NoLeader);
    lab.accept(&request, answer(2, vec![orders(7, 2, 5)]));
    lab.now = lab.now + Duration::from_secs(2);
    assert!(lab.waits().0 > Duration::from_secs(290), "only the age is left");
}

#[test]
fn a_full_update_asked_for_while_a_partial_one_is_in_flight_survives() {
    let mut lab = Machine::settled(&[]);
    lab.machine.add_topic(&topic("more"), lab.now);
    let request = lab.machine.next_request(lab.now);
    assert!(!request.full);
    assert_eq!(request.topics, [topic("more")]);
    lab.machine.request_update(UpdateReason::Disconnect);
    lab.accept(&request, answer(2, vec![topic_answer("more", 8, vec![partition(0, 1, 0)])]));
    lab.now = lab.now + ms(120);
    assert_eq!(lab.waits(), (ms(0), ms(0)));
    assert!(lab.machine.next_request(lab.now).full);
    assert_eq!(lab.machine.snapshot().partition_count(&topic("orders")), Some(2), "a partial answer keeps what it does not name");
}

#[test]
fn a_new_topic_is_due_at_once_but_waits_one_backoff_if_a_request_was_in_flight() {
    let mut lab = Machine::settled(&[]);
    lab.machine.add_topic(&topic("more"), lab.now);
    assert_eq!(lab.waits(), (ms(0), ms(0)), "in spite of the backoff after the last answer");
    let request = lab.machine.next_request(lab.now);
    lab.machine.add_topic(&topic("third"), lab.now);
    lab.accept(&request, answer(2, vec![topic_answer("more", 8, vec![partition(0, 1, 0)])]));
    let (least, most) = lab.waits();
    assert!(least >= ms(80) && most <= ms(119), "{least:?} {most:?}");
    assert_eq!(lab.machine.next_request(lab.now).topics, [topic("third")]);
}

#[test]
fn a_partial_answer_does_not_move_the_age_and_the_exact_age_is_due() {
    let mut lab = Machine::settled(&[("metadata.max.age.ms", "10000")]);
    lab.now = START + ms(6_000);
    lab.machine.add_topic(&topic("more"), lab.now);
    assert!(!lab.exchange(vec![topic_answer("more", 8, vec![partition(0, 1, 0)])]).full);
    lab.now = START + ms(9_999);
    assert_eq!(lab.waits(), (ms(1), ms(1)));
    lab.now = START + ms(10_000);
    assert_eq!(lab.waits(), (ms(0), ms(0)));
    let request = lab.machine.next_request(lab.now);
    assert!(request.full);
    assert_eq!(request.reason, UpdateReason::Age);
}

#[test]
fn polling_for_a_missing_topic_backs_off_and_news_end_that() {
    let mut lab = Machine::settled(&[]);
    lab.machine.add_topic(&topic("typo"), lab.now);
    for (round, (least_ms, most_ms)) in [(0, (80, 119)), (1, (160, 239)), (2, (320, 479)), (3, (640, 959)), (4, (800, 1000))] {
        lab.now = lab.now + Duration::from_secs(1);
        lab.machine.request_update(UpdateReason::NewTopic);
        lab.exchange(vec![orders(7, 2, 5), topic_error("typo", 3)]);
        let (least, most) = lab.waits();
        assert!(least >= ms(least_ms) && most <= ms(most_ms), "{round}: {least:?} {most:?}");
    }
    lab.exchange(vec![orders(7, 2, 6)]);
    let (least, most) = (lab.machine.request_update(UpdateReason::NewTopic), lab.waits().1);
    assert!(most <= ms(119), "a higher epoch is progress: {least:?} {most:?}");
}

#[test]
fn a_topic_is_forgotten_only_while_an_answer_is_processed_and_only_at_its_exact_age() {
    for (idle_ms, kept) in [(4_999, true), (5_000, false)] {
        let mut lab = Machine::settled(&[("metadata.max.idle.ms", "5000")]);
        lab.now = START + ms(idle_ms);
        lab.machine.request_update(UpdateReason::Disconnect);
        lab.exchange(vec![orders(7, 2, 5)]);
        assert_eq!(lab.machine.snapshot().topic(&topic("orders")).is_some(), kept, "after {idle_ms} ms");
    }
    let mut lab = Machine::new(&[("metadata.max.idle.ms", "5000")]);
    lab.machine.add_topic(&topic("orders"), lab.now);
    lab.now = START + ms(60_000);
    lab.exchange(vec![orders(7, 2, 5)]);
    assert!(lab.machine.snapshot().topic(&topic("orders")).is_some(), "never before its first answer");
}

#[test]
fn an_empty_broker_list_is_a_failed_attempt() {
    let mut lab = Machine::settled(&[]);
    lab.machine.request_update(UpdateReason::Disconnect);
    let request = lab.machine.next_request(lab.now);
    assert!(matches!(lab.accept(&request, answer(0, Vec::new())), Accepted::Empty));
    assert!(lab.machine.snapshot().topic(&topic("orders")).is_some());
    assert!(lab.machine.next_request(lab.now).full, "still wanted");
}

#[test]
fn a_broker_may_ask_for_a_rebootstrap_and_nothing_else_counts_then() {
    let mut lab = Machine::settled(&[]);
    let request = lab.machine.next_request(lab.now);
    // One attempt has failed before: a second would double the wait.
    lab.machine.failed_update(lab.now);
    let told = MetadataAnswer { error: crate::kafka::wire::error::ErrorCode::from_wire(129), ..answer(2, Vec::new()) };
    let before = lab.machine.update_version();
    assert!(matches!(lab.accept(&request, told), Accepted::RebootstrapRequired));
    assert_eq!(lab.machine.update_version(), before);
    lab.machine.request_update(UpdateReason::Disconnect);
    assert!(lab.waits().1 <= ms(119), "no failed attempt");
}
