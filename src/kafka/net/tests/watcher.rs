//! An observer that keeps everything, and a client on a fake cluster with it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::fake::FakeCluster;
use crate::clock::Moment;
use crate::ids::{HostPort, PartitionIndex, TopicName};
use crate::kafka::core::config::ProducerConfig;
use crate::kafka::event::{BatchDelivery, ClientEvent, ClientObserver, Failure, Outcome};
use crate::kafka::net::producer::{Producer, Record};

/// Keeps what a client tells.
#[derive(Debug, Default)]
pub(crate) struct Watcher {
    events: Mutex<Vec<(Moment, ClientEvent)>>,
    outcomes: Mutex<Vec<Told>>,
}

/// The outcome of one record.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// When it was told.
    pub(crate) at: Moment,
    /// The record's mark.
    pub(crate) mark: u64,
    /// What became of it.
    pub(crate) outcome: Outcome,
}

impl ClientObserver for Watcher {
    fn event(&self, at: Moment, event: &ClientEvent) {
        self.events.lock().unwrap().push((at, event.clone()));
    }

    fn delivered(&self, at: Moment, delivery: &BatchDelivery<'_>) {
        let told = delivery.records.iter().map(|tag| Told { at, mark: tag.mark, outcome: delivery.outcome.clone() });
        self.outcomes.lock().unwrap().extend(told);
    }
}

/// A producer on a fake cluster, and what it tells.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) producer: Producer,
    pub(crate) watcher: Arc<Watcher>,
    pub(crate) cluster: FakeCluster,
    started: Moment,
}

/// Properties of a producer from pairs.
pub(crate) fn config(pairs: &[(&str, &str)]) -> ProducerConfig {
    ProducerConfig::from_properties(&pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()).unwrap()
}

impl Client {
    /// Starts one whose bootstrap list is broker 1.
    pub(crate) fn start(cluster: &FakeCluster, properties: &[(&str, &str)]) -> Self {
        Self::start_at(cluster, vec![FakeCluster::address(1)], properties)
    }

    /// Starts one with this bootstrap list.
    pub(crate) fn start_at(cluster: &FakeCluster, bootstrap: Vec<HostPort>, properties: &[(&str, &str)]) -> Self {
        let watcher = Arc::new(Watcher::default());
        let observer = Arc::clone(&watcher) as Arc<dyn ClientObserver>;
        let started = cluster.clock.now();
        let producer = Producer::start_with(cluster.clone(), config(properties), bootstrap, "fake", cluster.clock.clone(), 1, observer);
        Self { producer, watcher, cluster: cluster.clone(), started }
    }

    /// Sends a record to a partition of `orders`; its value is its mark, in decimal.
    pub(crate) async fn send(&self, partition: i32, mark: u64) -> Result<(), Failure> {
        self.send_to("orders", Some(partition), mark).await
    }

    /// Sends a record; its value is its mark, in decimal.
    pub(crate) async fn send_to(&self, topic: &str, partition: Option<i32>, mark: u64) -> Result<(), Failure> {
        let value = mark.to_string();
        let topic = TopicName::from(topic);
        let partition = partition.map(PartitionIndex);
        let record = Record { topic: &topic, partition, key: None, value: value.as_bytes(), timestamp_ms: 0, mark, number: mark };
        self.producer.send(&record).await
    }

    /// Milliseconds since the client's start.
    pub(crate) fn elapsed_ms(&self) -> u128 {
        self.ms_of(self.cluster.clock.now())
    }

    /// A moment in milliseconds since the client's start.
    pub(crate) fn ms_of(&self, at: Moment) -> u128 {
        at.since(self.started).as_millis()
    }

    /// What was told of records so far.
    pub(crate) fn outcomes(&self) -> Vec<Told> {
        self.watcher.outcomes.lock().unwrap().clone()
    }

    /// What was told of the client so far.
    pub(crate) fn events(&self) -> Vec<(Moment, ClientEvent)> {
        self.watcher.events.lock().unwrap().clone()
    }

    /// Lets time pass until `count` outcomes are known; gives up after `most`.
    pub(crate) async fn wait_for_outcomes(&self, count: usize, most: Duration) -> Vec<Told> {
        let give_up_at = self.cluster.clock.now() + most;
        while self.outcomes().len() < count {
            assert!(self.cluster.clock.now() < give_up_at, "{} of {count} outcomes after {most:?}", self.outcomes().len());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        self.outcomes()
    }

    /// A client that came in through broker `way_in`, has connections to the leaders of all partitions of `orders` and nothing to do.
    pub(crate) async fn settled(cluster: &FakeCluster, way_in: i32, properties: &[(&str, &str)]) -> Self {
        let mut client = Self::start_at(cluster, vec![FakeCluster::address(way_in)], properties);
        let partitions = cluster.state().topics["orders"].partitions.len();
        for partition in 0..partitions {
            client.send(i32::try_from(partition).unwrap(), 900 + partition as u64).await.unwrap();
        }
        let outcomes = client.wait_for_outcomes(partitions, Duration::from_secs(5)).await;
        assert!(outcomes.iter().all(|told| matches!(told.outcome, Outcome::Ok { .. })), "{outcomes:?}");
        tokio::time::sleep(Duration::from_millis(300)).await;
        client.watcher.events.lock().unwrap().clear();
        client.watcher.outcomes.lock().unwrap().clear();
        let mut state = cluster.state();
        state.asked.clear();
        state.attempts.clear();
        for partition in &mut state.topics.get_mut("orders").unwrap().partitions {
            partition.log.clear();
        }
        drop(state);
        client.started = cluster.clock.now();
        client
    }
}
