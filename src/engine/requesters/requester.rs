//! One requester: waits until a request is due, sends it to its broker, waits for the answer.
//!
//! A request is *late* by the generator's own fault only while the requester keeps up; what waits for an earlier answer or for a connection
//! shows in its response time.

use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use crate::clock::Moment;
use crate::ids::{BrokerId, HostPort};
use crate::kafka::admin::MetadataRequester;
use crate::load::arrivals::DueTimes;

/// Longest wait for a connection, and for an answer: the defaults of Kafka's clients.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// Pause after a failure: the first, and the longest after it has doubled again and again.
const BACKOFF: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_secs(1);

/// A requester at work.
#[derive(Debug)]
pub(super) struct Requester {
    group: Arc<Shared>,
    client_id: String,
    due_times: DueTimes,
    /// Its place in the list of brokers.
    broker: usize,
    connection: Option<MetadataRequester>,
    backoff: Duration,
    is_behind: bool,
}

impl Requester {
    pub(super) fn new(group: Arc<Shared>, index: u32) -> Self {
        let (client_id, due_times) = (format!("{}-{index}", group.spec.name), group.due_times(index));
        // Each begins with another broker, so that a group spreads over all.
        Self { group, client_id, due_times, broker: index as usize, connection: None, backoff: BACKOFF, is_behind: false }
    }

    /// Asks until no request is due any more.
    pub(super) async fn run(mut self) {
        while let Some(due) = self.next_due().await {
            self.due_times.advance();
            while !self.request(due).await {
                self.broker += 1;
                self.back_off().await;
            }
            if self.connection.is_none() {
                self.back_off().await;
            }
        }
        if self.connection.is_some() {
            self.group.gathered.lock().connected(false);
        }
    }

    /// The pause after a connection or a request that failed, each twice as long as the one before until an answer comes.
    async fn back_off(&mut self) {
        tokio::time::sleep(self.backoff).await;
        self.backoff = (self.backoff * 2).min(BACKOFF_MAX);
    }

    /// Waits until the next request is due; `None`: there is none any more.
    async fn next_due(&mut self) -> Option<Moment> {
        let due = self.group.active_from + Duration::from_micros(self.due_times.next_us());
        let active_until = self.group.spec.active.until.map(|until| self.group.context.load_start + until);
        if active_until.is_some_and(|until| due >= until) {
            return None;
        }
        let clock = &self.group.context.clock;
        let mut end = self.group.end.clone();
        loop {
            if due >= *end.borrow_and_update() {
                return None;
            }
            let now = clock.now();
            if due <= now {
                return Some(due);
            }
            self.is_behind = false;
            tokio::select! {
                () = tokio::time::sleep_until(clock.instant_of(due)) => {}
                changed = end.changed() => if changed.is_err() { return None },
            }
        }
    }

    /// Sends a request; whether it was sent, whatever became of it: one that was sent is not sent again.
    async fn request(&mut self, due: Moment) -> bool {
        let group = Arc::clone(&self.group);
        let clock = &group.context.clock;
        if !self.is_behind {
            group.context.generator.late(&[u64::try_from(clock.now().since(due).as_micros()).unwrap_or(u64::MAX)]);
        }
        // Until it has caught up, what is late is so because of connections and answers.
        self.is_behind = true;
        let Some((node, mut connection)) = self.connection().await else { return false };
        let sent_at = clock.now();
        group.gathered.lock().sent(node);
        let (answer, carried) = connection.ask(&group.question, ANSWER_WITHIN).await;
        let now = clock.now();
        let mut figures = group.gathered.lock();
        figures.carried(carried.request_bytes, carried.response_bytes);
        match answer {
            Ok(answer) => {
                figures.answered(now.since(sent_at), now.since(due), &answer);
                self.backoff = BACKOFF;
                self.connection = Some(connection);
            }
            Err(error) => {
                figures.failed(&error);
                figures.connected(false);
                self.broker += 1;
            }
        }
        true
    }

    /// The connection that it has, or a new one to its broker.
    async fn connection(&mut self) -> Option<(BrokerId, MetadataRequester)> {
        let group = Arc::clone(&self.group);
        let (node, listener): &(BrokerId, HostPort) = group.brokers.get(self.broker.checked_rem(group.brokers.len())?)?;
        if let Some(connection) = self.connection.take() {
            return Some((*node, connection));
        }
        let client = group.context.security.named(&self.client_id);
        match MetadataRequester::connect(listener, &client, CONNECT_WITHIN, &group.context.clock).await {
            Ok(connection) => {
                group.gathered.lock().connected(true);
                Some((*node, connection))
            }
            Err(error) => {
                group.gathered.lock().not_connected(&error);
                None
            }
        }
    }
}
