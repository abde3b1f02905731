//! Batches that a broker finds too large.

use super::lab::{Lab, Written, ms};
use crate::kafka::event::{ClientEvent, Outcome};

const TOO_LARGE: i16 = 10;

/// Queues records of 1000 bytes in one batch, and returns its request.
fn sent(lab: &mut Lab, marks: std::ops::RangeInclusive<u64>) -> Written {
    for mark in marks {
        lab.append_value(0, mark, &[u8::try_from(mark).unwrap(); 1_000]);
    }
    lab.run_silent(ms(6));
    let mut written = lab.take_written(0);
    assert_eq!(written.len(), 1);
    written.remove(0)
}

fn first_bytes(written: &Written) -> Vec<u8> {
    written.batches().iter().flat_map(|batch| batch.values.iter().map(|value| value[0])).collect()
}

#[test]
fn a_batch_that_is_too_large_goes_on_in_halves_with_its_numbers() {
    for idempotence in ["true", "false"] {
        let mut lab = Lab::settled(&[("enable.idempotence", idempotence)]);
        let free_bytes = lab.core.memory_bytes().1;
        let written = sent(&mut lab, 1..=8);
        // The first split goes by batch.size, which this batch kept: it goes as it was, and is halved then.
        lab.answer_produce(&written, TOO_LARGE);
        lab.run_silent(ms(1));
        let whole = lab.take_written(0).remove(0);
        assert_eq!(first_bytes(&whole), [1, 2, 3, 4, 5, 6, 7, 8]);
        lab.answer_produce(&whole, TOO_LARGE);
        let mut parts = Vec::new();
        for _ in 0..4 {
            lab.run_silent(ms(1));
            for part in lab.take_written(0) {
                lab.answer_well(&part);
                parts.push((first_bytes(&part), part.numbers()[0].2));
            }
        }
        let bases = if idempotence == "true" { [1, 4, 7] } else { [-1; 3] };
        assert_eq!(parts, [(vec![1, 2, 3], bases[0]), (vec![4, 5, 6], bases[1]), (vec![7, 8], bases[2])]);
        lab.run(ms(10));
        let outcomes = lab.take_outcomes();
        assert_eq!(outcomes.iter().map(|(mark, _)| *mark).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert!(outcomes.iter().all(|(_, outcome)| matches!(outcome, Outcome::Ok { .. })));
        assert_eq!(lab.core.memory_bytes().1, free_bytes);
        assert!(lab.events.iter().any(|event| matches!(event, ClientEvent::BatchError { retried: true, records: 8, .. })));
    }
}

#[test]
fn a_single_record_that_is_too_large_fails_and_the_rest_goes_on() {
    let mut lab = Lab::settled(&[]);
    let written = sent(&mut lab, 1..=1);
    lab.answer_produce(&written, TOO_LARGE);
    lab.run_silent(ms(1));
    let outcomes = lab.take_outcomes();
    assert!(matches!(&outcomes[..], [(1, Outcome::Failed(failure))] if failure.kind == "RecordTooLargeException"), "{outcomes:?}");
    assert_eq!(sent(&mut lab, 2..=2).numbers(), [(0, 1, 0, 1)], "its number is missing: the epoch rises");
}

#[test]
fn new_records_queue_behind_the_parts() {
    let mut lab = Lab::settled(&[("max.in.flight.requests.per.connection", "1")]);
    let written = sent(&mut lab, 1..=6);
    lab.append_value(0, 7, &[7; 1_000]);
    for _ in 0..2 {
        lab.run_silent(ms(1));
        let again = lab.take_written(0).pop().unwrap_or_else(|| written.clone());
        lab.answer_produce(&again, TOO_LARGE);
    }
    let mut seen = Vec::new();
    for _ in 0..20 {
        lab.run_silent(ms(1));
        for part in lab.take_written(0) {
            seen.extend(first_bytes(&part));
            lab.answer_well(&part);
        }
    }
    assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_part_that_was_cut_off_before_it_was_split_may_be_in_the_log() {
    let mut lab = Lab::settled(&[]);
    sent(&mut lab, 1..=2);
    lab.cut(1);
    for code in [TOO_LARGE, TOO_LARGE, 87, 87] {
        for _ in 0..200 {
            lab.run_silent(ms(1));
            lab.take_written(3).iter().for_each(|metadata| lab.answer_well(metadata));
            if let Some(written) = lab.take_written(0).first() {
                lab.answer_produce(written, code);
                break;
            }
        }
    }
    lab.run(ms(500));
    let outcomes = lab.take_outcomes();
    assert_eq!(outcomes.len(), 2);
    assert!(outcomes.iter().all(|(_, outcome)| matches!(outcome, Outcome::Indeterminate(_))), "{outcomes:?}");
}
