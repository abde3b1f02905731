//! The arguments of steps on topics that exist, and on the properties of topics and brokers.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::ids::{BrokerId, PartitionIndex, TopicName};
use crate::plan::model::{Action, Election, PropertyChange, RESERVED_PROPERTIES, Reassignment, Target};
use crate::plan::problem::Problem;
use crate::plan::raw::{At, Fields, OneOrEach};

use super::dynamic;
use super::scene::Scene;
use super::{actions, security, targets, topics};

pub(super) fn recreate(arguments: &Fields<'_>, scene: &mut Scene<'_>) -> Option<Action> {
    let topic = arguments.text("topic")?;
    let before = scene.topic(&topic)?;
    let shape = topics::reshape(arguments, scene)?;
    let partitions = shape.partitions.or(before);
    let replicas = match &shape.replication {
        Some(replication) => Some(replication.count()),
        None => scene.topics.replicas_of(topic.value),
    };
    scene.topics.create(topic.value, partitions);
    scene.topics.set_replicas(topic.value, replicas);
    Some(Action::RecreateTopic { topic: TopicName::from(topic.value), shape })
}

pub(super) fn elect(arguments: &Fields<'_>, scene: &Scene<'_>) -> Option<Action> {
    let election = arguments.choice("election");
    let partition = arguments.partition_or_all("partition");
    let topic = arguments.text("topic")?;
    let partitions = scene.topic(&topic)?;
    let partition = match partition? {
        Some(partition) => Some(existing(&partition, &topic, partitions, scene)?),
        None => None,
    };
    let election = if election? == "unclean" { Election::Unclean } else { Election::Preferred };
    Some(Action::ElectLeaders { topic: TopicName::from(topic.value), partition, election })
}

/// A partition that the topic has.
fn existing(partition: &At<u64>, topic: &At<&str>, partitions: Option<u32>, scene: &Scene<'_>) -> Option<PartitionIndex> {
    if let Some(partitions) = partitions.filter(|partitions| partition.value >= u64::from(*partitions)) {
        let message = format!("topic `{}` has no partition {} here", topic.value, partition.value);
        scene.report(
            Problem::error(partition.span.clone(), message).hint(format!("it has partitions 0 to {}", partitions.saturating_sub(1))),
        );
        return None;
    }
    i32::try_from(partition.value).ok().map(PartitionIndex)
}

pub(super) fn reassign(arguments: &Fields<'_>, scene: &Scene<'_>) -> Option<Action> {
    let within = arguments.duration("within");
    let topic = arguments.text("topic")?;
    let partitions = scene.topic(&topic)?;
    let to = if arguments.has("to") { to_replicas(arguments, &topic, partitions, scene) } else { over_brokers(arguments, &topic, scene) };
    Some(Action::Reassign { topic: TopicName::from(topic.value), to: to?, within: within? })
}

fn to_replicas(arguments: &Fields<'_>, topic: &At<&str>, partitions: Option<u32>, scene: &Scene<'_>) -> Option<Reassignment> {
    let partition = arguments.integer("partition").map(|value| At { value, span: arguments.span_of("partition") });
    match (arguments.one_or_each("to")?, partition) {
        (OneOrEach::One(row), Some(partition)) => {
            let partition = existing(&partition, topic, partitions, scene);
            let replicas = topics::replicas(&row, scene);
            Some(Reassignment::One(partition?, replicas?))
        }
        (OneOrEach::One(row), None) => {
            let problem = Problem::error(row.span, "one list of brokers is for one partition: for which one?");
            scene.report(problem.hint("write `partition = 0` beside it, or a list for each partition, as in `to = [[2, 1], [1, 2]]`"));
            None
        }
        (OneOrEach::Each(_), Some(_)) => {
            let problem = Problem::error(arguments.span_of("to"), "with `partition` one list of brokers is enough");
            scene.report(problem.hint("write `to = [2, 1]`, or leave `partition` out"));
            None
        }
        (OneOrEach::Each(rows), None) => {
            if let Some(partitions) = partitions.filter(|partitions| rows.len() != *partitions as usize) {
                let message = format!("topic `{}` has {partitions} partitions here, and `to` is for {}", topic.value, rows.len());
                scene.report(
                    Problem::error(arguments.span_of("to"), message)
                        .hint("one list for each partition; for a single one write `partition`"),
                );
            }
            let rows: Vec<Option<Vec<BrokerId>>> = rows.iter().map(|row| topics::replicas(row, scene)).collect();
            rows.into_iter().collect::<Option<Vec<_>>>().map(Reassignment::Each)
        }
    }
}

fn over_brokers(arguments: &Fields<'_>, topic: &At<&str>, scene: &Scene<'_>) -> Option<Reassignment> {
    let listed = arguments.ids_or_all("brokers");
    let brokers = listed.map(|ids| actions::listed_brokers(&ids, arguments, scene)).unwrap_or_default();
    if let Some(replicas) = scene.topics.replicas_of(topic.value).filter(|replicas| !brokers.is_empty() && *replicas > brokers.len()) {
        let message = format!("each partition of `{}` has {replicas} replicas: they do not fit on {} brokers", topic.value, brokers.len());
        scene.report(Problem::error(arguments.span_of("brokers"), message).hint("list more brokers; or change the replicas with `to`"));
    }
    Some(Reassignment::Over(brokers))
}

pub(super) fn config(arguments: &Fields<'_>, scene: &mut Scene<'_>) -> Option<Action> {
    let change = change(arguments, scene);
    if arguments.has("topic") {
        let topic = arguments.text("topic")?;
        scene.topic(&topic)?;
        return Some(Action::ConfigureTopic { topic: TopicName::from(topic.value), change: change? });
    }
    let target = targets::read(arguments, scene)?;
    let place = arguments.span_of("broker");
    if target == Target::Controller && scene.layout.is_some_and(|layout| layout.brokers() != layout.controllers()) {
        let problem = Problem::error(place, "the active controller is no broker here");
        scene.report(problem.hint("properties change at run time on brokers alone; for all nodes use `config` of [cluster]"));
        return None;
    }
    let change = change?;
    dynamic::warn_of_static(arguments, scene);
    Some(Action::ConfigureBroker { target, change })
}

fn change(arguments: &Fields<'_>, scene: &Scene<'_>) -> Option<PropertyChange> {
    let properties = arguments.config("set");
    let names = arguments.texts("unset").unwrap_or_default();
    let mut is_sound = true;
    let mut refuse = |place: Range<usize>, message: String, hint: &str| {
        scene.report(Problem::error(place, message).hint(hint.to_owned()));
        is_sound = false;
    };
    if properties.is_empty() && names.is_empty() {
        let place = if arguments.has("set") { arguments.span_of("set") } else { arguments.span.clone() };
        refuse(place, "`config` changes no property".to_owned(), "for instance `set = { \"retention.ms\" = 60000 }`");
    }
    let keys = properties.iter().map(|property| (property.key, &property.key_span));
    for (key, place) in keys.chain(names.iter().map(|name| (name.value, &name.span))) {
        if RESERVED_PROPERTIES.contains(&key) {
            refuse(place.clone(), format!("`{key}` cannot be changed here"), "it follows from the nodes and the ports of each run");
        }
        if security::holds_secret(key) {
            let message = format!("`{key}` holds a secret, and a plan's text is part of each run's results");
            refuse(place.clone(), message, "`[cluster.security]` secures listeners without any");
        }
    }
    for name in &names {
        if properties.iter().any(|property| property.key == name.value) {
            refuse(name.span.clone(), format!("`{}` is set and unset at once", name.value), "keep one of both");
        }
    }
    let set: BTreeMap<String, String> = properties.into_iter().map(|property| (property.key.to_owned(), property.value)).collect();
    let unset: BTreeSet<String> = names.into_iter().map(|name| name.value.to_owned()).collect();
    is_sound.then_some(PropertyChange { set, unset })
}
