//! A producer group whose clients live in this process: a task per producer, a client per producer or per `share` of them.
//!
//! The same schedule, keys, payloads and figures whatever client sends: [`client::Client`] is all that differs. Not here: any client, and
//! groups that another process makes. Called by the engines.

pub(crate) mod client;
pub(crate) mod handle;
pub(crate) mod sender;
pub(crate) mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::engine::EngineContext;
use crate::engine::group::client::MakeClient;
use crate::engine::group::handle::RunningGroup;
use crate::engine::group::state::{Group, RunFrame};
use crate::engine::recorder::GroupRecorder;
use crate::plan::model::ProducerGroup;
use crate::record::fact::Fact;

/// Starts a group whose clients are made by `make`.
pub(crate) fn start_group<M: MakeClient>(spec: &ProducerGroup, context: &EngineContext, make: M) -> RunningGroup<M> {
    context.facts.emit(context.clock.now(), Fact::GroupStarted { group: spec.name.clone(), warnings: Vec::new() });
    let recorder = Arc::new(GroupRecorder::new(spec, context.facts.clone(), Arc::clone(&context.ledger), M::TELLS));
    let frame = RunFrame {
        clock: context.clock.clone(),
        load_start: context.load_start,
        seed: context.seed,
        generator: Arc::clone(&context.generator),
    };
    RunningGroup::start(Group::new(spec, frame, recorder, make), context.load_start)
}
