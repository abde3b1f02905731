//! The figures that the page's script draws: one JSON object, in a form that cannot end the element that holds it.

use serde::Serialize;

use super::Content;
use super::frame::inert;
use super::layers::{STAGES_MAX, shown};
use super::steps::longest_ms;
use super::table::shortened;
use crate::analyze::Spread;
use crate::analyze::findings::{Findings, GroupFinding, StepFinding};
use crate::analyze::layers::findings::{LayerFinding, SegmentFinding, StageFinding};
use crate::analyze::series::findings::{
    Caches, Figures, Lanes, NodeLines, OutageCell, OutageColumn, OutageMap, OutageRow, PercentileCurve, PhaseSpan, SeriesFinding, Timeline,
};
use crate::record::layer::Layer;
use crate::report::text::steps::what;

/// Steps that are drawn.
const STEPS_MAX: usize = 500;

/// Groups whose way to the first acknowledgement is drawn.
const FIRST_ACK_MAX: usize = 100;

#[derive(Debug, Serialize)]
struct Data<'a> {
    from_ms: i64,
    to_ms: i64,
    phases: &'a [PhaseSpan],
    steps: Vec<Step>,
    steps_left_out: usize,
    timeline: &'a Timeline,
    brokers: &'a NodeLines,
    percentiles: &'a [PercentileCurve],
    partitions: &'a Lanes,
    caches: &'a Caches,
    layers: Vec<StepLayers<'a>>,
    layers_left_out: usize,
    outages: Outages<'a>,
    first_ack: Vec<FirstAck<'a>>,
    first_ack_left_out: usize,
}

#[derive(Debug, Serialize)]
struct Step {
    step: u32,
    label: String,
    requested_ms: i64,
    acknowledged_ms: Option<i64>,
    observed_ms: Option<i64>,
    has_parts: bool,
}

#[derive(Debug, Serialize)]
struct StepLayers<'a> {
    step: u32,
    label: String,
    began_ms: i64,
    partition: Option<&'a str>,
    change: Option<&'a str>,
    last_ack_ms: Option<i64>,
    stages: Vec<Stage<'a>>,
    stages_left_out: usize,
    segments: Vec<Segment<'a>>,
    segments_left_out: usize,
    held: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Stage<'a> {
    layer: Layer,
    node: Option<i32>,
    group: Option<&'a str>,
    what: &'a str,
    not_before_ms: Option<i64>,
    time_ms: Option<i64>,
    is_down: bool,
    never: u64,
}

#[derive(Debug, Serialize)]
struct Segment<'a> {
    layer: Layer,
    node: Option<i32>,
    group: Option<&'a str>,
    since_ms: i64,
    for_ms: i64,
}

#[derive(Debug, Serialize)]
struct Outages<'a> {
    rows: &'a [OutageRow],
    rows_left_out: u64,
    columns: &'a [OutageColumn],
    columns_left_out: u64,
    first_due_ms: &'a [Figures<i64>],
    steps: Vec<OutageStep<'a>>,
    steps_left_out: u64,
    left_out: u64,
}

#[derive(Debug, Serialize)]
struct OutageStep<'a> {
    step: u32,
    label: String,
    requested_ms: i64,
    until_ms: Option<i64>,
    cells: &'a [OutageCell],
}

#[derive(Debug, Serialize)]
struct FirstAck<'a> {
    group: &'a str,
    stages: Vec<FirstAckStage>,
}

#[derive(Debug, Serialize)]
struct FirstAckStage {
    stage: &'static str,
    ms: Option<Spread>,
}

/// The data as text that may stand within a `script` element.
pub(super) fn json(content: Content<'_>) -> Result<String, serde_json::Error> {
    let Content { findings, series, .. } = content;
    let SeriesFinding { from_ms, to_ms, phases, timeline, brokers, percentiles, partitions, caches, outages } = series;
    let (steps, steps_left_out) = steps(findings);
    let shown = shown(findings);
    let telling = || findings.groups.iter().filter(|group| group.first_ack_stages_ms.acknowledged.is_some());
    let data = Data {
        from_ms: *from_ms,
        to_ms: *to_ms,
        phases,
        steps,
        steps_left_out,
        timeline,
        brokers,
        percentiles,
        partitions,
        caches,
        layers_left_out: findings.layers.len() - shown.len(),
        layers: shown.into_iter().map(|layers| step_layers(findings, layers)).collect(),
        outages: outages_of(findings, outages),
        first_ack_left_out: telling().count().saturating_sub(FIRST_ACK_MAX),
        first_ack: telling().take(FIRST_ACK_MAX).map(first_ack).collect(),
    };
    Ok(inert(&serde_json::to_string(&data)?))
}

/// Those with the longest outages, if they are too many; in the order of firing.
fn steps(findings: &Findings) -> (Vec<Step>, usize) {
    let mut order: Vec<&StepFinding> = findings.steps.iter().collect();
    order.sort_by_key(|step| std::cmp::Reverse(longest_ms(step)));
    order.truncate(STEPS_MAX);
    order.sort_by_key(|step| step.step);
    let left_out = findings.steps.len() - order.len();
    (order.into_iter().map(step).collect(), left_out)
}

fn step(step: &StepFinding) -> Step {
    Step {
        step: step.step,
        label: shortened(&what(step)),
        requested_ms: step.requested_ms,
        acknowledged_ms: step.acknowledged_ms,
        observed_ms: step.observed_ms,
        has_parts: step.has_parts,
    }
}

/// What a step is called; `step 7` if nothing is known of it.
fn label(findings: &Findings, number: u32) -> String {
    findings.steps.iter().find(|step| step.step == number).map_or_else(|| format!("step {number}"), |step| shortened(&what(step)))
}

fn step_layers<'a>(findings: &Findings, layers: &'a LayerFinding) -> StepLayers<'a> {
    let waterfall = layers.waterfall.as_ref();
    let (stages, segments) = waterfall.map_or_else(Default::default, |waterfall| (&waterfall.stages[..], &waterfall.segments[..]));
    StepLayers {
        step: layers.step,
        label: label(findings, layers.step),
        began_ms: layers.began_ms,
        partition: waterfall.and_then(|waterfall| waterfall.partition.as_deref()),
        change: waterfall.map(|waterfall| waterfall.change.as_str()),
        last_ack_ms: waterfall.and_then(|waterfall| waterfall.last_ack_ms),
        stages: stages.iter().take(STAGES_MAX).map(stage).collect(),
        stages_left_out: stages.len().saturating_sub(STAGES_MAX),
        segments: segments.iter().take(STAGES_MAX).map(segment).collect(),
        segments_left_out: segments.len().saturating_sub(STAGES_MAX),
        held: layers.held.as_ref().map(|held| held.in_words.as_str()),
    }
}

fn stage(stage: &StageFinding) -> Stage<'_> {
    Stage {
        layer: stage.layer,
        node: stage.node,
        group: stage.group.as_deref(),
        what: &stage.what,
        not_before_ms: stage.not_before_ms,
        time_ms: stage.time_ms,
        is_down: stage.is_down,
        never: stage.never,
    }
}

fn segment(segment: &SegmentFinding) -> Segment<'_> {
    Segment {
        layer: segment.layer,
        node: segment.node,
        group: segment.group.as_deref(),
        since_ms: segment.since_ms,
        for_ms: segment.for_ms,
    }
}

fn outages_of<'a>(findings: &Findings, map: &'a OutageMap) -> Outages<'a> {
    let step = |step: &'a crate::analyze::series::findings::OutageStep| OutageStep {
        step: step.step,
        label: label(findings, step.step),
        requested_ms: step.requested_ms,
        until_ms: step.until_ms,
        cells: &step.cells,
    };
    Outages {
        rows: &map.rows,
        rows_left_out: map.rows_left_out,
        columns: &map.columns,
        columns_left_out: map.columns_left_out,
        first_due_ms: &map.first_due_ms,
        steps: map.steps.iter().map(step).collect(),
        steps_left_out: map.steps_left_out,
        left_out: map.left_out,
    }
}

fn first_ack(group: &GroupFinding) -> FirstAck<'_> {
    let stages = &group.first_ack_stages_ms;
    let named = [
        ("connected", stages.connected),
        ("ready", stages.ready),
        ("metadata", stages.metadata),
        ("producer_id", stages.producer_id),
        ("acknowledged", stages.acknowledged),
    ];
    FirstAck { group: &group.name, stages: named.into_iter().map(|(stage, ms)| FirstAckStage { stage, ms }).collect() }
}
