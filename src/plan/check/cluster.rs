//! `[cluster]`.

use std::collections::BTreeMap;

use crate::plan::model::{ClusterSpec, Layout, LinkNeeds, NetworkMode, RESERVED_PROPERTIES, SmallDisk};
use crate::plan::problem::Problem;
use crate::plan::raw::Fields;
use crate::plan::units::show_size;

use super::security;

/// Nodes of a cluster that does not say.
const NODES_DEFAULT: u16 = 3;

/// The oldest Kafka that works.
const KAFKA_OLDEST: (u32, u32) = (3, 9);

/// The section, with what other sections ask of it.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) spec: ClusterSpec,
    /// `None`: broken.
    pub(super) layout: Option<Layout>,
    /// The brokers' own `min.insync.replicas`, if the plan sets it.
    pub(super) min_in_sync_replicas: Option<u64>,
}

pub(super) fn read(fields: &Fields<'_>) -> Cluster {
    let layout = layout(fields);
    let config = config(fields);
    let min_in_sync_replicas = config.get("min.insync.replicas").and_then(|value| value.trim().parse().ok());
    let (memory_bytes, heap_bytes) = memory(fields);
    let network = match fields.choice("network") {
        Some("host") => NetworkMode::Host,
        _ => NetworkMode::Bridge,
    };
    let spec = ClusterSpec {
        kafka: kafka(fields).unwrap_or_default(),
        layout: layout.unwrap_or(Layout::Combined { nodes: NODES_DEFAULT }),
        config,
        memory_bytes,
        heap_bytes,
        network,
        joining: 0,
        links: LinkNeeds::default(),
        disk: layout.and_then(|layout| disk(fields, layout)),
        security: security::read(fields),
    };
    Cluster { spec, layout, min_in_sync_replicas }
}

fn kafka(fields: &Fields<'_>) -> Option<String> {
    let text = fields.text("kafka")?;
    match kafka_version(text.value) {
        Ok(()) => Some(text.value.to_owned()),
        Err((wrong, hint)) => {
            fields.problems.push(Problem::error(text.span, wrong).hint(hint));
            None
        }
    }
}

/// Whether a version of Kafka can be run; what is wrong, and a hint.
pub(in crate::plan) fn kafka_version(text: &str) -> Result<(), (String, &'static str)> {
    let parts: Option<Vec<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
    match parts.as_deref() {
        Some([major, minor, _]) if (*major, *minor) >= KAFKA_OLDEST => Ok(()),
        Some([_, _, _]) => Err((format!("Kafka {text} is too old"), "3.9.0 is the oldest that works")),
        _ => Err((format!("`kafka` = {text:?} is no version"), "write all three numbers, as in \"4.3.0\"")),
    }
}

fn layout(fields: &Fields<'_>) -> Option<Layout> {
    let count = |key| fields.integer(key).and_then(|count| u16::try_from(count).ok());
    let (nodes, brokers, controllers) = (count("nodes"), count("brokers"), count("controllers"));
    match (fields.has("nodes"), fields.has("brokers"), fields.has("controllers")) {
        (false, false, false) => Some(Layout::Combined { nodes: NODES_DEFAULT }),
        (true, false, false) => Some(Layout::Combined { nodes: nodes? }),
        (false, true, true) => Some(Layout::Dedicated { brokers: brokers?, controllers: controllers? }),
        (true, _, _) => None,
        (false, only_brokers, _) => {
            let (given, lacking) = if only_brokers { ("brokers", "controllers") } else { ("controllers", "brokers") };
            let problem = Problem::error(fields.key_span(given), format!("`{given}` needs `{lacking}` beside it"));
            fields.problems.push(problem.hint("for nodes that are both write `nodes = 3`").absent());
            None
        }
    }
}

fn config(fields: &Fields<'_>) -> BTreeMap<String, String> {
    let mut config = BTreeMap::new();
    for property in fields.config("config") {
        if RESERVED_PROPERTIES.contains(&property.key) {
            let message = format!("`{}` cannot be set here", property.key);
            fields.problems.push(Problem::error(property.key_span, message).hint("it follows from the nodes and the ports of each run"));
        } else if security::holds_secret(property.key) {
            let message = format!("`{}` holds a secret, and a plan's text is part of each run's results", property.key);
            fields.problems.push(Problem::error(property.key_span, message).hint("`[cluster.security]` secures listeners without any"));
        } else {
            config.insert(property.key.to_owned(), property.value);
        }
    }
    config
}

fn disk(fields: &Fields<'_>, layout: Layout) -> Option<SmallDisk> {
    let disk = fields.table("disk")?;
    let (broker, size_bytes) = (disk.integer("broker")?, disk.size("size")?);
    let brokers = layout.brokers();
    let broker = brokers.iter().copied().find(|known| u64::try_from(known.0) == Ok(broker));
    if broker.is_none() {
        let known: Vec<String> = brokers.iter().map(ToString::to_string).collect();
        let problem = Problem::error(disk.span_of("broker"), "no broker of this cluster has that id".to_owned());
        fields.problems.push(problem.hint(format!("its brokers are {}", known.join(", "))));
    }
    Some(SmallDisk { broker: broker?, size_bytes })
}

fn memory(fields: &Fields<'_>) -> (u64, u64) {
    let (memory, heap) = (fields.size("memory"), fields.size("heap"));
    if let (Some(memory), Some(heap)) = (memory, heap)
        && heap >= memory
    {
        let place = if fields.has("heap") { "heap" } else { "memory" };
        let message = format!("a heap of {} does not fit into a node's {}", show_size(heap), show_size(memory));
        let hint = "leave the JVM about as much outside the heap as in it";
        fields.problems.push(Problem::error(fields.span_of(place), message).hint(hint));
    }
    (memory.unwrap_or_default(), heap.unwrap_or_default())
}
