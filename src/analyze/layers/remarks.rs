//! What else is worth telling of a step: for how long brokers disagreed, leaders that went to and fro, elections that a broker never showed, unclean
//! elections, late answers that clients refused.

use std::collections::BTreeMap;

use super::Layers;
use super::index::Part;
use super::log::{Change, Kind};
use super::order::Sight;
use super::step::Step;
use super::words::{leads, span};
use crate::ids::{BrokerId, LeaderEpoch};

/// A disagreement shorter than this is the time that a log takes.
const DISAGREEMENT_MIN_US: i64 = 100_000;

/// A leader that is back so soon has flipped.
const FLIP_US: i64 = 50_000;

/// All remarks; `shown` is the change of the waterfall.
pub(crate) fn of(layers: &Layers, step: &Step<'_>, shown: Option<&Change>) -> Vec<String> {
    let mut remarks = Vec::new();
    remarks.extend(disagreement(layers, step));
    remarks.extend(flips(layers, step));
    remarks.extend(skipped(layers, step));
    remarks.extend(unclean(layers, step));
    remarks.extend(shown.and_then(|change| refused(layers, step, change)));
    remarks
}

/// When a broker showed a change; `None`: not by the end.
type Showing = (Option<i64>, BrokerId);

/// When each broker did. Brokers that were down, or had only come up, are left out.
fn shown_at(layers: &Layers, step: &Step<'_>, change: &Change) -> Vec<Showing> {
    let made_us = change.made.earliest_us();
    let watched = layers.caches.brokers(made_us).filter(|broker| layers.caches.knows(*broker, change.part));
    let shown = watched.map(|broker| (layers.shows(broker, change).map(|sight| sight.time_us), broker));
    let counts = |(time_us, broker): &Showing| {
        layers.nodes.is_settled(*broker, made_us) && !layers.nodes.was_down(*broker, made_us, time_us.unwrap_or(step.end_us))
    };
    let mut shown: Vec<_> = shown.filter(counts).collect();
    shown.sort_by_key(|(time_us, _)| time_us.unwrap_or(i64::MAX));
    shown
}

fn disagreement(layers: &Layers, step: &Step<'_>) -> Option<String> {
    let mut longest: Option<(i64, &Change, [Showing; 2])> = None;
    let mut count = 0;
    for change in step.changes.values().filter(|change| change.kind != Kind::Other) {
        let shown = shown_at(layers, step, change);
        let (Some(first), Some(last)) = (shown.first().copied(), shown.last().copied()) else { continue };
        let Some(first_us) = first.0 else { continue };
        let length_us = last.0.unwrap_or(step.end_us) - first_us;
        if length_us < DISAGREEMENT_MIN_US {
            continue;
        }
        count += 1;
        if longest.as_ref().is_none_or(|(most_us, ..)| length_us > *most_us) {
            longest = Some((length_us, change, [first, last]));
        }
    }
    let (length_us, change, [(first_us, first), (last_us, last)]) = longest?;
    let part = layers.index.part_name(change.part);
    let end = if last_us.is_some() { "" } else { ", until the end" };
    let meanwhile = first_us.and_then(|first_us| layers.caches.at(last, change.part, first_us));
    let got = meanwhile.map_or_else(|| "no such partition".to_owned(), |shown| answer(shown.leader, shown.epoch));
    let others = if count > 1 { format!(" (the longest of {count} partitions)") } else { String::new() };
    Some(format!(
        "Brokers disagreed on {part} for {}{end}{others}: broker {first} showed the change first, broker {last} last; a client that asked \
         broker {last} meanwhile would have got {got}.",
        span(length_us)
    ))
}

/// `leader 2, epoch 4`, as a broker answers.
pub(crate) fn answer(leader: Option<BrokerId>, epoch: Option<LeaderEpoch>) -> String {
    let leader = leader.map_or_else(|| "no leader".to_owned(), |leader| format!("leader {leader}"));
    epoch.map_or_else(|| leader.clone(), |epoch| format!("{leader}, epoch {}", epoch.0))
}

/// Leaders by partition, in the order of records, with the one before the step.
fn leaders(layers: &Layers, step: &Step<'_>) -> BTreeMap<Part, Vec<(i64, Option<BrokerId>, LeaderEpoch)>> {
    let mut leaders: BTreeMap<Part, Vec<_>> = BTreeMap::new();
    let within = |change: &&Change| (step.began_us..step.until_us).contains(&change.made.earliest_us());
    for change in layers.log.changes().iter().filter(within).filter(|change| change.kind == Kind::Led) {
        let of_part = leaders.entry(change.part).or_default();
        if let (true, Some(before)) = (of_part.is_empty(), change.before) {
            of_part.push((i64::MIN, before.leader, before.epoch));
        }
        of_part.push((change.made.earliest_us(), change.after.leader, change.after.epoch));
    }
    leaders
}

/// A leader that is given up and comes back: by way of none, or of another within a moment.
fn flips(layers: &Layers, step: &Step<'_>) -> Option<String> {
    let mut flips = Vec::new();
    for (part, leaders) in leaders(layers, step) {
        let flipped = leaders.windows(3).find(|three| {
            let is_quick = three[2].0 - three[1].0 <= FLIP_US;
            three[0].1.is_some() && three[0].1 == three[2].1 && three[1].1 != three[0].1 && (three[1].1.is_none() || is_quick)
        });
        flips.extend(flipped.map(|three| {
            let name = |leader: Option<BrokerId>| leader.map_or_else(|| "none".to_owned(), |leader| leader.to_string());
            let took = span(three[2].0 - three[1].0);
            let part = layers.index.part_name(part);
            format!("{part}: leader {} -> {} -> {} within {took}", name(three[0].1), name(three[1].1), name(three[2].1))
        }));
    }
    let first = flips.first()?;
    Some(if flips.len() == 1 {
        format!("A leader went and came back: {first}.")
    } else {
        format!("{} leaders went and came back, such as {first}.", flips.len())
    })
}

/// Elections that a broker's answers never showed, because it learned of several at once.
fn skipped(layers: &Layers, step: &Step<'_>) -> Option<String> {
    let mut count = 0;
    let mut example = None;
    for part in leaders(layers, step).into_keys() {
        for broker in layers.caches.brokers(step.began_us) {
            for pair in layers.caches.of(broker, part).windows(2) {
                let (from_us, time_us) = (pair[0].sight.time_us, pair[1].sight.time_us);
                let (Some(before), Some(after)) = (pair[0].epoch, pair[1].epoch) else { continue };
                let is_of_step = (step.began_us..step.until_us).contains(&time_us);
                if after.0 - before.0 < 2 || !is_of_step || layers.nodes.was_down(broker, from_us.max(step.began_us), time_us) {
                    continue;
                }
                count += 1;
                example.get_or_insert((broker, part, before.0, after.0));
            }
        }
    }
    let (broker, part, before, after) = example?;
    let part = layers.index.part_name(part);
    let others = if count > 1 { format!(" ({count} such jumps)") } else { String::new() };
    let elections = after - before;
    Some(format!(
        "Broker {broker} went from epoch {before} to {after} of {part} at once: {elections} elections, of which it showed the last alone{others}."
    ))
}

/// Leaders that may lack committed records.
fn unclean(layers: &Layers, step: &Step<'_>) -> Option<String> {
    let is_unclean = |change: &&&Change| change.after.is_unclean && !change.before.is_some_and(|before| before.is_unclean);
    let unclean: Vec<&&Change> = step.changes.values().filter(is_unclean).collect();
    let first = unclean.first()?;
    let isr = |set| {
        let nodes: Vec<String> = layers.index.nodes(set).iter().map(ToString::to_string).collect();
        format!("[{}]", nodes.join(" "))
    };
    let before = first.before.map_or_else(|| "?".to_owned(), |before| isr(before.isr));
    let part = layers.index.part_name(first.part);
    let others = if unclean.len() > 1 { format!(" ({} partitions)", unclean.len()) } else { String::new() };
    Some(format!(
        "Unclean election: {part} is led by {}, ISR {before} -> {}{others}; committed records may be lost.",
        leads(first.after),
        isr(first.after.isr)
    ))
}

/// Answers of brokers that did not know yet, to clients that did: refused for their old epoch.
fn refused(layers: &Layers, step: &Step<'_>, change: &Change) -> Option<String> {
    let learned = layers.clients.learned(change, &layers.index);
    let mut by_broker: BTreeMap<BrokerId, u64> = BTreeMap::new();
    for (shown_us, broker) in shown_at(layers, step, change) {
        // Only as long as a look still saw the old state.
        let stale_until_us = match shown_us {
            Some(_) => layers.shows(broker, change).map_or(i64::MIN, Sight::earliest_us),
            None => step.end_us,
        };
        let knew = |who| learned.get(&who).map(|how| how.time_us);
        let answers = layers.clients.answered_by(broker, change.made.earliest_us(), stale_until_us);
        let late = answers.filter(|(who, asked)| knew(*who).is_some_and(|knew_us| knew_us < asked.sent_us)).count();
        if late > 0 {
            by_broker.insert(broker, late as u64);
        }
    }
    let (broker, count) = by_broker.into_iter().max_by_key(|(_, count)| *count)?;
    let part = layers.index.part_name(change.part);
    let (answers, were) = if count == 1 { ("answer", "was") } else { ("answers", "were") };
    Some(format!(
        "{count} late {answers} of broker {broker} named an old epoch of {part} to clients that knew the new one, and {were} refused."
    ))
}
