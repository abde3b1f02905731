//! The run in sentences: what an engineer would tell a colleague. Figures are those of the findings, nothing is concluded anew.

use std::collections::BTreeMap;

use crate::analyze::audit;
use crate::analyze::findings::{Findings, GrowthFinding, OutageFigures, StepFinding};
use crate::analyze::growth::accidents;
use crate::analyze::layers::findings::Held;
use crate::analyze::storm;

/// All sentences, the most important first.
pub(crate) fn sentences(findings: &Findings) -> Vec<String> {
    let mut sentences = stalls(findings);
    let lost = records(findings);
    match sentences.first_mut() {
        Some(first) if sentences_join(first) => first.push_str(&format!("; {lost}.")),
        _ => sentences.insert(0, format!("{}.", capital(&lost))),
    }
    sentences.extend(findings.audit.as_ref().and_then(audit::sentence));
    sentences.extend(deleted(findings).into_iter().map(gone));
    sentences.extend(never(findings));
    sentences.extend(findings.outside_steps.iter().map(outside));
    sentences.extend(findings.growth.iter().map(growth));
    sentences.extend(held(findings));
    sentences.extend(storm::words::sentences(findings));
    sentences
}

/// Of what held steps up, so many are told here.
const HELD_MAX: usize = 3;

/// Which layer held which step up, the longest first.
fn held(findings: &Findings) -> Vec<String> {
    let mut held: Vec<_> = findings.layers.iter().filter_map(|layers| Some((layers.step, layers.held.as_ref()?))).collect();
    let is_unexplained = findings.layers.iter().any(|layers| layers.unexplained > 0);
    if held.is_empty() && !findings.layers.is_empty() && !is_unexplained {
        return vec!["No layer held any step up beyond ordinary time.".to_owned()];
    }
    held.sort_by_key(|(step, held)| (!held.is_stuck, -held.for_ms, *step));
    let sentence = |(step, held): &(u32, &Held)| {
        let is_stuck = if held.is_stuck { "is stuck" } else { "was held up" };
        format!("Step {step} {is_stuck} in layer {}: {}.", held.layer.name(), held.in_words)
    };
    let mut sentences: Vec<String> = held.iter().take(HELD_MAX).map(sentence).collect();
    if held.len() > HELD_MAX {
        let more = held.len() - HELD_MAX;
        sentences.push(if more == 1 { "1 more step was held up.".to_owned() } else { format!("{more} more steps were held up.") });
    }
    sentences
}

/// A sentence without its full stop takes the next one in.
fn sentences_join(sentence: &str) -> bool {
    !sentence.ends_with('.')
}

/// One sentence per kind of step, the first without its full stop.
fn stalls(findings: &Findings) -> Vec<String> {
    let mut by_action: BTreeMap<usize, (&str, Vec<&StepFinding>)> = BTreeMap::new();
    for (order, step) in findings.steps.iter().enumerate().filter(|(_, step)| !step.has_parts && step.action != "wait") {
        let known = by_action.values_mut().find(|(action, _)| *action == step.action);
        match known {
            Some((_, steps)) => steps.push(step),
            None => {
                by_action.insert(order, (&step.action, vec![step]));
            }
        }
    }
    let (stalling, quiet): (Vec<_>, Vec<_>) =
        by_action.into_values().partition(|(_, steps)| steps.iter().any(|step| step.outages.iter().any(|o| o.own_ms.is_some())));
    let mut sentences: Vec<String> = stalling.iter().map(|(action, steps)| stall(action, steps)).collect();
    if sentences.is_empty() && !quiet.is_empty() {
        sentences.push("No step stalled any partition for longer than the threshold".to_owned());
    }
    for sentence in sentences.iter_mut().skip(1) {
        sentence.push('.');
    }
    sentences
}

/// `Each kill stalled every partition for 8.9 to 13.2 s`.
fn stall(action: &str, steps: &[&StepFinding]) -> String {
    let subject = match steps {
        [step] if *action == *"link" => format!("The link {}", step.target),
        [step] => format!("The {action} of {}", object(step)),
        _ if steps.iter().all(|step| step.outages.iter().any(|outage| outage.own_ms.is_some())) => format!("Each {action}"),
        _ => {
            let stalling = steps.iter().filter(|step| step.outages.iter().any(|outage| outage.own_ms.is_some())).count();
            format!("{stalling} of {} steps `{action}`", steps.len())
        }
    };
    let outages: Vec<&OutageFigures> = steps.iter().flat_map(|step| &step.outages).collect();
    let own: Vec<_> = outages.iter().filter_map(|outage| outage.own_ms).collect();
    let (least, greatest) = (own.iter().map(|s| s.min).min().unwrap_or(0), own.iter().map(|s| s.max).max().unwrap_or(0));
    let (stalled, pairs) = (own.iter().map(|s| s.count).max().unwrap_or(0), outages.iter().map(|o| o.pairs).max().unwrap_or(0));
    let all = outages.iter().all(|outage| outage.own_ms.is_some_and(|own| own.count == outage.pairs));
    let whom = if all { "every partition".to_owned() } else { format!("up to {stalled} of {pairs} producer-partition pairs") };
    format!("{subject} stalled {whom} for {}", range_s(least, greatest))
}

/// Whom a step was about: nodes by number, anything else as the plan says it.
fn object(step: &StepFinding) -> String {
    let nodes: Vec<String> = step.nodes.iter().map(ToString::to_string).collect();
    match nodes.as_slice() {
        [] => step.target.clone(),
        [node] => format!("node {node}"),
        _ => format!("nodes {}", nodes.join(", ")),
    }
}

fn records(findings: &Findings) -> String {
    let totals = &findings.totals;
    let told = totals.ok + totals.failed + totals.indeterminate;
    let failed = match totals.failed {
        0 => "no record failed for certain".to_owned(),
        1 => "1 record failed".to_owned(),
        failed => format!("{failed} records failed"),
    };
    if totals.due == 0 {
        "no record was due".to_owned()
    } else if told < totals.due {
        format!("{failed}, {} may or may not be in the log, and nothing is known of {}", totals.indeterminate, totals.due - told)
    } else if totals.indeterminate > 0 {
        format!("{failed}, {} may or may not be in the log", totals.indeterminate)
    } else if totals.failed > 0 {
        failed
    } else if findings.audit.as_ref().is_some_and(|audit| audit.totals.lost == 0 && audit.is_complete(None)) {
        "no record was lost".to_owned()
    } else {
        "no record failed".to_owned()
    }
}

/// Topics that steps have deleted, and how often.
fn deleted(findings: &Findings) -> BTreeMap<&str, u32> {
    let mut deleted = BTreeMap::new();
    for step in &findings.steps {
        let is_deletion = matches!(step.action.as_str(), "delete-topic" | "recreate-topic") && step.acknowledged_ms.is_some();
        if let Some(topic) = step.target.split_whitespace().next().filter(|_| is_deletion) {
            *deleted.entry(topic).or_insert(0) += 1;
        }
    }
    deleted
}

/// What no figure of the producers shows.
fn gone((topic, count): (&str, u32)) -> String {
    let times = if count == 1 { String::new() } else { format!(" {count} times") };
    format!("Topic `{topic}` was deleted{times}: what was acknowledged there before is gone, and no producer is told.")
}

fn never(findings: &Findings) -> Option<String> {
    let outages = findings.steps.iter().flat_map(|step| &step.outages).chain(&findings.outside_steps).chain(&findings.warm_up_stalls);
    let mut by_group = std::collections::BTreeMap::new();
    for outage in outages {
        // The same pair may be named at several steps.
        let most = by_group.entry(&outage.group).or_insert(0);
        *most = outage.never_recovered.max(*most);
    }
    let never: u64 = by_group.into_values().sum();
    (never > 0).then(|| format!("{} never recovered.", pairs(never)))
}

fn outside(outage: &OutageFigures) -> String {
    let longest = outage.outage_ms.map_or(0, |spread| spread.max);
    let (group, stalled) = (&outage.group, pairs(outage.stalled));
    format!("Outside any step, {stalled} of `{group}` stalled for up to {}.", range_s(longest, longest))
}

/// `Caches of `fast` showed 6 partitions of `orders` 0.4 to 5.1 s after the change (50 by age).`
fn growth(growth: &GrowthFinding) -> String {
    let GrowthFinding { group, topic, to, producers, never, .. } = growth;
    let Some(cached) = growth.cached_ms else {
        return format!("No cache of `{group}` showed {to} partitions of `{topic}` by the end ({producers} producers).");
    };
    let by: Vec<String> = growth.by_reason.iter().map(|(reason, count)| format!("{count} by {reason}")).collect();
    let mut text = format!(
        "Caches of `{group}` showed {to} partitions of `{topic}` {} after the change ({})",
        range_s(cached.min, cached.max),
        by.join(", ")
    );
    if *never > 0 {
        text.push_str(&format!("; {never} of {producers} never did"));
    }
    let accidents = accidents(growth);
    if !accidents.is_empty() {
        let count: u64 = accidents.iter().map(|(_, count)| count).sum();
        text.push_str(&format!("; {count} learned by an accident, not because of their metadata.max.age.ms"));
    }
    text + "."
}

/// So many pairs, in words.
pub(crate) fn pairs(count: u64) -> String {
    if count == 1 { "1 producer-partition pair".to_owned() } else { format!("{count} producer-partition pairs") }
}

/// Two spans in seconds as one phrase.
fn range_s(least_ms: i64, greatest_ms: i64) -> String {
    let tenths = |ms: i64| (ms + 50).div_euclid(100);
    let text = |tenths: i64| format!("{}{}.{}", if tenths < 0 { "-" } else { "" }, tenths.abs() / 10, tenths.abs() % 10);
    let (least, greatest) = (tenths(least_ms), tenths(greatest_ms));
    if least == greatest { format!("{} s", text(least)) } else { format!("{} to {} s", text(least), text(greatest)) }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
