//! A scripted cluster of brokers over in-memory pipes, for tests of the driver under tokio's paused clock.
//!
//! All brokers share one made-up [`State`] that a test changes while the client runs: leaders, epochs, partitions, who is up. Unless a script
//! says otherwise, they answer as real brokers do, `latency` after a request has come. Scripts are per broker and API ([`Reaction`]). Every
//! request is kept with its moment. Not here: TCP, what authentication is made of, fetching.

mod answers;
mod serve;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::messages::ApiKey;
use tokio::io::DuplexStream;
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, Moment};
use crate::ids::HostPort;
use crate::kafka::net::connector::Connector;
use crate::kafka::net::security::HandshakeError;

/// What a broker does with a request instead of answering it well.
#[derive(Clone, Debug)]
pub(crate) enum Reaction {
    /// Answers so much later; requests behind it on the connection wait too.
    Delay(Duration),
    /// Never answers this request, nor any after it on the connection.
    Silence,
    /// Closes the connection without a word.
    Disconnect,
    /// Writes so many bytes of the answer, then closes the connection.
    CutAfter(usize),
    /// Writes the answer in pieces of so many bytes, with a pause before each piece but the first.
    Drip { bytes: usize, every: Duration },
    /// Writes these bytes, length prefix and all, instead of the answer.
    Raw(Bytes),
    /// Answers with another request's correlation id.
    CorrelationId(i32),
    /// Produce: refuses all batches with this code. Metadata: the error of every topic. ApiVersions: its error, told in version 0.
    Refuse(i16),
    /// Answers well, and asks for silence.
    Throttle(Duration),
    /// Metadata: asks the client to go back to its bootstrap list (error 129, version 13).
    Rebootstrap,
    /// Metadata: names no brokers, as one that is still starting.
    NoBrokers,
}

/// What becomes of attempts to connect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Door {
    /// They succeed.
    #[default]
    Open,
    /// They are refused.
    Shut,
    /// The client's password is refused.
    Denies,
    /// Nobody answers: packets are swallowed.
    Swallows,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// When it had come in whole.
    pub(crate) at: Moment,
    /// To which broker.
    pub(crate) node: i32,
    /// What it is.
    pub(crate) api: ApiKey,
    /// In which version.
    pub(crate) version: i16,
}

/// One partition of a [`FakeTopic`].
#[derive(Clone, Debug)]
pub(crate) struct FakePartition {
    /// Its leader; -1: none.
    pub(crate) leader: i32,
    /// The leader's epoch.
    pub(crate) epoch: i32,
    /// Values of the records that were acknowledged or at least appended, in order.
    pub(crate) log: Vec<Vec<u8>>,
}

/// A topic.
#[derive(Clone, Debug)]
pub(crate) struct FakeTopic {
    /// Its id.
    pub(crate) id: uuid::Uuid,
    /// Its partitions, by index.
    pub(crate) partitions: Vec<FakePartition>,
}

/// One broker of a [`State`].
#[derive(Debug, Default)]
pub(crate) struct FakeBroker {
    /// Attempts to connect.
    pub(crate) door: Door,
    /// Whether Metadata answers name it.
    pub(crate) is_listed: bool,
    /// What its Metadata answers say of topics instead of the truth: a broker that has fallen behind.
    pub(crate) stale_topics: Option<BTreeMap<String, FakeTopic>>,
    /// What it does with the next requests of an API, first come first served.
    pub(crate) scripts: BTreeMap<i16, VecDeque<Reaction>>,
    /// What it does with all requests of an API for which no script is left.
    pub(crate) standing: BTreeMap<i16, Reaction>,
    /// Ends all its connections.
    pub(crate) life: CancellationToken,
}

/// What the cluster is and what it was asked.
#[derive(Debug)]
pub(crate) struct State {
    /// By node id.
    pub(crate) brokers: BTreeMap<i32, FakeBroker>,
    /// By name.
    pub(crate) topics: BTreeMap<String, FakeTopic>,
    /// API key -> lowest and highest version of every broker.
    pub(crate) versions: BTreeMap<i16, (i16, i16)>,
    /// From a request to its answer.
    pub(crate) latency: Duration,
    /// How many bytes fit into a pipe until the other side reads: fewer than a frame make writes partial.
    pub(crate) pipe_bytes: usize,
    /// Whether Produce errors 6 and 74 name the leader (KIP-951).
    pub(crate) tells_leaders: bool,
    /// Requests in the order of their coming.
    pub(crate) asked: Vec<Asked>,
    /// Attempts to connect: when, and to which address.
    pub(crate) attempts: Vec<(Moment, HostPort)>,
    next_producer_id: i64,
}

/// The cluster; clones share it. Is the client's connector too.
#[derive(Clone, Debug)]
pub(crate) struct FakeCluster {
    state: Arc<Mutex<State>>,
    /// The clock that the client must use too.
    pub(crate) clock: Clock,
}

impl FakeCluster {
    /// Brokers 1 to `brokers`, all up, without topics. To be made inside the test's runtime.
    pub(crate) fn new(brokers: i32) -> Self {
        let broker = |id| (id, FakeBroker { is_listed: true, ..FakeBroker::default() });
        let key = |api: ApiKey, min, max| (api as i16, (min, max));
        let versions =
            [key(ApiKey::Produce, 0, 12), key(ApiKey::Metadata, 0, 13), key(ApiKey::ApiVersions, 0, 4), key(ApiKey::InitProducerId, 0, 5)];
        let state = State {
            brokers: (1..=brokers).map(broker).collect(),
            topics: BTreeMap::new(),
            versions: versions.into(),
            latency: Duration::from_millis(10),
            pipe_bytes: 64 * 1024,
            tells_leaders: false,
            asked: Vec::new(),
            attempts: Vec::new(),
            next_producer_id: 1_000,
        };
        Self { state: Arc::new(Mutex::new(state)), clock: Clock::real() }
    }

    /// Reads or changes the cluster. Not to be held across an await.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Where a broker listens.
    pub(crate) fn address(node: i32) -> HostPort {
        HostPort::new(&format!("broker-{node}"), 9092)
    }

    /// Adds a topic whose partitions are led by these brokers, in epoch 0.
    pub(crate) fn add_topic(&self, name: &str, leaders: &[i32]) {
        let mut state = self.state();
        let id = uuid::Uuid::from_u128(1 + state.topics.len() as u128);
        let partitions = leaders.iter().map(|leader| FakePartition { leader: *leader, epoch: 0, log: Vec::new() }).collect();
        state.topics.insert(name.to_owned(), FakeTopic { id, partitions });
    }

    /// Adds partitions to a topic.
    pub(crate) fn grow(&self, topic: &str, leaders: &[i32]) {
        let added = leaders.iter().map(|leader| FakePartition { leader: *leader, epoch: 0, log: Vec::new() });
        self.state().topics.get_mut(topic).unwrap().partitions.extend(added);
    }

    /// Elects another leader (-1: none) of a partition.
    pub(crate) fn elect(&self, topic: &str, partition: usize, leader: i32) {
        let mut state = self.state();
        let partition = &mut state.topics.get_mut(topic).unwrap().partitions[partition];
        partition.leader = leader;
        partition.epoch += 1;
    }

    /// Ends a broker: its connections close, attempts are refused, it is no longer listed. Leaders stay: see [`FakeCluster::elect`].
    pub(crate) fn kill(&self, node: i32) {
        let mut state = self.state();
        let broker = state.brokers.get_mut(&node).unwrap();
        broker.door = Door::Shut;
        broker.is_listed = false;
        std::mem::take(&mut broker.life).cancel();
    }

    /// Brings a broker back.
    pub(crate) fn revive(&self, node: i32) {
        let mut state = self.state();
        let broker = state.brokers.get_mut(&node).unwrap();
        broker.door = Door::Open;
        broker.is_listed = true;
    }

    /// Sets what becomes of attempts to connect to a broker.
    pub(crate) fn set_door(&self, node: i32, door: Door) {
        self.state().brokers.get_mut(&node).unwrap().door = door;
    }

    /// From now on this broker's Metadata answers say of topics what is true now.
    pub(crate) fn fall_behind(&self, node: i32) {
        let mut state = self.state();
        let seen = state.topics.clone();
        state.brokers.get_mut(&node).unwrap().stale_topics = Some(seen);
    }

    /// Scripts what a broker does with its next request of this API (behind what is scripted already).
    pub(crate) fn script(&self, node: i32, api: ApiKey, reaction: Reaction) {
        self.state().brokers.get_mut(&node).unwrap().scripts.entry(api as i16).or_default().push_back(reaction);
    }

    /// Sets what a broker does with every request of this API; `None`: answers well.
    pub(crate) fn always(&self, node: i32, api: ApiKey, reaction: Option<Reaction>) {
        let mut state = self.state();
        let standing = &mut state.brokers.get_mut(&node).unwrap().standing;
        match reaction {
            Some(reaction) => standing.insert(api as i16, reaction),
            None => standing.remove(&(api as i16)),
        };
    }

    /// The requests of one API so far.
    pub(crate) fn asked(&self, api: ApiKey) -> Vec<Asked> {
        self.state().asked.iter().filter(|asked| asked.api == api).cloned().collect()
    }

    /// The values in a partition's log.
    pub(crate) fn log(&self, topic: &str, partition: usize) -> Vec<Vec<u8>> {
        self.state().topics[topic].partitions[partition].log.clone()
    }
}

impl State {
    /// The broker behind an address.
    fn node_at(&self, address: &HostPort) -> Option<i32> {
        self.brokers.keys().copied().find(|node| FakeCluster::address(*node) == *address)
    }

    fn reaction(&mut self, node: i32, api: ApiKey) -> Option<Reaction> {
        let broker = self.brokers.get_mut(&node)?;
        let scripted = broker.scripts.get_mut(&(api as i16)).and_then(VecDeque::pop_front);
        scripted.or_else(|| broker.standing.get(&(api as i16)).cloned())
    }
}

impl Connector for FakeCluster {
    type Stream = DuplexStream;

    fn connect(&self, address: HostPort, _attempt: u32) -> impl Future<Output = io::Result<DuplexStream>> + Send + 'static {
        let cluster = self.clone();
        async move {
            let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
            let (node, door, life, pipe_bytes) = {
                let mut state = cluster.state();
                state.attempts.push((cluster.clock.now(), address.clone()));
                let node = state.node_at(&address).ok_or_else(refused)?;
                let broker = &state.brokers[&node];
                (node, broker.door, broker.life.clone(), state.pipe_bytes)
            };
            match door {
                Door::Open => {
                    let (client, broker) = tokio::io::duplex(pipe_bytes);
                    let serving = serve::serve(cluster, node, broker);
                    tokio::spawn(async move { life.run_until_cancelled(serving).await });
                    Ok(client)
                }
                Door::Shut => Err(refused()),
                Door::Denies => Err(io::Error::other(HandshakeError::Denied("wrong password".to_owned()))),
                Door::Swallows => std::future::pending().await,
            }
        }
    }
}
