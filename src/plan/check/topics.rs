//! `[[topic]]` and the shape of a topic, which `create-topic` shares.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{BrokerId, TopicName};
use crate::plan::model::{Replication, Reshape, TopicSpec};
use crate::plan::problem::Problem;
use crate::plan::raw::{At, Fields};

use super::scene::Scene;
use super::words;

/// Most topics that one plan may make: a slip in `count` must not fill the machine.
const TOPICS_MAX: usize = 20_000;

/// How lists of brokers look.
const ROWS: &str = "each list names the brokers of one partition, preferred leader first, as in [1, 2]";

/// Reads all sections; families are expanded.
pub(super) fn read(sections: &[Fields<'_>], scene: &mut Scene<'_>) -> Vec<TopicSpec> {
    let mut specs = Vec::new();
    for fields in sections {
        let spec = shape(fields, scene);
        let Some(name) = fields.text("name").and_then(|name| words::name(&name, "name", scene.problems)) else {
            scene.topics.complete = false;
            continue;
        };
        let members = members(name, fields);
        if let Some(taken) = members.iter().find(|member| scene.topics.contains(member)) {
            let message = format!("a topic `{taken}` is already there");
            scene.report(Problem::error(fields.span_of("name"), message).label("second of this name").hint("give each topic its own name"));
            continue;
        }
        let partitions = spec.as_ref().map(|spec| spec.partitions);
        for member in &members {
            scene.topics.set_replicas(member, spec.as_ref().map(|spec| spec.replication.count()));
        }
        if fields.has("count") {
            scene.topics.create_family(name, &members, partitions);
        } else {
            scene.topics.create(name, partitions);
        }
        if specs.len() + members.len() > TOPICS_MAX {
            scene
                .report(Problem::error(fields.span_of("count"), format!("a plan makes at most {TOPICS_MAX} topics")).hint("lower `count`"));
            continue;
        }
        let spec = spec.unwrap_or_else(|| TopicSpec {
            name: TopicName::from(name),
            partitions: 0,
            replication: Replication::Factor(0),
            config: BTreeMap::new(),
        });
        specs.extend(members.iter().map(|member| TopicSpec { name: TopicName::from(member.as_str()), ..spec.clone() }));
    }
    specs
}

fn members(name: &str, fields: &Fields<'_>) -> Vec<String> {
    match fields.integer("count") {
        Some(count) => (0..count).map(|index| format!("{name}-{index}")).collect(),
        None => vec![name.to_owned()],
    }
}

/// What a topic is like, its name aside. `None`: something about it is wrong.
pub(super) fn shape(fields: &Fields<'_>, scene: &Scene<'_>) -> Option<TopicSpec> {
    let config: BTreeMap<String, String> =
        fields.config("config").into_iter().map(|property| (property.key.to_owned(), property.value)).collect();
    let placed = if fields.has("assignment") { assignment(fields, scene) } else { factor(fields, scene) };
    let partitions = partitions(fields, placed.as_ref(), scene);
    if let Some(replication) = &placed {
        check_min_in_sync(fields, replication, scene);
    }
    Some(TopicSpec { name: TopicName::from(""), partitions: partitions?, replication: placed?, config })
}

/// What a topic that is made again has otherwise. `None`: something about it is wrong.
pub(super) fn reshape(fields: &Fields<'_>, scene: &Scene<'_>) -> Option<Reshape> {
    let config = fields.has("config").then(|| fields.config("config"));
    let config = config.map(|config| config.into_iter().map(|property| (property.key.to_owned(), property.value)).collect());
    let replication = if fields.has("assignment") {
        Some(assignment(fields, scene)?)
    } else if fields.has("replication") {
        Some(factor(fields, scene)?)
    } else {
        None
    };
    let partitions = match (&replication, fields.has("partitions")) {
        (Some(Replication::Assignment(_)), _) | (_, true) => Some(partitions(fields, replication.as_ref(), scene)?),
        _ => None,
    };
    if let Some(replication) = &replication {
        check_min_in_sync(fields, replication, scene);
    }
    Some(Reshape { partitions, replication, config })
}

fn factor(fields: &Fields<'_>, scene: &Scene<'_>) -> Option<Replication> {
    let factor = u16::try_from(fields.integer("replication")?).ok()?;
    let brokers = scene.nodes.brokers().len();
    if scene.layout.is_some() && usize::from(factor) > brokers {
        let message = format!("{factor} replicas do not fit on {}", count(brokers, "broker"));
        scene.report(Problem::error(fields.span_of("replication"), message).hint(scene.describe_nodes()));
        return None;
    }
    Some(Replication::Factor(factor))
}

fn assignment(fields: &Fields<'_>, scene: &Scene<'_>) -> Option<Replication> {
    let rows = fields.numbers_of_numbers("assignment")?;
    let mut partitions: Vec<Vec<BrokerId>> = Vec::new();
    let mut sound = !rows.is_empty();
    if rows.is_empty() {
        scene.report(
            Problem::error(fields.span_of("assignment"), "`assignment` names no partition")
                .hint("for instance `assignment = [[1, 2], [2, 1]]`"),
        );
    }
    for row in &rows {
        let first = rows.first().map_or(0, |first| first.value.len());
        if row.value.len() != first && !row.value.is_empty() {
            let message =
                format!("all partitions of a topic have equally many replicas: the first has {first}, this one {}", row.value.len());
            scene.report(Problem::error(row.span.clone(), message).hint(ROWS));
            sound = false;
        }
        match replicas(row, scene) {
            Some(brokers) => partitions.push(brokers),
            None => sound = false,
        }
    }
    sound.then_some(Replication::Assignment(partitions))
}

/// Brokers of one partition: some, none twice, all of them there.
pub(super) fn replicas(row: &At<Vec<At<u64>>>, scene: &Scene<'_>) -> Option<Vec<BrokerId>> {
    let brokers: Vec<BrokerId> = row.value.iter().filter_map(|id| scene.broker(id)).collect();
    let distinct: BTreeSet<u64> = row.value.iter().map(|id| id.value).collect();
    let problem = if row.value.is_empty() {
        Some("a partition needs at least one broker")
    } else if distinct.len() < row.value.len() {
        Some("a partition has at most one replica on a broker")
    } else {
        None
    };
    if let Some(message) = problem {
        scene.report(Problem::error(row.span.clone(), message).hint(ROWS));
        return None;
    }
    (brokers.len() == row.value.len()).then_some(brokers)
}

fn partitions(fields: &Fields<'_>, placed: Option<&Replication>, scene: &Scene<'_>) -> Option<u32> {
    let given = fields.integer("partitions").and_then(|partitions| u32::try_from(partitions).ok());
    let Some(Replication::Assignment(rows)) = placed else {
        if !fields.has("partitions") && !fields.has("assignment") {
            let problem = Problem::error(fields.span.clone(), "a topic needs `partitions`, or an `assignment` that says it");
            scene.report(problem.hint("for instance `partitions = 6`").absent());
        }
        return given;
    };
    let assigned = u32::try_from(rows.len()).ok()?;
    if let Some(given) = given.filter(|given| *given != assigned) {
        let message = format!("`partitions` = {given}, but `assignment` has {assigned}");
        scene.report(Problem::error(fields.span_of("partitions"), message).hint("leave `partitions` out: the assignment says it"));
    }
    Some(assigned)
}

/// With fewer replicas than must be in sync, no record with `acks` = "all" is ever taken.
fn check_min_in_sync(fields: &Fields<'_>, replication: &Replication, scene: &Scene<'_>) {
    let replicas = replication.count();
    let own = fields.config("config").into_iter().find(|property| property.key == "min.insync.replicas");
    let (least, place) = match own {
        Some(property) => match property.value.trim().parse::<u64>() {
            Ok(least) if least > 0 => (Some(least), property.value_span),
            _ => {
                let message = "`min.insync.replicas` is a whole number of at least 1";
                scene.report(Problem::error(property.value_span, message).hint("for instance `\"min.insync.replicas\" = 2`"));
                return;
            }
        },
        None => (scene.min_in_sync_replicas, fields.span_of(if fields.has("assignment") { "assignment" } else { "replication" })),
    };
    if let Some(least) = least.filter(|least| usize::try_from(*least).is_ok_and(|least| least > replicas)) {
        let message = format!("`min.insync.replicas` = {least}, but a partition has only {}", count(replicas, "replica"));
        scene.report(
            Problem::error(place, message)
                .hint("no record with `acks` = \"all\" would ever be taken: raise the replicas or lower the minimum"),
        );
    }
}

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
