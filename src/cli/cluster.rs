//! `chaos cluster up|down|status`: clusters that outlive the command, for trying things by hand and for `chaos run --reuse`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::Exit;
use crate::clock::Clock;
use crate::cluster::daemon::Daemon;
use crate::cluster::inventory::{self, Container, RunObjects};
use crate::cluster::janitor::{self, Fate};
use crate::cluster::{Cluster, DockerCluster, Progress, RunId, UpOptions, labels, remove};
use crate::plan::model::{ClusterSpec, Layout, LinkNeeds, NetworkMode};
use crate::plan::{self, PlanError};
use crate::ui::colour::{Painter, Tone};

/// Kafka's version where nobody says.
pub(super) const KAFKA_DEFAULT: &str = "4.3.0";
/// What a node gets where no plan says: the plan language's own defaults.
const MEMORY_BYTES: u64 = 768 << 20;
const HEAP_BYTES: u64 = 384 << 20;
/// Lines of progress that wait to be shown.
const PROGRESS_MAX: usize = 256;

/// Arguments of `chaos cluster`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  chaos cluster up --nodes 3
  chaos cluster status
  chaos cluster down")]
pub(super) struct ClusterArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Starts a cluster and leaves it running
    Up(UpArgs),
    /// Removes a cluster: containers, their data, the network
    Down {
        /// Its id, from `chaos cluster status`; not needed if there is only one
        #[arg(value_name = "ID")]
        run: Option<String>,
    },
    /// Lists the clusters on this engine
    Status {
        /// As JSON, for scripts
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  chaos cluster up --nodes 3
  chaos cluster up --kafka 3.9.2 --brokers 3 --controllers 1
  chaos cluster up plans/rolling-restart.toml        the plan's cluster, for `chaos run PLAN --reuse`")]
struct UpArgs {
    /// A plan; the cluster that it describes is started
    #[arg(value_name = "PLAN")]
    plan: Option<PathBuf>,
    /// Kafka's version [default: the plan's, else 4.3.0]
    #[arg(long, value_name = "VERSION", env = "CHAOS_KAFKA", value_parser = super::kafka_version)]
    kafka: Option<String>,
    /// So many nodes, each broker and controller [default: 3]
    #[arg(long, value_name = "N", conflicts_with_all = ["plan", "brokers", "controllers"])]
    nodes: Option<u16>,
    /// So many brokers, with controllers apart
    #[arg(long, value_name = "N", conflicts_with = "plan", requires = "controllers")]
    brokers: Option<u16>,
    /// So many dedicated controllers
    #[arg(long, value_name = "N", conflicts_with = "plan", requires = "brokers")]
    controllers: Option<u16>,
    /// How nodes reach this machine
    #[arg(long, value_enum, default_value = "bridge", conflicts_with = "plan")]
    network: NetworkArgument,
    /// A property for every node, as NAME=VALUE; may be given again
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = property, conflicts_with = "plan")]
    config: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum NetworkArgument {
    /// A network of the cluster's own, listeners published on 127.0.0.1
    Bridge,
    /// The host's own network (Linux)
    Host,
}

fn property(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Runs the command.
///
/// # Errors
/// [`crate::cluster::ClusterError`] if the engine, the image or the cluster fails; what `out` says if it cannot be written to.
pub(super) async fn run(args: ClusterArgs, out: &mut dyn Write, colour: bool) -> anyhow::Result<Exit> {
    let painter = Painter { enabled: colour };
    match args.command {
        Command::Up(args) => up(&args, out, painter).await,
        Command::Down { run } => down(run.as_deref(), out).await,
        Command::Status { json } => status(json, out, painter).await,
    }
}

async fn up(args: &UpArgs, out: &mut dyn Write, painter: Painter) -> anyhow::Result<Exit> {
    let spec = match spec_of(args) {
        Ok(spec) => spec,
        Err(problems) => {
            writeln!(out, "{}", problems.render(painter.enabled))?;
            return Ok(Exit::Usage);
        }
    };
    let clock = Clock::real();
    let run = RunId::fresh(&clock);
    let (told, mut steps) = mpsc::channel(PROGRESS_MAX);
    // A line that does not fit is not worth waiting for.
    let progress = Arc::new(move |step: Progress| drop(told.try_send(step)));
    let options = UpOptions { keep: true, ..UpOptions::new(clock, progress) };
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut starting = Box::pin(DockerCluster::up(&spec, &run, &options));
    let cluster = loop {
        tokio::select! {
            biased;
            Some(step) = steps.recv() => writeln!(out, "{}", painter.paint(Tone::Faint, &step.to_string()))?,
            _ = interrupt.recv() => break None,
            _ = terminate.recv() => break None,
            started = &mut starting => break Some(started),
        }
    };
    while let Ok(step) = steps.try_recv() {
        writeln!(out, "{}", painter.paint(Tone::Faint, &step.to_string()))?;
    }
    let Some(cluster) = cluster else {
        writeln!(out, "interrupted: removing what was started")?;
        drop(starting);
        return Ok(Exit::Interrupted);
    };
    show_started(&cluster?, out)
}

fn show_started(cluster: &DockerCluster, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let joined = |addresses: Vec<String>| addresses.join(",");
    let bootstrap = joined(cluster.bootstrap().iter().map(ToString::to_string).collect());
    let controllers = cluster.nodes().iter().filter_map(|node| node.controller_listener);
    writeln!(out, "cluster      {} ({})", cluster.run_id(), cluster.image())?;
    writeln!(out, "bootstrap    {bootstrap}")?;
    writeln!(out, "controllers  {}", joined(controllers.map(|address| address.to_string()).collect()))?;
    if cluster.relay().is_some() {
        writeln!(out, "its brokers advertise a relay, which stands before them only while `chaos run --reuse` uses the cluster")?;
    }
    writeln!(out, "take it down with: chaos cluster down {}", cluster.run_id())?;
    Ok(Exit::Success)
}

/// The plan's cluster, or the one that the options describe.
fn spec_of(args: &UpArgs) -> Result<ClusterSpec, PlanError> {
    if let Some(path) = &args.plan {
        let spec = plan::load(path)?.plan.cluster;
        // There are no steps here that could add a broker.
        return Ok(ClusterSpec { kafka: args.kafka.clone().unwrap_or(spec.kafka), joining: 0, ..spec });
    }
    let layout = match (args.brokers, args.controllers) {
        (Some(brokers), Some(controllers)) => Layout::Dedicated { brokers, controllers },
        _ => Layout::Combined { nodes: args.nodes.unwrap_or(3) },
    };
    Ok(ClusterSpec {
        kafka: args.kafka.clone().unwrap_or_else(|| KAFKA_DEFAULT.to_owned()),
        layout,
        config: args.config.iter().cloned().collect(),
        memory_bytes: MEMORY_BYTES,
        heap_bytes: HEAP_BYTES,
        network: match args.network {
            NetworkArgument::Bridge => NetworkMode::Bridge,
            NetworkArgument::Host => NetworkMode::Host,
        },
        joining: 0,
        links: LinkNeeds::default(),
        disk: None,
        security: None,
    })
}

async fn down(run: Option<&str>, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let daemon = Daemon::connect().await?;
    let runs = inventory::all(&daemon).await?;
    let run = match choose(run, &runs) {
        Choice::This(run) => run,
        Choice::Nothing => {
            writeln!(out, "there is no cluster to take down")?;
            return Ok(Exit::Success);
        }
        Choice::Refused(why) => {
            writeln!(out, "{why}")?;
            return Ok(Exit::Usage);
        }
    };
    let removed = remove::run(&daemon, &run).await?;
    writeln!(out, "{run}: removed {}", removed.words())?;
    Ok(Exit::Success)
}

/// Which cluster goes.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    This(String),
    Nothing,
    Refused(String),
}

/// The one that is named, even if somebody works with it; without a name the only one that nobody works with.
fn choose(named: Option<&str>, runs: &BTreeMap<String, RunObjects>) -> Choice {
    if let Some(named) = named {
        return match runs.contains_key(named) {
            true => Choice::This(named.to_owned()),
            false => Choice::Refused(format!("there is no cluster `{named}`; `chaos cluster status` lists those that are there")),
        };
    }
    let free: Vec<&String> =
        runs.iter().filter(|(_, run)| !matches!(janitor::fate_of(run), Fate::InUse | Fate::Unknown)).map(|(id, _)| id).collect();
    match free.as_slice() {
        [] => Choice::Nothing,
        [only] => Choice::This((*only).clone()),
        [first, ..] => Choice::Refused(format!("there are {} clusters; name one, as in: chaos cluster down {first}", free.len())),
    }
}

async fn status(as_json: bool, out: &mut dyn Write, painter: Painter) -> anyhow::Result<Exit> {
    let daemon = Daemon::connect().await?;
    let runs = inventory::all(&daemon).await?;
    if as_json {
        let list: Vec<Value> = runs.iter().map(|(run, objects)| json_of(run, objects)).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&list)?)?;
        return Ok(Exit::Success);
    }
    if runs.is_empty() {
        writeln!(out, "no clusters; start one with: chaos cluster up")?;
    }
    for (run, objects) in &runs {
        let kafka = objects.label(labels::KAFKA).unwrap_or("?");
        writeln!(out, "{run}  Kafka {kafka}, {}", janitor::fate_of(objects).words())?;
        for container in objects.nodes() {
            let tone = if container.state == "running" { Tone::Good } else { Tone::Warning };
            let state = painter.paint(tone, &format!("{:<8}", container.state));
            let [node, roles] = [labels::NODE, labels::ROLES].map(|name| label(container, name));
            writeln!(out, "  {node:<3} {state} {roles:<18} {:<21} {}", client_address(container).unwrap_or_default(), container.status)?;
        }
    }
    Ok(Exit::Success)
}

fn json_of(run: &str, objects: &RunObjects) -> Value {
    let nodes = objects.nodes().map(|container| {
        json!({
            "id": label(container, labels::NODE).parse::<i32>().ok(),
            "roles": label(container, labels::ROLES).split(',').collect::<Vec<_>>(),
            "state": container.state,
            "container": container.name,
            "client": client_address(container),
            "controller": address(container, labels::CONTROLLER_PORT),
        })
    });
    json!({
        "run": run,
        "kafka": objects.label(labels::KAFKA),
        "image": objects.label(labels::IMAGE),
        "fate": janitor::fate_of(objects),
        "bootstrap": objects.nodes().filter_map(client_address).collect::<Vec<_>>(),
        "nodes": nodes.collect::<Vec<_>>(),
    })
}

fn label<'a>(container: &'a Container, name: &str) -> &'a str {
    container.labels.get(name).map_or("?", String::as_str)
}

fn client_address(container: &Container) -> Option<String> {
    address(container, labels::CLIENT_PORT)
}

fn address(container: &Container, port: &str) -> Option<String> {
    container.labels.get(port).map(|port| format!("127.0.0.1:{port}"))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::cluster::owner::Owner;

    fn run(owner: &Owner) -> RunObjects {
        let labels = HashMap::from([
            (labels::OWNER_PID.to_owned(), owner.pid.to_string()),
            (labels::OWNER_START.to_owned(), owner.start_ticks.to_string()),
            (labels::OWNER_PLACE.to_owned(), owner.place.to_label()),
            (labels::KEEP.to_owned(), "true".to_owned()),
        ]);
        let network = inventory::Object { id: "n".into(), name: "n".into(), labels };
        RunObjects { networks: vec![network], ..RunObjects::default() }
    }

    #[test]
    fn without_a_name_only_an_unmistakable_cluster_goes_down() {
        let (alive, dead) = (Owner::current(), Owner { start_ticks: 1, ..Owner::current() });
        let (in_use, kept) = (|id: &str| (id.to_owned(), run(&alive)), |id: &str| (id.to_owned(), run(&dead)));
        let this = |id: &str| Choice::This(id.to_owned());
        let cases = [
            ("none", None, vec![], Some(Choice::Nothing)),
            ("only one in use", None, vec![in_use("a")], Some(Choice::Nothing)),
            ("one kept beside it", None, vec![in_use("a"), kept("b")], Some(this("b"))),
            ("two kept", None, vec![kept("a"), kept("b")], None),
            ("named", Some("b"), vec![kept("a"), kept("b")], Some(this("b"))),
            ("named, in use", Some("a"), vec![in_use("a")], Some(this("a"))),
            ("named, unknown", Some("c"), vec![kept("a")], None),
        ];
        for (name, named, runs, expected) in cases {
            let choice = choose(named, &runs.into_iter().collect());
            match expected {
                Some(expected) => assert_eq!(choice, expected, "{name}"),
                None => assert!(matches!(choice, Choice::Refused(_)), "{name}: {choice:?}"),
            }
        }
    }

    #[test]
    fn properties_are_name_and_value() {
        assert_eq!(property("a.b = c=d"), Ok(("a.b".into(), "c=d".into())));
        assert!(property("a.b").is_err());
    }
}
