//! All sections in the order of the page; most are pictures with the tables that belong to them.

use std::cmp::Reverse;

use maud::{Markup, html};

use super::figure::figure;
use super::frame::Section;
use super::table::{Look, more, shortened, table};
use super::words::words;
use super::{Content, about, layers, steps, summary};
use crate::analyze::findings::Findings;
use crate::digits::grouped;
use crate::record::files::millis;
use crate::report::text::format::moment_ms;
use crate::report::text::table::{Table, Titled};
use crate::report::text::{audit as audits, consumers, groups, layers as probes, requesters, storm};

/// All of them; one without anything to say is empty.
pub(super) fn all(content: Content<'_>) -> Vec<Section> {
    let findings = content.findings;
    let section = |id, title, body| Section { id, title, body };
    vec![
        section("summary", "What happened", summary::summary(content)),
        section("expectations", "Expectations", summary::expectations(findings)),
        section("timeline", "The load over time", timeline(content)),
        section("steps", "Steps and outages", steps::section(content)),
        section("layers", "Layers: who held it up", layers::section(content)),
        section("audit", "Audit: what the topics hold", audit(content)),
        section("latency", "Latency", latency(content)),
        section("cluster", "The cluster", cluster(content)),
        section("clients", "Clients and their metadata", clients(content)),
        section("errors", "Errors", errors(content)),
        section("generator", "Load generator and probes", generator(content)),
        section("about", "What was run", about::section(content)),
    ]
}

fn timeline(content: Content<'_>) -> Markup {
    let has_load = !content.series.timeline.time_ms.is_empty() && !content.series.timeline.groups.is_empty();
    html! {
        @if has_load {
            (figure("records", "Records per second: due, ok, failed, indeterminate", "seconds.csv"))
            (figure("in-flight", "Records in flight, and producer-partition pairs without service", "seconds.csv"))
        }
        (table(&groups::records(content.findings), Look::plain("table-records")))
    }
}

fn audit(content: Content<'_>) -> Markup {
    html! {
        (table(&audits::audit(content.findings), Look::plain("table-audit")))
        (table(&audits::lost(content.findings), Look::plain("table-lost")))
    }
}

fn latency(content: Content<'_>) -> Markup {
    let has_latency = !content.series.percentiles.is_empty();
    html! {
        @if has_latency {
            (figure("latency", "Latency over time: response = ack - due, service = ack - send", "seconds.csv"))
            (figure("percentiles", "Latency by percentile: the baseline and what came after it", "latency.hlog"))
        }
        (table(&groups::latency(content.findings), Look::plain("table-latency")))
        (table(&consumers::consumers(content.findings), Look::plain("table-consumers")))
    }
}

fn cluster(content: Content<'_>) -> Markup {
    html! {
        @if !content.series.partitions.topics.is_empty() {
            (figure("replicas", "Leaders, in-sync replicas and high watermarks, by the controller's log and the leaders' word", "layers.csv"))
        }
        @if !content.series.brokers.nodes.is_empty() {
            (figure("brokers", "CPU and memory of the nodes", "brokers.csv"))
        }
    }
}

fn clients(content: Content<'_>) -> Markup {
    let (findings, series) = (content.findings, content.series);
    let has_requests = series.timeline.groups.iter().any(|group| group.requests.is_some()) || !series.timeline.requesters.is_empty();
    let has_caches = !series.caches.counts.is_empty() || !series.caches.leaders.is_empty();
    let has_first_ack = findings.groups.iter().any(|group| group.first_ack_stages_ms.acknowledged.is_some());
    html! {
        @if has_requests {
            (figure("metadata-requests", "Metadata requests per second, by reason", "seconds.csv"))
        }
        (table(&groups::requests(findings), Look::plain("table-metadata-requests")))
        (table(&requesters::requesters(findings), Look::plain("table-requesters")))
        @for (at, part) in storm::storm(findings).iter().enumerate() {
            (table(part, Look::plain(["table-requests-by-time", "table-round-trips", "table-cpu"][at])))
        }
        @if has_caches {
            (figure("caches", "What producers' caches showed: partition counts and leaders", "layers.csv"))
        }
        (table(&groups::growth(findings), Look::plain("table-growth")))
        @if has_first_ack {
            (figure("first-ack", "From construction to the first ack, stage by stage", "run.json"))
        }
        (table(&groups::first_ack(findings), Look::plain("table-first-ack")))
    }
}

/// Kinds of errors that are shown, those with most records.
const ERRORS_MAX: usize = 300;

fn errors(content: Content<'_>) -> Markup {
    let mut rows = Table::new(&["<group", "<kind", "code", "count", "first", "last", "<text of the first"]);
    let mut sums: Vec<_> = content.errors.sums().collect();
    let left_out = sums.len().saturating_sub(ERRORS_MAX);
    sums.sort_by_key(|(_, sum)| Reverse(sum.count));
    sums.truncate(ERRORS_MAX);
    sums.sort_by_key(|(key, _)| *key);
    for (key, sum) in sums {
        rows.row([
            key.group.clone(),
            key.kind.clone(),
            key.code.map_or_else(String::new, |code| code.to_string()),
            grouped(sum.count),
            moment_ms(millis(sum.first_us)),
            moment_ms(millis(sum.last_us)),
            sum.text.clone(),
        ]);
    }
    html! {
        (table(&Titled::new("What went wrong with records and batches", rows), Look::plain("table-errors")))
        (more(left_out, "rows, those with the fewest records,"))
    }
}

fn generator(content: Content<'_>) -> Markup {
    let findings = content.findings;
    let has_lines = content.series.timeline.generator.rss_bytes.iter().any(Option::is_some);
    html! {
        @if has_lines {
            (figure("generator", "The load generator: lateness of sends, CPU, memory", "facts.jsonl"))
        }
        (lines("Load generator", &groups::generator(findings)))
        (lines("Clients in a process of their own", &groups::processes(findings)))
        (lines("Probes", &probe_lines(findings)))
    }
}

fn probe_lines(findings: &Findings) -> Vec<String> {
    let of = |found| probes::probe_costs(found).into_iter().chain(probes::gave_up(found)).collect();
    findings.probes.as_ref().map_or_else(Vec::new, of)
}

fn lines(title: &str, lines: &[String]) -> Markup {
    html! {
        @if !lines.is_empty() {
            h3 { (title) }
            ul class="lines" { @for line in lines { li { (words(&shortened(line))) } } }
        }
    }
}
