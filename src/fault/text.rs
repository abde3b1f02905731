//! Steps, targets and conditions in a plan's own words, for people.

use std::time::Duration;

use crate::fault::event::What;
use crate::fault::primitive::NodeAct;
use crate::ids::BrokerId;
use crate::plan::model::{ClientFault, Condition, Down, LinkAct, PropertyChange, Target, TopicSpec};

/// A target as a plan writes it.
pub(super) fn target(target: &Target) -> String {
    match target {
        Target::Node(node) => node.to_string(),
        Target::LeaderOf(partition) => format!("leader-of({partition})"),
        Target::FollowerOf(partition) => format!("follower-of({partition})"),
        Target::Controller => "controller".to_owned(),
        Target::Random => "random".to_owned(),
        Target::All => "all".to_owned(),
    }
}

/// A condition as a plan writes it.
pub(super) fn condition(condition: &Condition) -> String {
    match condition {
        Condition::IsrFull => "isr-full".to_owned(),
        Condition::LeaderOf { partition, is: None } => format!("leader-of({partition})"),
        Condition::LeaderOf { partition, is: Some(broker) } => format!("leader-of({partition}) is {broker}"),
        Condition::CaughtUp => "caught-up".to_owned(),
        Condition::Elapsed(span) => duration(*span),
    }
}

/// A fault on a node.
pub(super) fn node_act(act: NodeAct) -> String {
    match act {
        NodeAct::Stop(grace) => format!("stop (grace {})", duration(grace)),
        NodeAct::Limit(change) => format!("limit ({change})"),
        _ => act.what().to_string(),
    }
}

/// `restart` or `rolling`.
pub(super) fn restarts(what: What, how: Down, down: Duration) -> String {
    format!("{what} ({}, down {})", node_act(how.into()), duration(down))
}

/// A link between clients and brokers: what is done, and between whom.
pub(super) fn client_link(fault: ClientFault, lasts: Option<Duration>, group: Option<&str>, to: &str) -> (String, String) {
    let lasts = lasts.map_or_else(String::new, |lasts| format!(" (for {})", duration(lasts)));
    let clients = group.map_or_else(|| "clients".to_owned(), |group| format!("clients of {group}"));
    (format!("{} {fault}{lasts}", What::Link), format!("{clients} -> {to}"))
}

/// A link between nodes: what is done, and between whom.
pub(super) fn node_link(act: LinkAct, lasts: Option<Duration>, from: &str, to: &str) -> (String, String) {
    let lasts = lasts.map_or_else(String::new, |lasts| format!(" (for {})", duration(lasts)));
    (format!("{} {}{lasts}", What::Link, act.name()), format!("{from} -> {to}"))
}

/// A change of properties.
pub(super) fn config(change: &PropertyChange) -> String {
    format!("{} ({change})", What::Config)
}

/// Nodes of a `rolling`.
pub(super) fn nodes(nodes: &[BrokerId]) -> String {
    nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A topic to make.
pub(super) fn create_topic(topic: &TopicSpec) -> String {
    let plural = if topic.partitions == 1 { "" } else { "s" };
    format!("{} ({} partition{plural})", What::CreateTopic, topic.partitions)
}

/// A length of time, as short as it can be written exactly to the millisecond.
pub(super) fn duration(span: Duration) -> String {
    let ms = span.as_millis();
    if ms.is_multiple_of(1000) { format!("{}s", ms / 1000) } else { format!("{ms}ms") }
}
