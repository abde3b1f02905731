//! The metadata machine: when to ask for an update, for which topics, and what of an answer to believe.
//!
//! A function of (state, event, now): no sockets, no clock. Behaves as Java's `Metadata` and `ProducerMetadata` (4.3.0), including what
//! surprises there: a full update that is asked for while another full one is in flight is lost; a failed attempt and a success both hold the next
//! request back by one backoff. Not here: which node is asked (`client`), the snapshot itself (`kafka::metadata`).

use std::sync::Arc;
use std::time::Duration;

use rand::Rng;
use rand::seq::SliceRandom;
use rustc_hash::FxHashMap;

use crate::clock::Moment;
use crate::ids::{BrokerId, HostPort, LeaderEpoch, TopicId, TopicName, TopicPartition, UpdateVersion};
use crate::kafka::core::backoff::ExponentialBackoff;
use crate::kafka::core::config::ProducerConfig;
use crate::kafka::core::interest::TopicInterest;
use crate::kafka::event::UpdateReason;
use crate::kafka::metadata::{PartitionView, Snapshot, TopicMap, TopicView};
use crate::kafka::wire::error::ErrorCode;
use crate::kafka::wire::messages::{MetadataAnswer, PartitionAnswer, TopicAnswer};

/// From this version of Metadata on, leader epochs can be trusted (KAFKA-10183 and KIP-497 fixed what came before).
const FIRST_VERSION_WITH_TRUSTED_EPOCHS: i16 = 9;

/// The state between two answers.
#[derive(Debug)]
pub struct MetadataMachine {
    bootstrap: Vec<HostPort>,
    age_max: Duration,
    backoff: ExponentialBackoff,
    snapshot: Arc<Snapshot>,
    interest: TopicInterest,
    update_version: UpdateVersion,
    /// Rises with each request for new topics; an answer to an older request leaves the wish for a partial update standing.
    request_version: u64,
    /// Last answer or failed attempt; `None` (Java: 0) lets the next request go at once.
    last_refresh: Option<Moment>,
    /// Last accepted full answer.
    last_successful_refresh: Option<Moment>,
    failed_attempts: u32,
    equivalent_responses: u32,
    need_full: Option<UpdateReason>,
    need_partial: bool,
    /// Highest accepted epoch per partition; outlives the snapshot.
    seen_epochs: FxHashMap<TopicPartition, LeaderEpoch>,
    /// Topic-level errors of the last answer.
    errors: FxHashMap<TopicName, ErrorCode>,
    /// Topics that cannot be used (17, 29). Part of what is believed of the cluster: a partial answer that does not name them leaves them here.
    refused: FxHashMap<TopicName, ErrorCode>,
    /// Those of them that a waiting `send` must still hear of.
    recoverable: FxHashMap<TopicName, ErrorCode>,
}

/// A Metadata request to send, and what must be remembered with it until its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateRequest {
    /// Topics to name; empty asks for brokers only.
    pub topics: Vec<TopicName>,
    /// All topics of interest, or only new ones.
    pub full: bool,
    /// What made it necessary.
    pub reason: UpdateReason,
    request_version: u64,
}

/// What became of an answer.
#[derive(Debug)]
pub enum Accepted {
    /// A new snapshot; waiters are to be woken after it is published. Reasons for the next update, found in the answer itself.
    Updated {
        /// The snapshot before.
        previous: Arc<Snapshot>,
        /// Update reasons raised by errors in the answer.
        raised: Vec<UpdateReason>,
    },
    /// The broker list was empty: a failed attempt.
    Empty,
    /// The broker asks the client to go back to its bootstrap list; nothing was changed.
    RebootstrapRequired,
}

impl MetadataMachine {
    /// The machine of a fresh client: version 1, a full update needed at once.
    #[must_use]
    pub fn new(config: &ProducerConfig, bootstrap: Vec<HostPort>) -> Self {
        let mut machine = Self {
            bootstrap,
            age_max: config.metadata_age_max,
            backoff: ExponentialBackoff::new(config.retry_backoff, config.retry_backoff_max),
            snapshot: Arc::new(Snapshot::default()),
            interest: TopicInterest::new(config.metadata_idle_max),
            update_version: UpdateVersion(0),
            request_version: 0,
            last_refresh: None,
            last_successful_refresh: None,
            failed_attempts: 0,
            equivalent_responses: 0,
            need_full: None,
            need_partial: false,
            seen_epochs: FxHashMap::default(),
            errors: FxHashMap::default(),
            refused: FxHashMap::default(),
            recoverable: FxHashMap::default(),
        };
        machine.back_to_bootstrap(UpdateReason::Start);
        machine
    }

    fn back_to_bootstrap(&mut self, reason: UpdateReason) {
        self.update_version.0 += 1;
        self.snapshot = Arc::new(Snapshot::bootstrap(&self.bootstrap, self.update_version));
        self.refused.clear();
        self.need_full = Some(reason);
    }

    /// Forgets the cluster and goes back to the bootstrap list (KIP-899). Topics of interest, epochs and backoff stay.
    pub fn rebootstrap(&mut self) {
        self.back_to_bootstrap(UpdateReason::Rebootstrap);
    }

    /// What the client believes now.
    #[must_use]
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// The client's count of updates.
    #[must_use]
    pub fn update_version(&self) -> UpdateVersion {
        self.update_version
    }

    /// Last accepted full answer; what `metadata-age` counts from.
    #[must_use]
    pub fn last_successful_refresh(&self) -> Option<Moment> {
        self.last_successful_refresh
    }

    /// Asks for a full update. Does not shorten the backoff. Returns the version to wait past.
    pub fn request_update(&mut self, reason: UpdateReason) -> UpdateVersion {
        self.need_full.get_or_insert(reason);
        self.update_version
    }

    fn request_update_for_new_topics(&mut self) -> UpdateVersion {
        self.last_refresh = None;
        self.need_partial = true;
        self.equivalent_responses = 0;
        self.request_version += 1;
        self.update_version
    }

    /// Asks for an update because of this topic: for new topics only if nobody has answered for it yet, else a full one.
    pub fn request_update_for_topic(&mut self, topic: &TopicName) -> UpdateVersion {
        if self.interest.is_new(topic) { self.request_update_for_new_topics() } else { self.request_update(UpdateReason::NewTopic) }
    }

    /// Notes the use of a topic. A topic that was not of interest asks for an update; returns whether it did.
    pub fn add_topic(&mut self, topic: &TopicName, now: Moment) -> bool {
        let is_new = self.interest.add(topic, now);
        if is_new {
            self.request_update_for_new_topics();
        }
        is_new
    }

    /// Whether the snapshot's age alone calls for an update.
    fn is_expired(&self, now: Moment) -> bool {
        self.last_successful_refresh.is_none_or(|last| now >= last + self.age_max)
    }

    /// Time until the next request may and must go out; zero: now. Java: `timeToNextUpdate`.
    ///
    /// The jitter is drawn anew at each call, as there: the wait that counts is the first draw that says "now".
    pub fn time_to_next_update(&mut self, now: Moment, random: &mut impl Rng) -> Duration {
        let to_expire = if self.need_full.is_some() || self.need_partial {
            Duration::ZERO
        } else {
            self.last_successful_refresh.map_or(Duration::ZERO, |last| (last + self.age_max).since(now))
        };
        if self.is_expired(now) {
            self.equivalent_responses = 0;
        }
        to_expire.max(self.time_to_allow(now, random))
    }

    fn time_to_allow(&self, now: Moment, random: &mut impl Rng) -> Duration {
        let Some(last) = self.last_refresh else { return Duration::ZERO };
        let attempts_wait = self.backoff.wait(self.failed_attempts.saturating_sub(1), random);
        let no_progress_wait = match self.equivalent_responses {
            0 => Duration::ZERO,
            count => self.backoff.wait(count - 1, random),
        };
        (last + attempts_wait.max(no_progress_wait)).since(now)
    }

    /// The request that is due: partial only if no full update is wanted and the age has not run out.
    #[must_use]
    pub fn next_request(&self, now: Moment) -> UpdateRequest {
        let full = self.need_full.is_some() || self.is_expired(now);
        let reason = match self.need_full {
            Some(reason) => reason,
            None if self.need_partial => UpdateReason::NewTopic,
            None => UpdateReason::Age,
        };
        let topics = if full { self.interest.all() } else { self.interest.unanswered() };
        UpdateRequest { topics, full, reason, request_version: self.request_version }
    }

    /// An attempt failed: no answer, or one without brokers.
    pub fn failed_update(&mut self, now: Moment) {
        self.last_refresh = Some(now);
        self.failed_attempts += 1;
        self.equivalent_responses = 0;
    }

    /// Takes an answer to `request`. `rebootstrap_allowed`: the strategy heeds REBOOTSTRAP_REQUIRED.
    pub fn accept(
        &mut self,
        request: &UpdateRequest,
        answer: MetadataAnswer,
        now: Moment,
        rebootstrap_allowed: bool,
        random: &mut impl Rng,
    ) -> Accepted {
        if rebootstrap_allowed && answer.error == Some(ErrorCode::REBOOTSTRAP_REQUIRED) {
            return Accepted::RebootstrapRequired;
        }
        if answer.brokers.is_empty() {
            self.failed_update(now);
            return Accepted::Empty;
        }
        self.need_partial = request.request_version < self.request_version;
        self.last_refresh = Some(now);
        self.failed_attempts = 0;
        self.update_version.0 += 1;
        if request.full {
            self.need_full = None;
            self.last_successful_refresh = Some(now);
        }
        self.equivalent_responses += 1;
        let previous = Arc::clone(&self.snapshot);
        let raised = self.take_topics(request.full, answer, now, random);
        Accepted::Updated { previous, raised }
    }

    fn take_topics(&mut self, full: bool, answer: MetadataAnswer, now: Moment, random: &mut impl Rng) -> Vec<UpdateReason> {
        let mut raised = Vec::new();
        let mut taken = TopicMap::default();
        let mut named = Vec::new();
        let trusted_epochs = answer.version >= FIRST_VERSION_WITH_TRUSTED_EPOCHS;
        self.errors.clear();
        for topic in answer.topics {
            named.push(topic.name.clone());
            if !self.interest.retain(&topic.name, now) {
                continue;
            }
            if let Some(error) = topic.error {
                self.errors.insert(topic.name.clone(), error);
                self.raise(error, &mut raised);
            } else {
                let (name, view) = self.take_topic(topic, trusted_epochs, &mut raised);
                taken.insert(name, Arc::new(view));
            }
        }
        let topics = if full { taken } else { self.merged(&named, taken, now) };
        let mut nodes = answer.brokers;
        nodes.shuffle(random);
        let cluster_id = answer.cluster_id.map(Arc::from);
        self.snapshot = Arc::new(Snapshot::new(self.update_version, nodes, cluster_id, answer.controller, topics));
        self.after_publication(full, &named, now);
        raised
    }

    fn raise(&mut self, error: ErrorCode, raised: &mut Vec<UpdateReason>) {
        if error.invalidates_metadata() {
            raised.push(UpdateReason::MetadataError(error));
            self.request_update(UpdateReason::MetadataError(error));
        }
    }

    fn take_topic(&mut self, topic: TopicAnswer, trusted_epochs: bool, raised: &mut Vec<UpdateReason>) -> (TopicName, TopicView) {
        let TopicAnswer { name, id, internal, partitions, .. } = topic;
        let name = self.interest.interned(&name).unwrap_or(name);
        let old = self.snapshot.topic(&name).cloned();
        let id_changed = id.is_some_and(|id| old.as_ref().and_then(|old| old.id) != Some(id));
        let mut views = Vec::with_capacity(partitions.len());
        for partition in partitions {
            if let Some(error) = partition.error {
                self.raise(error, raised);
            }
            let cached = old.as_ref().and_then(|old| old.partition(partition.index));
            views.extend(self.take_partition(&name, partition, cached, id_changed, trusted_epochs));
        }
        views.sort_unstable_by_key(|view| view.index);
        (name, TopicView { id, internal, partitions: views, available: Vec::new() })
    }

    /// The epoch rule (KIP-320): an older epoch never replaces a newer one of the same topic id.
    fn take_partition(
        &mut self,
        topic: &TopicName,
        answer: PartitionAnswer,
        cached: Option<&PartitionView>,
        id_changed: bool,
        trusted_epochs: bool,
    ) -> Option<PartitionView> {
        let key = TopicPartition { topic: topic.clone(), partition: answer.index };
        let Some(epoch) = answer.epoch.filter(|_| trusted_epochs) else {
            self.seen_epochs.remove(&key);
            self.equivalent_responses = 0;
            return Some(view_of(answer, None));
        };
        match self.seen_epochs.get(&key) {
            Some(seen) if !id_changed && epoch < *seen => return cached.cloned(),
            Some(seen) if !id_changed && epoch == *seen => {}
            _ => {
                self.seen_epochs.insert(key, epoch);
                self.equivalent_responses = 0;
            }
        }
        Some(view_of(answer, Some(epoch)))
    }

    /// A partial answer: topics that it does not name stay, if they are still of interest.
    fn merged(&mut self, named: &[TopicName], mut taken: TopicMap, now: Moment) -> TopicMap {
        let previous = Arc::clone(&self.snapshot);
        for (name, topic) in previous.topics() {
            if !named.contains(name) && self.interest.retain(name, now) {
                taken.insert(name.clone(), Arc::clone(topic));
            }
        }
        taken
    }

    fn after_publication(&mut self, full: bool, named: &[TopicName], now: Moment) {
        let is_refusal = |error: ErrorCode| [ErrorCode::INVALID_TOPIC_EXCEPTION, ErrorCode::TOPIC_AUTHORIZATION_FAILED].contains(&error);
        let Self { seen_epochs, interest, refused, errors, .. } = self;
        refused.retain(|topic, _| !full && !named.contains(topic) && interest.retain(topic, now));
        refused.extend(errors.iter().filter(|(_, error)| is_refusal(**error)).map(|(name, error)| (name.clone(), *error)));
        self.recoverable = refused.clone();
        seen_epochs.retain(|partition, _| interest.retain(&partition.topic, now));
        for topic in named {
            self.interest.answered(topic);
        }
    }

    /// The topic's error in the last answer, for the cause of a timeout.
    #[must_use]
    pub fn error_of(&self, topic: &TopicName) -> Option<ErrorCode> {
        self.errors.get(topic).copied()
    }

    /// The error (17 or 29) that a `send` to this topic must fail with. Asking clears the errors of all topics, as in Java.
    pub fn take_recoverable_error(&mut self, topic: &TopicName) -> Option<ErrorCode> {
        let error = self.recoverable.get(topic).copied();
        self.recoverable.clear();
        error
    }

    /// Whether the topic's name is known to be invalid; does not clear anything.
    #[must_use]
    pub fn is_invalid(&self, topic: &TopicName) -> bool {
        self.refused.get(topic) == Some(&ErrorCode::INVALID_TOPIC_EXCEPTION)
    }

    /// The leader's epoch of a partition as far as this client knows: the highest one accepted, else that of the snapshot.
    pub(super) fn known_epoch(&self, at: &TopicPartition) -> Option<LeaderEpoch> {
        let cached = || self.snapshot.topic(&at.topic)?.partition(at.partition)?.epoch;
        self.seen_epochs.get(at).copied().or_else(cached)
    }

    /// Puts another snapshot of the same version in place, and remembers its epochs. Returns the one before.
    pub(super) fn replace_silently(&mut self, next: Arc<Snapshot>, leaders: Vec<(TopicPartition, BrokerId, LeaderEpoch)>) -> Arc<Snapshot> {
        self.seen_epochs.extend(leaders.into_iter().map(|(at, _, epoch)| (at, epoch)));
        std::mem::replace(&mut self.snapshot, next)
    }

    /// The id that the snapshot holds for a topic.
    #[must_use]
    pub fn topic_id(&self, topic: &TopicName) -> Option<TopicId> {
        self.snapshot.topic(topic).and_then(|topic| topic.id)
    }
}

fn view_of(answer: PartitionAnswer, epoch: Option<LeaderEpoch>) -> PartitionView {
    PartitionView {
        index: answer.index,
        error: answer.error,
        named_leader: answer.leader,
        epoch,
        replicas: answer.replicas.into(),
        isr: answer.isr.into(),
        offline: answer.offline.into(),
    }
}
