//! One listener, asked one question at a time over one connection that is kept: for those who watch a single node closely.
//!
//! Unlike [`Admin`](super::Admin), it asks nothing again on its own: that a connection ended is what its user wants to know.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::messages::MetadataRequest;
use kafka_protocol::protocol::Request;

use super::describe::{metadata_request, quorum_request, read_metadata, read_quorum};
use super::offsets::{End, InEpoch, ends_request, read_ends};
use super::{AdminError, ClusterView, Failure, QuorumView};
use crate::clock::Clock;
use crate::ids::{HostPort, TopicName, TopicPartition};
use crate::kafka::net::rpc::{Rpc, RpcError};
use crate::kafka::net::security::Identity;
use crate::kafka::net::traffic::Traffic;
use crate::kafka::wire::error::ErrorCode;
use crate::kafka::wire::frame::decode_response;

/// Asks one listener.
#[derive(Debug)]
pub struct Caller {
    listener: HostPort,
    identity: Identity,
    /// Bound of one question, and of connecting.
    within: Duration,
    clock: Clock,
    traffic: Traffic,
    connection: Option<Rpc>,
}

impl Caller {
    /// A caller that is not connected yet. What its connections carry is counted in `traffic`.
    #[must_use]
    pub fn new(listener: HostPort, client: impl Into<Identity>, within: Duration, clock: Clock, traffic: Traffic) -> Self {
        Self { listener, identity: client.into(), within, clock, traffic, connection: None }
    }

    /// Connects, unless there is a connection that can be used.
    ///
    /// # Errors
    /// There is none and none could be made in time.
    pub async fn connect(&mut self) -> Result<(), AdminError> {
        let connection = self.connected().await?;
        self.connection = Some(connection);
        Ok(())
    }

    /// The node's own view of these topics, which are never created by asking, as it came.
    ///
    /// # Errors
    /// No answer.
    pub async fn metadata(&mut self, topics: &[TopicName]) -> Result<MetadataAnswer, AdminError> {
        let mut connection = self.connected().await?;
        let answer = connection.call_undecoded(&metadata_request(Some(topics)), self.within).await;
        self.connection = Some(connection);
        let (frame, version) = answer?;
        Ok(MetadataAnswer { listener: self.listener.clone(), frame, version })
    }

    /// The metadata quorum; only the active controller's own listener, or a broker's, tells.
    ///
    /// # Errors
    /// No answer, or the node is not the active controller and does not reach it.
    pub async fn quorum(&mut self) -> Result<QuorumView, AdminError> {
        read_quorum(self.ask(&quorum_request()).await?).map_err(Failure::into_error)
    }

    /// Where these partitions end by the node's own word, or why it does not tell.
    ///
    /// # Errors
    /// No answer.
    pub async fn ends(&mut self, end: End, partitions: &[InEpoch]) -> Result<BTreeMap<TopicPartition, Result<i64, ErrorCode>>, AdminError> {
        Ok(read_ends(self.ask(&ends_request(end, partitions)).await?))
    }

    /// Asks once. A connection that a question failed on, or whose answer nobody waits for any more, is not used again.
    pub(super) async fn ask<R: Request>(&mut self, request: &R) -> Result<R::Response, RpcError> {
        let mut connection = self.connected().await?;
        let answer = connection.call(request, self.within).await;
        self.connection = Some(connection);
        answer
    }

    async fn connected(&mut self) -> Result<Rpc, RpcError> {
        match self.connection.take().and_then(|mut connection| connection.is_usable().then_some(connection)) {
            Some(connection) => Ok(connection),
            None => Rpc::connect(&self.listener, &self.identity, self.within, &self.clock, &self.traffic).await,
        }
    }
}

/// An answer to Metadata that is not read yet: to find that it says what another one said costs a fraction of reading it.
#[derive(Clone, Debug)]
pub struct MetadataAnswer {
    listener: HostPort,
    frame: Bytes,
    version: i16,
}

/// Bytes of the correlation id, which no two answers share.
const CORRELATION_ID_BYTES: usize = 4;

impl MetadataAnswer {
    /// Whether it is the same as another one, byte for byte. Answers that say the same need not be: a broker names a controller at random.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.version == other.version && self.frame.get(CORRELATION_ID_BYTES..) == other.frame.get(CORRELATION_ID_BYTES..)
    }

    /// What it says.
    ///
    /// # Errors
    /// It is an error as a whole, or cannot be read.
    pub fn read(&self) -> Result<ClusterView, AdminError> {
        let malformed = |source| RpcError::Malformed { address: self.listener.clone(), source };
        let response = decode_response::<MetadataRequest>(self.frame.clone(), self.version).map_err(malformed)?;
        read_metadata(response).map_err(Failure::into_error)
    }
}

#[cfg(test)]
mod tests {
    use kafka_protocol::messages::ApiKey;

    use super::*;
    use crate::ids::{BrokerId, PartitionIndex};
    use crate::kafka::admin::fake::{FakeBroker, Shared, shared};

    fn caller(broker: &FakeBroker, within: Duration) -> Caller {
        Caller::new(broker.host_port(), "chaos-probe", within, Clock::real(), Traffic::default())
    }

    fn connections(state: &Shared) -> usize {
        state.lock().unwrap().asked.iter().filter(|(_, api, _)| *api == ApiKey::ApiVersions).count()
    }

    #[tokio::test]
    async fn one_connection_carries_all_questions() {
        let state = shared(1);
        let broker = FakeBroker::start(1, 0, &state).await;
        state.lock().unwrap().topics.insert("orders".into(), vec![vec![1], vec![1]]);
        state.lock().unwrap().ends.insert(("orders".into(), 1), (7, 9));
        let mut caller = caller(&broker, Duration::from_secs(2));
        let names: [TopicName; 1] = ["orders".into()];
        let answer = caller.metadata(&names).await.unwrap();
        assert_eq!(answer.read().unwrap().topics[0].partitions.len(), 2);
        assert!(caller.metadata(&names).await.unwrap().is_same(&answer));
        state.lock().unwrap().epochs.insert(("orders".into(), 1), 4);
        assert!(!caller.metadata(&names).await.unwrap().is_same(&answer));
        assert_eq!(caller.quorum().await.unwrap().leader, BrokerId(1));
        let partition = |index| TopicPartition { topic: "orders".into(), partition: PartitionIndex(index) };
        let ends = caller.ends(End::HighWatermark, &[(partition(0), None), (partition(1), None)]).await.unwrap();
        let expected = [(partition(0), Err(ErrorCode::NOT_LEADER_OR_FOLLOWER)), (partition(1), Ok(7))];
        assert_eq!(ends, BTreeMap::from(expected), "a refusal is an answer");
        assert_eq!(connections(&state), 1);
    }

    #[tokio::test]
    async fn a_connection_whose_question_failed_is_not_used_again() {
        let state = shared(1);
        let broker = FakeBroker::start(1, 0, &state).await;
        let mut caller = caller(&broker, Duration::from_millis(300));
        caller.connect().await.unwrap();
        broker.freeze(true);
        let silent = caller.quorum().await.unwrap_err().to_string();
        assert!(silent.ends_with("did not answer DescribeQuorum within 300ms"), "{silent}");
        broker.freeze(false);
        caller.quorum().await.unwrap();
        assert_eq!(connections(&state), 2);
        let broker = broker.restart().await;
        // That the broker has closed it may show only when it is asked.
        while caller.quorum().await.is_err() {}
        assert_eq!(connections(&state), 3, "the broker that closed it is asked over a new one");
        broker.stop().await;
        let refused = loop {
            match caller.connect().await {
                Ok(()) => tokio::task::yield_now().await,
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, AdminError::Rpc(RpcError::Connect { .. })), "{refused}");
    }
}
