//! What a node is told: its listeners and its `server.properties`, as the image's environment carries them. Pure.
//!
//! The environment's contract is that of `apache/kafka`: `KAFKA_` and the property's name in capitals, `.` as `_`, `-` as `___`, `_` as
//! `__`; `CLUSTER_ID`; and the JVM's options in variables of their own.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use sha2::{Digest, Sha256};

use super::{ClusterError, Node, RunId};
use crate::ids::{BrokerId, HostPort};
use crate::plan::model::{ClusterSpec, NetworkMode, RESERVED_PROPERTIES, SecuritySpec};

/// Port of the listener between brokers, inside the cluster's own network.
pub(crate) const INTERNAL_PORT: u16 = 9092;
/// Port of the controller's listener, inside the cluster's own network.
pub(crate) const CONTROLLER_PORT: u16 = 9093;
/// Port of the clients' listener inside the container; it is advertised as the published one.
pub(crate) const CLIENT_PORT: u16 = 9094;

/// Where a node keeps its data: in the container's own layer, so that it comes back with the container and goes with it.
const LOG_DIR: &str = "/tmp/kafka-data";
/// Where a small disk is mounted. The controller's log, which lies in the first directory, is not on it.
pub(crate) const SMALL_DISK: &str = "/tmp/kafka-small-disk";

/// A node and the ports of 127.0.0.1 that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wiring {
    /// The node.
    pub(crate) id: BrokerId,
    /// The clients' listener, published or (host network) bound; `None` for a dedicated controller.
    pub(crate) client: Option<u16>,
    /// The controller's listener, published or bound; `None` for a node that is broker only.
    pub(crate) controller: Option<u16>,
    /// The listener between brokers, on the host's network only.
    pub(crate) internal: Option<u16>,
    /// Whether it is started by a step.
    pub(crate) joins_later: bool,
    /// Where the relay listens for the broker's clients, if there is one: then the broker advertises this.
    pub(crate) relay: Option<u16>,
}

impl Wiring {
    /// All ports of 127.0.0.1 that the node uses.
    pub(crate) fn ports(&self) -> Vec<u16> {
        [self.client, self.controller, self.internal, self.relay].into_iter().flatten().collect()
    }

    /// `process.roles`.
    pub(crate) fn roles(&self) -> &'static str {
        match (self.client.is_some(), self.controller.is_some()) {
            (true, true) => "broker,controller",
            (true, false) => "broker",
            (false, _) => "controller",
        }
    }

    /// The node as the rest of the program sees it.
    pub(crate) fn node(&self) -> Node {
        Node {
            id: self.id,
            is_broker: self.client.is_some(),
            is_controller: self.controller.is_some(),
            client_listener: self.client.map(|port| HostPort::new("127.0.0.1", port)),
            relay_listener: self.relay.map(|port| HostPort::new("127.0.0.1", port)),
            controller_listener: self.controller.map(|port| (Ipv4Addr::LOCALHOST, port).into()),
            joins_later: self.joins_later,
        }
    }
}

/// How many ports of 127.0.0.1 a cluster needs.
pub(crate) fn ports_wanted(spec: &ClusterSpec) -> usize {
    let brokers = spec.layout.brokers().len() + usize::from(spec.joining);
    let internal = if spec.network == NetworkMode::Host { brokers } else { 0 };
    let relay = if spec.links.clients { brokers } else { 0 };
    brokers + spec.layout.controllers().len() + internal + relay
}

/// Deals ports out to the nodes. `ports` holds [`ports_wanted`] of them.
pub(crate) fn wire(spec: &ClusterSpec, ports: &[u16]) -> Vec<Wiring> {
    let (brokers, controllers, joiners) = (spec.layout.brokers(), spec.layout.controllers(), spec.joiners());
    let mut ports = ports.iter().copied();
    let mut next_if = |needed: bool| if needed { ports.next() } else { None };
    spec.layout
        .nodes()
        .into_iter()
        .chain(joiners.iter().copied())
        .map(|id| {
            let joins_later = joiners.contains(&id);
            let is_broker = joins_later || brokers.contains(&id);
            Wiring {
                id,
                client: next_if(is_broker),
                controller: next_if(controllers.contains(&id)),
                internal: next_if(is_broker && spec.network == NetworkMode::Host),
                joins_later,
                relay: next_if(is_broker && spec.links.clients),
            }
        })
        .collect()
}

/// The environment of one node's container.
///
/// # Errors
/// [`ClusterError::ReservedProperty`] if the plan sets a property that the wiring depends on.
pub(crate) fn environment(
    spec: &ClusterSpec,
    run: &RunId,
    all: &[Wiring],
    node: &Wiring,
    request_log: bool,
) -> Result<BTreeMap<String, String>, ClusterError> {
    let mut properties = own_properties(spec, run, all, node);
    for (name, value) in &spec.config {
        if RESERVED_PROPERTIES.contains(&name.as_str()) {
            return Err(ClusterError::ReservedProperty { name: name.clone() });
        }
        properties.insert(name.clone(), value.clone());
    }
    let mut environment: BTreeMap<String, String> = properties.into_iter().map(|(name, value)| (variable_of(&name), value)).collect();
    let heap_mib = spec.heap_bytes >> 20;
    // The serial collector: with several nodes on few cores, parallel collectors fight over them and take memory of their own.
    let jvm = "-server -XX:+UseSerialGC -Djava.awt.headless=true";
    environment.insert("KAFKA_HEAP_OPTS".into(), format!("-Xms{heap_mib}m -Xmx{heap_mib}m"));
    environment.insert("KAFKA_JVM_PERFORMANCE_OPTS".into(), jvm.into());
    environment.insert("CLUSTER_ID".into(), cluster_id(run));
    if request_log {
        environment.insert("KAFKA_LOG4J_LOGGERS".into(), "kafka.request.logger=DEBUG".into());
    }
    Ok(environment)
}

fn own_properties(spec: &ClusterSpec, run: &RunId, all: &[Wiring], node: &Wiring) -> BTreeMap<String, String> {
    let brokers = spec.layout.brokers().len();
    let replication = brokers.min(3).to_string();
    let in_sync_min = brokers.min(2).to_string();
    let protocol = spec.security.as_ref().map_or("PLAINTEXT", SecuritySpec::protocol);
    let voters: Vec<String> =
        all.iter().filter_map(|voter| Some(format!("{}@{}", voter.id, controller_address(spec.network, run, voter)?))).collect();
    let mut properties: BTreeMap<String, String> = [
        ("node.id", node.id.to_string()),
        ("process.roles", node.roles().into()),
        ("controller.quorum.voters", voters.join(",")),
        ("controller.listener.names", "CONTROLLER".into()),
        ("listener.security.protocol.map", format!("INTERNAL:PLAINTEXT,CONTROLLER:{protocol},CLIENT:{protocol}")),
        ("inter.broker.listener.name", "INTERNAL".into()),
        ("listeners", listeners(spec.network, run, node, Side::Bound)),
        ("log.dirs", if has_small_disk(spec, node) { format!("{LOG_DIR},{SMALL_DISK}") } else { LOG_DIR.into() }),
        ("offsets.topic.replication.factor", replication.clone()),
        ("transaction.state.log.replication.factor", replication.clone()),
        ("transaction.state.log.min.isr", in_sync_min.clone()),
        ("share.coordinator.state.topic.replication.factor", replication),
        ("share.coordinator.state.topic.min.isr", in_sync_min),
        ("group.initial.rebalance.delay.ms", "0".into()),
        // A producer that names a topic by mistake must fail, not make it.
        ("auto.create.topics.enable", "false".into()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    if node.client.is_some() {
        properties.insert("advertised.listeners".into(), listeners(spec.network, run, node, Side::Advertised));
    }
    properties
}

/// Whether the node's second log directory lies on a small disk.
pub(crate) fn has_small_disk(spec: &ClusterSpec, node: &Wiring) -> bool {
    spec.disk.is_some_and(|disk| disk.broker == node.id)
}

/// Which of a listener's two addresses.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Bound,
    Advertised,
}

/// `listeners` or `advertised.listeners`. The controller's listener is not advertised: the voters' list says where it is.
fn listeners(network: NetworkMode, run: &RunId, node: &Wiring, side: Side) -> String {
    let name = run.container_name(node.id);
    let on_host = |port: u16| format!("127.0.0.1:{port}");
    let mut entries = Vec::new();
    if let Some(client) = node.client {
        // Clients that a broker sends to itself must come the same way as before.
        let client = node.relay.filter(|_| side == Side::Advertised).unwrap_or(client);
        let (internal, client) = match (network, side) {
            (NetworkMode::Host, _) => (on_host(node.internal.unwrap_or_default()), on_host(client)),
            (NetworkMode::Bridge, Side::Bound) => (format!(":{INTERNAL_PORT}"), format!(":{CLIENT_PORT}")),
            (NetworkMode::Bridge, Side::Advertised) => (format!("{name}:{INTERNAL_PORT}"), on_host(client)),
        };
        entries.extend([format!("INTERNAL://{internal}"), format!("CLIENT://{client}")]);
    }
    if let (Some(controller), Side::Bound) = (node.controller, side) {
        let address = if network == NetworkMode::Host { on_host(controller) } else { format!(":{CONTROLLER_PORT}") };
        entries.push(format!("CONTROLLER://{address}"));
    }
    entries.join(",")
}

/// Where the other nodes reach a controller.
fn controller_address(network: NetworkMode, run: &RunId, node: &Wiring) -> Option<String> {
    let port = node.controller?;
    Some(match network {
        NetworkMode::Host => format!("127.0.0.1:{port}"),
        NetworkMode::Bridge => format!("{}:{CONTROLLER_PORT}", run.container_name(node.id)),
    })
}

/// The variable that carries a property.
fn variable_of(property: &str) -> String {
    let name = property.replace('_', "__").replace('-', "___").replace('.', "_").to_uppercase();
    format!("KAFKA_{name}")
}

/// The cluster's id: 16 bytes from the run's id, in Kafka's base64 (URL-safe, no padding).
fn cluster_id(run: &RunId) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digest = Sha256::digest(format!("cluster {run}").as_bytes());
    let mut id = [0_u8; 16];
    id.copy_from_slice(&digest[..16]);
    // An id that begins with a dash would read as an option on a command line; Kafka itself avoids it too.
    id[0] &= 0x7f;
    let bits = u128::from_be_bytes(id);
    // 128 bits are 21 digits of six bits, and two bits that are filled up to a last digit.
    let digit = |value: u128| char::from(ALPHABET[usize::try_from(value & 63).unwrap_or(0)]);
    (0..21_u32).map(|index| digit(bits >> (122 - 6 * index))).chain([digit(bits << 4)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::model::{Layout, LinkNeeds};

    fn spec(layout: Layout, network: NetworkMode) -> ClusterSpec {
        ClusterSpec {
            kafka: "4.3.0".into(),
            layout,
            config: BTreeMap::new(),
            memory_bytes: 768 << 20,
            heap_bytes: 384 << 20,
            network,
            joining: 0,
            links: LinkNeeds::default(),
            disk: None,
            security: None,
        }
    }

    fn run() -> RunId {
        RunId::new("r1").unwrap()
    }

    fn environment_of(spec: &ClusterSpec, node: usize) -> BTreeMap<String, String> {
        let ports: Vec<u16> = (20_001..).take(ports_wanted(spec)).collect();
        let all = wire(spec, &ports);
        environment(spec, &run(), &all, &all[node - 1], false).unwrap()
    }

    #[test]
    fn a_broker_that_joins_is_wired_like_the_others_and_has_no_vote() {
        for (layout, network, expected) in [
            (Layout::Combined { nodes: 1 }, NetworkMode::Bridge, "INTERNAL://chaos-r1-2:9092,CLIENT://127.0.0.1:20003"),
            (Layout::Combined { nodes: 1 }, NetworkMode::Host, "INTERNAL://127.0.0.1:20005,CLIENT://127.0.0.1:20004"),
        ] {
            let spec = ClusterSpec { joining: 1, ..spec(layout, network) };
            let (first, joiner) = (environment_of(&spec, 1), environment_of(&spec, 2));
            assert_eq!(joiner["KAFKA_ADVERTISED_LISTENERS"], expected);
            assert_eq!((joiner["KAFKA_NODE_ID"].as_str(), joiner["KAFKA_PROCESS_ROLES"].as_str()), ("2", "broker"));
            for shared in ["KAFKA_CONTROLLER_QUORUM_VOTERS", "CLUSTER_ID", "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR"] {
                assert_eq!(joiner[shared], first[shared]);
            }
            assert!(!first["KAFKA_CONTROLLER_QUORUM_VOTERS"].contains("2@"), "{first:?}");
        }
    }

    #[test]
    fn listeners_of_clients_and_controllers_are_secured_alike_and_nothing_secret_is_in_the_environment() {
        let security = SecuritySpec { tls: true, login: None, valid: None };
        for (security, protocol) in [(None, "PLAINTEXT"), (Some(security), "SSL")] {
            let spec = ClusterSpec { security, ..spec(Layout::Combined { nodes: 1 }, NetworkMode::Bridge) };
            let environment = environment_of(&spec, 1);
            let expected = format!("INTERNAL:PLAINTEXT,CONTROLLER:{protocol},CLIENT:{protocol}");
            assert_eq!(environment["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"], expected);
            assert!(environment.keys().all(|name| !name.contains("SSL") && !name.contains("SASL")), "{environment:?}");
        }
    }

    #[test]
    fn listeners_and_voters_follow_layout_and_network() {
        let combined = Layout::Combined { nodes: 2 };
        let apart = Layout::Dedicated { brokers: 1, controllers: 1 };
        let cases = [
            (
                spec(combined, NetworkMode::Bridge),
                2,
                "broker,controller",
                "INTERNAL://:9092,CLIENT://:9094,CONTROLLER://:9093",
                Some("INTERNAL://chaos-r1-2:9092,CLIENT://127.0.0.1:20003"),
                "1@chaos-r1-1:9093,2@chaos-r1-2:9093",
            ),
            (
                spec(combined, NetworkMode::Host),
                1,
                "broker,controller",
                "INTERNAL://127.0.0.1:20003,CLIENT://127.0.0.1:20001,CONTROLLER://127.0.0.1:20002",
                Some("INTERNAL://127.0.0.1:20003,CLIENT://127.0.0.1:20001"),
                "1@127.0.0.1:20002,2@127.0.0.1:20005",
            ),
            (
                spec(apart, NetworkMode::Bridge),
                1,
                "broker",
                "INTERNAL://:9092,CLIENT://:9094",
                Some("INTERNAL://chaos-r1-1:9092,CLIENT://127.0.0.1:20001"),
                "2@chaos-r1-2:9093",
            ),
            (spec(apart, NetworkMode::Bridge), 2, "controller", "CONTROLLER://:9093", None, "2@chaos-r1-2:9093"),
            (spec(apart, NetworkMode::Host), 2, "controller", "CONTROLLER://127.0.0.1:20003", None, "2@127.0.0.1:20003"),
        ];
        for (spec, node, roles, bound, advertised, voters) in cases {
            let environment = environment_of(&spec, node);
            let name = format!("node {node} of {spec:?}");
            assert_eq!(environment["KAFKA_PROCESS_ROLES"], roles, "{name}");
            assert_eq!(environment["KAFKA_LISTENERS"], bound, "{name}");
            assert_eq!(environment.get("KAFKA_ADVERTISED_LISTENERS").map(String::as_str), advertised, "{name}");
            assert_eq!(environment["KAFKA_CONTROLLER_QUORUM_VOTERS"], voters, "{name}");
        }
    }

    #[test]
    fn with_a_relay_its_port_is_advertised_and_the_brokers_own_is_bound() {
        let mut spec = spec(Layout::Combined { nodes: 2 }, NetworkMode::Bridge);
        spec.links.clients = true;
        let environment = environment_of(&spec, 2);
        assert_eq!(environment["KAFKA_LISTENERS"], "INTERNAL://:9092,CLIENT://:9094,CONTROLLER://:9093");
        assert_eq!(environment["KAFKA_ADVERTISED_LISTENERS"], "INTERNAL://chaos-r1-2:9092,CLIENT://127.0.0.1:20006");
    }

    #[test]
    fn internal_topics_fit_the_brokers() {
        for (brokers, replication, in_sync_min) in [(1, "1", "1"), (2, "2", "2"), (3, "3", "2"), (5, "3", "2")] {
            let environment = environment_of(&spec(Layout::Dedicated { brokers, controllers: 1 }, NetworkMode::Bridge), 1);
            assert_eq!(environment["KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR"], replication);
            assert_eq!(environment["KAFKA_TRANSACTION_STATE_LOG_MIN_ISR"], in_sync_min);
        }
    }

    #[test]
    fn the_plan_wins_but_for_the_wiring() {
        let mut spec = spec(Layout::Combined { nodes: 1 }, NetworkMode::Bridge);
        spec.config.insert("auto.create.topics.enable".into(), "true".into());
        spec.config.insert("broker.session.timeout.ms".into(), "9000".into());
        let environment = environment_of(&spec, 1);
        assert_eq!(environment["KAFKA_AUTO_CREATE_TOPICS_ENABLE"], "true");
        assert_eq!(environment["KAFKA_BROKER_SESSION_TIMEOUT_MS"], "9000");

        for name in RESERVED_PROPERTIES {
            let spec = ClusterSpec { config: BTreeMap::from([(name.into(), "x".into())]), ..spec.clone() };
            let all = wire(&spec, &[20_001, 20_002]);
            let error = super::environment(&spec, &run(), &all, &all[0], false).unwrap_err();
            assert!(error.is_request_fault() && error.to_string().contains(name), "{error}");
        }
    }

    #[test]
    fn the_heap_and_the_request_log_have_variables_of_their_own() {
        let spec = spec(Layout::Combined { nodes: 1 }, NetworkMode::Bridge);
        let all = wire(&spec, &[20_001, 20_002]);
        let environment = super::environment(&spec, &run(), &all, &all[0], true).unwrap();
        assert_eq!(environment["KAFKA_HEAP_OPTS"], "-Xms384m -Xmx384m");
        assert_eq!(environment["KAFKA_LOG4J_LOGGERS"], "kafka.request.logger=DEBUG");
    }

    #[test]
    fn property_names_become_variables_as_the_image_reads_them() {
        for (property, variable) in
            [("node.id", "KAFKA_NODE_ID"), ("log.segment.bytes", "KAFKA_LOG_SEGMENT_BYTES"), ("a_b.c-d", "KAFKA_A__B_C___D")]
        {
            assert_eq!(variable_of(property), variable);
        }
    }

    #[test]
    fn cluster_ids_are_kafkas_kind_of_uuid() {
        let first = cluster_id(&RunId::new("r1").unwrap());
        let second = cluster_id(&RunId::new("r2").unwrap());
        assert_ne!(first, second);
        for id in [&first, &second] {
            assert_eq!(id.len(), 22);
            assert!(!id.starts_with('-'));
            assert!(id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'), "{id}");
            // The last digit carries two bits only.
            assert!("AQgw".contains(id.chars().last().unwrap()), "{id}");
        }
    }

    #[test]
    fn ports_are_dealt_out_without_gaps() {
        for (layout, network, wanted) in [
            (Layout::Combined { nodes: 3 }, NetworkMode::Bridge, 6),
            (Layout::Combined { nodes: 3 }, NetworkMode::Host, 9),
            (Layout::Dedicated { brokers: 3, controllers: 1 }, NetworkMode::Bridge, 4),
            (Layout::Dedicated { brokers: 3, controllers: 1 }, NetworkMode::Host, 7),
        ] {
            let mut spec = spec(layout, network);
            assert_eq!(ports_wanted(&spec), wanted);
            spec.links.clients = true;
            let wanted = wanted + 3;
            assert_eq!(ports_wanted(&spec), wanted, "the relay has one per broker");
            let ports: Vec<u16> = (20_001..).take(wanted).collect();
            let used: Vec<u16> = wire(&spec, &ports).iter().flat_map(Wiring::ports).collect();
            assert_eq!(used, ports, "{spec:?}");
        }
    }
}
