//! Starting a cluster: image, network, ports, containers, ready. Whatever goes wrong on the way, nothing is left behind.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bollard::body_stream;
use bollard::models::{ContainerCreateBody, VolumeCreateRequest};
use bollard::query_parameters::{CreateContainerOptionsBuilder, StartContainerOptions, UploadToContainerOptionsBuilder};
use bytes::Bytes;
use futures_util::future::try_join_all;
use futures_util::stream;

use super::DockerCluster;
use super::container::{self, Common};
use super::network::RunNetwork;
use crate::clock::Clock;
use crate::cluster::daemon::{Daemon, could_not};
use crate::cluster::inventory::RunObjects;
use crate::cluster::owner::Owner;
use crate::cluster::properties::{self, Wiring};
use crate::cluster::remove::{self, LastResort, Leash};
use crate::cluster::security::{Secrets, tarball};
use crate::cluster::subnet::Subnet;
use crate::cluster::{ClusterError, Progress, ProgressFn, Relay, RunId, image, inventory, janitor, labels, ports, ready};
use crate::kafka::net::security::Secret;
use crate::plan::model::{ClusterSpec, NODES_MAX, NetworkMode};

/// Where the image looks for properties beside its environment.
const SERVER_PROPERTIES: &str = "mnt/shared/config/server.properties";
/// How often other ports are tried.
const PORT_ATTEMPTS: u32 = 5;

/// How a cluster is started.
pub struct UpOptions {
    /// Measures how long it takes.
    pub clock: Clock,
    /// Told each step.
    pub progress: Arc<ProgressFn>,
    /// The cluster outlives this process.
    pub keep: bool,
    /// Brokers log each request (client id, API) to their own log.
    pub request_log: bool,
    /// Longest wait for the cluster to be ready.
    pub ready_within: Duration,
    /// Longest wait for the image.
    pub pull_within: Duration,
    /// Seed of what is random in the relay, if there is one.
    pub seed: u64,
    /// Where the nodes' logs are saved if the start fails; `None`: the error's last lines are all that stays.
    pub logs_on_failure: Option<PathBuf>,
}

impl UpOptions {
    /// The usual ones: not kept, 90 s to be ready, 5 minutes for the image.
    #[must_use]
    pub fn new(clock: Clock, progress: Arc<ProgressFn>) -> Self {
        Self {
            clock,
            progress,
            keep: false,
            request_log: false,
            ready_within: Duration::from_secs(90),
            pull_within: Duration::from_secs(300),
            seed: 1,
            logs_on_failure: None,
        }
    }
}

impl std::fmt::Debug for UpOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpOptions").field("keep", &self.keep).field("request_log", &self.request_log).finish_non_exhaustive()
    }
}

impl DockerCluster {
    /// Starts a cluster and waits until it is ready. Removes first what dead runs have left.
    ///
    /// May be cancelled at any point: dropping the future removes what was made so far (and blocks meanwhile).
    ///
    /// # Errors
    /// No engine, no image, no ports, a node that ended, or not ready in time. Nothing is left then either.
    pub async fn up(spec: &ClusterSpec, run: &RunId, options: &UpOptions) -> Result<Self, ClusterError> {
        check(spec, run)?;
        if options.keep && spec.security.is_some() {
            return Err(ClusterError::SecuredCannotStay);
        }
        let now = options.clock.unix_time_of(options.clock.now());
        let secrets = spec.security.as_ref().map(|security| Secrets::prepare(security, now)).transpose()?;
        let daemon = Daemon::connect().await?;
        let swept = janitor::sweep(&daemon).await?;
        if !swept.removed.is_empty() {
            (options.progress)(Progress::Swept { runs: swept.removed });
        }
        for (run, error) in swept.left {
            (options.progress)(Progress::NotSwept { run, message: error.to_string() });
        }
        if inventory::of_run(&daemon, run.as_str()).await? != RunObjects::default() {
            return Err(ClusterError::RunExists(run.to_string()));
        }
        let image = image_for(&daemon, spec, options).await?;
        let mut last = String::new();
        for attempt in 0..PORT_ATTEMPTS {
            let wirings = wired(&daemon, spec, &format!("{run} {attempt}")).await?;
            let nodes: Vec<_> = wirings.iter().map(Wiring::node).collect();
            let relay = match Relay::before(&nodes, &options.clock, options.seed) {
                Ok(relay) => relay,
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    last = error.to_string();
                    continue;
                }
                Err(source) => return Err(ClusterError::Relay { source }),
            };
            let cluster = Self {
                daemon: daemon.clone(),
                run: run.clone(),
                image: image.clone(),
                nodes,
                is_kept: options.keep,
                is_reused: false,
                memory_bytes: spec.memory_bytes,
                network: RunNetwork::default(),
                relay,
                access: secrets.as_ref().map(|secrets| secrets.access().clone()).unwrap_or_default(),
                leash: Leash(LastResort::armed(daemon.address(), run)),
            };
            match cluster.make(spec, &wirings, secrets.as_ref(), options).await {
                Ok(()) => return Ok(cluster),
                Err(error) => last = cluster.unmade(error, options).await?,
            }
            (options.progress)(Progress::PortsTaken { message: last.clone() });
        }
        Err(ClusterError::PortsTaken { attempts: PORT_ATTEMPTS, message: last })
    }

    /// Makes network and containers, starts them and waits until they are ready.
    async fn make(
        &self,
        spec: &ClusterSpec,
        wirings: &[Wiring],
        secrets: Option<&Secrets>,
        options: &UpOptions,
    ) -> Result<(), ClusterError> {
        let began = options.clock.now();
        let ports = wirings.iter().flat_map(Wiring::ports).collect();
        (options.progress)(Progress::PortsChosen { ports });
        let mut labels = labels::of_run(&self.run, &Owner::current());
        labels.insert(labels::KAFKA.to_owned(), spec.kafka.clone());
        labels.insert(labels::IMAGE.to_owned(), self.image.clone());
        labels.insert(labels::SPEC.to_owned(), labels::spec_digest(spec, options.request_log));
        let common = Common { spec, run: &self.run, image: &self.image, labels };
        if spec.network == NetworkMode::Bridge {
            let subnet = self.make_network(common.labels.clone()).await?;
            self.make_anchors(&common, wirings, subnet).await?;
        }
        let nodes: Vec<String> = wirings.iter().map(|node| self.run.container_name(node.id)).collect();
        for (node, name) in wirings.iter().zip(&nodes) {
            let environment = properties::environment(spec, &self.run, wirings, node, options.request_log)?;
            self.make_container(name, container::node(&common, node, environment)).await?;
            if let Some(secrets) = secrets {
                self.hand_over(name, &secrets.server_properties(&self.run, node.id)?).await?;
            }
        }
        try_join_all(wirings.iter().zip(&nodes).filter(|(node, _)| !node.joins_later).map(async |(node, name)| {
            self.start_container(name).await?;
            (options.progress)(Progress::Started { node: node.id });
            Ok::<_, ClusterError>(())
        }))
        .await?;
        if let Some(credentials) = secrets.and_then(Secrets::to_enrol) {
            ready::enrol(self, credentials, &options.clock, options.ready_within).await?;
        }
        self.ready(options).await?;
        (options.progress)(Progress::Ready { after: options.clock.now().since(began) });
        if options.keep { self.mark_as_kept(common.labels).await } else { Ok(()) }
    }

    /// Lets the cluster outlive this process. Only now that it is ready: what a killed start leaves is a leftover, also with `--keep`.
    async fn mark_as_kept(&self, mut labels: HashMap<String, String>) -> Result<(), ClusterError> {
        labels.insert(labels::KEEP.to_owned(), "true".to_owned());
        let request = VolumeCreateRequest { name: Some(self.run.keep_mark_name()), labels: Some(labels), ..VolumeCreateRequest::default() };
        self.daemon.client().create_volume(request).await.map_err(could_not("mark the cluster as kept"))?;
        self.leash.0.disarm();
        Ok(())
    }

    /// Makes and starts what holds the nodes' addresses. All are made before the first is started: another process that looks for free
    /// ports then sees them all by their labels.
    async fn make_anchors(&self, common: &Common<'_>, wirings: &[Wiring], subnet: Subnet) -> Result<(), ClusterError> {
        let names: Vec<String> = wirings.iter().map(|node| self.run.anchor_name(node.id)).collect();
        for (node, name) in wirings.iter().zip(&names) {
            self.make_container(name, container::anchor(common, node, subnet)).await?;
        }
        try_join_all(names.iter().map(|name| self.start_container(name))).await.map(|_| ())
    }

    async fn make_container(&self, name: &str, request: ContainerCreateBody) -> Result<(), ClusterError> {
        let named = CreateContainerOptionsBuilder::new().name(name).build();
        let made = self.daemon.client().create_container(Some(named), request).await;
        made.map(|_| ()).map_err(could_not(format!("make the container {name}")))
    }

    /// Puts the properties that hold secrets into a container that has not run yet: its environment can be read from outside, its files cannot.
    async fn hand_over(&self, name: &str, properties: &Secret) -> Result<(), ClusterError> {
        let into = UploadToContainerOptionsBuilder::new().path("/").build();
        let archive = tarball(SERVER_PROPERTIES, properties.expose().as_bytes());
        // As a stream: the engine's client traces bodies that it has in whole, and this one nobody may see.
        let archive = body_stream(stream::iter([Bytes::from(archive)]));
        let uploaded = self.daemon.client().upload_to_container(name, Some(into), archive).await;
        uploaded.map_err(could_not(format!("copy files into the container {name}")))
    }

    pub(super) async fn start_container(&self, name: &str) -> Result<(), ClusterError> {
        let started = self.daemon.client().start_container(name, None::<StartContainerOptions>).await;
        started.map_err(could_not(format!("start the container {name}")))
    }

    /// Waits until the cluster is ready: every node has read the controller's log to its end, every broker lists all brokers, every
    /// ISR is full.
    ///
    /// # Errors
    /// [`ClusterError::NodeEnded`] if a node is down, [`ClusterError::NotReady`] after the bound; both show the nodes' last lines.
    pub async fn ready(&self, options: &UpOptions) -> Result<(), ClusterError> {
        ready::wait(self, &options.clock, options.ready_within, &*options.progress).await
    }

    /// Takes down what a failed attempt has made. `Ok` with the reason if other ports may help, else the attempt's own error.
    async fn unmade(self, error: ClusterError, options: &UpOptions) -> Result<String, ClusterError> {
        let taken = port_taken(&error);
        if let (None, Some(folder)) = (&taken, &options.logs_on_failure) {
            // The start's own error is the news; that its logs could not be saved either is not.
            let _ = self.save_logs(folder).await;
        }
        // If this fails too, the leash tries once more when it is dropped, and the janitor at the next start.
        if remove::run(&self.daemon, self.run.as_str()).await.is_ok() {
            self.leash.0.disarm();
        }
        taken.ok_or(error)
    }
}

/// What can be known to be wrong before the engine is asked.
fn check(spec: &ClusterSpec, run: &RunId) -> Result<(), ClusterError> {
    let (brokers, controllers) = (spec.layout.brokers().len(), spec.layout.controllers().len());
    if brokers == 0 || controllers == 0 || spec.layout.nodes().len() + usize::from(spec.joining) > NODES_MAX {
        return Err(ClusterError::BadLayout { brokers, controllers, max: NODES_MAX });
    }
    let wirings = properties::wire(spec, &vec![1; properties::ports_wanted(spec)]);
    properties::environment(spec, run, &wirings, &wirings[0], false).map(|_| ())
}

async fn image_for(daemon: &Daemon, spec: &ClusterSpec, options: &UpOptions) -> Result<String, ClusterError> {
    if let Some(image) = image::find(daemon, &spec.kafka).await? {
        return Ok(image);
    }
    let [image, _] = image::candidates(&spec.kafka);
    (options.progress)(Progress::Pulling { image });
    image::pull(daemon, &spec.kafka, options.pull_within).await
}

/// Nodes with ports that are free now and that no container of ours, running or not, counts on. Another `seed` finds other ones.
async fn wired(daemon: &Daemon, spec: &ClusterSpec, seed: &str) -> Result<Vec<Wiring>, ClusterError> {
    let taken = inventory::all(daemon).await?.values().flat_map(RunObjects::ports).collect();
    let chosen = ports::choose(properties::ports_wanted(spec), &ports::usable_range(), &taken, seed, ports::is_free)?;
    Ok(properties::wire(spec, &chosen))
}

/// Whether an attempt failed because a port was not free any more, and what said so: the engine, or on the host's network Kafka.
fn port_taken(error: &ClusterError) -> Option<String> {
    let text = match error {
        ClusterError::Engine { source, .. } => source.to_string(),
        ClusterError::NodeEnded { log, .. } => log.clone(),
        _ => return None,
    };
    let said = ["port is already allocated", "address already in use"];
    text.lines().find(|line| said.iter().any(|words| line.to_lowercase().contains(words))).map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bollard::errors::Error;

    use super::*;
    use crate::ids::BrokerId;
    use crate::plan::model::{Layout, LinkNeeds};

    fn engine_says(message: &str) -> ClusterError {
        let source = Error::DockerResponseServerError { status_code: 500, message: message.to_owned() };
        ClusterError::Engine { doing: "start".into(), source: Box::new(source) }
    }

    #[test]
    fn a_taken_port_is_told_from_other_failures() {
        let node = |log: &str| ClusterError::NodeEnded { node: BrokerId(1), code: 1, log: log.into() };
        let cases = [
            (engine_says("driver failed: Bind for 127.0.0.1:20001 failed: port is already allocated"), true),
            (engine_says("Error starting userland proxy: listen tcp4 127.0.0.1:20001: bind: address already in use"), true),
            (engine_says("no space left on device"), false),
            (node("  INFO x\n  Caused by: java.net.BindException: Address already in use\n"), true),
            (node("  java.lang.OutOfMemoryError"), false),
            (ClusterError::RunExists("address already in use".into()), false),
        ];
        for (error, expected) in cases {
            assert_eq!(port_taken(&error).is_some(), expected, "{error}");
        }
    }

    #[test]
    fn impossible_clusters_are_refused_before_anything_is_made() {
        let spec = |layout| ClusterSpec {
            kafka: "4.3.0".into(),
            layout,
            config: BTreeMap::new(),
            memory_bytes: 1,
            heap_bytes: 1,
            network: NetworkMode::Bridge,
            joining: 0,
            links: LinkNeeds::default(),
            disk: None,
            security: None,
        };
        let run = RunId::new("r1").unwrap();
        for layout in [
            Layout::Combined { nodes: 0 },
            Layout::Combined { nodes: 101 },
            Layout::Dedicated { brokers: 0, controllers: 1 },
            Layout::Dedicated { brokers: 3, controllers: 0 },
        ] {
            let error = check(&spec(layout), &run).unwrap_err();
            assert!(matches!(error, ClusterError::BadLayout { .. }) && error.is_request_fault(), "{layout:?}: {error}");
        }
        assert!(check(&spec(Layout::Combined { nodes: 1 }), &run).is_ok());
    }
}
