//! How large the page may get: everything at its bound at once is more than any run has.

use super::{analysis, links_lead_somewhere, lost, markup};
use crate::analyze::findings::{Findings, GroupFinding, StepFinding};
use crate::analyze::layers::findings::{SegmentFinding, StageFinding};
use crate::analyze::series::findings::{
    CountLane, GeneratorLines, GroupLines, Lane, LeaderLane, NodeLine, OutageColumn, OutageRow, OutageStep, PercentileCurve, PhaseSpan,
    RequesterLines, SeriesFinding,
};
use crate::analyze::series::number::Number;
use crate::record::error_sums::ErrorLedger;
use crate::record::fact::{Fact, RunStarted, Stamped};
use crate::record::layer::Layer;
use crate::record::sample::Pair;
use crate::record::sample::scenes::killed;
use crate::report::html::{Content, page};

const BYTES_MAX: usize = 5_000_000;

/// A name as long as people make them.
const TOPIC: &str = "orders-enriched.v2";

#[test]
fn the_page_of_a_run_at_all_bounds_is_below_five_megabytes() {
    let analysis = analysis(&killed().gap(Pair("steady", 0, 1), 12_000, None).end(40_000));
    let (mut findings, mut series) = (analysis.finish(), analysis.series());
    steps_at_bounds(&mut findings);
    layers_at_bounds(&mut findings);
    let group = findings.groups[0].clone();
    findings.groups = (0..50).map(|number| GroupFinding { name: format!("group-{number}"), ..group.clone() }).collect();
    findings.summary = vec!["A sentence of ordinary length about what happened to producers at a step.".repeat(2); 1_000];
    findings.warnings.clone_from(&findings.summary);
    load_at_bounds(&mut series);
    cluster_at_bounds(&mut series);
    outages_at_bounds(&mut series);
    let run = RunStarted { plan_text: "[[step]]\n".repeat(100_000), ..analysis.run().unwrap().clone() };
    let page = page(Content { run: &run, findings: &findings, series: &series, errors: &errors_beyond_bounds() }).unwrap();
    assert!(page.len() < BYTES_MAX, "{} bytes", page.len());
    assert!(page.len() > BYTES_MAX / 2, "{} bytes: the bounds are not reached any more", page.len());
    links_lead_somewhere(&markup(&page));
    assert!(page.contains("1,700 more rows, those with the fewest records, are not on this page"), "what is left out is told");
    assert!(page.contains("<td class=\"number\">1999</td><td class=\"number\">1,235</td>"), "the most frequent error has no row");
}

fn steps_at_bounds(findings: &mut Findings) {
    let step = findings.steps[0].clone();
    let outages = vec![step.outages[0].clone(); 12];
    findings.steps = (1..=1_500).map(|number| StepFinding { step: number, outages: outages.clone(), ..step.clone() }).collect();
}

fn layers_at_bounds(findings: &mut Findings) {
    let layers = findings.layers[0].clone();
    let waterfall = layers.waterfall.clone().unwrap();
    let stage = StageFinding { what: "registered, broker epoch 1234".to_owned(), ..waterfall.stages[0].clone() };
    let (layer, group) = (Layer::BrokerCache, Some("steady".to_owned()));
    let segment = SegmentFinding { layer, node: Some(1), group, since_ms: 7_200_000, for_ms: 123_456 };
    for number in 1..=1_000 {
        let mut layers = layers.clone();
        // Most of them beyond those that have a row.
        layers.step = number + 500;
        let waterfall = layers.waterfall.as_mut().unwrap();
        (waterfall.stages, waterfall.segments) = (vec![stage.clone(); 100], vec![segment.clone(); 100]);
        layers.remarks = vec!["Brokers disagreed on orders/2 for 21.9 s (the longest of 6 partitions)".repeat(3); 100];
        findings.layers.push(layers);
    }
}

fn errors_beyond_bounds() -> ErrorLedger {
    let mut errors = ErrorLedger::default();
    for of_code in 0..2_000 {
        let mut fact = lost("steady", &"x".repeat(9_000));
        if let Fact::RecordErrors { code, count, .. } = &mut fact {
            (*code, *count) = (Some(of_code), if of_code == 1_999 { 1_235 } else { 1_234 });
        }
        errors.fold(&Stamped { time_us: 0, worker: 0, fact });
    }
    errors
}

/// As much as the folds let through, with figures of many digits.
fn load_at_bounds(series: &mut SeriesFinding) {
    let rates = vec![Some(Number(12_345.67)); 600];
    let times = vec![Some(1_234_567_u64); 600];
    let reasons = ["age", "disconnect", "metadata_error", "no_leader", "produce_error", "start"];
    let group = GroupLines {
        name: "steady".to_owned(),
        due: rates.clone(),
        ok: rates.clone(),
        failed: vec![Some(Number(0.0)); 600],
        indeterminate: vec![Some(Number(0.0)); 600],
        in_flight: times.clone(),
        stalled_pairs: times.clone(),
        requests: Some(reasons.map(|reason| (reason.to_owned(), vec![Some(Number(12.34)); 600])).into()),
        response_p50_us: times.clone(),
        response_p99_us: times.clone(),
        response_max_us: times.clone(),
        service_p50_us: times.clone(),
        service_p99_us: times.clone(),
        service_max_us: times.clone(),
    };
    series.phases = vec![PhaseSpan { name: "recovery", from_ms: 7_200_000, to_ms: 7_200_000 }; 100];
    series.timeline.time_ms = vec![7_200_000; 600];
    series.timeline.groups = vec![group; 12];
    series.timeline.requesters =
        vec![RequesterLines { name: "storm".to_owned(), sent: rates.clone(), failed: vec![Some(Number(0.0)); 600] }; 12];
    series.timeline.generator = GeneratorLines {
        lateness_p50_us: times.clone(),
        lateness_p99_us: times.clone(),
        lateness_max_us: times.clone(),
        cpu_percent: rates,
        rss_bytes: times,
    };
    let points = vec![(99.999_985, 1_234_567); 64];
    series.percentiles =
        vec![PercentileCurve { group: "steady".to_owned(), window: "baseline", kind: "response", count: 1_234_567, points }; 48];
}

fn cluster_at_bounds(series: &mut SeriesFinding) {
    let node = NodeLine {
        node: 1,
        state: vec![Some("running".to_owned()); 600],
        cpu_percent: vec![Some(Number(98.76)); 600],
        memory_bytes: vec![Some(1_234_567_890); 600],
        under_replicated: vec![Some(2_000); 600],
        leaders: vec![Some(2_000); 600],
    };
    let lane = Lane {
        topic: TOPIC.to_owned(),
        partition: 1_234,
        events: vec![(7_200_000, Some(3), Some(1_000), vec![1, 2, 3], 3); 10_000 / 40],
        high_watermark: vec![(7_200_000, Some(1_234_567)); 600],
        ..Lane::default()
    };
    let leaders = LeaderLane {
        group: "steady".to_owned(),
        producer: 499,
        topic: TOPIC.to_owned(),
        partition: 1_999,
        events: vec![(7_200_000, Some(3)); 50],
        events_left_out: 1_234,
        known_until_ms: Some(7_200_000),
    };
    let counts = CountLane {
        group: "steady".to_owned(),
        producer: 499,
        topic: TOPIC.to_owned(),
        events: vec![(7_200_000, 1_234, Some("metadata_error".to_owned())); 50],
        events_left_out: 1_234,
        known_until_ms: Some(7_200_000),
    };
    (series.brokers.time_ms, series.brokers.nodes) = (vec![7_200_000; 600], vec![node; 12]);
    (series.partitions.topics, series.caches.leaders) = (vec![lane; 40], vec![leaders; 200]);
    series.caches.counts = vec![counts; 200];
}

fn outages_at_bounds(series: &mut SeriesFinding) {
    let row = |producer| OutageRow { group: "steady".to_owned(), producer, due_until_ms: Some(7_200_000) };
    let step = |step| OutageStep { step, requested_ms: 1_234_567, until_ms: Some(1_234_567), cells: vec![(99, 99, 12_345, true); 50] };
    series.outages.rows = (0..100).map(row).collect();
    series.outages.columns = (0..100).map(|partition| OutageColumn { topic: TOPIC.to_owned(), partition }).collect();
    series.outages.first_due_ms = vec![vec![Some(1_234_567); 100]; 100];
    series.outages.steps = (1..=400).map(step).collect();
}
