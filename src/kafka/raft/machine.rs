//! The tail as a state machine: what has been heard, and what to ask next.
//!
//! ```text
//!   looking --- a controller leads ---> fetching --- the log's beginning is gone ---> loading
//!      ^                                 |   ^                                          |
//!      |<--- an error, silence, ---------+   +------- the snapshot is complete ---------+
//!      |     a closed connection                                                        |
//!      +<-------------------------------------------------------------------------------+
//! ```
//!
//! Any controller may say at any time that it leads: only a higher epoch than all that were heard of counts. Pure: (state, answer, now) -> what
//! to ask. Not here: sockets (`tail`), the log itself (`ledger`).

mod answers;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) mod told;

use std::time::Duration;

use super::event::{ImageReason, TailEvent, TailObserver};
use super::fetch::{FetchAsk, SnapshotAsk};
use super::ledger::{Ledger, Skipped};
use super::snapshot::SnapshotReader;
use crate::clock::Moment;
use crate::ids::{BrokerId, LeaderEpoch};

/// Pause before a controller that leads by its own word is tried again, where nothing good has come since it was last tried.
const PAUSE: Duration = Duration::from_millis(50);
/// How often that pause doubles at most.
const DOUBLINGS_MAX: u32 = 7;
/// A record that is not committed for so long makes one ask whether another controller leads by now; as often as that.
const SUSPICIOUS: Duration = Duration::from_secs(1);

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// Find out who leads.
    Look,
    /// Fetch from the controller at this address.
    Fetch(usize, FetchAsk),
    /// Fetch a piece of a snapshot from there.
    Snapshot(usize, SnapshotAsk),
    /// Wait until then.
    Pause(Moment),
}

/// The active controller that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leader {
    /// Its address, by its place in the list.
    address: usize,
    node: BrokerId,
    epoch: i32,
}

#[derive(Debug)]
enum Stage {
    Looking { not_before: Moment },
    Fetching(Leader),
    Loading(Leader, Box<SnapshotReader>),
}

/// The machine.
#[derive(Debug)]
pub(super) struct Machine {
    stage: Stage,
    ledger: Ledger,
    /// The highest epoch that was heard of.
    epoch: i32,
    /// Whether each record is told from the beginning on, instead of one image of what is there.
    tells_history: bool,
    /// Why an image is yet to be told; `None`: records are told.
    image_due: Option<ImageReason>,
    /// Arrival of the last good answer to Fetch.
    answered_at: Option<Moment>,
    /// Since when something waits to be committed.
    uncommitted_since: Option<Moment>,
    /// When it was last asked whether another controller leads.
    looked_around_at: Moment,
    /// It was told that nobody is followed.
    has_told_loss: bool,
    /// What each controller has said since nobody is followed, by the place of its address.
    heard: Vec<Option<String>>,
    /// How often a controller was lost since something good has come from one.
    failures: u32,
}

impl Machine {
    /// One that has heard nothing yet.
    pub(super) fn new(controllers: usize, tells_history: bool, now: Moment) -> Self {
        Self {
            stage: Stage::Looking { not_before: now },
            ledger: Ledger::default(),
            epoch: 0,
            tells_history,
            image_due: Some(ImageReason::First),
            answered_at: None,
            uncommitted_since: None,
            looked_around_at: now,
            has_told_loss: false,
            heard: vec![None; controllers],
            failures: 0,
        }
    }

    /// What was passed over so far.
    pub(super) fn skipped(&self) -> &Skipped {
        self.ledger.skipped()
    }

    /// What to do now.
    pub(super) fn next(&self, now: Moment) -> Ask {
        match &self.stage {
            Stage::Looking { not_before } if now < *not_before => Ask::Pause(*not_before),
            Stage::Looking { .. } => Ask::Look,
            Stage::Fetching(leader) => Ask::Fetch(leader.address, self.fetch_ask(leader, now)),
            Stage::Loading(leader, snapshot) => {
                let ask = SnapshotAsk { leader_epoch: leader.epoch, at: snapshot.at(), position: snapshot.position() };
                Ask::Snapshot(leader.address, ask)
            }
        }
    }

    fn fetch_ask(&self, leader: &Leader, now: Moment) -> FetchAsk {
        FetchAsk {
            leader_epoch: leader.epoch,
            from: self.ledger.end(),
            high_watermark: Some(self.ledger.committed_to()).filter(|offset| *offset > 0),
            uncommitted_for: self.uncommitted_since.map(|since| now.since(since)),
        }
    }

    /// Whether this address and epoch are those of the controller that is fetched from.
    pub(super) fn still_fetches(&self, address: usize, epoch: i32) -> bool {
        matches!(self.stage, Stage::Fetching(leader) if (leader.address, leader.epoch) == (address, epoch))
    }

    /// Whether to ask beside all else whether another controller leads by now. Not again soon.
    pub(super) fn looks_around(&mut self, now: Moment) -> bool {
        let is_late = |since: Moment| now.since(since) >= SUSPICIOUS;
        let looks = self.uncommitted_since.is_some_and(is_late) && is_late(self.looked_around_at);
        if looks {
            self.looked_around_at = now;
        }
        looks
    }

    /// The controller at this address says that this node leads in this epoch. Only the active one says so.
    pub(super) fn told(&mut self, now: Moment, address: usize, node: BrokerId, epoch: LeaderEpoch, observer: &dyn TailObserver) {
        let is_news = match &self.stage {
            Stage::Looking { .. } => epoch.0 >= self.epoch,
            Stage::Fetching(_) | Stage::Loading(..) => epoch.0 > self.epoch,
        };
        if !is_news {
            let words = format!("node {node} says that it leads in epoch {}, and epoch {} is known", epoch.0, self.epoch);
            return self.heard(now, address, words, observer);
        }
        self.epoch = epoch.0;
        self.stage = Stage::Fetching(Leader { address, node, epoch: epoch.0 });
        self.has_told_loss = false;
        self.looked_around_at = now;
        let detail = format!("node {node} says that it leads in epoch {}", epoch.0);
        observer.event(now, &TailEvent::Followed { controller: Some(node), epoch: Some(epoch), detail: &detail });
    }

    /// The controller at this address does not lead, or does not answer, in these words.
    pub(super) fn heard(&mut self, now: Moment, address: usize, words: String, observer: &dyn TailObserver) {
        let Stage::Looking { .. } = self.stage else { return };
        self.heard[address] = Some(words);
        if let Some(heard) = self.heard.iter().map(Option::as_deref).collect::<Option<Vec<_>>>() {
            let detail = format!("no controller leads: {}", heard.join("; "));
            self.tell_loss(now, &detail, observer);
        }
    }

    /// The controller that was followed is so no longer.
    pub(super) fn lost(&mut self, now: Moment, why: &str, observer: &dyn TailObserver) {
        // Whoever fails again and again without any good answer between is not asked without end.
        let pause = self.failures.checked_sub(1).map_or(Duration::ZERO, |doublings| PAUSE * (1 << doublings.min(DOUBLINGS_MAX)));
        self.failures = self.failures.saturating_add(1);
        self.stage = Stage::Looking { not_before: now + pause };
        self.heard.fill(None);
        self.tell_loss(now, why, observer);
    }

    fn tell_loss(&mut self, now: Moment, why: &str, observer: &dyn TailObserver) {
        if !std::mem::replace(&mut self.has_told_loss, true) {
            observer.event(now, &TailEvent::Followed { controller: None, epoch: None, detail: why });
        }
    }
}
