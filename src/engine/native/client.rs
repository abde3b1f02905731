//! Our own producer as a client of a group.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::{Clock, Moment};
use crate::engine::group::client::{Client, MakeClient, View};
use crate::engine::recorder::client::ClientRecorder;
use crate::engine::recorder::tells::Tells;
use crate::ids::HostPort;
use crate::kafka::core::config::ProducerConfig;
use crate::kafka::event::Failure;
use crate::kafka::net::producer::{Producer, Record, TrySendError};
use crate::kafka::net::security::Security;

impl Client for Producer {
    fn try_send(&self, now: Moment, record: &Record<'_>) -> Result<(), TrySendError> {
        Self::try_send(self, now, record)
    }

    async fn send(&self, record: &Record<'_>) -> Result<(), Failure> {
        Self::send(self, record).await
    }

    async fn close(&self, timeout: Duration) {
        Self::close(self, timeout).await;
    }

    fn view(&self) -> View {
        let view = Self::view(self);
        View {
            metadata_age: view.metadata_age,
            partition_counts: Some(view.partition_counts),
            buffer_free_bytes: Some(view.buffer_free_bytes as u64),
            unserved: view.unserved.into_iter().map(|(topic, partition, oldest, _)| (topic, partition, oldest)).collect(),
        }
    }
}

/// Makes producers over TCP, secured as the cluster is.
#[derive(Debug)]
pub(crate) struct MakeProducer {
    pub(crate) config: ProducerConfig,
    pub(crate) bootstrap: Vec<HostPort>,
    pub(crate) security: Security,
    pub(crate) clock: Clock,
}

impl MakeClient for MakeProducer {
    type Client = Producer;
    const TELLS: Tells = Tells::EVERYTHING;

    fn make(&self, client_id: &str, seed: u64, recorder: Arc<ClientRecorder>) -> Producer {
        Producer::start(self.config.clone(), self.bootstrap.clone(), self.security.named(client_id), self.clock.clone(), seed, recorder)
    }
}
