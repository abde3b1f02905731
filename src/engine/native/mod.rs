//! The engine of this project's own producer.

mod client;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};

use crate::engine::group::start_group;
use crate::engine::native::client::MakeProducer;
use crate::engine::{Engine, EngineContext, EngineError, GroupHandle};
use crate::kafka::core::config::ProducerConfig;
use crate::plan::model::ProducerGroup;

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

    fn version(&self) -> Option<String> {
        None
    }

    fn start<'a>(
        &'a self,
        group: &'a ProducerGroup,
        context: &'a EngineContext,
    ) -> BoxFuture<'a, Result<Box<dyn GroupHandle>, EngineError>> {
        let started = Self::config(group).map(|config| {
            let bootstrap = group.bootstrap.clone().unwrap_or_else(|| context.bootstrap.clone());
            let make = MakeProducer { config, bootstrap, security: context.security.clone(), clock: context.clock.clone() };
            Box::new(start_group(group, context, make)) as Box<dyn GroupHandle>
        });
        ready(started).boxed()
    }
}
