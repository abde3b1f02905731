//! Metadata as a client of its own asks for it: one connection, one request at a time, any list of topics.
//!
//! Not an [`Admin`](super::Admin)'s view: answers are counted, not kept. Called by `engine::requesters`.

use std::collections::BTreeSet;
use std::time::Duration;

use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{MetadataRequest, MetadataResponse, TopicName as WireTopicName};
use kafka_protocol::protocol::StrBytes;

use crate::clock::Clock;
use crate::ids::{HostPort, TopicName};
use crate::kafka::net::rpc::{Rpc, RpcError};
use crate::kafka::net::security::Identity;
use crate::kafka::net::traffic::{Traffic, TrafficCounts};
use crate::kafka::wire::error::ErrorCode;

/// What is asked for, ready to be sent.
#[derive(Clone, Debug)]
pub struct MetadataQuestion(MetadataRequest);

impl MetadataQuestion {
    /// `None`: a null list, which asks for every topic. An empty one asks for brokers alone. No topic is made by asking.
    #[must_use]
    pub fn new(topics: Option<&[TopicName]>) -> Self {
        let wire = |topic: &TopicName| WireTopicName(StrBytes::from_string(topic.as_str().to_owned()));
        let named = |topic| MetadataRequestTopic::default().with_name(Some(wire(topic)));
        let topics = topics.map(|topics| topics.iter().map(named).collect());
        Self(MetadataRequest::default().with_topics(topics).with_allow_auto_topic_creation(false))
    }
}

/// What an answer had in it, in counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerCounts {
    /// Error codes of the whole and of topics, each once.
    pub codes: Vec<ErrorCode>,
    /// Topics, with or without an error.
    pub topics: u32,
    /// Partitions of all of them.
    pub partitions: u32,
}

/// A connection to one broker.
#[derive(Debug)]
pub struct MetadataRequester {
    rpc: Rpc,
    traffic: Traffic,
}

impl MetadataRequester {
    /// Connects and agrees on versions.
    ///
    /// # Errors
    /// As [`Rpc::connect`].
    pub async fn connect(broker: &HostPort, identity: &Identity, within: Duration, clock: &Clock) -> Result<Self, RpcError> {
        let traffic = Traffic::default();
        let rpc = Rpc::connect(broker, identity, within, clock, &traffic).await?;
        // What it took to get here is no Metadata.
        let _ = traffic.take();
        Ok(Self { rpc, traffic })
    }

    /// Asks once. What it has cost is told in any case; after an error the connection is spent.
    pub async fn ask(&mut self, question: &MetadataQuestion, within: Duration) -> (Result<AnswerCounts, RpcError>, TrafficCounts) {
        let answer = self.rpc.call(&question.0, within).await;
        (answer.map(|response| counted(&response)), self.traffic.take())
    }
}

fn counted(response: &MetadataResponse) -> AnswerCounts {
    let of_topics = response.topics.iter().map(|topic| topic.error_code);
    let codes: BTreeSet<i16> = std::iter::once(response.error_code).chain(of_topics).collect();
    let partitions = response.topics.iter().map(|topic| topic.partitions.len()).sum();
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    AnswerCounts {
        codes: codes.into_iter().filter_map(ErrorCode::from_wire).collect(),
        topics: count(response.topics.len()),
        partitions: count(partitions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::admin::fake::{FakeBroker, shared};

    const WITHIN: Duration = Duration::from_secs(5);

    #[tokio::test]
    async fn a_null_list_asks_for_all_an_empty_one_for_none_and_a_name_for_itself() {
        let state = shared(1);
        for topic in ["orders", "audit"] {
            state.lock().unwrap().topics.insert(topic.to_owned(), vec![vec![1]; 100]);
        }
        let broker = FakeBroker::start(1, 0, &state).await;
        let mut requester = MetadataRequester::connect(&broker.host_port(), &"storm-0".into(), WITHIN, &Clock::real()).await.unwrap();
        let mut bytes = Vec::new();
        for topics in [None, Some(vec![]), Some(vec!["orders".into()]), Some(vec!["nothing".into()])] {
            let (answer, carried) = requester.ask(&MetadataQuestion::new(topics.as_deref()), WITHIN).await;
            assert_eq!(carried.requests.values().sum::<u64>(), 1);
            bytes.push((carried.response_bytes, answer.unwrap()));
        }
        let [all, none, one, unknown] = <[(u64, AnswerCounts); 4]>::try_from(bytes).unwrap();
        assert!(all.0 > one.0 && one.0 > none.0, "{all:?} {one:?} {none:?}");
        let counts = |answer: &AnswerCounts| (answer.topics, answer.partitions, answer.codes.iter().map(|code| code.0).collect());
        assert_eq!(
            [&all.1, &none.1, &one.1, &unknown.1].map(counts),
            [(2, 200, vec![]), (0, 0, vec![]), (1, 100, vec![]), (1, 0, vec![3])]
        );
    }

    #[tokio::test]
    async fn a_request_that_is_not_answered_has_its_cost_too() {
        let state = shared(1);
        let broker = FakeBroker::start(1, 0, &state).await;
        let mut requester = MetadataRequester::connect(&broker.host_port(), &"storm-0".into(), WITHIN, &Clock::real()).await.unwrap();
        broker.freeze(true);
        let (answer, carried) = requester.ask(&MetadataQuestion::new(None), Duration::from_millis(50)).await;
        assert!(matches!(answer, Err(RpcError::TimedOut { .. })));
        assert!(carried.request_bytes > 0 && carried.response_bytes == 0);
    }
}
