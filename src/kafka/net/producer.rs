//! The producer as its users hold it: `send`, `close`, and a view for those who watch.
//!
//! `send` waits for metadata and memory out of one budget, `max.block.ms`, as Java's `KafkaProducer.doSend` does; the outcome of every record that
//! was appended comes through the observer, exactly once.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout_at;

use crate::clock::{Clock, Moment};
use crate::ids::{HostPort, PartitionIndex, TopicName};
use crate::kafka::core::accumulator::{Append, Appended};
use crate::kafka::core::client::ProducerCore;
use crate::kafka::core::config::ProducerConfig;
use crate::kafka::core::failure;
use crate::kafka::core::memory::MemoryTicket;
use crate::kafka::core::partitioner::partition_of_key;
use crate::kafka::event::{BlockedOn, ClientEvent, ClientObserver, Failure, RecordTag};
use crate::kafka::metadata::{Snapshot, TopicView};
use crate::kafka::net::connector::{BrokerConnector, Connector, TcpConnector};
use crate::kafka::net::driver::Driver;
use crate::kafka::net::security::Identity;
use crate::kafka::net::shared::Shared;
use crate::kafka::wire::batch::single_record_bytes_max;

/// A record to send.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Its topic.
    pub topic: &'a TopicName,
    /// Its partition; `None`: by its key, or the sticky one.
    pub partition: Option<PartitionIndex>,
    /// Its key.
    pub key: Option<&'a [u8]>,
    /// Its value.
    pub value: &'a [u8],
    /// Its timestamp, in ms since 1970.
    pub timestamp_ms: i64,
    /// The sender's own mark; comes back with the outcome.
    pub mark: u64,
    /// The sender's own number for the record; comes back with the outcome.
    pub number: u64,
}

/// Why `try_send` did not take a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrySendError {
    /// `send` would wait.
    WouldBlock(BlockedOn),
    /// It can never succeed.
    Failed(Failure),
}

/// A view of a client for those who watch it; taken under its lock, so not for every record.
#[derive(Clone, Debug, Default)]
pub struct ClientView {
    /// Time since the last accepted full answer; `None`: there was none.
    pub metadata_age: Option<Duration>,
    /// Partition count of every topic in the cache.
    pub partition_counts: Vec<(TopicName, u32)>,
    /// Free `buffer.memory`.
    pub buffer_free_bytes: usize,
    /// Per partition with waiting records: topic, partition, mark of the oldest, how many.
    pub unserved: Vec<(TopicName, PartitionIndex, u64, usize)>,
}

/// A handle to a producer; clones share the client. Without a [`Producer::close`], the client ends with its last handle, and what it still
/// holds fails.
#[derive(Clone, Debug)]
pub struct Producer {
    shared: Arc<Shared>,
    _last_handle: Arc<LastHandle>,
}

/// Ends the client when the last handle goes.
#[derive(Debug)]
struct LastHandle(Arc<Shared>);

impl Drop for LastHandle {
    fn drop(&mut self) {
        if !self.0.is_closing() {
            self.0.begin_close(Duration::ZERO);
        }
    }
}

impl Producer {
    /// A producer over TCP, secured as its identity says, with its driver on the current tokio runtime. Returns before any I/O happens.
    #[must_use]
    pub fn start(
        config: ProducerConfig,
        bootstrap: Vec<HostPort>,
        client: impl Into<Identity>,
        clock: Clock,
        seed: u64,
        observer: Arc<dyn ClientObserver>,
    ) -> Self {
        let identity = client.into();
        let client_id = Arc::clone(&identity.client_id);
        let tcp = TcpConnector::new(config.send_buffer_bytes, config.receive_buffer_bytes);
        Self::start_with(BrokerConnector::new(tcp, identity), config, bootstrap, &client_id, clock, seed, observer)
    }

    /// The same over any connector.
    #[must_use]
    pub fn start_with<C: Connector>(
        connector: C,
        config: ProducerConfig,
        bootstrap: Vec<HostPort>,
        client_id: &str,
        clock: Clock,
        seed: u64,
        observer: Arc<dyn ClientObserver>,
    ) -> Self {
        let core = ProducerCore::new(config, bootstrap, client_id, seed);
        let shared = Arc::new(Shared::new(core, clock, observer));
        tokio::spawn(Driver::new(Arc::clone(&shared), connector).run());
        let last_handle = Arc::new(LastHandle(Arc::clone(&shared)));
        Self { shared, _last_handle: last_handle }
    }

    /// Appends a record if that needs no waiting.
    ///
    /// # Errors
    /// [`TrySendError::WouldBlock`]: use [`Producer::send`]; [`TrySendError::Failed`]: it can never be sent.
    pub fn try_send(&self, now: Moment, record: &Record<'_>) -> Result<(), TrySendError> {
        self.refuse_at_once(record).map_err(TrySendError::Failed)?;
        let snapshot = self.shared.cell.load();
        let Some(view) = known_topic(&snapshot, record) else { return Err(TrySendError::WouldBlock(BlockedOn::Metadata)) };
        match self.append(now, now, record, view, None).map_err(TrySendError::Failed)? {
            None => Ok(()),
            Some(_) => Err(TrySendError::WouldBlock(BlockedOn::Memory)),
        }
    }

    /// Appends a record, waiting for metadata and memory for `max.block.ms` at most.
    ///
    /// # Errors
    /// Why it was never appended, in the Java producer's words.
    pub async fn send(&self, record: &Record<'_>) -> Result<(), Failure> {
        self.refuse_at_once(record)?;
        let called_at = self.shared.clock.now();
        let deadline = called_at + self.block_max();
        let view = match self.known_topic(record) {
            Some(view) => view,
            None => self.blocked(BlockedOn::Metadata, called_at, self.wait_for_topic(record, deadline).await)?,
        };
        let Some(bytes) = self.append(called_at, self.shared.clock.now(), record, &view, None)? else { return Ok(()) };
        let waiting_since = self.shared.clock.now();
        let granted = self.blocked(BlockedOn::Memory, waiting_since, self.wait_for_memory(bytes, deadline).await)?;
        // With memory in hand an append is refused only by a client that closes. What it does not need may be the next waiter's.
        let appended = self.append(called_at, self.shared.clock.now(), record, &view, Some(granted));
        self.shared.memory_granted.notify_waiters();
        appended.map(|_| ())
    }

    /// What no waiting can mend.
    fn refuse_at_once(&self, record: &Record<'_>) -> Result<(), Failure> {
        match record.partition {
            _ if self.shared.is_closing() => Err(failure::used_after_close()),
            Some(partition) if partition.0 < 0 => Err(failure::negative_partition(partition)),
            _ => Ok(()),
        }
    }

    fn block_max(&self) -> Duration {
        self.shared.core().config().block_max
    }

    /// Tells the observer how a wait ended.
    fn blocked<T>(&self, on: BlockedOn, since: Moment, result: Result<T, Failure>) -> Result<T, Failure> {
        let now = self.shared.clock.now();
        let event = ClientEvent::Blocked { on, took: now.since(since), satisfied: result.is_ok() };
        self.shared.observer.event(now, &event);
        result
    }

    /// The record's topic, to keep, if the present snapshot holds it with enough partitions.
    fn known_topic(&self, record: &Record<'_>) -> Option<Arc<TopicView>> {
        known_topic(&self.shared.cell.load(), record).cloned()
    }

    /// Appends; `Some(bytes)`: a new batch needs so much memory, which was not to be had. `sent_at` is when `send` was called; the batch's age
    /// counts from `now`.
    fn append(
        &self,
        sent_at: Moment,
        now: Moment,
        record: &Record<'_>,
        view: &TopicView,
        granted_bytes: Option<usize>,
    ) -> Result<Option<usize>, Failure> {
        let bytes_max = single_record_bytes_max(record.key, record.value);
        let keyed = record.key.filter(|_| record.partition.is_none());
        // Hashed before the lock is taken: other senders need not wait for it.
        let by_key = keyed.map(|key| partition_of_key(key, view.partition_count()));
        let mut core = self.shared.core();
        if core.is_closing() {
            // Looked at under the lock: nothing is appended behind the driver's last pass.
            return Err(failure::used_after_close());
        }
        if bytes_max > core.config().request_bytes_max {
            return Err(failure::larger_than_request(bytes_max, core.config().request_bytes_max));
        }
        if bytes_max > core.config().buffer_bytes {
            return Err(failure::larger_than_buffer(bytes_max));
        }
        let append = Append {
            topic: record.topic,
            partition: record.partition.or(by_key.filter(|_| !core.config().ignore_keys)),
            key: record.key,
            value: record.value,
            timestamp_ms: record.timestamp_ms,
            tag: RecordTag { mark: record.mark, number: record.number, sent_at },
        };
        let appended = core.append(&append, view, granted_bytes, now);
        let total_bytes = core.memory_bytes().0;
        drop(core);
        match appended {
            Appended::Done { wake } => {
                if wake {
                    self.shared.wake();
                }
                Ok(None)
            }
            Appended::NeedsMemory { bytes } if bytes > total_bytes => Err(failure::more_than_buffer(bytes, total_bytes)),
            Appended::NeedsMemory { bytes } => Ok(Some(bytes)),
        }
    }

    /// Java: `waitOnMetadata`. Every wake-up that does not satisfy the caller asks again.
    async fn wait_for_topic(&self, record: &Record<'_>, deadline: Moment) -> Result<Arc<TopicView>, Failure> {
        let topic = record.topic;
        let mut versions = self.shared.cell.watch();
        // One that was refused before is none of this record's: it asks again, and hears for itself.
        let mut refusals = self.shared.refusals.subscribe();
        if self.shared.core().is_invalid_topic(topic) {
            return Err(failure::invalid_topic(topic));
        }
        let mut is_first = true;
        loop {
            let asked = {
                let mut core = self.shared.core();
                // An answer that the core has and the cell does not yet: asking again would cost a whole update and a backoff.
                if let Some(view) = known_topic(core.snapshot(), record).filter(|_| is_first) {
                    return Ok(Arc::clone(view));
                }
                core.request_topic(topic, self.shared.clock.now())
            };
            is_first = false;
            self.shared.wake();
            let updated = timeout_at(self.shared.clock.instant_of(deadline), versions.wait_for(|version| *version > asked));
            let is_updated = tokio::select! {
                () = self.shared.closing.cancelled() => return Err(failure::closed_while_sending()),
                Ok(()) = refusals.changed() => {
                    if let Some(failure) = refusals.borrow().clone() {
                        return Err(failure);
                    }
                    continue;
                }
                updated = updated => updated.is_ok(),
            };
            if !is_updated || self.shared.clock.now() >= deadline {
                return Err(self.topic_missing(record, is_updated));
            }
            if let Some(code) = self.shared.core().take_topic_error(topic) {
                return Err(failure::topic_error(topic, code));
            }
            if let Some(view) = self.known_topic(record) {
                return Ok(view);
            }
        }
    }

    /// `is_updated`: an answer came at the very end; as in Java, its error is then told only if it is one that could pass.
    fn topic_missing(&self, record: &Record<'_>, is_updated: bool) -> Failure {
        let (cause, block_max) = {
            let core = self.shared.core();
            let cause = core.topic_error(record.topic).filter(|cause| !is_updated || cause.is_retriable());
            (cause, core.config().block_max)
        };
        match (record.partition, self.shared.cell.load().partition_count(record.topic)) {
            (Some(partition), Some(count @ 1..)) => failure::partition_not_present(record.topic, partition, count, block_max, cause),
            _ => failure::topic_not_present(record.topic, block_max, cause),
        }
    }

    async fn wait_for_memory(&self, bytes: usize, deadline: Moment) -> Result<usize, Failure> {
        let place = Place { shared: &self.shared, ticket: self.shared.core().queue_for_memory(bytes) };
        self.shared.wake();
        let granted = async {
            loop {
                let notified = self.shared.memory_granted.notified();
                if let Some(granted) = self.shared.core().redeem_memory(place.ticket) {
                    return granted;
                }
                notified.await;
            }
        };
        tokio::select! {
            () = self.shared.closing.cancelled() => Err(failure::closed_while_allocating()),
            granted = timeout_at(self.shared.clock.instant_of(deadline), granted) => granted.map_err(|_| {
                let core = self.shared.core();
                let (total, free) = core.memory_bytes();
                failure::buffer_exhausted(bytes, core.config().block_max, total, free, core.config().batch_bytes)
            }),
        }
    }

    /// Sends what is left for at most `timeout`, then fails the rest. When it returns, every record has had its outcome and the connections are
    /// closed.
    pub async fn close(&self, timeout: Duration) {
        self.shared.begin_close(timeout);
        self.shared.finished.cancelled().await;
    }

    /// The client as it is now.
    #[must_use]
    pub fn view(&self) -> ClientView {
        let now = self.shared.clock.now();
        let snapshot = self.shared.cell.load_full();
        let partition_counts = snapshot.topics().iter().map(|(name, topic)| (name.clone(), topic.partition_count())).collect();
        let core = self.shared.core();
        ClientView {
            metadata_age: core.last_successful_refresh().map(|last| now.since(last)),
            partition_counts,
            buffer_free_bytes: core.memory_bytes().1,
            unserved: core.unserved(),
        }
    }
}

/// The record's topic, if the snapshot holds it with enough partitions.
fn known_topic<'a>(snapshot: &'a Snapshot, record: &Record<'_>) -> Option<&'a Arc<TopicView>> {
    // Without partitions a topic is as good as unknown.
    let view = snapshot.topic(record.topic).filter(|view| view.partition_count() > 0)?;
    let has_partition =
        record.partition.is_none_or(|partition| u32::try_from(partition.0).is_ok_and(|index| index < view.partition_count()));
    has_partition.then_some(view)
}

/// A place in the queue for memory; given up when dropped, so that a cancelled `send` does not keep it.
struct Place<'a> {
    shared: &'a Shared,
    ticket: MemoryTicket,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.shared.core().abandon_memory(self.ticket);
        self.shared.memory_granted.notify_waiters();
    }
}
