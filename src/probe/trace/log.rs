//! What the controllers' log itself says, where a controller's listener was given: layer 0 and 1, before any broker has them.
//!
//! A tail reads the log once, and keeps the image up to date between the rounds of a watch. Not here: how a log is read (`kafka::raft`), and
//! what a difference to the brokers' answers means (`diagnose`).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout_at;

use super::sighting::{ControllerLog, Heard, Silence, Unheard};
use crate::clock::{Clock, Moment};
use crate::ids::HostPort;
use crate::kafka::net::security::Security;
use crate::kafka::net::traffic::Traffic;
use crate::kafka::raft::record::MetadataRecord;
use crate::kafka::raft::{ImageReason, LogEntry, Tail, TailConfig, TailEvent, TailObserver};
use crate::probe::CLIENT_ID;

/// Reads the log of the active controller, as long as it is kept.
#[derive(Debug)]
pub(super) struct LogReader {
    _tail: Tail,
    held: watch::Receiver<Held>,
}

/// What is known of the log.
#[derive(Clone, Debug, Default)]
struct Held {
    /// As far as it is committed: brokers apply no more of it.
    log: Option<ControllerLog>,
    /// What has come after that, by offset; as many as the tail lets wait.
    pending: VecDeque<(i64, MetadataRecord)>,
    /// Why it is not kept up to date; `None`: it is.
    lost: Option<String>,
}

impl Held {
    fn current(&self) -> Option<ControllerLog> {
        let log = self.log.as_ref().filter(|_| self.lost.is_none())?;
        Some(ControllerLog { pending: self.pending.len(), ..log.clone() })
    }

    fn commit(&mut self, high_watermark: i64) {
        let Some(log) = &mut self.log else { return };
        let committed = self.pending.partition_point(|(offset, _)| *offset < high_watermark);
        for (_, record) in self.pending.drain(..committed) {
            // A record that does not fit changes nothing here, as it changes nothing on a broker.
            let _ = Arc::make_mut(&mut log.image).replay(&record);
        }
        log.offset = log.offset.max(high_watermark - 1);
    }

    fn truncate(&mut self, to_offset: i64) {
        self.pending.retain(|(offset, _)| *offset < to_offset);
        // Where what was committed is gone, an image follows once the log has been read anew.
        self.log.take_if(|log| log.offset >= to_offset);
    }
}

impl LogReader {
    /// Begins to read.
    pub(super) fn start(controllers: Vec<HostPort>, security: &Security, clock: Clock) -> Self {
        let (tell, held) = watch::channel(Held::default());
        let config = TailConfig { controllers, client: security.named(CLIENT_ID), tells_history: false };
        Self { _tail: Tail::start(config, clock, Traffic::default(), Arc::new(Keeper(tell))), held }
    }

    /// The log as it stands; waits for the first reading, at most so long.
    pub(super) async fn current(&self, clock: &Clock, until: Moment) -> Heard<ControllerLog> {
        let mut held = self.held.clone();
        let began = clock.now();
        // An error would mean that the tail has ended, which it does not before it is dropped.
        let _ = timeout_at(clock.instant_of(until), held.wait_for(|held| held.current().is_some())).await;
        let held = held.borrow();
        held.current().ok_or_else(|| not_read(&held, until.since(began)))
    }
}

fn not_read(held: &Held, waited: Duration) -> Unheard {
    match &held.lost {
        Some(why) => Unheard { why: Silence::Unreachable, detail: why.clone() },
        None => Unheard { why: Silence::Silent, detail: format!("it was not read to its end within {:.1} s", waited.as_secs_f64()) },
    }
}

/// Keeps the image.
#[derive(Debug)]
struct Keeper(watch::Sender<Held>);

impl TailObserver for Keeper {
    fn event(&self, _at: Moment, event: &TailEvent<'_>) {
        match event {
            // It holds what is not committed, too; what is committed stays as it is held here.
            TailEvent::Image { why: ImageReason::Truncated, .. } => {}
            TailEvent::Image { image, offset, controller, .. } => self.0.send_modify(|held| {
                let log = ControllerLog { image: Arc::new((*image).clone()), offset: *offset, controller: *controller, pending: 0 };
                *held = Held { log: Some(log), ..Held::default() };
            }),
            TailEvent::Record(record) => {
                if let LogEntry::Metadata(metadata) = &record.entry
                    && *metadata != MetadataRecord::NoOp
                {
                    self.0.send_modify(|held| held.pending.push_back((record.offset, metadata.clone())));
                }
            }
            TailEvent::Committed { high_watermark, .. } => self.0.send_modify(|held| held.commit(*high_watermark)),
            TailEvent::Truncated { to_offset, .. } => self.0.send_modify(|held| held.truncate(*to_offset)),
            TailEvent::Followed { controller: Some(controller), .. } => self.0.send_modify(|held| {
                held.lost = None;
                if let Some(log) = &mut held.log {
                    log.controller = *controller;
                }
            }),
            TailEvent::Followed { controller: None, detail, .. } => self.0.send_modify(|held| held.lost = Some((*detail).to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{BrokerId, LeaderEpoch, TopicId};
    use crate::kafka::raft::TailRecord;
    use crate::kafka::raft::image::{Change, Image};

    fn record(offset: i64, record: MetadataRecord) -> TailRecord {
        let entry = LogEntry::Metadata(record);
        TailRecord { offset, controller_epoch: LeaderEpoch(1), timestamp_ms: 0, entry, change: Change::Nothing }
    }

    fn topic(offset: i64, name: &str) -> TailRecord {
        let id = TopicId(uuid::Uuid::from_u128(u128::try_from(offset).unwrap()));
        record(offset, MetadataRecord::Topic { name: name.into(), id })
    }

    fn committed(high_watermark: i64) -> TailEvent<'static> {
        TailEvent::Committed { high_watermark, not_before: None }
    }

    /// A log that is read to offset 7, without a topic.
    fn read() -> (Keeper, watch::Receiver<Held>, Moment) {
        let (tell, held) = watch::channel(Held::default());
        let (keeper, at) = (Keeper(tell), Clock::real().now());
        keeper.event(at, &TailEvent::Image { image: &Image::default(), offset: 7, controller: BrokerId(3), why: ImageReason::First });
        (keeper, held, at)
    }

    fn names(held: &watch::Receiver<Held>) -> Vec<String> {
        held.borrow().log.iter().flat_map(|log| log.image.topics().values()).map(|topic| topic.name.to_string()).collect()
    }

    #[test]
    fn the_image_is_kept_up_to_date_and_not_believed_while_nobody_leads() {
        let (keeper, held, at) = read();
        let current = || held.borrow().current();
        let first = current().unwrap();
        keeper.event(at, &TailEvent::Record(&record(8, MetadataRecord::NoOp)));
        keeper.event(at, &committed(9));
        assert!(Arc::ptr_eq(&first.image, &current().unwrap().image), "nothing changed");
        keeper.event(at, &TailEvent::Record(&topic(9, "orders")));
        keeper.event(at, &committed(10));
        let now = current().unwrap();
        assert_eq!((now.offset, now.controller, names(&held)), (9, BrokerId(3), vec!["orders".to_owned()]));
        assert!(first.image.topics().is_empty(), "what was handed out stays as it was");
        keeper.event(at, &TailEvent::Followed { controller: None, epoch: None, detail: "nobody leads" });
        assert_eq!(current(), None);
        keeper.event(at, &TailEvent::Followed { controller: Some(BrokerId(1)), epoch: None, detail: "" });
        assert_eq!(current().unwrap().controller, BrokerId(1));
    }

    #[test]
    fn what_is_not_committed_is_not_said() {
        let (keeper, held, at) = read();
        keeper.event(at, &TailEvent::Record(&topic(8, "orders")));
        keeper.event(at, &TailEvent::Record(&topic(9, "payments")));
        assert_eq!(names(&held), [""; 0]);
        let pending = || held.borrow().current().unwrap().pending;
        assert_eq!(pending(), 2);
        keeper.event(at, &committed(9));
        assert_eq!((names(&held), pending()), (vec!["orders".to_owned()], 1));
        // A new active controller does not have the second.
        keeper.event(at, &TailEvent::Truncated { to_offset: 9, records: 1 });
        let uncommitted = Image::default();
        keeper.event(at, &TailEvent::Image { image: &uncommitted, offset: 8, controller: BrokerId(1), why: ImageReason::Truncated });
        keeper.event(at, &TailEvent::Record(&topic(9, "returns")));
        keeper.event(at, &committed(10));
        assert_eq!((names(&held), pending()), (vec!["orders".to_owned(), "returns".to_owned()], 0));
        // Not even what was committed is there any more: nothing is said before it has been read anew.
        keeper.event(at, &TailEvent::Truncated { to_offset: 5, records: 5 });
        assert_eq!(held.borrow().current(), None);
    }

    #[tokio::test]
    async fn a_log_that_nobody_serves_is_waited_for_no_longer_than_told() {
        let clock = Clock::real();
        let reader = LogReader::start(vec![HostPort::new("127.0.0.1", 1)], &Security::plaintext(), clock.clone());
        let began = clock.now();
        let told = reader.current(&clock, began + Duration::from_millis(200)).await;
        assert!(told.unwrap_err().detail.contains("127.0.0.1:1"), "whom it asked");
        assert!(clock.now().since(began) < Duration::from_secs(2));
    }
}
