//! A group's figures, told once a second.
//!
//! Reads in an order that keeps `due >= sent >= ok + failed + indeterminate` true in every sum of seconds: outcomes first, then what was
//! sent, then what was due.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::{Clock, Moment};
use crate::engine::recorder::client::{ClientRecorder, Stalled, Unserved};
use crate::engine::recorder::figures::Figures;
use crate::engine::recorder::sender::NO_PARTITION;
use crate::engine::recorder::{Blocked, GroupRecorder, SenderProgress, lock};
use crate::kafka::event::BlockedOn;
use crate::load::arrivals::DueTimes;
use crate::record::fact::{Fact, GroupSecond, Totals};

/// What a client says of itself at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientFigures {
    /// Since the last full Metadata answer.
    pub(crate) metadata_age: Option<Duration>,
    /// Partition count of each of the group's topics in its snapshot, 0 for one that is not in it; `None`: unknown.
    pub(crate) cached: Option<Vec<u32>>,
    /// Free `buffer.memory`; `None`: unknown.
    pub(crate) buffer_free_bytes: Option<u64>,
    /// The oldest record of each partition that has records without an outcome.
    pub(crate) waiting: Vec<Unserved>,
}

/// A client that has been made, with its place in the group.
#[derive(Clone, Debug)]
pub(crate) struct SeenClient {
    pub(crate) index: usize,
    pub(crate) recorder: Arc<ClientRecorder>,
    pub(crate) figures: ClientFigures,
}

/// How the records of a sender that are due by now are counted.
#[derive(Clone, Debug)]
pub(crate) enum DueCount {
    /// By the schedule, whether or not they were sent.
    Schedule(DueTimes),
    /// Records are due when they are sent: there is no schedule to fall behind.
    AsSent,
}

/// Tells the seconds of one group.
#[derive(Debug)]
pub(crate) struct SecondTeller {
    group: Arc<GroupRecorder>,
    senders: Arc<[Arc<SenderProgress>]>,
    due_counts: Vec<(DueCount, u64)>,
    /// Where the schedules begin.
    active_from: Moment,
    sum: Figures,
    spare: Figures,
    told: Totals,
}

impl SecondTeller {
    /// For a group that has not begun; one count per sender.
    pub(crate) fn new(
        group: Arc<GroupRecorder>,
        senders: Arc<[Arc<SenderProgress>]>,
        due_counts: Vec<DueCount>,
        active_from: Moment,
    ) -> Self {
        let due_counts = due_counts.into_iter().map(|count| (count, 0)).collect();
        Self { group, senders, due_counts, active_from, sum: Figures::default(), spare: Figures::default(), told: Totals::default() }
    }

    /// Tells what happened since the last call as the figures of `second`, which ended at `at`. No record is due at or after `end`.
    pub(crate) fn tell(&mut self, at: Moment, second: i64, end: Moment, clock: &Clock, clients: &[SeenClient]) {
        self.tell_as_of(|| clock.now(), at, second, end, clients);
    }

    /// The same, for a client in another process: `now`, asked once what was sent is known, is after all that it has told.
    pub(crate) fn tell_as_of(&mut self, now: impl FnOnce() -> Moment, at: Moment, second: i64, end: Moment, clients: &[SeenClient]) {
        let mut told = GroupSecond { group: self.group.name.clone(), second, ..GroupSecond::default() };
        self.group.shards.take_into(&mut self.sum, &mut self.spare);
        self.sum.put_into(&mut told, self.group.tells());
        self.sum.reset();
        let sent: u64 = self.senders.iter().map(|sender| sender.sent()).sum();
        let now = now();
        let due = self.count_due(now, end);
        let Totals { ok, failed, indeterminate, .. } = told.counts;
        told.counts.sent = sent - self.told.sent;
        told.counts.due = due - self.told.due;
        self.told.ok += ok;
        self.told.failed += failed;
        self.told.indeterminate += indeterminate;
        (self.told.sent, self.told.due) = (sent, due);
        told.in_flight = sent.saturating_sub(self.told.ok + self.told.failed + self.told.indeterminate);
        self.look_at(now, clients, &mut told);
        lock(&self.group.record_errors).tell(&self.group.name, &self.group.facts);
        lock(&self.group.batch_errors).tell(&self.group.name, &self.group.facts);
        self.group.facts.emit(at, Fact::Second(Box::new(told)));
    }

    /// Records due and sent so far, per sender.
    pub(crate) fn counts(&self) -> Vec<(u64, u64)> {
        self.due_counts.iter().zip(self.senders.iter()).map(|((_, due), sender)| (*due, sender.sent())).collect()
    }

    fn count_due(&mut self, now: Moment, end: Moment) -> u64 {
        let last = now.0.min(end.0.saturating_sub(1));
        let by = last.checked_sub(self.active_from.0);
        let mut sum = 0;
        for ((count, due), sender) in self.due_counts.iter_mut().zip(self.senders.iter()) {
            match count {
                DueCount::Schedule(times) => *due += by.map_or(0, |by| times.advance_past(by)),
                DueCount::AsSent => *due = sender.sent(),
            }
            sum += *due;
        }
        sum
    }

    fn look_at(&self, now: Moment, clients: &[SeenClient], told: &mut GroupSecond) {
        told.buffer_free_bytes = known(clients, |figures| figures.buffer_free_bytes).and_then(|free| free.into_iter().min());
        let cached = known(clients, |figures| figures.cached.clone()).map(|cached| cached.concat());
        told.cached_partitions_min = cached.as_ref().and_then(|cached| cached.iter().copied().min());
        told.cached_partitions_max = cached.and_then(|cached| cached.into_iter().max());
        told.metadata_age_max_ms = clients.iter().filter_map(|client| client.figures.metadata_age).max().map(millis);
        let mut stalls = Stalled::default();
        let (mut on_metadata, mut on_memory) = (0, 0);
        for client in clients {
            let mut waiting = client.figures.waiting.clone();
            let first = self.senders.partition_point(|sender| sender.client < client.index);
            for sender in self.senders[first..].iter().take_while(|sender| sender.client == client.index) {
                let Some(Blocked { due, topic, on, .. }) = sender.blocked() else { continue };
                waiting.push(Unserved { slot: sender.slot as usize, topic, partition: NO_PARTITION, due });
                // One `send` may wait for metadata first and for memory then; it tells when it is through.
                let cached = client.figures.cached.as_ref().and_then(|cached| cached.get(topic));
                let is_memory = on == BlockedOn::Memory || cached.is_some_and(|partitions| *partitions > 0);
                *(if is_memory { &mut on_memory } else { &mut on_metadata }) += 1;
            }
            stalls.merge(client.recorder.stalled(now, &waiting));
        }
        let tells = self.group.tells();
        told.blocked_metadata = told.blocked_metadata.map(|ended| ended + on_metadata);
        told.blocked_memory = told.blocked_memory.map(|ended| ended + on_memory);
        told.stalled_pairs = tells.unserved.then_some(stalls.pairs);
        told.stalled_max_ms = tells.unserved.then(|| millis(stalls.longest));
    }
}

/// What all clients say; `None`: there is none yet, or one cannot tell.
fn known<T>(clients: &[SeenClient], of: impl Fn(&ClientFigures) -> Option<T>) -> Option<Vec<T>> {
    if clients.is_empty() {
        return None;
    }
    clients.iter().map(|client| of(&client.figures)).collect()
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
