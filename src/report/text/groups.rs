//! What each group did and saw, and the generator's own health.

use std::collections::BTreeMap;

use super::format::{span_ms, span_us};
use super::head::{or_dash, three_ms};
use super::table::{Table, Titled};
use crate::analyze::Spread;
use crate::analyze::findings::{Findings, ProcessFinding, Quantiles, WindowFinding};
use crate::digits::{bytes, grouped};
use crate::record::fact::Totals;

/// Records of each group.
pub(crate) fn records(findings: &Findings) -> Titled {
    let mut table = Table::new(&[
        "<group",
        "<engine",
        "producers",
        "due",
        "sent",
        "ok",
        "failed",
        "indeterminate",
        "waited for metadata",
        "for memory",
    ]);
    let waited = |ms: Option<u64>| match ms {
        None => UNKNOWN.to_owned(),
        Some(0) => String::new(),
        Some(ms) => span_us(ms * 1000),
    };
    let counts = |totals: &Totals| [totals.due, totals.sent, totals.ok, totals.failed, totals.indeterminate].map(grouped);
    for group in &findings.groups {
        let mut row = vec![group.name.clone(), group.engine.clone(), grouped(u64::from(group.producers))];
        row.extend(counts(&group.totals));
        row.extend([waited(group.blocked_metadata_ms), waited(group.blocked_memory_ms)]);
        table.row(row);
        if group.warmup_totals != Totals::default() {
            let mut row = vec!["  of these in warm-up".to_owned(), String::new(), String::new()];
            row.extend(counts(&group.warmup_totals));
            table.row(row);
        }
    }
    Titled::new("Records", table)
}

/// Latencies of each group by window.
pub(crate) fn latency(findings: &Findings) -> Titled {
    let mut table = Table::new(&["<group", "<window", "ok", "response p50", "p99", "max", "service p50", "p99", "max", "not ok", "p99"]);
    let after = if findings.steps.is_empty() { "after it" } else { "with steps" };
    for group in &findings.groups {
        let windows = [("baseline", &group.latency.baseline), (after, &group.latency.after), ("warm-up", &group.latency.warmup)];
        for (name, window) in windows.into_iter().filter(|(_, window)| **window != WindowFinding::default()) {
            let mut row = vec![group.name.clone(), name.to_owned(), or_dash(window.response.map(|q| grouped(q.count)))];
            row.extend(quantiles(window.response));
            row.extend(quantiles(window.service));
            row.extend(window.response_bad.into_iter().flat_map(|q| [grouped(q.count), span_us(q.p99_us)]));
            table.row(row);
        }
    }
    Titled::new("Latency: response = ack - due, service = ack - send", table)
}

fn quantiles(quantiles: Option<Quantiles>) -> [String; 3] {
    quantiles.map_or_else(|| ["-"; 3].map(str::to_owned), |q| [q.p50_us, q.p99_us, q.max_us].map(span_us))
}

/// Metadata requests of each group's producers.
pub(crate) fn requests(findings: &Findings) -> Titled {
    let mut table = Table::new(&["<group", "all", "per producer", "by age", "<reasons", "<not answered", "sent", "received"]);
    for group in &findings.groups {
        let requests = &group.metadata_requests;
        let has_reasons = requests.total.is_some() && !requests.by_reason.contains_key(UNKNOWN);
        let unanswered = |outcomes: &BTreeMap<String, u64>| listed(outcomes.iter().filter(|(outcome, _)| *outcome != "updated"));
        table.row([
            group.name.clone(),
            or_unknown(requests.total.map(grouped)),
            if requests.total.is_some() { three(requests.per_producer) } else { UNKNOWN.to_owned() },
            if has_reasons { three(requests.by_age_per_producer) } else { UNKNOWN.to_owned() },
            if requests.total.is_some() { listed(&requests.by_reason) } else { UNKNOWN.to_owned() },
            or_unknown(requests.by_outcome.as_ref().map(unanswered)),
            or_unknown(requests.request_bytes.map(bytes)),
            or_unknown(requests.response_bytes.map(bytes)),
        ]);
    }
    Titled::new("Metadata requests over the producers' lives (per producer: min / median / max)", table)
}

/// What a group's client cannot tell.
pub(super) const UNKNOWN: &str = "unknown";

pub(super) fn or_unknown(text: Option<String>) -> String {
    text.unwrap_or_else(|| UNKNOWN.to_owned())
}

/// `age 12, start 3`, the most frequent first.
pub(super) fn listed<'a>(counts: impl IntoIterator<Item = (&'a String, &'a u64)>) -> String {
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    counts.iter().map(|(name, number)| format!("{name} {}", grouped(**number))).collect::<Vec<_>>().join(", ")
}

pub(super) fn three(spread: Option<Spread>) -> String {
    or_dash(spread.map(|s| if s.min == s.max { s.max.to_string() } else { format!("{} / {} / {}", s.min, s.median, s.max) }))
}

/// What caches made of steps that added partitions.
pub(crate) fn growth(findings: &Findings) -> Titled {
    let mut table = Table::new(&["step", "<topic", "<group", "<in caches after", "<learned by", "<then used after", "never"]);
    for growth in &findings.growth {
        let from = growth.from.map_or_else(|| "?".to_owned(), |from| from.to_string());
        table.row([
            growth.step.to_string(),
            format!("{} {from} -> {}", growth.topic, growth.to),
            growth.group.clone(),
            three_ms(growth.cached_ms),
            or_dash((!growth.by_reason.is_empty()).then(|| listed(&growth.by_reason))),
            three_ms(growth.first_use_ms),
            format!("{} of {}", grouped(growth.never), grouped(growth.producers)),
        ]);
    }
    Titled::new("Partition growth (min / median / max over producers)", table)
}

/// Each group's way to its first acknowledgements.
pub(crate) fn first_ack(findings: &Findings) -> Titled {
    let mut table = Table::new(&["<group", "producers", "<connected", "<api versions", "<metadata", "<producer id", "<first ack"]);
    for group in &findings.groups {
        let stages = &group.first_ack_stages_ms;
        let Some(first_ack) = stages.acknowledged else { continue };
        let stage = |spread: Option<Spread>| or_dash(spread.map(|s| format!("{} / {}", span_ms(s.median), span_ms(s.max))));
        let mut row = vec![group.name.clone(), format!("{}/{}", grouped(first_ack.count), grouped(u64::from(group.producers)))];
        row.extend([stages.connected, stages.ready, stages.metadata, stages.producer_id, stages.acknowledged].map(stage));
        table.row(row);
    }
    Titled::new("From construction to the first ack (median / max over producers)", table)
}

/// How late the generator was, and what it used.
pub(crate) fn generator(findings: &Findings) -> Vec<String> {
    let generator = &findings.generator;
    let mut parts = Vec::new();
    if let Some(lateness) = generator.baseline_lateness {
        let [p50, p99, max] = [lateness.p50_us, lateness.p99_us, lateness.max_us].map(span_us);
        parts.push(format!("late by p50 {p50}, p99 {p99}, max {max} in the baseline"));
    }
    if let (Some(p99), Some(max)) = (generator.lateness_p99_us, generator.lateness_max_us) {
        parts.push(format!("late by p99 {}, max {} over the whole load", span_us(p99), span_us(max)));
    }
    if generator.threads_max > 0 {
        let percent =
            generator.baseline_cpu_percent.map_or_else(String::new, |percent| format!("{percent} % of one core in the baseline, "));
        let (cpu, memory) = (generator.cpu_seconds, bytes(generator.rss_bytes_max));
        parts.push(format!("CPU {percent}{cpu:.1} s in all; memory {memory}; {} threads", generator.threads_max));
    }
    parts
}

/// What foreign clients used.
pub(crate) fn processes(findings: &Findings) -> Vec<String> {
    let process = |process: &ProcessFinding| {
        let (cpu, memory) = (process.cpu_seconds, bytes(process.rss_bytes_max));
        format!("CPU {cpu:.1} s in all; memory {memory}; {} threads", process.threads_max)
    };
    findings.groups.iter().filter_map(|group| Some(format!("{}: {}", group.name, process(group.process.as_ref()?)))).collect()
}
