//! Findings and verdicts of whole streams.

use super::*;
use crate::ids::ProducerIndex;
use crate::record::broker::BrokerSecond;
use crate::record::fact::{ConsumerSecond, GroupSecond, Phase, StepOutcome, UNKNOWN_REASON};
use crate::record::sample::{Pair, Sample};

fn findings(stream: &Sample) -> Findings {
    let mut analysis = Analysis::new();
    stream.facts.iter().for_each(|fact| analysis.fold(fact));
    analysis.finish()
}

fn calm() -> Sample {
    Sample::new(&[("steady", 1)]).pairs("steady", 1, 2).load("steady", -2, 20).generator(-2, 20, 1_000)
}

fn killed() -> Sample {
    calm().step(1, "kill", "2", 12_000)
}

#[test]
fn what_a_deleted_topic_held_is_told_as_gone() {
    let summary = |stream: Sample| findings(&stream.end(20_000)).summary.join(" ");
    assert!(summary(killed()).contains("no record failed."));
    let once = killed().step(2, "recreate-topic", "orders (as it was)", 14_000);
    let told = summary(once);
    assert!(told.contains("no record failed. Topic `orders` was deleted: what was acknowledged there before is gone"), "{told}");
    let twice = killed().step(2, "recreate-topic", "orders (3 partitions)", 14_000).step(3, "delete-topic", "orders", 16_000);
    assert!(summary(twice).contains("Topic `orders` was deleted 2 times:"));
}

/// The reason against a run in which one pair hangs.
const HANGS: &str = "1 producer-partition pair of group `steady` had not recovered by the end";

/// The reason against a run whose generator froze.
const STOOD_STILL: &str = "the load generator was late: it stood still for 501 ms, the limit is 500 ms: outages may be its own";

/// The reason against a run in which a node ended that no step had touched.
const ENDED: &str = "the container of node 3 ended (seen at 14 s), by no step of the plan: what clients met is not what the plan says";

#[test]
fn verdicts_and_their_first_reasons() {
    let lost = |stream: Sample| stream.at(15_000, Fact::FactsLost { count: 3 });
    let refused = |stream: Sample| stream.at(15_000, Fact::RelayRefused { connections: 2 });
    let hang = |stream: Sample| stream.gap(Pair("steady", 0, 0), 12_000, None);
    let unmet = |stream: Sample| stream.expect("records.ok", ">=", 1e9);
    let stopped = |stream: Sample| stream.at(16_000, Fact::RunEnded { interrupted: Some("SIGINT".to_owned()) });
    let ended = |seen: &mut BrokerSecond| seen.state = Some("exited".to_owned());
    let out_of_files = |second, count, stream: Sample| stream.generator_second(second, |told| told.refused_connections = count);
    let damaged = |second: &mut ConsumerSecond| second.end_to_end = Some("none".to_owned());
    let table: [(Sample, Verdict, &str); 28] = [
        (calm().end(20_000), Verdict::Pass, ""),
        (killed().expect("records.failed", "==", 0.0).end(20_000), Verdict::Pass, ""),
        (unmet(killed()).end(20_000), Verdict::Fail, "expected records.ok >= 1000000000, but it is 2200"),
        (calm().child(1, None, None, "kill", "9", 12_000).end(20_000), Verdict::Fail, "step 1 `kill 9` did not end"),
        (
            calm().child(1, None, None, "kill", "9", 12_000).done(1, 12_000, StepOutcome::NoOp).end(20_000),
            Verdict::Fail,
            "step 1 `kill 9` changed nothing (seen)",
        ),
        (hang(unmet(killed())).end(20_000), Verdict::Hang, HANGS),
        (
            refused(killed()).end(20_000),
            Verdict::Unknown,
            "the relay could not take or pass on 2 connections: too many open files (`chaos doctor` shows the limit)",
        ),
        (lost(hang(killed())).end(20_000), Verdict::Unknown, "3 facts were lost: the writer could not keep up"),
        (
            killed().generator(0, 10, 30_000).end(20_000),
            Verdict::Unknown,
            "the load generator was late: p99 30 ms in the baseline, the limit is 20 ms",
        ),
        (killed().generator(11, 12, 501_000).end(20_000), Verdict::Unknown, STOOD_STILL),
        (killed().generator(11, 12, 500_000).end(20_000), Verdict::Pass, ""),
        (killed().generator_second(18, |told| told.told_late_us = 501_000).end(20_000), Verdict::Unknown, STOOD_STILL),
        // A stall of the warm-up counts as far as it reaches into the baseline.
        (killed().generator_second(-2, |told| told.told_late_us = 1_501_000).end(20_000), Verdict::Unknown, STOOD_STILL),
        (killed().generator_second(-2, |told| told.told_late_us = 1_500_000).end(20_000), Verdict::Pass, ""),
        (
            out_of_files(15, 3, out_of_files(3, 2, killed())).end(20_000),
            Verdict::Unknown,
            "3 connections to brokers could not be made: this process may open no more files (`chaos doctor` shows the limit)",
        ),
        (killed().broker(3, 13, ended).end(20_000), Verdict::Unknown, ENDED),
        (killed().consumer("reader", 0, 1, damaged).end(20_000), Verdict::Unknown, "1 histograms cannot be read"),
        (Sample::new(&[("idle", 1)]).end(20_000), Verdict::Unknown, "group `idle` never sent"),
        (
            unacknowledged(Sample::new(&[("late", 1)]), 5).load("late", 10, 20).step(1, "kill", "2", 12_000).end(20_000),
            Verdict::Unknown,
            "no record was acknowledged in the baseline: outages cannot be told from ordinary slowness",
        ),
        // By the plan, it begins after the baseline.
        (Sample::new(&[("late", 1)]).load("late", 10, 20).step(1, "kill", "2", 12_000).end(20_000), Verdict::Pass, ""),
        (of_group("steady", hang(killed()).expect("outage.hang", "==", 1.0)).end(20_000), Verdict::Pass, ""),
        (
            of_group("steady", hang(killed()).expect("outage.hang", "==", 0.0)).end(20_000),
            Verdict::Fail,
            "expected outage.hang == 0 (steady), but it is 1",
        ),
        (over("baseline", of_group("steady", hang(killed()).expect("outage.hang", "==", 0.0))).end(20_000), Verdict::Hang, HANGS),
        (of_group("other", hang(killed()).expect("outage.hang", "<=", 1.0)).end(20_000), Verdict::Hang, HANGS),
        (
            killed().expect("partitions.cached.min", "==", 6.0).end(20_000),
            Verdict::Unknown,
            "expected partitions.cached.min == 6, but it could not be measured: the client does not tell it",
        ),
        (
            unmet(killed().expect("partitions.cached.min", "==", 6.0)).end(20_000),
            Verdict::Fail,
            "expected records.ok >= 1000000000, but it is 2200",
        ),
        (stopped(lost(killed())), Verdict::Interrupted, "the run was interrupted: SIGINT"),
        (killed(), Verdict::Interrupted, "the facts end before the run did: it was killed, or could not write any more"),
    ];
    for (stream, verdict, reason) in table {
        let findings = findings(&stream);
        let first = findings.reasons.first().map_or("", String::as_str);
        assert_eq!((findings.verdict, first), (verdict, reason));
    }
}

#[test]
fn what_never_recovered_lasts_until_the_end_of_the_load_however_long_the_audit_takes() {
    let longest_ms = |run_ended_ms: i64| {
        let stream = killed().gap(Pair("steady", 0, 0), 12_000, None).at(20_000, Fact::PhaseStarted { phase: Phase::End });
        findings(&stream.at(run_ended_ms, Fact::RunEnded { interrupted: None })).steps[0].outages[0].outage_ms.map(|spread| spread.max)
    };
    assert_eq!([longest_ms(20_000), longest_ms(80_000)], [Some(8_000); 2]);
}

#[test]
fn a_clock_that_is_set_is_told_and_one_that_drifts_is_not() {
    let warned = |steps: [i64; 3]| {
        let set = |stream: Sample, (second, by)| stream.generator_second(second, |told| told.wall_set_by_us = by);
        let stream = (2..).zip(steps).fold(killed(), set).end(20_000);
        findings(&stream).warnings.into_iter().filter(|warning| warning.contains("clock was set")).collect::<Vec<_>>()
    };
    assert_eq!(warned([5_000, 150_000, 300_000]), [""; 0]);
    let said = warned([0, -7_200_000_000, 90_000_000]);
    assert!(said.len() == 1 && said[0].starts_with("this machine's clock was set by 7290.0 s at once"), "{said:?}");
}

/// A second in which nothing is acknowledged.
fn unacknowledged(stream: Sample, second: i64) -> Sample {
    let group = stream.facts.iter().find_map(|stamped| match &stamped.fact {
        Fact::RunStarted(run) => Some(run.groups[0].name.clone()),
        _ => None,
    });
    stream.second(&group.unwrap(), second, |figures| {
        figures.counts = Totals { due: 10, sent: 10, failed: 10, ..Totals::default() };
        figures.histograms.clear();
    })
}

/// The last expectation, of that group alone.
fn of_group(name: &str, mut stream: Sample) -> Sample {
    if let Some(Fact::Expected { group, .. }) = stream.facts.last_mut().map(|stamped| &mut stamped.fact) {
        *group = Some(name.to_owned());
    }
    stream
}

/// The last expectation, over that window alone.
fn over(name: &str, mut stream: Sample) -> Sample {
    if let Some(Fact::Expected { window, .. }) = stream.facts.last_mut().map(|stamped| &mut stamped.fact) {
        *window = Some(name.to_owned());
    }
    stream
}

#[test]
fn a_group_without_any_ack_hangs_unless_the_plan_speaks_of_it() {
    let deaf = || (-2..20).fold(Sample::new(&[("steady", 1)]).pairs("steady", 1, 1), unacknowledged);
    assert_eq!(findings(&deaf().end(20_000)).verdict, Verdict::Hang);
    assert_eq!(findings(&of_group("steady", deaf().expect("outage.hang", "==", 0.0)).end(20_000)).verdict, Verdict::Hang);
    let spoken_of = || of_group("steady", deaf().expect("records.ok", "==", 0.0));
    assert_eq!(findings(&spoken_of().end(20_000)).verdict, Verdict::Pass);
    assert_eq!(findings(&spoken_of().gap(Pair("steady", 0, 0), 10, None).end(20_000)).verdict, Verdict::Pass);
    for (metric, comparison, bound, verdict) in [
        ("records.failed", ">=", 1.0, Verdict::Pass),
        ("records.failed-percent", "==", 100.0, Verdict::Pass),
        // Met, and yet no word on whether any record got through.
        ("records.failed", ">=", 0.0, Verdict::Hang),
        ("records.indeterminate", "==", 0.0, Verdict::Hang),
        ("records.sent", ">=", 1.0, Verdict::Hang),
    ] {
        let stream = of_group("steady", deaf().expect(metric, comparison, bound));
        assert_eq!(findings(&stream.end(20_000)).verdict, verdict, "{metric} {comparison} {bound}");
    }
}

#[test]
fn expectations_are_told_with_their_figures() {
    let stream = killed()
        .gap(Pair("steady", 0, 0), 12_000, Some(21_000))
        .totals("steady", 0, Totals { due: 30, sent: 29, ok: 20, failed: 5, indeterminate: 4 }, &[("age", 3), ("start", 1)], 6)
        .end(60_000);
    let mut analysis = Analysis::new();
    let metrics = ["records.failed", "outage.max", "latency.p99", "metadata-requests.per-producer", "partitions.cached.min", "records.new"];
    let stream = metrics.iter().fold(stream, |stream, name| stream.expect(name, ">", 1.0));
    stream.facts.iter().for_each(|fact| analysis.fold(fact));
    let values: Vec<_> = analysis.finish().expectations.iter().map(|e| (e.text.clone(), e.value_in_words.clone())).collect();
    let expected = [
        ("records.failed > 1", "5"),
        ("outage.max > 1 ms", "9000 ms"),
        ("latency.p99 > 1 ms", "2 ms"),
        ("metadata-requests.per-producer > 1", "4"),
        ("partitions.cached.min > 1", "6"),
        ("records.new > 1", "not measured"),
    ];
    assert_eq!(values, expected.map(|(text, value)| (text.to_owned(), value.to_owned())));
}

#[test]
fn latencies_are_told_by_window() {
    let group = &findings(&calm().end(20_000)).groups[0];
    let counts = [&group.latency.warmup, &group.latency.baseline, &group.latency.after].map(|w| w.response.unwrap().count);
    assert_eq!(counts, [200, 1_000, 1_000]);
    assert_eq!(group.latency.baseline.response.unwrap().max_us, 3_000);
    assert_eq!(group.outage_threshold_ms, 502);
}

#[test]
fn the_generator_tells_of_the_baseline_and_of_the_whole_load() {
    let generator = findings(&calm().end(20_000)).generator;
    assert_eq!(generator.baseline_cpu_percent, Some(10.0));
    assert_eq!((generator.lateness_p99_us, generator.rss_bytes_max, generator.threads_max), (Some(1_000), 40_000_000, 3));
    assert!((generator.cpu_seconds - 2.9).abs() < 1e-9, "{}", generator.cpu_seconds);
}

#[test]
fn requests_are_counted_from_totals_or_else_from_events_and_must_agree() {
    let events = calm().request("steady", 0, "start", -1_900).request("steady", 0, "age", 3_000);
    let cut_off = findings(&events);
    assert_eq!(cut_off.groups[0].metadata_requests.total, Some(2));
    let events = calm().request("steady", 0, "start", -1_900).request("steady", 0, "age", 3_000);
    let told = findings(&events.totals("steady", 0, Totals::default(), &[("start", 1), ("age", 4)], 6).end(20_000));
    let requests = &told.groups[0].metadata_requests;
    assert_eq!((requests.total, requests.by_age_per_producer.unwrap().max, requests.response_bytes), (Some(5), 4, Some(800)));
    assert!(told.warnings[0].contains("count their Metadata requests otherwise"), "{:?}", told.warnings);
}

#[test]
fn the_order_of_facts_within_a_second_does_not_matter() {
    let stream = killed().gap(Pair("steady", 0, 0), 12_000, Some(21_000)).end(30_000);
    let first = findings(&stream);
    let mut facts = stream.facts;
    facts[1..].reverse();
    assert_eq!(findings(&Sample { facts }).groups, first.groups);
}

/// A group whose client counts its Metadata requests without reasons, and one whose client tells nothing of itself.
fn foreign() -> Sample {
    let without_reasons = |second: &mut GroupSecond| {
        second.metadata_requests = Some(BTreeMap::from([(UNKNOWN_REASON.to_owned(), 1)]));
        (second.metadata_request_bytes, second.metadata_response_bytes, second.blocked_metadata) = (None, None, None);
    };
    let silent = |second: &mut GroupSecond| {
        without_reasons(second);
        (second.metadata_requests, second.cached_partitions_min, second.cached_partitions_max) = (None, None, None);
    };
    let told = |group: &str, requests: Option<u64>, cached: Option<u32>| Fact::ProducerTotals {
        group: group.to_owned(),
        producer: ProducerIndex(0),
        totals: Totals { due: 1_200, sent: 1_200, ok: 1_200, failed: 0, indeterminate: 0 },
        metadata_requests: requests.map(|count| BTreeMap::from([(UNKNOWN_REASON.to_owned(), count)])),
        blocked_metadata_us: None,
        blocked_memory_us: Some(0),
        cached_partitions: cached.map(|count| BTreeMap::from([("orders".to_owned(), count)])),
    };
    let mut stream = Sample::new(&[("counting", 1), ("silent", 1)]);
    for second in -2..10 {
        stream = stream.second("counting", second, without_reasons).second("silent", second, silent);
    }
    stream.at(60_000, told("counting", Some(12), Some(6))).at(60_000, told("silent", None, None))
}

#[test]
fn what_a_client_cannot_tell_is_unknown_and_never_zero() {
    let findings = findings(&foreign().end(60_000));
    let [counting, silent] = &findings.groups[..] else { panic!() };
    let requests = &counting.metadata_requests;
    assert_eq!((requests.total, requests.per_producer.map(|spread| spread.max)), (Some(12), Some(12)));
    assert_eq!((requests.by_age_per_producer, requests.request_bytes, &requests.by_outcome), (None, None, &None));
    assert_eq!((counting.blocked_metadata_ms, counting.blocked_memory_ms, counting.cached_partitions), (None, Some(0), Some((6, 6))));
    let requests = &silent.metadata_requests;
    assert_eq!((requests.total, requests.per_producer, requests.response_bytes), (None, None, None));
    assert_eq!(silent.cached_partitions, None);
    assert!(findings.warnings.is_empty(), "{:?}", findings.warnings);
}

#[test]
fn a_foreign_client_that_was_cut_off_has_the_count_of_its_seconds() {
    let mut stream = foreign();
    stream.facts.retain(|stamped| !matches!(stamped.fact, Fact::ProducerTotals { .. }));
    let findings = findings(&stream);
    let totals: Vec<Option<u64>> = findings.groups.iter().map(|group| group.metadata_requests.total).collect();
    assert_eq!(totals, [Some(12), None]);
}

#[test]
fn an_expectation_over_an_unknown_metric_is_unknown() {
    for (metric, met) in [
        ("metadata-requests.by-age.per-producer", None),
        ("metadata-requests.per-producer", None),
        ("partitions.cached.min", None),
        ("partitions.cached.max", None),
        ("records.failed", Some(true)),
    ] {
        let findings = findings(&foreign().expect(metric, "==", 0.0).end(60_000));
        assert_eq!(findings.expectations[0].met, met, "{metric}");
        let verdict = if met.is_some() { Verdict::Pass } else { Verdict::Unknown };
        assert_eq!(findings.verdict, verdict, "{metric}: {:?}", findings.reasons);
    }
}
