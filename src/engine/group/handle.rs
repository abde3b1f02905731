//! A running group from outside: its tasks, and its orderly end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::clock::Moment;
use crate::engine::GroupHandle;
use crate::engine::group::client::MakeClient;
use crate::engine::group::sender;
use crate::engine::group::state::{Group, Made};
use crate::engine::recorder::second::SecondTeller;
use crate::engine::recorder::{Blocked, mark};
use crate::kafka::event::{Failure, RecordTag};
use crate::record::last;
use crate::record::second::{second_end, second_of};

/// How long senders may take to end once their clients are closed.
const LAST_TURN: Duration = Duration::from_secs(1);

/// A running group.
#[derive(Debug)]
pub(crate) struct RunningGroup<M: MakeClient> {
    group: Arc<Group<M>>,
    senders: JoinSet<()>,
    teller: AbortOnDropHandle<SecondTeller>,
    told_enough: CancellationToken,
}

impl<M: MakeClient> RunningGroup<M> {
    /// Starts a group's tasks on the current tokio runtime.
    pub(crate) fn start(group: Group<M>, load_start: Moment) -> Self {
        let group = Arc::new(group);
        let mut senders = JoinSet::new();
        for progress in group.senders.iter() {
            senders.spawn(sender::run(Arc::clone(&group), Arc::clone(progress)));
        }
        let recorder = Arc::clone(&group.recorder);
        let teller = SecondTeller::new(recorder, Arc::clone(&group.senders), group.due_counts(), group.active_from);
        let told_enough = CancellationToken::new();
        let teller = tokio::spawn(tell_seconds(Arc::clone(&group), teller, load_start, told_enough.clone()));
        Self { group, senders, teller: AbortOnDropHandle::new(teller), told_enough }
    }

    /// What its tasks share.
    #[cfg(test)]
    pub(crate) fn group(&self) -> &Arc<Group<M>> {
        &self.group
    }

    async fn end(mut self, drain: Duration) {
        let clock = self.group.clock.clone();
        let deadline = clock.now() + drain;
        self.group.stop_at(clock.now());
        let _ = tokio::time::timeout_at(clock.instant_of(deadline), all_ended(&mut self.senders)).await;
        self.group.give_up();
        let cached = self.group.seen().into_iter().filter_map(|client| Some((client.index, client.figures.cached?))).collect();
        self.group.close(deadline.since(clock.now())).await;
        let _ = tokio::time::timeout(LAST_TURN, all_ended(&mut self.senders)).await;
        self.senders.shutdown().await;
        fail_what_is_blocked(&self.group);
        self.told_enough.cancel();
        let Ok(mut teller) = self.teller.await else { return };
        let now = clock.now();
        let steady = self.group.recorder.facts.origin();
        teller.tell(now, second_of(now, steady), self.group.stop.borrow().end, &clock, &self.group.seen());
        tell_the_rest(&self.group, now, &teller.counts(), &cached).await;
    }
}

impl<M: MakeClient> GroupHandle for RunningGroup<M> {
    fn stop_sending(&self, end: Moment) {
        self.group.stop_at(end);
    }

    fn finish(self: Box<Self>, drain: Duration) -> BoxFuture<'static, ()> {
        Box::pin(self.end(drain))
    }
}

async fn all_ended(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}

async fn tell_seconds<M: MakeClient>(
    group: Arc<Group<M>>,
    mut teller: SecondTeller,
    load_start: Moment,
    told_enough: CancellationToken,
) -> SecondTeller {
    let steady = group.recorder.facts.origin();
    let mut second = second_of(group.clock.now().max(load_start), steady);
    loop {
        let end = second_end(second, steady);
        tokio::select! {
            () = tokio::time::sleep_until(group.clock.instant_of(end)) => {}
            () = told_enough.cancelled() => return teller,
        }
        teller = tell_second(&group, teller, end, second).await;
        second += 1;
    }
}

/// Looks at every client and tells the second, on a thread for blocking work: with thousands of clients it takes milliseconds, and on a thread that
/// senders share it would make their records late.
async fn tell_second<M: MakeClient>(group: &Arc<Group<M>>, mut teller: SecondTeller, at: Moment, second: i64) -> SecondTeller {
    let group = Arc::clone(group);
    let told = tokio::task::spawn_blocking(move || {
        let load_end = group.stop.borrow().end;
        teller.tell(at, second, load_end, &group.clock, &group.seen());
        teller
    });
    match told.await {
        Ok(teller) => teller,
        Err(ended) if ended.is_panic() => std::panic::resume_unwind(ended.into_panic()),
        // The runtime shuts down, and this task with it.
        Err(_) => std::future::pending().await,
    }
}

/// A sender that was ended while its record waited: that record never got into the client.
fn fail_what_is_blocked<M: MakeClient>(group: &Group<M>) {
    let now = group.clock.now();
    for sender in group.senders.iter() {
        let Some(Blocked { due, sent_at, topic, .. }) = sender.blocked() else { continue };
        let tag = RecordTag { mark: mark::pack(sender.slot, due), number: sender.number(), sent_at };
        let text = "Producer closed while send in progress".to_owned();
        let failure = Failure { kind: "KafkaException".to_owned(), code: None, text };
        group.client_of(sender).recorder.not_appended(now, topic, tag, &failure);
        sender.unblock();
    }
}

/// Every client's last facts. A client that was never made has nothing to tell.
async fn tell_the_rest<M: MakeClient>(group: &Group<M>, at: Moment, counts: &[(u64, u64)], cached: &BTreeMap<usize, Vec<u32>>) {
    let of_client = |(index, made): (usize, Made<M::Client>)| {
        let first = group.senders.partition_point(|sender| sender.client < index);
        let partitions = cached.get(&index).map(|cached| by_topic(group, cached));
        made.recorder.finish(at, &counts[first..], partitions.as_ref())
    };
    last::tell(&group.recorder.facts, at, group.made().into_iter().flat_map(of_client)).await;
}

fn by_topic<M: MakeClient>(group: &Group<M>, cached: &[u32]) -> BTreeMap<String, u32> {
    group.spec.topics.iter().zip(cached).map(|(topic, partitions)| (topic.to_string(), *partitions)).collect()
}
