//! The page of a made-up run, to the letter.

use std::path::Path;

use super::*;
use crate::analyze::Analysis;
use crate::ids::{BrokerId, ProducerIndex, TopicName, UpdateVersion};
use crate::record::broker::Usage;
use crate::record::fact::{Fact, StepOutcome, Totals};
use crate::record::histogram::LatencyHistogram;
use crate::record::sample::scenes::{STEADY, cluster, killed};
use crate::record::sample::{Pair, Sample};

fn page(stream: &Sample) -> String {
    let mut analysis = Analysis::new();
    stream.facts.iter().for_each(|fact| analysis.fold(fact));
    render(
        analysis.run(),
        &analysis.finish(),
        Some(Place { folder: Path::new("results/2026-11-29T10-00-00Z-sample"), has_page: true }),
        false,
    )
}

fn first_ack(producer: u32, ack_us: u64) -> Fact {
    Fact::FirstAck {
        group: "steady".to_owned(),
        producer: ProducerIndex(producer),
        connected_us: Some(1_200),
        ready_us: Some(2_900),
        metadata_us: Some(6_100),
        producer_id_us: Some(8_300),
        ack_us,
    }
}

fn lives(stream: Sample, group: &str, requests: &[(&str, u64)]) -> Sample {
    let totals = Totals { due: 2_100, sent: 2_100, ok: 2_100, failed: 0, indeterminate: 0 };
    stream.totals(group, 0, totals, requests, 6).totals(group, 1, totals, requests, 6)
}

/// Two rounds over two nodes: in each, every pair stalls; node 1 is the active controller.
fn rolling() -> Sample {
    let mut stream = Sample::new(&[("steady", 2)])
        .expect("records.failed", "==", 0.0)
        .expect("outage.max", "<", 12_000.0)
        .pairs("steady", 2, 2)
        .at(-1_900, first_ack(0, 14_000))
        .at(-1_900, first_ack(1, 31_000))
        .load("steady", -2, 40)
        .generator(-2, 40, 900)
        .child(1, None, None, "rolling", "all (kill, down 4s)", 10_000);
    for (round, node, at, until) in [(1, "1", 10_000, 23_200), (2, "2", 30_000, 39_000)] {
        let step = round * 2;
        stream = stream.child(step, Some(1), Some(round), "kill", node, at).done(step, at + 100, StepOutcome::Done);
        stream = stream.child(step + 1, Some(1), Some(round), "start", node, at + 4_000).done(step + 1, at + 4_300, StepOutcome::Done);
        for (producer, partition) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            stream = stream.gap(Pair("steady", producer, partition), at - 20, Some(until + i64::from(partition) * 40));
        }
    }
    let mut stream = stream.done(1, 39_500, StepOutcome::Done);
    for producer in 0..2 {
        stream = stream.request("steady", producer, "start", -1_900).request("steady", producer, "age", 8_000);
        stream = (0..4).fold(stream, |stream, second| stream.request("steady", producer, "disconnect", 10_000 + second * 1_000));
    }
    lives(stream, "steady", &[("start", 1), ("disconnect", 4), ("age", 1)]).end(60_000)
}

#[test]
fn a_rolling_kill_reads_like_this() {
    insta::assert_snapshot!(page(&rolling()));
}

fn count(group: &str, producer: u32, counts: (u32, u32), reason: &str) -> Fact {
    Fact::PartitionCount {
        group: group.to_owned(),
        producer: ProducerIndex(producer),
        topic: TopicName::from("orders"),
        topic_id: None,
        from: counts.0,
        to: counts.1,
        node: Some(BrokerId(1)),
        reason: Some(reason.to_owned()),
        update_version: Some(UpdateVersion(2)),
    }
}

#[test]
fn growth_and_a_failure_read_like_this() {
    let mut stream = Sample::new(&[("fast", 2), ("slow", 2)]).expect("records.indeterminate", "==", 0.0);
    for group in ["fast", "slow"] {
        stream = stream.pairs(group, 2, 3).load(group, -2, 25);
        stream = stream.at(-1_900, count(group, 0, (0, 3), "start")).at(-1_900, count(group, 1, (0, 3), "start"));
    }
    let stream = stream
        .step(1, "add-partitions", "orders 3 -> 6", 10_000)
        .at(11_400, count("fast", 0, (3, 6), "age"))
        .first_used(Pair("fast", 0, 5), 11_700)
        .at(14_900, count("fast", 1, (3, 6), "age"))
        .at(12_900, count("slow", 1, (3, 6), "disconnect"))
        .second("slow", 25, |second| second.counts.indeterminate = 2)
        .gap(Pair("slow", 0, 1), 3_000, Some(4_500))
        .end(26_000);
    insta::assert_snapshot!(page(&stream));
}

/// A kill that is noticed and followed, and then a stop whose clients never learn where to go.
fn layered() -> Sample {
    use crate::record::sample::layers::{Part, answered, stopping};
    let back = Part(0, 1, 6, &[1, 2, 3]);
    let stream = killed()
        .followed(None, 10_050)
        .followed(Some(3), 12_800)
        .learned(Pair("steady", 1, 0), Part(0, 3, 5, &[1, 3]), 3, 4, 19_090)
        .asked(Pair("steady", 1, 0), answered(3, "disconnect", 4), 19_090)
        .step(2, "stop", "3", 30_000)
        .record(510, stopping(3), 30_200)
        .record(511, back.changed(), 30_210)
        .committed(511, 30_230);
    let stream = [1, 2].iter().fold(stream, |stream, node| stream.fetched(*node, 511, 30_232).shows_partition(*node, back, 30_240));
    stream
        .serves(1, back, None, 30_250)
        .gap(STEADY, 30_215, None)
        .probes(-2, 10, 12, 8_000, 0)
        .probes(10, 20, 240, 90_000, 1_000)
        .end(45_000)
}

#[test]
fn the_layers_of_two_steps_read_like_this() {
    let page = page(&layered());
    let from = page.find("Layers, from").unwrap();
    let until = page.find("Records\n").unwrap();
    let probes = page.find("Probes\n").unwrap();
    insta::assert_snapshot!(format!("{}\n{}", &page[from..until], &page[probes..]));
}

#[test]
fn a_run_in_which_nothing_is_held_up_says_so() {
    let page = page(&cluster().step(1, "elect-leaders", "orders", 10_000).end(20_000));
    assert!(page.contains("No layer held any step up beyond ordinary time."), "{page}");
    assert!(
        page.contains(
            "step 1, elect-leaders orders at 10.0 s: no change of a leader or an ISR was seen in the controller's log\n    held up by nothing\n"
        ),
        "{page}"
    );
}

#[test]
fn no_line_is_wider_than_a_screen_and_colours_only_add_to_the_text() {
    for stream in [rolling(), layered(), storm()] {
        let mut analysis = Analysis::new();
        stream.facts.iter().for_each(|fact| analysis.fold(fact));
        let findings = analysis.finish();
        narrow_and_bare(&analysis, &findings);
    }
}

fn narrow_and_bare(analysis: &Analysis, findings: &Findings) {
    let plain = render(analysis.run(), findings, None, false);
    assert!(plain.lines().all(|line| line.chars().count() <= 120), "{plain}");
    let coloured = render(analysis.run(), findings, None, true);
    let mut bare = String::new();
    for part in coloured.split('\x1b') {
        bare.push_str(part.strip_prefix('[').and_then(|part| part.split_once('m')).map_or(part, |(_, text)| text));
    }
    assert_eq!(bare, plain);
}

/// A kill with which producers ask much more than before, and requesters wait longer for their answers.
fn storm() -> Sample {
    let slow = {
        let mut slow = LatencyHistogram::new();
        slow.record_n(40_000, 99);
        slow.record(90_000);
        slow
    };
    let mut stream = Sample::new(&[("steady", 40)]);
    for second in -2..10 {
        stream = stream.asking("steady", second, u32::from(second == 4));
    }
    stream = stream.request("steady", 0, "age", 4_500).step(1, "kill", "2", 10_002);
    for producer in 0..40 {
        stream = stream.request("steady", producer, "disconnect", 10_010).request("steady", producer, "no_leader", 10_400);
    }
    stream = [(10, 80), (11, 0)].into_iter().fold(stream, |stream, (second, count)| stream.asking("steady", second, count));
    stream = stream.requesters("all", -2, 12, |second| {
        if second.second >= 10 {
            second.put_times(&slow, &slow).unwrap();
        }
    });
    stream = stream.requesters("none", -2, 12, |second| {
        (second.topics_max, second.partitions_max, second.response_bytes) = (Some(0), Some(0), 15_000);
    });
    (-2..12).fold(stream, |stream, second| {
        let up = if second < 10 { vec![1, 2] } else { vec![1] };
        up.into_iter().fold(stream, |stream, node| stream.broker(node, second, |seen| seen.usage = Some(busy(node, second))))
    })
}

/// A node that uses so many tenths of a core as its number says, and all of it in the last second.
fn busy(node: i32, second: i64) -> Usage {
    let tenths = i64::from(node) * (second + 2) + if second == 11 { 9 } else { 0 };
    Usage { read_at_us: (second + 1) * 1_000_000, cpu_us_total: u64::try_from(tenths * 100_000).ok(), ..Usage::default() }
}

#[test]
fn a_storm_reads_like_this() {
    let page = page(&storm().end(12_000));
    let said = page.lines().take_while(|line| !line.starts_with("plans/"));
    let part = page.lines().skip_while(|line| !line.starts_with("Requesters:")).take_while(|line| !line.starts_with("Load generator"));
    let part: Vec<&str> = said.chain(part).collect();
    insta::assert_snapshot!(part.join("\n"));
}

#[test]
fn requesters_have_a_part_of_their_own() {
    let stream = Sample::new(&[("steady", 1)]).load("steady", -2, 12).requesters("storm", -2, 12, |second| {
        if second.second == 11 {
            (second.ok, second.failed) = (90, 10);
            second.errors.insert("disconnected".to_owned(), 10);
        }
    });
    let page = page(&stream.end(12_000));
    let part: Vec<&str> = page.lines().skip_while(|line| !line.starts_with("Requesters:")).take(10).collect();
    insta::assert_snapshot!(part.join("\n"));
}
