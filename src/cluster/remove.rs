//! Removing all that carries one run's label: containers in any state, their anonymous volumes, networks.
//!
//! Idempotent, and safe beside another process that removes the same run. Called by `docker` (down), `janitor` and [`LastResort`]; by
//! `guest` for one container.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bollard::errors::Error;
use bollard::query_parameters::{RemoveContainerOptionsBuilder, RemoveVolumeOptions};
use futures_util::future::join_all;

use super::daemon::{Daemon, could_not, status_of};
use super::inventory::{self, RunObjects};
use super::{ClusterError, RunId};

/// Bound of all attempts to remove a run.
const REMOVE_WITHIN: Duration = Duration::from_secs(60);
/// Empty listings that mean that nothing is left after a start that was cut off: its last request may still be with the engine when its
/// sender is gone, and a busy engine takes a while.
const EMPTY_LISTINGS_AFTER_A_CUT: u32 = 3;
/// Pause between two attempts: an engine that is still busy with a container refuses to remove its network.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Containers.
    pub containers: usize,
    /// Networks.
    pub networks: usize,
}

impl Removed {
    /// In words: "3 containers, 1 network".
    #[must_use]
    pub fn words(&self) -> String {
        let count = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        format!("{}, {}", count(self.containers, "container"), count(self.networks, "network"))
    }
}

/// Removes a run until nothing of it is listed any more.
///
/// # Errors
/// [`ClusterError::NotRemoved`] if something is still there after the bound, or the engine does not answer.
pub async fn run(daemon: &Daemon, run: &str) -> Result<Removed, ClusterError> {
    until_gone(daemon, run, 1).await
}

/// Removes a run until so many listings, one after the other, hold nothing of it. An engine that fails is asked again: it may be restarting.
async fn until_gone(daemon: &Daemon, run: &str, empty_listings: u32) -> Result<Removed, ClusterError> {
    let mut removed = Removed::default();
    let mut failed = None;
    let attempts = async {
        let mut empty = 0;
        loop {
            let outcome = attempt(daemon, run, &mut removed).await;
            empty = if matches!(outcome, Ok(true)) { empty + 1 } else { 0 };
            failed = outcome.err();
            if empty == empty_listings {
                return;
            }
            // The next round looks again: a request of a start that was cut off may have made one more in the meantime.
            tokio::time::sleep(RETRY_AFTER).await;
        }
    };
    if tokio::time::timeout(REMOVE_WITHIN, attempts).await.is_ok() {
        return Ok(removed);
    }
    match failed {
        Some(error) => Err(error),
        None => {
            let left = names(&inventory::of_run(daemon, run).await?);
            Err(ClusterError::NotRemoved { run: run.to_owned(), left, within: REMOVE_WITHIN })
        }
    }
}

/// Whether a listing held nothing of the run; else removes what it held.
async fn attempt(daemon: &Daemon, run: &str, removed: &mut Removed) -> Result<bool, ClusterError> {
    let left = inventory::of_run(daemon, run).await?;
    if left == RunObjects::default() {
        return Ok(true);
    }
    removed.containers += remove_containers(daemon, &left).await?;
    removed.networks += remove_networks(daemon, &left).await?;
    remove_volumes(daemon, &left).await?;
    Ok(false)
}

async fn remove_containers(daemon: &Daemon, left: &RunObjects) -> Result<usize, ClusterError> {
    let outcomes = join_all(left.containers.iter().map(|one| container(daemon, &one.id, true))).await;
    let mut removed = 0;
    for (container, outcome) in left.containers.iter().zip(outcomes) {
        removed += usize::from(outcome.map_err(could_not(format!("remove the container {}", container.name)))?);
    }
    Ok(removed)
}

/// Removes a container with its anonymous volumes. Returns whether this call did it: not if it is gone, somebody else removes it, or, without
/// force, it runs.
///
/// # Errors
/// Any other answer of the engine.
pub(super) async fn container(daemon: &Daemon, id_or_name: &str, by_force: bool) -> Result<bool, Error> {
    let options = RemoveContainerOptionsBuilder::new().force(by_force).v(true).build();
    match daemon.client().remove_container(id_or_name, Some(options)).await {
        Ok(()) => Ok(true),
        Err(error) if matches!(status_of(&error), Some(404 | 409)) => Ok(false),
        Err(error) => Err(error),
    }
}

async fn remove_networks(daemon: &Daemon, left: &RunObjects) -> Result<usize, ClusterError> {
    let mut removed = 0;
    for network in &left.networks {
        match daemon.client().remove_network(&network.id).await {
            Ok(()) => removed += 1,
            // Gone already, or a container still hangs on it: the next round sees.
            Err(error) if matches!(status_of(&error), Some(403 | 404 | 409)) => {}
            Err(error) => return Err(could_not(format!("remove the network {}", network.name))(error)),
        }
    }
    Ok(removed)
}

/// The mark of a kept cluster.
async fn remove_volumes(daemon: &Daemon, left: &RunObjects) -> Result<(), ClusterError> {
    for volume in &left.volumes {
        match daemon.client().remove_volume(&volume.id, None::<RemoveVolumeOptions>).await {
            Ok(()) => {}
            Err(error) if matches!(status_of(&error), Some(404 | 409)) => {}
            Err(error) => return Err(could_not(format!("remove the volume {}", volume.name))(error)),
        }
    }
    Ok(())
}

fn names(left: &RunObjects) -> String {
    let others = left.networks.iter().chain(&left.volumes).map(|object| object.name.as_str());
    left.containers.iter().map(|container| container.name.as_str()).chain(others).collect::<Vec<_>>().join(", ")
}

/// Removes a run from where nothing can be awaited: a panic hook, a drop, the second Ctrl-C.
///
/// Cheap to clone; all clones fire once between them, and not at all after an orderly end. Blocks the calling thread until the run is
/// gone, at most as long as [`run`] takes.
#[derive(Clone, Debug)]
pub struct LastResort(Arc<Target>);

#[derive(Debug)]
struct Target {
    /// The engine's address.
    address: String,
    run: RunId,
    is_armed: AtomicBool,
}

impl LastResort {
    /// Ready to fire.
    pub(crate) fn armed(address: &str, run: &RunId) -> Self {
        Self(Arc::new(Target { address: address.to_owned(), run: run.clone(), is_armed: AtomicBool::new(true) }))
    }

    /// Never fires from now on: the run is gone, or is to stay.
    pub(crate) fn disarm(&self) {
        self.0.is_armed.store(false, Ordering::SeqCst);
    }

    /// Removes the run, unless that has been done or the run is to stay.
    ///
    /// # Errors
    /// As [`run`]; the janitor finds at the next start what could not be removed now.
    pub fn fire(&self) -> Result<(), ClusterError> {
        if !self.0.is_armed.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        let target = Arc::clone(&self.0);
        // A thread with a runtime of its own: the caller's runtime may be what is falling apart.
        let removal = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(no_runtime)?;
            runtime.block_on(async {
                until_gone(&Daemon::connect_to(&target.address).await?, target.run.as_str(), EMPTY_LISTINGS_AFTER_A_CUT).await
            })
        });
        match removal.join() {
            Ok(outcome) => outcome.map(|_| ()),
            Err(_) => Err(no_runtime(std::io::Error::other("the removing thread panicked"))),
        }
    }
}

fn no_runtime(source: std::io::Error) -> ClusterError {
    ClusterError::File { path: "the last resort's thread".into(), source }
}

/// Fires the last resort when it is dropped: on a panic, an error, or when the future that holds it is cancelled.
#[derive(Debug)]
pub(crate) struct Leash(pub(crate) LastResort);

impl Drop for Leash {
    fn drop(&mut self) {
        // Nobody is left to tell; the labels stay, and the janitor finds them.
        let _ = self.0.fire();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::cluster::fake::FakeEngine;

    #[tokio::test]
    async fn an_engine_that_is_just_restarting_is_asked_again() {
        let asked = AtomicUsize::new(0);
        let engine = FakeEngine::start(move |path| {
            let lists = [("/containers/", "[]"), ("/networks", "[]"), ("/volumes", r#"{"Volumes":[]}"#)];
            let (_, nothing) = lists.into_iter().find(|(list, _)| path.starts_with(list))?;
            let is_up = asked.fetch_add(1, Ordering::SeqCst) >= 4;
            Some(if is_up { ("200 OK", nothing.to_owned()) } else { ("500 Internal Server Error", r#"{"message":"not yet"}"#.to_owned()) })
        });
        let daemon = Daemon::connect_to(&engine.address()).await.unwrap();
        assert_eq!(run(&daemon, "some-run").await.unwrap(), Removed::default());
        assert!(engine.asked().len() > 5, "{:?}", engine.asked());
    }

    #[tokio::test(start_paused = true)]
    async fn an_engine_that_never_comes_back_is_said_with_its_own_words() {
        let engine = FakeEngine::start(|_| Some(("500 Internal Server Error", r#"{"message":"broken for good"}"#.to_owned())));
        let daemon = Daemon::connect_to(&engine.address()).await.unwrap();
        let error = run(&daemon, "some-run").await.unwrap_err();
        assert!(error.to_string().contains("broken for good"), "{error}");
    }

    #[tokio::test]
    async fn a_container_that_cannot_be_removed_any_more_is_no_error_and_all_else_is() {
        let engine = FakeEngine::start(|path| {
            let status =
                ["204 No Content", "409 Conflict", "500 Internal Server Error"].into_iter().find(|status| path.contains(&status[..3]))?;
            Some((status, r#"{"message":"so it is"}"#.to_owned()))
        });
        let daemon = Daemon::connect_to(&engine.address()).await.unwrap();
        for (name, expected) in [("of-204", Some(true)), ("of-409", Some(false)), ("of-404", Some(false)), ("of-500", None)] {
            assert_eq!(container(&daemon, name, true).await.ok(), expected, "{name}");
        }
    }
}
