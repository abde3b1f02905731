//! A producer against a broker that keeps sequence numbers, while everything that may go wrong does: what is told of each record is true.
//!
//! The log is one for all brokers, as after clean elections. Answers are lost, requests are lost, batches are refused for a while, leaders move
//! with requests on the wire, batches are split, records are refused for good or expire. Then, for any order of these: every record has one
//! outcome; what is ok is in the log once; what failed is not in it; nothing is in it twice; and each partition has its records in the order of
//! their sends.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::lab::{Lab, SentBatch, Written, ms, partition};
use crate::ids::BrokerId;
use crate::kafka::event::Outcome;

/// What happens in one step of the pretended world.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A record is sent to a partition.
    Append(i32),
    /// The oldest request on the wire to this node, or to any, is handled.
    Handle(Handling, i32),
    /// A node's connection breaks.
    Cut(i32),
    /// Another node leads a partition.
    Move(i32, i32),
    /// Time passes.
    Wait(u64),
}

#[derive(Clone, Copy, Debug)]
enum Handling {
    /// As a broker does.
    Well,
    /// Refused before anything is written, for now.
    Refuse(i16),
    /// The same for good, as it is or, for 10, in batches of this size.
    RefuseForGood(i16),
    /// Written, and answered with 20.
    AfterAppend,
    /// Written, and answered as by a broker that lost the lead, the partition or the disk while it waited for its replicas.
    LeaderMovedAfterAppend(i16),
    /// Written, and the connection breaks before the answer.
    LoseAnswer,
    /// The connection breaks before it is read.
    LoseRequest,
}

/// The log and the state of producers, as a broker keeps them: epoch, next number, and the batches that came last. A partition's first number must
/// be 0, as from Kafka 4.5 on: older ones take any, and then may lose the batches before it (KAFKA-15591), which is a test of its own.
#[derive(Debug, Default)]
struct Broker {
    log: BTreeMap<i32, Vec<u64>>,
    state: BTreeMap<i32, ProducerState>,
    /// Records that no batch of so many records, or more, is taken with, and the code.
    refused: BTreeMap<u64, (usize, i16)>,
    /// Records in the log that came again when their batch was not among the last five any more.
    forgotten: BTreeSet<u64>,
}

#[derive(Clone, Debug)]
struct ProducerState {
    epoch: i16,
    next: i32,
    /// Base numbers of the last five batches, with their counts.
    recent: Vec<(i32, usize)>,
}

impl Broker {
    /// From now on no batch with any of these records is taken, unless that has happened.
    fn refuse_for_good(&mut self, batch: &SentBatch, code: i16) {
        let marks = marks_of(batch);
        if !marks.iter().any(|mark| self.log.get(&batch.partition).is_some_and(|log| log.contains(mark))) {
            let count = if code == 10 { marks.len() } else { 1 };
            self.refused.extend(marks.into_iter().map(|mark| (mark, (count, code))));
        }
    }

    /// The code that the batch is answered with.
    fn append(&mut self, batch: &SentBatch) -> i16 {
        let refusal = marks_of(batch).iter().filter_map(|mark| self.refused.get(mark)).find(|(count, _)| *count <= batch.values.len());
        if let Some((_, code)) = refusal {
            return *code;
        }
        let known = self.state.get(&batch.partition).cloned();
        let mut state = known.unwrap_or(ProducerState { epoch: batch.producer.1, next: 0, recent: Vec::new() });
        if batch.producer.1 < state.epoch {
            return 47;
        }
        if batch.producer.1 > state.epoch {
            state = ProducerState { epoch: batch.producer.1, next: 0, recent: Vec::new() };
        } else if state.recent.contains(&(batch.base_sequence, batch.values.len())) {
            return 0;
        }
        if batch.base_sequence != state.next {
            let log = self.log.get(&batch.partition);
            self.forgotten.extend(marks_of(batch).into_iter().filter(|mark| log.is_some_and(|log| log.contains(mark))));
            return 45;
        }
        state.next += i32::try_from(batch.values.len()).unwrap();
        state.recent.push((batch.base_sequence, batch.values.len()));
        let surplus = state.recent.len().saturating_sub(5);
        state.recent.drain(..surplus);
        self.log.entry(batch.partition).or_default().extend(marks_of(batch));
        self.state.insert(batch.partition, state);
        0
    }
}

fn marks_of(batch: &SentBatch) -> Vec<u64> {
    batch.values.iter().map(|value| u64::from_be_bytes(value[..].try_into().unwrap())).collect()
}

struct World {
    lab: Lab,
    broker: Broker,
    sent: u64,
    /// The records of each partition.
    sent_to: BTreeMap<i32, Vec<u64>>,
}

impl World {
    fn new() -> Self {
        Self::with(&[("delivery.timeout.ms", "1500"), ("retries", "20")])
    }

    fn with(patience: &[(&str, &str)]) -> Self {
        let properties = [&[("linger.ms", "2"), ("request.timeout.ms", "400"), ("batch.size", "100")], patience].concat();
        let mut lab = Lab::new(&properties);
        lab.core.use_topic(&super::lab::topic("orders"), lab.now);
        lab.run(ms(300));
        lab.events.clear();
        Self { lab, broker: Broker::default(), sent: 0, sent_to: BTreeMap::new() }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Append(index) => {
                self.sent += 1;
                // After going back to the bootstrap list the topic is unknown for a while: a sender would wait.
                if self.lab.append_value(index, self.sent, &self.sent.to_be_bytes()) {
                    self.sent_to.entry(index).or_default().push(self.sent);
                } else {
                    self.sent -= 1;
                }
            }
            Step::Handle(handling, node) => self.handle(handling, node),
            Step::Cut(node) => self.lab.cut_if_connected(node),
            Step::Move(index, node) => {
                let orders = &mut self.lab.cluster.topics[0].partitions[usize::try_from(index).unwrap()];
                let epoch = orders.epoch.unwrap().0 + 1;
                *orders = partition(index, node, epoch);
            }
            Step::Wait(span_ms) => self.lab.run_silent(ms(span_ms)),
        }
        self.lab.step();
        self.serve_others();
    }

    fn serve_others(&mut self) {
        for api in [3, 22] {
            for written in self.lab.take_written(api) {
                self.lab.answer_well(&written);
            }
        }
        self.lab.step();
    }

    fn handle(&mut self, handling: Handling, node: i32) {
        let oldest =
            |is_wanted: &dyn Fn(&Written) -> bool| self.lab.written.iter().position(|written| written.api_key == 0 && is_wanted(written));
        let Some(position) = oldest(&|written| written.node == BrokerId(node)).or_else(|| oldest(&|_| true)) else { return };
        let written = self.lab.written.remove(position).unwrap();
        match handling {
            Handling::LoseRequest => self.lab.cut_connection(&written),
            Handling::LoseAnswer => {
                self.append(&written, 0);
                self.lab.cut_connection(&written);
            }
            Handling::Well => self.answer(&written, 0),
            Handling::AfterAppend => self.answer(&written, 20),
            Handling::LeaderMovedAfterAppend(code) => self.answer(&written, code),
            Handling::Refuse(code) => self.lab.answer_produce(&written, code),
            Handling::RefuseForGood(code) => {
                let batches = written.batches();
                // As in Java, a batch that fails for good renumbers those before it too, and what a broker has of them is written twice.
                let may_fail = |batch: &&SentBatch| (code == 10 && batch.values.len() > 1) || !self.waits_before(batch);
                let refused: Vec<_> = batches.iter().filter(may_fail).collect();
                refused.into_iter().for_each(|batch| self.broker.refuse_for_good(batch, code));
                self.answer(&written, 0);
            }
        }
    }

    /// Whether a record of the partition that was sent before this batch waits for its outcome.
    fn waits_before(&self, batch: &SentBatch) -> bool {
        let first = marks_of(batch)[0];
        let has_outcome = |mark: &u64| self.lab.outcomes.iter().any(|(told, _)| told == mark);
        self.sent_to.get(&batch.partition).is_some_and(|sent| sent.iter().any(|mark| *mark < first && !has_outcome(mark)))
    }

    fn append(&mut self, written: &Written, code_when_written: i16) -> BTreeMap<i32, i16> {
        let leads = |batch: &SentBatch| {
            let orders = &self.lab.cluster.topics[0].partitions[usize::try_from(batch.partition).unwrap()];
            orders.leader == Some(written.node)
        };
        let mut codes = BTreeMap::new();
        for batch in written.batches() {
            let code = if leads(&batch) { self.broker.append(&batch) } else { 6 };
            codes.insert(batch.partition, if code == 0 { code_when_written } else { code });
        }
        codes
    }

    fn answer(&mut self, written: &Written, code_when_written: i16) {
        let codes = self.append(written, code_when_written);
        let base_offset = |code| if code == 0 || code == code_when_written { 0 } else { -1 };
        self.lab.answer_batches(written, |batch| (codes[&batch.partition], base_offset(codes[&batch.partition])));
    }

    /// Everything heals, and all records get their outcomes.
    fn settle(&mut self) {
        assert!(self.settles(), "records without outcome: {:?}", self.lab.core.unserved());
    }

    /// Everything heals. Whether all records get their outcomes soon.
    fn settles(&mut self) -> bool {
        for _ in 0..4_000 {
            if self.lab.core.is_drained() {
                return true;
            }
            self.step(Step::Wait(1));
            self.step(Step::Handle(Handling::Well, 1));
        }
        false
    }

    /// Partitions where nothing can go on before the delivery time is over, as in Java: their oldest record without an outcome is in the log, in a
    /// batch that the broker does not remember, and a later one is acknowledged, so that the producer takes it for no gap.
    fn overtaken(&self) -> BTreeSet<i32> {
        let told: BTreeMap<u64, &Outcome> = self.lab.outcomes.iter().map(|(mark, outcome)| (*mark, outcome)).collect();
        let is_overtaken = |sent: &Vec<u64>| {
            let oldest = sent.iter().find(|mark| !told.contains_key(mark));
            let is_later_acked = |oldest| sent.iter().any(|mark| mark > oldest && matches!(told.get(mark), Some(Outcome::Ok { .. })));
            oldest.is_some_and(|oldest| self.broker.forgotten.contains(oldest) && is_later_acked(oldest))
        };
        self.sent_to.iter().filter(|(_, sent)| is_overtaken(sent)).map(|(index, _)| *index).collect()
    }

    /// Partitions with records that have no outcome.
    fn waiting(&self) -> BTreeSet<i32> {
        self.lab.core.unserved().iter().map(|(_, partition, ..)| partition.0).collect()
    }

    fn judge(mut self) -> Result<(), TestCaseError> {
        let mut outcomes: BTreeMap<u64, Outcome> = BTreeMap::new();
        for (mark, outcome) in self.lab.take_outcomes() {
            prop_assert!(outcomes.insert(mark, outcome).is_none(), "a second outcome for record {mark}");
        }
        prop_assert_eq!(outcomes.len() as u64, self.sent, "an outcome for each record");
        for (index, log) in &self.broker.log {
            prop_assert!(log.is_sorted(), "order and no duplicates in partition {}: {:?}", index, log);
            prop_assert!(log.windows(2).all(|pair| pair[0] < pair[1]), "no duplicates in partition {}: {:?}", index, log);
        }
        let is_written = |mark: &u64| self.broker.log.values().any(|log| log.contains(mark));
        for (mark, outcome) in &outcomes {
            match outcome {
                Outcome::Ok { .. } => prop_assert!(is_written(mark), "record {mark} is ok and not in the log"),
                Outcome::Failed(failure) => prop_assert!(!is_written(mark), "record {mark} failed and is in the log: {failure:?}"),
                Outcome::Indeterminate(_) => {}
            }
        }
        Ok(())
    }
}

fn handlings() -> impl Strategy<Value = Handling> {
    prop_oneof![
        4 => Just(Handling::Well),
        1 => prop_oneof![Just(6_i16), Just(19), Just(3)].prop_map(Handling::Refuse),
        1 => prop_oneof![Just(10_i16), Just(87)].prop_map(Handling::RefuseForGood),
        1 => Just(Handling::AfterAppend),
        1 => prop_oneof![Just(6_i16), Just(3), Just(56)].prop_map(Handling::LeaderMovedAfterAppend),
        1 => Just(Handling::LoseAnswer),
        1 => Just(Handling::LoseRequest),
    ]
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0..2).prop_map(Step::Append),
        6 => (handlings(), 1..3).prop_map(|(handling, node)| Step::Handle(handling, node)),
        1 => (1..3).prop_map(Step::Cut),
        1 => (0..2, 1..3).prop_map(|(index, node)| Step::Move(index, node)),
        4 => (1_u64..60).prop_map(Step::Wait),
        1 => (400_u64..900).prop_map(Step::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_is_told_of_each_record_is_true(steps in prop::collection::vec(steps(), 1..120)) {
        let mut world = World::new();
        for step in steps {
            world.step(step);
        }
        world.settle();
        world.judge()?;
    }

    /// Faults that pass cost time and nothing else, as long as there is time: whatever came before, a client on a cluster that is well again gets
    /// all of its records acknowledged. Only a partition with an overtaken batch must wait until the time is over.
    #[test]
    fn with_time_left_every_record_is_acknowledged(steps in prop::collection::vec(steps(), 1..120)) {
        let mut world = World::with(&[("delivery.timeout.ms", "3600000")]);
        for step in steps {
            if !matches!(step, Step::Handle(Handling::RefuseForGood(_), _)) {
                world.step(step);
            }
        }
        let mut overtaken = BTreeSet::new();
        if !world.settles() {
            overtaken = world.overtaken();
            prop_assert!(world.waiting().is_subset(&overtaken), "records without outcome: {:?}", world.lab.core.unserved());
            world.lab.now = world.lab.now + ms(3_600_000);
            world.settle();
        }
        for (mark, outcome) in &world.lab.outcomes {
            let is_overtaken = world.sent_to.iter().any(|(index, sent)| overtaken.contains(index) && sent.contains(mark));
            prop_assert!(is_overtaken || matches!(outcome, Outcome::Ok { .. }), "record {mark}: {outcome:?}");
        }
        world.judge()?;
    }
}

/// As in Java: a new batch may go out behind one that is sent again. A broker that takes both and cannot answer remembers the new one and forgets
/// the other, which then comes in vain until its time is over, however often it is sent; and those behind it wait.
#[test]
fn a_batch_that_the_broker_has_forgotten_is_sent_in_vain() {
    let mut world = World::with(&[("delivery.timeout.ms", "3600000")]);
    for _ in 0..5 {
        world.step(Step::Append(0));
        world.step(Step::Wait(5));
    }
    world.step(Step::Handle(Handling::AfterAppend, 1));
    world.step(Step::Handle(Handling::Well, 1));
    world.step(Step::Append(0));
    // The first is sent again and the sixth behind it; then all five requests time out, and the broker takes them nevertheless.
    world.step(Step::Wait(130));
    let on_the_wire: Vec<i32> = world.lab.written.iter().flat_map(Written::numbers).map(|(_, _, base_sequence, _)| base_sequence).collect();
    assert_eq!(on_the_wire, [2, 3, 4, 0, 5]);
    world.step(Step::Wait(400));
    assert!(!world.settles());
    assert_eq!(world.broker.log[&0], [1, 2, 3, 4, 5, 6]);
    assert_eq!(world.broker.forgotten, BTreeSet::from([1]));
    assert_eq!(world.lab.outcomes, [(2, Outcome::Ok { base_offset: 0 })]);
    assert_eq!((world.waiting(), world.overtaken()), (BTreeSet::from([0]), BTreeSet::from([0])));
    world.lab.now = world.lab.now + ms(3_600_000);
    world.settle();
    assert!(world.lab.outcomes.iter().any(|(mark, outcome)| *mark == 1 && matches!(outcome, Outcome::Indeterminate(_))));
    world.judge().unwrap();
}

#[test]
fn the_pretended_broker_keeps_numbers() {
    let batch = |epoch, base_sequence| SentBatch {
        partition: 0,
        producer: (7_000, epoch),
        base_sequence,
        values: vec![bytes::Bytes::copy_from_slice(&0_u64.to_be_bytes())],
    };
    let mut broker = Broker::default();
    let rows = [(1, 0, 0), (1, 0, 0), (1, 2, 45), (1, 1, 0), (0, 2, 47), (2, 3, 45), (2, 0, 0)];
    // Known are the last five batches: 0 is a duplicate behind 4, and out of order behind 5.
    let more_than_known = [(2, 1, 0), (2, 2, 0), (2, 3, 0), (2, 4, 0), (2, 0, 0), (2, 5, 0), (2, 0, 45)];
    for (epoch, base_sequence, code) in rows.into_iter().chain(more_than_known) {
        assert_eq!(broker.append(&batch(epoch, base_sequence)), code, "{epoch} {base_sequence}");
    }
    assert_eq!(broker.log[&0].len(), 8);
}
