//! The engine without a JVM: lines as the program writes them, and the figures that they make.

use std::collections::BTreeMap;

use std::time::Duration;

use super::*;
use crate::audit::Ledger;
use crate::clock::Moment;
use crate::engine::generator::Generator;
use crate::ids::TopicName;
use crate::plan::model::{Active, Arrivals, EngineKind, Load, RecordSpec};
use crate::record::fact::{GroupSecond, Stamped, Totals};
use crate::record::sink::{self, FactSource};

/// A group of two producers.
pub(in crate::engine) fn group(load: Load) -> ProducerGroup {
    ProducerGroup {
        name: "steady".into(),
        count: 2,
        engine: EngineKind::Java,
        share: None,
        topics: vec![TopicName::from("orders")],
        load,
        record: RecordSpec { size_bytes: 100, keys: None },
        active: Active { from: Duration::ZERO, until: None },
        ramp: Duration::ZERO,
        config: BTreeMap::new(),
        bootstrap: None,
    }
}

/// When the group becomes active; second 0 begins then too.
const START: Moment = Moment(5_000_000);

fn book(load: Load) -> (Book, FactSource) {
    let group = group(load);
    let (facts, source) = sink::channel(START, 0, 256);
    let recorder = Arc::new(GroupRecorder::new(&group, facts, Arc::new(Ledger::new(0)), tells(&group, (true, true))));
    let senders = schedule::senders(&group);
    let due_counts = schedule::due_counts(&group, 7);
    let teller = SecondTeller::new(Arc::clone(&recorder), Arc::clone(&senders), due_counts, START);
    let schedule = Schedule { active_from: START, end: Moment(u64::MAX), next_second: 0 };
    (Book::new(recorder, senders, Arc::new(Generator::new()), schedule, teller), source)
}

fn enter(book: &mut Book, lines: &[&str]) -> Result<(), ProgramError> {
    lines.iter().try_for_each(|text| book.enter(line::parse(text.as_bytes()).unwrap()))
}

fn told(mut source: FactSource) -> Vec<Stamped> {
    std::iter::from_fn(|| source.try_next()).collect()
}

fn seconds(facts: &[Stamped]) -> Vec<GroupSecond> {
    let second = |fact: &Stamped| if let Fact::Second(second) = &fact.fact { Some(GroupSecond::clone(second)) } else { None };
    facts.iter().filter_map(second).collect()
}

fn totals(facts: &[Fact]) -> Vec<Totals> {
    let of = |fact: &Fact| if let Fact::ProducerTotals { totals, .. } = fact { Some(*totals) } else { None };
    facts.iter().filter_map(of).collect()
}

#[test]
fn what_the_program_tells_becomes_the_groups_figures() {
    let (mut book, source) = book(Load::Open { rate_per_second: 10.0, arrivals: Arrivals::Constant });
    let lines = [
        r#"{"made":[[0,0]],"sent":[[0,1]],"late":[[5,1]],"blocked":[[0,0,0]],"clients":[[0,null,100]],"process":[10000,900,5],"t":[1000,1000]}"#,
        r#"{"metadata":[["sent",0,2000,-1,[]],["updated",0,5000,2,[[0,3]]]],"waits":[[0,0,6000,5900,1]],"t":[7000,7000]}"#,
        r#"{"sent":[[0,1]],"records":[[0,0,2,0,10,20000,0,0]]}"#,
        r#"{"errors":[[1,"indeterminate","TimeoutException",null,"x"],[2,"failed","TimeoutException",null,"y"]],"made":[[1,50000]],
            "sent":[[0,3],[1,2]],"records":[[0,0,1,100000,100010,300000,1,0],[1,0,-1,50000,50010,310000,2,0],[0,0,2,200000,200010,320000,0,0],
            [1,0,0,150000,150010,320000,0,0]],"metadata":[["sent",0,330000,2,[]],["cut_off",0,340000,0,[]]],"blocked":[],"end":250000,"t":[400000,400000]}"#,
        r#"{"t":[1000000,1000000]}"#,
    ];
    enter(&mut book, &lines).unwrap();
    let last = book.close(START + Duration::from_secs(1));
    let facts = told(source);
    let second = &seconds(&facts)[0];
    assert_eq!(second.counts, Totals { due: 5, sent: 5, ok: 3, failed: 1, indeterminate: 1 });
    assert_eq!(second.metadata_requests.as_ref().unwrap()["unknown"], 2);
    assert_eq!((second.blocked_metadata, second.blocked_memory), (Some(1), Some(0)));
    assert_eq!((second.buffer_free_bytes, second.metadata_request_bytes, second.stalled_pairs), (None, None, None), "not all tell");
    let requests: Vec<(&str, u64, i32)> = facts
        .iter()
        .filter_map(|fact| match &fact.fact {
            Fact::MetadataRequest { outcome, round_trip_us, node, reason, full: None, .. } if reason == "unknown" => {
                Some((outcome.as_str(), *round_trip_us, node.0))
            }
            _ => None,
        })
        .collect();
    assert_eq!(requests, [("updated", 3_000, -1), ("disconnected", 10_000, 2)]);
    let growth = |fact: &Stamped| matches!(&fact.fact, Fact::PartitionCount { from: 0, to: 3, reason: None, .. } if fact.time_us == 5_000);
    assert_eq!(facts.iter().filter(|fact| growth(fact)).count(), 1);
    assert!(facts.iter().any(|fact| matches!(&fact.fact, Fact::ClientProcess(process) if process.rss_bytes == 900)));
    let first = Totals { due: 3, sent: 3, ok: 2, failed: 0, indeterminate: 1 };
    assert_eq!(totals(&last), [first, Totals { due: 2, sent: 2, ok: 1, failed: 1, indeterminate: 0 }]);
}

#[test]
fn snapshots_tell_what_has_changed() {
    let (mut book, source) = book(Load::Max);
    let lines = [
        r#"{"made":[[0,0]],"metadata":[["updated",0,1000,1,[[0,3]]],["updated",0,2000,2,[]],["updated",0,3000,3,[[0,6]]]]}"#,
        r#"{"metadata":[["updated",0,4000,4,[[0,0]]],["updated",0,5000,5,[]],["updated",0,6000,6,[[0,2]]]]}"#,
    ];
    enter(&mut book, &lines).unwrap();
    let last = book.close(START + Duration::from_secs(1));
    let change = |fact: &Stamped| match fact.fact {
        Fact::PartitionCount { from, to, .. } => Some((fact.time_us, from, to)),
        _ => None,
    };
    let changes: Vec<_> = told(source).iter().filter_map(change).collect();
    assert_eq!(changes, [(1_000, 0, 3), (3_000, 3, 6), (4_000, 6, 0), (6_000, 0, 2)]);
    let cached = |fact: &Fact| if let Fact::ProducerTotals { cached_partitions, .. } = fact { cached_partitions.clone() } else { None };
    assert_eq!(last.iter().find_map(cached).unwrap()["orders"], 2);
}

#[test]
fn a_record_that_its_sender_gave_up_counts_once() {
    let (mut book, source) = book(Load::Closed { wait: Duration::from_secs(1), every: Duration::ZERO });
    let lines = [
        r#"{"made":[[0,0]],"sent":[[0,1]],"records":[[0,0,-1,0,0,1000000,-1,0]],"t":[1000001,1000001]}"#,
        r#"{"sent":[[0,2]],"records":[[0,0,2,0,0,1500000,0,0],[0,0,2,1000001,1000001,1500000,0,0]],"t":[1500001,1500001]}"#,
    ];
    enter(&mut book, &lines).unwrap();
    let last = book.close(START + Duration::from_secs(2));
    assert_eq!(totals(&last), [Totals { due: 2, sent: 2, ok: 1, failed: 0, indeterminate: 1 }]);
    let facts = told(source);
    let late = |fact: &Stamped| matches!(&fact.fact, Fact::RecordErrors { outcome, count: 1, .. } if outcome == "late_ok");
    assert!(facts.iter().any(late), "{facts:?}");
}

#[test]
fn seconds_are_told_when_all_of_them_is_and_a_pause_skips_none() {
    let (mut book, source) = book(Load::Max);
    enter(&mut book, &[r#"{"t":[-300,-300]}"#, r#"{"t":[999999,999999]}"#, r#"{"t":[3100000,3100000]}"#]).unwrap();
    assert_eq!(seconds(&told(source)).iter().map(|second| second.second).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn words_of_what_is_not_there_and_lost_words_are_no_figures() {
    for text in [
        r#"{"sent":[[2,1]]}"#,
        r#"{"made":[[2,0]]}"#,
        r#"{"metadata":[["sent",1,0,0,[]]]}"#,
        r#"{"made":[[0,0]],"metadata":[["updated",0,0,0,[[1,3]]]]}"#,
        r#"{"made":[[0,0]],"records":[[0,1,0,0,0,0,0,0]]}"#,
        r#"{"made":[[0,0]],"records":[[0,0,0,0,0,0,7,0]]}"#,
        r#"{"records":[[0,0,0,0,0,0,0,0]]}"#,
        r#"{"blocked":[[9,0,0]]}"#,
    ] {
        let (mut book, _source) = book(Load::Max);
        assert!(matches!(enter(&mut book, &[text]), Err(ProgramError::Unknown(_))), "{text}");
    }
    let (mut book, source) = book(Load::Max);
    enter(&mut book, &[r#"{"untold":3,"metadata_lost":1,"t":[5,5]}"#]).unwrap();
    assert!(told(source).iter().any(|fact| matches!(fact.fact, Fact::FactsLost { count: 4 })));
}

#[test]
fn the_heap_has_room_for_every_clients_buffer() {
    let mut group = group(Load::Max);
    assert_eq!(heap_bytes(&group) >> 20, 256 + 2 * 34);
    group.config.insert("buffer.memory".into(), "1048576".into());
    group.count = 10;
    group.share = std::num::NonZeroU32::new(4);
    assert_eq!(heap_bytes(&group) >> 20, 256 + 3 * 3);
    group.count = PRODUCERS_MAX + 1;
    assert!(JavaEngine::default().check(&group).unwrap_err().is_plan_fault());
}

#[test]
fn what_was_handed_over_while_a_second_was_told_is_not_more_than_what_is_due() {
    let (mut book, source) = book(Load::Open { rate_per_second: 10.0, arrivals: Arrivals::Constant });
    // All outcomes until 1 s; meanwhile each has handed over those that are due at 1 s and 1.05 s.
    enter(&mut book, &[r#"{"made":[[0,0],[1,0]],"sent":[[0,11],[1,11]],"t":[1000000,1060000]}"#]).unwrap();
    let counts = seconds(&told(source))[0].counts;
    assert_eq!((counts.due, counts.sent), (22, 22));
}

#[test]
fn what_was_handed_over_before_the_program_heard_of_its_end_was_due() {
    let (mut book, source) = book(Load::Open { rate_per_second: 10.0, arrivals: Arrivals::Constant });
    // Told to end at 1 s, which it hears at 1.04 s.
    let lines =
        [r#"{"made":[[0,0],[1,0]],"sent":[[0,11],[1,10]],"t":[1030000,1030000]}"#, r#"{"end":1050000,"t":[1100000,1100000],"last":1}"#];
    enter(&mut book, &lines).unwrap();
    let last = book.close(START + Duration::from_secs(2));
    assert_eq!(totals(&last).iter().map(|totals| (totals.due, totals.sent)).collect::<Vec<_>>(), [(11, 11), (10, 10)]);
    assert_eq!(seconds(&told(source)).iter().map(|second| second.counts.due).sum::<u64>(), 21);
}

#[test]
fn records_of_a_client_that_could_not_be_made_have_failed() {
    let (mut book, source) = book(Load::Open { rate_per_second: 10.0, arrivals: Arrivals::Constant });
    let lines = [
        r#"{"errors":[[1,"failed","ConfigException",null,"No resolvable bootstrap urls"]],"sent":[[0,1]],"made":[[0,7]],
            "records":[[0,0,-1,0,7,9,1,0]]}"#,
        r#"{"end":1,"t":[1000000,1000000]}"#,
    ];
    enter(&mut book, &lines).unwrap();
    let last = book.close(START + Duration::from_secs(1));
    assert_eq!(totals(&last), [Totals { due: 1, sent: 1, ok: 0, failed: 1, indeterminate: 0 }]);
    assert!(told(source).iter().any(|fact| matches!(&fact.fact, Fact::RecordErrors { outcome, count: 1, .. } if outcome == "failed")));
}

#[test]
fn an_outcome_that_is_older_than_its_record_is_counted_as_such() {
    let (mut book, source) = book(Load::Max);
    // Known before it was handed over, before it was due, and at the very moment.
    let records = r#"{"made":[[0,0]],"sent":[[0,3]],"records":[[0,0,2,0,10,9,0,0],[0,0,2,12,10,11,0,0],[0,0,2,20,20,20,0,0]]}"#;
    enter(&mut book, &[records, r#"{"t":[1000000,1000000]}"#]).unwrap();
    let facts = told(source);
    let early =
        |fact: &Stamped| if let Fact::RecordErrors { outcome, count, .. } = &fact.fact { Some((outcome.clone(), *count)) } else { None };
    assert_eq!(facts.iter().filter_map(early).collect::<Vec<_>>(), [("early".to_owned(), 2)]);
    assert_eq!(seconds(&facts)[0].counts.ok, 3);
}

#[test]
fn waits_are_unknown_where_the_client_does_not_tell_or_is_shared() {
    let mut group = group(Load::Max);
    let waits = |group: &ProducerGroup, told| {
        let tells = tells(group, told);
        (tells.waits_for_metadata, tells.waits_for_memory)
    };
    assert_eq!(waits(&group, (true, true)), (true, true));
    assert_eq!(waits(&group, (false, true)), (false, true));
    group.share = std::num::NonZeroU32::new(2);
    assert_eq!(waits(&group, (true, true)), (false, false));
}
