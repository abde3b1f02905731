//! Streams in, figures over time out.

mod known;

use super::findings::{OutageColumn, OutageRow, SeriesFinding};
use super::number::Number;
use crate::analyze::Analysis;
use crate::record::broker::{Led, LogEnd, Usage};
use crate::record::fact::Phase;
use crate::record::histogram::LatencyHistogram;
use crate::record::sample::layers::Part;
use crate::record::sample::scenes::{cluster, killed};
use crate::record::sample::{Pair, Sample};

fn series(stream: &Sample) -> SeriesFinding {
    let mut analysis = Analysis::new();
    stream.facts.iter().for_each(|fact| analysis.fold(fact));
    analysis.series()
}

fn numbers(line: &[Option<Number>]) -> Vec<Option<f64>> {
    line.iter().map(|number| number.map(|number| number.0)).collect()
}

#[test]
fn a_second_is_a_bucket_and_what_nobody_told_is_unknown() {
    let stream = Sample::new(&[("steady", 1), ("other", 1)]).load("steady", -2, 0).second("steady", 2, |second| {
        second.counts.failed = 7;
        (second.metadata_requests, second.stalled_pairs) = (None, None);
        second.histograms.clear();
    });
    let timeline = series(&stream.second("other", 0, |second| second.metadata_requests = None)).timeline;
    assert_eq!((timeline.time_ms, timeline.bucket_ms), (vec![-2_000, -1_000, 0, 1_000, 2_000], 1_000));
    let [steady, other] = timeline.groups.try_into().unwrap();
    assert_eq!(numbers(&steady.ok), [Some(100.0), Some(100.0), None, None, Some(100.0)]);
    assert_eq!(numbers(&steady.failed), [Some(0.0), Some(0.0), None, None, Some(7.0)]);
    assert_eq!(steady.stalled_pairs, [Some(0), Some(0), None, None, None]);
    assert_eq!((steady.response_p99_us[1], steady.response_max_us[1], steady.response_p50_us[4]), (Some(2_000), Some(3_000), None));
    assert_eq!((steady.requests.map(|reasons| reasons.len()), other.requests), (Some(0), None));
}

#[test]
fn metadata_requests_are_told_by_reason_and_a_second_without_a_count_is_a_gap() {
    let stream = Sample::new(&[("steady", 1)]).asking("steady", 0, 3).second("steady", 1, |second| second.metadata_requests = None);
    let requests = series(&stream.asking("steady", 2, 0)).timeline.groups[0].requests.clone().unwrap();
    assert_eq!(numbers(&requests["disconnect"]), [Some(3.0), None, Some(0.0)]);
}

/// 1500 s do not fit: four of them share a bucket.
#[test]
fn wider_buckets_keep_counts_and_greatest_values() {
    let mut slow = LatencyHistogram::new();
    slow.record(9_000_017);
    let mut stream = Sample::new(&[("steady", 1)]);
    for second in 0..1_500 {
        stream = stream.second("steady", second, |figures| {
            // One histogram is enough, and reading them is slow without optimization.
            figures.histograms.clear();
            figures.in_flight = if second == 700 { 900 } else { 1 };
            if second == 701 {
                figures.put_histogram("response_ok", &slow).unwrap();
            }
        });
    }
    let timeline = series(&stream).timeline;
    let group = &timeline.groups[0];
    assert_eq!((timeline.bucket_ms, timeline.time_ms.len(), timeline.time_ms[1]), (4_000, 375, 4_000));
    assert!(numbers(&group.ok).iter().all(|rate| *rate == Some(100.0)));
    assert_eq!((group.in_flight[175], group.in_flight.iter().flatten().max()), (Some(900), Some(&900)));
    assert_eq!((group.response_max_us[175], group.response_max_us.iter().flatten().count()), (Some(9_000_017), 1));
}

#[test]
fn phases_last_until_the_next_and_the_last_until_the_end() {
    let stream =
        Sample::new(&[("steady", 1)]).load("steady", -2, 12).at(10_000, crate::record::fact::Fact::PhaseStarted { phase: Phase::Steps });
    let cut = series(&stream);
    let spans: Vec<_> = cut.phases.iter().map(|phase| (phase.name, phase.from_ms, phase.to_ms)).collect();
    assert_eq!(spans, [("warm-up", -2_000, 0), ("steady", 0, 10_000), ("steps", 10_000, 12_000)]);
    assert_eq!((cut.from_ms, cut.to_ms), (-2_000, 12_000));
    let whole = series(&stream.end(13_000));
    assert_eq!((whole.phases.len(), whole.phases[2].to_ms, whole.to_ms), (3, 13_000, 13_000));
}

#[test]
fn a_kill_shows_in_partitions_caches_and_outages() {
    let found = series(&killed());
    let moved = &found.partitions.topics[0];
    assert_eq!((moved.topic.as_str(), moved.partition), ("orders", 0));
    assert_eq!(moved.events, [(-1_500, Some(2), Some(4), vec![1, 2, 3], 3), (19_001, Some(3), Some(5), vec![1, 3], 3)]);
    let cache = found.caches.leaders.iter().find(|lane| lane.producer == 0 && lane.partition == 0).unwrap();
    assert_eq!(cache.events, [(-1_300, Some(2)), (19_040, Some(3))]);
    assert_eq!(found.caches.counts[0].events, [(-1_300, 3, Some("start".to_owned()))]);
    let map = found.outages;
    assert_eq!(map.rows[1], OutageRow { group: "steady".to_owned(), producer: 1, due_until_ms: Some(40_000) });
    assert_eq!(map.columns[1], OutageColumn { topic: "orders".to_owned(), partition: 1 });
    assert_eq!((map.steps[0].step, map.steps[0].cells.as_slice()), (1, &[(0, 0, 9_280, true), (1, 1, 9_030, true)][..]));
    assert_eq!((map.left_out, found.caches.leaders_left_out, found.partitions.left_out), (0, 0, 0));
}

#[test]
fn an_outage_that_does_not_end_is_marked() {
    let stream = Sample::new(&[("steady", 1)]).pairs("steady", 1, 1).load("steady", -2, 30).step(1, "kill", "1", 10_000);
    let map = series(&stream.gap(Pair("steady", 0, 0), 10_000, None).end(30_000)).outages;
    assert_eq!(map.steps[0].cells, [(0, 0, 20_000, false)]);
}

/// A pair without a record has no outage because it has no service: the map says since when each is in use, and up to when.
#[test]
fn pairs_that_were_never_used_are_told_from_those_that_did_not_stall() {
    let stream = Sample::new(&[("steady", 2)]).load("steady", -2, 30).first_used(Pair("steady", 0, 0), -1_000);
    let stream = stream.first_used(Pair("steady", 1, 1), 15_000).step(1, "kill", "1", 10_000).step(2, "start", "1", 14_000);
    let map = series(&stream.gap(Pair("steady", 0, 0), 10_000, Some(13_000)).end(30_000)).outages;
    assert_eq!(map.first_due_ms, [[Some(-1_000), None], [None, Some(15_000)]]);
    assert_eq!((map.steps[0].requested_ms, map.steps[0].until_ms), (10_000, Some(14_000)));
    assert_eq!(map.rows[0].due_until_ms, Some(30_000));
}

#[test]
fn rows_columns_and_steps_without_room_are_counted() {
    // Records are due to the end.
    let mut stream = Sample::new(&[("steady", 1)]).pairs("steady", 1, 130).load("steady", -2, 12).second("steady", 1_100, |_| {});
    for step in 1..=520 {
        let at_ms = 10_000 + 2_000 * i64::from(step);
        stream = stream.step(step, "kill", "1", at_ms).gap(Pair("steady", 0, 7), at_ms, Some(at_ms + 900));
    }
    let map = series(&stream.end(2_000_000)).outages;
    assert_eq!((map.rows.len(), map.rows_left_out, map.columns.len(), map.columns_left_out), (1, 0, 100, 30));
    assert_eq!((map.steps.len(), map.steps_left_out, map.left_out), (400, 120, 120));
}

#[test]
fn nodes_and_high_watermarks_are_unknown_where_nobody_knew() {
    let led = |partition: i32, epoch: i32, high_watermark: Option<i64>| Led {
        leaders: 1,
        under_replicated: 0,
        probed: vec![LogEnd {
            topic: "orders".into(),
            partition: crate::ids::PartitionIndex(partition),
            leader_epoch: Some(crate::ids::LeaderEpoch(epoch)),
            replicas: Some(3),
            high_watermark,
            log_end_offset: None,
        }],
    };
    let usage =
        |at: i64, cpu_us: u64| Some(Usage { read_at_us: at, cpu_us_total: Some(cpu_us), memory_bytes: Some(7), ..Usage::default() });
    let stream = Sample::new(&[])
        .broker(1, 0, |seen| (seen.state, seen.usage, seen.led) = (Some("running".to_owned()), usage(0, 0), Some(led(0, 4, Some(10)))))
        .broker(1, 1, |seen| (seen.usage, seen.led) = (usage(1_000_000, 250_000), Some(led(0, 4, Some(20)))))
        .broker(2, 1, |seen| seen.led = Some(led(0, 5, Some(25))))
        .broker(1, 3, |seen| seen.led = Some(led(0, 6, None)));
    let found = series(&stream);
    let [first, second] = &found.brokers.nodes[..] else { panic!("{:?}", found.brokers.nodes) };
    assert_eq!(numbers(&first.cpu_percent), [None, Some(25.0), None, None]);
    assert_eq!((&first.state[0], &first.state[1], first.memory_bytes[1]), (&Some("running".to_owned()), &None, Some(7)));
    assert_eq!(second.leaders, [None, Some(1), None, None]);
    let marks = [(1_000, Some(10)), (2_000, Some(25)), (3_000, None), (4_000, None)];
    assert_eq!(found.partitions.topics[0].high_watermark, marks);
}

#[test]
fn of_too_many_partitions_those_that_changed_are_kept() {
    let mut stream = cluster();
    for partition in 10..80 {
        stream = stream.record(600, Part(partition, 1, 0, &[1, 2]).made(), 1_000);
    }
    let changed = [Part(79, 2, 1, &[2]), Part(79, 1, 2, &[1, 2])];
    let found = series(&changed.into_iter().fold(stream, |stream, part| stream.record(601, part.changed(), 2_000))).partitions;
    assert_eq!((found.topics.len(), found.left_out), (40, 33));
    assert_eq!(found.topics.last().map(|lane| (lane.partition, lane.events.len())), Some((79, 3)));
}

#[test]
fn of_too_many_caches_those_with_outages_are_kept() {
    let mut stream = Sample::new(&[("steady", 300)]).pairs("steady", 300, 1).load("steady", -2, 30).step(1, "kill", "1", 10_000);
    for producer in 0..300 {
        let pair = Pair("steady", producer, 0);
        stream = stream.learned(pair, Part(0, 1, 4, &[1]), 1, 2, -1_300).learned(pair, Part(0, 2, 5, &[2]), 2, 3, 12_000);
    }
    let found = series(&stream.gap(Pair("steady", 299, 0), 10_000, Some(12_500)).end(30_000));
    let producers: Vec<u32> = found.caches.leaders.iter().map(|lane| lane.producer).collect();
    assert_eq!((producers.len(), producers.last(), found.caches.leaders_left_out), (200, Some(&299), 100));
    assert_eq!((found.outages.rows.len(), found.outages.steps[0].cells.as_slice()), (100, &[(99, 0, 2_500, true)][..]));
}
