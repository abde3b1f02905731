//! What is read out of the controller's log.

use super::*;
use crate::record::fact::Fact;
use crate::record::layer::ControllerChange;
use crate::record::sample::Sample;
use crate::record::sample::layers::{Part as Partition, fenced, registered, stopping, unfenced};

fn log(stream: &Sample) -> (ControllerLog, Index) {
    let (mut log, mut index) = (ControllerLog::default(), Index::default());
    for stamped in &stream.facts {
        match &stamped.fact {
            Fact::ControllerImage(image) => log.image(stamped.time_us, image, &mut index),
            Fact::ControllerRecord(record) => log.record(stamped.time_us, record, &mut index),
            Fact::ControllerTruncated { end_offset, .. } => log.truncated(*end_offset),
            _ => {}
        }
    }
    (log, index)
}

fn kinds(log: &ControllerLog) -> Vec<(i64, Kind)> {
    log.changes().iter().map(|change| (change.offset, change.kind)).collect()
}

#[test]
fn changes_are_told_by_what_differs() {
    let stream = Sample::new(&[])
        .image(&[Partition(0, 2, 4, &[1, 2, 3])], -1_000)
        .record(501, Partition(0, 3, 5, &[1, 3]).changed(), 9_000)
        .record(502, Partition(0, 3, 5, &[1]).changed(), 9_100)
        .record(503, Partition(0, 3, 5, &[1, 3]).changed(), 9_200)
        .record(504, Partition(0, 0, 6, &[]).changed(), 9_300)
        .record(505, Partition(1, 1, 0, &[1]).made(), 9_400);
    let (log, _) = log(&stream);
    let expected = [(501, Kind::Led), (502, Kind::Shrunk), (503, Kind::Other), (504, Kind::Led), (505, Kind::Made)];
    assert_eq!(kinds(&log), expected);
    let leader_at = |ms: i64| log.state_at(0, ms * 1000).and_then(|state| state.leader).map(|leader| leader.0);
    assert_eq!([0, 8_994, 8_995, 9_299].map(leader_at), [Some(2), Some(2), Some(3), None]);
}

#[test]
fn records_that_cannot_be_taken_in_are_counted_once_and_as_long_as_they_are_there() {
    let strange = || ControllerChange::NotTakenIn { reason: "it ends early".into() };
    let before = Sample::new(&[]).record(480, strange(), -2_000).image(&[Partition(0, 2, 4, &[1, 2, 3])], -1_000);
    let stream = before.record(501, strange(), 9_000).record(501, strange(), 9_010).record(502, strange(), 9_020);
    let (seen, _) = log(&stream);
    assert_eq!((seen.not_taken_in(), seen.changes().len()), (3, 0), "the image is the first that is seen");
    let cut = stream.at(9_100, Fact::ControllerTruncated { end_offset: 502, records: 1 });
    assert_eq!(log(&cut).0.not_taken_in(), 2);
}

#[test]
fn one_record_may_change_many_partitions() {
    let stream = Sample::new(&[])
        .image(&[Partition(0, 2, 4, &[1, 2]), Partition(1, 2, 4, &[1, 2]), Partition(2, 1, 4, &[1])], -1_000)
        .record(501, Partition(0, 1, 5, &[1]).changed(), 9_000)
        .record(501, Partition(1, 1, 5, &[1]).changed(), 9_000)
        .record(501, Partition(2, 1, 4, &[1]).changed(), 9_000);
    assert_eq!(kinds(&log(&stream).0), [(501, Kind::Led), (501, Kind::Led)], "the third is as it was");
}

#[test]
fn events_tell_what_the_controller_noticed_and_nothing_twice() {
    let stream = Sample::new(&[])
        .image(&[], -1_000)
        .record(501, stopping(2), 1_000)
        .record(502, fenced(2), 2_000)
        .record(503, fenced(2), 2_100)
        .record(504, registered(2), 3_000)
        .record(505, unfenced(2), 4_000);
    let noticed: Vec<Noticed> = log(&stream).0.events().iter().map(|event| event.noticed.clone()).collect();
    assert_eq!(noticed, [Noticed::Stopping, Noticed::Fenced, Noticed::Registered { broker_epoch: 311 }, Noticed::Unfenced]);
}

#[test]
fn what_a_new_controller_cuts_off_never_was() {
    let mut stream = Sample::new(&[])
        .image(&[Partition(0, 2, 4, &[1, 2, 3])], -1_000)
        .record(501, Partition(0, 3, 5, &[1, 3]).changed(), 1_000)
        .record(502, fenced(2), 1_001)
        .record(501, Partition(0, 1, 5, &[1, 3]).changed(), 5_000)
        .record(501, Partition(0, 1, 5, &[1, 3]).changed(), 5_001);
    for stamped in &mut stream.facts {
        if let Fact::ControllerRecord(record) = &mut stamped.fact {
            record.controller_epoch = LeaderEpoch(if stamped.time_us < 2_000_000 { 3 } else { 4 });
        }
    }
    let (log, _) = log(&stream);
    assert_eq!((kinds(&log), log.events().len()), (vec![(501, Kind::Led)], 0));
    assert_eq!(log.state_at(0, 9_000_000).and_then(|state| state.leader), Some(BrokerId(1)));
}

#[test]
fn what_the_tail_loses_again_never_was_and_the_image_brings_nothing_new() {
    let before = [Partition(0, 2, 4, &[1, 2, 3])];
    let stream = Sample::new(&[])
        .image(&before, -1_000)
        .record(501, fenced(2), 1_000)
        .record(502, Partition(0, 3, 5, &[1, 3]).changed(), 1_001)
        .at(3_000, Fact::ControllerTruncated { end_offset: 502, records: 1 })
        .image(&before, 3_001)
        .record(502, Partition(0, 1, 5, &[1, 3]).changed(), 3_100);
    let (log, _) = log(&stream);
    assert_eq!((kinds(&log), log.events().len()), (vec![(502, Kind::Led)], 1));
    assert_eq!(log.changes()[0].after.leader, Some(BrokerId(1)));
}

#[test]
fn an_image_that_differs_is_a_change_whose_time_is_not_known() {
    let stream = Sample::new(&[])
        .image(&[Partition(0, 2, 4, &[1, 2, 3]), Partition(1, 1, 4, &[1])], -1_000)
        .image(&[Partition(0, 3, 5, &[1, 3]), Partition(1, 1, 4, &[1])], 7_000);
    let (log, _) = log(&stream);
    assert_eq!(kinds(&log), [(500, Kind::Led)]);
    assert_eq!(log.changes()[0].made, Sight { not_before_us: None, time_us: 7_000_000 });
}

#[test]
fn a_foreign_clock_says_nothing_of_a_record() {
    let change = |epoch: i32| Partition(0, 1, epoch, &[1]).changed();
    let stream = Sample::new(&[]).late_record(1, change(1), 8_000, 9_000).late_record(2, change(2), -9_000, 9_000).late_record(
        3,
        change(3),
        9_500,
        9_000,
    );
    let made: Vec<Option<i64>> = log(&stream).0.changes().iter().map(|change| change.made.not_before_us).collect();
    assert_eq!(made, [Some(8_000_000), None, None]);
}
