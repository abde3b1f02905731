//! A checked plan for people and for scripts: cluster, topics, groups, and when each step fires.
//!
//! Pure: makes text and JSON, prints nothing. Called by `chaos plan show`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::model::{
    Action, Active, Arrivals, ConsumerGroup, Load, NetworkMode, Plan, ProducerGroup, Replication, RequesterGroup, SecuritySpec, Step,
    TopicList, TopicSpec,
};
use super::timeline::{Estimate, Timeline};
use super::units::{show_duration, show_size};
use crate::ids::TopicName;

/// The plan as text, with a line end.
#[must_use]
pub fn text(plan: &Plan) -> String {
    let mut lines = vec![format!("{} (seed {})", plan.name, plan.seed)];
    if !plan.about.is_empty() {
        lines.push(plan.about.clone());
    }
    lines.push(String::new());
    section(&mut lines, "cluster", cluster(plan));
    section(&mut lines, "topics", topics(&plan.topics));
    section(&mut lines, "producers", plan.producers.iter().flat_map(group).collect());
    section(&mut lines, "requesters", plan.requesters.iter().flat_map(requesters).collect());
    section(&mut lines, "consumers", plan.consumers.iter().map(consumer).collect());
    section(&mut lines, "audit", audit(plan));
    section(&mut lines, "time", time(plan));
    section(&mut lines, "expect", plan.expectations.iter().map(ToString::to_string).collect());
    lines.join("\n") + "\n"
}

/// How many topics of a group are named.
const NAMES_SHOWN_MAX: usize = 4;

/// Lines of a section beside its name.
fn section(lines: &mut Vec<String>, name: &str, body: Vec<String>) {
    for (index, line) in body.into_iter().enumerate() {
        lines.push(format!("{:<10} {line}", if index == 0 { name } else { "" }));
    }
}

fn cluster(plan: &Plan) -> Vec<String> {
    let cluster = &plan.cluster;
    let joiners: Vec<String> = cluster.joiners().iter().map(ToString::to_string).collect();
    let joining = match &joiners[..] {
        [] => String::new(),
        [only] => format!("; broker {only} is added"),
        several => format!("; brokers {} are added", several.join(", ")),
    };
    let mut lines = vec![format!("Kafka {}: {}{joining}", cluster.kafka, cluster.layout)];
    let (memory, heap) = (show_size(cluster.memory_bytes), show_size(cluster.heap_bytes));
    lines.push(format!("{memory} and a heap of {heap} per node, network {}", network(cluster.network)));
    lines.extend(cluster.security.as_ref().map(security));
    lines.extend(properties(&cluster.config));
    lines
}

fn security(security: &SecuritySpec) -> String {
    let login = security.login.as_ref().map(|login| format!(", user {} by {}", login.user, login.mechanism)).unwrap_or_default();
    let valid = security.valid.map(|valid| format!(", certificates valid for {}", show_duration(valid))).unwrap_or_default();
    format!("listeners {}{login}{valid}", security.protocol())
}

fn security_json(security: &SecuritySpec) -> Value {
    json!({
        "protocol": security.protocol(),
        "mechanism": security.login.as_ref().map(|login| login.mechanism),
        "user": security.login.as_ref().map(|login| &login.user),
        "valid_ms": security.valid.map(ms),
    })
}

fn network(mode: NetworkMode) -> &'static str {
    match mode {
        NetworkMode::Bridge => "bridge",
        NetworkMode::Host => "host",
    }
}

fn properties(config: &BTreeMap<String, String>) -> Option<String> {
    let each: Vec<String> = config.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    (!each.is_empty()).then(|| each.join(", "))
}

/// Topics alike that follow each other take one line.
fn topics(topics: &[TopicSpec]) -> Vec<String> {
    let alike = |a: &TopicSpec, b: &TopicSpec| a.partitions == b.partitions && a.replication == b.replication && a.config == b.config;
    let line = |chunk: &[TopicSpec]| {
        let (first, last) = (chunk.first()?, chunk.last()?);
        let name =
            if chunk.len() == 1 { first.name.to_string() } else { format!("{} to {} ({} topics)", first.name, last.name, chunk.len()) };
        let config = properties(&first.config).map(|config| format!(", {config}")).unwrap_or_default();
        Some(format!("{name}: {} partitions, {}{config}", first.partitions, first.replication))
    };
    topics.chunk_by(alike).filter_map(line).collect()
}

fn group(group: &ProducerGroup) -> Vec<String> {
    let noun = if group.count == 1 { "producer" } else { "producers" };
    let mut lines = vec![format!("{}: {} {noun}, {}", group.name, group.count, load(&group.load, group.count))];
    let topics: Vec<&str> = group.topics.iter().take(NAMES_SHOWN_MAX).map(TopicName::as_str).collect();
    let more = if group.topics.len() > topics.len() { format!(" and {} more", group.topics.len() - topics.len()) } else { String::new() };
    let keys = group.record.keys.map_or_else(|| "no keys".to_owned(), |keys| format!("{keys} keys"));
    lines.push(format!("  to {}{more}, records of {} with {keys}", topics.join(", "), show_size(group.record.size_bytes as u64)));
    if let Some(share) = group.share {
        lines.push(format!("  {share} share a client"));
    }
    lines.extend(active(&group.active).map(|active| format!("  sends {active}")));
    if !group.ramp.is_zero() {
        lines.push(format!("  started one after the other over {}", show_duration(group.ramp)));
    }
    if let Some(addresses) = &group.bootstrap {
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        lines.push(format!("  bootstrap {}", addresses.join(", ")));
    }
    lines.extend(properties(&group.config).map(|config| format!("  {config}")));
    lines
}

fn requesters(group: &RequesterGroup) -> Vec<String> {
    let noun = if group.count == 1 { "requester" } else { "requesters" };
    let asked = match &group.list {
        TopicList::All => "all topics".to_owned(),
        TopicList::Nothing => "no topic".to_owned(),
        TopicList::Named(topics) if topics.len() > NAMES_SHOWN_MAX => format!("{} topics by name", topics.len()),
        TopicList::Named(topics) => topics.iter().map(TopicName::as_str).collect::<Vec<_>>().join(", "),
    };
    let all = if group.count == 1 { String::new() } else { format!(" ({}/s in all)", group.rate_per_second * f64::from(group.count)) };
    let mut lines = vec![format!("{}: {} {noun}, {}/s each{all}, for {asked}", group.name, group.count, group.rate_per_second)];
    lines.extend(active(&group.active).map(|active| format!("  asks {active}")));
    lines
}

fn consumer(group: &ConsumerGroup) -> String {
    let names = group.topics.iter().map(TopicName::as_str).collect::<Vec<_>>();
    let topics = if names.len() > NAMES_SHOWN_MAX { format!("{} topics", names.len()) } else { names.join(", ") };
    format!("{}: reads {topics}", group.name)
}

/// Only what is not usual.
fn audit(plan: &Plan) -> Vec<String> {
    if plan.audit.is_on { Vec::new() } else { vec!["none: nothing is known of lost or duplicated records".to_owned()] }
}

/// When a group is at work; `None`: all the time.
fn active(active: &Active) -> Option<String> {
    let until = active.until.map_or_else(|| "the end".to_owned(), show_duration);
    (active.until.is_some() || active.from > Duration::ZERO).then(|| format!("from {} until {until}", show_duration(active.from)))
}

fn load(load: &Load, count: u32) -> String {
    match load {
        Load::Open { rate_per_second, arrivals } => {
            let spacing = match arrivals {
                Arrivals::Constant => "constant",
                Arrivals::Poisson => "poisson",
            };
            let all = if count == 1 { String::new() } else { format!(" ({}/s in all)", rate_per_second * f64::from(count)) };
            format!("{rate_per_second}/s each{all}, open loop, {spacing}")
        }
        Load::Max => "as fast as they can".to_owned(),
        Load::Closed { wait, every } => {
            let every = if every.is_zero() { String::new() } else { format!(", at most one per {}", show_duration(*every)) };
            format!("closed loop, waiting at most {}{every}", show_duration(*wait))
        }
    }
}

fn time(plan: &Plan) -> Vec<String> {
    let Timeline { steady_at, steps, recovery_at, end_at, .. } = Timeline::of(plan);
    let mut lines = vec![
        event(&about(Estimate::default()), &format!("warm-up of {}", show_duration(plan.phases.warmup))),
        event(&about(Estimate::exactly(steady_at)), &format!("steady for {}: the baseline", show_duration(plan.phases.steady))),
    ];
    for ((at, step), number) in steps.into_iter().zip(1..) {
        lines.push(event(&about(at), &format!("{} (step {number}, line {})", step.action, step.line)));
        lines.extend(rounds(step, 1));
    }
    lines.push(event(&about(recovery_at), &format!("recovery of {}", show_duration(plan.phases.recovery))));
    let length = if end_at.least == end_at.most { String::new() } else { format!(", at least {}", show_duration(end_at.least)) };
    lines.push(event(&about(end_at), &format!("end of the load{length}")));
    lines
}

fn event(at: &str, what: &str) -> String {
    format!("{at:>9}  {what}")
}

/// A time to the second, with a mark where it is only expected.
fn about(at: Estimate) -> String {
    if at.least == at.most { show_duration(at.expected) } else { format!("~{}", show_duration(Duration::from_secs(at.expected.as_secs()))) }
}

/// Steps inside `repeat`, with their times within a round.
fn rounds(step: &Step, depth: usize) -> Vec<String> {
    let Action::Repeat { steps, .. } = &step.action else { return Vec::new() };
    let mut lines = Vec::new();
    for inner in steps {
        let indent = "  ".repeat(depth);
        lines.push(event("", &format!("{indent}+{} {}", show_duration(inner.at), inner.action)));
        lines.extend(rounds(inner, depth + 1));
    }
    lines
}

/// The plan as JSON: the same facts, for scripts. Times are milliseconds from the start of the load, sizes are bytes.
#[must_use]
pub fn json(plan: &Plan) -> Value {
    let timeline = Timeline::of(plan);
    let cluster = &plan.cluster;
    let nodes = |ids: Vec<crate::ids::BrokerId>| ids.into_iter().map(|id| id.0).collect::<Vec<_>>();
    json!({
        "name": plan.name,
        "about": plan.about,
        "seed": plan.seed,
        "path": plan.source.path,
        "sha256": plan.source.sha256,
        "cluster": {
            "kafka": cluster.kafka,
            "brokers": nodes(cluster.layout.brokers()),
            "controllers": nodes(cluster.layout.controllers()),
            "joining": nodes(cluster.joiners()),
            "memory_bytes": cluster.memory_bytes,
            "heap_bytes": cluster.heap_bytes,
            "network": network(cluster.network),
            "config": cluster.config,
            "security": cluster.security.as_ref().map(security_json),
        },
        "topics": plan.topics.iter().map(topic_json).collect::<Vec<_>>(),
        "producers": plan.producers.iter().map(group_json).collect::<Vec<_>>(),
        "requesters": plan.requesters.iter().map(requesters_json).collect::<Vec<_>>(),
        "consumers": plan.consumers.iter().map(|group| json!({ "name": group.name, "topics": group.topics })).collect::<Vec<_>>(),
        "audit": { "read": if plan.audit.is_on { "all" } else { "none" }, "within_ms": ms(plan.audit.within) },
        "phases": { "steady_at_ms": ms(timeline.steady_at), "steps_at_ms": ms(timeline.steps_at) },
        "steps": timeline.steps.iter().map(|(at, step)| step_json(step, Some(*at))).collect::<Vec<_>>(),
        "recovery_at_ms": estimate_json(timeline.recovery_at),
        "end_at_ms": estimate_json(timeline.end_at),
        "expect": plan.expectations.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn topic_json(topic: &TopicSpec) -> Value {
    let mut value = json!({ "name": topic.name.as_str(), "partitions": topic.partitions, "config": topic.config });
    match &topic.replication {
        Replication::Factor(factor) => value["replication"] = json!(factor),
        Replication::Assignment(rows) => value["assignment"] = json!(rows),
    }
    value
}

fn requesters_json(group: &RequesterGroup) -> Value {
    let list = match &group.list {
        TopicList::All => json!("all"),
        TopicList::Nothing => json!("none"),
        TopicList::Named(topics) => json!(topics),
    };
    json!({
        "name": group.name,
        "count": group.count,
        "rate_per_second": group.rate_per_second,
        "list": list,
        "active": { "from_ms": ms(group.active.from), "until_ms": group.active.until.map(ms) },
    })
}

fn group_json(group: &ProducerGroup) -> Value {
    let mut value = json!({
        "name": group.name,
        "count": group.count,
        "engine": group.engine.name(),
        "share": group.share,
        "topics": group.topics,
        "record": { "size_bytes": group.record.size_bytes, "keys": group.record.keys },
        "active": { "from_ms": ms(group.active.from), "until_ms": group.active.until.map(ms) },
        "ramp_ms": ms(group.ramp),
        "config": group.config,
        "bootstrap": group.bootstrap.as_ref().map(|addresses| addresses.iter().map(ToString::to_string).collect::<Vec<_>>()),
    });
    match group.load {
        Load::Open { rate_per_second, arrivals } => {
            value["rate_per_second"] = json!(rate_per_second);
            value["arrivals"] = json!(if arrivals == Arrivals::Poisson { "poisson" } else { "constant" });
        }
        Load::Max => value["rate_per_second"] = json!("max"),
        Load::Closed { wait, every } => value["closed"] = json!({ "wait_ms": ms(wait), "every_ms": ms(every) }),
    }
    value
}

/// A step; inside `repeat` its time counts from the start of the round.
fn step_json(step: &Step, at: Option<Estimate>) -> Value {
    let mut value = json!({ "action": step.action.name(), "what": step.action.to_string(), "line": step.line });
    match at {
        Some(at) => value["at_ms"] = estimate_json(at),
        None => value["at_in_round_ms"] = json!(ms(step.at)),
    }
    if let Action::Repeat { times, steps } = &step.action {
        value["times"] = json!(times);
        value["steps"] = steps.iter().map(|step| step_json(step, None)).collect();
    }
    value
}

fn estimate_json(estimate: Estimate) -> Value {
    json!({ "least": ms(estimate.least), "expected": ms(estimate.expected), "most": ms(estimate.most) })
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
