//! What was found, in words: for the screen, and for whoever reads `run.json`.

use super::Layers;
use super::clients::Learned;
use super::log::{Change, Event, Kind, Noticed, State};
use super::path::{Path, Segment, Why};
use super::remarks::answer;
use super::scan::Late;
use super::step::Step;
use crate::ids::BrokerId;
use crate::kafka::wire::error::ErrorCode;
use crate::record::layer::Layer;

/// A leader named in an answer to Produce, among the reasons of requests.
const LEADER_HINT: &str = "leader_hint";

/// A part of a place that is less than one in so many of it is not told.
const PART_OF_PLACE: i64 = 10;

/// A span in seconds with one decimal, without its unit.
pub(crate) fn seconds(us: i64) -> String {
    let tenths = (us + 50_000).div_euclid(100_000);
    format!("{}{}.{}", if tenths < 0 { "-" } else { "" }, tenths.abs() / 10, tenths.abs() % 10)
}

/// A span with its unit.
pub(crate) fn span(us: i64) -> String {
    if us.abs() < 1_000_000 { format!("{} ms", (us + 500).div_euclid(1_000)) } else { format!("{} s", seconds(us)) }
}

fn nodes(nodes: &[BrokerId]) -> String {
    if nodes.is_empty() { "none".to_owned() } else { nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ") }
}

fn leader(leader: Option<BrokerId>) -> String {
    leader.map_or_else(|| "none".to_owned(), |leader| leader.to_string())
}

/// `leader 3, epoch 5`.
pub(crate) fn leads(state: State) -> String {
    let leader = state.leader.map_or_else(|| "no leader".to_owned(), |leader| format!("leader {leader}"));
    format!("{leader}, epoch {}", state.epoch.0)
}

/// What a partition is after a change.
pub(crate) fn state(layers: &Layers, change: &Change) -> String {
    match change.kind {
        Kind::Made => format!("made: {}", leads(change.after)),
        Kind::Led => leads(change.after),
        Kind::Shrunk | Kind::Other => format!("ISR {}", nodes(layers.index.nodes(change.after.isr))),
    }
}

/// What changed: `leader 2 -> 3, epoch 4 -> 5`.
pub(crate) fn change(layers: &Layers, change: &Change) -> String {
    let after = change.after;
    match change.before {
        Some(before) if change.kind == Kind::Led => {
            format!("leader {} -> {}, epoch {} -> {}", leader(before.leader), leader(after.leader), before.epoch.0, after.epoch.0)
        }
        Some(before) if change.kind != Kind::Made => {
            let isr = |state: State| nodes(layers.index.nodes(state.isr));
            format!("ISR {} -> {}", isr(before), isr(after))
        }
        _ => state(layers, change),
    }
}

/// What the controller noticed, without of whom.
pub(crate) fn noticed(event: &Event) -> String {
    match &event.noticed {
        Noticed::Fenced => "fenced".to_owned(),
        Noticed::Unfenced => "unfenced".to_owned(),
        Noticed::Stopping => "in controlled shutdown".to_owned(),
        Noticed::Registered { broker_epoch } => format!("registered, broker epoch {broker_epoch}"),
        Noticed::Unregistered => "unregistered".to_owned(),
        Noticed::Elected => "active controller".to_owned(),
        Noticed::TopicRemoved { topic, .. } => format!("topic {topic} removed"),
        Noticed::Other(words) => words.clone(),
    }
}

/// Why a client asked, or that it did not.
pub(crate) fn reason(layers: &Layers, how: &Learned) -> String {
    let known = how.reason.and_then(|reason| layers.index.words.get(reason));
    match known {
        Some(reason) => reason.clone(),
        None if how.is_hint => LEADER_HINT.to_owned(),
        None => "unknown".to_owned(),
    }
}

/// A wait that ended: `orders/3: 9.0 of 9.3 s until the controller fenced broker 2 (its session timeout)`; of several parts, each with its time.
pub(crate) fn held_in(layers: &Layers, path: &Path<'_>, parts: &[&Segment<'_>], of_us: i64) -> String {
    let part = layers.index.part_name(path.wait.part);
    let for_us: i64 = parts.iter().map(|segment| segment.for_us()).sum();
    let mut told: Vec<(i64, String)> = Vec::new();
    for segment in parts.iter().filter(|segment| segment.for_us() * PART_OF_PLACE >= for_us) {
        let why = why_held(layers, path, segment);
        match told.last_mut().filter(|(_, last)| *last == why) {
            Some((sum, _)) => *sum += segment.for_us(),
            None => told.push((segment.for_us(), why)),
        }
    }
    let of = format!("{} of {} s", seconds(for_us), seconds(of_us));
    match &told[..] {
        [(_, why)] => format!("{part}: {of} {why}"),
        parts => {
            let parts: Vec<String> = parts.iter().map(|(us, why)| format!("{} s {why}", seconds(*us))).collect();
            format!("{part}: {of}: {}", parts.join(", then "))
        }
    }
}

fn why_held(layers: &Layers, path: &Path<'_>, segment: &Segment<'_>) -> String {
    let node = segment.node.map_or_else(|| "?".to_owned(), |node| node.to_string());
    let group = layers.index.group_name(path.wait.who.group);
    match (segment.layer, segment.why) {
        (_, Why::Noticed(event)) => match event.noticed {
            Noticed::Fenced => format!("until the controller fenced broker {node} (its session timeout)"),
            Noticed::Stopping => format!("until the controller heard that broker {node} stops"),
            Noticed::Registered { .. } => format!("until broker {node} had registered again"),
            Noticed::Unfenced => format!("until broker {node} was unfenced"),
            Noticed::Unregistered => format!("until broker {node} was unregistered"),
            Noticed::Elected => format!("until controller {node} was the active one"),
            Noticed::TopicRemoved { .. } | Noticed::Other(_) => "until the controller had made its record".to_owned(),
        },
        (_, Why::NotNoticed) => format!("in which the controller did not notice that broker {node} was down"),
        (_, Why::NoLeader) => "without a leader: no replica could be elected".to_owned(),
        (_, Why::NoController) => "without an active controller".to_owned(),
        (_, Why::Untold) => format!("in which `{group}` got nothing acknowledged, and does not tell whether it knew the change"),
        (Layer::Fetched, Why::Ahead) => {
            format!("until broker {node}, which had not answered batches of `{group}` that go first, had fetched the record")
        }
        (Layer::BrokerCache, Why::Ahead) => {
            format!("until broker {node}, which had not answered batches of `{group}` that go first, knew that it leads no more")
        }
        (_, Why::Ahead) => format!("in which batches of `{group}` waited for those before them, which broker {node} did not answer"),
        (_, Why::Unanswered) => format!("in which node {node} did not answer a Metadata request of `{group}`"),
        (_, Why::NotReady) => format!("in which node {node} did not answer a new connection of `{group}`, which asked nobody meanwhile"),
        (_, Why::Unseen) => {
            format!("in which `{group}` got nothing acknowledged by leader {node}; whether requests reached it, nobody saw")
        }
        (_, Why::Slow) => {
            format!(
                "until leader {node} acknowledged, which committed records of the partition meanwhile (no connection of `{group}` to it ended)"
            )
        }
        (_, Why::Silent(why)) => format!("in which leader {node} did not answer ({why})"),
        (_, Why::Refused(code)) => format!("in which leader {node} refused ({})", ErrorCode(code)),
        (Layer::Fetched, Why::OldLeader) => format!("until broker {node}, to which `{group}` still sent, had fetched the record"),
        (Layer::BrokerCache, Why::OldLeader) => format!("until broker {node}, to which `{group}` still sent, knew that it leads no more"),
        (Layer::Detected, _) => "until the controller had made its record".to_owned(),
        (Layer::Committed, _) => "until a majority of the controllers had the record".to_owned(),
        (Layer::Fetched, _) => format!("until broker {node} had fetched the record"),
        (Layer::BrokerCache, _) => format!("until the answers of broker {node} showed it"),
        (Layer::Servable, _) => {
            let code = path.change.and_then(|change| layers.caches.refusal(change));
            let code = code.map_or_else(String::new, |code| format!(" (it refused with {})", ErrorCode(code)));
            format!("until leader {node} served{code}")
        }
        (Layer::ClientCache, _) => {
            let by = path.learned.as_ref().map_or_else(String::new, |how| format!(" (by {})", reason(layers, how)));
            format!("until `{group}` asked again{by}")
        }
        (Layer::Route, _) => format!("in which requests of `{group}` did not reach leader {node}"),
        (Layer::Delivery, _) => format!("in which leader {node} acknowledged nothing of `{group}`, though requests reach it"),
    }
}

/// A wait that did not end.
pub(crate) fn stuck_in(layers: &Layers, path: &Path<'_>, segment: &Segment<'_>) -> String {
    let part = layers.index.part_name(path.wait.part);
    let since = seconds(segment.from_us);
    let node = segment.node.map_or_else(|| "?".to_owned(), |node| node.to_string());
    let group = layers.index.group_name(path.wait.who.group);
    let before = match path.change {
        Some(change) => change.before,
        None => layers.log.state_at(path.wait.part, path.wait.from_us),
    };
    let still = before.map_or_else(String::new, |state| format!("; it still says {}", leads(state)));
    let now = path.change.map(|change| change.after).or(before).map_or_else(|| "the leader".to_owned(), leads);
    let offset = path.change.map_or_else(|| "its record".to_owned(), |change| format!("offset {}", change.offset));
    match (segment.layer, segment.why) {
        (_, Why::NoController) => format!("no active controller since {since} s: nothing is noticed or committed, {part} waits"),
        (_, Why::Gone) => {
            format!("{part} exists no more: records of `{group}` for it wait since {since} s, until their delivery.timeout.ms is over")
        }
        (_, Why::Untold) => {
            format!("{part}: `{group}` gets nothing acknowledged since {since} s, and does not tell whether it knows {now}")
        }
        (_, Why::NotNoticed) => format!("{part}: the controller has not noticed since {since} s that broker {node} is down{still}"),
        (_, Why::NoLeader) => format!("{part}: no leader since {since} s: no replica can be elected"),
        (Layer::Delivery, Why::Ahead) => {
            format!("{part}: batches of `{group}` wait for those before them, which broker {node} does not answer since {since} s")
        }
        (_, Why::Unanswered) => format!("{part}: node {node} does not answer Metadata requests of `{group}` since {since} s"),
        (_, Why::NotReady) => {
            format!("{part}: node {node} does not answer a new connection of `{group}` since {since} s, which asks nobody meanwhile")
        }
        (_, Why::Unseen) => {
            format!("{part}: `{group}` gets nothing acknowledged by leader {node} since {since} s; whether requests reach it, nobody saw")
        }
        (_, Why::Silent(why)) => format!("{part}: leader {node} does not answer anybody since {since} s ({why})"),
        (_, Why::Refused(code)) => format!("{part}: leader {node} refuses since {since} s ({})", ErrorCode(code)),
        (Layer::Detected, _) => format!("{part}: the controller has made no record since {since} s{still}"),
        (Layer::Committed, _) => format!("{part}: {offset} of the controller's log is not committed since {since} s"),
        (Layer::Fetched, _) => format!("{part}: broker {node} has not fetched the controller's log past {offset} since {since} s{still}"),
        (Layer::BrokerCache, _) => format!("{part}: broker {node} has fetched {offset}, but does not show it since {since} s{still}"),
        (Layer::Servable, _) => format!("{part}: leader {node} does not serve since {since} s"),
        (Layer::ClientCache, _) => {
            let still = before.map_or_else(String::new, |state| format!(" and still see {}", leads(state)));
            format!("{part}: producers of `{group}` have not asked since {since} s{still}")
        }
        (Layer::Route, _) => {
            let cause = segment
                .node
                .and_then(|node| layers.clients.connections_end_by(path.wait.who.group, node, segment.from_us, segment.until_us));
            let cause = cause.and_then(|cause| layers.index.words.get(cause));
            let cause = cause.map_or_else(String::new, |cause| format!(" (their connections end by {cause})"));
            format!("{part}: producers of `{group}` know {now}, but nothing reaches it since {since} s{cause}")
        }
        (Layer::Delivery, _) => format!("{part}: requests of `{group}` reach {now}, but it acknowledges nothing since {since} s"),
    }
}

/// A layer that followed late or not at all, though no record waited for it.
pub(crate) fn late(layers: &Layers, step: &Step<'_>, late: &Late<'_>) -> String {
    let node = late.node.map_or_else(|| "?".to_owned(), |node| node.to_string());
    let offset = late.offset.map_or_else(String::new, |offset| offset.to_string());
    let (since, took) = (seconds(late.since_us), span(late.for_us(step)));
    let part = late.part().map_or_else(|| "the change".to_owned(), |part| layers.index.part_name(part));
    let shown = late.node.zip(late.part()).and_then(|(node, part)| layers.caches.at(node, part, late.since_us));
    let still = shown.map_or_else(String::new, |shown| format!("; of {part} it still says {}", answer(shown.leader, shown.epoch)));
    let silent = late.node.and_then(|node| layers.caches.silent(node, late.until_us.unwrap_or(step.end_us))).map(|(_, why)| why);
    match (late.layer, late.until_us) {
        (Layer::Committed, None) if late.is_without_controller && offset.is_empty() => {
            format!("no active controller since {since} s: nothing is noticed or committed")
        }
        (Layer::Committed, None) if late.is_without_controller => {
            format!("no active controller since {since} s: records from offset {offset} on are not committed")
        }
        (Layer::Committed, None) => format!("records from offset {offset} on are not committed since {since} s"),
        (Layer::Committed, Some(_)) => format!("offset {offset} was committed only after {took}"),
        (Layer::Fetched, None) => {
            format!("node {node} has not fetched the controller's log past offset {} since {since} s{still}", late.offset.unwrap_or(0) - 1)
        }
        (Layer::Fetched, Some(_)) => format!("node {node} fetched offset {offset} only after {took}"),
        (Layer::BrokerCache, None) => match silent {
            Some(why) => format!("broker {node} does not answer Metadata requests ({why})"),
            None => format!("broker {node} has fetched offset {offset}, but does not show it since {since} s{still}"),
        },
        (Layer::BrokerCache, Some(_)) => format!("broker {node} showed {part} as it is only after {took}"),
        (Layer::Servable, None) => format!("leader {node} of {part} {} since {since} s", late.what),
        (Layer::Servable, Some(_)) => format!("leader {node} served {part} only after {took}"),
        (Layer::ClientCache, until_us) => {
            let group = late.group.map_or("", |group| layers.index.group_name(group));
            let (missing, all) = late.producers;
            match until_us {
                None => format!(
                    "client cache: {missing} of {all} producers of `{group}` do not see {part} since {since} s; they ask when their \
                     metadata.max.age.ms is over"
                ),
                Some(_) => format!("client cache: the last of {all} producers of `{group}` saw {part} only after {took}"),
            }
        }
        (Layer::Detected | Layer::Route | Layer::Delivery, _) => {
            format!("the controller has made no record since {since} s: {}", step.record.detail)
        }
    }
}
