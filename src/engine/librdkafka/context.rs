//! What one client tells while it is polled: outcomes, statistics, its log.
//!
//! An event of outcomes is a batch that was answered, but the crate tells it record by record; here it is put together again, so that the
//! recorder is called about once per batch. All records of one event, or of each part of a large one, have the time at which the first of them
//! was told.
//!
//! Partition counts come from the log, at the time of the change; but the log does not tell a topic's first one, which is in the statistics.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, Message};
use rdkafka::producer::ProducerContext;
use tokio::sync::Notify;

use crate::clock::{Clock, Moment};
use crate::engine::group::client::View;
use crate::engine::librdkafka::outcome;
use crate::engine::librdkafka::requests::Requests;
use crate::engine::librdkafka::statistics::Statistics;
use crate::engine::recorder::client::ClientRecorder;
use crate::engine::recorder::lock;
use crate::ids::{PartitionIndex, TopicName};
use crate::kafka::event::{BatchDelivery, ClientObserver, Outcome, RecordTag};

/// Records put together at most; more go in a second batch.
const BATCH_MAX: usize = 4_096;

/// What librdkafka calls the lines of its log in which a topic's partition count changes, other than from 0.
const PARTITION_COUNT: &str = "PARTCNT";

/// One client's side of the conversation.
#[derive(Debug)]
pub(super) struct Context {
    clock: Clock,
    recorder: Arc<ClientRecorder>,
    /// Records handed over and not yet known.
    pub(super) outstanding: AtomicU64,
    /// Outcomes, statistics, lines of the log and errors so far, which all are events of one queue; tells whether a poll brought anything.
    events: AtomicU64,
    /// Wakes senders that wait for room, and whoever waits for the last outcome.
    pub(super) outcome_known: Notify,
    /// Wakes whoever waits until the next statistics have been taken in, and the lines of the log before them.
    pub(super) looked_at: Notify,
    /// There are statistics that nobody was woken for.
    has_looked: AtomicBool,
    batch: Mutex<Batch>,
    requests: Mutex<Requests>,
    seen: Mutex<Option<(Moment, Statistics)>>,
    /// The partition counts that were told last.
    partition_counts: Mutex<BTreeMap<String, u32>>,
    /// The last statistics could not be read: what the ones before said is out of date.
    is_blind: AtomicBool,
}

/// Acknowledged records of one partition, in a row.
#[derive(Debug)]
struct Batch {
    topic: TopicName,
    partition: PartitionIndex,
    since: Moment,
    records: Vec<RecordTag>,
}

impl Context {
    /// For a client that is being made.
    pub(super) fn new(clock: Clock, recorder: Arc<ClientRecorder>) -> Self {
        let batch = Batch { topic: TopicName::from(""), partition: PartitionIndex(-1), since: Moment(0), records: Vec::new() };
        Self {
            clock,
            recorder,
            outstanding: AtomicU64::new(0),
            events: AtomicU64::new(0),
            outcome_known: Notify::new(),
            looked_at: Notify::new(),
            has_looked: AtomicBool::new(false),
            batch: Mutex::new(batch),
            requests: Mutex::default(),
            seen: Mutex::new(None),
            partition_counts: Mutex::default(),
            is_blind: AtomicBool::new(false),
        }
    }

    /// A turn: takes events until `poll_one` brings none, at most so many; whether there may be more.
    pub(super) fn turn(&self, events_max: usize, poll_one: impl Fn()) -> bool {
        for _ in 0..events_max {
            let before = self.events.load(Ordering::Relaxed);
            poll_one();
            if self.events.load(Ordering::Relaxed) == before {
                self.flush(true);
                return false;
            }
            // The next event comes later, and its records must not get the time of this one's.
            self.tell(&mut lock(&self.batch));
        }
        self.flush(false);
        true
    }

    /// Tells what the turn has brought; `is_empty`: the queue has nothing more.
    fn flush(&self, is_empty: bool) {
        if is_empty {
            lock(&self.requests).settle();
        }
        self.tell_requests();
        if is_empty && self.has_looked.swap(false, Ordering::AcqRel) {
            self.looked_at.notify_waiters();
        }
    }

    /// What the last statistics say.
    pub(super) fn view(&self) -> View {
        let seen = lock(&self.seen);
        let Some((at, statistics)) = seen.as_ref().filter(|_| !self.is_blind.load(Ordering::Relaxed)) else { return View::default() };
        let age = |ms| Duration::from_millis(ms) + self.clock.now().since(*at);
        View {
            metadata_age: statistics.metadata_age_ms.map(age),
            partition_counts: Some(
                statistics.partition_counts.iter().map(|(topic, count)| (TopicName::from(topic.as_str()), *count)).collect(),
            ),
            buffer_free_bytes: Some(statistics.queue_free_bytes),
            unserved: Vec::new(),
        }
    }

    fn acknowledged(&self, topic: &str, partition: i32, record: RecordTag) {
        let mut batch = lock(&self.batch);
        if batch.partition.0 != partition || batch.topic.as_str() != topic || batch.records.len() >= BATCH_MAX {
            self.tell(&mut batch);
        }
        if batch.records.is_empty() {
            batch.since = self.clock.now();
            batch.partition = PartitionIndex(partition);
            if batch.topic.as_str() != topic {
                batch.topic = TopicName::from(topic);
            }
        }
        batch.records.push(record);
    }

    fn tell(&self, batch: &mut Batch) {
        if batch.records.is_empty() {
            return;
        }
        // The recorder takes senders' records in runs, and neither offset nor number of attempts is known here.
        let outcome = Outcome::Ok { base_offset: -1 };
        let (topic, partition, records) = (&batch.topic, batch.partition, &batch.records[..]);
        self.recorder.delivered(batch.since, &BatchDelivery { topic, partition, records, outcome: &outcome, sends: 1 });
        self.known(batch.records.len());
        batch.records.clear();
    }

    fn lost(&self, topic: &str, partition: i32, record: RecordTag, outcome: &Outcome) {
        self.tell(&mut lock(&self.batch));
        let (topic, partition) = (TopicName::from(topic), PartitionIndex(partition));
        let delivery = BatchDelivery { topic: &topic, partition, records: &[record], outcome, sends: 1 };
        self.recorder.delivered(self.clock.now(), &delivery);
        self.known(1);
    }

    fn known(&self, records: usize) {
        self.outstanding.fetch_sub(records as u64, Ordering::AcqRel);
        self.outcome_known.notify_waiters();
    }

    fn tell_requests(&self) {
        let sent = lock(&self.requests).take();
        sent.into_iter().for_each(|(reason, count)| self.recorder.metadata_requests(reason, count));
    }

    fn look(&self, statistics: Statistics) {
        self.is_blind.store(false, Ordering::Relaxed);
        lock(&self.requests).counters(&statistics.metadata_requests);
        let now = self.clock.now();
        for (topic, to) in &statistics.partition_counts {
            // A later one has its line in the log, which these statistics may have overtaken.
            if !self.has_count(topic) {
                self.partition_count(now, topic, *to);
            }
        }
        *lock(&self.seen) = Some((now, statistics));
        self.has_looked.store(true, Ordering::Release);
    }

    /// The log says that a topic has another number of partitions.
    fn partitions_changed(&self, line: &str) {
        let Some((topic, from, to)) = partition_change(line) else { return };
        let now = self.clock.now();
        // Before the first statistics, the count before is news as well.
        if !self.has_count(topic) {
            self.partition_count(now, topic, from);
        }
        self.partition_count(now, topic, to);
        if let Some((_, statistics)) = lock(&self.seen).as_mut() {
            statistics.partition_counts.insert(topic.to_owned(), to);
        }
    }

    /// Whether a partition count of the topic was told.
    fn has_count(&self, topic: &str) -> bool {
        lock(&self.partition_counts).get(topic).is_some_and(|count| *count > 0)
    }

    /// Tells a topic's partition count, unless it is the one that was told last.
    fn partition_count(&self, now: Moment, topic: &str, to: u32) {
        let from = lock(&self.partition_counts).insert(topic.to_owned(), to).unwrap_or(0);
        if from != to {
            self.recorder.partition_count(now, &TopicName::from(topic), from, to);
        }
    }

    /// What the client says of itself cannot be read: its figures are unknown, and its requests, which need its counters, for good.
    fn cannot_look(&self) {
        self.is_blind.store(true, Ordering::Relaxed);
        self.recorder.metadata_requests_unknown();
        self.has_looked.store(true, Ordering::Release);
    }
}

/// Topic and partition counts of a line such as `[thrd:main]: Topic orders partition count changed from 3 to 6`.
fn partition_change(line: &str) -> Option<(&str, u32, u32)> {
    let (before, counts) = line.split_once(" partition count changed from ")?;
    let (_, topic) = before.rsplit_once("Topic ")?;
    let (from, to) = counts.split_once(" to ")?;
    Some((topic, from.parse().ok()?, to.parse().ok()?))
}

impl ClientContext for Context {
    /// Called while the client is polled: the crate has lines of the log queued with the outcomes, and they come before these.
    fn log(&self, level: RDKafkaLogLevel, fac: &str, log_message: &str) {
        self.events.fetch_add(1, Ordering::Relaxed);
        match level {
            RDKafkaLogLevel::Debug => lock(&self.requests).line(log_message),
            _ if fac == PARTITION_COUNT => self.partitions_changed(log_message),
            _ => tracing::debug!(target: "librdkafka", fac, "{log_message}"),
        }
    }

    fn stats_raw(&self, statistics: &[u8]) {
        self.events.fetch_add(1, Ordering::Relaxed);
        match Statistics::read(statistics) {
            Ok(statistics) => self.look(statistics),
            Err(error) => {
                tracing::warn!(target: "librdkafka", "statistics that cannot be read make figures unknown: {error}");
                self.cannot_look();
            }
        }
    }

    /// Trouble with brokers, which librdkafka mends by itself: what it costs shows in the records.
    fn error(&self, error: KafkaError, reason: &str) {
        self.events.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(target: "librdkafka", "{error}: {reason}");
    }
}

impl ProducerContext for Context {
    type DeliveryOpaque = Box<RecordTag>;

    fn delivery(&self, delivery_result: &DeliveryResult<'_>, delivery_opaque: Box<RecordTag>) {
        self.events.fetch_add(1, Ordering::Relaxed);
        match delivery_result {
            Ok(message) => self.acknowledged(message.topic(), message.partition(), *delivery_opaque),
            Err((error, message)) => {
                let code = error.rdkafka_error_code().unwrap_or(rdkafka::types::RDKafkaErrorCode::Fail);
                let outcome = outcome::of_error(code, message.partition());
                self.lost(message.topic(), message.partition(), *delivery_opaque, &outcome);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use rdkafka::types::RDKafkaErrorCode;

    use super::*;
    use crate::audit::Ledger;
    use crate::engine::librdkafka::tests::group;
    use crate::engine::recorder::tells::Tells;
    use crate::engine::recorder::{GroupRecorder, mark};
    use crate::ids::ProducerIndex;
    use crate::record::fact::Fact;
    use crate::record::sink::{self, FactSource};

    const TEXT: &[u8] = br#"{ "msg_size": 100, "msg_size_max": 1000, "topics": {},
        "brokers": { "b/1": { "req": { "Metadata": 2 } } } }"#;

    /// A context on a clock that the test moves, with the recorder and the facts behind it.
    struct Stage {
        clock: Clock,
        recorder: Arc<GroupRecorder>,
        facts: FactSource,
        context: Context,
    }

    impl Stage {
        fn new() -> Self {
            let clock = Clock::manual();
            let (facts, source) = sink::channel(clock.now(), 0, 20);
            let recorder = Arc::new(GroupRecorder::new(&group(&[]), facts, Arc::new(Ledger::new(0)), Tells::LIBRDKAFKA));
            let client = ClientRecorder::new(Arc::clone(&recorder), ProducerIndex(0), 1, clock.now());
            let context = Context::new(clock.clone(), Arc::new(client));
            Self { clock, recorder, facts: source, context }
        }

        /// A record of the present moment is acknowledged so many milliseconds later.
        fn acknowledge(&self, partition: i32, after_ms: u64) {
            let now = self.clock.now();
            self.clock.advance(Duration::from_millis(after_ms));
            self.context.acknowledged("orders", partition, RecordTag { mark: mark::pack(0, now), number: 0, sent_at: now });
        }

        /// A turn in which these come one after the other.
        fn turn(&self, events: &[&dyn Fn()]) {
            let next = Cell::new(0);
            let poll_one = || {
                if let Some(event) = events.get(next.replace(next.get() + 1)) {
                    self.context.events.fetch_add(1, Ordering::Relaxed);
                    event();
                }
            };
            assert!(!self.context.turn(64, poll_one));
        }

        fn partitions_change(&self, from: u32, to: u32) {
            let line = format!("[thrd:main]: Topic orders partition count changed from {from} to {to}");
            self.context.log(RDKafkaLogLevel::Notice, "PARTCNT", &line);
        }

        fn look(&self, partitions: u32) {
            let partitions: Vec<String> = (0..partitions).map(|number| format!(r#""{number}": {{ "partition": {number} }}"#)).collect();
            let orders = format!(r#"{{ "metadata_age": 5, "partitions": {{ {} }} }}"#, partitions.join(","));
            let text = format!(r#"{{ "msg_size": 0, "msg_size_max": 9, "brokers": {{}}, "topics": {{ "orders": {orders} }} }}"#);
            self.context.stats_raw(text.as_bytes());
        }

        /// Partition counts and first uses that were told, with their times in milliseconds.
        fn told(&mut self) -> Vec<(i64, String)> {
            let facts = std::iter::from_fn(|| self.facts.try_next());
            facts
                .filter_map(|stamped| match stamped.fact {
                    Fact::PartitionCount { from, to, .. } => Some((stamped.time_us / 1_000, format!("{from} -> {to}"))),
                    Fact::PartitionFirstUsed { partition, .. } => Some((stamped.time_us / 1_000, format!("uses {}", partition.0))),
                    _ => None,
                })
                .collect()
        }
    }

    #[test]
    fn records_of_one_turn_have_the_times_of_their_own_events() {
        let stage = Stage::new();
        // Both of one partition: the second one is sent after the first was acknowledged.
        stage.turn(&[&|| stage.acknowledge(0, 10), &|| stage.acknowledge(0, 30)]);
        let second = stage.recorder.take_second(0);
        let response = second.histogram("response_ok").unwrap().unwrap();
        let median_us = response.quantile_us(0.5).unwrap();
        assert_eq!((response.count(), median_us / 1_000, response.max_us() / 1_000), (2, 10, 30));
    }

    #[test]
    fn partitions_are_new_when_the_log_says_so_and_not_at_the_next_statistics() {
        let mut stage = Stage::new();
        stage.turn(&[&|| stage.look(3)]);
        stage.turn(&[&|| stage.acknowledge(0, 100)]);
        stage.turn(&[&|| stage.partitions_change(3, 6), &|| stage.acknowledge(4, 50)]);
        assert_eq!(stage.context.view().partition_counts, Some(vec![(TopicName::from("orders"), 6)]), "known before the next look");
        stage.clock.advance(Duration::from_millis(550));
        stage.turn(&[&|| stage.look(6)]);
        let told = [(0, "0 -> 3"), (100, "uses 0"), (100, "3 -> 6"), (150, "uses 4")];
        assert_eq!(stage.told(), told.map(|(at, what)| (at, what.to_owned())));
    }

    #[test]
    fn statistics_that_overtake_a_line_or_come_after_it_tell_no_count_twice() {
        let mut stage = Stage::new();
        stage.turn(&[&|| stage.look(3)]);
        stage.turn(&[&|| stage.look(6), &|| stage.partitions_change(3, 6)]);
        // Deleted and made again, which the log says but for the last part.
        stage.turn(&[&|| stage.partitions_change(6, 0), &|| stage.look(0), &|| stage.look(2)]);
        assert_eq!(stage.told().into_iter().map(|(_, what)| what).collect::<Vec<_>>(), ["0 -> 3", "3 -> 6", "6 -> 0", "0 -> 2"]);
        let mut stage = Stage::new();
        stage.turn(&[&|| stage.partitions_change(3, 6)]);
        assert_eq!(stage.told().into_iter().map(|(_, what)| what).collect::<Vec<_>>(), ["0 -> 3", "3 -> 6"], "before any statistics");
        assert_eq!(partition_change("[thrd:main]: Topic orders is now unknown"), None);
    }

    #[test]
    fn whoever_waits_for_a_look_finds_its_requests_counted() {
        let stage = Stage::new();
        let mut looked = std::pin::pin!(stage.context.looked_at.notified());
        looked.as_mut().enable();
        // More has come than a turn takes: lines of the log may wait behind the statistics.
        assert!(stage.context.turn(1, || stage.context.stats_raw(TEXT)));
        assert!(!looked.as_mut().enable(), "nothing is counted yet");
        stage.turn(&[]);
        assert!(looked.as_mut().enable());
        assert_eq!(stage.recorder.take_second(0).metadata_requests.unwrap()["unknown"], 2);
    }

    #[test]
    fn statistics_that_cannot_be_read_make_figures_unknown() {
        let Stage { recorder, context, .. } = Stage::new();
        let look = |text| {
            context.stats_raw(text);
            context.flush(true);
        };
        look(TEXT);
        assert_eq!(context.view().buffer_free_bytes, Some(900));
        assert_eq!(recorder.take_second(0).metadata_requests.unwrap()["unknown"], 2);
        look(b"nonsense");
        assert_eq!(context.view().buffer_free_bytes, None);
        assert_eq!(recorder.take_second(1).metadata_requests, None);
        look(TEXT);
        assert_eq!(context.view().buffer_free_bytes, Some(900), "it says so again");
        assert_eq!(recorder.take_second(2).metadata_requests, None, "what was missed stays unknown");
    }

    #[test]
    fn lines_of_the_log_and_errors_are_events_too() {
        let context = Stage::new().context;
        context.log(RDKafkaLogLevel::Debug, "METADATA", "anything");
        context.log(RDKafkaLogLevel::Warning, "FAIL", "anything");
        context.error(KafkaError::Global(RDKafkaErrorCode::AllBrokersDown), "anything");
        assert_eq!(context.events.load(Ordering::Relaxed), 3, "a poll that brought one of them may bring an outcome next");
    }
}
