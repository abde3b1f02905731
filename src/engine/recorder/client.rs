//! The observer of one client: outcomes and events become counts and facts.
//!
//! Called by the client's driver, once per batch; a batch costs two locks that hardly anyone else takes, and a few nanoseconds per record.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::Notify;

use crate::audit::{Outcomes, PairOutcomes, ProducerEntry};
use crate::clock::Moment;
use crate::engine::recorder::figures::Fate;
use crate::engine::recorder::life::Life;
use crate::engine::recorder::pair::{Pair, PairFact};
use crate::engine::recorder::sender::{NO_PARTITION, SenderState};
use crate::engine::recorder::{GroupRecorder, lock, mark};
use crate::ids::{BrokerId, PartitionIndex, ProducerIndex, TopicName, TopicPartition};
use crate::kafka::event::{BatchDelivery, BlockedOn, ClientEvent, ClientObserver, Failure, Outcome, RecordTag};
use crate::record::fact::{Fact, Totals};

/// A record whose oldest outcome is due for longer than this is stalled.
const STALLED: Duration = Duration::from_millis(500);

/// Observes one client, for all its senders.
#[derive(Debug)]
pub struct ClientRecorder {
    pub(super) group: Arc<GroupRecorder>,
    /// The client's senders are the producers from this one on; what cannot be told apart between them counts for the first.
    pub(super) first: ProducerIndex,
    pub(super) state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) life: Life,
    senders: Box<[SenderState]>,
}

/// Partitions without service at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stalled {
    pub(crate) pairs: u64,
    pub(crate) longest: Duration,
}

impl Stalled {
    fn add(&mut self, since_due: Duration) {
        self.merge(Self { pairs: 1, longest: since_due });
    }

    /// Adds another client's.
    pub(crate) fn merge(&mut self, other: Self) {
        self.pairs += other.pairs;
        self.longest = self.longest.max(other.longest);
    }
}

/// A record that waits: whose, of which topic (position in the group's list) and partition, and since when it is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unserved {
    pub(crate) slot: usize,
    pub(crate) topic: usize,
    pub(crate) partition: PartitionIndex,
    pub(crate) due: Moment,
}

impl ClientRecorder {
    /// An observer for a client that is being made, with so many senders.
    #[must_use]
    pub fn new(group: Arc<GroupRecorder>, first: ProducerIndex, senders: u32, made_at: Moment) -> Self {
        let waits = group.closed_wait.is_some();
        let senders = (0..senders).map(|_| SenderState::new(waits)).collect();
        Self { group, first, state: Mutex::new(State { life: Life::new(made_at), senders }) }
    }

    /// A record never got into the client: it certainly is not in the log.
    pub(crate) fn not_appended(&self, at: Moment, topic: usize, record: RecordTag, failure: &Failure) {
        let slot = mark::slot(record.mark);
        {
            let mut state = lock(&self.state);
            let Some(sender) = state.senders.get_mut(slot) else { return };
            if let Some(waiting) = &mut sender.waiting {
                waiting.settle(record.mark);
            }
            let pair = sender.pair(topic, NO_PARTITION);
            pair.error(at);
            pair.bad(std::iter::once(mark::due(record.mark)), &mut Vec::new());
            self.keep(&mut pair.outcomes, Fate::Failed, &[record]);
            sender.count(Fate::Failed, 1);
            self.record_latencies(at, Fate::Failed, &[record]);
        }
        lock(&self.group.record_errors).enter(at, "failed", failure, 1);
    }

    /// A record was taken back from a `send` that waited, which says nothing any more of its wait.
    pub(crate) fn taken_back(&self, at: Moment, on: BlockedOn, topic: usize, record: RecordTag, failure: &Failure) {
        self.event(at, &ClientEvent::Blocked { on, took: at.since(record.sent_at), satisfied: false });
        self.not_appended(at, topic, record, failure);
    }

    /// A closed loop's sender will wait for this record's outcome; what wakes it.
    pub(crate) fn begin_wait(&self, record_mark: u64) -> Option<Arc<Notify>> {
        let mut state = lock(&self.state);
        let waiting = state.senders.get_mut(mark::slot(record_mark))?.waiting.as_mut()?;
        waiting.begin(record_mark);
        Some(Arc::clone(&waiting.outcome_known))
    }

    /// Whether that outcome is still unknown.
    pub(crate) fn is_waiting(&self, record_mark: u64) -> bool {
        let state = lock(&self.state);
        let sender = state.senders.get(mark::slot(record_mark));
        sender.and_then(|sender| sender.waiting.as_ref()).is_some_and(|waiting| waiting.is_waiting(record_mark))
    }

    /// The wait is over: unless its outcome is known by now, the record counts as indeterminate, for good.
    pub(crate) fn give_up(&self, at: Moment, record: RecordTag) {
        {
            let mut state = lock(&self.state);
            let Some(sender) = state.senders.get_mut(mark::slot(record.mark)) else { return };
            if !sender.waiting.as_mut().is_some_and(|waiting| waiting.give_up(record.mark)) {
                return;
            }
            sender.count(Fate::Indeterminate, 1);
            self.record_latencies(at, Fate::Indeterminate, &[record]);
        }
        let wait = self.group.closed_wait.unwrap_or_default();
        let text = format!("no outcome within {} s", wait.as_secs_f64());
        let failure = Failure { kind: "TimeoutException".to_owned(), code: None, text };
        lock(&self.group.record_errors).enter(at, "indeterminate", &failure, 1);
    }

    /// Pairs whose oldest unserved record has been due for too long. `waiting` are the records that the client or its senders hold.
    pub(crate) fn stalled(&self, now: Moment, waiting: &[Unserved]) -> Stalled {
        let mut stalled = Stalled::default();
        let state = lock(&self.state);
        let failed_since = |slot: usize, topic, partition| {
            let unserved = state.senders.get(slot).and_then(|sender| sender.known_pair(topic, partition)).and_then(Pair::unserved);
            unserved.map(|due| now.since(due)).filter(|since| *since > STALLED)
        };
        for sender in &state.senders {
            for (_, _, pair) in sender.pairs() {
                if let Some(since) = pair.unserved().map(|due| now.since(due)).filter(|since| *since > STALLED) {
                    stalled.add(since);
                }
            }
        }
        for record in waiting {
            let since = now.since(record.due);
            if failed_since(record.slot, record.topic, record.partition).is_some() {
                stalled.longest = stalled.longest.max(since);
            } else if since > STALLED {
                stalled.add(since);
            }
        }
        stalled
    }

    /// A foreign client has sent so many more Metadata requests for a reason, given as its position in [`figures::REASONS`](super::figures::REASONS).
    #[cfg(feature = "librdkafka")]
    pub(crate) fn metadata_requests(&self, reason: usize, more: u64) {
        lock(&self.state).life.count_requests(reason, more, &self.group);
    }

    /// A foreign client's count of Metadata requests is not to be had any more, and so neither is the group's.
    #[cfg(feature = "librdkafka")]
    pub(crate) fn metadata_requests_unknown(&self) {
        self.group.requests_unknown.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    /// A foreign client's cache shows another partition count.
    #[cfg(feature = "librdkafka")]
    pub(crate) fn partition_count(&self, at: Moment, topic: &TopicName, from: u32, to: u32) {
        let (group, topic) = (self.group.name.clone(), topic.clone());
        let (topic_id, node, reason, update_version) = (None, None, None, None);
        let fact = Fact::PartitionCount { group, producer: self.first, topic, topic_id, from, to, node, reason, update_version };
        self.group.facts.emit(at, fact);
    }

    /// The client is closed and all its records have their outcomes: tells what is left. `due` and `sent` are per sender; `cached` is the
    /// partition count of each topic in the client's snapshot, if it tells.
    pub(crate) fn finish(&self, at: Moment, counts: &[(u64, u64)], cached: Option<&BTreeMap<String, u32>>) -> Vec<Fact> {
        let mut facts = Vec::new();
        let mut state = lock(&self.state);
        let State { life, senders } = &mut *state;
        facts.extend(life.unanswered(at, &self.group, self.first));
        for (slot, (sender, (due, sent))) in senders.iter_mut().zip(counts).enumerate() {
            let producer = self.producer(slot);
            let mut told = Vec::new();
            for (topic, partition, pair) in sender.pairs_mut() {
                pair.finish(at, &mut told);
                facts.extend(told.drain(..).map(|fact| self.pair_fact(producer, &self.group.topics[topic], partition, fact)));
            }
            self.enter_outcomes(producer, *sent, sender);
            let totals = Totals { due: *due, sent: *sent, ..sender.totals };
            facts.push(life.totals(&self.group, producer, slot == 0, totals, cached));
        }
        facts
    }

    fn enter_outcomes(&self, producer: ProducerIndex, sent: u64, sender: &mut SenderState) {
        let pair = |(topic, partition, pair): (usize, PartitionIndex, &mut Pair)| {
            let outcomes = std::mem::take(&mut pair.outcomes);
            (!outcomes.is_empty()).then(|| PairOutcomes { topic: self.group.topics[topic].clone(), partition, outcomes })
        };
        let pairs = sender.pairs_mut().filter_map(pair).collect();
        self.group.ledger.enter(ProducerEntry { group: self.group.name.clone(), producer, sent, pairs });
    }

    fn producer(&self, slot: usize) -> ProducerIndex {
        ProducerIndex(self.first.0 + slot as u32)
    }

    fn pair_fact(&self, producer: ProducerIndex, topic: &TopicName, partition: PartitionIndex, fact: PairFact) -> Fact {
        let us = |at| self.group.facts.time_us(at);
        let (group, topic) = (self.group.name.clone(), topic.clone());
        match fact {
            PairFact::Gap { last_ok, first_due, first_error, first_ok } => Fact::Gap {
                group,
                producer,
                topic,
                partition,
                last_ok_us: last_ok.map(us),
                first_due_us: us(first_due),
                first_error_us: first_error.map(us),
                first_ok_us: first_ok.map(us),
            },
            PairFact::Run(run) => Fact::AckRun {
                group,
                producer,
                topic,
                partition,
                first_ok_us: us(run.first_ok),
                last_ok_us: us(run.last_ok),
                records: run.records,
            },
        }
    }

    /// The outcome of records of one sender.
    fn settle(
        &self,
        state: &mut State,
        at: Moment,
        slot: usize,
        delivery: &BatchDelivery<'_>,
        records: &[RecordTag],
        facts: &mut Vec<Fact>,
    ) {
        let Some(topic) = self.group.topic_index(delivery.topic) else { return };
        let fate = fate_of(delivery.outcome);
        let producer = self.producer(slot);
        let Some(sender) = state.senders.get_mut(slot) else { return };
        let mut told = Vec::new();
        if fate == Fate::Ok {
            let pair = sender.pair(topic, delivery.partition);
            if !pair.is_used() {
                facts.extend(self.first_used(producer, delivery, records));
            } else if let Some(node) = pair.take_change() {
                facts.extend(self.after_change(producer, node, delivery, records));
            }
            sender.ok(at, topic, delivery.partition, records, &mut told);
        } else {
            sender.bad(topic, delivery.partition, records, &mut told);
        }
        self.keep(&mut sender.pair(topic, delivery.partition).outcomes, fate, records);
        facts.extend(told.into_iter().map(|(partition, fact)| self.pair_fact(producer, delivery.topic, partition, fact)));
        if sender.waiting.is_none() {
            sender.count(fate, records.len() as u64);
            self.record_latencies(at, fate, records);
            self.enter_errors(at, delivery.outcome, "", records.len());
        } else {
            self.settle_waited(sender, at, fate, delivery.outcome, records);
        }
    }

    /// Keeps the client's word on records for the audit. It is the client's own, also of records whose sender did not wait for it.
    fn keep(&self, outcomes: &mut Outcomes, fate: Fate, records: &[RecordTag]) {
        if !self.group.ledger.admit(records.len() as u64) {
            return;
        }
        let numbers = match fate {
            Fate::Ok => &mut outcomes.acknowledged,
            Fate::Failed => outcomes.failed_mut(),
            Fate::Indeterminate => outcomes.indeterminate_mut(),
        };
        let mut kept = 0;
        numbers.extend(records.iter().filter_map(|record| u32::try_from(record.number).ok()).inspect(|_| kept += 1));
        if kept < records.len() {
            self.group.ledger.refuse((records.len() - kept) as u64);
        }
    }

    /// The same for a closed loop: records that were given up have been counted already, and are only noted.
    fn settle_waited(&self, sender: &mut SenderState, at: Moment, fate: Fate, outcome: &Outcome, records: &[RecordTag]) {
        let Some(waiting) = &mut sender.waiting else { return };
        let counted: Vec<RecordTag> = records.iter().filter(|record| waiting.settle(record.mark)).copied().collect();
        sender.count(fate, counted.len() as u64);
        self.record_latencies(at, fate, &counted);
        self.enter_errors(at, outcome, "", counted.len());
        self.enter_errors(at, outcome, "late_", records.len() - counted.len());
    }

    fn enter_errors(&self, at: Moment, outcome: &Outcome, prefix: &'static str, count: usize) {
        let late = !prefix.is_empty();
        let (name, failure) = match outcome {
            Outcome::Ok { .. } if !late => return,
            Outcome::Ok { .. } => {
                let text = "acknowledged after its sender had given it up".to_owned();
                ("late_ok", &Failure { kind: "LateAcknowledgement".to_owned(), code: None, text })
            }
            Outcome::Failed(failure) => (if late { "late_failed" } else { "failed" }, failure),
            Outcome::Indeterminate(failure) => (if late { "late_indeterminate" } else { "indeterminate" }, failure),
        };
        if count > 0 {
            lock(&self.group.record_errors).enter(at, name, failure, count as u64);
        }
    }

    /// Counts records whose outcome became known then, with their latencies. Of none of them may that be before it was due and handed over; if a
    /// client says so all the same, its times are wrong: the latency counts as 0, and the record as `early`.
    fn record_latencies(&self, at: Moment, fate: Fate, records: &[RecordTag]) {
        let mut early = 0;
        {
            let mut figures = self.group.shards.mine();
            figures.count(fate, records.len() as u64);
            let (response, service) = figures.latencies(fate);
            for record in records {
                let since = mark::due(record.mark).max(record.sent_at);
                early += u64::from(at < since);
                response.record(at.0.saturating_sub(mark::due(record.mark).0));
                service.record(at.0.saturating_sub(record.sent_at.0));
            }
        }
        if early > 0 {
            let text = "told with a time before it was due or handed over; its latency counts as 0".to_owned();
            let failure = Failure { kind: "EarlyOutcome".to_owned(), code: None, text };
            lock(&self.group.record_errors).enter(at, "early", &failure, early);
        }
    }

    fn first_used(&self, producer: ProducerIndex, delivery: &BatchDelivery<'_>, records: &[RecordTag]) -> Option<Fact> {
        let first = records.first()?;
        Some(Fact::PartitionFirstUsed {
            group: self.group.name.clone(),
            producer,
            topic: delivery.topic.clone(),
            partition: delivery.partition,
            due_us: self.group.facts.time_us(mark::due(first.mark)),
        })
    }

    fn after_change(
        &self,
        producer: ProducerIndex,
        node: Option<BrokerId>,
        delivery: &BatchDelivery<'_>,
        records: &[RecordTag],
    ) -> Option<Fact> {
        let due_us = self.group.facts.time_us(mark::due(records.first()?.mark));
        let (group, topic) = (self.group.name.clone(), delivery.topic.clone());
        Some(Fact::DeliveredAfterChange { group, producer, topic, partition: delivery.partition, node, due_us })
    }

    /// Notes on the pairs of a partition what their next outcomes will be asked for.
    fn note_on_pairs(&self, state: &mut State, at: Moment, event: &ClientEvent) {
        match event {
            ClientEvent::BatchError { partition, .. } => {
                let Some(topic) = self.group.topic_index(&partition.topic) else { return };
                state.senders.iter_mut().for_each(|sender| sender.pair(topic, partition.partition).error(at));
            }
            ClientEvent::LeaderChanged { partition, .. } => self.note_change(state, partition, None),
            ClientEvent::RouteChanged { partition, to, .. } => self.note_change(state, partition, Some(*to)),
            _ => {}
        }
    }

    /// The next acknowledgement of a pair that was served before is the first one since a change.
    fn note_change(&self, state: &mut State, partition: &TopicPartition, route: Option<BrokerId>) {
        let Some(topic) = self.group.topic_index(&partition.topic) else { return };
        for sender in &mut state.senders {
            if let Some(pair) = sender.known_pair_mut(topic, partition.partition) {
                pair.changed(route);
            }
        }
    }
}

impl ClientObserver for ClientRecorder {
    fn event(&self, at: Moment, event: &ClientEvent) {
        let mut state = lock(&self.state);
        self.note_on_pairs(&mut state, at, event);
        let fact = state.life.event(at, event, &self.group, self.first);
        drop(state);
        if let Some(fact) = fact {
            self.group.facts.emit(at, fact);
        }
    }

    fn delivered(&self, at: Moment, delivery: &BatchDelivery<'_>) {
        let mut facts = Vec::new();
        {
            let mut state = lock(&self.state);
            if matches!(delivery.outcome, Outcome::Ok { .. }) {
                facts.extend(state.life.first_ack(at, &self.group, self.first));
                self.group.shards.mine().note_partition(delivery.partition);
            }
            for records in delivery.records.chunk_by(|left, right| mark::slot(left.mark) == mark::slot(right.mark)) {
                if let Some(first) = records.first() {
                    self.settle(&mut state, at, mark::slot(first.mark), delivery, records, &mut facts);
                }
            }
        }
        for fact in facts {
            self.group.facts.emit(at, fact);
        }
    }
}

fn fate_of(outcome: &Outcome) -> Fate {
    match outcome {
        Outcome::Ok { .. } => Fate::Ok,
        Outcome::Failed(_) => Fate::Failed,
        Outcome::Indeterminate(_) => Fate::Indeterminate,
    }
}

#[cfg(test)]
mod tests;
