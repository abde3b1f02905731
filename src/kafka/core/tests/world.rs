//! A core in a world that does whatever a random history says, and the invariants that hold after every step of it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use super::lab::{
    START, Written, answer, api_versions_frame, config, metadata_frame, partition, produce_frame, producer_id_frame, read_request, topic,
};
use super::lab::{topic_answer, topic_error};
use super::leader_hints::{Says, hinting_frame};
use crate::clock::Moment;
use crate::ids::{BrokerId, HostPort, PartitionIndex, UpdateVersion};
use crate::kafka::core::accumulator::{Append, Appended};
use crate::kafka::core::client::ProducerCore;
use crate::kafka::core::connections::{ConnectAttempt, ConnectionId};
use crate::kafka::core::memory::MemoryTicket;
use crate::kafka::core::output::{Action, Output, Publication};
use crate::kafka::event::{Outcome, RecordTag};
use crate::kafka::metadata::Snapshot;
use crate::kafka::wire::messages::MetadataAnswer;

pub(super) const BROKERS: i32 = 3;
const ENDPOINTS: [(i32, &str, i32); 3] = [(1, "127.0.0.1", 9001), (2, "127.0.0.1", 9002), (3, "127.0.0.1", 9003)];
const TOPICS: [&str; 2] = ["orders", "more"];

/// A core, its pretended network, and what the invariants need to remember.
pub(super) struct World {
    pub(super) core: ProducerCore,
    pub(super) now: Moment,
    /// When the core wants to be called again.
    next: Option<Moment>,
    connecting: Vec<ConnectAttempt>,
    links: Vec<Link>,
    /// Answers that come after their connection is gone.
    late: Vec<(BrokerId, ConnectionId, Bytes)>,
    /// What the brokers believed once; the last is the truth.
    beliefs: Vec<MetadataAnswer>,
    in_flight_max: usize,
    acks_none: bool,
    in_order: bool,
    last_version: UpdateVersion,
    last_snapshot: Arc<Snapshot>,
    /// Versions that `send`s wait to be passed.
    waiters: Vec<UpdateVersion>,
    tickets: Vec<MemoryTicket>,
    held_bytes: usize,
    next_mark: u64,
    outcomes: BTreeMap<u64, Option<Outcome>>,
    acknowledged: BTreeMap<(String, i32), u64>,
}

struct Link {
    id: ConnectionId,
    node: BrokerId,
    unwritten: VecDeque<Written>,
    unanswered: VecDeque<Written>,
}

/// How a request is answered.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reply {
    Well,
    Code(i16),
    /// Metadata as it was believed some changes ago.
    Stale(usize),
    NoBrokers,
    Garbage,
    WrongId,
    /// A Produce request is told of another leader; others are answered well.
    Hint {
        leader: i32,
        epoch: i32,
    },
}

impl World {
    pub(super) fn new(properties: &[(&str, &str)], seed: u64) -> Self {
        let config = config(properties);
        let truth = answer(BROKERS, vec![topic_answer("orders", 7, vec![partition(0, 1, 5), partition(1, 2, 5), partition(2, 3, 5)])]);
        let (in_flight_max, acks_none) = (config.in_flight_max, properties.contains(&("acks", "0")));
        let core = ProducerCore::new(config, vec![HostPort::new("127.0.0.1", 9001)], "world", seed);
        Self {
            now: START,
            next: None,
            connecting: Vec::new(),
            links: Vec::new(),
            late: Vec::new(),
            beliefs: vec![truth],
            in_flight_max,
            acks_none,
            in_order: in_flight_max == 1,
            last_version: core.snapshot().update_version,
            last_snapshot: Arc::clone(core.snapshot()),
            waiters: Vec::new(),
            tickets: Vec::new(),
            held_bytes: 0,
            next_mark: 0,
            outcomes: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            core,
        }
    }

    /// `send`: appends to a topic of the snapshot, or asks for the topic and waits.
    pub(super) fn send(&mut self, which: usize, index: Option<i32>, bytes: usize) {
        let name = topic(TOPICS[which % TOPICS.len()]);
        let Some(view) = self.core.snapshot().topic(&name).filter(|view| view.partition_count() > 0).cloned() else {
            let asked = self.core.request_topic(&name, self.now);
            self.waiters.push(asked);
            return;
        };
        let record = Append {
            topic: &name,
            partition: index.map(|index| PartitionIndex(index % i32::try_from(view.partition_count()).unwrap())),
            key: None,
            value: &vec![b'v'; bytes],
            timestamp_ms: 0,
            tag: RecordTag { mark: self.next_mark, number: 0, sent_at: self.now },
        };
        match self.core.append(&record, &view, None, self.now) {
            Appended::Done { .. } => {
                self.outcomes.insert(self.next_mark, None);
                self.next_mark += 1;
            }
            Appended::NeedsMemory { bytes } => self.tickets.push(self.core.queue_for_memory(bytes)),
        }
    }

    /// Takes what memory was granted, or gives a place in the queue up; gives back what is held.
    pub(super) fn settle_memory(&mut self, abandon: bool) {
        for ticket in std::mem::take(&mut self.tickets) {
            match self.core.redeem_memory(ticket) {
                Some(bytes) => self.held_bytes += bytes,
                None if abandon => self.core.abandon_memory(ticket),
                None => self.tickets.push(ticket),
            }
        }
        self.core.accumulator.memory.give_back(std::mem::take(&mut self.held_bytes));
    }

    pub(super) fn change(&mut self, change: impl FnOnce(&mut MetadataAnswer)) {
        let mut truth = self.truth();
        change(&mut truth);
        self.beliefs.push(truth);
    }

    pub(super) fn truth(&self) -> MetadataAnswer {
        self.beliefs.last().unwrap().clone()
    }

    pub(super) fn advance(&mut self, span: Duration) {
        self.now = self.now + span;
    }

    /// To the moment that the core asked for.
    pub(super) fn advance_to_next(&mut self) {
        self.now = self.next.map_or(self.now, |next| next.max(self.now));
    }

    pub(super) fn connect(&mut self, which: usize, succeeds: bool) {
        if self.connecting.is_empty() {
            return;
        }
        let attempt = self.connecting.remove(which % self.connecting.len());
        if succeeds {
            self.links.push(Link { id: attempt.id, node: attempt.node, unwritten: VecDeque::new(), unanswered: VecDeque::new() });
            self.core.on_connected(attempt.node, attempt.id, self.now);
        } else {
            self.core.on_connect_failed(attempt.node, attempt.id, self.now);
        }
    }

    pub(super) fn cut(&mut self, which: usize) {
        if self.links.is_empty() {
            return;
        }
        let link = self.links.remove(which % self.links.len());
        self.keep_late_answers(&link);
        self.core.on_disconnected(link.node, link.id, self.now);
    }

    fn keep_late_answers(&mut self, link: &Link) {
        let answers = link.unanswered.iter().map(|written| (link.node, link.id, self.frame(written, Reply::Well)));
        let answers: Vec<_> = answers.collect();
        self.late.extend(answers);
    }

    pub(super) fn late_answer(&mut self) {
        if let Some((node, id, frame)) = self.late.pop() {
            self.core.on_frame(node, id, frame, self.now);
        }
    }

    pub(super) fn write(&mut self, which: usize) {
        if self.links.is_empty() {
            return;
        }
        let at = which % self.links.len();
        let link = &mut self.links[at];
        if let Some(written) = link.unwritten.pop_front() {
            if written.api_key != 0 || !self.acks_none {
                link.unanswered.push_back(written);
            }
            self.core.on_written(link.node, link.id, self.now);
        }
    }

    /// Answers the oldest request of a link.
    pub(super) fn reply(&mut self, which: usize, reply: Reply) {
        if self.links.is_empty() {
            return;
        }
        let at = which % self.links.len();
        if let Some(written) = self.links[at].unanswered.pop_front() {
            let frame = self.frame(&written, reply);
            self.core.on_frame(written.node, written.connection, frame, self.now);
        }
    }

    fn frame(&self, written: &Written, reply: Reply) -> Bytes {
        let truth = match reply {
            Reply::Stale(steps) => self.beliefs[self.beliefs.len() - 1 - steps % self.beliefs.len()].clone(),
            Reply::NoBrokers => MetadataAnswer { brokers: Vec::new(), ..self.truth() },
            Reply::Code(code) => MetadataAnswer { topics: TOPICS.map(|name| topic_error(name, code)).into(), ..self.truth() },
            _ => self.truth(),
        };
        let code = if let Reply::Code(code) = reply { code } else { 0 };
        let frame = match written.api_key {
            18 => api_versions_frame(written, true),
            3 => metadata_frame(written, &truth),
            0 => match reply {
                Reply::Hint { leader, epoch } => hinting_frame(written, Says { code: 6, leader, epoch, endpoints: &ENDPOINTS }),
                _ => produce_frame(written, code),
            },
            22 => producer_id_frame(written, code, 0),
            other => panic!("unexpected api key {other}"),
        };
        let mut bytes = BytesMut::from(&frame[..]);
        match reply {
            Reply::Garbage => bytes.truncate(6),
            Reply::WrongId => bytes[3] ^= 0x55,
            _ => {}
        }
        bytes.freeze()
    }

    /// Passes of the core until it has nothing more to do now, as the driver makes them; then everything that must hold.
    pub(super) fn step(&mut self) {
        for pass in 0.. {
            assert!(pass < 20, "the core does not come to rest at one moment");
            self.next = self.core.turn(self.now);
            let output = self.core.take_output();
            let acts = !output.actions.is_empty();
            self.take(output);
            if !acts && self.next.is_none_or(|next| next > self.now) {
                break;
            }
        }
        self.check();
    }

    /// What events have left in the core's hands without a pass.
    pub(super) fn take_output(&mut self) {
        let output = self.core.take_output();
        self.take(output);
    }

    fn take(&mut self, output: Output) {
        for publication in output.publications {
            self.published(&publication);
        }
        for delivery in &output.deliveries {
            let seen = delivery.as_seen();
            for tag in seen.records {
                let outcome = self.outcomes.get_mut(&tag.mark).expect("a record that was appended");
                assert!(outcome.is_none(), "record {} has two outcomes: {outcome:?} and {:?}", tag.mark, seen.outcome);
                *outcome = Some(seen.outcome.clone());
                if matches!(seen.outcome, Outcome::Ok { .. }) && self.in_order {
                    let last = self.acknowledged.insert((seen.topic.to_string(), seen.partition.0), tag.mark);
                    assert!(last.is_none_or(|last| last < tag.mark), "record {} was overtaken by {last:?}", tag.mark);
                }
            }
        }
        for action in output.actions {
            match action {
                Action::Connect(attempt) => self.connecting.push(attempt),
                Action::Write { connection, frame } => {
                    let link = self.links.iter_mut().find(|link| link.id == connection).expect("a connection that is up");
                    link.unwritten.push_back(read_request(link.node, connection, frame.to_bytes()));
                }
                Action::Close { connection } => {
                    self.connecting.retain(|attempt| attempt.id != connection);
                    if let Some(at) = self.links.iter().position(|link| link.id == connection) {
                        let link = self.links.remove(at);
                        self.keep_late_answers(&link);
                    }
                }
            }
        }
    }

    fn published(&mut self, publication: &Publication) {
        let snapshot = &publication.snapshot;
        if publication.wake {
            assert!(snapshot.update_version > self.last_version, "a waiter of version {:?} is woken for nothing", self.last_version);
            assert!(self.waiters.iter().all(|asked| *asked < snapshot.update_version), "somebody waits past {:?}", snapshot.update_version);
            self.waiters.clear();
        }
        assert!(snapshot.update_version >= self.last_version, "the version fell");
        for (name, new) in snapshot.topics() {
            let Some(old) = self.last_snapshot.topic(name).filter(|old| old.id.is_some() && old.id == new.id) else { continue };
            for partition in &new.partitions {
                let known = old.partition(partition.index).and_then(|old| old.epoch);
                if let (Some(known), Some(epoch)) = (known, partition.epoch) {
                    assert!(epoch >= known, "{name}-{}: epoch {epoch:?} replaced {known:?}", partition.index);
                }
            }
        }
        self.last_version = snapshot.update_version;
        self.last_snapshot = Arc::clone(snapshot);
    }

    fn check(&self) {
        let pending =
            |link: &'_ Link, api_key| link.unwritten.iter().chain(&link.unanswered).filter(|written| written.api_key == api_key).count();
        let metadata: usize = self.links.iter().map(|link| pending(link, 3)).sum();
        assert!(metadata <= 1, "{metadata} Metadata requests in flight");
        for link in &self.links {
            let in_flight = link.unwritten.len() + link.unanswered.len();
            assert!(in_flight <= self.in_flight_max, "{in_flight} requests in flight to {}", link.node);
        }
        let reserved: usize = self.core.accumulator.batches().chain(self.core.batches_in_flight()).map(|batch| batch.reserved_bytes).sum();
        let (total, free) = self.core.memory_bytes();
        let granted = self.core.accumulator.memory.granted_bytes();
        assert_eq!(free + reserved + granted + self.held_bytes, total, "buffer.memory does not add up");
        assert!(self.next.is_none_or(|next| next > self.now), "the core asks for a moment that is over");
    }

    fn left_over(&self) -> String {
        let open = self.outcomes.values().filter(|outcome| outcome.is_none()).count();
        format!("{open} records and {} waiters are left; {:?}", self.waiters.len(), self.core.connections)
    }

    /// Whether the core has nothing left to do for anybody.
    pub(super) fn is_at_rest(&self) -> bool {
        self.waiters.is_empty() && self.core.is_drained() && self.outcomes.values().all(Option::is_some)
    }

    /// From here on the cluster is well and the network quick, and the core is called only when it asked to be.
    pub(super) fn heal(&mut self) {
        self.change(|truth| {
            *truth = answer(BROKERS, std::mem::take(&mut truth.topics));
            for (topic, id) in truth.topics.iter_mut().zip([70, 80]) {
                *topic = topic_answer(topic.name.as_str(), id, vec![partition(0, 1, 90), partition(1, 2, 90), partition(2, 3, 90)]);
            }
            if truth.topics.len() < TOPICS.len() {
                truth.topics.push(topic_answer("more", 80, vec![partition(0, 1, 90)]));
            }
        });
        self.be_well();
    }

    /// A client that has sent to every partition.
    pub(super) fn settle(&mut self) {
        self.send(0, Some(0), 10);
        self.be_well();
        for index in 0..3 {
            self.send(0, Some(index), 10);
        }
        self.be_well();
    }

    /// The network is quick and every answer good, until nobody waits for anything.
    fn be_well(&mut self) {
        let give_up_at = self.now + Duration::from_secs(20);
        while !self.is_at_rest() {
            while !self.connecting.is_empty() {
                self.connect(0, true);
            }
            for at in 0..self.links.len() {
                while self.links.get(at).is_some_and(|link| !link.unwritten.is_empty()) {
                    self.write(at);
                }
                while self.links.get(at).is_some_and(|link| !link.unanswered.is_empty()) {
                    self.reply(at, Reply::Well);
                }
            }
            self.settle_memory(true);
            self.step();
            assert!(self.now < give_up_at, "not at rest after 20 s in which all was well: {}", self.left_over());
            let is_quiet = self.connecting.is_empty() && self.links.iter().all(|link| link.unwritten.is_empty());
            if is_quiet && !self.is_at_rest() {
                self.now = self.next.expect("something is left to do, and the core asks for no moment");
            }
        }
        // What the last answers freed may have been granted to somebody who waited.
        self.settle_memory(true);
        let (total, free) = self.core.memory_bytes();
        assert_eq!(free, total, "all is done, and memory is still held");
    }

    /// The end: everything has its outcome, at the latest when the client is shut down.
    pub(super) fn shut_down(&mut self) {
        self.core.begin_close();
        self.core.shut_down(self.now);
        self.take_output();
        assert!(self.links.is_empty() && self.connecting.is_empty(), "connections are left");
        assert!(self.outcomes.values().all(Option::is_some), "records without an outcome are left");
    }

    pub(super) fn appended(&self) -> usize {
        self.outcomes.len()
    }
}
