//! One librdkafka client behind the interface of a group's clients.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rdkafka::config::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _, PurgeConfig};
use rdkafka::types::RDKafkaErrorCode;
use tokio::sync::Notify;
use tokio::time::timeout_at;

use crate::clock::{Clock, Moment};
use crate::engine::group::client::{Client, MakeClient, View};
use crate::engine::librdkafka::context::Context;
use crate::engine::librdkafka::outcome;
use crate::engine::librdkafka::poller::Pollers;
use crate::engine::recorder::client::ClientRecorder;
use crate::engine::recorder::tells::Tells;
use crate::kafka::event::{BlockedOn, ClientEvent, ClientObserver, Failure, RecordTag};
use crate::kafka::net::producer::{Record, TrySendError};
use crate::plan::model::ProducerGroup;

/// Java's default of `max.block.ms`. librdkafka itself never blocks: it says that its queue is full, and the engine tries again.
const BLOCK_MAX_MS: u64 = 60_000;

/// A full queue is tried again when an outcome has made room, and after so long in any case.
const TRY_AGAIN: Duration = Duration::from_millis(10);

/// Bound on the answers to what is on its way to a broker when the rest is given up.
const IN_FLIGHT_MAX: Duration = Duration::from_secs(1);

/// Bound on the outcomes of records that are given up at the end.
const PURGE_MAX: Duration = Duration::from_secs(2);

/// Bound on the last statistics, which come once a second.
const LOOK_MAX: Duration = Duration::from_millis(1_500);

/// How long a record of the group waits for room in a full queue.
pub(super) fn block_max(group: &ProducerGroup) -> Duration {
    let given = group.config.get("max.block.ms").and_then(|ms| ms.trim().parse().ok());
    Duration::from_millis(given.unwrap_or(BLOCK_MAX_MS))
}

/// Makes a group's clients.
pub(super) struct MakeLibrdkafka {
    pub(super) settings: ClientConfig,
    pub(super) clock: Clock,
    pub(super) block_max: Duration,
    pub(super) pollers: Pollers,
}

impl std::fmt::Debug for MakeLibrdkafka {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MakeLibrdkafka").field("block_max", &self.block_max).finish_non_exhaustive()
    }
}

/// A client; clones are the same one.
#[derive(Clone, Debug)]
pub(super) struct LibrdkafkaClient {
    shared: Arc<Shared>,
}

/// What senders and the polling thread share.
pub(super) struct Shared {
    clock: Clock,
    recorder: Arc<ClientRecorder>,
    block_max: Duration,
    /// Everything but the context.
    settings: ClientConfig,
    /// The client, once the polling thread has made it; or why there is none: every record then fails with that.
    producer: OnceLock<Result<BaseProducer<Context>, Failure>>,
    /// Wakes senders that wait for the client to be made.
    made: Notify,
    /// No record is taken any more: room that giving records up makes is not for new ones.
    is_closing: AtomicBool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("block_max", &self.block_max).finish_non_exhaustive()
    }
}

impl MakeClient for MakeLibrdkafka {
    type Client = LibrdkafkaClient;
    const TELLS: Tells = Tells::LIBRDKAFKA;

    fn make(&self, client_id: &str, _seed: u64, recorder: Arc<ClientRecorder>) -> LibrdkafkaClient {
        let mut settings = self.settings.clone();
        settings.set("client.id", client_id);
        let shared = Arc::new(Shared {
            clock: self.clock.clone(),
            recorder,
            block_max: self.block_max,
            settings,
            producer: OnceLock::new(),
            made: Notify::new(),
            is_closing: AtomicBool::new(false),
        });
        self.pollers.watch(Arc::clone(&shared));
        LibrdkafkaClient { shared }
    }
}

impl Client for LibrdkafkaClient {
    fn try_send(&self, now: Moment, record: &Record<'_>) -> Result<(), TrySendError> {
        self.shared.try_send(now, record)
    }

    async fn send(&self, record: &Record<'_>) -> Result<(), Failure> {
        let called = self.shared.clock.now();
        if !self.shared.is_made() {
            self.shared.wait_until_made(called).await?;
            match self.shared.try_send(called, record) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Failed(failure)) => return Err(failure),
                Err(TrySendError::WouldBlock(_)) => {}
            }
        }
        let begun = self.shared.clock.now();
        let sent = self.shared.send(called, record).await;
        let now = self.shared.clock.now();
        let event = ClientEvent::Blocked { on: BlockedOn::Memory, took: now.since(begun), satisfied: sent.is_ok() };
        self.shared.recorder.event(now, &event);
        sent
    }

    async fn close(&self, timeout: Duration) {
        self.shared.close(timeout).await;
    }

    fn view(&self) -> View {
        self.shared.context().map_or_else(View::default, Context::view)
    }
}

impl Shared {
    /// Makes the client, which starts threads and waits for the first of them: only on the polling thread.
    pub(super) fn make(&self) {
        let made = if self.is_closing.load(Ordering::Acquire) {
            Err(closed())
        } else {
            let context = Context::new(self.clock.clone(), Arc::clone(&self.recorder));
            self.settings.create_with_context(context).map_err(|error: KafkaError| not_made(error.to_string()))
        };
        // The polling thread alone sets it, once.
        let _ = self.producer.set(made);
        self.made.notify_waiters();
    }

    /// Whether it has been made, or has been tried to.
    pub(super) fn is_made(&self) -> bool {
        self.producer.get().is_some()
    }

    /// Takes what has come, at most so many events; whether there may be more.
    pub(super) fn poll(&self, events_max: usize) -> bool {
        let Some(Ok(producer)) = self.producer.get() else { return false };
        // One event at most: the crate looks at its timeout after each.
        producer.context().turn(events_max, || producer.poll(Duration::ZERO))
    }

    fn context(&self) -> Option<&Context> {
        let producer = self.producer.get()?.as_ref().ok()?;
        Some(producer.context())
    }

    async fn wait_until_made(&self, since: Moment) -> Result<(), Failure> {
        let until = self.clock.instant_of(since + self.block_max);
        // Created before the look, it misses nothing.
        let made = self.made.notified();
        if !self.is_made() && timeout_at(until, made).await.is_err() && !self.is_made() {
            return Err(not_made(format!("not made within {} s", self.block_max.as_secs_f64())));
        }
        Ok(())
    }

    fn try_send(&self, now: Moment, record: &Record<'_>) -> Result<(), TrySendError> {
        // That is no wait for memory, and waits for metadata are told of no client of this kind.
        let Some(made) = self.producer.get() else { return Err(TrySendError::WouldBlock(BlockedOn::Metadata)) };
        let producer = made.as_ref().map_err(|failure| TrySendError::Failed(failure.clone()))?;
        if self.is_closing.load(Ordering::Acquire) {
            return Err(TrySendError::Failed(closed()));
        }
        let outstanding = &producer.context().outstanding;
        // Counted first: the outcome may come before `send` has returned.
        outstanding.fetch_add(1, Ordering::AcqRel);
        let tag = Box::new(RecordTag { mark: record.mark, number: record.number, sent_at: now });
        let mut base = BaseRecord::with_opaque_to(record.topic.as_str(), tag).payload(record.value).timestamp(record.timestamp_ms);
        base.key = record.key;
        base.partition = record.partition.map(|partition| partition.0);
        let Err((error, _)) = producer.send(base) else { return Ok(()) };
        outstanding.fetch_sub(1, Ordering::AcqRel);
        match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::QueueFull) => Err(TrySendError::WouldBlock(BlockedOn::Memory)),
            Some(code) => Err(TrySendError::Failed(outcome::failure(code))),
            None => Err(TrySendError::Failed(Failure { kind: "KafkaError".to_owned(), code: None, text: error.to_string() })),
        }
    }

    /// Tries again until there is room, within the group's `max.block.ms`.
    async fn send(&self, sent_at: Moment, record: &Record<'_>) -> Result<(), Failure> {
        let give_up_at = sent_at + self.block_max;
        loop {
            match self.try_send(sent_at, record) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Failed(failure)) => return Err(failure),
                Err(TrySendError::WouldBlock(_)) if self.clock.now() >= give_up_at => {
                    return Err(outcome::failure(RDKafkaErrorCode::QueueFull));
                }
                Err(TrySendError::WouldBlock(_)) => {
                    let again_at = self.clock.instant_of(self.clock.now() + TRY_AGAIN);
                    let Some(context) = self.context() else { continue };
                    let _ = timeout_at(again_at, context.outcome_known.notified()).await;
                }
            }
        }
    }

    /// Waits for the outcomes; then gives up what waits for a request, and after a wait for answers what is in one. Waits for the last
    /// statistics unless there is no time at all.
    async fn close(&self, timeout: Duration) {
        self.is_closing.store(true, Ordering::Release);
        let Some(Ok(producer)) = self.producer.get() else { return };
        let context = producer.context();
        let queued = PurgeConfig::default().queue().non_blocking();
        self.all_known(context, timeout).await;
        if context.outstanding.load(Ordering::Acquire) > 0 {
            producer.purge(queued);
            self.all_known(context, IN_FLIGHT_MAX).await;
        }
        if context.outstanding.load(Ordering::Acquire) > 0 {
            producer.purge(queued.inflight());
            self.all_known(context, PURGE_MAX).await;
        }
        if !timeout.is_zero() {
            let until = self.clock.instant_of(self.clock.now() + LOOK_MAX);
            let _ = timeout_at(until, context.looked_at.notified()).await;
        }
    }

    async fn all_known(&self, context: &Context, timeout: Duration) {
        let until = self.clock.now() + timeout;
        while context.outstanding.load(Ordering::Acquire) > 0 && self.clock.now() < until {
            let again_at = self.clock.instant_of(until.min(self.clock.now() + TRY_AGAIN));
            let _ = timeout_at(again_at, context.outcome_known.notified()).await;
        }
    }
}

fn not_made(text: String) -> Failure {
    Failure { kind: "ClientCreation".to_owned(), code: None, text }
}

fn closed() -> Failure {
    let text = "the client was closed before it had room for the record".to_owned();
    Failure { kind: "Closed".to_owned(), code: None, text }
}
