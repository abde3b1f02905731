//! Consumers: readers of whole topics that measure how long records are on their way, from their due time to their arrival.
//!
//! ```text
//! start -> a thread, for all consumers: decoding must not make producers' records late
//!            |-> follow (one per consumer): who leads which partition
//!            |-> read (one per consumer and broker): fetches what that broker leads, notes each record's age
//!            \-> second (one per consumer): what was noted, told as facts
//! ```
//!
//! They know their partitions and offsets by themselves: no group, no commits, so nothing but the brokers and the links stands between a record and
//! them. They read from the beginning, and everything. Not here: whether all records arrive (`audit`).

mod positions;
mod read;
mod second;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use positions::Positions;
use second::Gathered;

use crate::clock::Moment;
use crate::engine::apart::Apart;
use crate::engine::{EngineContext, EngineError, GroupHandle};
use crate::ids::{BrokerId, HostPort};
use crate::plan::model::ConsumerGroup;

/// At the end, a consumer to which nothing has come for so long has read what there is.
const QUIET: Duration = Duration::from_secs(1);

/// What the tasks of a consumer share.
#[derive(Debug)]
struct Shared {
    spec: ConsumerGroup,
    brokers: Vec<(BrokerId, HostPort)>,
    context: EngineContext,
    positions: Positions,
    gathered: Gathered,
}

/// All consumers of a run.
#[derive(Debug)]
struct Running(Apart);

/// Starts all consumers. `brokers` are the listeners that clients use.
///
/// # Errors
/// A thread could not be started.
pub fn start(
    groups: &[ConsumerGroup],
    brokers: &[(BrokerId, HostPort)],
    context: &EngineContext,
) -> Result<Box<dyn GroupHandle>, EngineError> {
    let name = groups.first().map_or("", |group| &group.name);
    let shared = |group: &ConsumerGroup| {
        Arc::new(Shared {
            spec: group.clone(),
            brokers: brokers.to_vec(),
            context: context.clone(),
            positions: Positions::default(),
            gathered: Gathered::default(),
        })
    };
    let consumers: Vec<Arc<Shared>> = groups.iter().map(shared).collect();
    Ok(Box::new(Running(Apart::start("chaos-consumers", name, |draining| run(consumers, draining))?)))
}

/// Runs all consumers until the load is over and what was sent has come, or has been waited for long enough.
async fn run(consumers: Vec<Arc<Shared>>, draining: oneshot::Receiver<Duration>) {
    let mut readers = JoinSet::new();
    let mut tellers = JoinSet::new();
    let told_enough = CancellationToken::new();
    for consumer in &consumers {
        readers.spawn(read::follow(Arc::clone(consumer)));
        for (node, listener) in consumer.brokers.clone() {
            readers.spawn(read::read(Arc::clone(consumer), node, listener));
        }
        tellers.spawn(second::tell(Arc::clone(consumer), told_enough.clone()));
    }
    // Whoever holds the other end ends the run without a word: then there is nothing to wait for either.
    let drain = draining.await.unwrap_or_default();
    let _ = tokio::time::timeout(drain, all_quiet(&consumers)).await;
    readers.shutdown().await;
    told_enough.cancel();
    while tellers.join_next().await.is_some() {}
}

/// Nothing has come to any consumer for a while.
async fn all_quiet(consumers: &[Arc<Shared>]) {
    loop {
        let last = consumers.iter().map(|consumer| consumer.gathered.last_arrival()).max().unwrap_or(Moment(0));
        let Some(consumer) = consumers.first() else { return };
        let clock = &consumer.context.clock;
        // What came before this was asked for does not count: records may still be sent.
        let quiet_at = last.max(clock.now()) + QUIET;
        tokio::time::sleep_until(clock.instant_of(quiet_at)).await;
        if consumers.iter().all(|consumer| consumer.gathered.last_arrival() <= last) {
            return;
        }
    }
}

impl GroupHandle for Running {
    /// What is sent until then must arrive, too: only [`GroupHandle::finish`] ends a consumer.
    fn stop_sending(&self, _end: Moment) {}

    fn finish(self: Box<Self>, drain: Duration) -> BoxFuture<'static, ()> {
        self.0.finish(drain).boxed()
    }
}
