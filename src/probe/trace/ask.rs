//! The questions, one by one, each within its bound.
//!
//! Not here: who is asked (`round`, `tracer`), what an answer means.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Semaphore;
use tokio::time::timeout_at;

use super::log::LogReader;
use super::roll::Roll;
use super::sighting::{ControllerLog, Heard, Scope, Served, Sighting, Unheard};
use crate::clock::{Clock, Moment};
use crate::ids::{BrokerId, HostPort, TopicName, TopicPartition};
use crate::kafka::admin::{Admin, AdminError, ClusterDescription, ClusterView, EligibleReplicas, InEpoch, QuorumView, Security};
use crate::probe::CLIENT_ID;

/// Questions on the way at the same time; those that a controller answers apart from the others, since brokers may hold them back.
const QUESTIONS_MAX: usize = 32;

/// What one address answers to the questions for its view, and to the one for the quorum.
pub(super) type ViewAnswer = (HostPort, Heard<ClusterView>, Heard<ClusterDescription>);
pub(super) type QuorumAnswer = (HostPort, Heard<QuorumView>);

/// What questions need.
#[derive(Debug)]
pub(super) struct Asker {
    admin: Admin,
    pub(super) clock: Clock,
    pub(super) scope: Scope,
    permits: Semaphore,
    quorum_permits: Semaphore,
}

/// The bounds of one round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Until when brokers are not asked yet, so that the controllers' log is read before.
    pub(super) log_before: Moment,
    /// Of one question.
    pub(super) question: Duration,
    /// When questions for views end.
    pub(super) views: Moment,
    /// Of the question for the quorum that is asked again.
    pub(super) again: Duration,
    /// Of one question for the quorum through a broker, which holds it back while it knows no active controller.
    pub(super) forwarding: Duration,
    /// When these end.
    pub(super) quorum: Moment,
    /// When all ends.
    pub(super) whole: Moment,
}

impl Bounds {
    pub(super) fn of(began: Moment, within: Duration) -> Self {
        let percent = |share: u32| within * share / 100;
        Self {
            log_before: began + percent(10),
            question: percent(45),
            views: began + percent(75),
            again: percent(30),
            forwarding: percent(60),
            quorum: began + percent(80),
            whole: began + within,
        }
    }
}

impl Asker {
    pub(super) fn new(scope: Scope, security: &Security, clock: Clock) -> Self {
        let admin = Admin::new(Vec::new(), security.named(CLIENT_ID), clock.clone());
        Self { admin, clock, scope, permits: Semaphore::new(QUESTIONS_MAX), quorum_permits: Semaphore::new(QUESTIONS_MAX) }
    }

    /// One of the questions that brokers answer by themselves: within its own bound once it may be asked, and not beyond `until`.
    async fn hear<T>(&self, bound: Duration, until: Moment, question: impl Future<Output = Result<T, AdminError>>) -> Heard<T> {
        self.hear_with(&self.permits, bound, until, question).await
    }

    async fn hear_with<T>(
        &self,
        permits: &Semaphore,
        bound: Duration,
        until: Moment,
        question: impl Future<Output = Result<T, AdminError>>,
    ) -> Heard<T> {
        let Ok(_permit) = timeout_at(self.clock.instant_of(until), permits.acquire()).await else {
            return Err(Unheard::not_asked("too many others were silent"));
        };
        let began = self.clock.now();
        let give_up_at = until.min(began + bound);
        match timeout_at(self.clock.instant_of(give_up_at), question).await {
            Ok(told) => told.map_err(Unheard::from),
            Err(_) => Err(Unheard::silent(give_up_at.since(began))),
        }
    }

    /// A broker's Metadata, then, if it answers, its DescribeCluster.
    pub(super) async fn view(&self, address: HostPort, bounds: Bounds) -> ViewAnswer {
        let topics = self.scope.topic.as_ref().map(std::slice::from_ref);
        let view = self.hear(bounds.question, bounds.views, self.admin.metadata_of(&address, topics)).await;
        let cluster = match &view {
            Ok(_) => self.hear(bounds.question, bounds.views, self.admin.cluster_of(&address)).await,
            Err(unheard) => Err(unheard.clone()),
        };
        (address, view, cluster)
    }

    pub(super) async fn quorum(&self, address: HostPort, bound: Duration, until: Moment) -> QuorumAnswer {
        let told = self.hear_with(&self.quorum_permits, bound, until, self.admin.quorum_of(&address)).await;
        (address, told)
    }

    /// Asks leaders what they serve; those that were silent before are not asked again.
    pub(super) async fn served(
        &self,
        sighting: &Sighting,
        questions: BTreeMap<BrokerId, Vec<InEpoch>>,
        bounds: Bounds,
    ) -> BTreeMap<BrokerId, Heard<Served>> {
        let roll = Roll::of(sighting);
        let asking = FuturesUnordered::new();
        let mut served = BTreeMap::new();
        for (leader, partitions) in questions {
            let node = roll.node(leader);
            match node.and_then(|node| node.voice).map(|voice| (&voice.address, &voice.view)) {
                Some((address, Ok(_))) => asking.push(async move {
                    let told = self.hear(bounds.question, bounds.whole, self.admin.served_by(address, &partitions)).await;
                    (leader, told)
                }),
                Some((_, Err(unheard))) => drop(served.insert(leader, Err(unheard.clone()))),
                None => drop(served.insert(leader, Err(Unheard::not_asked("nobody tells its address")))),
            }
        }
        served.extend(asking.collect::<Vec<_>>().await);
        served
    }

    /// The controllers' log as it stands; where it is not read to its end yet, that is waited for.
    pub(super) async fn log(&self, reader: Option<&LogReader>, until: Moment) -> Heard<ControllerLog> {
        match reader {
            Some(reader) => reader.current(&self.clock, until).await,
            None => Err(Unheard::not_asked("no controller's listener was given")),
        }
    }

    /// Asks one broker who else may lead.
    pub(super) async fn eligible(
        &self,
        sighting: &Sighting,
        topics: &[TopicName],
        bounds: Bounds,
    ) -> Heard<BTreeMap<TopicPartition, EligibleReplicas>> {
        match trusted(sighting).filter(|_| !topics.is_empty()) {
            Some(address) => self.hear(bounds.question, bounds.whole, self.admin.eligible_of(address, topics)).await,
            None => Err(Unheard::not_asked("no partition was worth the question")),
        }
    }
}

/// The address of a broker that answers and that most others list: one that is cut off would tell old things.
pub(super) fn trusted(sighting: &Sighting) -> Option<&HostPort> {
    let roll = Roll::of(sighting);
    let most_listed = roll.nodes().iter().filter(|node| node.is_heard()).max_by_key(|node| node.listed_by.len());
    most_listed.and_then(|node| node.address).or_else(|| sighting.views().next().map(|(address, _)| address))
}
