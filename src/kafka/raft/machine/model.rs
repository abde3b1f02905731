//! The machine beside a model of a quorum: whatever is written, committed, elected and cut, and in whatever order it is fetched, what was told is
//! the log in the end.

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

use super::told::Told;
use super::*;
use crate::clock::Clock;
use crate::kafka::raft::fetch::{FetchAnswer, SnapshotAnswer};
use crate::kafka::raft::image::Image;
use crate::kafka::raft::ledger::LogPoint;
use crate::kafka::raft::record::{ControlRecord, MetadataRecord};
use crate::kafka::raft::sample::{batch, control_batch, topic};

/// The active controller's log; a record that is `None` is the election of its epoch.
#[derive(Debug, Default)]
struct Quorum {
    log: Vec<(i32, Option<MetadataRecord>)>,
    epoch: i32,
    high_watermark: usize,
    /// The log before this offset is gone into a snapshot.
    start: usize,
}

#[derive(Clone, Debug)]
enum Step {
    Write(u8),
    Commit(prop::sample::Index),
    /// Another controller takes over, with this much of what is not committed.
    Elect(prop::sample::Index),
    /// The beginning goes into a snapshot.
    Snapshot(prop::sample::Index),
    /// The tail does what it wants next.
    Fetch,
    /// The connection breaks.
    Lose,
}

impl Quorum {
    fn apply(&mut self, step: &Step) {
        match step {
            Step::Write(number) if self.epoch > 0 => {
                self.log.push((self.epoch, Some(topic(&format!("topic-{}-{number}", self.log.len()), self.log.len() as u128))));
            }
            Step::Commit(index) => self.high_watermark += index.index(self.log.len() - self.high_watermark + 1),
            Step::Elect(index) => self.elect(self.high_watermark + index.index(self.log.len() - self.high_watermark + 1)),
            Step::Snapshot(index) => self.start += index.index(self.high_watermark - self.start + 1),
            _ => {}
        }
    }

    /// Another controller takes over, whose log has this length.
    fn elect(&mut self, kept: usize) {
        self.log.truncate(kept);
        self.epoch += 1;
        self.log.push((self.epoch, None));
    }

    /// Where the greatest epoch ends that is not above `epoch`. Java: `endOffsetForEpoch`.
    fn end_of(&self, epoch: i32) -> LogPoint {
        let end = self.log.iter().position(|(of, _)| *of > epoch).unwrap_or(self.log.len());
        LogPoint { offset: end as i64, epoch: if end == 0 { 0 } else { self.log[end - 1].0 } }
    }

    fn epoch_before(&self, offset: usize) -> i32 {
        if offset == 0 { 0 } else { self.log[offset - 1].0 }
    }

    /// Java: `validateOffsetAndEpoch`, and what `KafkaRaftClient` makes of it.
    fn answer(&self, ask: &FetchAsk) -> FetchAnswer {
        let high_watermark = Some(self.high_watermark as i64);
        let from = ask.from;
        let earliest = LogPoint { offset: self.start as i64, epoch: self.epoch_before(self.start) };
        let is_before = from.offset < earliest.offset || (from.offset == earliest.offset && from.epoch != earliest.epoch);
        if self.start > 0 && (is_before || from.epoch < earliest.epoch) {
            return FetchAnswer { snapshot: Some(earliest), high_watermark, ..FetchAnswer::default() };
        }
        if from.offset > 0 {
            let end = self.end_of(from.epoch);
            if end.epoch != from.epoch || end.offset < from.offset {
                return FetchAnswer { diverging: Some(end), high_watermark, ..FetchAnswer::default() };
            }
        }
        let mut records = BytesMut::new();
        for (offset, (epoch, record)) in self.log.iter().enumerate().skip(from.offset as usize).take(4) {
            records.extend_from_slice(&batch_of(offset, *epoch, record.as_ref()));
        }
        FetchAnswer { records: records.freeze(), high_watermark, ..FetchAnswer::default() }
    }

    fn snapshot(&self, ask: &SnapshotAsk) -> SnapshotAnswer {
        let mut whole = control_batch(0, 0, &ControlRecord::SnapshotHeader { last_contained_timestamp_ms: 1 }).to_vec();
        for (epoch, record) in self.log[..ask.at.offset as usize].iter().filter(|(_, record)| record.is_some()) {
            whole.extend_from_slice(&batch_of(1, *epoch, record.as_ref()));
        }
        whole.extend_from_slice(&control_batch(2, 0, &ControlRecord::SnapshotFooter));
        let (from, size) = (ask.position as usize, whole.len() as i64);
        let piece = Bytes::copy_from_slice(&whole[from..whole.len().min(from + 100)]);
        SnapshotAnswer { error: None, position: ask.position, size, piece }
    }

    fn image(&self) -> Image {
        let mut image = Image::default();
        self.log.iter().filter_map(|(_, record)| record.as_ref()).for_each(|record| drop(image.replay(record).unwrap()));
        image
    }
}

fn batch_of(offset: usize, epoch: i32, record: Option<&MetadataRecord>) -> Bytes {
    match record {
        Some(record) => batch(offset as i64, epoch, std::slice::from_ref(record)),
        None => control_batch(offset as i64, epoch, &ControlRecord::LeaderChange { leader: BrokerId(epoch) }),
    }
}

/// Does what the machine asks for; the node of an epoch has the epoch's number, and one address.
fn serve(quorum: &Quorum, machine: &mut Machine, clock: &Clock, told: &Told) {
    let now = clock.now();
    match machine.next(now) {
        Ask::Look if quorum.epoch > 0 => machine.told(now, 0, BrokerId(quorum.epoch), LeaderEpoch(quorum.epoch), told),
        Ask::Look => machine.heard(now, 0, "nobody yet".to_owned(), told),
        Ask::Pause(until) => clock.advance(until.since(now)),
        Ask::Fetch(_, ask) if ask.leader_epoch != quorum.epoch => machine.lost(now, "it leads no more", told),
        Ask::Snapshot(_, ask) if ask.leader_epoch != quorum.epoch => machine.lost(now, "it leads no more", told),
        Ask::Fetch(_, ask) => machine.fetched(now, quorum.answer(&ask), told),
        Ask::Snapshot(_, ask) => machine.snapshot_fetched(now, &quorum.snapshot(&ask), told),
    }
    clock.advance(Duration::from_millis(1));
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        4 => any::<u8>().prop_map(Step::Write),
        3 => index().prop_map(Step::Commit),
        1 => index().prop_map(Step::Elect),
        1 => index().prop_map(Step::Snapshot),
        8 => Just(Step::Fetch),
        1 => Just(Step::Lose),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn what_was_told_is_the_log_in_the_end(steps in prop::collection::vec(step(), 0..120), tells_history in any::<bool>()) {
        let (clock, told, mut quorum) = (Clock::manual(), Told::default(), Quorum::default());
        let mut machine = Machine::new(1, tells_history, clock.now());
        for step in &steps {
            quorum.apply(step);
            match step {
                Step::Fetch => serve(&quorum, &mut machine, &clock, &told),
                Step::Lose => machine.lost(clock.now(), "the connection broke", &told),
                _ => {}
            }
        }
        quorum.elect(quorum.log.len());
        quorum.high_watermark = quorum.log.len();
        for _ in 0..300 {
            serve(&quorum, &mut machine, &clock, &told);
        }
        prop_assert_eq!(machine.ledger.end().offset as usize, quorum.log.len());
        prop_assert_eq!(&told.image(), &quorum.image());
        prop_assert_eq!(machine.ledger.committed(), &quorum.image());
        for record in told.records() {
            let (epoch, said) = &quorum.log[record.offset as usize];
            prop_assert_eq!(record.controller_epoch.0, *epoch);
            match said {
                Some(said) => prop_assert_eq!(&record.entry, &crate::kafka::raft::LogEntry::Metadata(said.clone())),
                None => prop_assert!(matches!(record.entry, crate::kafka::raft::LogEntry::Control(_))),
            }
        }
        prop_assert_eq!(told.committed() as usize, quorum.log.len());
    }
}
