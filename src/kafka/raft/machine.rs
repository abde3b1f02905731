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

use std::time::Duration;

use bytes::Bytes;

use super::event::{ImageReason, TailEvent, TailObserver, TailRecord};
use super::fetch::{FetchAnswer, FetchAsk, SnapshotAnswer, SnapshotAsk};
use super::ledger::{Ledger, LogPoint, Skipped};
use super::snapshot::SnapshotReader;
use crate::clock::Moment;
use crate::ids::{BrokerId, LeaderEpoch};
use crate::kafka::wire::log::next_batch;

/// Pause between two rounds of looking for the active controller.
const PAUSE: Duration = Duration::from_millis(50);
/// The same once it has been looked for in vain for [`LONG`].
const LONG_PAUSE: Duration = Duration::from_millis(500);
/// When a search is no longer an election that is about to end.
const LONG: Duration = Duration::from_secs(30);
/// A record that is not committed for so long makes one ask whether another controller leads by now; as often as that.
const SUSPICIOUS: Duration = Duration::from_secs(1);
/// Most records that may wait to be committed. An active controller that has lost its voters stops long before.
const PENDING_MAX: usize = 200_000;

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// Ask all controllers who leads.
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
    /// Since when nobody is followed; `None`: somebody is.
    lost_since: Option<Moment>,
    /// It was told that nobody is followed.
    has_told_loss: bool,
    /// Nothing good has come from those who said that they lead since the last loss.
    has_failed: bool,
}

impl Machine {
    /// One that has heard nothing yet.
    pub(super) fn new(tells_history: bool, now: Moment) -> Self {
        Self {
            stage: Stage::Looking { not_before: now },
            ledger: Ledger::default(),
            epoch: 0,
            tells_history,
            image_due: Some(ImageReason::First),
            answered_at: None,
            uncommitted_since: None,
            looked_around_at: now,
            lost_since: Some(now),
            has_told_loss: false,
            has_failed: false,
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
            Stage::Fetching(_) if self.is_suspicious(now) => Ask::Look,
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

    fn is_suspicious(&self, now: Moment) -> bool {
        let is_late = |since: Moment| now.since(since) >= SUSPICIOUS;
        self.uncommitted_since.is_some_and(is_late) && is_late(self.looked_around_at)
    }

    /// The controller at this address says that this node leads in this epoch. Only the active one says so.
    pub(super) fn told(&mut self, now: Moment, address: usize, node: BrokerId, epoch: LeaderEpoch, observer: &dyn TailObserver) {
        let is_news = match &self.stage {
            Stage::Looking { .. } => epoch.0 >= self.epoch,
            Stage::Fetching(_) | Stage::Loading(..) => epoch.0 > self.epoch,
        };
        if !is_news {
            return;
        }
        self.epoch = epoch.0;
        self.stage = Stage::Fetching(Leader { address, node, epoch: epoch.0 });
        (self.lost_since, self.has_told_loss) = (None, false);
        self.looked_around_at = now;
        let detail = format!("node {node} says that it leads in epoch {}", epoch.0);
        observer.event(now, &TailEvent::Followed { controller: Some(node), epoch: Some(epoch), detail: &detail });
    }

    /// All controllers were asked, and have said this.
    pub(super) fn all_told(&mut self, now: Moment, heard: &str, observer: &dyn TailObserver) {
        self.looked_around_at = now;
        if let Stage::Looking { .. } = self.stage {
            let searched_for = self.lost_since.map_or(Duration::ZERO, |since| now.since(since));
            self.stage = Stage::Looking { not_before: now + if searched_for < LONG { PAUSE } else { LONG_PAUSE } };
            self.tell_loss(now, &format!("no controller leads: {heard}"), observer);
        }
    }

    /// The controller that was followed is so no longer.
    pub(super) fn lost(&mut self, now: Moment, why: &str, observer: &dyn TailObserver) {
        // Whoever fails again and again without any good answer between is not asked without end.
        let pause = if std::mem::replace(&mut self.has_failed, true) { PAUSE } else { Duration::ZERO };
        self.stage = Stage::Looking { not_before: now + pause };
        self.lost_since = self.lost_since.or(Some(now));
        self.tell_loss(now, why, observer);
    }

    fn tell_loss(&mut self, now: Moment, why: &str, observer: &dyn TailObserver) {
        if !std::mem::replace(&mut self.has_told_loss, true) {
            observer.event(now, &TailEvent::Followed { controller: None, epoch: None, detail: why });
        }
    }

    /// An answer to Fetch.
    pub(super) fn fetched(&mut self, now: Moment, answer: FetchAnswer, observer: &dyn TailObserver) {
        let Stage::Fetching(leader) = self.stage else { return };
        if let Some(code) = answer.error {
            return self.lost(now, &format!("node {} answers Fetch with {code}", leader.node), observer);
        }
        if let Some(at) = answer.snapshot {
            self.stage = Stage::Loading(leader, Box::new(SnapshotReader::new(at)));
            return;
        }
        if let Some(diverging) = answer.diverging {
            return self.diverged(now, leader, diverging, observer);
        }
        if let Err(why) = self.append(now, leader, answer.records, observer) {
            return self.lost(now, &format!("node {} sends what is no log: {why}", leader.node), observer);
        }
        self.has_failed = false;
        if let Some(high_watermark) = answer.high_watermark {
            self.commit(now, leader, high_watermark, observer);
        }
        self.answered_at = Some(now);
        self.uncommitted_since = (self.ledger.pending() > 0).then(|| self.uncommitted_since.unwrap_or(now));
        if self.ledger.pending() > PENDING_MAX {
            self.start_anew();
            self.lost(now, &format!("node {} has sent more than {PENDING_MAX} records without committing one", leader.node), observer);
        }
    }

    fn append(&mut self, now: Moment, leader: Leader, mut records: Bytes, observer: &dyn TailObserver) -> Result<(), String> {
        let (answer_bytes, end) = (records.len(), self.ledger.end());
        if self.tells_history && self.image_due.is_some() {
            self.tell_image(now, leader, observer);
        }
        let is_told = self.image_due.is_none();
        let tell = |record: &TailRecord| {
            if is_told {
                observer.event(now, &TailEvent::Record(record));
            }
        };
        while let Some(batch) = next_batch(&mut records).map_err(|error| error.to_string())? {
            self.ledger.append(&batch, tell).map_err(|error| error.to_string())?;
        }
        if answer_bytes > 0 && self.ledger.end() == end {
            return Err(format!("no new record is whole in {answer_bytes} bytes"));
        }
        Ok(())
    }

    /// A controller that has just been elected may know of less that is committed than the one before: what is known stays.
    fn commit(&mut self, now: Moment, leader: Leader, high_watermark: i64, observer: &dyn TailObserver) {
        let is_news = self.ledger.commit(high_watermark);
        if self.image_due.is_none() && is_news {
            self.uncommitted_since = None;
            let high_watermark = self.ledger.committed_to();
            observer.event(now, &TailEvent::Committed { high_watermark, not_before: self.answered_at });
        } else if self.image_due.is_some() && self.ledger.end().offset >= high_watermark {
            self.tell_image(now, leader, observer);
        }
    }

    /// Tells what is committed as a whole, and what is not record by record.
    fn tell_image(&mut self, now: Moment, leader: Leader, observer: &dyn TailObserver) {
        let Some(why) = self.image_due.take() else { return };
        let (image, offset) = (self.ledger.committed(), self.ledger.committed_to() - 1);
        observer.event(now, &TailEvent::Image { image, offset, controller: leader.node, why });
        self.ledger.tell_pending(|record| observer.event(now, &TailEvent::Record(record)));
    }

    /// The controller's log differs from ours from some point on.
    fn diverged(&mut self, now: Moment, leader: Leader, diverging: LogPoint, observer: &dyn TailObserver) {
        let to_offset = self.ledger.divergence(diverging.epoch, diverging.offset);
        let end = self.ledger.end().offset;
        if to_offset >= end {
            let why = format!("node {} says that its log differs from offset {to_offset} on, and {end} is not known yet", leader.node);
            return self.lost(now, &why, observer);
        }
        let is_told = self.image_due.is_none();
        let told = |records: u64| {
            if is_told {
                observer.event(now, &TailEvent::Truncated { to_offset, records });
            }
        };
        if to_offset < self.ledger.committed_to() {
            told(u64::try_from(end - to_offset).unwrap_or(0));
            return self.start_anew();
        }
        told(self.ledger.truncate(to_offset));
        self.uncommitted_since = self.uncommitted_since.filter(|_| self.ledger.pending() > 0);
        if is_told {
            let (image, offset) = (self.ledger.latest(), to_offset - 1);
            let why = ImageReason::Truncated;
            observer.event(now, &TailEvent::Image { image, offset, controller: leader.node, why });
        }
    }

    fn start_anew(&mut self) {
        self.ledger = Ledger::default();
        self.image_due = Some(ImageReason::Anew);
        self.uncommitted_since = None;
    }

    /// A piece of a snapshot.
    pub(super) fn snapshot_fetched(&mut self, now: Moment, answer: &SnapshotAnswer, observer: &dyn TailObserver) {
        let Stage::Loading(leader, snapshot) = &mut self.stage else { return };
        let leader = *leader;
        if let Some(code) = answer.error {
            return self.lost(now, &format!("node {} answers FetchSnapshot with {code}", leader.node), observer);
        }
        match snapshot.push(answer.position, answer.size, &answer.piece) {
            Ok(false) => {}
            Ok(true) => {
                if let Stage::Loading(_, snapshot) = std::mem::replace(&mut self.stage, Stage::Fetching(leader)) {
                    let at = snapshot.at();
                    let (image, skipped) = snapshot.finish();
                    self.take_back_pending(now, observer);
                    self.ledger = Ledger::loaded(image, at, skipped);
                    self.image_due = Some(ImageReason::Snapshot);
                    self.uncommitted_since = None;
                }
            }
            Err(error) => self.lost(now, &format!("node {} sends what is no snapshot: {error}", leader.node), observer),
        }
    }

    /// A snapshot does not say which of the records that were told uncommitted are in it.
    fn take_back_pending(&self, now: Moment, observer: &dyn TailObserver) {
        let records = self.ledger.pending() as u64;
        if self.image_due.is_none() && records > 0 {
            observer.event(now, &TailEvent::Truncated { to_offset: self.ledger.committed_to(), records });
        }
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) mod told;
