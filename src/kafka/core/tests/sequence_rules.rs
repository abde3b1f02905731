//! Numbers on the wire: how they run on, what a failure does to them, and what they hold back.

use super::lab::{Lab, Written, answer, ms, partition, topic_answer};
use crate::ids::BrokerId;
use crate::kafka::event::{ClientEvent, Outcome};

const PRODUCE: i16 = 0;
const QUICK: [(&str, &str); 1] = [("linger.ms", "0")];

/// Sends one record, and returns its request.
fn sent(lab: &mut Lab, index: i32, mark: u64) -> Written {
    lab.append(index, mark);
    lab.run_silent(ms(1));
    let mut written = lab.take_written(PRODUCE);
    assert_eq!(written.len(), 1, "one request for record {mark}");
    written.remove(0)
}

/// Lets time pass until requests are written, answering Metadata.
fn next_written(lab: &mut Lab) -> Vec<Written> {
    for _ in 0..2_000 {
        lab.run_silent(ms(1));
        for metadata in lab.take_written(3) {
            lab.answer_well(&metadata);
        }
        let written = lab.take_written(PRODUCE);
        if !written.is_empty() {
            return written;
        }
    }
    panic!("nothing is written")
}

fn next_numbers(lab: &mut Lab) -> Vec<(i32, i16, i32, usize)> {
    next_written(lab).iter().flat_map(Written::numbers).collect()
}

fn bumps(lab: &Lab) -> Vec<i16> {
    let epochs = lab.events.iter().filter_map(|event| match event {
        ClientEvent::ProducerEpochBumped { producer } => Some(producer.epoch),
        _ => None,
    });
    epochs.collect()
}

fn marks(lab: &mut Lab) -> Vec<u64> {
    lab.take_outcomes().into_iter().map(|(mark, _)| mark).collect()
}

#[test]
fn each_partition_counts_its_own_records() {
    let mut lab = Lab::settled(&QUICK);
    lab.append(0, 1);
    lab.append(0, 2);
    lab.append(1, 3);
    lab.run_silent(ms(1));
    let mut numbers: Vec<_> = lab.take_written(PRODUCE).iter().flat_map(Written::numbers).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [(0, 0, 1, 2), (1, 0, 1, 1)], "behind one record each");
    assert_eq!(sent(&mut lab, 0, 4).numbers(), [(0, 0, 3, 1)], "while the others are in flight");
}

#[test]
fn a_retry_keeps_its_number_and_goes_alone_until_all_retries_are_through() {
    let mut lab = Lab::settled(&QUICK);
    let requests = [1, 2, 3].map(|mark| sent(&mut lab, 0, mark));
    assert_eq!(requests.clone().map(|request| request.numbers()[0].2), [1, 2, 3]);
    // A record that is new waits behind them.
    lab.append(0, 4);
    lab.answer_produce(&requests[0], 19);
    lab.answer_produce(&requests[1], 45);
    lab.answer_produce(&requests[2], 45);
    for expected in [1, 2] {
        let written = next_written(&mut lab);
        assert_eq!(written.iter().flat_map(Written::numbers).collect::<Vec<_>>(), [(0, 0, expected, 1)]);
        lab.run_silent(ms(300));
        assert!(lab.take_written(PRODUCE).is_empty(), "{expected} goes alone");
        lab.answer_well(&written[0]);
    }
    assert_eq!(next_numbers(&mut lab), [(0, 0, 3, 1), (0, 0, 4, 1)], "behind the last retry new ones follow at once");
    assert_eq!(marks(&mut lab), [1, 2]);
    assert_eq!(bumps(&lab), [0_i16; 0], "45 behind a failed batch is no gap");
}

/// Record 1 is in flight to node 1, and node 2 leads both partitions since; it has refused record 2, which is in order, for a while.
fn split_over_two_leaders() -> (Lab, Written) {
    let mut lab = Lab::settled(&[("linger.ms", "0"), ("metadata.max.age.ms", "1000")]);
    let first = sent(&mut lab, 0, 1);
    lab.cluster = answer(2, vec![topic_answer("orders", 7, vec![partition(0, 2, 6), partition(1, 2, 5)])]);
    for _ in 0..1_100 {
        lab.run_silent(ms(1));
        lab.take_written(3).iter().for_each(|metadata| lab.answer_well(metadata));
    }
    let second = sent(&mut lab, 0, 2);
    let other = sent(&mut lab, 1, 3);
    assert_eq!([second.node, other.node], [BrokerId(2); 2]);
    lab.answer_produce(&second, 19);
    lab.answer_well(&other);
    lab.run_silent(ms(150));
    (lab, first)
}

#[test]
fn a_blocked_partition_ends_the_drain_of_its_node_and_needs_no_timer() {
    let (mut lab, first) = split_over_two_leaders();
    lab.append(1, 4);
    lab.run_silent(ms(300));
    assert!(lab.take_written(PRODUCE).is_empty(), "2 waits for 1, and partition 1 with it");
    assert!(lab.next.is_none_or(|next| next > lab.now + ms(100)), "only an answer lifts that");
    lab.answer_well(&first);
    let mut numbers = next_numbers(&mut lab);
    numbers.sort_unstable();
    assert_eq!(numbers, [(0, 0, 2, 1), (1, 0, 2, 1)]);
}

#[test]
fn retries_that_come_back_out_of_order_are_queued_in_the_order_of_their_numbers() {
    let (mut lab, first) = split_over_two_leaders();
    lab.answer_produce(&first, 6);
    for expected in [1, 2] {
        let written = next_written(&mut lab);
        assert_eq!((written[0].node, written[0].numbers()), (BrokerId(2), vec![(0, 0, expected, 1)]));
        lab.answer_well(&written[0]);
    }
}

/// A broker that refuses a partition's first batch, because it has not made its replica yet, and then takes the second: it knows no producer, and
/// up to Kafka 4.4 it takes any first number from one (KAFKA-15591). The first batch is never taken any more. To a client it looks like any batch
/// that came back behind an acknowledged one, as here; Java's does not tell them apart either.
#[test]
fn a_batch_that_later_ones_overtook_is_sent_in_vain_until_its_time_is_over() {
    let mut lab = Lab::settled(&[("linger.ms", "0"), ("request.timeout.ms", "3000"), ("delivery.timeout.ms", "10000")]);
    let [first, second] = [1, 2].map(|mark| sent(&mut lab, 0, mark));
    lab.answer_produce(&first, 6);
    lab.answer_well(&second);
    lab.append(0, 3);
    let mut told = Vec::new();
    for _ in 0..12_000 {
        lab.run_silent(ms(1));
        lab.take_written(3).iter().for_each(|metadata| lab.answer_well(metadata));
        for written in lab.take_written(PRODUCE) {
            lab.answer_produce(&written, if written.numbers() == [(0, 0, 1, 1)] { 45 } else { 0 });
        }
        told.append(&mut lab.take_outcomes());
    }
    assert!(matches!(&told[..], [(2, Outcome::Ok { .. }), (3, Outcome::Ok { .. }), (1, Outcome::Indeterminate(_))]), "{told:?}");
    assert_eq!(bumps(&lab), [0_i16; 0], "no gap is seen");
}

#[test]
fn a_gap_raises_the_epoch_and_numbers_from_0_what_is_in_flight() {
    let mut lab = Lab::settled(&QUICK);
    let requests = [1, 2].map(|mark| sent(&mut lab, 0, mark));
    lab.append(1, 3);
    lab.answer_produce(&requests[0], 45);
    lab.step();
    assert_eq!(bumps(&lab), [1], "1 follows what is acknowledged");
    lab.answer_produce(&requests[1], 45);
    lab.run_silent(ms(1));
    assert_eq!(bumps(&lab), [1], "the second was numbered anew meanwhile");
    for other in lab.take_written(PRODUCE) {
        assert_eq!(other.numbers()[0].0, 1);
        lab.answer_well(&other);
    }
    for expected in [(0, 1, 0, 1), (0, 1, 1, 1)] {
        let written = next_written(&mut lab);
        assert_eq!(written[0].numbers(), [expected]);
        lab.answer_well(&written[0]);
    }
    lab.run(ms(10));
    assert_eq!(marks(&mut lab), [3, 1, 2]);
}

#[test]
fn other_partitions_go_over_to_the_new_epoch_when_their_older_batches_are_through() {
    let mut lab = Lab::settled(&QUICK);
    let older = sent(&mut lab, 1, 1);
    let fenced = sent(&mut lab, 0, 2);
    lab.answer_produce(&fenced, 47);
    lab.append(1, 3);
    lab.run_silent(ms(200));
    assert!(matches!(&lab.take_outcomes()[..], [(2, Outcome::Failed(_))]));
    assert_eq!(bumps(&lab), [1]);
    assert!(lab.take_written(PRODUCE).is_empty(), "3 waits for 1, which is older");
    lab.answer_well(&older);
    assert_eq!(next_numbers(&mut lab), [(1, 1, 0, 1)]);
    assert_eq!(sent(&mut lab, 0, 4).numbers(), [(0, 1, 0, 1)], "and the partition that failed begins anew too");
}

#[test]
fn a_duplicate_is_a_success_without_an_offset() {
    let mut lab = Lab::settled(&QUICK);
    let request = sent(&mut lab, 0, 1);
    lab.answer_produce(&request, 46);
    lab.step();
    assert!(matches!(&lab.take_outcomes()[..], [(1, Outcome::Ok { base_offset: -1 })]));
    assert_eq!(sent(&mut lab, 0, 2).numbers(), [(0, 0, 2, 1)], "the sequence goes on");
}

#[test]
fn an_unknown_producer_is_retried_and_begins_anew_if_the_answer_says_where_the_log_begins() {
    for (log_start_offset, expected) in [(-1, (0, 0, 1, 1)), (40, (0, 1, 0, 1))] {
        let mut lab = Lab::settled(&QUICK);
        let request = sent(&mut lab, 0, 1);
        lab.answer_produce_with_start(&request, 59, log_start_offset);
        assert_eq!(next_numbers(&mut lab), [expected], "log start {log_start_offset}");
    }
}

#[test]
fn used_up_epochs_bring_another_id() {
    let mut lab = Lab::new(&QUICK);
    lab.core.use_topic(&super::lab::topic("orders"), lab.now);
    lab.run_silent(ms(1));
    for _ in 0..400 {
        lab.run_silent(ms(1));
        lab.take_written(3).iter().for_each(|metadata| lab.answer_well(metadata));
        lab.take_written(22).iter().for_each(|asked| lab.answer_producer_id(asked, 0, i16::MAX));
    }
    let request = sent_at_last(&mut lab, 0, 1);
    assert_eq!(request.numbers(), [(0, i16::MAX, 0, 1)]);
    lab.answer_produce(&request, 45);
    lab.run_silent(ms(200));
    assert!(lab.take_written(PRODUCE).is_empty());
    let asked = lab.take_written(22);
    lab.answer_producer_id(&asked[0], 0, 0);
    assert_eq!(next_numbers(&mut lab), [(0, 0, 0, 1)]);
}

/// The same as [`sent`], where a connection must be made first.
fn sent_at_last(lab: &mut Lab, index: i32, mark: u64) -> Written {
    lab.append(index, mark);
    next_written(lab).remove(0)
}

#[test]
fn a_retried_batch_that_expires_leaves_its_number_in_doubt_until_what_follows_tells() {
    let timeouts = [("linger.ms", "0"), ("request.timeout.ms", "3000"), ("delivery.timeout.ms", "3000")];
    for (code, expected) in [(0, vec![(0, 0, 3, 1)]), (45, vec![(0, 1, 0, 1), (0, 1, 1, 1)])] {
        let mut lab = Lab::settled(&timeouts);
        let lost = sent(&mut lab, 0, 1);
        lab.run_silent(ms(1_500));
        let behind = sent(&mut lab, 0, 2);
        lab.answer_produce(&lost, 20);
        assert_eq!(next_numbers(&mut lab), [(0, 0, 1, 1)]);
        lab.run_silent(ms(1_500));
        assert!(matches!(&lab.take_outcomes()[..], [(1, Outcome::Indeterminate(_))]));
        lab.append(0, 3);
        lab.run_silent(ms(50));
        assert!(lab.take_written(PRODUCE).is_empty(), "nothing new goes out");
        lab.answer_produce(&behind, code);
        assert_eq!(next_numbers(&mut lab), expected, "the second was answered with {code}");
    }
}

#[test]
fn a_late_acknowledgement_of_an_expired_batch_tells_a_gap_behind_it() {
    let timeouts = [("linger.ms", "0"), ("request.timeout.ms", "3000"), ("delivery.timeout.ms", "3000")];
    for (code, expected) in [(0, vec![1]), (87, vec![])] {
        let mut lab = Lab::settled(&timeouts);
        // Given up by its own time, and not by its request's: that one left later.
        lab.dead = vec![BrokerId(1)];
        lab.cut(1);
        lab.append(0, 1);
        lab.run_silent(ms(1_000));
        lab.dead.clear();
        let lost = next_written(&mut lab).remove(0);
        let behind = sent(&mut lab, 0, 2);
        while lab.outcomes.is_empty() {
            lab.run_silent(ms(1));
            lab.take_written(3).iter().for_each(|metadata| lab.answer_well(metadata));
        }
        assert!(matches!(&lab.take_outcomes()[..], [(1, Outcome::Indeterminate(_))]));
        lab.answer_produce(&lost, code);
        lab.answer_produce(&behind, 45);
        lab.step();
        assert_eq!(bumps(&lab), expected, "the first was answered with {code}");
    }
}

#[test]
fn a_retried_batch_that_expires_with_nothing_behind_it_raises_the_epoch() {
    let timeouts = [("linger.ms", "0"), ("request.timeout.ms", "3000"), ("delivery.timeout.ms", "3000")];
    let mut lab = Lab::settled(&timeouts);
    let lost = sent(&mut lab, 0, 1);
    lab.answer_produce(&lost, 20);
    next_written(&mut lab);
    lab.run_silent(ms(3_000));
    assert_eq!((marks(&mut lab), bumps(&lab)), (vec![1], vec![1]));
    assert_eq!(sent(&mut lab, 0, 2).numbers(), [(0, 1, 0, 1)]);
}

#[test]
fn with_numbers_too_a_batch_that_was_cut_off_and_then_refused_may_be_in_the_log() {
    let mut lab = Lab::settled(&[("linger.ms", "0"), ("retries", "1")]);
    sent(&mut lab, 0, 1);
    lab.cut(1);
    let again = next_written(&mut lab);
    lab.answer_produce(&again[0], 45);
    lab.step();
    assert!(matches!(&lab.take_outcomes()[..], [(1, Outcome::Indeterminate(failure))] if failure.kind == "OutOfOrderSequenceException"));
    assert_eq!(bumps(&lab), [1], "and its partition begins anew");
}

#[test]
fn a_batch_that_comes_back_when_its_time_is_over_renumbers_nothing_that_was_sent_behind_it() {
    let mut lab = Lab::settled(&[("linger.ms", "0"), ("request.timeout.ms", "3000"), ("delivery.timeout.ms", "3000")]);
    let over_at = lab.now + ms(3_000);
    sent(&mut lab, 0, 1);
    lab.run_silent(ms(1_500));
    sent(&mut lab, 0, 2);
    lab.cut(1);
    assert_eq!(next_numbers(&mut lab), [(0, 0, 1, 1)]);
    lab.run_silent((over_at - ms(1)).since(lab.now));
    // The news comes before anybody has looked at the time.
    lab.now = over_at;
    lab.cut(1);
    assert_eq!(next_numbers(&mut lab), [(0, 0, 2, 1)], "2 may be in the log under this number");
    assert!(matches!(&lab.take_outcomes()[..], [(1, Outcome::Indeterminate(failure))] if failure.kind == "NetworkException"));
    assert_eq!(bumps(&lab), [0_i16; 0]);
}
