//! Each step's way through the layers: what held it up, and when each layer knew, as bars on one scale.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::Page;
use super::format::{moment_ms, span_ms, wrapped};
use super::table::{Table, WIDTH};
use crate::analyze::findings::{Findings, StepFinding};
use crate::analyze::layers::findings::{LayerFinding, ProbeFinding, StageFinding, Waterfall};
use crate::digits::{bytes, grouped};
use crate::record::layer::Layer;

/// Waterfalls that are drawn; those that were held up longest. `run.json` has all.
const SHOWN_MAX: usize = 8;

/// Characters of a bar.
const BAR: i64 = 34;

/// Nodes that follow the first within this share a line.
const TOGETHER_MS: i64 = 100;

pub(super) fn layers(page: &mut Page, findings: &Findings) {
    let mut lines = Vec::new();
    for layers in held_longest(findings, SHOWN_MAX) {
        lines.extend(step(page, findings, layers));
    }
    if findings.layers.len() > SHOWN_MAX {
        let more = findings.layers.len() - SHOWN_MAX;
        lines.push(page.style.faint(&format!("  {more} more steps are in run.json")));
    }
    if lines.iter().any(|line| line.contains('~')) {
        lines.push(
            page.style.faint("  = until it was seen, ~ between the last look that saw the old state and the first that saw the new one"),
        );
    }
    page.part("Layers, from the fault to the first ack", lines);
}

/// Of all steps so many that are stuck or were held up longest, in their own order.
pub(crate) fn held_longest(findings: &Findings, most: usize) -> Vec<&LayerFinding> {
    let mut order: Vec<&LayerFinding> = findings.layers.iter().collect();
    order.sort_by_key(|layers| Reverse(layers.held.as_ref().map_or((false, -1), |held| (held.is_stuck, held.for_ms))));
    let steps: BTreeSet<u32> = order.into_iter().take(most).map(|layers| layers.step).collect();
    findings.layers.iter().filter(|layers| steps.contains(&layers.step)).collect()
}

fn step(page: &Page, findings: &Findings, layers: &LayerFinding) -> Vec<String> {
    let style = page.style;
    let of_step = findings.steps.iter().find(|step| step.step == layers.step);
    let title = wrapped(&title(layers, of_step), WIDTH - 4);
    let indent = |at: usize| if at == 0 { "  " } else { "    " };
    let mut lines: Vec<String> = title.iter().enumerate().map(|(at, line)| format!("{}{}", indent(at), style.heading(line))).collect();
    let held = held(layers);
    let is_stuck = layers.held.as_ref().is_some_and(|held| held.is_stuck);
    lines.extend(wrapped(&held, WIDTH - 4).iter().map(|line| {
        let line = format!("    {line}");
        if is_stuck { style.bad(&line) } else { line }
    }));
    if let Some(waterfall) = &layers.waterfall {
        let end_ms = end_of(layers, waterfall);
        lines.extend(rows(layers, waterfall, end_ms).lines(style).into_iter().map(|line| format!("  {line}")));
        let of_clients = waterfall.stages.iter().filter(|stage| stage.layer == Layer::ClientCache);
        lines.extend(of_clients.flat_map(|stage| item("    ", &caches(stage))));
    }
    lines.extend(layers.remarks.iter().flat_map(|remark| item("    ", remark)));
    lines
}

/// What held it up, in words.
pub(crate) fn held(layers: &LayerFinding) -> String {
    layers.held.as_ref().map_or_else(
        || match layers.unexplained {
            0 => "held up by nothing".to_owned(),
            unexplained => format!("not known: nobody looked at what {} of {} waits were for", grouped(unexplained), grouped(layers.waits)),
        },
        |held| {
            let stuck = if held.is_stuck { "stuck" } else { "held up" };
            format!("{stuck} in {}: {}", words(held.layer), held.in_words)
        },
    )
}

/// A remark with a dash before it, in as many lines as it needs.
fn item(indent: &str, text: &str) -> Vec<String> {
    let parts = wrapped(text, WIDTH - 6);
    parts.iter().enumerate().map(|(at, line)| format!("{indent}{} {line}", if at == 0 { "-" } else { " " })).collect()
}

/// `step 2, kill 2 at 10.0 s: orders/0, leader 2 -> 3, epoch 4 -> 5 (served last of 6 partitions)`.
pub(crate) fn title(layers: &LayerFinding, of_step: Option<&StepFinding>) -> String {
    let what = of_step.map_or_else(String::new, |step| format!(", {} {}", step.action, step.target));
    let at = moment_ms(layers.began_ms);
    let Some(waterfall) = &layers.waterfall else {
        return format!("step {}{what} at {at}: no change of a leader or an ISR was seen in the controller's log", layers.step);
    };
    let subject = waterfall.partition.as_ref().map_or_else(String::new, |partition| format!("{partition}, "));
    let others = if layers.partitions > 1 { format!(" (served last of {} partitions)", grouped(layers.partitions)) } else { String::new() };
    format!("step {}{what} at {at}: {subject}{}{others}", layers.step, waterfall.change)
}

/// What the bars span: up to the last stage that was seen, or to the end of a wait.
pub(crate) fn end_of(layers: &LayerFinding, waterfall: &Waterfall) -> i64 {
    let seen = waterfall.stages.iter().filter(|stage| !stage.is_down).filter_map(|stage| stage.time_ms);
    let charged = waterfall.segments.iter().map(|segment| segment.since_ms + segment.for_ms);
    seen.chain(charged).max().unwrap_or(layers.began_ms).max(layers.began_ms + 1)
}

pub(crate) fn rows(layers: &LayerFinding, waterfall: &Waterfall, end_ms: i64) -> Table {
    let mut table = Table::new(&["<layer", "<who", "<what", "after", "within", "<from the fault on"]);
    let mut reached_ms = layers.began_ms;
    let mut last_layer = None;
    let mut layer_ms = layers.began_ms;
    for row in merged(waterfall) {
        if last_layer != Some(row.layer) || row.layer == Layer::Detected {
            (last_layer, reached_ms) = (Some(row.layer), reached_ms.max(layer_ms));
        }
        let after = match row.time_ms {
            Some(time_ms) => span_ms(time_ms - layers.began_ms),
            None => "never".to_owned(),
        };
        let within = row.time_ms.zip(row.not_before_ms).filter(|(time_ms, not_before_ms)| time_ms > not_before_ms);
        let within = within.map_or_else(String::new, |(time_ms, not_before_ms)| span_ms(time_ms - not_before_ms));
        let bar = bar(layers.began_ms, end_ms, reached_ms, &row);
        layer_ms = layer_ms.max(row.first_ms.unwrap_or(layer_ms));
        table.row([format!("{} {}", row.layer as u8, words(row.layer)), row.who, row.what, after, within, bar]);
    }
    table
}

/// A line of a waterfall.
struct Row {
    layer: Layer,
    who: String,
    what: String,
    not_before_ms: Option<i64>,
    time_ms: Option<i64>,
    /// When the first of them knew: what comes next may begin then.
    first_ms: Option<i64>,
}

/// Nodes of a layer that knew at about the same time share a line; those that are down are named there.
fn merged(waterfall: &Waterfall) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut first: BTreeMap<Layer, usize> = BTreeMap::new();
    let down = |layer: Layer| {
        let nodes = waterfall.stages.iter().filter(|stage| stage.layer == layer && stage.is_down).filter_map(|stage| stage.node);
        nodes.map(|node| node.to_string()).collect::<Vec<_>>().join(", ")
    };
    let unasked = |stage: &&StageFinding| stage.layer == Layer::Servable && stage.time_ms.is_none() && stage.what == "not asked";
    for stage in waterfall.stages.iter().filter(|stage| !stage.is_down && !unasked(stage)) {
        let is_of_nodes = matches!(stage.layer, Layer::Fetched | Layer::BrokerCache);
        let together = first.get(&stage.layer).copied().filter(|_| is_of_nodes).and_then(|at| rows.get_mut(at));
        let is_near = |row: &Row| row.first_ms.zip(stage.time_ms).is_some_and(|(row, own)| (own - row).abs() <= TOGETHER_MS);
        if let (Some(row), Some(node)) = (together.filter(|row| is_near(row)), stage.node) {
            row.who = format!("{}, {node}", row.who);
            row.time_ms = row.time_ms.max(stage.time_ms);
            row.first_ms = row.first_ms.min(stage.time_ms);
            row.not_before_ms = row.not_before_ms.min(stage.not_before_ms);
            continue;
        }
        first.entry(stage.layer).or_insert(rows.len());
        rows.push(row_of(stage));
    }
    for (layer, at) in first {
        let (down, row) = (down(layer), &mut rows[at]);
        if !down.is_empty() {
            row.what = format!("{down} down");
        }
    }
    rows
}

fn row_of(stage: &StageFinding) -> Row {
    let who = match (stage.node, &stage.group) {
        (Some(node), None) => node.to_string(),
        (Some(node), Some(group)) => format!("{group} to {node}"),
        (None, Some(group)) => group.clone(),
        (None, None) => String::new(),
    };
    let what = match stage.layer {
        Layer::Detected => stage.what.clone(),
        Layer::Committed => stage.what.clone(),
        Layer::Servable if stage.time_ms.is_none() => stage.what.clone(),
        Layer::ClientCache | Layer::Delivery => {
            let there = stage.after_ms.map_or(0, |spread| spread.count);
            format!("{} of {}", grouped(there), grouped(there + stage.never))
        }
        _ => String::new(),
    };
    let first_ms = stage.after_ms.zip(stage.time_ms).map(|(spread, time_ms)| time_ms - spread.max + spread.min).or(stage.time_ms);
    let (layer, not_before_ms, time_ms) = (stage.layer, stage.not_before_ms, stage.time_ms);
    Row { layer, who, what, not_before_ms, time_ms, first_ms }
}

/// `    =====~~`: from what came before to when it was seen.
fn bar(began_ms: i64, end_ms: i64, reached_ms: i64, row: &Row) -> String {
    let length = end_ms - began_ms;
    let column = |ms: i64| ((ms.clamp(began_ms, end_ms) - began_ms) * BAR + length / 2) / length;
    let until_ms = row.time_ms.unwrap_or(end_ms);
    let (from, until) = (column(reached_ms.min(until_ms)), column(until_ms));
    let unsure = row.time_ms.map_or(until, |_| column(row.not_before_ms.unwrap_or(reached_ms).max(reached_ms))).clamp(from, until);
    let times = |character: &str, count: i64| character.repeat(usize::try_from(count).unwrap_or(0));
    let mut text = times(" ", from) + &times("=", unsure - from) + &times("~", until - unsure);
    if from == until {
        text.push('|');
    }
    if row.time_ms.is_none() {
        text.push_str(" ...");
    }
    text
}

/// `steady's caches: 120 ms / 900 ms / 1.20 s / 1.30 s (min / median / p99 / max); by age 3; told by broker 1 (2), 3 (1)`.
pub(crate) fn caches(stage: &StageFinding) -> String {
    let group = stage.group.as_deref().unwrap_or("");
    let Some(spread) = stage.after_ms else { return format!("caches of {group}: {} never knew", grouped(stage.never)) };
    let spans = [spread.min, spread.median, spread.p99, spread.max].map(span_ms).join(" / ");
    let never = if stage.never > 0 { format!(", {} never", grouped(stage.never)) } else { String::new() };
    let reasons: Vec<String> = stage.by_reason.iter().map(|(reason, count)| format!("{reason} {}", grouped(*count))).collect();
    let nodes: Vec<String> = stage.by_node.iter().map(|(node, count)| format!("{node} ({})", grouped(*count))).collect();
    let nodes = if nodes.is_empty() { String::new() } else { format!("; told by {}", nodes.join(", ")) };
    format!("caches of {group}: {spans} (min / median / p99 / max){never}; by {}{nodes}", reasons.join(", "))
}

fn words(layer: Layer) -> &'static str {
    match layer {
        Layer::Detected => "detected",
        Layer::Committed => "committed",
        Layer::Fetched => "fetched",
        Layer::BrokerCache => "broker cache",
        Layer::Servable => "servable",
        Layer::ClientCache => "client cache",
        Layer::Route => "route",
        Layer::Delivery => "delivery",
    }
}

pub(super) fn probes(page: &mut Page, findings: &Findings) {
    let Some(probes) = &findings.probes else { return };
    let mut lines: Vec<String> = probe_costs(probes).iter().map(|line| format!("  {line}")).collect();
    lines.extend(gave_up(probes).flat_map(|what| item("  ", &what)));
    page.part("Probes", lines);
}

/// What looking at the layers has cost, in words.
pub(crate) fn probe_costs(probes: &ProbeFinding) -> [String; 2] {
    [cpu(probes), requests(probes)]
}

/// What they did not wait for any more.
pub(crate) fn gave_up(probes: &ProbeFinding) -> impl Iterator<Item = String> + '_ {
    probes.gave_up.iter().map(|what| format!("gave up waiting for the layers to agree {what}"))
}

fn cpu(probes: &ProbeFinding) -> String {
    let percent = |percent: Option<f64>| percent.map_or_else(|| "unknown CPU".to_owned(), |percent| format!("{percent:.1} % of one core"));
    let fast = if probes.fast_seconds > 0 {
        format!(", {} in the {} s of close looks", percent(probes.fast_cpu_percent), grouped(probes.fast_seconds))
    } else {
        String::new()
    };
    format!("{} while nothing changed{fast}", percent(probes.quiet_cpu_percent))
}

fn requests(probes: &ProbeFinding) -> String {
    let all: u64 = probes.requests.values().sum();
    let by_name: Vec<String> = probes.requests.iter().map(|(name, count)| format!("{name} {}", grouped(*count))).collect();
    let (sent, received) = (bytes(probes.request_bytes), bytes(probes.response_bytes));
    format!("{} requests ({}); {sent} sent, {received} received", grouped(all), by_name.join(", "))
}
