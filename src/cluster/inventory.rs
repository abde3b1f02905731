//! What of ours the engine holds: containers, networks and volumes with our label, grouped by run. Only reads.

use std::collections::{BTreeMap, HashMap};

use bollard::models::{ContainerSummary, ContainerSummaryStateEnum, Volume};
use bollard::query_parameters::{ListContainersOptionsBuilder, ListNetworksOptionsBuilder, ListVolumesOptionsBuilder};

use super::ClusterError;
use super::daemon::{Daemon, could_not};
use super::labels;
use super::owner::Owner;

/// A container of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// The engine's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its state in the engine's word: `running`, `paused`, `exited`, ...
    pub state: String,
    /// Its status in the engine's words: "Up 3 minutes".
    pub status: String,
    /// When it was made, in seconds since 1970.
    pub created_s: i64,
    /// Its labels.
    pub labels: HashMap<String, String>,
}

/// A network or a volume of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The engine's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: HashMap<String, String>,
}

/// All that carries one run's label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunObjects {
    /// All containers, those of nodes first and by id.
    pub containers: Vec<Container>,
    /// Networks.
    pub networks: Vec<Object>,
    /// Volumes: only the mark of a kept cluster, which holds nothing.
    pub volumes: Vec<Object>,
}

impl RunObjects {
    /// The containers that Kafka runs in, by node.
    pub fn nodes(&self) -> impl Iterator<Item = &Container> {
        self.containers.iter().filter(|container| container.labels.contains_key(labels::NODE))
    }

    /// The containers that hold the nodes' addresses; none on the host's network.
    pub fn anchors(&self) -> impl Iterator<Item = &Container> {
        self.containers.iter().filter(|container| container.labels.contains_key(labels::ANCHOR_OF))
    }

    fn label_maps(&self) -> impl Iterator<Item = &HashMap<String, String>> {
        let others = self.networks.iter().chain(&self.volumes).map(|object| &object.labels);
        self.containers.iter().map(|container| &container.labels).chain(others)
    }

    /// A label's value on whatever object has it.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.label_maps().find_map(|labels| labels.get(name)).map(String::as_str)
    }

    /// The process that made it; `None` if the labels do not tell.
    #[must_use]
    pub fn owner(&self) -> Option<Owner> {
        self.label_maps().find_map(labels::owner_of)
    }

    /// Ports of 127.0.0.1 that its containers use, or will use again when they are started.
    #[must_use]
    pub fn ports(&self) -> Vec<u16> {
        let listed = self.containers.iter().filter_map(|container| container.labels.get(labels::PORTS));
        listed.flat_map(|ports| ports.split(',')).filter_map(|port| port.parse().ok()).collect()
    }

    /// Whether it outlives its owner on purpose.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.label(labels::KEEP) == Some("true")
    }
}

/// Everything of ours, by run.
///
/// # Errors
/// If the engine does not answer.
pub async fn all(daemon: &Daemon) -> Result<BTreeMap<String, RunObjects>, ClusterError> {
    list(daemon, labels::RUN.to_owned()).await
}

/// Everything of one run.
///
/// # Errors
/// If the engine does not answer.
pub async fn of_run(daemon: &Daemon, run: &str) -> Result<RunObjects, ClusterError> {
    let mut runs = list(daemon, format!("{}={run}", labels::RUN)).await?;
    Ok(runs.remove(run).unwrap_or_default())
}

async fn list(daemon: &Daemon, label: String) -> Result<BTreeMap<String, RunObjects>, ClusterError> {
    let filters = HashMap::from([("label".to_owned(), vec![label])]);
    let options = ListContainersOptionsBuilder::new().all(true).filters(&filters).build();
    let containers = daemon.client().list_containers(Some(options)).await.map_err(could_not("list containers"))?;
    let options = ListNetworksOptionsBuilder::new().filters(&filters).build();
    let networks = daemon.client().list_networks(Some(options)).await.map_err(could_not("list networks"))?;
    let options = ListVolumesOptionsBuilder::new().filters(&filters).build();
    let volumes = daemon.client().list_volumes(Some(options)).await.map_err(could_not("list volumes"))?;

    let mut runs: BTreeMap<String, RunObjects> = BTreeMap::new();
    // The engine has filtered already; what has no label of ours must not get here even if it did not.
    for container in containers.into_iter().filter_map(container_of) {
        if let Some(run) = container.labels.get(labels::RUN).cloned() {
            runs.entry(run).or_default().containers.push(container);
        }
    }
    for network in networks {
        let labels = network.labels.unwrap_or_default();
        if let (Some(run), Some(id)) = (labels.get(labels::RUN).cloned(), network.id) {
            let name = network.name.unwrap_or_default();
            runs.entry(run).or_default().networks.push(Object { id, name, labels });
        }
    }
    for Volume { name, labels, .. } in volumes.volumes.unwrap_or_default() {
        if let Some(run) = labels.get(labels::RUN).cloned() {
            runs.entry(run).or_default().volumes.push(Object { id: name.clone(), name, labels });
        }
    }
    for run in runs.values_mut() {
        run.containers.sort_by_key(|container| (node_of(container), container.name.clone()));
    }
    Ok(runs)
}

fn container_of(summary: ContainerSummary) -> Option<Container> {
    let name = summary.names.unwrap_or_default().into_iter().next().unwrap_or_default();
    Some(Container {
        id: summary.id?,
        name: name.trim_start_matches('/').to_owned(),
        state: summary.state.as_ref().map(ContainerSummaryStateEnum::to_string).unwrap_or_default(),
        status: summary.status.unwrap_or_default(),
        created_s: summary.created.unwrap_or_default(),
        labels: summary.labels.unwrap_or_default(),
    })
}

fn node_of(container: &Container) -> i32 {
    container.labels.get(labels::NODE).and_then(|node| node.parse().ok()).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::fake::FakeEngine;

    /// An engine that ignores filters, as some stand-ins do.
    fn unfiltered(path: &str) -> Option<(&'static str, String)> {
        let body = match path.split('?').next()? {
            "/containers/json" => {
                r#"[{"Id":"c1","Names":["/postgres"],"State":"running","Labels":{}},
                    {"Id":"c2","Names":["/chaos-r1-2"],"State":"exited","Labels":{"io.kafka-chaos.run":"r1","io.kafka-chaos.node":"2",
                     "io.kafka-chaos.ports":"20003,20004"}},
                    {"Id":"c3","Names":["/chaos-r1-1"],"State":"running","Labels":{"io.kafka-chaos.run":"r1","io.kafka-chaos.node":"1",
                     "io.kafka-chaos.ports":"20001"}},
                    {"Id":"c4","Names":["/near"],"State":"running","Labels":{"io.kafka-chaos.node":"1"}}]"#
            }
            "/networks" => {
                r#"[{"Id":"n1","Name":"bridge","Labels":{}},{"Id":"n2","Name":"chaos-r1","Labels":{"io.kafka-chaos.run":"r1"}}]"#
            }
            "/volumes" => {
                r#"{"Volumes":[{"Name":"data","Driver":"local","Mountpoint":"/v","Scope":"local","Labels":null,"Options":null},
                    {"Name":"chaos-r1-kept","Driver":"local","Mountpoint":"/v","Scope":"local","Labels":{"io.kafka-chaos.run":"r1",
                     "io.kafka-chaos.keep":"true"},"Options":null}]}"#
            }
            _ => return None,
        };
        Some(("200 OK", body.to_owned()))
    }

    #[tokio::test]
    async fn what_has_no_label_of_ours_is_not_seen() {
        let engine = FakeEngine::start(unfiltered);
        let daemon = Daemon::connect_to(&engine.address()).await.unwrap();
        let runs = all(&daemon).await.unwrap();
        assert_eq!(runs.keys().collect::<Vec<_>>(), ["r1"]);
        let run = &runs["r1"];
        let names: Vec<&str> = run.containers.iter().map(|container| container.name.as_str()).collect();
        assert_eq!(names, ["chaos-r1-1", "chaos-r1-2"]);
        assert_eq!(run.networks.iter().map(|network| network.id.as_str()).collect::<Vec<_>>(), ["n2"]);
        assert_eq!(run.volumes.iter().map(|volume| volume.id.as_str()).collect::<Vec<_>>(), ["chaos-r1-kept"]);
        assert_eq!(run.ports(), [20_001, 20_003, 20_004], "a stopped node will want its ports again");
        assert!(run.is_kept());
        assert_eq!(of_run(&daemon, "other").await.unwrap(), RunObjects::default());
    }
}
