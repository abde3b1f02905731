//! The engine of librdkafka, the C client: one `rd_kafka_t` per producer (or per `share` of them), with the schedule, keys, payloads and
//! figures of every other client in this process.
//!
//! Only with the cargo feature `librdkafka`. Of itself it tells less than our own producer: `docs/engines.md` says what is unknown.

mod client;
mod context;
mod outcome;
mod poller;
mod requests;
mod statistics;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::producer::BaseProducer;

use crate::engine::group::start_group;
use crate::engine::librdkafka::client::MakeLibrdkafka;
use crate::engine::librdkafka::poller::Pollers;
use crate::engine::{Engine, EngineContext, EngineError, GroupHandle, schedule};
use crate::ids::HostPort;
use crate::plan::model::ProducerGroup;
use crate::plan::producer_config::librdkafka::{ALWAYS, translate};

/// The engine of librdkafka.
#[derive(Clone, Copy, Debug, Default)]
pub struct LibrdkafkaEngine;

impl Engine for LibrdkafkaEngine {
    /// Makes a client that connects nowhere: only librdkafka itself knows which of its settings go together.
    fn check(&self, group: &ProducerGroup) -> Result<Vec<String>, EngineError> {
        let made: Result<BaseProducer, _> = settings(group, &[]).create();
        made.map(|_| Vec::new()).map_err(|source| EngineError::Config { group: group.name.clone(), source: Box::new(source) })
    }

    fn version(&self) -> Option<String> {
        Some(rdkafka::util::get_rdkafka_version().1)
    }

    fn start<'a>(
        &'a self,
        group: &'a ProducerGroup,
        context: &'a EngineContext,
    ) -> BoxFuture<'a, Result<Box<dyn GroupHandle>, EngineError>> {
        let bootstrap = group.bootstrap.as_deref().unwrap_or(&context.bootstrap);
        let started = Pollers::start(&group.name, schedule::clients(group) as usize, &context.clock).map(|pollers| {
            let make = MakeLibrdkafka {
                settings: settings(group, bootstrap),
                clock: context.clock.clone(),
                block_max: client::block_max(group),
                pollers,
            };
            Box::new(start_group(group, context, make)) as Box<dyn GroupHandle>
        });
        ready(started.map_err(|source| EngineError::Thread { group: group.name.clone(), source })).boxed()
    }
}

/// Everything but the client's name.
fn settings(group: &ProducerGroup, bootstrap: &[HostPort]) -> ClientConfig {
    let mut config = ClientConfig::new();
    for (key, value) in translate(&group.config) {
        config.set(key, value);
    }
    for (key, value, _) in ALWAYS {
        config.set(key, value);
    }
    if !bootstrap.is_empty() {
        config.set("bootstrap.servers", bootstrap.iter().map(ToString::to_string).collect::<Vec<_>>().join(","));
    }
    // The level lets `debug` through; what it says goes to the client's context.
    config.set_log_level(RDKafkaLogLevel::Debug);
    config
}

#[cfg(test)]
mod tests;
