//! What is read of librdkafka's statistics, a JSON text per client and second (its `STATISTICS.md`); all else is skipped. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The text, as far as it is of interest.
#[derive(Debug, Deserialize)]
struct Text<'a> {
    msg_size: u64,
    msg_size_max: u64,
    #[serde(borrow)]
    brokers: BTreeMap<&'a str, Broker<'a>>,
    #[serde(borrow)]
    topics: BTreeMap<&'a str, Topic<'a>>,
}

#[derive(Debug, Deserialize)]
struct Broker<'a> {
    /// Requests sent, by name of the API; absent for brokers that are no addresses.
    #[serde(borrow, default)]
    req: BTreeMap<&'a str, u64>,
}

#[derive(Debug, Deserialize)]
struct Topic<'a> {
    /// Since the last answer about it, in ms; 0: there was none.
    metadata_age: i64,
    #[serde(borrow)]
    partitions: BTreeMap<&'a str, Partition>,
}

/// A partition; -1 stands for records that have none yet.
#[derive(Debug, Deserialize)]
struct Partition {
    partition: i32,
    /// It was there and is not any more.
    #[serde(default)]
    unknown: bool,
}

/// One look at a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Statistics {
    /// Room in its queue, in bytes.
    pub(super) queue_free_bytes: u64,
    /// Metadata requests per broker, by librdkafka's names.
    pub(super) metadata_requests: BTreeMap<String, u64>,
    /// Partition counts of its topics.
    pub(super) partition_counts: BTreeMap<String, u32>,
    /// Greatest time since a topic's last answer, in ms; `None`: no topic has had one.
    pub(super) metadata_age_ms: Option<u64>,
}

impl Statistics {
    /// Reads a text.
    ///
    /// # Errors
    /// It is not what librdkafka 2.12 writes.
    pub(super) fn read(text: &[u8]) -> Result<Self, serde_json::Error> {
        let text: Text<'_> = serde_json::from_slice(text)?;
        let sent = |broker: &Broker<'_>| broker.req.get("Metadata").copied();
        let count = |topic: &Topic<'_>| {
            let known = topic.partitions.values().filter(|partition| partition.partition >= 0 && !partition.unknown);
            u32::try_from(known.count()).unwrap_or(u32::MAX)
        };
        Ok(Self {
            queue_free_bytes: text.msg_size_max.saturating_sub(text.msg_size),
            metadata_requests: text.brokers.iter().filter_map(|(name, broker)| Some(((*name).to_owned(), sent(broker)?))).collect(),
            metadata_age_ms: text.topics.values().filter_map(|topic| u64::try_from(topic.metadata_age).ok()).filter(|age| *age > 0).max(),
            partition_counts: text.topics.iter().map(|(name, topic)| ((*name).to_owned(), count(topic))).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shortened from a real one.
    const TEXT: &str = r#"{ "name": "rdkafka#producer-1", "client_id": "steady-0", "type": "producer", "ts":5016483227792, "msg_cnt":22710,
        "msg_size":704010, "msg_max":500000, "msg_size_max":1073741824, "brokers":{ "127.0.0.1:20001/1": { "name":"127.0.0.1:20001/1",
        "nodeid":1, "state":"UP", "tx":320, "req": { "Produce": 4, "Metadata": 2, "ApiVersion": 1 }, "toppars":{ "orders-1": { "topic":"orders",
        "partition":1} } } , "GroupCoordinator": { "name":"GroupCoordinator", "nodeid":-1, "req": { "Metadata": 0 } } }, "topics":{ "orders": {
        "topic":"orders", "age":4060, "metadata_age":3060, "partitions":{ "0": { "partition":0, "leader":2, "unknown":false },
        "1": { "partition":1, "leader":1, "unknown":false }, "2": { "partition":2, "unknown":true }, "-1": { "partition":-1, "unknown":false } } } },
        "tx":631, "txmsgs":4300918 }"#;

    #[test]
    fn the_real_text_is_read() {
        let statistics = Statistics::read(TEXT.as_bytes()).unwrap();
        let expected = Statistics {
            queue_free_bytes: 1_073_741_824 - 704_010,
            metadata_requests: BTreeMap::from([("127.0.0.1:20001/1".to_owned(), 2), ("GroupCoordinator".to_owned(), 0)]),
            partition_counts: BTreeMap::from([("orders".to_owned(), 2)]),
            metadata_age_ms: Some(3_060),
        };
        assert_eq!(statistics, expected);
    }

    #[test]
    fn without_an_answer_there_is_no_age() {
        let text = |ages: [u64; 2]| {
            let [one, other] = ages.map(|age| format!(r#"{{ "metadata_age": {age}, "partitions": {{}} }}"#));
            format!(r#"{{ "msg_size": 0, "msg_size_max": 1, "brokers": {{}}, "topics": {{ "one": {one}, "other": {other} }} }}"#)
        };
        let age_of = |ages| Statistics::read(text(ages).as_bytes()).unwrap().metadata_age_ms;
        assert_eq!([age_of([0, 0]), age_of([0, 40]), age_of([70, 40])], [None, Some(40), Some(70)]);
    }

    #[test]
    fn another_text_is_refused() {
        assert!(Statistics::read(b"{\"brokers\":{}}").is_err());
        assert!(Statistics::read(b"nonsense").is_err());
    }
}
