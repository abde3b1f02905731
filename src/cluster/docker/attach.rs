//! Using a kept cluster again: found by the digest of what it was started from, mended, ready.

use std::net::Ipv4Addr;
use std::str::FromStr;

use super::network::RunNetwork;
use super::{DockerCluster, UpOptions};
use crate::cluster::daemon::Daemon;
use crate::cluster::inventory::{self, Container, RunObjects};
use crate::cluster::janitor::{self, Fate};
use crate::cluster::remove::{LastResort, Leash};
use crate::cluster::{Access, Cluster, ClusterError, Node, NodeState, Progress, Relay, RunId, labels};
use crate::ids::{BrokerId, HostPort};
use crate::plan::model::ClusterSpec;

impl DockerCluster {
    /// Attaches to the youngest kept cluster that was started from an equal spec and that no other process made and still owns: starts
    /// nodes that are down, thaws paused ones, brings back those that are off the network, takes limits away, waits until it is ready. `None` if there is no such cluster. It stays kept.
    ///
    /// # Errors
    /// No engine, or a cluster that was found but cannot be made ready; it is left as it is.
    pub async fn attach(spec: &ClusterSpec, options: &UpOptions) -> Result<Option<Self>, ClusterError> {
        let daemon = Daemon::connect().await?;
        let began = options.clock.now();
        let digest = labels::spec_digest(spec, options.request_log);
        let runs = inventory::all(&daemon).await?;
        let Some((run, objects)) = runs.into_iter().filter(|(_, objects)| fits(objects, spec, &digest)).max_by_key(|(_, run)| age_key(run))
        else {
            return Ok(None);
        };
        (options.progress)(Progress::Attached { run: run.clone() });
        let cluster = Self::from_objects(daemon, &run, &objects, spec.memory_bytes, options)?;
        cluster.mend(&objects, options).await?;
        cluster.ready(options).await?;
        (options.progress)(Progress::Ready { after: options.clock.now().since(began) });
        Ok(Some(cluster))
    }

    /// Makes a cluster that a run has used as it was at its start, as [`Self::attach`] does with a kept one, and takes cut links away.
    ///
    /// # Errors
    /// As [`Self::attach`]; a broker that has joined it cannot be taken out again, and is [`ClusterError::NotAsStarted`].
    pub async fn make_whole(&self, spec: &ClusterSpec, options: &UpOptions) -> Result<(), ClusterError> {
        if spec.joining > 0 {
            return Err(ClusterError::NotAsStarted(self.run.to_string()));
        }
        self.mend(&inventory::of_run(&self.daemon, self.run.as_str()).await?, options).await?;
        if let Some(relay) = self.relay() {
            relay.heal();
        }
        for node in self.nodes().iter().filter(|_| spec.links.nodes) {
            let cut = self.links_cut(node.id).await?;
            if !cut.is_empty() {
                self.mend_links(node.id, &cut).await?;
            }
        }
        self.ready(options).await
    }

    fn from_objects(daemon: Daemon, run: &str, objects: &RunObjects, memory_bytes: u64, options: &UpOptions) -> Result<Self, ClusterError> {
        let run = RunId::new(run)?;
        let leash = Leash(LastResort::armed(daemon.address(), &run));
        // It was kept by whoever made it; this process has nothing to remove.
        leash.0.disarm();
        let nodes = objects.nodes().map(|container| node_of(&run, container)).collect::<Result<Vec<_>, _>>()?;
        let relay = Relay::before(&nodes, &options.clock, options.seed).map_err(|source| ClusterError::Relay { source })?;
        let image = objects.label(labels::IMAGE).unwrap_or_default().to_owned();
        let network = RunNetwork::default();
        Ok(Self {
            daemon,
            run,
            image,
            nodes,
            is_kept: true,
            is_reused: true,
            memory_bytes,
            network,
            relay,
            access: Access::default(),
            leash,
        })
    }

    /// Lets every node run, be reached and use what it used to; what holds its address first.
    async fn mend(&self, objects: &RunObjects, options: &UpOptions) -> Result<(), ClusterError> {
        for anchor in objects.anchors().filter(|anchor| anchor.state != "running") {
            self.start_container(&anchor.name).await?;
        }
        for node in self.nodes() {
            if !self.is_connected(node.id).await? {
                self.connect(node.id).await?;
            }
            if self.limits(node.id).await? != self.usual_limits() {
                self.limit(node.id, self.usual_limits()).await?;
            }
            match self.state(node.id).await? {
                NodeState::Running | NodeState::Disconnected => {}
                NodeState::Paused => self.unpause(node.id).await?,
                NodeState::Exited { .. } | NodeState::NotStarted | NodeState::Absent => {
                    self.start(node.id).await?;
                    (options.progress)(Progress::Started { node: node.id });
                }
            }
        }
        Ok(())
    }
}

/// Whether a run's objects are a whole kept cluster of this spec that nobody works with. One that brokers have joined cannot be made as it was.
fn fits(objects: &RunObjects, spec: &ClusterSpec, digest: &str) -> bool {
    let is_whole = objects.nodes().count() == spec.layout.nodes().len();
    is_whole && spec.joining == 0 && objects.label(labels::SPEC) == Some(digest) && janitor::fate_of(objects) == Fate::Kept
}

fn age_key(objects: &RunObjects) -> i64 {
    objects.containers.iter().map(|container| container.created_s).max().unwrap_or_default()
}

/// A node from its container's labels.
fn node_of(run: &RunId, container: &Container) -> Result<Node, ClusterError> {
    let bad = |label| ClusterError::BadLabels { run: run.to_string(), container: container.name.clone(), label };
    let id = number(container, labels::NODE).ok_or_else(|| bad(labels::NODE))?;
    let client_port: Option<u16> = number(container, labels::CLIENT_PORT);
    let controller_port: Option<u16> = number(container, labels::CONTROLLER_PORT);
    if client_port.is_none() && controller_port.is_none() {
        return Err(bad(labels::CLIENT_PORT));
    }
    Ok(Node {
        id: BrokerId(id),
        is_broker: client_port.is_some(),
        is_controller: controller_port.is_some(),
        client_listener: client_port.map(|port| HostPort::new("127.0.0.1", port)),
        relay_listener: number(container, labels::RELAY_PORT).map(|port| HostPort::new("127.0.0.1", port)),
        controller_listener: controller_port.map(|port| (Ipv4Addr::LOCALHOST, port).into()),
        joins_later: false,
    })
}

fn number<N: FromStr>(container: &Container, label: &str) -> Option<N> {
    container.labels.get(label)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use super::*;
    use crate::cluster::owner::Owner;
    use crate::plan::model::{Layout, LinkNeeds, NetworkMode};

    fn spec() -> ClusterSpec {
        ClusterSpec {
            kafka: "4.3.0".into(),
            layout: Layout::Dedicated { brokers: 1, controllers: 1 },
            config: BTreeMap::new(),
            memory_bytes: 1 << 29,
            heap_bytes: 1 << 28,
            network: NetworkMode::Bridge,
            joining: 0,
            links: LinkNeeds::default(),
            disk: None,
            security: None,
        }
    }

    fn container(own: &[(&str, &str)], keep: &str, owner: &Owner) -> Container {
        let digest = labels::spec_digest(&spec(), false);
        let shared = [(labels::RUN, "r1"), (labels::KEEP, keep), (labels::SPEC, digest.as_str())];
        let mut all: HashMap<String, String> =
            shared.iter().chain(own).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        all.insert(labels::OWNER_PID.into(), owner.pid.to_string());
        all.insert(labels::OWNER_START.into(), owner.start_ticks.to_string());
        all.insert(labels::OWNER_PLACE.into(), owner.place.to_label());
        Container { id: "c".into(), name: "chaos-r1-x".into(), state: "running".into(), status: "Up".into(), created_s: 7, labels: all }
    }

    fn kept_by(keep: &str, owner: &Owner) -> RunObjects {
        let broker = container(&[(labels::NODE, "1"), (labels::CLIENT_PORT, "20001")], keep, owner);
        let controller = container(&[(labels::NODE, "2"), (labels::CONTROLLER_PORT, "20002")], keep, owner);
        RunObjects { containers: vec![broker, controller], ..RunObjects::default() }
    }

    #[test]
    fn only_a_whole_kept_cluster_of_the_same_spec_fits() {
        let dead = Owner { start_ticks: 1, ..Owner::current() };
        let digest = labels::spec_digest(&spec(), false);
        assert!(fits(&kept_by("true", &dead), &spec(), &digest));
        assert!(!fits(&kept_by("true", &Owner::current()), &spec(), &digest), "in use");
        assert!(!fits(&kept_by("false", &dead), &spec(), &digest), "not kept");
        assert!(!fits(&kept_by("true", &dead), &spec(), &labels::spec_digest(&spec(), true)), "other spec");
        let joined = ClusterSpec { joining: 1, ..spec() };
        let mut with_joiner = kept_by("true", &dead);
        with_joiner.containers.push(container(&[(labels::NODE, "3"), (labels::CLIENT_PORT, "20003")], "true", &dead));
        assert!(!fits(&with_joiner, &joined, &digest), "a broker may have joined it");
        let mut half = kept_by("true", &dead);
        half.containers.pop();
        assert!(!fits(&half, &spec(), &digest), "a node is missing");
    }

    #[test]
    fn nodes_come_back_from_labels() {
        let run = RunId::new("r1").unwrap();
        let owner = Owner::current();
        let [broker, controller] = <[Container; 2]>::try_from(kept_by("true", &owner).containers).unwrap();
        let broker = node_of(&run, &broker).unwrap();
        assert_eq!(broker.client_listener, Some(HostPort::new("127.0.0.1", 20_001)));
        assert!(broker.is_broker && !broker.is_controller);
        let controller = node_of(&run, &controller).unwrap();
        assert_eq!(controller.controller_listener, Some((Ipv4Addr::LOCALHOST, 20_002).into()));
        assert!(!controller.is_broker && controller.is_controller);

        let error = node_of(&run, &container(&[(labels::NODE, "1")], "true", &owner)).unwrap_err();
        assert!(matches!(error, ClusterError::BadLabels { label: labels::CLIENT_PORT, .. }), "{error}");
    }
}
