//! What the machine makes of the answers of the controller that it follows: records, commits, divergences, pieces of a snapshot.

use bytes::Bytes;

use super::{Leader, Machine, Stage};
use crate::clock::Moment;
use crate::kafka::raft::event::{ImageReason, TailEvent, TailObserver, TailRecord};
use crate::kafka::raft::fetch::{FetchAnswer, SnapshotAnswer};
use crate::kafka::raft::image::Change;
use crate::kafka::raft::ledger::{Ledger, LogPoint};
use crate::kafka::raft::snapshot::SnapshotReader;
use crate::kafka::wire::log::next_batch;

/// Most records that may wait to be committed. An active controller that has lost its voters stops long before.
const PENDING_MAX: usize = 200_000;

impl Machine {
    /// An answer to Fetch.
    pub(in crate::kafka::raft) fn fetched(&mut self, now: Moment, answer: FetchAnswer, observer: &dyn TailObserver) {
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
        self.failures = 0;
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
        let (is_told, mut is_aborted) = (self.image_due.is_none(), false);
        let mut tell = |record: &TailRecord| {
            // What cannot be taken in is missing in the image that follows, so it is told before that too.
            if is_told || matches!(record.change, Change::Refused { .. }) {
                observer.event(now, &TailEvent::Record(record));
                is_aborted |= record.change == Change::TransactionAborted;
            }
        };
        while let Some(batch) = next_batch(&mut records).map_err(|error| error.to_string())? {
            self.ledger.append(&batch, &mut tell).map_err(|error| error.to_string())?;
        }
        if is_aborted {
            self.tell_latest(now, leader, observer);
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
            self.tell_latest(now, leader, observer);
        }
    }

    /// Tells the image anew, after something that was told has been taken back.
    fn tell_latest(&self, now: Moment, leader: Leader, observer: &dyn TailObserver) {
        let (image, offset) = (self.ledger.latest(), self.ledger.end().offset - 1);
        observer.event(now, &TailEvent::Image { image, offset, controller: leader.node, why: ImageReason::Truncated });
    }

    fn start_anew(&mut self) {
        self.ledger = Ledger::default();
        self.image_due = Some(ImageReason::Anew);
        self.uncommitted_since = None;
    }

    /// A piece of a snapshot.
    pub(in crate::kafka::raft) fn snapshot_fetched(&mut self, now: Moment, answer: &SnapshotAnswer, observer: &dyn TailObserver) {
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
