//! Finds clusters that a killed `chaos` has left, and removes them. What a living process owns, what is kept on purpose, and whatever
//! has no label of ours is left alone.

use std::time::Duration;

use serde::Serialize;

use super::daemon::Daemon;
use super::inventory::{self, RunObjects};
use super::owner::{Liveness, Owner};
use super::{ClusterError, remove};

/// Bound of removing one leftover: whoever starts a cluster waits for it, and what does not go within it will hardly go at all.
const SWEEP_WITHIN: Duration = Duration::from_secs(15);

/// What is to become of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// Its owner is dead, and nobody asked for it to stay: it goes.
    Leftover,
    /// It outlives its owner on purpose.
    Kept,
    /// Its owner works with it.
    InUse,
    /// Its owner cannot be seen from here, or the labels do not name one: only a person can decide.
    Unknown,
}

impl Fate {
    /// Whether a sweep takes it: the janitor's own takes leftovers only, `all` also what is kept and what nobody can tell about.
    #[must_use]
    pub fn is_swept(self, all: bool) -> bool {
        match self {
            Self::Leftover => true,
            Self::Kept | Self::Unknown => all,
            Self::InUse => false,
        }
    }

    /// The fate in words, for a list.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Leftover => "left over (its owner is dead)",
            Self::Kept => "kept",
            Self::InUse => "in use",
            Self::Unknown => "unknown owner",
        }
    }
}

/// Decides about one run's objects.
#[must_use]
pub fn fate_of(objects: &RunObjects) -> Fate {
    decide(objects.is_kept(), objects.owner().as_ref().map(Owner::liveness))
}

/// A living owner comes first: also a kept cluster is in use until the run that made it is over.
fn decide(is_kept: bool, owner: Option<Liveness>) -> Fate {
    match (is_kept, owner) {
        (_, Some(Liveness::Alive)) => Fate::InUse,
        (true, _) => Fate::Kept,
        (false, Some(Liveness::Dead)) => Fate::Leftover,
        (false, Some(Liveness::Unknown) | None) => Fate::Unknown,
    }
}

/// What a sweep did.
#[derive(Debug, Default)]
pub struct Sweep {
    /// The runs that were removed.
    pub removed: Vec<String>,
    /// Those of which something could not be, and why.
    pub left: Vec<(String, ClusterError)>,
}

/// Removes leftovers. One that cannot be removed does not keep the others from going, and stays for the next sweep.
///
/// # Errors
/// If the engine does not say what there is.
pub async fn sweep(daemon: &Daemon) -> Result<Sweep, ClusterError> {
    let mut sweep = Sweep::default();
    for (run, objects) in inventory::all(daemon).await? {
        if fate_of(&objects).is_swept(false) {
            match remove::run_within(daemon, &run, SWEEP_WITHIN).await {
                Ok(_) => sweep.removed.push(run),
                Err(error) => sweep.left.push((run, error)),
            }
        }
    }
    Ok(sweep)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::fake::FakeEngine;
    use crate::cluster::labels;
    use crate::cluster::owner::Place;

    /// Two clusters of dead owners; the network of the first cannot be removed.
    #[tokio::test(start_paused = true)]
    async fn a_leftover_that_stays_keeps_no_other_from_going() {
        let place = Place::current().to_label();
        let network = move |run: &str| {
            let labels = [(labels::RUN, run), (labels::OWNER_PID, "4294967290"), (labels::OWNER_START, "7"), (labels::OWNER_PLACE, &place)];
            let labels = labels.map(|(label, value)| format!(r#""{label}":"{value}""#)).join(",");
            format!(r#"{{"Id":"{run}","Name":"{run}","Labels":{{{labels}}}}}"#)
        };
        let gone = std::sync::atomic::AtomicBool::new(false);
        let engine = FakeEngine::start(move |path| {
            let is_gone = gone.load(std::sync::atomic::Ordering::Relaxed);
            let networks = if is_gone || path.contains("first") { vec!["first"] } else { vec!["first", "second"] };
            let networks: Vec<_> = networks.into_iter().filter(|run| !path.contains("%3D") || path.contains(run)).map(&network).collect();
            match path {
                "/networks/first" => Some(("500 Internal Server Error", r#"{"message":"so it is"}"#.to_owned())),
                "/networks/second" => {
                    gone.store(true, std::sync::atomic::Ordering::Relaxed);
                    Some(("204 No Content", String::new()))
                }
                _ if path.starts_with("/networks") => Some(("200 OK", format!("[{}]", networks.join(",")))),
                _ if path.starts_with("/volumes") => Some(("200 OK", r#"{"Volumes":[]}"#.to_owned())),
                _ => Some(("200 OK", "[]".to_owned())),
            }
        });
        let daemon = Daemon::connect_to(&engine.address()).await.unwrap();
        let sweep = sweep(&daemon).await.unwrap();
        assert_eq!(sweep.removed, ["second"], "{:?}", engine.asked());
        let [(run, error)] = &sweep.left[..] else { panic!("{sweep:?}") };
        assert!(run == "first" && error.to_string().contains("network first"), "{error}");
    }

    #[test]
    fn only_what_nobody_owns_or_wants_is_swept() {
        let cases = [
            (false, Some(Liveness::Alive), Fate::InUse, false, false),
            (false, Some(Liveness::Dead), Fate::Leftover, true, true),
            (false, Some(Liveness::Unknown), Fate::Unknown, false, true),
            (false, None, Fate::Unknown, false, true),
            (true, Some(Liveness::Alive), Fate::InUse, false, false),
            (true, Some(Liveness::Dead), Fate::Kept, false, true),
            (true, Some(Liveness::Unknown), Fate::Kept, false, true),
            (true, None, Fate::Kept, false, true),
        ];
        for (is_kept, owner, fate, by_janitor, by_all) in cases {
            let name = format!("kept {is_kept}, owner {owner:?}");
            assert_eq!(decide(is_kept, owner), fate, "{name}");
            assert_eq!((fate.is_swept(false), fate.is_swept(true)), (by_janitor, by_all), "{name}");
        }
    }
}
