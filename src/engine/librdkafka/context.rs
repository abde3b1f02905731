//! What one client tells while it is polled: outcomes, statistics, its log.
//!
//! Outcomes come record by record; here they are put together again by partition, so that the recorder is called about once per batch. All
//! records of one such batch have the time of the first.

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
    /// Wakes whoever waits for the next statistics.
    pub(super) looked_at: Notify,
    batch: Mutex<Batch>,
    requests: Mutex<Requests>,
    seen: Mutex<Option<(Moment, Statistics)>>,
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
            batch: Mutex::new(batch),
            requests: Mutex::default(),
            seen: Mutex::new(None),
            is_blind: AtomicBool::new(false),
        }
    }

    /// Tells what has come since the last call; `is_empty`: the queue has nothing more.
    pub(super) fn flush(&self, is_empty: bool) {
        self.tell(&mut lock(&self.batch));
        if is_empty {
            lock(&self.requests).settle();
        }
        self.tell_requests();
    }

    /// Events so far.
    pub(super) fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
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
        let mut seen = lock(&self.seen);
        for (topic, to) in &statistics.partition_counts {
            let from = seen.as_ref().and_then(|(_, before)| before.partition_counts.get(topic)).copied().unwrap_or(0);
            if from != *to {
                self.recorder.partition_count(now, &TopicName::from(topic.as_str()), from, *to);
            }
        }
        *seen = Some((now, statistics));
        drop(seen);
        self.looked_at.notify_waiters();
    }

    /// What the client says of itself cannot be read: its figures are unknown, and its requests, which need its counters, for good.
    fn cannot_look(&self) {
        self.is_blind.store(true, Ordering::Relaxed);
        self.recorder.metadata_requests_unknown();
        self.looked_at.notify_waiters();
    }
}

impl ClientContext for Context {
    /// Called while the client is polled: the crate has lines of the log queued with the outcomes, and they come before these.
    fn log(&self, level: RDKafkaLogLevel, fac: &str, log_message: &str) {
        self.events.fetch_add(1, Ordering::Relaxed);
        match level {
            RDKafkaLogLevel::Debug => lock(&self.requests).line(log_message),
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
    use rdkafka::types::RDKafkaErrorCode;

    use super::*;
    use crate::engine::librdkafka::tests::group;
    use crate::engine::recorder::GroupRecorder;
    use crate::engine::recorder::tells::Tells;
    use crate::ids::ProducerIndex;
    use crate::record::sink;

    const TEXT: &[u8] = br#"{ "msg_size": 100, "msg_size_max": 1000, "topics": {},
        "brokers": { "b/1": { "req": { "Metadata": 2 } } } }"#;

    fn context() -> (Arc<GroupRecorder>, Context) {
        let clock = Clock::real();
        let (facts, _) = sink::channel(clock.now(), 0, 10);
        let recorder = Arc::new(GroupRecorder::new(&group(&[]), facts, Tells::LIBRDKAFKA));
        let client = ClientRecorder::new(Arc::clone(&recorder), ProducerIndex(0), 1, clock.now());
        (recorder, Context::new(clock, Arc::new(client)))
    }

    #[test]
    fn statistics_that_cannot_be_read_make_figures_unknown() {
        let (recorder, context) = context();
        context.stats_raw(TEXT);
        context.flush(true);
        assert_eq!(context.view().buffer_free_bytes, Some(900));
        assert_eq!(recorder.take_second(0).metadata_requests.unwrap()["unknown"], 2);
        context.stats_raw(b"nonsense");
        assert_eq!(context.view().buffer_free_bytes, None);
        assert_eq!(recorder.take_second(1).metadata_requests, None);
        context.stats_raw(TEXT);
        assert_eq!(context.view().buffer_free_bytes, Some(900), "it says so again");
        assert_eq!(recorder.take_second(2).metadata_requests, None, "what was missed stays unknown");
    }

    #[test]
    fn lines_of_the_log_and_errors_are_events_too() {
        let (_, context) = context();
        context.log(RDKafkaLogLevel::Debug, "METADATA", "anything");
        context.log(RDKafkaLogLevel::Warning, "FAIL", "anything");
        context.error(KafkaError::Global(RDKafkaErrorCode::AllBrokersDown), "anything");
        assert_eq!(context.events(), 3, "a poll that brought one of them may bring an outcome next");
    }
}
