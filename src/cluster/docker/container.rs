//! What a node's container is: image, environment, labels, limits, published ports. Pure.

use std::collections::{BTreeMap, HashMap};

use bollard::models::{ContainerCreateBody, HostConfig, HostConfigLogConfig, PortBinding};

use crate::cluster::properties::{self, Wiring};
use crate::cluster::{RunId, labels};
use crate::plan::model::{ClusterSpec, NetworkMode};

/// What the engine keeps of a node's log: four files of so much.
const LOG_FILE_SIZE: &str = "64m";
const LOG_FILES: &str = "4";

/// The request that makes a node's container. `labels` are those of the whole run.
pub(super) fn request(
    spec: &ClusterSpec,
    run: &RunId,
    image: &str,
    node: &Wiring,
    environment: BTreeMap<String, String>,
    mut labels: HashMap<String, String>,
) -> ContainerCreateBody {
    labels.extend(labels_of(node));
    let bindings = published(spec.network, node);
    let on_host = spec.network == NetworkMode::Host;
    let name = run.container_name(node.id);
    let memory = i64::try_from(spec.memory_bytes).unwrap_or(i64::MAX);
    let log_options = [("max-size", LOG_FILE_SIZE), ("max-file", LOG_FILES)].map(|(name, value)| (name.to_owned(), value.to_owned()));
    ContainerCreateBody {
        image: Some(image.to_owned()),
        // On the host's network the container has the host's name.
        hostname: (!on_host).then_some(name),
        env: Some(environment.into_iter().map(|(name, value)| format!("{name}={value}")).collect()),
        labels: Some(labels),
        exposed_ports: (!on_host).then(|| bindings.keys().cloned().collect()),
        host_config: Some(HostConfig {
            memory: Some(memory),
            // No swap: a node that swaps measures the disk.
            memory_swap: Some(memory),
            network_mode: Some(if on_host { "host".to_owned() } else { run.network_name() }),
            port_bindings: (!on_host).then_some(bindings),
            log_config: Some(HostConfigLogConfig { typ: Some("json-file".to_owned()), config: Some(log_options.into()) }),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    }
}

fn labels_of(node: &Wiring) -> Vec<(String, String)> {
    let ports: Vec<String> = node.ports().iter().map(ToString::to_string).collect();
    let mut labels = vec![(labels::NODE, node.id.to_string()), (labels::ROLES, node.roles().to_owned()), (labels::PORTS, ports.join(","))];
    labels.extend(node.client.map(|port| (labels::CLIENT_PORT, port.to_string())));
    labels.extend(node.controller.map(|port| (labels::CONTROLLER_PORT, port.to_string())));
    labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The container's ports that 127.0.0.1 serves; none on the host's network, where there is nothing to publish.
fn published(network: NetworkMode, node: &Wiring) -> HashMap<String, Option<Vec<PortBinding>>> {
    if network == NetworkMode::Host {
        return HashMap::new();
    }
    let ports = [(properties::CLIENT_PORT, node.client), (properties::CONTROLLER_PORT, node.controller)];
    let binding = |port: u16| PortBinding { host_ip: Some("127.0.0.1".to_owned()), host_port: Some(port.to_string()) };
    ports.into_iter().filter_map(|(inside, outside)| Some((format!("{inside}/tcp"), Some(vec![binding(outside?)])))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::BrokerId;
    use crate::plan::model::Layout;

    fn request_for(network: NetworkMode, node: &Wiring) -> ContainerCreateBody {
        let spec = ClusterSpec {
            kafka: "4.3.0".into(),
            layout: Layout::Combined { nodes: 1 },
            config: BTreeMap::new(),
            memory_bytes: 768 << 20,
            heap_bytes: 384 << 20,
            network,
        };
        let labels = HashMap::from([(labels::RUN.to_owned(), "r1".to_owned())]);
        request(&spec, &RunId::new("r1").unwrap(), "apache/kafka:4.3.0", node, BTreeMap::from([("A".into(), "b".into())]), labels)
    }

    #[test]
    fn ports_are_published_on_the_loopback_address_only() {
        let node = Wiring { id: BrokerId(1), client: Some(20_001), controller: Some(20_002), internal: None };
        let body = request_for(NetworkMode::Bridge, &node);
        let host = body.host_config.unwrap();
        let bindings = host.port_bindings.unwrap();
        for (inside, outside) in [("9094/tcp", "20001"), ("9093/tcp", "20002")] {
            let binding = &bindings[inside].as_ref().unwrap()[0];
            assert_eq!((binding.host_ip.as_deref(), binding.host_port.as_deref()), (Some("127.0.0.1"), Some(outside)));
        }
        assert_eq!(bindings.len(), 2);
        assert_eq!(body.hostname.as_deref(), Some("chaos-r1-1"));
        assert_eq!((host.memory, host.memory_swap), (Some(768 << 20), Some(768 << 20)));
        assert_eq!(host.auto_remove, None, "a killed node must come back with its data");
    }

    #[test]
    fn on_the_hosts_network_nothing_is_published() {
        let node = Wiring { id: BrokerId(1), client: Some(20_001), controller: None, internal: Some(20_003) };
        let body = request_for(NetworkMode::Host, &node);
        let host = body.host_config.unwrap();
        assert_eq!((host.port_bindings, body.hostname, body.exposed_ports), (None, None, None));
        assert_eq!(host.network_mode.as_deref(), Some("host"));
        assert_eq!(body.labels.unwrap()[labels::PORTS], "20001,20003");
    }

    #[test]
    fn labels_tell_all_that_a_later_process_needs() {
        let node = Wiring { id: BrokerId(4), client: None, controller: Some(20_002), internal: None };
        let labels = request_for(NetworkMode::Bridge, &node).labels.unwrap();
        assert_eq!(labels[labels::RUN], "r1");
        assert_eq!(labels[labels::NODE], "4");
        assert_eq!(labels[labels::ROLES], "controller");
        assert_eq!(labels[labels::CONTROLLER_PORT], "20002");
        assert!(!labels.contains_key(labels::CLIENT_PORT));
    }
}
