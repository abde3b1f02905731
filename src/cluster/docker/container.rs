//! What a node's containers are: image, environment, labels, limits, published ports. Pure.
//!
//! On a network of the run's own a node is two containers. The *anchor* does nothing but hold the node's address, name and published
//! ports; Kafka runs in a second one inside the anchor's network. So a kill takes the process and leaves the machine: peers are refused at
//! once instead of asking after an address that is gone, and the node comes back under the same address. Without it the engine deals
//! addresses out anew: two nodes that were down at once come back with each other's, and peers that remember them talk to the wrong one.

use std::collections::{BTreeMap, HashMap};

use bollard::models::{
    ContainerCreateBody, EndpointIpamConfig, EndpointSettings, HostConfig, HostConfigLogConfig, NetworkingConfig, PortBinding,
};

use crate::cluster::properties::{self, Wiring};
use crate::cluster::subnet::Subnet;
use crate::cluster::{RunId, labels};
use crate::ids::BrokerId;
use crate::plan::model::{ClusterSpec, NetworkMode};

/// What the engine keeps of a node's log: four files of so much.
const LOG_FILE_SIZE: &str = "64m";
const LOG_FILES: &str = "4";
/// Memory of an anchor: a shell that sleeps.
const ANCHOR_MEMORY_BYTES: i64 = 64 << 20;

/// What all containers of a run share.
pub(super) struct Common<'a> {
    pub(super) spec: &'a ClusterSpec,
    pub(super) run: &'a RunId,
    pub(super) image: &'a str,
    /// Labels of the whole run.
    pub(super) labels: HashMap<String, String>,
}

/// The request that makes a node's anchor: any image with a shell does, and Kafka's is here already.
pub(super) fn anchor(common: &Common<'_>, node: &Wiring, subnet: Subnet) -> ContainerCreateBody {
    let (run, name) = (common.run, common.run.container_name(node.id));
    let bindings = published(node);
    let own_labels = [(labels::ANCHOR_OF, node.id.to_string()), (labels::PORTS, ports_of(node))];
    ContainerCreateBody {
        image: Some(common.image.to_owned()),
        hostname: Some(name),
        entrypoint: Some(vec!["/bin/sh".to_owned(), "-c".to_owned()]),
        cmd: Some(vec!["while :; do sleep 3600; done".to_owned()]),
        labels: Some(with(common.labels.clone(), own_labels)),
        exposed_ports: Some(bindings.keys().cloned().collect()),
        host_config: Some(HostConfig {
            memory: Some(ANCHOR_MEMORY_BYTES),
            // Routes are changed in here: Kafka's own container needs no such right.
            cap_add: common.spec.links.nodes.then(|| vec!["NET_ADMIN".to_owned()]),
            network_mode: Some(run.network_name()),
            port_bindings: Some(bindings),
            ..HostConfig::default()
        }),
        networking_config: Some(NetworkingConfig {
            endpoints_config: Some(HashMap::from([(run.network_name(), endpoint(run, node.id, subnet))])),
        }),
        ..ContainerCreateBody::default()
    }
}

/// A node's place on the run's network. Its name belongs to the Kafka container, but peers must find the anchor under it.
pub(super) fn endpoint(run: &RunId, node: BrokerId, subnet: Subnet) -> EndpointSettings {
    let address = EndpointIpamConfig { ipv4_address: Some(subnet.address_of(node).to_string()), ..EndpointIpamConfig::default() };
    EndpointSettings { aliases: Some(vec![run.container_name(node)]), ipam_config: Some(address), ..EndpointSettings::default() }
}

/// The request that makes the container that a node's Kafka runs in.
pub(super) fn node(common: &Common<'_>, node: &Wiring, environment: BTreeMap<String, String>) -> ContainerCreateBody {
    let memory = i64::try_from(common.spec.memory_bytes).unwrap_or(i64::MAX);
    let network = match common.spec.network {
        NetworkMode::Host => "host".to_owned(),
        NetworkMode::Bridge => format!("container:{}", common.run.anchor_name(node.id)),
    };
    let log_options = [("max-size", LOG_FILE_SIZE), ("max-file", LOG_FILES)].map(|(name, value)| (name.to_owned(), value.to_owned()));
    ContainerCreateBody {
        image: Some(common.image.to_owned()),
        env: Some(environment.into_iter().map(|(name, value)| format!("{name}={value}")).collect()),
        labels: Some(with(common.labels.clone(), labels_of(node))),
        host_config: Some(HostConfig {
            memory: Some(memory),
            // No swap: a node that swaps measures the disk.
            memory_swap: Some(memory),
            network_mode: Some(network),
            tmpfs: small_disk(common.spec, node),
            log_config: Some(HostConfigLogConfig { typ: Some("json-file".to_owned()), config: Some(log_options.into()) }),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    }
}

/// A disk in memory, which whoever runs Kafka in the image may write to.
fn small_disk(spec: &ClusterSpec, node: &Wiring) -> Option<HashMap<String, String>> {
    let size_bytes = spec.disk.filter(|_| properties::has_small_disk(spec, node))?.size_bytes;
    Some(HashMap::from([(properties::SMALL_DISK.to_owned(), format!("size={size_bytes},mode=1777"))]))
}

fn with(mut labels: HashMap<String, String>, own: impl IntoIterator<Item = (&'static str, String)>) -> HashMap<String, String> {
    labels.extend(own.into_iter().map(|(name, value)| (name.to_owned(), value)));
    labels
}

fn ports_of(node: &Wiring) -> String {
    node.ports().iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn labels_of(node: &Wiring) -> Vec<(&'static str, String)> {
    let mut labels = vec![(labels::NODE, node.id.to_string()), (labels::ROLES, node.roles().to_owned()), (labels::PORTS, ports_of(node))];
    labels.extend(node.client.map(|port| (labels::CLIENT_PORT, port.to_string())));
    labels.extend(node.relay.map(|port| (labels::RELAY_PORT, port.to_string())));
    labels.extend(node.controller.map(|port| (labels::CONTROLLER_PORT, port.to_string())));
    labels
}

/// The node's ports that 127.0.0.1 serves.
fn published(node: &Wiring) -> HashMap<String, Option<Vec<PortBinding>>> {
    let ports = [(properties::CLIENT_PORT, node.client), (properties::CONTROLLER_PORT, node.controller)];
    let binding = |port: u16| PortBinding { host_ip: Some("127.0.0.1".to_owned()), host_port: Some(port.to_string()) };
    ports.into_iter().filter_map(|(inside, outside)| Some((format!("{inside}/tcp"), Some(vec![binding(outside?)])))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::model::{Layout, LinkNeeds};

    /// A node's anchor and its Kafka container.
    fn requests(network: NetworkMode, node: &Wiring) -> (ContainerCreateBody, ContainerCreateBody) {
        let spec = ClusterSpec {
            kafka: "4.3.0".into(),
            layout: Layout::Combined { nodes: 1 },
            config: BTreeMap::new(),
            memory_bytes: 768 << 20,
            heap_bytes: 384 << 20,
            network,
            joining: 0,
            links: LinkNeeds::default(),
            disk: None,
            security: None,
        };
        let labels = HashMap::from([(labels::RUN.to_owned(), "r1".to_owned())]);
        let run = RunId::new("r1").unwrap();
        let common = Common { spec: &spec, run: &run, image: "apache/kafka:4.3.0", labels };
        (anchor(&common, node, "172.19.0.0/16".parse().unwrap()), super::node(&common, node, BTreeMap::from([("A".into(), "b".into())])))
    }

    #[test]
    fn the_anchor_holds_name_and_ports_and_kafka_joins_it() {
        let node =
            Wiring { id: BrokerId(1), client: Some(20_001), controller: Some(20_002), internal: None, relay: None, joins_later: false };
        let (anchor, kafka) = requests(NetworkMode::Bridge, &node);
        let host = anchor.host_config.unwrap();
        let bindings = host.port_bindings.unwrap();
        for (inside, outside) in [("9094/tcp", "20001"), ("9093/tcp", "20002")] {
            let binding = &bindings[inside].as_ref().unwrap()[0];
            assert_eq!((binding.host_ip.as_deref(), binding.host_port.as_deref()), (Some("127.0.0.1"), Some(outside)));
        }
        assert_eq!(bindings.len(), 2);
        assert_eq!(anchor.hostname.as_deref(), Some("chaos-r1-1"));
        let endpoints = anchor.networking_config.unwrap().endpoints_config.unwrap();
        let endpoint = &endpoints["chaos-r1"];
        assert_eq!(endpoint.aliases.as_deref(), Some(["chaos-r1-1".to_owned()].as_slice()));
        assert_eq!(endpoint.ipam_config.as_ref().unwrap().ipv4_address.as_deref(), Some("172.19.0.2"));

        let host = kafka.host_config.unwrap();
        assert_eq!(host.network_mode.as_deref(), Some("container:chaos-r1-1-anchor"));
        assert_eq!((host.memory, host.memory_swap), (Some(768 << 20), Some(768 << 20)));
        assert_eq!(host.auto_remove, None, "a killed node must come back with its data");
    }

    #[test]
    fn on_the_hosts_network_nothing_is_published() {
        let node =
            Wiring { id: BrokerId(1), client: Some(20_001), controller: None, internal: Some(20_003), relay: None, joins_later: false };
        let (_, kafka) = requests(NetworkMode::Host, &node);
        let host = kafka.host_config.unwrap();
        assert_eq!((host.port_bindings, kafka.hostname, kafka.exposed_ports), (None, None, None));
        assert_eq!(host.network_mode.as_deref(), Some("host"));
        assert_eq!(kafka.labels.unwrap()[labels::PORTS], "20001,20003");
    }

    #[test]
    fn labels_tell_all_that_a_later_process_needs() {
        let node = Wiring { id: BrokerId(4), client: None, controller: Some(20_002), internal: None, relay: None, joins_later: false };
        let (anchor, kafka) = requests(NetworkMode::Bridge, &node);
        let labels = kafka.labels.unwrap();
        assert_eq!(labels[labels::RUN], "r1");
        assert_eq!(labels[labels::NODE], "4");
        assert_eq!(labels[labels::ROLES], "controller");
        assert_eq!(labels[labels::CONTROLLER_PORT], "20002");
        assert!(!labels.contains_key(labels::CLIENT_PORT));
        let labels = anchor.labels.unwrap();
        assert_eq!((labels[labels::RUN].as_str(), labels[labels::ANCHOR_OF].as_str()), ("r1", "4"));
        assert!(!labels.contains_key(labels::NODE));
    }
}
