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
/// Bound of the last resort's attempts to reach the engine.
const CONNECT_WITHIN: Duration = Duration::from_secs(30);
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
/// What the engine says, or [`ClusterError::NotRemoved`], if something is still there after a minute; [`ClusterError::EngineTooSlow`] if it
/// does not even list what there is.
pub async fn run(daemon: &Daemon, run: &str) -> Result<Removed, ClusterError> {
    run_within(daemon, run, REMOVE_WITHIN).await
}

/// As [`run`], with another bound.
pub(super) async fn run_within(daemon: &Daemon, run: &str, within: Duration) -> Result<Removed, ClusterError> {
    until_gone(daemon, run, 1, within).await
}

/// Removes a run until so many listings, one after the other, hold nothing of it. An engine that fails is asked again: it may be restarting.
async fn until_gone(daemon: &Daemon, run: &str, empty_listings: u32, within: Duration) -> Result<Removed, ClusterError> {
    let mut removal = Removal { daemon, run, removed: Removed::default(), left: None, failed: None, failing: None };
    let attempts = async {
        let mut empty = 0;
        loop {
            empty = if removal.attempt().await { empty + 1 } else { 0 };
            if empty == empty_listings {
                return;
            }
            // The next round looks again: a request of a start that was cut off may have made one more in the meantime.
            tokio::time::sleep(RETRY_AFTER).await;
        }
    };
    match tokio::time::timeout(within, attempts).await {
        Ok(()) => Ok(removal.removed),
        Err(_) => Err(removal.error(within)),
    }
}

/// A run that is being removed.
#[derive(Debug)]
struct Removal<'a> {
    daemon: &'a Daemon,
    run: &'a str,
    removed: Removed,
    /// Names of what the last listing held.
    left: Option<String>,
    /// What went wrong first in the last attempt that came to its end.
    failed: Option<ClusterError>,
    /// What goes wrong first in this one.
    failing: Option<ClusterError>,
}

impl Removal<'_> {
    /// Whether a listing held nothing of the run; else removes what it held. What cannot be removed keeps nothing else from being tried.
    async fn attempt(&mut self) -> bool {
        let left = inventory::of_run(self.daemon, self.run).await;
        let is_gone = match left {
            Ok(left) => {
                self.left = Some(names(&left));
                self.containers(&left).await;
                self.networks(&left).await;
                self.volumes(&left).await;
                left == RunObjects::default()
            }
            Err(error) => {
                self.failing = Some(error);
                false
            }
        };
        self.failed = self.failing.take();
        is_gone
    }

    async fn containers(&mut self, left: &RunObjects) {
        let outcomes = join_all(left.containers.iter().map(|one| container(self.daemon, &one.id, true))).await;
        for (container, outcome) in left.containers.iter().zip(outcomes) {
            match outcome {
                Ok(by_this_call) => self.removed.containers += usize::from(by_this_call),
                Err(error) => self.fail("container", &container.name, error),
            }
        }
    }

    async fn networks(&mut self, left: &RunObjects) {
        for network in &left.networks {
            match self.daemon.client().remove_network(&network.id).await {
                Ok(()) => self.removed.networks += 1,
                // Gone already, or a container still hangs on it: the next round sees.
                Err(error) if matches!(status_of(&error), Some(403 | 404 | 409)) => {}
                Err(error) => self.fail("network", &network.name, error),
            }
        }
    }

    /// The mark of a kept cluster.
    async fn volumes(&mut self, left: &RunObjects) {
        for volume in &left.volumes {
            match self.daemon.client().remove_volume(&volume.id, None::<RemoveVolumeOptions>).await {
                Ok(()) => {}
                Err(error) if matches!(status_of(&error), Some(404 | 409)) => {}
                Err(error) => self.fail("volume", &volume.name, error),
            }
        }
    }

    fn fail(&mut self, kind: &str, name: &str, error: Error) {
        self.failing.get_or_insert_with(|| could_not(format!("remove the {kind} {name}"))(error));
    }

    /// Why it is not gone when the bound has passed.
    fn error(self, within: Duration) -> ClusterError {
        match (self.failing.or(self.failed), self.left) {
            (Some(error), _) => error,
            (None, Some(left)) => ClusterError::NotRemoved { run: self.run.to_owned(), left, within },
            (None, None) => ClusterError::EngineTooSlow { doing: format!("list what is left of {}", self.run), within },
        }
    }
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

fn names(left: &RunObjects) -> String {
    let others = left.networks.iter().chain(&left.volumes).map(|object| object.name.as_str());
    left.containers.iter().map(|container| container.name.as_str()).chain(others).collect::<Vec<_>>().join(", ")
}

/// Removes a run from where nothing can be awaited: a panic hook, a drop, the second Ctrl-C.
///
/// Cheap to clone; all clones fire once between them, and not at all after an orderly end. Blocks the calling thread until the run is
/// gone, at most half a minute longer than [`run`] takes.
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
                let daemon = connected(&target.address).await?;
                until_gone(&daemon, target.run.as_str(), EMPTY_LISTINGS_AFTER_A_CUT, REMOVE_WITHIN).await
            })
        });
        match removal.join() {
            Ok(outcome) => outcome.map(|_| ()),
            Err(_) => Err(no_runtime(std::io::Error::other("the removing thread panicked"))),
        }
    }
}

/// The engine, asked again while it refuses: it may be restarting.
async fn connected(address: &str) -> Result<Daemon, ClusterError> {
    let mut refused = None;
    let attempts = async {
        loop {
            match Daemon::connect_to(address).await {
                Ok(daemon) => return daemon,
                Err(error) => refused = Some(error),
            }
            tokio::time::sleep(RETRY_AFTER).await;
        }
    };
    tokio::time::timeout(CONNECT_WITHIN, attempts)
        .await
        .map_err(|_| refused.unwrap_or_else(|| ClusterError::EngineTooSlow { doing: "answer at all".to_owned(), within: CONNECT_WITHIN }))
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
    use crate::cluster::labels;

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

    /// A container that the engine fails to remove for good, beside one that it removes, a network and a volume.
    #[tokio::test]
    async fn what_fails_for_good_is_said_and_keeps_nothing_else_from_being_removed() {
        let object =
            |name: &str| format!(r#"{{"Id":"{name}","Names":["/{name}"],"Name":"{name}","Labels":{{"{}":"some-run"}}}}"#, labels::RUN);
        let volume = object("mark").replace(r#""Labels""#, r#""Driver":"local","Mountpoint":"","Scope":"local","Options":{},"Labels""#);
        let lists = [
            ("/containers/json", format!("[{},{}]", object("stuck"), object("good"))),
            ("/networks?", format!("[{}]", object("net"))),
            ("/volumes?", format!(r#"{{"Volumes":[{volume}]}}"#)),
        ];
        let engine = FakeEngine::start(move |path| {
            let list = lists.iter().find(|(list, _)| path.starts_with(list)).map(|(_, list)| list.clone());
            let removed = if path.contains("stuck") {
                ("500 Internal Server Error", r#"{"message":"device or resource busy"}"#.to_owned())
            } else {
                ("204 No Content", String::new())
            };
            Some(list.map_or(removed, |list| ("200 OK", list)))
        });
        let daemon = Daemon::connect_to(&engine.address()).await.unwrap();
        let error = run_within(&daemon, "some-run", Duration::from_millis(600)).await.unwrap_err().to_string();
        assert!(error.contains("container stuck") && error.contains("device or resource busy"), "{error}");
        let asked = engine.asked();
        for name in ["/containers/stuck", "/containers/good", "/networks/net", "/volumes/mark"] {
            assert!(asked.iter().filter(|path| path.contains(name)).count() >= 2, "{name}: {asked:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_engine_that_hangs_is_given_up_within_the_bound() {
        let engine = FakeEngine::start(|_| Some(("200 OK", "[]".to_owned())));
        let daemon = Daemon::connect_to(&engine.address()).await.unwrap();
        let address = engine.address();
        drop(engine);
        // Whoever connects now waits in the queue of one that accepts nobody.
        let path = std::path::PathBuf::from(address.trim_start_matches("unix://"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _listener = tokio::net::UnixListener::bind(&path).unwrap();
        let bounded = tokio::time::timeout(REMOVE_WITHIN + Duration::from_secs(1), run(&daemon, "some-run"));
        let error = bounded.await.unwrap().unwrap_err();
        assert!(error.to_string().contains("list"), "{error}");
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
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
