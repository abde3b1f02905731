//! How each broker is: whether it answers, whether clients are sent to it, whether it follows the controller's log.

use super::Case;
use super::controller::{capitalised, is_none_active, is_some_active};
use crate::ids::BrokerId;
use crate::probe::trace::diagnosis::{Cause, Finding};
use crate::probe::trace::roll::{CAUGHT_UP_AGE_MS_MAX, FETCH_AGE_MS_MAX, Following, LogCopy, Node};
use crate::probe::trace::sighting::Silence;
use crate::probe::trace::words::{age, brokers, number};

/// Brokers that a sentence describes one by one.
const DESCRIBED_MAX: usize = 4;

/// Causes that are about nodes, and what their sentences say.
const CAUSES: [Cause; 7] = [
    Cause::Undetected,
    Cause::OutOfReachFromHere,
    Cause::NotFetching,
    Cause::Lagging,
    Cause::ControllerOutOfReach,
    Cause::Fenced,
    Cause::Down,
];

pub(super) fn findings(case: &Case<'_>) -> Vec<Finding> {
    if case.sighting.views().next().is_none() {
        return vec![];
    }
    let sorted: Vec<(Cause, &Node<'_>)> = case.roll.nodes().iter().filter_map(|node| Some((cause_of(case, node)?, node))).collect();
    let of_cause = |cause: Cause| {
        let nodes: Vec<&Node<'_>> = sorted.iter().filter(|(of_node, _)| *of_node == cause).map(|(_, node)| *node).collect();
        (!nodes.is_empty()).then(|| finding(case, cause, &nodes))
    };
    CAUSES.into_iter().filter_map(of_cause).collect()
}

fn cause_of(case: &Case<'_>, node: &Node<'_>) -> Option<Cause> {
    if !node.is_broker() {
        return None;
    }
    let following = node.follows(case.quorum.is_some());
    let is_in_service = node.is_listed() && node.is_fenced != Some(true);
    match (node.is_heard(), is_in_service) {
        // Nobody has tried: that is unknown, not silence. Only if nobody tells its address it is fenced, unless the log says otherwise.
        (false, _) if !was_asked(node) && (node.address.is_some() || node.is_fenced == Some(false)) => None,
        (false, true) if node.was_alive() => Some(Cause::OutOfReachFromHere),
        (false, true) => Some(Cause::Undetected),
        (false, false) => Some(Cause::Down),
        (true, _) if following == Some(Following::Not) => Some(Cause::NotFetching),
        (true, _) if following == Some(Following::Behind) => Some(Cause::Lagging),
        // Who is not listed is fenced, unless the controllers' log says otherwise: then a broker's cache is behind.
        (true, false) if node.is_fenced != Some(false) => Some(Cause::Fenced),
        (true, false) => None,
        (true, true) if node.reaches_controller() == Some(false) && !is_none_active(case) => Some(Cause::ControllerOutOfReach),
        (true, true) => None,
    }
}

/// Brokers in service that no broker tells of, so that nobody could ask them.
pub(super) fn only_logged(case: &Case<'_>) -> Vec<BrokerId> {
    let is_only_logged = |node: &&Node<'_>| node.address.is_none() && node.is_fenced == Some(false);
    case.roll.nodes().iter().filter(is_only_logged).map(|node| node.id).collect()
}

fn was_asked(node: &Node<'_>) -> bool {
    node.voice.is_some_and(|voice| !matches!(&voice.view, Err(unheard) if unheard.why == Silence::NotAsked))
}

fn finding(case: &Case<'_>, cause: Cause, nodes: &[&Node<'_>]) -> Finding {
    let ids: Vec<BrokerId> = nodes.iter().map(|node| node.id).collect();
    let (is, does, it) = if ids.len() == 1 { ("is", "does", "it") } else { ("are", "do", "them") };
    let who = brokers(&ids);
    let subject = capitalised(&who);
    let details = described(cause, nodes, case.quorum.is_some());
    let (sentence, next) = match cause {
        Cause::Undetected => (
            format!("{subject} {does} not answer{details}, and clients are still sent to {it}: no controller has fenced {it}."),
            format!(
                "Look at {who}: process, machine, disk, garbage collection; a paused or hung process looks just like this. An active controller fences \
                 {it} when broker.session.timeout.ms (by default 9 s) is over, and moves the leaders then."
            ),
        ),
        Cause::OutOfReachFromHere => (
            format!("{subject} {does} not answer here{details}: either it has only just stopped, or the way from here is cut."),
            "Ask again in a few seconds. If it stays so, the broker is well and its advertised address is wrong or blocked from here: check \
             advertised.listeners, names, firewalls; clients in the same place have the same trouble."
                .to_owned(),
        ),
        Cause::NotFetching => (
            format!("{subject} no longer {} the controller's log{details}: what it tells clients is as old as that.", if ids.len() == 1 { "fetches" } else { "fetch" }),
            format!(
                "Clients that ask {who} get old answers. Check its way to the controllers' listeners, then its log for the metadata loader and \
                 the raft client; restart it if the way is free."
            ),
        ),
        Cause::Lagging => (
            format!("{subject} {is} behind in the controller's log, though fetching{details}: what is told to clients is as old as that."),
            format!("A broker that was down catches up like this: ask again. If the distance does not shrink, look at CPU, disk and network of {who}."),
        ),
        Cause::ControllerOutOfReach => {
            let (reaches, own) = if ids.len() == 1 { ("reaches", "its own") } else { ("reach", "their own") };
            (format!("{subject} {reaches} no active controller with requests of {own}{details}."), out_of_reach_next(case, &who))
        }
        Cause::Fenced => (
            format!("{subject} {is} up, but the controller has fenced {it}{details}: clients are not sent there, and it leads nothing."),
            format!("It may still be starting. If it stays so, its heartbeats do not arrive or are refused: read the log of {who} and the active controller's."),
        ),
        // Before Kafka 4.0 nobody tells the address of a broker that is fenced, so that it cannot be asked.
        _ if nodes.iter().any(|node| node.address.is_none()) => (
            format!("{subject} {is} down, or up and fenced{details}; the cluster goes on without {it}."),
            format!("See whether {who} runs. If not, start it; if so, its heartbeats do not arrive or are refused: read its log."),
        ),
        _ => (
            format!("{subject} {is} down{details}; the cluster has noticed and goes on without {it}."),
            format!("Start {who}. Until then its replicas are missing: the next failure may cost a leader."),
        ),
    };
    Finding { cause, nodes: ids, partitions: vec![], partition_count: 0, sentence, next }
}

fn out_of_reach_next(case: &Case<'_>, who: &str) -> String {
    if is_some_active(case) {
        format!(
            "Heartbeats go that way, too: it may be fenced soon. Check the way from {who} to the active controller, and its log for the channel to it."
        )
    } else {
        format!(
            "Whether there is one is not known: ask the controllers themselves with --controller, then check the way from {who} to the active one."
        )
    }
}

/// What the first of them are like, in brackets.
fn described(cause: Cause, nodes: &[&Node<'_>], is_quorum_known: bool) -> String {
    let is_one = nodes.len() == 1;
    let described: Vec<String> = nodes
        .iter()
        .take(DESCRIBED_MAX)
        .filter_map(|node| {
            let words = words(cause, node, is_quorum_known);
            (!words.is_empty()).then(|| if is_one { words } else { format!("{}: {words}", node.id) })
        })
        .collect();
    if described.is_empty() { String::new() } else { format!(" ({})", described.join("; ")) }
}

fn words(cause: Cause, node: &Node<'_>, is_quorum_known: bool) -> String {
    let silence = node.voice.and_then(|voice| voice.view.as_ref().err()).map(|unheard| format!("{} at {}", unheard.word(), address(node)));
    let fenced = match (node.is_fenced, node.is_listed()) {
        (Some(true), _) => Some("fenced".to_owned()),
        (_, false) => Some(if node.is_heard() { "no other broker lists it" } else { "no broker lists it" }.to_owned()),
        _ => None,
    };
    let controller = node.voice.and_then(|voice| voice.quorum.as_ref().err()).map(ToString::to_string);
    let parts = match cause {
        Cause::Undetected | Cause::OutOfReachFromHere => vec![silence, is_quorum_known.then(|| fetches(node.log))],
        Cause::NotFetching | Cause::Lagging => vec![Some(fetches(node.log)), fenced],
        Cause::ControllerOutOfReach => vec![controller],
        Cause::Fenced => vec![fenced.filter(|words| words != "fenced")],
        _ => vec![silence, fenced],
    };
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn address(node: &Node<'_>) -> String {
    node.address.map_or_else(|| "an unknown address".to_owned(), ToString::to_string)
}

fn fetches(log: Option<LogCopy>) -> String {
    let Some(log) = log else { return "the active controller has heard no fetch from it".to_owned() };
    let last =
        log.fetched_ms_ago.map_or_else(|| "it has not fetched from this controller".to_owned(), |ms| format!("last fetch {} ago", age(ms)));
    let offset = log.offset.map(|offset| format!(" at offset {}", number(offset))).unwrap_or_default();
    let is_recent = log.fetched_ms_ago.is_some_and(|age| age <= FETCH_AGE_MS_MAX);
    let caught_up = log.caught_up_ms_ago.filter(|age| is_recent && *age > CAUGHT_UP_AGE_MS_MAX);
    let caught_up = caught_up.map(|ms| format!(", last had all {} ago", age(ms))).unwrap_or_default();
    let behind = log.behind.filter(|behind| *behind > 0).map(|behind| format!(", {} behind", number(behind))).unwrap_or_default();
    format!("{last}{offset}{behind}{caught_up}")
}
