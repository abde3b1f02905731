//! What a tail has told, for tests: the log's records as they stand after truncations, and waits for what they say.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kafka_chaos::clock::{Clock, Moment};
use kafka_chaos::ids::{BrokerId, HostPort};
use kafka_chaos::kafka::net::traffic::Traffic;
use kafka_chaos::kafka::raft::image::{Change, Image};
use kafka_chaos::kafka::raft::{ImageReason, Tail, TailConfig, TailEvent, TailObserver, TailRecord};

/// A record with the arrival of its answer, and that of the first answer that had it committed.
#[derive(Clone, Debug)]
pub(crate) struct SeenRecord {
    pub(crate) record: TailRecord,
    pub(crate) arrived: Moment,
    pub(crate) committed: Option<Moment>,
}

/// All that was told.
#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<SeenState>);

#[derive(Debug, Default)]
struct SeenState {
    records: BTreeMap<i64, SeenRecord>,
    images: Vec<(ImageReason, i64, Image)>,
    /// The image with all records that followed on it.
    image: Image,
    followed: Vec<(Moment, Option<BrokerId>, String)>,
    truncated: Vec<(i64, u64)>,
    /// What no tail should tell.
    odd: Vec<String>,
}

impl TailObserver for Seen {
    fn event(&self, at: Moment, event: &TailEvent<'_>) {
        let mut state = self.0.lock().unwrap();
        match event {
            TailEvent::Image { image, offset, why, .. } => {
                state.image = Image::clone(image);
                state.images.push((*why, *offset, Image::clone(image)));
            }
            TailEvent::Record(record) => state.record(at, record),
            TailEvent::Committed { high_watermark, not_before } => {
                if not_before.is_some_and(|before| before > at) {
                    state.odd.push(format!("committed to {high_watermark} before it was known not to be"));
                }
                for (_, seen) in state.records.range_mut(..high_watermark).rev().take_while(|(_, seen)| seen.committed.is_none()) {
                    seen.committed = Some(at);
                }
            }
            TailEvent::Truncated { to_offset, records } => {
                let gone = state.records.split_off(to_offset).len() as u64;
                if gone != *records {
                    state.odd.push(format!("{records} records from {to_offset} on are said to be gone, {gone} were known"));
                }
                state.truncated.push((*to_offset, *records));
            }
            TailEvent::Followed { controller, detail, .. } => {
                eprintln!("follows {controller:?}: {detail}");
                state.followed.push((at, *controller, (*detail).to_owned()));
            }
            other => state.odd.push(format!("{other:?}")),
        }
    }
}

impl SeenState {
    fn record(&mut self, at: Moment, record: &TailRecord) {
        let awaited = self.records.last_key_value().map(|(last, _)| last + 1);
        if awaited.is_some_and(|awaited| record.offset != awaited) {
            self.odd.push(format!("offset {} follows, {awaited:?} was awaited", record.offset));
        }
        if let Change::Refused { reason } = &record.change {
            self.odd.push(format!("offset {} is refused: {reason}", record.offset));
        }
        if let kafka_chaos::kafka::raft::LogEntry::Metadata(said) = &record.entry {
            self.image.replay(said).unwrap();
        }
        self.records.insert(record.offset, SeenRecord { record: record.clone(), arrived: at, committed: None });
    }
}

impl Seen {
    /// Starts a tail of these controllers.
    pub(crate) fn start(controllers: Vec<HostPort>, clock: &Clock, traffic: &Traffic, tells_history: bool) -> (Arc<Self>, Tail) {
        let config = TailConfig { controllers, client: "chaos-tail".into(), tells_history };
        let seen = Arc::new(Self::default());
        let tail = Tail::start(config, clock.clone(), traffic.clone(), Arc::<Self>::clone(&seen));
        (seen, tail)
    }

    /// The records, by offset.
    pub(crate) fn records(&self) -> Vec<SeenRecord> {
        self.0.lock().unwrap().records.values().cloned().collect()
    }

    /// The image with all records that were told since.
    pub(crate) fn image(&self) -> Image {
        self.0.lock().unwrap().image.clone()
    }

    /// The images that were told: why, and with which last offset.
    pub(crate) fn images(&self) -> Vec<(ImageReason, i64)> {
        self.0.lock().unwrap().images.iter().map(|(why, offset, _)| (*why, *offset)).collect()
    }

    /// Who was followed, in order.
    pub(crate) fn followed(&self) -> Vec<(Moment, Option<BrokerId>, String)> {
        self.0.lock().unwrap().followed.clone()
    }

    /// What was taken back: first offset, records.
    pub(crate) fn truncated(&self) -> Vec<(i64, u64)> {
        self.0.lock().unwrap().truncated.clone()
    }

    /// Fails if something was told that no tail should tell.
    pub(crate) fn assert_sound(&self) {
        assert_eq!(self.0.lock().unwrap().odd, Vec::<String>::new());
    }

    /// Waits until `is_there` holds of the image, and the records that made it so are committed.
    pub(crate) async fn until(&self, what: &str, is_there: impl Fn(&Image) -> bool) {
        self.until_state(what, |state| {
            is_there(&state.image) && state.records.last_key_value().is_none_or(|(_, last)| last.committed.is_some())
        })
        .await;
    }

    /// Waits until a record is committed whose change is wanted.
    pub(crate) async fn until_change(&self, what: &str, is_wanted: impl Fn(&Change) -> bool) {
        let is_it = |seen: &SeenRecord| seen.committed.is_some() && is_wanted(&seen.record.change);
        self.until_state(what, |state| state.records.values().any(is_it)).await;
    }

    /// Waits until the record at this offset is committed.
    pub(crate) async fn until_offset(&self, offset: i64) {
        self.until_state("the log's end", |state| state.records.get(&offset).is_some_and(|seen| seen.committed.is_some())).await;
    }

    async fn until_state(&self, what: &str, is_there: impl Fn(&SeenState) -> bool) {
        for _ in 0..3_000 {
            if is_there(&self.0.lock().unwrap()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let state = self.0.lock().unwrap();
        let last: Vec<_> = state.records.values().rev().take(5).collect();
        panic!("within 30 s: not {what}; the last records are {last:#?}, followed {:?}", state.followed);
    }
}
