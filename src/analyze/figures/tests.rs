//! Figures of streams made by hand, one table per kind of metric.

mod requests;

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::record::broker::Usage;
use crate::record::fact::{Fact, StepOutcome, Totals};
use crate::record::histogram::LatencyHistogram;
use crate::record::sample::{Pair, Sample, scenes};

fn analysis(stream: &Sample) -> (Analysis, Findings) {
    let mut analysis = Analysis::new();
    stream.facts.iter().for_each(|fact| analysis.fold(fact));
    let findings = analysis.finish();
    (analysis, findings)
}

/// Rows of metric, group (empty: all), window and the value or a word of why there is none.
fn check(stream: &Sample, table: &[(&str, &str, &str, Result<f64, &str>)]) {
    let (analysis, findings) = analysis(stream);
    for (metric, group, window, expected) in table {
        let metric = Metric::find(metric).unwrap_or_else(|| panic!("no metric {metric}"));
        let group = (!group.is_empty()).then(|| (*group).to_owned());
        let key = FigureKey { metric, group, window: Window::read(window) };
        match (Measured::of(&analysis, &findings).figure(&key, &[]), expected) {
            (Ok(value), Ok(expected)) => assert!((value - expected).abs() < 1e-9, "{key}: {value}, not {expected}"),
            (Err(unknown), Err(why)) => assert!(unknown.to_string().contains(why), "{key}: {unknown}"),
            (value, expected) => panic!("{key}: {value:?}, not {expected:?}"),
        }
    }
}

/// Two groups; a kill at 12 s with a start at 16 s, as a restart; then a kill at 20 s.
fn steps() -> Sample {
    Sample::new(&[("steady", 2), ("other", 1)])
        .pairs("steady", 2, 2)
        .pairs("other", 1, 1)
        .child(1, None, None, "restart", "2", 12_000)
        .child(2, Some(1), Some(1), "kill", "2", 12_000)
        .done(2, 12_050, StepOutcome::Done)
        .child(3, Some(1), Some(1), "start", "2", 16_000)
        .done(3, 16_050, StepOutcome::Done)
        .done(1, 16_060, StepOutcome::Done)
        .step(4, "kill", "3", 20_000)
}

/// Seconds of both groups with failures in some.
fn loaded() -> Sample {
    let failing = |stream: Sample, second: i64, failed: u64| {
        stream.second("steady", second, |figures| {
            figures.counts = Totals { due: 100, sent: 100, ok: 100 - failed, failed, indeterminate: 0 };
        })
    };
    let mut stream = steps();
    for second in -2..30 {
        let failed = match second {
            -1 => 1,
            5 => 2,
            11 => 3,
            13 => 10,
            17 => 20,
            22 => 30,
            _ => 0,
        };
        stream = failing(stream, second, failed).second("other", second, |_| {});
    }
    stream.end(30_000)
}

#[test]
fn records_are_counted_by_window_and_group() {
    let no_step = Err("no step of the window `step 3` was made");
    check(
        &loaded(),
        &[
            ("records.failed", "", "run", Ok(66.0)),
            ("records.failed", "steady", "run", Ok(66.0)),
            ("records.failed", "other", "run", Ok(0.0)),
            ("records.failed", "", "warm-up", Ok(1.0)),
            ("records.failed", "", "baseline", Ok(2.0)),
            ("records.failed", "", "after", Ok(63.0)),
            ("records.failed", "", "steps", Ok(60.0)),
            ("records.failed", "", "step 1", Ok(30.0)),
            ("records.failed", "", "step 2", Ok(30.0)),
            ("records.failed", "", "step 3", no_step),
            ("records.failed", "", "kill", Ok(40.0)),
            ("records.failed", "", "start", Ok(20.0)),
            ("records.failed", "", "restart", Ok(30.0)),
            ("records.failed", "", "pause", Err("no step of the window `pause`")),
            ("records.failed", "third", "run", Err("no group `third`")),
            ("records.due", "", "baseline", Ok(2_000.0)),
            ("records.sent", "other", "step 2", Ok(1_000.0)),
            ("records.ok", "steady", "step 2", Ok(970.0)),
            ("records.indeterminate", "", "run", Ok(0.0)),
            ("records.failed-percent", "steady", "step 2", Ok(3.0)),
            ("records.ok-per-second", "", "baseline", Ok(199.8)),
            ("records.ok-per-second", "other", "step 2", Ok(100.0)),
        ],
    );
}

proptest! {
    /// Whatever fails when, and whichever steps fall where: no second is lost or counted twice.
    #[test]
    fn windows_of_the_run_add_up_to_it(
        seconds in proptest::collection::vec(0_u64..50, 40),
        steps in proptest::collection::btree_map(10_000_i64..35_000, prop_oneof!["kill", "start", "wait"], 0..5),
    ) {
        let mut stream = Sample::new(&[("steady", 1)]);
        let mut steps = steps.into_iter().zip(1..).peekable();
        for (second, failed) in (-2..).zip(&seconds) {
            while let Some(((at_ms, action), number)) = steps.next_if(|((at_ms, _), _)| *at_ms < (second + 1) * 1_000) {
                stream = stream.step(number, &action, "2", at_ms);
            }
            stream = stream.second("steady", second, |figures| {
                figures.histograms.clear();
                figures.counts = Totals { due: 50, sent: 50, ok: 50 - failed, failed: *failed, indeterminate: 0 };
            });
        }
        let (analysis, findings) = analysis(&stream.end(38_000));
        let measured = Measured::of(&analysis, &findings);
        let value = |window: &Window, except: &[Window]| {
            let key = FigureKey { window: window.clone(), ..FigureKey::of(Metric::find("records.failed").unwrap()) };
            measured.figure(&key, except).unwrap_or(0.0)
        };
        let sum = |windows: &[Window]| windows.iter().map(|window| value(window, &[])).sum::<f64>();
        let (whole, of_steps) = (value(&Window::Run, &[]), value(&Window::Steps, &[]));
        prop_assert_eq!(whole, seconds.iter().sum::<u64>() as f64);
        prop_assert_eq!(sum(&[Window::WarmUp, Window::Baseline, Window::After]), whole);
        let numbered: Vec<Window> = (1..=5).map(Window::Step).collect();
        prop_assert_eq!(sum(&numbered), of_steps);
        prop_assert_eq!(sum(&["kill", "start"].map(Window::read)), of_steps);
        prop_assert_eq!(value(&Window::Run, &[Window::Steps]) + of_steps, whole);
        prop_assert_eq!(value(&Window::After, &[Window::read("kill")]) + value(&Window::read("kill"), &[]), value(&Window::After, &[]));
    }
}

#[test]
fn producers_own_totals_count_for_the_whole_run_alone() {
    let totals = Totals { due: 30, sent: 29, ok: 20, failed: 5, indeterminate: 4 };
    let stream = Sample::new(&[("steady", 1)]).load("steady", -2, 20).totals("steady", 0, totals, &[("age", 3), ("start", 1)], 6);
    check(
        &stream.end(60_000),
        &[
            ("records.due", "", "run", Ok(30.0)),
            ("records.ok", "", "run", Ok(20.0)),
            ("records.indeterminate", "", "run", Ok(4.0)),
            ("records.failed-percent", "", "run", Ok(500.0 / 29.0)),
            ("records.due", "", "baseline", Ok(1_000.0)),
            ("metadata-requests.total", "", "run", Ok(4.0)),
            ("metadata-requests.per-producer", "", "run", Ok(4.0)),
            ("metadata-requests.per-producer.median", "", "run", Ok(4.0)),
            ("metadata-requests.by-age.per-producer", "", "run", Ok(3.0)),
            ("metadata-requests.by-age", "", "run", Ok(3.0)),
            ("metadata-requests.by-no-leader", "", "run", Ok(0.0)),
            ("partitions.cached.min", "", "run", Ok(6.0)),
            ("partitions.cached.max", "", "run", Ok(6.0)),
            ("partitions.cached.max", "", "baseline", Err("not measured over `baseline`")),
            ("blocked.metadata", "", "run", Ok(0.0)),
            ("blocked.memory", "", "run", Ok(0.0)),
        ],
    );
}

/// A step of a hundred slow records in one second, among seconds of fast ones.
#[test]
fn latencies_are_those_of_the_windows_seconds() {
    let mut slow = LatencyHistogram::new();
    slow.record_n(400_000, 100);
    let mut stream = steps();
    for second in -2..30 {
        stream = stream.second("other", second, |_| {}).second("steady", second, |figures| {
            if second == 13 {
                figures.put_histogram("response_ok", &slow).unwrap();
            }
        });
    }
    let slow_ms = slow.quantile_us(0.5).unwrap() as f64 / 1000.0;
    check(
        &stream.end(30_000),
        &[
            ("latency.p50", "", "baseline", Ok(2.0)),
            ("latency.max", "", "baseline", Ok(3.0)),
            ("latency.p50", "steady", "kill", Ok(2.0)),
            ("latency.p99", "steady", "kill", Ok(slow_ms)),
            ("latency.p90", "steady", "step 2", Ok(2.0)),
            ("latency.max", "", "step 1", Ok(400.0)),
            ("latency.max", "other", "step 1", Ok(3.0)),
            ("latency.max", "", "run", Ok(400.0)),
            ("latency.p99.9", "", "after", Ok(slow_ms)),
            ("service.max", "", "step 1", Ok(3.0)),
            ("service.p99.99", "", "warm-up", Ok(3.0)),
        ],
    );
    let silent = Sample::new(&[("steady", 1)]).second("steady", 1, |figures| figures.histograms.clear()).end(5_000);
    check(&silent, &[("latency.p99", "", "baseline", Err("nothing")), ("latency.p99", "", "after", Err("nothing"))]);
}

fn stalled() -> Sample {
    let load = (-2..30).fold(steps(), |stream, second| stream.second("steady", second, |_| {}).second("other", second, |_| {}));
    load.gap(Pair("steady", 0, 0), -900, Some(-100))
        .gap(Pair("steady", 0, 0), 4_000, Some(5_000))
        .gap(Pair("steady", 0, 0), 12_010, Some(17_010))
        .gap(Pair("steady", 1, 1), 12_020, Some(14_020))
        .gap(Pair("other", 0, 0), 20_010, Some(21_010))
        .gap(Pair("steady", 1, 0), 20_100, None)
        .end(30_000)
}

#[test]
fn outages_belong_to_steps_or_to_the_time_in_which_they_began() {
    check(
        &stalled(),
        &[
            ("outage.max", "", "steps", Ok(9_900.0)),
            ("outage.max", "", "step 1", Ok(5_000.0)),
            ("outage.max", "", "start", Ok(5_000.0)),
            ("outage.median", "", "step 1", Ok(5_000.0)),
            ("outage.median", "", "restart", Ok(5_000.0)),
            ("outage.p99", "", "step 2", Ok(9_900.0)),
            ("outage.max", "other", "steps", Ok(1_000.0)),
            ("outage.max", "other", "step 1", Ok(0.0)),
            ("outage.stalled", "", "steps", Ok(4.0)),
            ("outage.stalled", "", "step 1", Ok(2.0)),
            ("outage.stalled", "", "run", Ok(4.0)),
            ("outage.max", "", "baseline", Ok(1_000.0)),
            ("outage.max", "", "warm-up", Ok(800.0)),
            ("outage.hang", "", "run", Ok(1.0)),
            ("outage.hang", "steady", "step 2", Ok(1.0)),
            ("outage.hang", "other", "run", Ok(0.0)),
            ("outage.hang", "", "step 1", Ok(0.0)),
        ],
    );
    check(&Sample::new(&[("steady", 1)]).load("steady", -2, 9).end(9_000), &[("outage.max", "", "steps", Ok(0.0))]);
}

/// A stream, a metric, a window, windows that do not count, and the value or a word of why there is none.
type Exception<'a> = (&'a Sample, &'a str, &'a str, &'a [&'a str], Result<f64, &'a str>);

#[test]
fn what_happened_in_windows_that_do_not_count_is_not_counted() {
    let (loaded, stalled) = (loaded(), stalled());
    let table: [Exception<'_>; 12] = [
        (&loaded, "records.failed", "run", &["step 1"], Ok(36.0)),
        (&loaded, "records.failed", "run", &["step 1", "warm-up"], Ok(35.0)),
        (&loaded, "records.failed", "run", &["steps"], Ok(6.0)),
        (&loaded, "records.failed", "run", &["pause"], Ok(66.0)),
        (&loaded, "records.failed", "after", &["kill"], Ok(23.0)),
        (&loaded, "records.failed", "step 1", &["kill"], Ok(20.0)),
        (&loaded, "records.failed", "step 1", &["restart"], Err("leave nothing")),
        // The outage that the kill began goes on at the start.
        (&stalled, "outage.max", "steps", &["step 2"], Ok(5_000.0)),
        (&stalled, "outage.max", "start", &["step 2"], Ok(5_000.0)),
        (&stalled, "outage.max", "start", &["kill"], Ok(0.0)),
        (&stalled, "outage.hang", "run", &["step 2"], Ok(0.0)),
        (&stalled, "partitions.cached.min", "run", &["step 2"], Err("not measured over `step 2`")),
    ];
    for (stream, metric, window, except, expected) in table {
        let (analysis, findings) = analysis(stream);
        let key = FigureKey { metric: Metric::find(metric).unwrap(), group: None, window: Window::read(window) };
        let except: Vec<Window> = except.iter().map(|window| Window::read(window)).collect();
        match (Measured::of(&analysis, &findings).figure(&key, &except), expected) {
            (Err(unknown), Err(why)) => assert!(unknown.to_string().contains(why), "{key}: {unknown}"),
            (value, expected) => assert_eq!(value.ok(), expected.ok(), "{key} except {except:?}"),
        }
    }
}

#[test]
fn layers_and_growth_are_those_of_steps() {
    check(
        &scenes::killed().end(40_000),
        &[
            ("layer.detected.max", "", "steps", Ok(9_001.0)),
            ("layer.detected.median", "", "step 1", Ok(9_001.0)),
            ("layer.committed.max", "", "kill", Ok(9_012.0)),
            ("layer.servable.max", "", "steps", Ok(9_027.0)),
            ("layer.client-cache.max", "steady", "steps", Ok(9_040.0)),
            ("layer.delivery.max", "", "steps", Ok(9_300.0)),
            ("layer.detected.max", "", "baseline", Err("not measured over `baseline`")),
            ("layer.detected.max", "", "step 2", Err("no step")),
            ("growth.cached.max", "", "steps", Err("nothing")),
            ("growth.never", "", "steps", Err("nothing")),
        ],
    );
    // The controller notices the kill when the start is under way: the kill's figures are those of the partition that waited longest.
    let started = scenes::killed().step(2, "start", "2", 14_000).end(40_000);
    check(
        &started,
        &[
            ("layer.detected.max", "", "kill", Ok(9_001.0)),
            ("layer.delivery.max", "steady", "step 1", Ok(9_300.0)),
            ("layer.detected.max", "", "start", Ok(5_001.0)),
            ("layer.detected.max", "", "steps", Ok(9_001.0)),
        ],
    );
    let grown = Sample::new(&[("steady", 2)])
        .counted(Pair("steady", 0, 0), (0, 3), "start", 2, -1_000)
        .counted(Pair("steady", 1, 0), (0, 3), "start", 2, -1_000)
        .load("steady", -2, 20)
        .step(1, "add-partitions", "orders 3 -> 6", 12_000)
        .counted(Pair("steady", 0, 0), (3, 6), "age", 3, 13_200)
        .first_used(Pair("steady", 0, 4), 13_300);
    check(
        &grown.end(20_000),
        &[
            ("growth.cached.max", "", "steps", Ok(1_000.0)),
            ("growth.cached.p99", "steady", "step 1", Ok(1_000.0)),
            ("growth.cached.median", "", "add-partitions", Ok(1_000.0)),
            ("growth.first-use.max", "", "steps", Ok(105.0)),
            ("growth.never", "", "steps", Ok(1.0)),
            ("layer.detected.max", "", "steps", Err("nobody read")),
        ],
    );
}

#[test]
fn first_acks_nodes_and_the_generator_have_figures() {
    let first_ack = |group: &str, producer, ack_us| Fact::FirstAck {
        group: group.to_owned(),
        producer: crate::ids::ProducerIndex(producer),
        connected_us: Some(1_000),
        ready_us: None,
        metadata_us: Some(2_000),
        producer_id_us: Some(3_000),
        ack_us,
    };
    let cpu = |second: i64, cpu_ms: u64| {
        move |seen: &mut crate::record::broker::BrokerSecond| {
            seen.usage = Some(Usage { read_at_us: (second + 1) * 1_000_000, cpu_us_total: Some(cpu_ms * 1_000), ..Usage::default() });
        }
    };
    let stream = Sample::new(&[("steady", 2), ("other", 1)])
        .at(-1_900, first_ack("steady", 0, 10_000))
        .at(-1_900, first_ack("steady", 1, 30_000))
        .at(-1_900, first_ack("other", 0, 90_000))
        .broker(1, 0, cpu(0, 0))
        .broker(1, 1, cpu(1, 200))
        .broker(2, 0, cpu(0, 0))
        .broker(2, 1, cpu(1, 400))
        .generator(-2, 20, 1_000)
        .load("steady", -2, 20)
        .load("other", -2, 20);
    check(
        &stream.end(20_000),
        &[
            ("first-ack.median", "steady", "run", Ok(10.0)),
            ("first-ack.median", "", "run", Ok(30.0)),
            ("first-ack.max", "", "run", Ok(90.0)),
            ("first-ack.connected.p99", "", "run", Ok(1.0)),
            ("first-ack.ready.max", "", "run", Err("nothing")),
            ("first-ack.producer-id.max", "other", "run", Ok(3.0)),
            ("first-ack.metadata.max", "other", "run", Ok(2.0)),
            ("broker.cpu-percent", "", "baseline", Ok(30.0)),
            ("broker.cpu-percent.max", "", "run", Ok(40.0)),
            ("broker.cpu-percent", "", "after", Err("nothing")),
            ("broker.cpu-percent", "steady", "run", Err("no group `steady`")),
            ("generator.lateness.p99", "", "baseline", Ok(1.0)),
            ("generator.lateness.max", "", "after", Ok(1.0)),
            ("generator.lateness.p50", "", "warm-up", Err("not measured")),
        ],
    );
}

#[test]
fn all_figures_are_listed_once_and_are_what_they_are_alone() {
    let stream = stalled();
    let (analysis, findings) = analysis(&stream);
    let figures = analysis.figures(&findings);
    let keys: BTreeSet<&FigureKey> = figures.iter().map(|figure| &figure.key).collect();
    assert_eq!(keys.len(), figures.len());
    for info in Metric::all().iter().filter(|info| !matches!(info.groups, Groups::Requesters | Groups::Consumers)) {
        assert!(keys.contains(&FigureKey::of(info.metric)), "{}", info.name);
    }
    let has = |window: &str| keys.iter().any(|key| key.window == Window::read(window));
    let listed = ["step 1", "step 2", "kill", "start", "restart", "step 3", "wait"].map(has);
    assert_eq!(listed, [true, true, true, true, true, false, false]);
    let measured = Measured::of(&analysis, &findings);
    for figure in figures.iter().step_by(7) {
        assert_eq!(measured.figure(&figure.key, &[]), figure.value, "{}", figure.key);
    }
}

#[test]
fn steps_that_are_very_many_share_their_seconds() {
    let mut stream = Sample::new(&[("steady", 1)]);
    for step in 1..=60_u32 {
        let at_ms = 10_000 + i64::from(step - 1) * 1_000;
        stream = stream.step(step, "kill", "2", at_ms).second("steady", 9 + i64::from(step), |_| {});
    }
    let too_many = Err("first 50 steps");
    check(
        &stream.end(70_000),
        &[
            ("records.ok", "", "step 50", Ok(100.0)),
            ("records.ok", "", "step 51", too_many),
            ("latency.p99", "", "step 51", too_many),
            ("metadata-requests.total", "", "step 60", too_many),
            ("records.ok", "", "kill", Ok(6_000.0)),
            ("records.ok", "", "steps", Ok(6_000.0)),
            ("outage.max", "", "step 60", Ok(0.0)),
        ],
    );
}

#[test]
fn keys_are_told_with_what_is_not_usual() {
    let outage = Metric::find("outage.max").unwrap();
    let key = FigureKey::of(outage);
    assert_eq!(key.to_string(), "outage.max");
    let key = FigureKey { group: Some("steady".to_owned()), window: Window::Step(2), ..key };
    assert_eq!(key.to_string(), "outage.max (steady) in step 2");
}
