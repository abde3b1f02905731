//! Requesters: clients that send nothing but Metadata requests, at times that are given. For storms.
//!
//! ```text
//! start -> a thread, for all groups: decoding megabytes must not make producers' records late
//!            |-> requester (a task each): due time -> connection -> request -> answer
//!            \-> second (a task per group): what figures gathered, told as facts
//! ```
//!
//! A requester has one request on its way at a time, as Kafka's own clients do; what becomes due meanwhile is sent right after, none is
//! skipped. It stays with one broker until that fails it, and then goes to the next in the list, with a backoff; the first of a group begins with
//! the first broker, the second with the second, and so on. Not here: producers' own Metadata requests (`kafka::core`), which are counted apart.

mod figures;
mod requester;
mod second;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use figures::Gathered;
use requester::Requester;

use crate::clock::{Clock, Moment};
use crate::engine::apart::Apart;
use crate::engine::{EngineContext, EngineError, GroupHandle};
use crate::ids::{BrokerId, HostPort, ProducerIndex};
use crate::kafka::admin::MetadataQuestion;
use crate::load::arrivals::DueTimes;
use crate::plan::model::{RequesterGroup, TopicList};

/// What all requesters of a group share.
#[derive(Debug)]
struct Shared {
    spec: RequesterGroup,
    brokers: Vec<(BrokerId, HostPort)>,
    question: MetadataQuestion,
    context: EngineContext,
    /// First moment at which a request may be due.
    active_from: Moment,
    /// No request is due at or after it.
    end: watch::Receiver<Moment>,
    gathered: Gathered,
}

impl Shared {
    fn due_times(&self, index: u32) -> DueTimes {
        DueTimes::constant(self.spec.rate_per_second, ProducerIndex(index), self.spec.count)
    }
}

/// All requester groups of a run.
#[derive(Debug)]
struct Running {
    end: watch::Sender<Moment>,
    apart: Apart,
    clock: Clock,
}

/// Starts all groups. `brokers` are the listeners that clients use.
///
/// # Errors
/// A thread could not be started.
pub fn start(
    groups: &[RequesterGroup],
    brokers: &[(BrokerId, HostPort)],
    context: &EngineContext,
) -> Result<Box<dyn GroupHandle>, EngineError> {
    let name = groups.first().map_or("", |group| &group.name);
    let (end, until) = watch::channel(Moment(u64::MAX));
    let groups: Vec<Arc<Shared>> = groups.iter().map(|group| shared(group, brokers, context, &until)).collect();
    let apart = Apart::start("chaos-requesters", name, |draining| run(groups, draining))?;
    Ok(Box::new(Running { end, apart, clock: context.clock.clone() }))
}

fn shared(group: &RequesterGroup, brokers: &[(BrokerId, HostPort)], context: &EngineContext, end: &watch::Receiver<Moment>) -> Arc<Shared> {
    let topics = match &group.list {
        TopicList::All => None,
        TopicList::Nothing => Some(&[][..]),
        TopicList::Named(topics) => Some(&topics[..]),
    };
    Arc::new(Shared {
        spec: group.clone(),
        brokers: brokers.to_vec(),
        question: MetadataQuestion::new(topics),
        context: context.clone(),
        active_from: context.load_start + group.active.from,
        end: end.clone(),
        gathered: Gathered::default(),
    })
}

/// Runs all groups until the load is over and their answers are there, or have been waited for long enough.
async fn run(groups: Vec<Arc<Shared>>, draining: oneshot::Receiver<Duration>) {
    let mut requesters = JoinSet::new();
    let mut tellers = JoinSet::new();
    let told_enough = CancellationToken::new();
    for group in &groups {
        for index in 0..group.spec.count {
            requesters.spawn(Requester::new(Arc::clone(group), index).run());
        }
        tellers.spawn(second::tell(Arc::clone(group), told_enough.clone()));
    }
    // Whoever holds the other end ends the run without a word: then there is nothing to wait for either.
    let drain = draining.await.unwrap_or_default();
    let _ = tokio::time::timeout(drain, async { while requesters.join_next().await.is_some() {} }).await;
    requesters.shutdown().await;
    told_enough.cancel();
    while tellers.join_next().await.is_some() {}
}

impl GroupHandle for Running {
    fn stop_sending(&self, end: Moment) {
        self.end.send_modify(|known| *known = end.min(*known));
    }

    fn finish(self: Box<Self>, drain: Duration) -> BoxFuture<'static, ()> {
        self.stop_sending(self.clock.now());
        self.apart.finish(drain).boxed()
    }
}
