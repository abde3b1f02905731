//! The machine's way through elections, losses and divergences, and beside a model of a quorum.

use bytes::Bytes;

use super::told::Told;
use super::*;
use crate::clock::Clock;
use crate::kafka::raft::fetch::{FetchAnswer, SnapshotAnswer};
use crate::kafka::raft::ledger::LogPoint;
use crate::kafka::raft::record::{ControlRecord, MetadataRecord};
use crate::kafka::raft::sample::{batch, control_batch, leads, topic};
use crate::kafka::wire::error::ErrorCode;

/// A machine with a clock and what it told.
struct Lab {
    clock: Clock,
    machine: Machine,
    told: Told,
}

impl Lab {
    fn new(tells_history: bool) -> Self {
        let clock = Clock::manual();
        Self { machine: Machine::new(3, tells_history, clock.now()), clock, told: Told::default() }
    }

    /// Follows node 1 in epoch 1, at address 0.
    fn following() -> Self {
        let mut lab = Self::new(false);
        lab.says(0, 1, 1);
        assert_eq!(lab.lines(), ["follows 1 in epoch 1"]);
        lab
    }

    fn says(&mut self, address: usize, node: i32, epoch: i32) {
        self.machine.told(self.clock.now(), address, BrokerId(node), LeaderEpoch(epoch), &self.told);
    }

    fn answers(&mut self, answer: FetchAnswer) {
        self.machine.fetched(self.clock.now(), answer, &self.told);
    }

    /// An answer with these bytes and this high watermark.
    fn sends(&mut self, records: Bytes, high_watermark: i64) {
        self.answers(FetchAnswer { records, high_watermark: Some(high_watermark).filter(|offset| *offset >= 0), ..FetchAnswer::default() });
    }

    fn next(&self) -> Ask {
        self.machine.next(self.clock.now())
    }

    /// What is fetched next: address, offset, epoch of the record before.
    fn fetches(&self) -> (usize, i64, i32) {
        match self.next() {
            Ask::Fetch(address, ask) => (address, ask.from.offset, ask.from.epoch),
            other => panic!("{other:?}"),
        }
    }

    fn lines(&self) -> Vec<String> {
        self.told.lines()
    }

    fn passes(&self, ms: u64) {
        self.clock.advance(Duration::from_millis(ms));
    }
}

fn elected(offset: i64, epoch: i32, node: i32) -> Bytes {
    control_batch(offset, epoch, &ControlRecord::LeaderChange { leader: BrokerId(node) })
}

fn topics(offset: i64, epoch: i32, names: &[&str]) -> Bytes {
    let records: Vec<_> = (0..).zip(names).map(|(number, name)| topic(name, offset as u128 * 10 + number)).collect();
    batch(offset, epoch, &records)
}

fn joined(parts: &[Bytes]) -> Bytes {
    parts.concat().into()
}

#[test]
fn what_is_there_is_told_as_one_image_and_then_each_record() {
    let mut lab = Lab::new(false);
    assert_eq!(lab.next(), Ask::Look);
    lab.says(2, 3, 5);
    assert_eq!(lab.fetches(), (2, 0, 0));
    lab.sends(joined(&[elected(0, 5, 3), topics(1, 5, &["a", "b"])]), 40);
    assert_eq!(lab.lines(), ["follows 3 in epoch 5"], "more is to come");
    assert_eq!(lab.fetches(), (2, 3, 5));
    lab.sends(joined(&[topics(3, 5, &["c"]), topics(4, 5, &["d"])]), 4);
    assert_eq!(lab.lines(), ["image First to 3 from 3: 3 topics", "record 4 of epoch 5: topic d"]);
    lab.sends(Bytes::new(), 5);
    assert_eq!(lab.lines(), ["committed 5"]);
    lab.sends(topics(5, 5, &["e"]), 6);
    assert_eq!(lab.lines(), ["record 5 of epoch 5: topic e", "committed 6"]);
    assert_eq!(lab.told.image().topics().len(), 5);
}

#[test]
fn history_is_told_record_by_record() {
    let mut lab = Lab::new(true);
    lab.says(0, 1, 1);
    lab.sends(joined(&[elected(0, 1, 1), topics(1, 1, &["a"])]), 1);
    let expected =
        ["follows 1 in epoch 1", "image First to -1 from 1: 0 topics", "record 0 of epoch 1: 1 elected", "record 1 of epoch 1: topic a"];
    assert_eq!(lab.lines(), [&expected[..], &["committed 1 (first answer)"]].concat());
}

/// The image lacks what they say, and says so to nobody.
#[test]
fn records_that_do_not_fit_are_told_before_the_image_too() {
    let mut lab = Lab::following();
    lab.sends(joined(&[topics(0, 1, &["a"]), batch(1, 1, &[leads(9, 0, 1)])]), 2);
    let told = lab.lines();
    assert!(told.len() == 2 && told[0].starts_with("record 1 of epoch 1: ") && told[0].contains("refused"), "{told:?}");
    assert_eq!(told[1], "image First to 1 from 1: 1 topics");
}

#[test]
fn a_snapshot_is_fetched_piece_by_piece_and_the_log_behind_it() {
    let header = control_batch(0, 0, &ControlRecord::SnapshotHeader { last_contained_timestamp_ms: 5 });
    let snapshot = joined(&[header, topics(1, 0, &["a", "b"]), control_batch(3, 0, &ControlRecord::SnapshotFooter)]);
    let size = snapshot.len() as i64;
    for tells_history in [false, true] {
        let mut lab = Lab::new(tells_history);
        lab.says(0, 1, 7);
        let at = LogPoint { offset: 900, epoch: 6 };
        lab.answers(FetchAnswer { snapshot: Some(at), high_watermark: Some(950), ..FetchAnswer::default() });
        let mut position = 0;
        for piece in snapshot.chunks(50) {
            assert_eq!(lab.next(), Ask::Snapshot(0, SnapshotAsk { leader_epoch: 7, at, position }));
            let answer = SnapshotAnswer { error: None, position, size, piece: Bytes::copy_from_slice(piece) };
            lab.machine.snapshot_fetched(lab.clock.now(), &answer, &lab.told);
            position += piece.len() as i64;
        }
        assert_eq!(lab.fetches(), (0, 900, 6));
        lab.sends(topics(900, 7, &["c"]), 901);
        let (image, last) = if tells_history {
            ("image Snapshot to 899 from 1: 2 topics", ["record 900 of epoch 7: topic c", "committed 901 (first answer)"].as_slice())
        } else {
            ("image Snapshot to 900 from 1: 3 topics", [].as_slice())
        };
        assert_eq!(lab.lines(), [&["follows 1 in epoch 7", image], last].concat());
    }
}

#[test]
fn what_is_no_snapshot_is_told_and_looked_for_anew() {
    let at = LogPoint { offset: 900, epoch: 6 };
    let whole = topics(0, 0, &["a"]);
    let size = whole.len() as i64;
    let answer = |position, size, piece: &Bytes| SnapshotAnswer { error: None, position, size, piece: piece.clone() };
    let rows = [
        (SnapshotAnswer { error: Some(ErrorCode(98)), ..SnapshotAnswer::default() }, "node 1 answers FetchSnapshot with"),
        (answer(3, size, &whole), "bytes from position 3 came, and those from 0 were asked for"),
        (answer(0, size, &Bytes::new()), "nothing came at position 0"),
        (answer(0, size, &whole), "ends at 95 bytes without a footer"),
        (answer(0, 200, &Bytes::from_static(&[0; 80])), "is said to have 0 bytes"),
        (answer(0, size, &batch(0, 0, &[leads(9, 0, 1)])), "a record of the snapshot is refused: there is no topic"),
    ];
    for (answer, words) in rows {
        let mut lab = Lab::following();
        lab.answers(FetchAnswer { snapshot: Some(at), ..FetchAnswer::default() });
        lab.machine.snapshot_fetched(lab.clock.now(), &answer, &lab.told);
        let lines = lab.lines();
        assert!(lines.len() == 1 && lines[0].starts_with("follows nobody: node 1") && lines[0].contains(words), "{words}: {lines:?}");
        assert_eq!(lab.next(), Ask::Look);
        assert_eq!(lab.machine.ledger.end(), LogPoint::default(), "nothing of it is kept");
    }
}

#[test]
fn after_a_failover_what_the_new_controller_lacks_is_taken_back() {
    let mut lab = Lab::following();
    lab.sends(joined(&[elected(0, 1, 1), topics(1, 1, &["a"]), topics(2, 1, &["b", "c"])]), 2);
    lab.lines();
    lab.machine.lost(lab.clock.now(), "it closed the connection", &lab.told);
    assert_eq!(lab.next(), Ask::Look);
    lab.says(0, 1, 0);
    assert_eq!(lab.next(), Ask::Look, "an old epoch does not count");
    lab.says(1, 2, 3);
    assert_eq!(lab.fetches(), (1, 4, 1));
    // It has node 1's epoch only up to offset 3, and then its own.
    lab.answers(FetchAnswer { diverging: Some(LogPoint { offset: 3, epoch: 1 }), ..FetchAnswer::default() });
    assert_eq!(lab.fetches(), (1, 3, 1));
    lab.sends(elected(3, 3, 2), -1);
    lab.sends(Bytes::new(), 1);
    lab.sends(Bytes::new(), 4);
    let expected = [
        "follows nobody: it closed the connection",
        "follows 2 in epoch 3",
        "truncated 1 from 3 on",
        "image Truncated to 2 from 2: 2 topics",
        "record 3 of epoch 3: 2 elected",
        "committed 4",
    ];
    assert_eq!(lab.lines(), expected);
}

#[test]
fn an_epoch_that_ended_sooner_elsewhere_is_cut_where_it_began() {
    // Ours: epoch 1 up to 2, epoch 2 up to 4. The other controller knows epoch 1 up to 5 and no epoch 2.
    let mut lab = Lab::following();
    lab.sends(joined(&[elected(0, 1, 1), topics(1, 1, &["a"]), elected(2, 2, 2), topics(3, 2, &["b"])]), 1);
    lab.lines();
    lab.answers(FetchAnswer { diverging: Some(LogPoint { offset: 5, epoch: 1 }), ..FetchAnswer::default() });
    assert_eq!(lab.lines(), ["truncated 2 from 2 on", "image Truncated to 1 from 1: 1 topics"]);
    assert_eq!(lab.fetches(), (0, 2, 1));
}

#[test]
fn a_log_that_is_cut_where_it_was_committed_is_read_anew() {
    let mut lab = Lab::following();
    lab.sends(joined(&[elected(0, 1, 1), topics(1, 1, &["a"])]), 2);
    lab.lines();
    lab.answers(FetchAnswer { diverging: Some(LogPoint { offset: 1, epoch: 1 }), ..FetchAnswer::default() });
    assert_eq!(lab.fetches(), (0, 0, 0));
    lab.sends(joined(&[elected(0, 1, 1), topics(1, 1, &["b"])]), 2);
    assert_eq!(lab.lines(), ["truncated 1 from 1 on", "image Anew to 1 from 1: 1 topics"]);
}

#[test]
fn what_is_no_log_is_told_and_the_controller_looked_for_anew() {
    let whole = topics(0, 1, &["a"]);
    let mut damaged = whole.to_vec();
    *damaged.last_mut().unwrap() ^= 1;
    let rows = [
        (FetchAnswer { error: Some(ErrorCode::NOT_LEADER_OR_FOLLOWER), ..FetchAnswer::default() }, "node 1 answers Fetch with"),
        (FetchAnswer { records: damaged.into(), ..FetchAnswer::default() }, "its checksum does not fit"),
        (FetchAnswer { records: whole.slice(..70), ..FetchAnswer::default() }, "no new record is whole in 70 bytes"),
        (FetchAnswer { records: topics(4, 1, &["a"]), ..FetchAnswer::default() }, "a batch begins at offset 4, and 0 is awaited"),
        (
            FetchAnswer { diverging: Some(LogPoint { offset: 3, epoch: 0 }), ..FetchAnswer::default() },
            "differs from offset 3 on, and 0 is not",
        ),
    ];
    for (answer, words) in rows {
        let mut lab = Lab::following();
        lab.answers(answer);
        let lines = lab.lines();
        assert!(lines.len() == 1 && lines[0].starts_with("follows nobody:") && lines[0].contains(words), "{words}: {lines:?}");
        assert_eq!(lab.next(), Ask::Look);
    }
}

#[test]
fn a_record_that_cannot_be_read_is_told_and_passed_over() {
    let mut lab = Lab::following();
    let unfit = batch(1, 1, &[leads(9, 0, 1), MetadataRecord::Other { api_key: 14 }, MetadataRecord::NoOp]);
    lab.sends(elected(0, 1, 1), 1);
    lab.lines();
    lab.sends(unfit, 4);
    let no_topic = "record 1 of epoch 1: refused, there is no topic 00000000-0000-0000-0000-000000000009";
    let expected = [no_topic, "record 2 of epoch 1: nothing", "record 3 of epoch 1: nothing", "committed 4"];
    assert_eq!(lab.lines(), expected);
    assert_eq!(lab.machine.skipped(), &Skipped { by_kind: [(14, 1)].into(), refused: 1 });
}

#[test]
fn an_aborted_transaction_is_taken_back() {
    let mut lab = Lab::following();
    lab.sends(joined(&[elected(0, 1, 1), topics(1, 1, &["a"])]), 2);
    lab.lines();
    let transaction = [MetadataRecord::BeginTransaction { name: None }, topic("b", 9), MetadataRecord::AbortTransaction { reason: None }];
    lab.sends(joined(&[batch(2, 1, &transaction), topics(5, 1, &["c"])]), 4);
    let expected = [
        "record 2 of epoch 1: nothing",
        "record 3 of epoch 1: topic b",
        "record 4 of epoch 1: TransactionAborted",
        "record 5 of epoch 1: topic c",
        "image Truncated to 5 from 1: 2 topics",
        "committed 4",
    ];
    assert_eq!(lab.lines(), expected);
}

#[test]
fn records_that_stay_uncommitted_make_it_look_around_once_a_second() {
    let mut lab = Lab::following();
    lab.sends(elected(0, 1, 1), 1);
    lab.sends(topics(1, 1, &["a"]), 1);
    let looks = |lab: &mut Lab| lab.machine.looks_around(lab.clock.now());
    lab.passes(999);
    assert!(!looks(&mut lab));
    lab.passes(1);
    assert!(looks(&mut lab) && !looks(&mut lab), "once");
    lab.says(0, 1, 1);
    lab.machine.heard(lab.clock.now(), 1, "not I".to_owned(), &lab.told);
    assert!(lab.machine.still_fetches(0, 1), "it still leads");
    lab.passes(1_000);
    assert!(looks(&mut lab));
    lab.lines();
    lab.says(2, 3, 2);
    assert!(!lab.machine.still_fetches(0, 1));
    assert_eq!((lab.fetches(), lab.lines()), ((2, 2, 1), vec!["follows 3 in epoch 2".to_owned()]));
    // What is committed lets the rest wait its second anew.
    lab.passes(900);
    lab.sends(topics(2, 2, &["b"]), 2);
    lab.passes(900);
    assert!(!looks(&mut lab));
}

#[test]
fn that_nobody_leads_is_told_once_all_have_been_heard() {
    let mut lab = Lab::new(false);
    let heard = |lab: &mut Lab, address| lab.machine.heard(lab.clock.now(), address, format!("{address} does not"), &lab.told);
    for address in [0, 1, 1] {
        heard(&mut lab, address);
    }
    assert_eq!((lab.next(), lab.lines().len()), (Ask::Look, 0));
    heard(&mut lab, 2);
    heard(&mut lab, 0);
    assert_eq!(lab.lines(), ["follows nobody: no controller leads: 0 does not; 1 does not; 2 does not"]);
    lab.says(1, 2, 4);
    lab.machine.lost(lab.clock.now(), "gone", &lab.told);
    lab.says(0, 1, 3);
    heard(&mut lab, 1);
    heard(&mut lab, 2);
    assert_eq!(lab.lines(), ["follows 2 in epoch 4", "follows nobody: gone"], "the loss is told already");
}

#[test]
fn a_controller_that_only_says_that_it_leads_is_asked_ever_more_seldom() {
    let mut lab = Lab::following();
    let mut pauses = Vec::new();
    for _ in 0..10 {
        lab.answers(FetchAnswer { error: Some(ErrorCode::FENCED_LEADER_EPOCH), ..FetchAnswer::default() });
        if let Ask::Pause(until) = lab.next() {
            let pause = until.since(lab.clock.now());
            pauses.push(pause.as_millis());
            lab.clock.advance(pause);
        }
        assert_eq!(lab.next(), Ask::Look);
        lab.says(0, 1, 1);
    }
    assert_eq!(pauses, [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 6_400], "the first loss is no reason to pause");
    lab.sends(elected(0, 1, 1), 1);
    lab.machine.lost(lab.clock.now(), "gone", &lab.told);
    assert_eq!(lab.next(), Ask::Look, "something good came between");
}

#[test]
fn of_a_controller_that_commits_nothing_only_so_many_records_are_kept() {
    let mut lab = Lab::following();
    let mut offset = 0;
    for round in 0..21 {
        let names: Vec<String> = (0..10_000).map(|number| format!("topic-{round}-{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert!(!lab.lines().iter().any(|line| line.starts_with("follows nobody")), "after {offset} records");
        lab.sends(topics(offset, 1, &names), -1);
        offset += 10_000;
    }
    let last = lab.lines().pop().unwrap();
    assert!(last.starts_with("follows nobody:") && last.contains("more than 200000 records without committing one"), "{last}");
    assert_eq!(lab.next(), Ask::Look);
}
