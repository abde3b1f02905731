//! The engine of this project's own producer: a task per producer, a client per producer or per `share` of them.

mod client;
mod group;
mod handle;
mod sender;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};

use crate::engine::native::client::{MakeClient, MakeProducer};
use crate::engine::native::group::{Group, RunFrame};
use crate::engine::native::handle::NativeHandle;
use crate::engine::recorder::GroupRecorder;
use crate::engine::{Engine, EngineContext, EngineError, GroupHandle};
use crate::kafka::core::config::ProducerConfig;
use crate::plan::model::ProducerGroup;
use crate::record::fact::Fact;

/// The engine of this project's own producer.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeEngine;

impl NativeEngine {
    fn config(group: &ProducerGroup) -> Result<ProducerConfig, EngineError> {
        ProducerConfig::from_properties(&group.config)
            .map_err(|source| EngineError::Config { group: group.name.clone(), source: Box::new(source) })
    }
}

impl Engine for NativeEngine {
    fn check(&self, group: &ProducerGroup) -> Result<Vec<String>, EngineError> {
        // Keys without effect are told by the plan's check, which knows what they mean.
        Self::config(group).map(|_| Vec::new())
    }

    fn start<'a>(
        &'a self,
        group: &'a ProducerGroup,
        context: &'a EngineContext,
    ) -> BoxFuture<'a, Result<Box<dyn GroupHandle>, EngineError>> {
        let started = Self::config(group).map(|config| {
            let bootstrap = group.bootstrap.clone().unwrap_or_else(|| context.bootstrap.clone());
            let make = MakeProducer { config, bootstrap, clock: context.clock.clone() };
            Box::new(start_group(group, context, make)) as Box<dyn GroupHandle>
        });
        ready(started).boxed()
    }
}

/// Starts a group whose clients are made by `make`.
fn start_group<M: MakeClient>(spec: &ProducerGroup, context: &EngineContext, make: M) -> NativeHandle<M> {
    context.facts.emit(context.clock.now(), Fact::GroupStarted { group: spec.name.clone(), warnings: Vec::new() });
    let recorder = Arc::new(GroupRecorder::new(spec, context.facts.clone()));
    let frame = RunFrame {
        clock: context.clock.clone(),
        load_start: context.load_start,
        seed: context.seed,
        generator: Arc::clone(&context.generator),
    };
    NativeHandle::start(Group::new(spec, frame, recorder, make), context.load_start)
}
