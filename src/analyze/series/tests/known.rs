//! Up to when lanes are known: nothing may be drawn as known beyond what the run tells.

use super::series;
use crate::analyze::series::findings::{Lane, PartitionEvent, UntoldCaches};
use crate::record::fact::{Fact, Totals};
use crate::record::layer::ControllerChange;
use crate::record::sample::layers::{Part, topic_id};
use crate::record::sample::scenes::{BEFORE, cluster};
use crate::record::sample::{Pair, Sample};

/// `orders/0`.
fn first_lane(stream: &Sample) -> Lane {
    series(stream).partitions.topics.swap_remove(0)
}

#[test]
fn a_partition_with_too_many_changes_is_known_until_the_first_that_found_no_room() {
    let mut stream = cluster();
    for change in 0..2_010 {
        stream = stream.record(501 + i64::from(change), Part(0, 1 + change % 2, 5 + change, &[1, 2]).changed(), 1_000 + i64::from(change));
    }
    let lane = first_lane(&stream.end(40_000));
    // The first event is the image's.
    assert_eq!((lane.events.len(), lane.events_left_out, lane.known_until_ms), (2_000, 11, Some(2_999)));
}

#[test]
fn a_log_that_nobody_tells_of_any_more_is_known_until_then() {
    assert_eq!(first_lane(&cluster().end(40_000)).known_until_ms, None);
    let lost = |at_ms| cluster().followed(None, at_ms).followed(None, at_ms + 1_000);
    assert_eq!(first_lane(&lost(20_000).end(40_000)).known_until_ms, Some(20_000));
    assert_eq!(first_lane(&lost(20_000).followed(Some(2), 29_000).end(40_000)).known_until_ms, None);
}

#[test]
fn a_partition_that_is_gone_has_neither_leader_nor_epoch() {
    let removed = ControllerChange::TopicRemoved { topic: "orders".into(), topic_id: topic_id() };
    let gone: PartitionEvent = (20_000, None, None, Vec::new(), 0);
    let again: PartitionEvent = (25_000, Some(1), Some(0), vec![1, 2], 3);
    let deleted = first_lane(&cluster().record(501, removed, 20_000).record(502, Part(0, 1, 0, &[1, 2]).made(), 25_000).end(40_000));
    assert_eq!(deleted.events[1..], [gone.clone(), again]);
    // An image has all that there are.
    let unseen = series(&cluster().image(&BEFORE[1..], 20_000).end(40_000)).partitions.topics;
    assert_eq!((unseen[0].events.last(), unseen[1].events.len()), (Some(&gone), 1));
}

#[test]
fn a_cache_is_known_until_its_producers_end_or_the_change_that_found_no_room() {
    let pair = Pair("steady", 0, 0);
    let mut stream = Sample::new(&[("steady", 2)]);
    for change in 0..503 {
        let at_ms = 1_000 + i64::from(change);
        stream = stream.learned(pair, Part(0, 1 + change % 2, change, &[1]), 1, 2 + u64::try_from(change).unwrap(), at_ms);
    }
    stream = stream.counted(pair, (0, 3), "start", 2, 900);
    let cut = series(&stream).caches;
    assert_eq!((cut.leaders[0].events.len(), cut.leaders[0].events_left_out, cut.leaders[0].known_until_ms), (500, 3, Some(1_500)));
    assert_eq!(cut.counts[0].known_until_ms, None);
    let ended = series(&stream.totals("steady", 0, Totals::default(), &[], 3).end(70_000)).caches;
    assert_eq!((ended.leaders[0].known_until_ms, ended.counts[0].known_until_ms), (Some(1_500), Some(60_000)));
}

#[test]
fn producers_that_never_told_of_their_caches_are_counted() {
    let pair = Pair("steady", 1, 0);
    let stream = Sample::new(&[("steady", 3), ("foreign", 2)]).counted(pair, (0, 3), "start", 2, 900);
    let untold = series(&stream.learned(pair, BEFORE[0], 1, 2, 900).learned(Pair("steady", 2, 0), BEFORE[0], 1, 2, 900)).caches.untold;
    let of = |group: &str, clients, counts, leaders| UntoldCaches { group: group.to_owned(), clients, counts, leaders };
    assert_eq!(untold, [of("steady", 3, 2, 1), of("foreign", 2, 2, 2)]);

    // Of four that share two clients the first of each tells.
    let shared = Sample::new(&[("steady", 4)]).started(|run| run.groups[0].share = std::num::NonZeroU32::new(2));
    let shared = [0, 2].into_iter().fold(shared, |stream, producer| stream.counted(Pair("steady", producer, 0), (0, 3), "start", 2, 900));
    assert_eq!(series(&shared).caches.untold, [of("steady", 2, 0, 2)]);
}

/// Who never learned that a topic grew is what one looks for.
#[test]
fn of_too_many_caches_those_that_stayed_behind_are_kept() {
    let stream = (0..300).fold(Sample::new(&[("steady", 300)]), |stream, producer| {
        let pair = Pair("steady", producer, 0);
        let stream = stream.counted(pair, (0, 3), "start", 2, 900);
        if producer < 298 { stream.counted(pair, (3, 6), "age", 3, 12_000) } else { stream }
    });
    let caches = series(&stream.end(30_000)).caches;
    let behind: Vec<u32> = caches.counts.iter().filter(|lane| lane.events.len() == 1).map(|lane| lane.producer).collect();
    assert_eq!((caches.counts.len(), caches.counts_left_out, behind), (200, 100, vec![298, 299]));
}

/// Without those that followed, nothing would show what the others did not.
#[test]
fn of_too_many_caches_that_stayed_behind_half_the_room_is_for_those_that_did_not() {
    let stream = (0..500).fold(Sample::new(&[("steady", 500)]), |stream, producer| {
        let pair = Pair("steady", producer, 0);
        let stream = stream.counted(pair, (0, 3), "start", 2, 900);
        match producer {
            300.. => stream.counted(pair, (3, 6), "age", 3, 12_000),
            // Over before the topic grew: it could not follow.
            0..5 => stream.totals("steady", producer, Totals::default(), &[], 3),
            _ => stream,
        }
    });
    let mut stream = stream;
    for fact in stream.facts.iter_mut().filter(|stamped| matches!(stamped.fact, Fact::ProducerTotals { .. })) {
        fact.time_us = 5_000_000;
    }
    let caches = series(&stream.end(30_000)).caches;
    let of =
        |is: fn(usize) -> bool| caches.counts.iter().filter(|lane| is(lane.events.len())).map(|lane| lane.producer).collect::<Vec<_>>();
    let (behind, followed) = (of(|events| events == 1), of(|events| events == 2));
    assert_eq!((behind.len(), followed.len(), caches.counts_left_out), (100, 100, 300));
    assert_eq!(behind[0], 5, "those that were over before did not stay behind");
}

/// A run that was killed is drawn up to its last fact, not up to the end that its plan has.
#[test]
fn a_run_that_was_cut_off_ends_with_its_last_fact() {
    let stream = Sample::new(&[("steady", 1)]).load("steady", -2, 12).at(12_500, Fact::FactsLost { count: 1 });
    let found = series(&stream);
    assert_eq!((found.to_ms, found.phases.last().map(|phase| phase.to_ms)), (12_500, Some(12_500)));
}
