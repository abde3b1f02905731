//! What a group needs of a client: so much of a producer's interface, as a trait.
//!
//! Our own producer, foreign clients that live in this process and the made-up ones of tests implement it. Not here: any of them.

use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Moment;
use crate::engine::recorder::client::ClientRecorder;
use crate::engine::recorder::tells::Tells;
use crate::ids::{PartitionIndex, TopicName};
use crate::kafka::event::Failure;
use crate::kafka::net::producer::{Record, TrySendError};

/// One client.
pub(crate) trait Client: Clone + Send + Sync + 'static {
    /// Takes a record without waiting.
    fn try_send(&self, now: Moment, record: &Record<'_>) -> Result<(), TrySendError>;
    /// Takes a record when there is metadata and memory for it.
    fn send(&self, record: &Record<'_>) -> impl Future<Output = Result<(), Failure>> + Send;
    /// Completes or fails everything: every record that was taken has its outcome then.
    fn close(&self, timeout: Duration) -> impl Future<Output = ()> + Send;
    /// What it says of itself now.
    fn view(&self) -> View;
}

/// What a client says of itself at one moment. Taken once a second and client.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// Time since the last full Metadata answer; of librdkafka, which has an age per topic, the greatest of these. `None`: there was none, or
    /// unknown.
    pub(crate) metadata_age: Option<Duration>,
    /// Partition count of every topic in its cache; `None`: unknown.
    pub(crate) partition_counts: Option<Vec<(TopicName, u32)>>,
    /// Free `buffer.memory`; `None`: unknown.
    pub(crate) buffer_free_bytes: Option<u64>,
    /// Per partition with records that wait for an outcome: topic, partition, mark of the oldest.
    pub(crate) unserved: Vec<(TopicName, PartitionIndex, u64)>,
}

/// Makes the clients of a group.
pub(crate) trait MakeClient: Debug + Send + Sync + 'static {
    /// The client's type.
    type Client: Client;
    /// What its clients can tell.
    const TELLS: Tells;
    /// Makes one, which tells `recorder` what it does; no I/O has happened when it returns.
    fn make(&self, client_id: &str, seed: u64, recorder: Arc<ClientRecorder>) -> Self::Client;
}
