//! Targets and conditions: whom a step means, and what a wait waits for.

use crate::plan::model::{Condition, Target};
use crate::plan::problem::Problem;
use crate::plan::raw::{At, Fields, IdOrText};
use crate::plan::units;

use super::scene::Scene;
use super::words;

/// Roles that need no partition.
const PLAIN_ROLES: [(&str, Target); 3] = [("controller", Target::Controller), ("random", Target::Random), ("all", Target::All)];

/// Roles as "did you mean" knows them.
const ROLES: [&str; 5] = ["controller", "random", "all", "leader-of(TOPIC/PARTITION)", "follower-of(TOPIC/PARTITION)"];

/// Conditions as "did you mean" knows them.
const CONDITIONS: [&str; 3] = ["isr-full", "caught-up", "leader-of(TOPIC/PARTITION)"];

/// A node or a role under `key`; nodes that are controllers only count too.
pub(super) fn node_or_role(key: &str, fields: &Fields<'_>, scene: &Scene<'_>) -> Option<Target> {
    let found = fields.target(key)?;
    match found.value {
        IdOrText::Id(id) => scene.node(&At { value: id, span: found.span }).map(Target::Node),
        IdOrText::Text(text) => role(&At { value: text, span: found.span }, scene),
    }
}

/// A broker or a role under `key`.
pub(super) fn broker_or_role(key: &str, fields: &Fields<'_>, scene: &Scene<'_>) -> Option<Target> {
    let found = fields.target(key)?;
    match found.value {
        IdOrText::Id(id) => scene.broker(&At { value: id, span: found.span }).map(Target::Node),
        IdOrText::Text(text) => role(&At { value: text, span: found.span }, scene),
    }
}

/// `broker = ...` or `node = ...`.
pub(super) fn read(fields: &Fields<'_>, scene: &Scene<'_>) -> Option<Target> {
    if fields.has("node") {
        let id = At { value: fields.integer("node")?, span: fields.span_of("node") };
        return scene.node(&id).map(Target::Node);
    }
    let found = fields.target("broker")?;
    match found.value {
        IdOrText::Id(id) => broker(&At { value: id, span: found.span }, scene),
        IdOrText::Text(text) => role(&At { value: text, span: found.span }, scene),
    }
}

fn broker(id: &At<u64>, scene: &Scene<'_>) -> Option<Target> {
    let node = scene.node(id)?;
    if !scene.is_broker(node) {
        let problem = Problem::error(id.span.clone(), format!("node {node} is a controller only, not a broker"));
        scene.report(problem.hint(format!("if it is meant, write `node = {node}`")));
        return None;
    }
    Some(Target::Node(node))
}

fn role(text: &At<&str>, scene: &Scene<'_>) -> Option<Target> {
    if let Some((_, target)) = PLAIN_ROLES.iter().find(|(name, _)| *name == text.value) {
        return Some(target.clone());
    }
    match words::call(text.value) {
        Some(("leader-of", topic, partition)) => existing_partition(topic, partition, text, scene).map(Target::LeaderOf),
        Some(("follower-of", topic, partition)) => existing_partition(topic, partition, text, scene).map(Target::FollowerOf),
        _ => {
            let problem = Problem::error(text.span.clone(), format!("\"{}\" is no node and no role", text.value));
            scene.report(match text.value.trim().parse::<u32>() {
                Ok(id) => problem.hint(format!("a node's id has no quotes: `{id}`")),
                Err(_) => problem.did_you_mean(text.value, ROLES),
            });
            None
        }
    }
}

fn existing_partition(topic: &str, partition: u32, place: &At<&str>, scene: &Scene<'_>) -> Option<crate::ids::TopicPartition> {
    let partitions = scene.topic(&At { value: topic, span: place.span.clone() })?;
    if let Some(partitions) = partitions.filter(|partitions| partition >= *partitions) {
        let message = format!("topic `{topic}` has no partition {partition} here");
        scene.report(Problem::error(place.span.clone(), message).hint(format!("it has partitions 0 to {}", partitions.saturating_sub(1))));
        return None;
    }
    Some(words::partition(topic, partition))
}

/// A condition or a duration under `key`.
pub(super) fn condition(key: &str, fields: &Fields<'_>, scene: &Scene<'_>) -> Option<Condition> {
    let text = fields.text(key)?;
    match text.value {
        "isr-full" => return Some(Condition::IsrFull),
        "caught-up" => return Some(Condition::CaughtUp),
        _ => {}
    }
    if let Some(("leader-of", topic, partition)) = words::call(text.value) {
        let partition = existing_partition(topic, partition, &text, scene)?;
        return Some(Condition::LeaderOf { partition, is: None });
    }
    if let Ok(time) = units::duration(text.value) {
        return Some(Condition::Elapsed(time));
    }
    let problem = Problem::error(text.span, format!("`{key}` = \"{}\" is no condition and no duration", text.value));
    scene.report(problem.did_you_mean(text.value, CONDITIONS));
    None
}
