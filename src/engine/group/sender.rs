//! One producer's loop: waits until records are due and hands them to its client.
//!
//! A sender never skips a record: after a stall it hands over all that became due meanwhile. Where its client makes it wait (no metadata, no
//! memory), only this sender waits.
//!
//! A hand-over is *late* by the generator's own fault only while the sender keeps up; from a blocked send until it has caught up again,
//! the delay is the client's back-pressure and shows in the response times.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::clock::Moment;
use crate::engine::group::client::{Client, MakeClient};
use crate::engine::group::state::{Group, Made, Stop};
use crate::engine::recorder::{Blocked, SenderProgress, mark};
use crate::engine::{BURSTS_PER_TURN, RECORDS_PER_LOOK};
use crate::ids::{ProducerIndex, TopicName};
use crate::kafka::event::{BlockedOn, Failure, RecordTag};
use crate::kafka::net::producer::{Record, TrySendError};
use crate::load::arrivals::DueTimes;
use crate::load::keys::Keys;
use crate::load::payload::Payload;
use crate::load::seed::{Purpose, producer_seed_u64};
use crate::plan::model::Load;

/// A producer at work.
pub(crate) struct Sender<M: MakeClient> {
    group: Arc<Group<M>>,
    progress: Arc<SenderProgress>,
    made: Made<M::Client>,
    stop: watch::Receiver<Stop>,
    content: Content,
    lateness: Lateness,
}

/// Runs a producer until no more records are due.
pub(crate) async fn run<M: MakeClient>(group: Arc<Group<M>>, progress: Arc<SenderProgress>) {
    let mut stop = group.stop.subscribe();
    let due_times = group.due_times(progress.producer);
    let first = due_times
        .as_ref()
        .map_or_else(|| group.start_of(progress.producer), |times| group.active_from + Duration::from_micros(times.next_us()));
    if !sleep_until(&group, &mut stop, first).await {
        return;
    }
    let made = group.client_of(&progress);
    let content = Content::new(&group, progress.producer, progress.slot);
    let mut sender = Sender { group, progress, made, stop, content, lateness: Lateness::default() };
    match (sender.group.spec.load, due_times) {
        (Load::Closed { wait, every }, _) => sender.run_closed(wait, every).await,
        (_, Some(due_times)) => sender.run_open(due_times).await,
        (_, None) => sender.run_max().await,
    }
}

/// Sleeps until a record's due time; `false`: it is not due any more, the load ends before.
async fn sleep_until<M: MakeClient>(group: &Group<M>, stop: &mut watch::Receiver<Stop>, due: Moment) -> bool {
    loop {
        if due >= stop.borrow_and_update().end {
            return false;
        }
        tokio::select! {
            () = tokio::time::sleep_until(group.clock.instant_of(due)) => return true,
            changed = stop.changed() => if changed.is_err() { return false },
        }
    }
}

impl<M: MakeClient> Sender<M> {
    async fn run_open(&mut self, mut due_times: DueTimes) {
        let mut bursts = 0_usize;
        loop {
            let due = self.due(&due_times);
            if due > self.group.clock.now() {
                self.lateness.caught_up();
                bursts = 0;
                if !sleep_until(&self.group, &mut self.stop, due).await {
                    return;
                }
            } else if self.is_over(due) {
                return;
            }
            self.burst(&mut due_times).await;
            bursts += 1;
            if bursts.is_multiple_of(BURSTS_PER_TURN) {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Hands over what is due now, at most so many that one look at the clock serves them all.
    async fn burst(&mut self, due_times: &mut DueTimes) {
        let now = self.group.clock.now();
        let end = self.stop.borrow().end;
        for _ in 0..RECORDS_PER_LOOK {
            let due = self.due(due_times);
            if due > now || due >= end {
                break;
            }
            due_times.advance();
            self.lateness.note(now.since(due));
            if let Some(on) = self.hand_over(now, due) {
                self.lateness.tell(&self.group);
                self.lateness.fell_behind();
                self.wait_for_room(on, now, due).await;
                break;
            }
        }
        self.lateness.tell(&self.group);
    }

    async fn run_max(&mut self) {
        let mut bursts = 0_usize;
        loop {
            let now = self.group.clock.now();
            if self.is_over(now) {
                return;
            }
            for _ in 0..RECORDS_PER_LOOK {
                if let Some(on) = self.hand_over(now, now) {
                    self.wait_for_room(on, now, now).await;
                    break;
                }
            }
            bursts += 1;
            if bursts.is_multiple_of(BURSTS_PER_TURN) {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Sends, waits for the outcome, sends the next; `send` itself and the outcome may take `wait` together. A record is due when it is sent.
    async fn run_closed(&mut self, wait: Duration, every: Duration) {
        let mut due = self.group.clock.now();
        while !self.is_over(due) {
            let sent_at = due;
            let tag = RecordTag { mark: mark::pack(self.progress.slot, due), number: self.content.sequence, sent_at };
            let give_up_at = self.group.clock.instant_of(sent_at + wait);
            let known = self.made.recorder.begin_wait(tag.mark);
            if let Some(on) = self.hand_over(sent_at, due) {
                self.wait_for_room_until(give_up_at, on, tag, wait).await;
            }
            while let Some(known) = known.as_ref().filter(|_| self.made.recorder.is_waiting(tag.mark)) {
                if tokio::time::timeout_at(give_up_at, known.notified()).await.is_err() {
                    self.made.recorder.give_up(self.group.clock.now(), tag);
                }
            }
            // Marks of one sender differ: the next record is due a microsecond later at least.
            let next = due + every.max(Duration::from_micros(1));
            if next > self.group.clock.now() && !sleep_until(&self.group, &mut self.stop, next).await {
                return;
            }
            due = self.group.clock.now().max(next);
        }
    }

    fn due(&self, due_times: &DueTimes) -> Moment {
        self.group.active_from + Duration::from_micros(due_times.next_us())
    }

    fn is_over(&self, due: Moment) -> bool {
        let stop = *self.stop.borrow();
        stop.give_up || due >= stop.end
    }

    /// Hands the next record to the client; `Some`: it would have to wait.
    fn hand_over(&mut self, now: Moment, due: Moment) -> Option<BlockedOn> {
        self.progress.hand_over();
        let topics = &self.group.spec.topics;
        let (topic, record) = self.content.record(topics, now, due);
        match self.made.client.try_send(now, &record) {
            Ok(()) => {}
            Err(TrySendError::WouldBlock(on)) => return Some(on),
            Err(TrySendError::Failed(failure)) => {
                let tag = RecordTag { mark: record.mark, number: record.number, sent_at: now };
                self.made.recorder.not_appended(now, topic, tag, &failure);
            }
        }
        self.content.next();
        None
    }

    /// Hands over the record that has to wait, when the client takes it.
    async fn wait_for_room(&mut self, on: BlockedOn, sent_at: Moment, due: Moment) {
        let topics = &self.group.spec.topics;
        let (topic, record) = self.content.record(topics, sent_at, due);
        self.progress.block(Blocked { due, sent_at, topic, on });
        let result: Result<(), Failure> = self.made.client.send(&record).await;
        self.progress.unblock();
        if let Err(failure) = result {
            let tag = RecordTag { mark: record.mark, number: record.number, sent_at };
            self.made.recorder.not_appended(self.group.clock.now(), topic, tag, &failure);
        }
        self.content.next();
    }

    /// The same, but the record is taken back at `give_up_at`: it never got into the client then.
    async fn wait_for_room_until(&mut self, give_up_at: Instant, on: BlockedOn, tag: RecordTag, wait: Duration) {
        let (sent_at, due) = (tag.sent_at, mark::due(tag.mark));
        let topic = self.content.topic_index(&self.group.spec.topics);
        if tokio::time::timeout_at(give_up_at, self.wait_for_room(on, sent_at, due)).await.is_ok() {
            return;
        }
        self.progress.unblock();
        let now = self.group.clock.now();
        let text = format!("not taken by the client within {} s", wait.as_secs_f64());
        let failure = Failure { kind: "TimeoutException".to_owned(), code: None, text };
        self.made.recorder.taken_back(now, on, topic, tag, &failure);
        self.content.next();
    }
}

/// What a producer's records hold.
struct Content {
    slot: u32,
    sequence: u64,
    payload: Payload,
    keys: Option<Keys>,
    steady: Moment,
    steady_wall_us: i64,
}

impl Content {
    fn new<M: MakeClient>(group: &Group<M>, producer: ProducerIndex, slot: u32) -> Self {
        let seed = producer_seed_u64(group.seed, &group.spec.name, producer, Purpose::Payload);
        let steady = group.recorder.facts.origin();
        Self {
            slot,
            sequence: 0,
            payload: Payload::new(group.spec.record.size_bytes, &group.spec.name, producer, seed),
            keys: group.spec.record.keys.map(|count| Keys::new(count, seed)),
            steady,
            steady_wall_us: i64::try_from(group.clock.unix_time_of(steady).as_micros()).unwrap_or(0),
        }
    }

    /// The present record and its topic's place: topics take turns.
    fn record<'a>(&'a mut self, topics: &'a [TopicName], now: Moment, due: Moment) -> (usize, Record<'a>) {
        let count = topics.len().max(1) as u64;
        let topic = self.topic_index(topics);
        let record = Record {
            topic: &topics[topic],
            partition: None,
            key: self.keys.as_mut().map(|keys| keys.key(self.sequence / count)),
            value: self.payload.write(self.sequence, due.micros_from(self.steady)),
            timestamp_ms: (self.steady_wall_us + now.micros_from(self.steady)) / 1_000,
            mark: mark::pack(self.slot, due),
            number: self.sequence,
        };
        (topic, record)
    }

    /// The present record's topic, as its place in the list.
    fn topic_index(&self, topics: &[TopicName]) -> usize {
        (self.sequence % topics.len().max(1) as u64) as usize
    }

    /// Goes on to the next record.
    fn next(&mut self) {
        self.sequence += 1;
    }
}

/// Lateness of the hand-overs of one burst.
#[derive(Debug, Default)]
struct Lateness {
    values_us: [u64; RECORDS_PER_LOOK],
    count: usize,
    is_behind: bool,
}

impl Lateness {
    fn note(&mut self, late: Duration) {
        if let Some(place) = self.values_us.get_mut(self.count).filter(|_| !self.is_behind) {
            *place = u64::try_from(late.as_micros()).unwrap_or(u64::MAX);
            self.count += 1;
        }
    }

    fn fell_behind(&mut self) {
        self.is_behind = true;
    }

    fn caught_up(&mut self) {
        self.is_behind = false;
    }

    fn tell<M: MakeClient>(&mut self, group: &Group<M>) {
        if self.count > 0 {
            group.generator.late(&self.values_us[..self.count]);
            self.count = 0;
        }
    }
}
