//! Storms in sentences; figures are those of the findings, nothing is concluded anew.

use super::findings::{ClientFinding, StormFinding};
use crate::analyze::findings::{Findings, RequesterFinding, StepFinding};
use crate::digits::{self, grouped};

/// A second with fewer requests than this, or less than twice the baseline's worst, is no storm.
const STORM_MIN: u64 = 10;

/// Requester groups that a sentence names.
const NAMED_MAX: usize = 4;

/// What producers asked, what answers weighed, and what it did to others.
pub(crate) fn sentences(findings: &Findings) -> Vec<String> {
    [producers(findings), sizes(&findings.requesters), round_trips(findings)].into_iter().flatten().collect()
}

/// The group and step with most requests in one second.
fn producers(findings: &Findings) -> Option<String> {
    let steps = findings.storm.iter().filter(|part| part.step.is_some());
    let of_groups = steps.flat_map(|part| part.clients.iter().filter(|client| !client.is_requesters).map(move |client| (part, client)));
    let (part, client, most) = of_groups
        .filter_map(|(part, client)| Some((part, client, client.requests_per_second_max?)))
        .max_by_key(|(part, _, most)| (*most, std::cmp::Reverse(part.step)))?;
    let before = baseline(findings, client)?;
    let before_most = before.requests_per_second_max?;
    if most < STORM_MIN.max(before_most * 2) {
        return None;
    }
    let in_a_second = |requests, client: &ClientFinding| {
        let bytes = client.response_bytes_per_second_max.map_or_else(String::new, |bytes| format!(" and {}", digits::bytes(bytes)));
        format!("{}{bytes}", grouped(requests))
    };
    let each = client.per_client.map_or_else(String::new, |each| {
        let (median, max) = (grouped(each.median.unsigned_abs()), grouped(each.max.unsigned_abs()));
        format!(", {median} per producer (median; {max} at most)")
    });
    Some(format!(
        "After {} `{}` sent {} Metadata requests in {} s{each}; up to {} of answers in a second (up to {} in the baseline).",
        step_of(findings, part)?,
        client.group,
        grouped(client.requests?),
        part.seconds,
        in_a_second(most, client),
        in_a_second(before_most, before),
    ))
}

/// How large answers were, against what they were about.
fn sizes(requesters: &[RequesterFinding]) -> Option<String> {
    let mut told: Vec<_> =
        requesters.iter().filter_map(|group| Some((group.topics_max?, group.partitions_max?, group.response_bytes_per_answer?))).collect();
    told.sort_unstable_by(|a, b| b.cmp(a));
    told.dedup_by_key(|(topics, partitions, _)| (*topics, *partitions));
    let about = |(topics, partitions, bytes): &(u32, u32, u64)| {
        let topics = match topics {
            0 => "about none".to_owned(),
            1 => format!("about 1 topic ({} partitions)", grouped((*partitions).into())),
            _ => format!("about {} topics ({} partitions)", grouped((*topics).into()), grouped((*partitions).into())),
        };
        format!("{} {topics}", digits::bytes(*bytes))
    };
    (told.len() > 1).then(|| format!("An answer had {}.", told.iter().take(NAMED_MAX).map(about).collect::<Vec<_>>().join(", ")))
}

/// What others' requests took, in the step in which it was worst for any of them.
fn round_trips(findings: &Findings) -> Option<String> {
    let p99 = |client: &ClientFinding| client.round_trip.filter(|_| client.is_requesters).map(|times| times.p99_us);
    let steps = findings.storm.iter().filter(|part| part.step.is_some());
    let worst = steps.max_by_key(|part| (part.clients.iter().filter_map(p99).max(), std::cmp::Reverse(part.step)))?;
    let clause = |client: &ClientFinding| {
        let (after_us, before_us) = (p99(client)?, baseline(findings, client).and_then(p99)?);
        Some(format!("`{}` {} against {} ms", client.group, tenths(before_us), tenths(after_us)))
    };
    let clauses: Vec<String> = worst.clients.iter().filter_map(clause).take(NAMED_MAX).collect();
    let step = step_of(findings, worst)?;
    (!clauses.is_empty()).then(|| format!("Requesters' round trips (p99), baseline against {step}: {}.", clauses.join(", ")))
}

fn baseline<'a>(findings: &'a Findings, of: &ClientFinding) -> Option<&'a ClientFinding> {
    let part = findings.storm.iter().find(|part| part.part == "baseline")?;
    part.clients.iter().find(|client| (&client.group, client.is_requesters) == (&of.group, of.is_requesters))
}

/// `the kill of node 2`.
fn step_of(findings: &Findings, part: &StormFinding) -> Option<String> {
    let StepFinding { action, target, nodes, .. } = findings.steps.iter().find(|step| Some(step.step) == part.step)?;
    Some(match nodes.as_slice() {
        [node] if action != "link" => format!("the {action} of node {node}"),
        _ => format!("the {action} {target}"),
    })
}

/// Milliseconds with one decimal.
fn tenths(us: u64) -> String {
    let tenths = (us + 50) / 100;
    format!("{}.{}", tenths / 10, tenths % 10)
}
