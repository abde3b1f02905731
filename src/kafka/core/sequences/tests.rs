//! One rule per test.

use super::*;

const FIRST: ProducerIdAndEpoch = ProducerIdAndEpoch { id: 7, epoch: 0 };
const SECOND: ProducerIdAndEpoch = ProducerIdAndEpoch { id: 7, epoch: 1 };

fn bases(sequences: &Sequences) -> Vec<i32> {
    sequences.in_flight.iter().map(|numbered| numbered.base).collect()
}

/// Three batches of 5, 3 and 2 records on the wire.
fn three() -> (Sequences, [Ticket; 3]) {
    let mut sequences = Sequences::default();
    let tickets = [5, 3, 2].map(|records| sequences.assign(records, FIRST));
    assert_eq!(bases(&sequences), [0, 5, 8]);
    for ticket in tickets {
        sequences.stamp(ticket).unwrap();
    }
    (sequences, tickets)
}

#[test]
fn numbers_wrap_around_to_0() {
    for (sequence, count, expected) in [(0, 5, 5), (i32::MAX, 1, 0), (i32::MAX - 1, 5, 3), (i32::MAX, 0, i32::MAX)] {
        assert_eq!(advanced(sequence, count), expected, "{sequence} + {count}");
    }
    let mut sequences = Sequences { producer: Some(FIRST), next: i32::MAX - 1, last_acked: Some(i32::MAX - 2), ..Sequences::default() };
    let over = sequences.assign(4, FIRST);
    let behind = sequences.assign(2, FIRST);
    assert_eq!(sequences.stamp(behind).unwrap().base_sequence, 2);
    assert!(!sequences.blocks(Some(over), FIRST) && sequences.blocks(Some(behind), FIRST), "the order is that of assignment");
    assert!(sequences.out_of_order_is_a_gap(over) && !sequences.out_of_order_is_a_gap(behind));
    sequences.acked(over);
    assert!(sequences.out_of_order_is_a_gap(behind), "1 is acknowledged, 2 follows");
}

#[test]
fn a_late_answer_does_not_lower_what_is_acknowledged() {
    let (mut sequences, [first, second, third]) = three();
    sequences.acked(second);
    sequences.acked(first);
    assert_eq!(sequences.last_acked, Some(7));
    assert!(sequences.out_of_order_is_a_gap(third));
}

#[test]
fn what_was_given_up_may_be_acknowledged_later_but_not_under_another_number() {
    let (mut sequences, [first, second, third]) = three();
    let number = sequences.sent_number(first).unwrap();
    sequences.failed(first);
    assert!(!sequences.out_of_order_is_a_gap(second), "the first may be missing");
    sequences.acked_late(number);
    assert!(sequences.out_of_order_is_a_gap(second), "it is not");
    sequences.restart(SECOND);
    assert_eq!(sequences.sent_number(third), None, "what is on the wire has its old number");
    sequences.acked_late(number);
    assert_eq!(sequences.last_acked, None);
}

#[test]
fn only_the_lowest_in_flight_is_sent_again() {
    let (mut sequences, [first, second, _]) = three();
    assert!(!sequences.blocks(Some(first), FIRST));
    assert!(sequences.blocks(Some(second), FIRST));
    assert!(!sequences.blocks(None, FIRST), "new batches go on");
    sequences.acked(first);
    assert!(!sequences.blocks(Some(second), FIRST));
}

#[test]
fn under_a_newer_epoch_new_batches_wait_for_the_older_ones_and_then_begin_at_0() {
    let (mut sequences, tickets) = three();
    assert!(sequences.blocks(None, SECOND));
    assert!(!sequences.blocks(Some(tickets[0]), SECOND), "older ones go on under their own");
    assert_eq!(sequences.stamp(tickets[0]).unwrap().producer, FIRST);
    tickets.iter().for_each(|ticket| sequences.acked(*ticket));
    assert!(!sequences.blocks(None, SECOND));
    let next = sequences.assign(1, SECOND);
    assert_eq!(sequences.stamp(next), Some(Stamp { producer: SECOND, base_sequence: 0 }));
    assert!(sequences.out_of_order_is_a_gap(next), "nothing is acknowledged in this epoch");
}

#[test]
fn a_restart_numbers_what_is_in_flight_from_0() {
    let (mut sequences, [first, second, third]) = three();
    sequences.acked(first);
    sequences.restart(SECOND);
    assert_eq!(bases(&sequences), [0, 3]);
    assert_eq!(sequences.next, 5);
    assert!(!sequences.out_of_order_is_a_gap(second), "that answer is about the old number");
    assert!(!sequences.unknown_producer_needs_restart(second, Some(0)));
    assert_eq!(sequences.stamp(second), Some(Stamp { producer: SECOND, base_sequence: 0 }));
    assert!(sequences.out_of_order_is_a_gap(second), "and this one about the new");
    assert!(!sequences.out_of_order_is_a_gap(third));
}

#[test]
fn an_unknown_producer_begins_anew_once_the_log_start_is_told() {
    let (sequences, [first, ..]) = three();
    assert!(!sequences.unknown_producer_needs_restart(first, None));
    assert!(sequences.unknown_producer_needs_restart(first, Some(0)));
}

#[test]
fn a_lost_batch_holds_new_ones_back_until_those_behind_it_tell() {
    let (mut sequences, [first, second, third]) = three();
    sequences.lost(first);
    assert!(sequences.blocks(None, FIRST));
    assert!(!sequences.blocks(Some(second), FIRST), "what has a number may go");
    assert_eq!(sequences.resolve(), Resolution::Pending);
    assert!(sequences.out_of_order_is_a_gap(second), "it follows the lost one directly");
    assert!(!sequences.out_of_order_is_a_gap(third));
    sequences.acked(second);
    sequences.acked(third);
    assert_eq!(sequences.resolve(), Resolution::Resolved, "the lost batch was written");
    assert!(!sequences.blocks(None, FIRST));
}

#[test]
fn a_lost_batch_with_nothing_behind_it_leaves_a_gap() {
    let mut sequences = Sequences::default();
    let ticket = sequences.assign(4, FIRST);
    sequences.lost(ticket);
    assert_eq!(sequences.resolve(), Resolution::Gap);
    assert_eq!(sequences.resolve(), Resolution::Resolved, "told once");
}

#[test]
fn the_parts_of_a_split_batch_take_over_its_numbers() {
    let (mut sequences, [first, second, third]) = three();
    let parts = sequences.split(second, &[2, 1]);
    assert_eq!(bases(&sequences), [0, 5, 7, 8]);
    assert_eq!(sequences.place_of(second), None);
    sequences.acked(first);
    assert!(!sequences.blocks(Some(parts[0]), FIRST) && sequences.blocks(Some(parts[1]), FIRST) && sequences.blocks(Some(third), FIRST));
}
