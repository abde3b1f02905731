//! What a broker leads by its own word, and where those logs end: asked once a second by `run`, for `brokers.csv`.
//!
//! Not here: when it is asked, and what the container engine says of a node (`run`). Who is asked too late has no answer, never a zero.

use std::time::Duration;

use super::CLIENT_ID;
use crate::clock::Clock;
use crate::ids::{BrokerId, HostPort, TopicName, TopicPartition};
use crate::kafka::admin::{Admin, ClusterView, End, PartitionView, Security, Traffic};
use crate::record::broker::{Led, LogEnd};

/// A topic whose partitions' leaders are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedTopic {
    /// Its name.
    pub name: TopicName,
    /// How many of its partitions, from 0, are asked for their offsets.
    pub probed: u32,
}

/// Asks brokers what they lead.
#[derive(Debug)]
pub struct BrokerProbe {
    admin: Admin,
    topics: Vec<WatchedTopic>,
    names: Vec<TopicName>,
}

impl BrokerProbe {
    /// A probe of these topics; a topic that does not exist yet, or no more, does no harm. `within` bounds each question; what they cost is
    /// counted in `traffic`.
    #[must_use]
    pub fn new(topics: Vec<WatchedTopic>, within: Duration, security: &Security, clock: Clock, traffic: Traffic) -> Self {
        // Only brokers that are named are asked, so there is no bootstrap list.
        let admin = Admin::new(Vec::new(), security.named(CLIENT_ID), clock).with_call_timeout(within).with_traffic(traffic);
        let names = topics.iter().map(|topic| topic.name.clone()).collect();
        Self { admin, topics, names }
    }

    /// What a broker leads by its own word; `None` without an answer. Three questions, one after the other: its metadata, the high
    /// watermarks, the log ends. The ends come last, so that a log never seems to end before its high watermark.
    pub async fn led_by(&self, broker: BrokerId, listener: &HostPort) -> Option<Led> {
        let view = self.admin.metadata_of(listener, Some(&self.names)).await.ok()?;
        let mut led = self.led_in(&view, broker);
        let asked: Vec<_> = led.probed.iter().map(|end| (partition_of(end), end.leader_epoch)).collect();
        let high_watermarks = self.admin.ends_of(listener, End::HighWatermark, &asked).await.unwrap_or_default();
        let log_ends = self.admin.ends_of(listener, End::LogEnd, &asked).await.unwrap_or_default();
        for (end, (partition, _)) in led.probed.iter_mut().zip(&asked) {
            end.high_watermark = high_watermarks.get(partition).copied();
            end.log_end_offset = log_ends.get(partition).copied();
        }
        Some(led)
    }

    /// What a broker leads in a view, without offsets.
    fn led_in(&self, view: &ClusterView, broker: BrokerId) -> Led {
        let mut led = Led::default();
        for watched in &self.topics {
            let partitions = view.topic(&watched.name).map_or(&[][..], |topic| &topic.partitions);
            for partition in partitions.iter().filter(|partition| partition.leader == Some(broker)) {
                led.leaders += 1;
                led.under_replicated += u64::from(partition.isr.len() < partition.replicas.len());
                if u32::try_from(partition.partition.0).is_ok_and(|index| index < watched.probed) {
                    led.probed.push(unknown_end(&watched.name, partition));
                }
            }
        }
        led
    }
}

fn unknown_end(topic: &TopicName, partition: &PartitionView) -> LogEnd {
    LogEnd {
        topic: topic.clone(),
        partition: partition.partition,
        leader_epoch: partition.leader_epoch,
        replicas: u32::try_from(partition.replicas.len()).ok(),
        high_watermark: None,
        log_end_offset: None,
    }
}

fn partition_of(end: &LogEnd) -> TopicPartition {
    TopicPartition { topic: end.topic.clone(), partition: end.partition }
}

#[cfg(test)]
mod tests {
    use kafka_protocol::messages::ApiKey;

    use super::*;
    use crate::kafka::admin::fake::{FakeBroker, shared};

    const WITHIN: Duration = Duration::from_millis(500);

    fn watched(name: &str, probed: u32) -> WatchedTopic {
        WatchedTopic { name: name.into(), probed }
    }

    #[tokio::test]
    async fn a_broker_tells_what_it_leads_and_where_that_ends() {
        let state = shared(1);
        let broker = FakeBroker::start(1, 0, &state).await;
        {
            let mut state = state.lock().unwrap();
            state.topics.insert("orders".into(), vec![vec![1, 2], vec![2, 1], vec![1, 3]]);
            state.topics.insert("more".into(), vec![vec![1], vec![1]]);
            state.out_of_sync.insert(2);
            state.ends.insert(("orders".into(), 0), (40, 45));
            state.ends.insert(("more".into(), 0), (7, 7));
        }
        let topics = vec![watched("orders", 3), watched("absent", 4), watched("more", 1)];
        let probe = BrokerProbe::new(topics, WITHIN, &Security::plaintext(), Clock::real(), Traffic::default());
        let led = probe.led_by(BrokerId(1), &broker.host_port()).await.unwrap();
        assert_eq!((led.leaders, led.under_replicated), (4, 1));
        let ends: Vec<_> =
            led.probed.iter().map(|end| (partition_of(end).to_string(), end.replicas, end.high_watermark, end.log_end_offset)).collect();
        // The broker knows no end of orders/2, and nobody probes more/1.
        let expected = [("orders/0", 2, Some(40), Some(45)), ("orders/2", 2, None, None), ("more/0", 1, Some(7), Some(7))];
        assert_eq!(ends, expected.map(|(partition, replicas, hw, end)| (partition.to_owned(), Some(replicas), hw, end)));
        assert!(state.lock().unwrap().asked.iter().all(|(client_id, ..)| client_id == CLIENT_ID));
    }

    #[tokio::test]
    async fn a_broker_that_leads_nothing_is_asked_for_no_offsets() {
        let state = shared(1);
        let broker = FakeBroker::start(1, 0, &state).await;
        state.lock().unwrap().topics.insert("orders".into(), vec![vec![2]]);
        let probe = BrokerProbe::new(vec![watched("orders", 1)], WITHIN, &Security::plaintext(), Clock::real(), Traffic::default());
        assert_eq!(probe.led_by(BrokerId(1), &broker.host_port()).await, Some(Led::default()));
        assert!(state.lock().unwrap().asked.iter().all(|(_, api, _)| *api != ApiKey::ListOffsets));
    }

    #[tokio::test]
    async fn a_silent_broker_has_no_answer() {
        let state = shared(1);
        let broker = FakeBroker::start(1, 0, &state).await;
        broker.freeze(true);
        let probe = BrokerProbe::new(
            vec![watched("orders", 1)],
            Duration::from_millis(30),
            &Security::plaintext(),
            Clock::real(),
            Traffic::default(),
        );
        assert_eq!(probe.led_by(BrokerId(1), &broker.host_port()).await, None);
    }
}
