//! The part of a run in which records are due: groups start, phases pass, steps are done, outcomes are waited for.
//!
//! Ends in order in any case: what the groups still have to tell is told before this returns, unless somebody is in a hurry.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all, select_all};
use tokio::time::{sleep_until, timeout};

use super::RunError;
use super::phases::{DRAIN_MAX, Input, Phases};
use super::stop::Stop;
use crate::clock::{Clock, Moment};
use crate::engine::{Engine, EngineContext, EngineError, GroupHandle, consumers, requesters};
use crate::ids::{BrokerId, HostPort};
use crate::plan::model::{ConsumerGroup, ProducerGroup, RequesterGroup};
use crate::record::fact::{Fact, Phase};
use crate::record::sink::FactSink;
use crate::ui::Screen;

/// Bound on closing the groups when the run is to end at once.
const CLOSE_MAX: Duration = Duration::from_secs(5);

/// What is left of the drain when the run is to end at once.
const DRAIN_CUT_MAX: Duration = Duration::from_secs(1);

/// A group with the engine that makes its load.
pub(super) type GroupWithEngine<'a> = (&'a ProducerGroup, Arc<dyn Engine>);

/// What the load needs.
#[derive(Debug)]
pub(super) struct Load<'a> {
    pub(super) clock: &'a Clock,
    pub(super) screen: &'a Screen,
    pub(super) stop: &'a Stop,
    pub(super) facts: FactSink,
    pub(super) phases: Phases,
    pub(super) groups: Vec<GroupWithEngine<'a>>,
    pub(super) requesters: &'a [RequesterGroup],
    pub(super) consumers: &'a [ConsumerGroup],
    /// The listeners that clients use, by broker.
    pub(super) brokers: Vec<(BrokerId, HostPort)>,
    pub(super) context: &'a EngineContext,
}

impl Load<'_> {
    /// Runs until the load is over or the run is to stop. `steps` is started when their phase begins, and dropped if the run ends first.
    ///
    /// # Errors
    /// A group could not be started, or has failed. The other groups are ended.
    pub(super) async fn run(mut self, steps: impl Future<Output = ()>) -> Result<(), RunError> {
        let mut handles = self.start_groups().await?;
        let mut failed = first_failure(&handles);
        self.tell(self.phases.phase());
        let mut steps = std::pin::pin!(steps);
        let mut drain: BoxFuture<'_, ()> = std::future::pending().boxed();
        let mut failure = None;
        let mut told_end = None;
        loop {
            // Told as soon as it is known, which is ahead, so that no record too many is handed over.
            if let Some(end) = self.phases.load_end().filter(|end| told_end != Some(*end)) {
                handles.iter().for_each(|handle| handle.stop_sending(end));
                told_end = Some(end);
            }
            let in_steps = self.phases.phase() == Phase::Steps;
            let until = self.phases.until();
            let input = tokio::select! {
                biased;
                () = self.stop.requested() => Input::Stop,
                error = &mut failed => {
                    failure = Some(error);
                    Input::Stop
                }
                () = &mut drain => Input::Settled,
                () = &mut steps, if in_steps => Input::StepsOver,
                () = at(self.clock, until) => Input::Tick,
            };
            let Some(phase) = self.phases.on(input, self.clock.now()) else { continue };
            self.tell(phase);
            match phase {
                Phase::Drain => drain = finish(std::mem::take(&mut handles), DRAIN_MAX),
                Phase::End => break,
                Phase::Warmup | Phase::Steady | Phase::Steps | Phase::Recovery => {}
            }
        }
        let bound = if !handles.is_empty() {
            drain = finish(handles, Duration::ZERO);
            CLOSE_MAX
        } else if self.stop.cause().is_some() || failure.is_some() {
            DRAIN_CUT_MAX
        } else {
            // A group may fail in its last moments; its figures are worth nothing then either.
            return failed.now_or_never().map_or(Ok(()), |error| Err(error.into()));
        };
        tokio::select! {
            _ = timeout(bound, drain) => {}
            () = self.stop.hurried() => {}
        }
        failure.map_or(Ok(()), |error| Err(error.into()))
    }

    async fn start_groups(&self) -> Result<Vec<Box<dyn GroupHandle>>, RunError> {
        let mut handles = Vec::with_capacity(self.groups.len());
        // The first, so that they read from the first record on.
        if !self.consumers.is_empty() {
            handles.push(consumers::start(self.consumers, &self.brokers, self.context)?);
        }
        for (group, engine) in &self.groups {
            handles.push(engine.start(group, self.context).await?);
        }
        if !self.requesters.is_empty() {
            handles.push(requesters::start(self.requesters, &self.brokers, self.context)?);
        }
        Ok(handles)
    }

    /// Tells that a phase has begun.
    fn tell(&self, phase: Phase) {
        let now = self.clock.now();
        self.facts.emit(now, Fact::PhaseStarted { phase });
        tracing::debug!(?phase, "a phase begins");
        let length = match phase {
            Phase::Drain => Some(DRAIN_MAX),
            _ => self.phases.until().map(|until| until.since(now)),
        };
        if phase != Phase::End {
            self.screen.phase(name_of(phase), length);
        }
    }
}

/// The first group's failure; never, if all go on and end well.
fn first_failure(handles: &[Box<dyn GroupHandle>]) -> BoxFuture<'static, EngineError> {
    if handles.is_empty() {
        return std::future::pending().boxed();
    }
    select_all(handles.iter().map(|handle| handle.failed())).map(|(error, _, _)| error).boxed()
}

/// Sleeps until a moment; for ever if there is none.
async fn at(clock: &Clock, moment: Option<Moment>) {
    match moment {
        Some(moment) => sleep_until(clock.instant_of(moment)).await,
        None => std::future::pending().await,
    }
}

fn finish(handles: Vec<Box<dyn GroupHandle>>, drain: Duration) -> BoxFuture<'static, ()> {
    join_all(handles.into_iter().map(|handle| handle.finish(drain))).map(|_| ()).boxed()
}

fn name_of(phase: Phase) -> &'static str {
    match phase {
        Phase::Warmup => "warm-up",
        Phase::Steady => "steady",
        Phase::Steps => "steps",
        Phase::Recovery => "recovery",
        Phase::Drain => "drain",
        Phase::End => "end",
    }
}
