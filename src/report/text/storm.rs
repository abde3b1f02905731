//! Metadata requests by time of the run: how many, how large, how slow; and the nodes' CPU meanwhile.

use super::format::span_us;
use super::groups::{UNKNOWN, or_unknown, three};
use super::table::{Table, Titled};
use crate::analyze::findings::Findings;
use crate::analyze::storm::findings::{BrokerFinding, ClientFinding, StormFinding};
use crate::digits::{bytes, grouped};

/// Parts that are shown; `run.json` has all.
const SHOWN_MAX: usize = 14;

/// Nodes that a line names.
const NODES_MAX: usize = 8;

/// The tables; of a run without steps and requesters there is nothing to set against each other.
pub(crate) fn storm(findings: &Findings) -> Vec<Titled> {
    match (findings.steps.is_empty(), findings.requesters.is_empty()) {
        (true, true) => Vec::new(),
        (false, true) => vec![requests(findings)],
        (_, false) => vec![requests(findings), round_trips(findings), cpu(findings)],
    }
}

fn requests(findings: &Findings) -> Titled {
    let mut table = Table::new(&["<time", "<group", "seconds", "requests", "in 1 s", "of each", "of one in 1 s", "bytes in", "in 1 s"]);
    rows(&mut table, findings, |part, client| {
        // Nothing is worth a line only where others are compared with it.
        if client.requests == Some(0) && part.part != "baseline" {
            return None;
        }
        let each = match client.per_client {
            Some(each) => three(Some(each)),
            None if client.is_requesters => String::new(),
            None => UNKNOWN.to_owned(),
        };
        let of_one = if client.is_requesters { String::new() } else { or_unknown(client.per_client_second_max.map(grouped)) };
        Some(vec![
            grouped(part.seconds),
            or_unknown(client.requests.map(grouped)),
            or_unknown(client.requests_per_second_max.map(grouped)),
            each,
            of_one,
            or_unknown(client.response_bytes.map(bytes)),
            or_unknown(client.response_bytes_per_second_max.map(bytes)),
        ])
    });
    let notes =
        ["in 1 s: the most in any second; of each: min / median / max over producers".to_owned()].into_iter().chain(later(findings));
    Titled { notes: notes.collect(), ..Titled::new("Metadata requests by time, in whole seconds", table) }
}

/// How many parts have no rows; each table tells it, for each is read by itself.
fn later(findings: &Findings) -> Option<String> {
    let count = findings.storm.len().saturating_sub(SHOWN_MAX);
    (count > 0).then(|| format!("{count} later parts are in run.json"))
}

fn round_trips(findings: &Findings) -> Titled {
    let mut table = Table::new(&["<time", "<group", "answered", "p50", "p99", "max"]);
    rows(&mut table, findings, |_, client| {
        let times = client.round_trip?;
        Some(vec![grouped(times.count), span_us(times.p50_us), span_us(times.p99_us), span_us(times.max_us)])
    });
    let notes = later(findings).into_iter().collect();
    Titled { notes, ..Titled::new("Round trips of Metadata requests, from send to answer", table) }
}

/// A row per part and group for which `cells` has any; the part is named in its first.
fn rows(table: &mut Table, findings: &Findings, cells: impl Fn(&StormFinding, &ClientFinding) -> Option<Vec<String>>) {
    for part in findings.storm.iter().take(SHOWN_MAX) {
        let of_part = part.clients.iter().filter_map(|client| Some((client, cells(part, client)?)));
        for (at, (client, cells)) in of_part.enumerate() {
            let name = if at == 0 { name(findings, part) } else { String::new() };
            table.row([name, client.group.clone()].into_iter().chain(cells));
        }
    }
}

fn cpu(findings: &Findings) -> Titled {
    let mut table = Table::new(&["<time", "all nodes", "<each node (in its worst second)"]);
    for part in findings.storm.iter().take(SHOWN_MAX).filter(|part| !part.brokers.is_empty()) {
        let all: f64 = part.brokers.iter().map(|node| node.cpu_percent).sum();
        let each = |node: &BrokerFinding| format!("{}: {:.0} ({:.0})", node.node, node.cpu_percent, node.cpu_percent_max);
        let mut nodes: Vec<String> = part.brokers.iter().take(NODES_MAX).map(each).collect();
        if part.brokers.len() > NODES_MAX {
            nodes.push(format!("and {} more", part.brokers.len() - NODES_MAX));
        }
        table.row([name(findings, part), format!("{all:.0}"), nodes.join("  ")]);
    }
    let notes = later(findings).into_iter().collect();
    Titled { notes, ..Titled::new("CPU of the nodes by time, in percent of one core, while they were up", table) }
}

/// `baseline`, `1 kill node 2`.
fn name(findings: &Findings, part: &StormFinding) -> String {
    let step = part.step.and_then(|number| findings.steps.iter().find(|step| step.step == number));
    step.map_or_else(
        || part.part.clone(),
        |step| match step.nodes.as_slice() {
            [node] if step.action != "link" => format!("{} {} node {node}", step.step, step.action),
            _ => format!("{} {} {}", step.step, step.action, step.target),
        },
    )
}
