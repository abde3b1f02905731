//! A group's figures: what its clients tell, turned into facts.
//!
//! [`GroupRecorder`] holds what the group's clients share (counts, histograms, errors); each client has a [`ClientRecorder`], which is its
//! observer; each sender a `SenderProgress`; `second` tells the group's figures once a second and at the end. Not here: sending (`group`),
//! what figures mean (`analyze`).
//!
//! Engines are the users. Whoever drives a [`Producer`](crate::kafka::net::producer::Producer) without one, as the benchmarks do, makes a
//! group's and a client's recorder, marks records with [`mark::pack`], and reads [`GroupRecorder::take_second`].

pub(crate) mod client;
pub(crate) mod errors;
pub(crate) mod figures;
pub(crate) mod foreign;
pub(crate) mod life;
pub mod mark;
pub(crate) mod pair;
pub(crate) mod second;
pub(crate) mod sender;
pub(crate) mod tells;

pub use client::ClientRecorder;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::audit::Ledger;
use crate::clock::Moment;
use crate::engine::recorder::errors::{BatchErrorBook, RecordErrorBook};
use crate::engine::recorder::figures::{Figures, Shards};
use crate::engine::recorder::tells::Tells;
use crate::ids::{ProducerIndex, TopicName};
use crate::kafka::event::BlockedOn;
use crate::plan::model::{Load, ProducerGroup};
use crate::record::fact::GroupSecond;
use crate::record::sink::FactSink;

/// Locks; a panic elsewhere does not make the figures useless.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the recorders of one group share.
#[derive(Debug)]
pub struct GroupRecorder {
    pub(crate) name: String,
    pub(crate) topics: Vec<TopicName>,
    topic_indexes: HashMap<TopicName, usize>,
    pub(crate) facts: FactSink,
    /// Where each record's outcome goes.
    pub(crate) ledger: Arc<Ledger>,
    tells: Tells,
    /// A client's count of Metadata requests was lost.
    requests_unknown: AtomicBool,
    /// How long a closed loop waits for an outcome.
    pub(crate) closed_wait: Option<Duration>,
    pub(crate) shards: Shards,
    pub(crate) record_errors: Mutex<RecordErrorBook>,
    pub(crate) batch_errors: Mutex<BatchErrorBook>,
}

impl GroupRecorder {
    /// A recorder for a group that has not sent anything.
    pub(crate) fn new(group: &ProducerGroup, facts: FactSink, ledger: Arc<Ledger>, tells: Tells) -> Self {
        Self {
            name: group.name.clone(),
            topics: group.topics.clone(),
            topic_indexes: group.topics.iter().enumerate().map(|(index, topic)| (topic.clone(), index)).collect(),
            facts,
            ledger,
            tells,
            requests_unknown: AtomicBool::new(false),
            closed_wait: match group.load {
                Load::Closed { wait, .. } => Some(wait),
                Load::Open { .. } | Load::Max => None,
            },
            shards: Shards::new(),
            record_errors: Mutex::default(),
            batch_errors: Mutex::default(),
        }
    }

    /// A recorder for a group of this project's own producers, which tell everything.
    #[must_use]
    pub fn native(group: &ProducerGroup, facts: FactSink, ledger: Arc<Ledger>) -> Self {
        Self::new(group, facts, ledger, Tells::EVERYTHING)
    }

    /// What the group's clients have told since this was last called: counts of outcomes, histograms, Metadata requests. What only senders know
    /// (due, sent, in flight) stays 0. The result is called `second`.
    #[must_use]
    pub fn take_second(&self, second: i64) -> GroupSecond {
        let mut told = GroupSecond { group: self.name.clone(), second, ..GroupSecond::default() };
        let mut sum = Figures::default();
        self.shards.take_into(&mut sum, &mut Figures::default());
        sum.put_into(&mut told, self.tells());
        told
    }

    /// What the group's clients can tell.
    pub(crate) fn tells(&self) -> Tells {
        let requests = self.tells.metadata_requests && !self.requests_unknown.load(Ordering::Relaxed);
        Tells { metadata_requests: requests, ..self.tells }
    }

    /// Position of a topic in the group's list; `None`: not one of its own.
    pub(crate) fn topic_index(&self, topic: &TopicName) -> Option<usize> {
        self.topic_indexes.get(topic).copied()
    }
}

/// A record whose `send` waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocked {
    pub(crate) due: Moment,
    /// When it was handed over, which is later for a sender that catches up.
    pub(crate) sent_at: Moment,
    /// Position of its topic in the group's list.
    pub(crate) topic: usize,
    /// For what it began to wait.
    pub(crate) on: BlockedOn,
}

/// What a sender tells while it works, read once a second. The sender alone writes.
#[derive(Debug)]
pub(crate) struct SenderProgress {
    /// Which producer it is.
    pub(crate) producer: ProducerIndex,
    /// Its client's place in the group.
    pub(crate) client: usize,
    /// Its place among the client's senders.
    pub(crate) slot: u32,
    /// Records handed to the client: `send` was called, whether or not it has returned.
    sent: AtomicU64,
    /// Due time of the record whose `send` waits; 0: none does.
    blocked_due: AtomicU64,
    /// When it was handed over.
    blocked_sent_at: AtomicU64,
    /// Its topic, as the position in the group's list, and in the lowest bit whether it waits for memory.
    blocked_topic: AtomicU64,
}

impl SenderProgress {
    /// Nothing sent yet.
    pub(crate) fn new(producer: ProducerIndex, client: usize, slot: u32) -> Self {
        let [sent, blocked_due, blocked_sent_at, blocked_topic] = [(); 4].map(|()| AtomicU64::new(0));
        Self { producer, client, slot, sent, blocked_due, blocked_sent_at, blocked_topic }
    }

    /// A record is handed to the client. To be called before the client can tell its outcome, so that no record ends that was not sent.
    pub(crate) fn hand_over(&self) {
        // One writer: no read-modify-write needed.
        self.sent.store(self.sent.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// So many records were handed over, as a client in another process tells.
    pub(crate) fn set_sent(&self, records: u64) {
        self.sent.store(records, Ordering::Release);
    }

    /// Records handed over so far.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Acquire)
    }

    /// The number of the record that was handed over last.
    pub(crate) fn number(&self) -> u64 {
        self.sent().saturating_sub(1)
    }

    /// The `send` of a record has to wait.
    pub(crate) fn block(&self, Blocked { due, sent_at, topic, on }: Blocked) {
        self.blocked_topic.store((topic as u64) << 1 | u64::from(on == BlockedOn::Memory), Ordering::Relaxed);
        self.blocked_sent_at.store(sent_at.0, Ordering::Relaxed);
        self.blocked_due.store(due.0, Ordering::Release);
    }

    /// It has returned.
    pub(crate) fn unblock(&self) {
        self.blocked_due.store(0, Ordering::Release);
    }

    /// The record whose `send` waits.
    pub(crate) fn blocked(&self) -> Option<Blocked> {
        let due = self.blocked_due.load(Ordering::Acquire);
        let sent_at = Moment(self.blocked_sent_at.load(Ordering::Relaxed));
        let topic = self.blocked_topic.load(Ordering::Relaxed);
        let on = if topic & 1 == 1 { BlockedOn::Memory } else { BlockedOn::Metadata };
        (due != 0).then_some(Blocked { due: Moment(due), sent_at, topic: (topic >> 1) as usize, on })
    }
}
