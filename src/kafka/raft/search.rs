//! The search for the active controller: each controller is asked for itself who leads, so that a silent one holds nobody up.
//!
//! Only the active controller answers without an error. Not here: which answer counts (`machine`).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::clock::Clock;
use crate::ids::HostPort;
use crate::kafka::admin::{Admin, AdminError, QuorumView};

/// Pause between two questions to the same controller.
const PAUSE: Duration = Duration::from_millis(50);
/// The same once the search has taken [`LONG`].
const LONG_PAUSE: Duration = Duration::from_millis(500);
/// When a search is no longer an election that is about to end.
const LONG: Duration = Duration::from_secs(30);

/// What a controller said, with the place of its address in the list.
pub(super) type Heard = (usize, Result<QuorumView, AdminError>);

/// A search that runs; ends when it is dropped.
#[derive(Debug)]
pub(super) struct Search {
    answers: mpsc::Receiver<Heard>,
    _asking: JoinSet<()>,
}

/// How often each controller is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Times {
    /// Until the search is dropped.
    Again,
    /// Once.
    Once,
}

impl Search {
    /// Asks all of these.
    pub(super) fn start(controllers: &[HostPort], times: Times, admin: &Arc<Admin>, clock: &Clock) -> Self {
        let (tx, answers) = mpsc::channel(controllers.len().max(1));
        let mut asking = JoinSet::new();
        for (place, address) in controllers.iter().cloned().enumerate() {
            let (tx, admin, clock) = (tx.clone(), Arc::clone(admin), clock.clone());
            asking.spawn(async move {
                let began = clock.now();
                while tx.send((place, admin.quorum_of(&address).await)).await.is_ok() && times == Times::Again {
                    tokio::time::sleep(pause_after(clock.now().since(began))).await;
                }
            });
        }
        Self { answers, _asking: asking }
    }

    /// The next answer; `None`: there will be no other.
    pub(super) async fn next(&mut self) -> Option<Heard> {
        self.answers.recv().await
    }
}

/// The pause before another question in a search that has taken so long.
fn pause_after(searched_for: Duration) -> Duration {
    if searched_for < LONG { PAUSE } else { LONG_PAUSE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_short_during_an_election_and_longer_after() {
        for (seconds, ms) in [(0, 50), (29, 50), (30, 500), (3_600, 500)] {
            assert_eq!(pause_after(Duration::from_secs(seconds)), Duration::from_millis(ms));
        }
    }
}
