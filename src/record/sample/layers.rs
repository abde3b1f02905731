//! What layers were seen to hold, by hand. Three brokers that vote too, the topic `orders`, times in milliseconds; a sighting's old state was
//! last seen 10 ms before.

use super::{Pair, Sample};
use crate::ids::{BrokerId, LeaderEpoch, PartitionIndex, ProducerIndex, TopicId, TopicName, UpdateVersion};
use crate::record::fact::Fact;
use crate::record::layer::{BrokerShows, BrokerState, ControllerChange, ControllerImage, ControllerRecord, PartitionState, ProbeSecond};

/// How long before a sighting the old state was last seen.
pub(crate) const LOOK_MS: i64 = 10;

/// A partition's state: index, leader (0: none), epoch, ISR.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part(pub(crate) i32, pub(crate) i32, pub(crate) i32, pub(crate) &'static [i32]);

impl Part {
    pub(crate) fn state(self) -> PartitionState {
        PartitionState {
            topic: TopicName::from("orders"),
            topic_id: topic_id(),
            partition: PartitionIndex(self.0),
            leader: some_node(self.1),
            leader_epoch: LeaderEpoch(self.2),
            partition_epoch: self.2 * 10 + i32::try_from(self.3.len()).unwrap(),
            replicas: nodes(&[1, 2, 3]),
            isr: nodes(self.3),
            elr: Vec::new(),
            is_unclean: false,
        }
    }

    pub(crate) fn made(self) -> ControllerChange {
        ControllerChange::PartitionMade(self.state())
    }

    pub(crate) fn changed(self) -> ControllerChange {
        ControllerChange::PartitionChanged(self.state())
    }
}

/// The id of `orders`.
pub(crate) fn topic_id() -> TopicId {
    TopicId(uuid::Uuid::from_u128(7))
}

pub(crate) fn nodes(ids: &[i32]) -> Vec<BrokerId> {
    ids.iter().copied().map(BrokerId).collect()
}

fn some_node(node: i32) -> Option<BrokerId> {
    (node > 0).then_some(BrokerId(node))
}

fn broker_state(broker: i32, broker_epoch: i64, is_fenced: bool) -> BrokerState {
    BrokerState { broker: BrokerId(broker), broker_epoch, is_fenced, in_controlled_shutdown: false }
}

/// A broker is fenced.
pub(crate) fn fenced(broker: i32) -> ControllerChange {
    ControllerChange::BrokerChanged(broker_state(broker, 5, true))
}

/// A broker is unfenced after it has registered again.
pub(crate) fn unfenced(broker: i32) -> ControllerChange {
    ControllerChange::BrokerChanged(broker_state(broker, 311, false))
}

/// A broker has asked to stop.
pub(crate) fn stopping(broker: i32) -> ControllerChange {
    ControllerChange::BrokerChanged(BrokerState { in_controlled_shutdown: true, ..broker_state(broker, 5, false) })
}

/// A broker has registered again.
pub(crate) fn registered(broker: i32) -> ControllerChange {
    ControllerChange::BrokerRegistered(broker_state(broker, 311, true))
}

impl Sample {
    /// The log as it stands when the tail begins: brokers 1 to 3, these partitions, offset 500, controller 1.
    pub(crate) fn image(self, parts: &[Part], at_ms: i64) -> Self {
        let image = ControllerImage {
            offset: 500,
            controller: Some(BrokerId(1)),
            brokers: (1..=3).map(|broker| broker_state(broker, 5, false)).collect(),
            partitions: parts.iter().map(|part| part.state()).collect(),
        };
        let stream = self.followed(Some(1), at_ms).at(at_ms, Fact::ControllerImage(Box::new(image)));
        (1..=3).fold(stream, |stream, node| stream.fetched(node, 500, at_ms))
    }

    /// A record that arrives 5 ms after the controller made it.
    pub(crate) fn record(self, offset: i64, change: ControllerChange, at_ms: i64) -> Self {
        self.late_record(offset, change, at_ms - 5, at_ms)
    }

    pub(crate) fn late_record(self, offset: i64, change: ControllerChange, made_ms: i64, at_ms: i64) -> Self {
        let record = ControllerRecord { offset, controller_epoch: LeaderEpoch(3), controller_time_us: made_ms * 1000, change };
        self.at(at_ms, Fact::ControllerRecord(Box::new(record)))
    }

    /// The record at this offset is committed.
    pub(crate) fn committed(self, offset: i64, at_ms: i64) -> Self {
        self.at(at_ms, Fact::ControllerCommitted { high_watermark: offset + 1, not_before_us: Some((at_ms - LOOK_MS) * 1000) })
    }

    pub(crate) fn followed(self, node: Option<i32>, at_ms: i64) -> Self {
        let fact = Fact::ControllerFollowed {
            node: node.map(BrokerId),
            epoch: node.map(|_| LeaderEpoch(3)),
            detail: if node.is_some() { "it says so".to_owned() } else { "nobody answers".to_owned() },
        };
        self.at(at_ms, fact)
    }

    /// A node has the record at this offset.
    pub(crate) fn fetched(self, node: i32, offset: i64, at_ms: i64) -> Self {
        let not_before_us = Some((at_ms - LOOK_MS) * 1000);
        self.at(at_ms, Fact::NodeFetched { node: BrokerId(node), is_voter: true, log_end_offset: offset + 1, not_before_us })
    }

    pub(crate) fn shows(self, node: i32, shows: BrokerShows, at_ms: i64) -> Self {
        self.at(at_ms, Fact::BrokerShows { node: BrokerId(node), not_before_us: Some((at_ms - LOOK_MS) * 1000), shows })
    }

    pub(crate) fn shows_partition(self, node: i32, part: Part, at_ms: i64) -> Self {
        let state = part.state();
        let shows = BrokerShows::Partition {
            topic: state.topic,
            topic_id: Some(state.topic_id),
            partition: state.partition,
            leader: state.leader,
            leader_epoch: Some(state.leader_epoch),
            isr: state.isr,
            offline: Vec::new(),
            error: None,
        };
        self.shows(node, shows, at_ms)
    }

    pub(crate) fn shows_count(self, node: i32, partition_count: u32, at_ms: i64) -> Self {
        let topic_id = Some(topic_id());
        self.shows(node, BrokerShows::Topic { topic: TopicName::from("orders"), topic_id, partition_count, error: None }, at_ms)
    }

    pub(crate) fn serves(self, node: i32, part: Part, error: Option<i16>, at_ms: i64) -> Self {
        let fact = Fact::Servable {
            node: BrokerId(node),
            topic: TopicName::from("orders"),
            partition: PartitionIndex(part.0),
            leader_epoch: LeaderEpoch(part.2),
            not_before_us: Some((at_ms - LOOK_MS) * 1000),
            error,
            high_watermark: None,
        };
        self.at(at_ms, fact)
    }

    /// A producer's cache shows this leader in this epoch, as a node has told it.
    pub(crate) fn learned(self, pair: Pair, part: Part, from_node: i32, version: u64, at_ms: i64) -> Self {
        let fact = Fact::LeaderSeen {
            group: pair.0.to_owned(),
            producer: ProducerIndex(pair.1),
            topic: TopicName::from("orders"),
            partition: PartitionIndex(part.0),
            topic_id: Some(topic_id()),
            from: None,
            to: some_node(part.1),
            epoch: Some(LeaderEpoch(part.2)),
            node: some_node(from_node),
            update_version: UpdateVersion(version),
        };
        self.at(at_ms, fact)
    }

    /// A producer's cache shows so many partitions of `orders`.
    pub(crate) fn counted(self, pair: Pair, counts: (u32, u32), reason: &str, version: u64, at_ms: i64) -> Self {
        let fact = Fact::PartitionCount {
            group: pair.0.to_owned(),
            producer: ProducerIndex(pair.1),
            topic: TopicName::from("orders"),
            topic_id: Some(topic_id()),
            from: counts.0,
            to: counts.1,
            node: Some(BrokerId(1)),
            reason: Some(reason.to_owned()),
            update_version: Some(UpdateVersion(version)),
        };
        self.at(at_ms, fact)
    }

    /// A Metadata request of a producer ended: whom it asked, why, how it ended, and how long that took.
    pub(crate) fn asked(self, pair: Pair, asked: Asked, at_ms: i64) -> Self {
        let mut stream = self.request(pair.0, pair.1, asked.reason, at_ms);
        if let Some(Fact::MetadataRequest { node, outcome, round_trip_us, update_version, .. }) =
            stream.facts.last_mut().map(|stamped| &mut stamped.fact)
        {
            *node = BrokerId(asked.node);
            asked.outcome.clone_into(outcome);
            *round_trip_us = asked.took_ms * 1000;
            *update_version = UpdateVersion(asked.version);
        }
        stream
    }

    pub(crate) fn routed(self, pair: Pair, to: i32, at_ms: i64) -> Self {
        let fact = Fact::RouteChanged {
            group: pair.0.to_owned(),
            producer: ProducerIndex(pair.1),
            topic: TopicName::from("orders"),
            partition: PartitionIndex(pair.2),
            from: None,
            to: BrokerId(to),
        };
        self.at(at_ms, fact)
    }

    /// A connection that ended, with so many requests under way.
    pub(crate) fn disconnected(self, pair: Pair, node: i32, (cause, in_flight): (&str, u32), at_ms: i64) -> Self {
        let fact = Fact::Disconnected {
            group: pair.0.to_owned(),
            producer: ProducerIndex(pair.1),
            node: BrokerId(node),
            cause: cause.to_owned(),
            in_flight,
            metadata_in_flight: false,
            not_ready_us: None,
        };
        self.at(at_ms, fact)
    }

    /// A connection that ended with the client, which had tried for so many ms to use it.
    pub(crate) fn never_ready(self, pair: Pair, node: i32, for_ms: u64, at_ms: i64) -> Self {
        let mut stream = self.disconnected(pair, node, ("closing", 1), at_ms);
        if let Some(Fact::Disconnected { not_ready_us, .. }) = stream.facts.last_mut().map(|stamped| &mut stamped.fact) {
            *not_ready_us = Some(for_ms * 1000);
        }
        stream
    }

    /// A batch that a node answered with an error.
    pub(crate) fn refused(self, pair: Pair, node: i32, code: i16, at_ms: i64) -> Self {
        let fact = Fact::BatchError {
            group: pair.0.to_owned(),
            producer: ProducerIndex(pair.1),
            topic: TopicName::from("orders"),
            partition: PartitionIndex(pair.2),
            node: BrokerId(node),
            code,
            retried: true,
            records: 1,
        };
        self.at(at_ms, fact)
    }

    pub(crate) fn delivered(self, pair: Pair, node: i32, due_ms: i64, at_ms: i64) -> Self {
        let fact = Fact::DeliveredAfterChange {
            group: pair.0.to_owned(),
            producer: ProducerIndex(pair.1),
            topic: TopicName::from("orders"),
            partition: PartitionIndex(pair.2),
            node: some_node(node),
            due_us: due_ms * 1000,
        };
        self.at(at_ms, fact)
    }

    /// Seconds of probing: so many Metadata requests and so much CPU in each.
    pub(crate) fn probes(mut self, from: i64, until: i64, requests: u64, cpu_us: u64, fast_ms: u64) -> Self {
        for second in from..until {
            let figures = ProbeSecond {
                second,
                requests: [("Metadata".to_owned(), requests)].into(),
                request_bytes: requests * 40,
                response_bytes: requests * 400,
                cpu_us: Some(cpu_us),
                fast_ms,
                unsettled: None,
            };
            self = self.at((second + 1) * 1000, Fact::ProbeSecond(Box::new(figures)));
        }
        self
    }
}

/// A Metadata request that ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) node: i32,
    pub(crate) reason: &'static str,
    pub(crate) outcome: &'static str,
    pub(crate) took_ms: u64,
    pub(crate) version: u64,
}

/// One that was answered within a millisecond.
pub(crate) fn answered(node: i32, reason: &'static str, version: u64) -> Asked {
    Asked { node, reason, outcome: "updated", took_ms: 1, version }
}
