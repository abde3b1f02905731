//! What the native engine needs of a client: so much of the producer's interface, as a trait that a test can stand in for.

use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::{Clock, Moment};
use crate::ids::HostPort;
use crate::kafka::core::config::ProducerConfig;
use crate::kafka::event::{ClientObserver, Failure};
use crate::kafka::net::producer::{ClientView, Producer, Record, TrySendError};

/// One client.
pub(crate) trait Client: Clone + Send + Sync + 'static {
    /// Takes a record without waiting.
    fn try_send(&self, now: Moment, record: &Record<'_>) -> Result<(), TrySendError>;
    /// Takes a record when there is metadata and memory for it.
    fn send(&self, record: &Record<'_>) -> impl Future<Output = Result<(), Failure>> + Send;
    /// Completes or fails everything: every record that was taken has its outcome then.
    fn close(&self, timeout: Duration) -> impl Future<Output = ()> + Send;
    /// What it says of itself now.
    fn view(&self) -> ClientView;
}

/// Makes the clients of a group.
pub(crate) trait MakeClient: Debug + Send + Sync + 'static {
    /// The client's type.
    type Client: Client;
    /// Makes one; no I/O has happened when it returns.
    fn make(&self, client_id: &str, seed: u64, observer: Arc<dyn ClientObserver>) -> Self::Client;
}

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

    fn view(&self) -> ClientView {
        Self::view(self)
    }
}

/// Makes producers over TCP.
#[derive(Debug)]
pub(crate) struct MakeProducer {
    pub(crate) config: ProducerConfig,
    pub(crate) bootstrap: Vec<HostPort>,
    pub(crate) clock: Clock,
}

impl MakeClient for MakeProducer {
    type Client = Producer;

    fn make(&self, client_id: &str, seed: u64, observer: Arc<dyn ClientObserver>) -> Producer {
        Producer::start(self.config.clone(), self.bootstrap.clone(), client_id, self.clock.clone(), seed, observer)
    }
}
