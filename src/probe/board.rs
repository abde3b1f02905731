//! What all probes share: it takes what was seen, tells what of it is news as facts, and says when to look next.
//!
//! ```text
//! tail, quorum, brokers (tasks) -> board -> picture (pure: what is known, where layers differ) -> cadence (pure: how often to look)
//!                                    \-> facts
//! ```
//!
//! Not here: how anybody is asked (`quorum`, `broker`, `kafka::raft`). All of it runs on the probes' own thread, but for the call of a step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep_until;

use super::cadence::Cadence;
use super::picture::Picture;
use super::serving::{Lead, Said};
use super::shown;
use crate::clock::{Clock, Moment};
use crate::ids::{BrokerId, TopicName, TopicPartition};
use crate::kafka::admin::{ClusterView, QuorumView};
use crate::record::fact::Fact;
use crate::record::layer::BrokerShows;
use crate::record::sink::FactSink;

/// The shared state.
#[derive(Debug)]
pub(super) struct Board {
    pub(super) clock: Clock,
    pub(super) facts: FactSink,
    /// Topics that are watched.
    pub(super) topics: Vec<TopicName>,
    pub(super) watched: BTreeSet<TopicName>,
    state: Mutex<State>,
    /// Wakes all who wait for their next look.
    pub(super) stirred: Notify,
    /// Wakes all who wait for an answer that is overdue.
    pub(super) mended: Notify,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) cadence: Cadence,
    pub(super) picture: Picture,
    /// The active controller.
    pub(super) controller: Option<BrokerId>,
    /// When each broker was last asked, in vain or not: the moment at which the question was sent.
    asked: BTreeMap<BrokerId, Moment>,
}

impl Board {
    pub(super) fn new(topics: Vec<TopicName>, clock: Clock, facts: FactSink) -> Self {
        let state = State { cadence: Cadence::new(clock.now()), picture: Picture::default(), controller: None, asked: BTreeMap::new() };
        let watched = topics.iter().cloned().collect();
        Self { clock, facts, topics, watched, state: Mutex::new(state), stirred: Notify::new(), mended: Notify::new() }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A step was asked for.
    pub(super) fn step_fired(&self) {
        self.state().cadence.step_fired(self.clock.now());
        self.stirred.notify_waiters();
    }

    /// A step is done.
    pub(super) fn step_done(&self) {
        self.mended.notify_waiters();
    }

    /// Whom to ask how far nodes have fetched.
    pub(super) fn controller(&self) -> Option<BrokerId> {
        self.state().controller
    }

    /// Returns once another controller than this one is the active one, or none is.
    pub(super) async fn follows_another(&self, node: BrokerId) {
        loop {
            let stirred = self.stirred.notified();
            if self.controller() != Some(node) {
                return;
            }
            stirred.await;
        }
    }

    /// The active controller has answered a question that was sent at `asked_at`.
    pub(super) fn quorum_answered(&self, quorum: &QuorumView, asked_at: Moment) {
        let now = self.clock.now();
        let mut state = self.state();
        for passed in state.picture.quorum_answered(quorum, asked_at) {
            let fact = Fact::NodeFetched {
                node: passed.node,
                is_voter: passed.is_voter,
                log_end_offset: passed.log_end_offset,
                not_before_us: passed.not_before.map(|moment| self.facts.time_us(moment)),
            };
            self.facts.emit(now, fact);
        }
        state.compare(now);
    }

    /// A broker has answered a question that was sent at `asked_at`, with what it said before. Returns whether that still was its last word.
    pub(super) fn broker_repeated(&self, node: BrokerId, asked_at: Moment) -> bool {
        let mut state = self.state();
        let is_last = state.picture.shown(node).is_some();
        if is_last {
            state.asked.insert(node, asked_at);
        }
        is_last
    }

    /// A broker has answered a question that was sent at `asked_at`. Returns whether it shows something else than before.
    pub(super) fn broker_showed(&self, node: BrokerId, view: ClusterView, asked_at: Moment) -> bool {
        let now = self.clock.now();
        let view = shown::comparable(view);
        let mut state = self.state();
        let not_before = state.asked.insert(node, asked_at);
        let changes = shown::changes(state.picture.shown(node), &view);
        if changes.is_empty() {
            return false;
        }
        for shows in changes {
            self.tell_shown(now, node, not_before, shows);
        }
        state.picture.show(node, Some(view));
        state.compare(now);
        true
    }

    /// A broker does not answer a question that was sent at `asked_at`; whoever still waits for it says so by `is_pending`.
    pub(super) fn broker_silent(&self, node: BrokerId, why: String, asked_at: Moment, is_pending: bool) {
        let now = self.clock.now();
        let mut state = self.state();
        let last_asked = state.asked.get(&node).copied();
        // As long as a question may yet be answered with the old state, it bounds nothing.
        if !is_pending {
            state.asked.insert(node, asked_at);
        }
        if state.picture.is_silent(node) {
            return;
        }
        self.tell_shown(now, node, last_asked, BrokerShows::Nothing { why });
        state.picture.show(node, None);
        state.compare(now);
    }

    fn tell_shown(&self, now: Moment, node: BrokerId, not_before: Option<Moment>, shows: BrokerShows) {
        let not_before_us = not_before.map(|moment| self.facts.time_us(moment));
        self.facts.emit(now, Fact::BrokerShows { node, not_before_us, shows });
    }

    /// Partitions that a broker is to lead and is not known to serve.
    pub(super) fn open_questions(&self, node: BrokerId) -> Vec<(TopicPartition, Lead)> {
        self.state().picture.open_questions(node)
    }

    /// A broker has answered for these partitions.
    pub(super) fn broker_served(
        &self,
        node: BrokerId,
        asked: &[(TopicPartition, Lead)],
        answers: &BTreeMap<TopicPartition, Said>,
        asked_at: Moment,
    ) {
        let now = self.clock.now();
        let mut state = self.state();
        for served in state.picture.serving(node).answered(asked, answers, asked_at) {
            let fact = Fact::Servable {
                node,
                topic: served.partition.topic,
                partition: served.partition.partition,
                leader_epoch: served.epoch,
                not_before_us: served.not_before.map(|moment| self.facts.time_us(moment)),
                error: served.said.err().map(|code| code.0),
                high_watermark: served.said.ok(),
            };
            self.facts.emit(now, fact);
        }
        state.compare(now);
    }

    /// Waits for the next look of one who began the last one at `began` and has just ended it; at least for `least`.
    pub(super) async fn pause(&self, began: Moment, least: Duration) {
        let ended = self.clock.now();
        loop {
            let stirred = self.stirred.notified();
            let now = self.clock.now();
            let due = self.state().cadence.next_look(began, ended, now).max(ended + least);
            if now >= due {
                return;
            }
            tokio::select! {
                () = sleep_until(self.clock.instant_of(due)) => {}
                () = stirred => {}
            }
        }
    }

    /// For how long looks were fast since this was last asked, and what layers still disagreed on if they have turned slow for that.
    pub(super) fn take_fast(&self, now: Moment) -> (Duration, Option<String>) {
        let mut state = self.state();
        let fast = state.cadence.take_fast(now);
        let unsettled = if state.cadence.lost_patience(now) { state.picture.difference().map(str::to_owned) } else { None };
        (fast, unsettled)
    }
}

impl State {
    /// Tells the cadence whether layers agree now.
    pub(super) fn compare(&mut self, now: Moment) {
        let agrees = self.picture.difference().is_none();
        self.cadence.compared(now, agrees);
    }
}
