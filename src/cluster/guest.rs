//! A container of clients beside a cluster's nodes: no node, but of the same run, so that it goes with it.
//!
//! It is on the host's network, and so reaches the brokers where this process reaches them. It lives on what it reads: when its standard
//! input ends, because the [`Guest`] was dropped or this process has died, its program is to end, and the engine then removes it, also if the
//! cluster is kept. Not here: what is said to it (`engine::java`).

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use bollard::container::{AttachContainerResults, LogOutput};
use bollard::errors::Error;
use bollard::models::{ContainerCreateBody, HostConfig, HostConfigLogConfig};
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, CreateContainerOptionsBuilder, InspectContainerOptions, StartContainerOptions,
    WaitContainerOptionsBuilder,
};
use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use tokio::io::AsyncWrite;
use tokio_util::task::AbortOnDropHandle;

use super::daemon::{Daemon, bounded, could_not, status_of};
use super::owner::{Liveness, Owner};
use super::{ClusterError, RunId, labels, remove};

/// Bound on removing one.
const REMOVE_WITHIN: Duration = Duration::from_secs(10);

/// Makes guests of one run.
#[derive(Clone, Debug)]
pub struct GuestHost {
    daemon: Daemon,
    run: RunId,
}

/// A guest to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestRequest {
    /// The producer group that it is for.
    pub group: String,
    /// The image, which must be here; its entry point is the program.
    pub image: String,
    /// Its environment, as `NAME=value`.
    pub environment: Vec<String>,
}

/// A guest that runs.
pub struct Guest {
    /// Its standard input.
    pub input: Pin<Box<dyn AsyncWrite + Send>>,
    /// Its standard output and error, in pieces as they come; ends with it. Whoever does not read it makes the program wait.
    pub output: BoxStream<'static, Result<GuestOutput, ClusterError>>,
    /// Its end.
    pub end: GuestEnd,
}

/// A piece of what a guest prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestOutput {
    /// Of its standard output.
    Out(Bytes),
    /// Of its standard error.
    Err(Bytes),
}

impl fmt::Debug for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guest").field("name", &self.end.remover.name).finish_non_exhaustive()
    }
}

impl GuestHost {
    pub(crate) fn new(daemon: Daemon, run: RunId) -> Self {
        Self { daemon, run }
    }

    /// The engine.
    #[must_use]
    pub fn daemon(&self) -> &Daemon {
        &self.daemon
    }

    /// Makes a guest and starts it. Failed, it leaves nothing; cancelled, at most a container that carries the run's label: it goes with the run,
    /// and beside a kept cluster the next guest of that name takes its place.
    ///
    /// # Errors
    /// The engine's, also if a guest of that name runs for another process.
    pub async fn start(&self, request: &GuestRequest) -> Result<Guest, ClusterError> {
        let name = self.run.clients_name(&request.group);
        self.remove_left_over(&name).await?;
        let client = self.daemon.client();
        let named = CreateContainerOptionsBuilder::new().name(&name).build();
        let made = client.create_container(Some(named), self.body(request)).await;
        made.map_err(could_not(format!("make the container {name}")))?;
        let remover = GuestRemover { host: self.clone(), name };
        match self.start_made(&remover).await {
            Ok(guest) => Ok(guest),
            Err(error) => {
                // The engine removes by itself only what has run. If this fails too, the first error is the news.
                let _ = remover.remove().await;
                Err(error)
            }
        }
    }

    async fn start_made(&self, remover: &GuestRemover) -> Result<Guest, ClusterError> {
        let (client, name) = (self.daemon.client(), &remover.name);
        let streams = AttachContainerOptionsBuilder::new().stream(true).stdin(true).stdout(true).stderr(true).build();
        let attached = client.attach_container(name, Some(streams)).await;
        let AttachContainerResults { output, input } = attached.map_err(could_not(format!("attach to the container {name}")))?;
        let exit = self.exit_code(name);
        let started = client.start_container(name, None::<StartContainerOptions>).await;
        started.map_err(could_not(format!("start the container {name}")))?;
        let reading = format!("read from the container {name}");
        let output =
            output.try_filter_map(|piece| std::future::ready(Ok(piece_of(piece)))).map_err(move |error| could_not(reading.clone())(error));
        Ok(Guest { input, output: output.boxed(), end: GuestEnd { remover: remover.clone(), exit } })
    }

    /// Removes what an earlier run beside the same cluster has left under a name. A container of a living process stays, and is in the way: it
    /// may be about to be started.
    async fn remove_left_over(&self, name: &str) -> Result<(), ClusterError> {
        let found = match self.daemon.client().inspect_container(name, None::<InspectContainerOptions>).await {
            Err(error) if status_of(&error) == Some(404) => return Ok(()),
            found => found.map_err(could_not(format!("inspect the container {name}")))?,
        };
        let labels = found.config.and_then(|config| config.labels).unwrap_or_default();
        match labels::owner_of(&labels).map(|owner| owner.liveness()) {
            Some(Liveness::Alive) => Ok(()),
            Some(Liveness::Dead) => self.remove(name, true).await,
            // Without force, the engine refuses to remove one that runs.
            _ => self.remove(name, false).await,
        }
    }

    async fn remove(&self, name: &str, by_force: bool) -> Result<(), ClusterError> {
        let doing = format!("remove the container {name}");
        let removed = async { remove::container(&self.daemon, name, by_force).await.map(|_| ()).map_err(could_not(doing.clone())) };
        bounded(REMOVE_WITHIN, &doing, removed).await
    }

    /// Waits for the end that is still to come: once a container has ended, it is soon gone and cannot be asked.
    fn exit_code(&self, name: &str) -> AbortOnDropHandle<Option<i64>> {
        let condition = WaitContainerOptionsBuilder::new().condition("next-exit").build();
        let mut waiting = self.daemon.client().wait_container(name, Some(condition)).boxed();
        AbortOnDropHandle::new(tokio::spawn(async move {
            match waiting.next().await? {
                Ok(ended) => Some(ended.status_code),
                Err(Error::DockerContainerWaitError { code, .. }) => Some(code),
                Err(_) => None,
            }
        }))
    }

    fn body(&self, request: &GuestRequest) -> ContainerCreateBody {
        let mut labels = labels::of_run(&self.run, &Owner::current());
        labels.insert(labels::CLIENTS_OF.to_owned(), request.group.clone());
        ContainerCreateBody {
            image: Some(request.image.clone()),
            env: Some(request.environment.clone()),
            labels: Some(labels),
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            open_stdin: Some(true),
            // The end of this connection is the end of its input.
            stdin_once: Some(true),
            host_config: Some(HostConfig {
                network_mode: Some("host".to_owned()),
                auto_remove: Some(true),
                // All that it prints is read here; the engine must not keep it as well.
                log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: Some(HashMap::new()) }),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        }
    }
}

fn piece_of(piece: LogOutput) -> Option<GuestOutput> {
    match piece {
        LogOutput::StdOut { message } | LogOutput::Console { message } => Some(GuestOutput::Out(message)),
        LogOutput::StdErr { message } => Some(GuestOutput::Err(message)),
        LogOutput::StdIn { .. } => None,
    }
}

/// The end of a guest: waited for.
#[derive(Debug)]
pub struct GuestEnd {
    remover: GuestRemover,
    exit: AbortOnDropHandle<Option<i64>>,
}

/// The end of a guest: brought about.
#[derive(Clone, Debug)]
pub struct GuestRemover {
    host: GuestHost,
    name: String,
}

impl GuestEnd {
    /// Waits for its end; its exit code, if that became known.
    pub async fn exit_code(&mut self) -> Option<i64> {
        (&mut self.exit).await.ok().flatten()
    }

    /// What removes it.
    #[must_use]
    pub fn remover(&self) -> GuestRemover {
        self.remover.clone()
    }
}

impl GuestRemover {
    /// Removes it, in whatever state it is.
    ///
    /// # Errors
    /// The engine's, also if it takes too long; one that is gone already is none.
    pub async fn remove(&self) -> Result<(), ClusterError> {
        self.host.remove(&self.name, true).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::fake::FakeEngine;

    const NAME: &str = "chaos-r1-clients-steady";

    /// An engine that makes containers, and cannot attach to them.
    fn unattachable(path: &str) -> Option<(&'static str, String)> {
        path.starts_with("/containers/create").then(|| ("201 Created", r#"{"Id":"c1","Warnings":[]}"#.to_owned()))
    }

    /// The same, with a container of that name whose owner is this process, or has been dead since the machine's start.
    fn with_a_container(path: &str, owner: &Owner) -> Option<(&'static str, String)> {
        let labels = serde_json::to_string(&labels::of_run(&RunId::new("r1").unwrap(), owner)).unwrap();
        match path.split('?').next()? {
            "/containers/chaos-r1-clients-steady/json" => Some(("200 OK", format!(r#"{{"Id":"c0","Config":{{"Labels":{labels}}}}}"#))),
            "/containers/chaos-r1-clients-steady" => Some(("204 No Content", String::new())),
            _ => unattachable(path),
        }
    }

    /// Starts a guest, which fails, and gives what the engine was asked for, without the API's version and what is asked anyway.
    async fn asked_by_start(engine: &FakeEngine) -> Vec<String> {
        let host = GuestHost::new(Daemon::connect_to(&engine.address()).await.unwrap(), RunId::new("r1").unwrap());
        let request = GuestRequest { group: "steady".to_owned(), image: "any".to_owned(), environment: Vec::new() };
        let error = host.start(&request).await.unwrap_err();
        assert!(error.to_string().contains(&format!("attach to the container {NAME}")), "{error}");
        let asked = engine.asked().into_iter().filter(|path| path.contains(NAME));
        asked.map(|path| path.trim_start_matches("/v1.41").trim_start_matches("/containers/").to_owned()).collect()
    }

    fn is_removal(path: &str, by_force: bool) -> bool {
        path.starts_with(&format!("{NAME}?")) && path.contains(&format!("force={by_force}"))
    }

    #[tokio::test]
    async fn a_guest_that_cannot_be_started_is_removed() {
        let asked = asked_by_start(&FakeEngine::start(unattachable)).await;
        assert_eq!(asked.len(), 4, "{asked:?}");
        assert!(asked[0].ends_with("/json") && asked[1].starts_with("create?"), "{asked:?}");
        assert!(asked[2].contains("/attach") && is_removal(&asked[3], true), "{asked:?}");
    }

    #[tokio::test]
    async fn what_an_earlier_run_has_left_is_removed_but_not_what_a_living_one_has_made() {
        let dead = FakeEngine::start(|path| with_a_container(path, &Owner { start_ticks: 1, ..Owner::current() }));
        let asked = asked_by_start(&dead).await;
        assert!(is_removal(&asked[1], true) && asked[2].starts_with("create?"), "{asked:?}");
        let alive = FakeEngine::start(|path| with_a_container(path, &Owner::current()));
        let asked = asked_by_start(&alive).await;
        assert!(asked[1].starts_with("create?"), "{asked:?}");
    }
}
