//! What the controllers' log itself says, where a controller's listener was given: layer 0 and 1, before any broker has them.
//!
//! A tail reads the log once, and keeps the image up to date between the rounds of a watch. Not here: how a log is read (`kafka::raft`), and
//! what a difference to the brokers' answers means (`diagnose`).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout_at;

use super::sighting::{ControllerLog, Heard, Silence, Unheard};
use crate::clock::{Clock, Moment};
use crate::ids::HostPort;
use crate::kafka::net::traffic::Traffic;
use crate::kafka::raft::record::MetadataRecord;
use crate::kafka::raft::{LogEntry, Tail, TailConfig, TailEvent, TailObserver};
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
    log: Option<ControllerLog>,
    /// Why it is not kept up to date; `None`: it is.
    lost: Option<String>,
}

impl Held {
    fn current(&self) -> Option<&ControllerLog> {
        self.log.as_ref().filter(|_| self.lost.is_none())
    }
}

impl LogReader {
    /// Begins to read.
    pub(super) fn start(controllers: Vec<HostPort>, clock: Clock) -> Self {
        let (tell, held) = watch::channel(Held::default());
        let config = TailConfig { controllers, client_id: CLIENT_ID.to_owned(), tells_history: false };
        Self { _tail: Tail::start(config, clock, Traffic::default(), Arc::new(Keeper(tell))), held }
    }

    /// The log as it stands; waits for the first reading, at most so long.
    pub(super) async fn current(&self, clock: &Clock, until: Moment) -> Heard<ControllerLog> {
        let mut held = self.held.clone();
        let began = clock.now();
        // An error would mean that the tail has ended, which it does not before it is dropped.
        let _ = timeout_at(clock.instant_of(until), held.wait_for(|held| held.current().is_some())).await;
        let held = held.borrow();
        held.current().cloned().ok_or_else(|| not_read(&held, until.since(began)))
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
            TailEvent::Image { image, offset, controller, .. } => self.0.send_modify(|held| {
                let log = ControllerLog { image: Arc::new((*image).clone()), offset: *offset, controller: *controller };
                *held = Held { log: Some(log), lost: None };
            }),
            TailEvent::Record(record) => self.0.send_modify(|held| {
                let Some(log) = &mut held.log else { return };
                log.offset = record.offset;
                // A record that does not fit changes nothing here, as it changes nothing on a broker.
                if let LogEntry::Metadata(metadata) = &record.entry
                    && *metadata != MetadataRecord::NoOp
                {
                    let _ = Arc::make_mut(&mut log.image).replay(metadata);
                }
            }),
            TailEvent::Followed { controller: Some(controller), .. } => self.0.send_modify(|held| {
                held.lost = None;
                if let Some(log) = &mut held.log {
                    log.controller = *controller;
                }
            }),
            TailEvent::Followed { controller: None, detail, .. } => self.0.send_modify(|held| held.lost = Some((*detail).to_owned())),
            // What is committed is the quorum's word; what is truncated is followed by an image.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{BrokerId, LeaderEpoch, TopicId};
    use crate::kafka::raft::image::{Change, Image};
    use crate::kafka::raft::{ImageReason, TailRecord};

    fn record(offset: i64, record: MetadataRecord) -> TailRecord {
        let entry = LogEntry::Metadata(record);
        TailRecord { offset, controller_epoch: LeaderEpoch(1), timestamp_ms: 0, entry, change: Change::Nothing }
    }

    #[tokio::test]
    async fn the_image_is_kept_up_to_date_and_not_believed_while_nobody_leads() {
        let (tell, held) = watch::channel(Held::default());
        let keeper = Keeper(tell);
        let clock = Clock::real();
        let at = clock.now();
        let current = || held.borrow().current().cloned();
        assert_eq!(current(), None);
        let controller = BrokerId(3);
        keeper.event(at, &TailEvent::Image { image: &Image::default(), offset: 7, controller, why: ImageReason::First });
        let first = current().unwrap();
        keeper.event(at, &TailEvent::Record(&record(8, MetadataRecord::NoOp)));
        assert!(Arc::ptr_eq(&first.image, &current().unwrap().image), "nothing changed");
        let id = TopicId(uuid::Uuid::from_u128(1));
        keeper.event(at, &TailEvent::Record(&record(9, MetadataRecord::Topic { name: "orders".into(), id })));
        let now = current().unwrap();
        assert_eq!((now.offset, now.controller, now.image.topic(&"orders".into()).map(|(id, _)| id)), (9, controller, Some(id)));
        assert!(first.image.topics().is_empty(), "what was handed out stays as it was");
        keeper.event(at, &TailEvent::Followed { controller: None, epoch: None, detail: "nobody leads" });
        assert_eq!(current(), None);
        keeper.event(at, &TailEvent::Followed { controller: Some(BrokerId(1)), epoch: None, detail: "" });
        assert_eq!(current().unwrap().controller, BrokerId(1));
    }

    #[tokio::test]
    async fn a_log_that_nobody_serves_is_waited_for_no_longer_than_told() {
        let clock = Clock::real();
        let reader = LogReader::start(vec![HostPort::new("127.0.0.1", 1)], clock.clone());
        let began = clock.now();
        let told = reader.current(&clock, began + Duration::from_millis(200)).await;
        assert!(told.unwrap_err().detail.contains("127.0.0.1:1"), "whom it asked");
        assert!(clock.now().since(began) < Duration::from_secs(2));
    }
}
