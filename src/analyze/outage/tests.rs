//! Which stretches are outages, and whose.

use crate::analyze::Analysis;
use crate::analyze::findings::{Findings, OutageFigures, Verdict};
use crate::record::fact::{Fact, StepOutcome};
use crate::record::sample::{Pair, Sample};

/// A group of two producers on two partitions with a quiet baseline (p99 2 ms, so the threshold is 502 ms).
fn quiet() -> Sample {
    Sample::new(&[("steady", 2)]).pairs("steady", 2, 2).load("steady", -2, 40)
}

fn analysis(stream: &Sample) -> Analysis {
    let mut analysis = Analysis::new();
    stream.facts.iter().for_each(|fact| analysis.fold(fact));
    analysis
}

fn findings(stream: &Sample) -> Findings {
    analysis(stream).finish()
}

fn outage(findings: &Findings, step: u32) -> &OutageFigures {
    &findings.steps.iter().find(|finding| finding.step == step).unwrap().outages[0]
}

/// Least, median and greatest outage, and the greatest time from the request to the first ok.
fn figures(outage: &OutageFigures) -> (i64, i64, i64, Option<i64>) {
    let spread = outage.outage_ms.unwrap();
    (spread.min, spread.median, spread.max, outage.request_to_ok_ms.map(|spread| spread.max))
}

#[test]
fn a_kill_and_its_start_share_a_stretch_that_can_be_read_from_both() {
    let stream = quiet()
        .step(1, "kill", "2", 14_000)
        .step(2, "start", "2", 18_000)
        .gap(Pair("steady", 0, 0), 13_990, Some(24_000))
        .gap(Pair("steady", 1, 0), 14_020, Some(23_000))
        .end(40_000);
    let findings = findings(&stream);
    let (kill, start) = (outage(&findings, 1), outage(&findings, 2));
    assert_eq!((kill.pairs, kill.stalled, kill.began_before), (4, 2, 0));
    assert_eq!(figures(kill), (0, 0, 10_010, Some(10_000)));
    assert_eq!((start.stalled, start.began_before), (2, 2));
    assert_eq!(figures(start), (0, 0, 10_010, Some(6_000)));
    assert_eq!(start.own_ms, None);
    assert_eq!(findings.verdict, Verdict::Pass);
}

#[test]
fn a_stretch_within_the_threshold_is_no_outage() {
    let edge = |until_ms| quiet().step(1, "stop", "2", 14_000).gap(Pair("steady", 0, 0), 14_000, Some(until_ms)).end(40_000);
    assert_eq!(outage(&findings(&edge(14_502)), 1).stalled, 0);
    assert_eq!(outage(&findings(&edge(14_503)), 1).stalled, 1);
}

#[test]
fn a_rolling_step_counts_each_round_once() {
    let mut stream = quiet().child(1, None, None, "rolling", "all", 10_000);
    for (round, at) in [(1, 10_000), (2, 24_000)] {
        stream = stream
            .child(round * 2, Some(1), Some(round), "kill", "2", at)
            .done(round * 2, at + 100, StepOutcome::Done)
            .child(round * 2 + 1, Some(1), Some(round), "start", "2", at + 4_000)
            .done(round * 2 + 1, at + 4_100, StepOutcome::Done);
    }
    let stream = stream
        .gap(Pair("steady", 0, 0), 10_000, Some(19_000))
        .gap(Pair("steady", 0, 0), 23_990, Some(31_000))
        .done(1, 35_000, StepOutcome::Done)
        .end(40_000);
    let findings = findings(&stream);
    let rolling = outage(&findings, 1);
    assert_eq!((rolling.pairs, rolling.stalled, rolling.began_before), (8, 2, 0));
    assert_eq!(figures(rolling), (0, 0, 9_000, Some(9_000)));
    assert_eq!(rolling.own_ms.unwrap().min, 7_010);
    let of: Vec<i64> = (2..=5).map(|step| outage(&findings, step).outage_ms.unwrap().max).collect();
    assert_eq!(of, [9_000, 9_000, 7_010, 7_010], "the stretch that began 10 ms before round 2 is not round 1's");
}

#[test]
fn a_stretch_over_two_rounds_is_told_in_both() {
    let stream =
        quiet().step(1, "kill", "1", 12_000).step(2, "kill", "2", 20_000).gap(Pair("steady", 0, 1), 12_010, Some(28_000)).end(40_000);
    let findings = findings(&stream);
    assert_eq!((outage(&findings, 1).stalled, outage(&findings, 1).began_before), (1, 0));
    assert_eq!((outage(&findings, 2).stalled, outage(&findings, 2).began_before), (1, 1));
    assert_eq!(figures(outage(&findings, 2)), (0, 0, 15_990, Some(8_000)));
}

#[test]
fn an_open_stretch_is_a_hang_and_counts_until_the_end() {
    let stream = quiet().step(1, "kill", "2", 14_000).gap(Pair("steady", 0, 0), 14_000, None).end(40_000);
    let findings = findings(&stream);
    assert_eq!(outage(&findings, 1).never_recovered, 1);
    assert_eq!(figures(outage(&findings, 1)), (0, 0, 26_000, None));
    assert_eq!(findings.verdict, Verdict::Hang);
    assert_eq!(findings.reasons, ["1 producer-partition pair of group `steady` had not recovered by the end"]);
}

#[test]
fn an_unserved_last_record_is_no_hang_within_the_threshold() {
    let stream = quiet().step(1, "kill", "2", 14_000).gap(Pair("steady", 0, 0), 39_800, None).end(40_000);
    assert_eq!(findings(&stream).verdict, Verdict::Pass);
}

#[test]
fn without_a_step_there_is_no_outage_but_a_stall_does_not_vanish() {
    let calm = findings(&quiet().end(40_000));
    assert_eq!((calm.steps.len(), calm.outside_steps.len(), calm.verdict), (0, 0, Verdict::Pass));
    let stalled = findings(&quiet().gap(Pair("steady", 1, 1), 20_000, Some(22_000)).end(40_000));
    assert_eq!((stalled.steps.len(), stalled.verdict), (0, Verdict::Pass));
    let outside = &stalled.outside_steps[0];
    assert_eq!((outside.stalled, outside.outage_ms.unwrap().max), (1, 2_000));
}

#[test]
fn a_stall_that_began_in_the_warm_up_is_told_apart() {
    let warm = findings(&quiet().gap(Pair("steady", 1, 1), -2_000, Some(-500)).end(40_000));
    assert_eq!(warm.outside_steps, []);
    assert_eq!((warm.warm_up_stalls[0].stalled, warm.warm_up_stalls[0].outage_ms.unwrap().max), (1, 1_500));
}

#[test]
fn the_way_to_the_first_ack_is_no_stall() {
    let mut stream = quiet().gap(Pair("steady", 1, 1), -1_900, Some(-900));
    if let Some(Fact::Gap { last_ok_us, .. }) = stream.facts.last_mut().map(|stamped| &mut stamped.fact) {
        *last_ok_us = None;
    }
    let findings = findings(&stream.end(40_000));
    assert_eq!((findings.outside_steps, findings.warm_up_stalls), (Vec::new(), Vec::new()));
}

#[test]
fn pairs_that_came_later_or_had_stopped_are_no_zeros_of_a_step() {
    let stream = Sample::new(&[("early", 1), ("late", 1)])
        .first_used(Pair("early", 0, 0), 0)
        .load("early", 0, 12)
        .first_used(Pair("late", 0, 0), 20_000)
        .load("late", 20, 40)
        .step(1, "kill", "1", 10_000)
        .step(2, "kill", "2", 15_000)
        .step(3, "kill", "3", 30_000)
        .end(40_000);
    let findings = findings(&stream);
    let groups = |step: usize| findings.steps[step].outages.iter().map(|o| o.group.as_str()).collect::<Vec<_>>();
    assert_eq!((groups(0), groups(1), groups(2)), (vec!["early"], vec!["late"], vec!["late"]));
}

#[test]
fn rows_hold_every_pair_of_every_step() {
    let stream = quiet()
        .step(1, "kill", "2", 14_000)
        .gap(Pair("steady", 0, 0), 14_000, Some(15_000))
        .gap(Pair("steady", 0, 0), 17_000, None)
        .end(40_000);
    let analysis = analysis(&stream);
    let row = |zeros| {
        let row = |row: &crate::record::files::RecoveryRow| (row.producer.0, row.partition.0, row.outage_us / 1000, row.recovered);
        analysis.recovery_rows(zeros).iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(row(false), [(0, 0, 1_000, true), (0, 0, 23_000, false)]);
    assert_eq!(row(true), [(0, 0, 1_000, true), (0, 0, 23_000, false), (0, 1, 0, true), (1, 0, 0, true), (1, 1, 0, true)]);
}

#[test]
fn pairs_and_stretches_beyond_the_room_are_counted_and_make_the_run_unknown() {
    let stream = quiet().gap(Pair("steady", 0, 0), 12_000, Some(14_000)).gap(Pair("steady", 1, 1), 12_000, Some(14_000)).end(40_000);
    let mut analysis = Analysis::new();
    // There are four pairs.
    analysis.stretches.room = 3;
    stream.facts.iter().for_each(|fact| analysis.fold(fact));
    assert_eq!((analysis.stretches.pairs.len(), analysis.stretches.stretches.len(), analysis.stretches.not_kept), (3, 1, 2), "each once");
    let findings = analysis.finish();
    assert_eq!(findings.verdict, Verdict::Unknown);
    assert!(findings.reasons[0].contains("found no room"), "{:?}", findings.reasons);
}
