//! The labels that everything of ours carries, and what they say.
//!
//! Labels are all that outlives a killed `chaos`: from them alone a later process finds, attaches to or removes a cluster. An object
//! without [`RUN`] is never touched.

use std::collections::HashMap;
use std::fmt;

use sha2::{Digest, Sha256};

use super::ClusterError;
use super::owner::{Owner, Place};
use crate::clock::Clock;
use crate::ids::BrokerId;
use crate::plan::model::{ClusterSpec, Layout, NetworkMode};

/// The run's id: on every container and network of ours.
pub const RUN: &str = "io.kafka-chaos.run";
/// `node.id`, on the containers that Kafka runs in.
pub const NODE: &str = "io.kafka-chaos.node";
/// The `node.id` whose address a container holds, on anchors.
pub const ANCHOR_OF: &str = "io.kafka-chaos.anchor-of";
/// `broker`, `controller` or `broker,controller`, on containers.
pub const ROLES: &str = "io.kafka-chaos.roles";
/// Port of 127.0.0.1 for clients, on containers of brokers.
pub const CLIENT_PORT: &str = "io.kafka-chaos.client-port";
/// Port of 127.0.0.1 for the controller's listener, on containers of controllers.
pub const CONTROLLER_PORT: &str = "io.kafka-chaos.controller-port";
/// Port of 127.0.0.1 at which the relay of whoever uses the cluster stands before a broker, on containers of brokers that advertise it.
pub const RELAY_PORT: &str = "io.kafka-chaos.relay-port";
/// The producer group whose clients run in the container.
pub const CLIENTS_OF: &str = "io.kafka-chaos.clients-of";
/// All ports of 127.0.0.1 that the container needs, joined by commas.
pub const PORTS: &str = "io.kafka-chaos.ports";
/// Kafka's version.
pub const KAFKA: &str = "io.kafka-chaos.kafka";
/// The image's name at the time; the engine itself forgets it when the name moves on to a newer build.
pub const IMAGE: &str = "io.kafka-chaos.image-name";
/// Digest of what the cluster was started from; equal digests mean equal clusters.
pub const SPEC: &str = "io.kafka-chaos.spec";
/// `true` on the volume that marks a cluster which outlives its owner on purpose. A label of a container could not be given to it once the
/// cluster is ready, and one that was given before would make a broken start look like a kept cluster.
pub const KEEP: &str = "io.kafka-chaos.keep";
/// Pid of the process that made it.
pub const OWNER_PID: &str = "io.kafka-chaos.owner-pid";
/// When that process started.
pub const OWNER_START: &str = "io.kafka-chaos.owner-start";
/// On which machine, boot and pid namespace.
pub const OWNER_PLACE: &str = "io.kafka-chaos.owner-place";

/// Longest id of a run: with `chaos-` before and the node after it must stay a host name.
const RUN_ID_LENGTH_MAX: usize = 40;

/// Names a run and all that belongs to it; fit to be part of a host name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

impl RunId {
    /// An id from its text.
    ///
    /// # Errors
    /// [`ClusterError::BadRunId`] if the text cannot be part of a host name.
    pub fn new(text: &str) -> Result<Self, ClusterError> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let fits = (1..=RUN_ID_LENGTH_MAX).contains(&text.len())
            && text.chars().all(|c| allowed(c) || c == '-')
            && text.starts_with(allowed)
            && text.ends_with(allowed);
        if fits { Ok(Self(text.to_owned())) } else { Err(ClusterError::BadRunId(text.to_owned())) }
    }

    /// A new id that no other run on this machine has: from the time and the process.
    #[must_use]
    pub fn fresh(clock: &Clock) -> Self {
        let owner = Owner::current();
        let now = clock.wall_time_of(clock.now());
        Self(hex(&Sha256::digest(format!("{owner:?} {now:?}").as_bytes())[..4]))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Name of the run's network.
    #[must_use]
    pub fn network_name(&self) -> String {
        format!("chaos-{self}")
    }

    /// Name of the volume that marks the run's cluster as kept.
    #[must_use]
    pub fn keep_mark_name(&self) -> String {
        format!("chaos-{self}-kept")
    }

    /// Name of the container that a node's Kafka runs in, which is also the node's host name.
    #[must_use]
    pub fn container_name(&self, node: BrokerId) -> String {
        format!("chaos-{self}-{node}")
    }

    /// Name of the container that a producer group's clients run in.
    #[must_use]
    pub fn clients_name(&self, group: &str) -> String {
        format!("chaos-{self}-clients-{group}")
    }

    /// Name of the container that holds a node's address.
    #[must_use]
    pub fn anchor_name(&self, node: BrokerId) -> String {
        format!("chaos-{self}-{node}-anchor")
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Digest of all that makes a cluster what it is.
#[must_use]
pub fn spec_digest(spec: &ClusterSpec, request_log: bool) -> String {
    let ClusterSpec { kafka, layout, config, memory_bytes, heap_bytes, network, joining, links, disk, security } = spec;
    // The number tells clusters apart that are made in another way from the same words: since 2, nodes have addresses of their own.
    let text = format!(
        "3 {kafka} {layout:?} {config:?} {memory_bytes} {heap_bytes} {network:?} {joining} {links:?} {disk:?} {security:?} {request_log}"
    );
    hex(&Sha256::digest(text.as_bytes())[..8])
}

/// A layout in words, as `chaos cluster status` shows it.
#[must_use]
pub fn layout_words(layout: Layout, network: NetworkMode) -> String {
    let nodes = match layout {
        Layout::Combined { nodes } => format!("{nodes} combined nodes"),
        Layout::Dedicated { brokers, controllers } => format!("{brokers} brokers, {controllers} controllers"),
    };
    match network {
        NetworkMode::Bridge => nodes,
        NetworkMode::Host => format!("{nodes}, host network"),
    }
}

/// Labels of everything that a run makes.
pub(crate) fn of_run(run: &RunId, owner: &Owner) -> HashMap<String, String> {
    [
        (RUN, run.to_string()),
        (OWNER_PID, owner.pid.to_string()),
        (OWNER_START, owner.start_ticks.to_string()),
        (OWNER_PLACE, owner.place.to_label()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// Reads the owner back; `None` if a label is missing or unreadable.
pub(crate) fn owner_of(labels: &HashMap<String, String>) -> Option<Owner> {
    Some(Owner {
        pid: labels.get(OWNER_PID)?.parse().ok()?,
        start_ticks: labels.get(OWNER_START)?.parse().ok()?,
        place: Place::from_label(labels.get(OWNER_PLACE)?)?,
    })
}

/// Bytes in hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::plan::model::{LinkNeeds, SmallDisk};

    #[test]
    fn a_run_id_must_fit_into_a_host_name() {
        for good in ["a", "7f3a", "20261130t101500-rolling-restart", &"x".repeat(40)] {
            assert_eq!(RunId::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "-a", "a-", "Upper", "under_score", "dot.ted", "a/b", &"x".repeat(41)] {
            assert!(matches!(RunId::new(bad), Err(ClusterError::BadRunId(_))), "{bad}");
        }
    }

    #[test]
    fn fresh_ids_are_valid_and_differ() {
        let clock = Clock::manual();
        let first = RunId::fresh(&clock);
        clock.advance(std::time::Duration::from_micros(1));
        let second = RunId::fresh(&clock);
        assert_ne!(first, second);
        assert_eq!(RunId::new(first.as_str()).unwrap(), first);
    }

    #[test]
    fn an_owner_survives_its_labels() {
        let owner = Owner::current();
        let labels = of_run(&RunId::new("r1").unwrap(), &owner);
        assert_eq!(owner_of(&labels), Some(owner));
        assert_eq!(labels[RUN], "r1");
        assert_eq!(owner_of(&HashMap::new()), None);
    }

    #[test]
    fn the_digest_changes_with_everything_that_changes_a_cluster() {
        let base = ClusterSpec {
            kafka: "4.3.0".into(),
            layout: Layout::Combined { nodes: 3 },
            config: BTreeMap::new(),
            memory_bytes: 1 << 29,
            heap_bytes: 1 << 28,
            network: NetworkMode::Bridge,
            joining: 0,
            links: LinkNeeds::default(),
            disk: None,
            security: None,
        };
        let others = [
            ClusterSpec { kafka: "4.0.2".into(), ..base.clone() },
            ClusterSpec { layout: Layout::Dedicated { brokers: 3, controllers: 1 }, ..base.clone() },
            ClusterSpec { config: BTreeMap::from([("a".into(), "b".into())]), ..base.clone() },
            ClusterSpec { memory_bytes: 1 << 30, ..base.clone() },
            ClusterSpec { heap_bytes: 1 << 27, ..base.clone() },
            ClusterSpec { network: NetworkMode::Host, ..base.clone() },
            ClusterSpec { joining: 1, ..base.clone() },
            ClusterSpec { disk: Some(SmallDisk { broker: BrokerId(1), size_bytes: 64 << 20 }), ..base.clone() },
            ClusterSpec { links: LinkNeeds { nodes: true, ..LinkNeeds::default() }, ..base.clone() },
            ClusterSpec { links: LinkNeeds { clients: true, ..LinkNeeds::default() }, ..base.clone() },
        ];
        let mut digests: Vec<String> = others.iter().map(|spec| spec_digest(spec, false)).collect();
        digests.push(spec_digest(&base, false));
        digests.push(spec_digest(&base, true));
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), 12);
    }
}
