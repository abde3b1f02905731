//! The arguments of each action, and what the action does to the scene.

use crate::ids::{BrokerId, TopicName};
use crate::plan::model::{Action, Ceiling, Condition, Down, LimitChange, NODES_MAX, NetworkMode, Target};
use crate::plan::problem::Problem;
use crate::plan::raw::{At, Fields};
use crate::plan::units::show_size;

use super::nodes::Change;
use super::scene::Scene;
use super::{links, targets, topic_actions, topics, words};

/// Reads the action of this name. `repeat` is not here: it is steps again.
pub(super) fn read(name: &str, arguments: &Fields<'_>, scene: &mut Scene<'_>) -> Option<Action> {
    match name {
        "kill" => node_action(arguments, Change::TakeDown, scene).map(|target| Action::Kill { target }),
        "stop" => {
            let grace = arguments.duration("grace");
            Some(Action::Stop { target: node_action(arguments, Change::TakeDown, scene)?, grace: grace? })
        }
        "start" => node_action(arguments, Change::Start, scene).map(|target| Action::Start { target }),
        "restart" => restart(arguments, scene),
        "pause" => node_action(arguments, Change::Pause, scene).map(|target| Action::Pause { target }),
        "unpause" => node_action(arguments, Change::Unpause, scene).map(|target| Action::Unpause { target }),
        "disconnect" => network_action(arguments, Change::Disconnect, scene).map(|target| Action::Disconnect { target }),
        "connect" => network_action(arguments, Change::Connect, scene).map(|target| Action::Connect { target }),
        "limit" => limit(arguments, scene),
        "add-broker" => add_broker(arguments, scene),
        "rolling" => rolling(arguments, scene),
        "link" => links::read(arguments, scene),
        "add-partitions" => add_partitions(arguments, scene),
        "create-topic" => create_topic(arguments, scene),
        "delete-topic" => delete_topic(arguments, scene),
        "recreate-topic" => topic_actions::recreate(arguments, scene),
        "elect-leaders" => topic_actions::elect(arguments, scene),
        "reassign" => topic_actions::reassign(arguments, scene),
        "config" => topic_actions::config(arguments, scene),
        "wait" => wait(arguments, scene),
        _ => None,
    }
}

/// An action on a node: whom, whether it can do anything, and whether the quorum survives it.
fn node_action(arguments: &Fields<'_>, change: Change, scene: &mut Scene<'_>) -> Option<Target> {
    let Some(target) = targets::read(arguments, scene) else {
        scene.nodes.forget_all();
        return None;
    };
    let place = arguments.span_of(if arguments.has("node") { "node" } else { "broker" });
    if change.is_undoing() && !matches!(target, Target::Node(_) | Target::All) {
        let message = "a role names a node that is up: there is nothing to do for it here";
        let instead = if change == Change::Connect { "" } else { "; to hit a role and bring it back use `restart`" };
        scene.report(Problem::error(place, message).hint(format!("name the node, or \"all\"{instead}")));
        return None;
    }
    let line = scene.line(&place);
    if let Some(refusal) = scene.nodes.apply(change, &target, line) {
        scene.report(Problem::error(place.clone(), refusal.message).hint(refusal.hint));
    }
    if matches!(change, Change::TakeDown | Change::Pause | Change::Restart | Change::Disconnect) {
        let also = match &target {
            Target::Node(node) => Some(*node),
            _ => None,
        };
        warn_of_lost_quorum(also, place, scene);
    }
    Some(target)
}

/// An action on a node's place on the network, which must be the run's own.
fn network_action(arguments: &Fields<'_>, change: Change, scene: &mut Scene<'_>) -> Option<Target> {
    if scene.network == NetworkMode::Host {
        let message = "on the host's network there is nothing that a node could be taken off";
        scene.report(Problem::error(arguments.span.clone(), message).hint("`network = \"bridge\"` gives the nodes one of their own"));
    }
    node_action(arguments, change, scene)
}

fn warn_of_lost_quorum(also: Option<BrokerId>, place: std::ops::Range<usize>, scene: &Scene<'_>) {
    if let Some((lost, total)) = scene.nodes.lost_quorum(also) {
        let names: Vec<String> = lost.iter().map(ToString::to_string).collect();
        let message = format!(
            "with {} of {total} controllers down or cut off (nodes {}), the metadata quorum has no majority",
            lost.len(),
            names.join(", ")
        );
        let hint =
            "no leader can be elected until one is back; brokers that stop alone need controllers apart: `brokers = 3`, `controllers = 1`";
        scene.report(Problem::warning(place, message).hint(hint));
    }
}

/// How nodes go down: `kill`, or `stop` with its grace.
fn down_by(key: &str, arguments: &Fields<'_>, scene: &Scene<'_>) -> Option<Down> {
    let (how, grace) = (arguments.choice(key), arguments.duration("grace"));
    if how == Some("kill") && arguments.has("grace") {
        let problem = Problem::error(arguments.key_span("grace"), "`grace` goes with a stop, not with a kill");
        scene.report(problem.hint(format!("write `{key} = \"stop\"`, or leave `grace` out")));
    }
    match how? {
        "stop" => Some(Down::Stop { grace: grace? }),
        _ => Some(Down::Kill),
    }
}

fn restart(arguments: &Fields<'_>, scene: &mut Scene<'_>) -> Option<Action> {
    let (how, down) = (down_by("how", arguments, scene), arguments.duration("down"));
    let target = node_action(arguments, Change::Restart, scene)?;
    if target == Target::All {
        warn_if_all_restart(arguments.span_of("broker"), scene);
    }
    Some(Action::Restart { target, how: how?, down: down? })
}

/// All combined nodes down at once take the quorum along, if only for a while.
fn warn_if_all_restart(place: std::ops::Range<usize>, scene: &Scene<'_>) {
    let combined = scene.layout.filter(|layout| layout.brokers() == layout.controllers() && layout.nodes().len() > 1);
    if combined.is_some() {
        let message = "all nodes are down at once, and the metadata quorum with them";
        scene.report(Problem::warning(place, message).hint("for one after the other use `rolling`"));
    }
}

fn rolling(arguments: &Fields<'_>, scene: &mut Scene<'_>) -> Option<Action> {
    let how = down_by("restart", arguments, scene);
    let (down, within) = (arguments.duration("down"), arguments.duration("within"));
    let then = targets::condition("then", arguments, scene);
    let listed = arguments.ids_or_all("brokers");
    let brokers = listed.as_ref().map(|ids| listed_brokers(ids, arguments, scene));
    if arguments.has("within") && (!arguments.has("then") || matches!(then, Some(Condition::Elapsed(_)))) {
        let problem = Problem::error(arguments.key_span("within"), "`within` bounds the condition under `then`, and there is none");
        scene.report(problem.hint("write `then = \"isr-full\"`, or leave `within` out"));
    }
    let each = match &brokers {
        Some(brokers) => brokers.clone(),
        None => scene.nodes.brokers().to_vec(),
    };
    roll(&each, arguments.span_of("brokers"), scene);
    Some(Action::Rolling { brokers: brokers.unwrap_or_default(), how: how?, down: down?, then, within: within? })
}

/// What a roll does to the scene: each broker is down for a while, and must be up before.
fn roll(brokers: &[BrokerId], place: std::ops::Range<usize>, scene: &mut Scene<'_>) {
    let line = scene.line(&place);
    let mut risky = None;
    for broker in brokers {
        risky = risky.or_else(|| scene.nodes.lost_quorum(Some(*broker)).map(|_| *broker));
        if let Some(refusal) = scene.nodes.apply(Change::Restart, &Target::Node(*broker), line) {
            scene.report(Problem::error(place, refusal.message).hint(refusal.hint));
            return;
        }
    }
    if risky.is_some() {
        warn_of_lost_quorum(risky, place, scene);
    }
}

/// Brokers under `brokers`: some, and none twice.
pub(super) fn listed_brokers(ids: &[At<u64>], arguments: &Fields<'_>, scene: &Scene<'_>) -> Vec<BrokerId> {
    let mut brokers: Vec<BrokerId> = Vec::new();
    for id in ids {
        let Some(broker) = scene.broker(id) else { continue };
        if brokers.contains(&broker) {
            scene.report(Problem::error(id.span.clone(), format!("broker {broker} is listed twice")).hint("list each broker once"));
        } else {
            brokers.push(broker);
        }
    }
    if ids.is_empty() {
        let problem = Problem::error(arguments.span_of("brokers"), "`brokers` names nobody");
        scene.report(problem.hint("list broker ids, or write \"all\""));
    }
    brokers
}

fn limit(arguments: &Fields<'_>, scene: &mut Scene<'_>) -> Option<Action> {
    let change = LimitChange { cpu_thousandths: arguments.cpus_or_none("cpus"), memory_bytes: arguments.size_or_none("memory") };
    if !arguments.has("cpus") && !arguments.has("memory") {
        let problem = Problem::error(arguments.span.clone(), "`limit` limits nothing: it takes `cpus`, `memory` or both");
        scene.report(problem.hint("for instance `cpus = 0.5`").absent());
    }
    if let Some(Ceiling::AtMost(memory)) = change.memory_bytes
        && memory <= scene.heap_bytes
    {
        let message = format!("a heap of {} does not fit into {}", show_size(scene.heap_bytes), show_size(memory));
        let hint = "the kernel may end the node, or refuse the limit; if that is not meant, leave room for the heap and half as much more";
        scene.report(Problem::warning(arguments.span_of("memory"), message).hint(hint));
    }
    let is_read = change.cpu_thousandths.is_some() == arguments.has("cpus") && change.memory_bytes.is_some() == arguments.has("memory");
    if !is_read || change == (LimitChange { cpu_thousandths: None, memory_bytes: None }) {
        scene.nodes.forget_all();
        return None;
    }
    node_action(arguments, Change::Limit(change), scene).map(|target| Action::Limit { target, change })
}

fn add_broker(arguments: &Fields<'_>, scene: &mut Scene<'_>) -> Option<Action> {
    if scene.layout.is_some() {
        join(1, arguments.span.clone(), scene)?;
    }
    Some(Action::AddBroker)
}

/// So many more brokers, if there is room for them.
pub(super) fn join(count: usize, place: std::ops::Range<usize>, scene: &mut Scene<'_>) -> Option<()> {
    if scene.nodes.count() + count > NODES_MAX {
        let message = format!("a cluster has at most {NODES_MAX} nodes, and this makes it larger");
        scene.report(Problem::error(place, message).hint(scene.describe_nodes()));
        return None;
    }
    for _ in 0..count {
        scene.nodes.join();
    }
    Some(())
}

fn add_partitions(arguments: &Fields<'_>, scene: &mut Scene<'_>) -> Option<Action> {
    let to = arguments.integer("to").and_then(|to| u32::try_from(to).ok());
    let topic = arguments.text("topic")?;
    let now = scene.topic(&topic)?;
    let to = to?;
    if let Some(now) = now.filter(|now| to <= *now) {
        let message = format!("topic `{}` has {now} partitions here: {to} is no growth", topic.value);
        scene.report(Problem::error(arguments.span_of("to"), message).hint("`to` is the new total; partitions can never become fewer"));
    }
    scene.topics.grow(topic.value, to);
    Some(Action::AddPartitions { topic: TopicName::from(topic.value), to })
}

fn create_topic(arguments: &Fields<'_>, scene: &mut Scene<'_>) -> Option<Action> {
    let shape = topics::shape(arguments, scene);
    let Some(name) = arguments.text("name").and_then(|name| words::name(&name, "name", scene.problems)) else {
        scene.topics.complete = false;
        return None;
    };
    if scene.topics.contains(name) {
        let problem = Problem::error(arguments.span_of("name"), format!("a topic `{name}` is already there"));
        scene.report(problem.hint("give it a name of its own, or delete the other first"));
    }
    scene.topics.create(name, shape.as_ref().map(|shape| shape.partitions));
    scene.topics.set_replicas(name, shape.as_ref().map(|shape| shape.replication.count()));
    let mut topic = shape?;
    topic.name = TopicName::from(name);
    Some(Action::CreateTopic { topic })
}

fn delete_topic(arguments: &Fields<'_>, scene: &mut Scene<'_>) -> Option<Action> {
    let topic = arguments.text("topic")?;
    scene.topic(&topic)?;
    let line = scene.line(&topic.span);
    scene.topics.delete(topic.value, line);
    Some(Action::DeleteTopic { topic: TopicName::from(topic.value) })
}

fn wait(arguments: &Fields<'_>, scene: &Scene<'_>) -> Option<Action> {
    let within = arguments.duration("within");
    let is = arguments.integer("is").map(|id| At { value: id, span: arguments.span_of("is") });
    let is = is.map(|id| scene.broker(&id));
    let condition = targets::condition("for", arguments, scene)?;
    if arguments.has("is") && !matches!(condition, Condition::LeaderOf { .. }) {
        scene.report(Problem::error(arguments.key_span("is"), "`is` goes with leader-of(TOPIC/PARTITION) alone").hint("leave it out"));
    }
    match condition {
        Condition::Elapsed(time) => {
            if arguments.has("within") {
                let problem = Problem::error(arguments.key_span("within"), "`within` bounds a condition; a time needs no bound");
                scene.report(problem.hint("leave it out"));
            }
            Some(Action::Wait { until: condition, within: time })
        }
        Condition::LeaderOf { partition, .. } => {
            let is = match is {
                Some(found) => Some(found?),
                None => None,
            };
            Some(Action::Wait { until: Condition::LeaderOf { partition, is }, within: within? })
        }
        Condition::IsrFull | Condition::CaughtUp => Some(Action::Wait { until: condition, within: within? }),
    }
}
