//! Steps and what they did.

use super::format::{moment_ms, span_ms};
use super::table::{Table, Titled};
use crate::analyze::findings::{Findings, OutageFigures, StepFinding};
use crate::digits::grouped;

/// Each step for which `shown` holds, with a row for each group.
pub(crate) fn steps(findings: &Findings, shown: impl Fn(&StepFinding) -> bool) -> Titled {
    let mut table = Table::new(&[
        "step",
        "at",
        "<what",
        "<controller",
        "<group",
        "stalled",
        "min",
        "median",
        "p99",
        "max",
        "to ok",
        "never ok",
        "<outcome",
    ]);
    for step in findings.steps.iter().filter(|step| is_of_interest(step) && shown(step)) {
        let about = about(findings, step);
        let groups: Vec<Option<&OutageFigures>> =
            if step.outages.is_empty() { vec![None] } else { step.outages.iter().map(Some).collect() };
        for (at, outage) in groups.into_iter().enumerate() {
            let mut row: Vec<String> = if at == 0 { about.to_vec() } else { vec![String::new(); about.len()] };
            row.extend(figures(outage, findings.groups.len() > 1));
            row.push(if at == 0 { outcome(step) } else { String::new() });
            table.row(row);
        }
    }
    let notes = notes(findings).map(str::to_owned).collect();
    Titled { notes, ..Titled::new("Steps, with outages over producers x partitions", table) }
}

/// Waiting is only worth a line if it went wrong.
pub(crate) fn is_of_interest(step: &StepFinding) -> bool {
    step.action != "wait" || step.outcome.as_deref() != Some("done")
}

fn about(findings: &Findings, step: &StepFinding) -> [String; 4] {
    let round = step.round.map_or_else(String::new, |round| format!("round {round}: "));
    let what = format!("{}{round}{}", "  ".repeat(depth(findings, step)), what(step));
    let controller = match step.was_controller {
        Some(true) => "active",
        Some(false) => "no",
        None => "",
    };
    [step.step.to_string(), moment_ms(step.requested_ms), what, controller.to_owned()]
}

/// In how many other steps it is a part.
pub(crate) fn depth(findings: &Findings, step: &StepFinding) -> usize {
    let mut depth = 0;
    let mut parent = step.parent;
    while let Some(number) = parent {
        depth += 1;
        parent = findings.steps.iter().find(|step| step.step == number).and_then(|step| step.parent);
    }
    depth
}

/// `kill node 2`, `stop leader-of(orders/0) = node 3`.
pub(crate) fn what(step: &StepFinding) -> String {
    let nodes: Vec<String> = step.nodes.iter().map(ToString::to_string).collect();
    let nodes = nodes.join(" ");
    let named = step.target.split_whitespace().next() == Some(nodes.as_str());
    let resolved = if nodes.is_empty() || named || step.has_parts { String::new() } else { format!(" = node {nodes}") };
    let node = if named && step.nodes.len() == 1 { "node " } else { "" };
    format!("{} {node}{}{resolved}", step.action, step.target)
}

/// Group, stalled pairs, outages, from request to ok, never recovered.
fn figures(outage: Option<&OutageFigures>, names_group: bool) -> [String; 8] {
    let Some(outage) = outage else { return Default::default() };
    let mark = if outage.began_before > 0 { "*" } else { "" };
    let group = if names_group { outage.group.clone() } else { String::new() };
    let [min, median, p99, max] = outage.outage_ms.map_or_else(Default::default, |s| [s.min, s.median, s.p99, s.max].map(span_ms));
    let to_ok = outage.request_to_ok_ms.map_or_else(String::new, |s| span_ms(s.max));
    let never = if outage.never_recovered == 0 { String::new() } else { grouped(outage.never_recovered) };
    [group, format!("{}/{}{mark}", grouped(outage.stalled), grouped(outage.pairs)), min, median, p99, max, to_ok, never]
}

fn outcome(step: &StepFinding) -> String {
    match step.outcome.as_deref() {
        Some("done") => "done".to_owned(),
        outcome => format!("{}: {}", outcome.unwrap_or("did not end"), step.detail),
    }
}

fn notes(findings: &Findings) -> impl Iterator<Item = &'static str> {
    let outages = || findings.steps.iter().flat_map(|step| &step.outages);
    let stalled = outages().any(|outage| outage.stalled > 0);
    let carried = outages().any(|outage| outage.began_before > 0);
    [
        (stalled, "to ok: the longest time from the step's request to the ok that ended an outage"),
        (carried, "*: some or all of these outages had begun before the step"),
    ]
    .into_iter()
    .filter_map(|(applies, note)| applies.then_some(note))
}

/// Stalls that are no step's.
pub(crate) fn outside(findings: &Findings) -> [Titled; 2] {
    [stalls("Stalls outside any step", &findings.outside_steps), stalls("Stalls in the warm-up", &findings.warm_up_stalls)]
}

fn stalls(title: &'static str, stalls: &[OutageFigures]) -> Titled {
    let mut table = Table::new(&["<group", "stalled pairs", "min", "median", "p99", "max", "never ok"]);
    for outage in stalls {
        let [_, _, min, median, p99, max, _, never] = figures(Some(outage), false);
        table.row([outage.group.clone(), grouped(outage.stalled), min, median, p99, max, never]);
    }
    Titled::new(title, table)
}
