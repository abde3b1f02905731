//! What the tail of the controller's log tells, as facts: restricted to brokers and to the topics that are watched.

use std::collections::BTreeSet;

use super::board::Board;
use crate::clock::{Clock, Moment};
use crate::ids::TopicName;
use crate::kafka::raft::image::{Broker, Change, ConfigKind, ConfigResource, Image, Partition, PartitionKey};
use crate::kafka::raft::{ImageReason, TailEvent, TailObserver, TailRecord};
use crate::record::fact::Fact;
use crate::record::layer::{BrokerState, ControllerChange, ControllerImage, ControllerRecord, PartitionState};

impl TailObserver for Board {
    fn event(&self, at: Moment, event: &TailEvent<'_>) {
        match event {
            TailEvent::Image { image, offset, controller, why } => {
                let image = ControllerImage { offset: *offset, controller: Some(*controller), ..image_of(image, &self.watched) };
                self.image(at, image, *why);
            }
            TailEvent::Record(record) => self.record(at, record),
            TailEvent::Committed { high_watermark, not_before } => self.committed(at, *high_watermark, *not_before),
            TailEvent::Truncated { to_offset, records } => {
                self.facts.emit(at, Fact::ControllerTruncated { end_offset: *to_offset, records: *records });
                self.state().picture.truncated(*to_offset);
            }
            TailEvent::Followed { controller, epoch, detail } => {
                self.facts.emit(at, Fact::ControllerFollowed { node: *controller, epoch: *epoch, detail: (*detail).to_owned() });
                let mut state = self.state();
                state.controller = *controller;
                state.cadence.changed(at);
                state.compare(at);
            }
        }
        self.stirred.notify_waiters();
    }
}

impl Board {
    fn image(&self, at: Moment, image: ControllerImage, why: ImageReason) {
        let mut state = self.state();
        state.picture.load(&image, why != ImageReason::Truncated);
        state.compare(at);
        self.facts.emit(at, Fact::ControllerImage(Box::new(image)));
    }

    fn record(&self, at: Moment, record: &TailRecord) {
        let changes = changes_of(&record.change, &self.watched);
        if changes.is_empty() {
            return;
        }
        let controller_time_us = us_from(&self.clock, record.timestamp_ms, self.facts.origin());
        let mut state = self.state();
        for change in changes {
            let (offset, controller_epoch) = (record.offset, record.controller_epoch);
            let told = ControllerRecord { offset, controller_epoch, controller_time_us, change };
            if !matches!(told.change, ControllerChange::NotTakenIn { .. }) {
                state.picture.apply(&told);
            }
            self.facts.emit(at, Fact::ControllerRecord(Box::new(told)));
        }
        state.cadence.changed(at);
        state.compare(at);
    }

    fn committed(&self, at: Moment, high_watermark: i64, not_before: Option<Moment>) {
        let mut state = self.state();
        if state.picture.committed(high_watermark) {
            let not_before_us = not_before.map(|moment| self.facts.time_us(moment));
            self.facts.emit(at, Fact::ControllerCommitted { high_watermark, not_before_us });
            state.compare(at);
        }
    }
}

/// A controller's wall-clock time as facts have it.
fn us_from(clock: &Clock, unix_ms: i64, origin: Moment) -> i64 {
    let origin_us = i64::try_from(clock.unix_time_of(origin).as_micros()).unwrap_or(i64::MAX);
    unix_ms.saturating_mul(1_000).saturating_sub(origin_us)
}

fn image_of(image: &Image, watched: &BTreeSet<TopicName>) -> ControllerImage {
    let partitions = watched.iter().filter_map(|name| Some((name, image.topic(name)?))).flat_map(|(name, (topic_id, topic))| {
        topic.partitions.iter().map(move |(index, partition)| {
            let key = PartitionKey { topic: name.clone(), topic_id, partition: *index };
            partition_of(&key, partition)
        })
    });
    ControllerImage {
        brokers: image.brokers().values().map(broker_of).collect(),
        partitions: partitions.collect(),
        ..ControllerImage::default()
    }
}

/// What a record changes; nothing if that is of no interest here.
fn changes_of(change: &Change, watched: &BTreeSet<TopicName>) -> Vec<ControllerChange> {
    let of_watched = |key: &PartitionKey| watched.contains(&key.topic);
    let told = match change {
        Change::BrokerRegistered { after, .. } => Some(ControllerChange::BrokerRegistered(broker_of(after))),
        Change::BrokerChanged { after, .. } => Some(ControllerChange::BrokerChanged(broker_of(after))),
        Change::BrokerUnregistered { before } => Some(ControllerChange::BrokerUnregistered { broker: before.id }),
        Change::TopicMade { topic, topic_id } => {
            watched.contains(topic).then(|| ControllerChange::TopicMade { topic: topic.clone(), topic_id: *topic_id })
        }
        Change::TopicRemoved { topic, topic_id } => {
            watched.contains(topic).then(|| ControllerChange::TopicRemoved { topic: topic.clone(), topic_id: *topic_id })
        }
        Change::PartitionMade { key, after } => of_watched(key).then(|| ControllerChange::PartitionMade(partition_of(key, after))),
        Change::PartitionChanged(step) => {
            of_watched(&step.key).then(|| ControllerChange::PartitionChanged(partition_of(&step.key, &step.after)))
        }
        Change::ElrCleared { partitions } => {
            let watched = partitions.iter().filter(|step| of_watched(&step.key));
            return watched.map(|step| ControllerChange::PartitionChanged(partition_of(&step.key, &step.after))).collect();
        }
        Change::Config { resource, key, after, .. } => config_of(resource, key, after.as_deref(), watched),
        Change::FeatureLevel { feature, level } => Some(ControllerChange::FeatureLevel { feature: feature.clone(), level: *level }),
        Change::ControllerElected { node } => Some(ControllerChange::ControllerElected { node: *node }),
        Change::Refused { reason } => {
            tracing::warn!(%reason, "a record of the controller's log cannot be taken in");
            Some(ControllerChange::NotTakenIn { reason: reason.clone() })
        }
        // The rest changes nothing that a layer below would show.
        _ => None,
    };
    told.into_iter().collect()
}

fn config_of(resource: &ConfigResource, key: &str, value: Option<&str>, watched: &BTreeSet<TopicName>) -> Option<ControllerChange> {
    let kind = match resource.kind {
        ConfigKind::Broker => "broker",
        ConfigKind::Topic if watched.contains(&TopicName::from(resource.name.as_str())) => "topic",
        _ => return None,
    };
    let (name, key, value) = (resource.name.clone(), key.to_owned(), value.map(str::to_owned));
    Some(ControllerChange::Config { kind: kind.to_owned(), name, key, value })
}

fn broker_of(broker: &Broker) -> BrokerState {
    BrokerState {
        broker: broker.id,
        broker_epoch: broker.epoch,
        is_fenced: broker.is_fenced,
        in_controlled_shutdown: broker.in_controlled_shutdown,
    }
}

fn partition_of(key: &PartitionKey, partition: &Partition) -> PartitionState {
    PartitionState {
        topic: key.topic.clone(),
        topic_id: key.topic_id,
        partition: key.partition,
        leader: partition.leader,
        leader_epoch: partition.leader_epoch,
        partition_epoch: partition.partition_epoch,
        replicas: partition.replicas.clone(),
        isr: partition.isr.clone(),
        elr: partition.elr.clone(),
        is_unclean: partition.is_recovering,
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::ids::{BrokerId, LeaderEpoch, PartitionIndex};
    use crate::kafka::raft::LogEntry;
    use crate::kafka::raft::image::PartitionStep;
    use crate::kafka::raft::record::{MetadataRecord, PartitionRecord};
    use crate::probe::sample::topic_id;
    use crate::record::sink::{self, FactSource};

    fn partition(leader: Option<i32>) -> Partition {
        Partition {
            leader: leader.map(BrokerId),
            leader_epoch: LeaderEpoch(4),
            partition_epoch: 9,
            replicas: vec![BrokerId(2), BrokerId(1)],
            adding: Vec::new(),
            removing: Vec::new(),
            isr: vec![BrokerId(1)],
            elr: vec![BrokerId(2)],
            last_known_elr: Vec::new(),
            is_recovering: true,
        }
    }

    fn step(topic: &str) -> PartitionStep {
        let key = PartitionKey { topic: topic.into(), topic_id: topic_id(7), partition: PartitionIndex(3) };
        PartitionStep { key, before: partition(None), after: partition(Some(1)) }
    }

    fn broker(is_fenced: bool) -> Broker {
        Broker { id: BrokerId(2), epoch: 17, incarnation: Uuid::nil(), is_fenced, in_controlled_shutdown: false, rack: None }
    }

    fn config(kind: ConfigKind, name: &str) -> Change {
        let resource = ConfigResource { kind, name: name.to_owned() };
        Change::Config { resource, key: "retention.ms".to_owned(), before: None, after: Some("1".to_owned()) }
    }

    fn record(offset: i64, change: Change) -> TailRecord {
        TailRecord { offset, controller_epoch: LeaderEpoch(2), timestamp_ms: 0, entry: LogEntry::Metadata(MetadataRecord::NoOp), change }
    }

    /// A board that watches `orders`, and what it tells.
    fn board() -> (Board, FactSource) {
        let clock = Clock::manual();
        let (facts, source) = sink::channel(clock.now(), 0, 64);
        (Board::new(vec!["orders".into()], clock, facts), source)
    }

    #[test]
    fn only_what_a_layer_below_would_show_is_told() {
        let topic = |name: &str| Change::TopicMade { topic: name.into(), topic_id: topic_id(7) };
        let rows = [
            (Change::BrokerRegistered { before: None, after: broker(true) }, 1),
            (Change::BrokerChanged { before: broker(true), after: broker(false) }, 1),
            (Change::BrokerUnregistered { before: broker(true) }, 1),
            (topic("orders"), 1),
            (topic("others"), 0),
            (Change::TopicRemoved { topic: "orders".into(), topic_id: topic_id(7) }, 1),
            (Change::TopicRemoved { topic: "others".into(), topic_id: topic_id(7) }, 0),
            (Change::PartitionChanged(step("orders")), 1),
            (Change::PartitionChanged(step("others")), 0),
            (Change::PartitionMade { key: step("orders").key, after: partition(Some(1)) }, 1),
            (Change::ElrCleared { partitions: vec![step("orders"), step("others"), step("orders")] }, 2),
            (config(ConfigKind::Topic, "orders"), 1),
            (config(ConfigKind::Topic, "others"), 0),
            (config(ConfigKind::Broker, ""), 1),
            (config(ConfigKind::Group, "orders"), 0),
            (Change::FeatureLevel { feature: "metadata.version".to_owned(), level: 29 }, 1),
            (Change::ControllerElected { node: BrokerId(3) }, 1),
            (Change::TransactionAborted, 0),
            (Change::Nothing, 0),
            (Change::Refused { reason: "nonsense".to_owned() }, 1),
        ];
        let watched = [TopicName::from("orders")].into();
        for (change, expected) in rows {
            assert_eq!(changes_of(&change, &watched).len(), expected, "{change:?}");
        }
    }

    #[test]
    fn a_partition_is_told_as_the_log_has_it() {
        let watched = [TopicName::from("orders")].into();
        let told = changes_of(&Change::PartitionChanged(step("orders")), &watched);
        let expected = PartitionState {
            topic: "orders".into(),
            topic_id: topic_id(7),
            partition: PartitionIndex(3),
            leader: Some(BrokerId(1)),
            leader_epoch: LeaderEpoch(4),
            partition_epoch: 9,
            replicas: vec![BrokerId(2), BrokerId(1)],
            isr: vec![BrokerId(1)],
            elr: vec![BrokerId(2)],
            is_unclean: true,
        };
        assert_eq!(told, [ControllerChange::PartitionChanged(expected)]);
    }

    #[test]
    fn an_image_is_told_with_brokers_and_watched_topics() {
        let mut image = Image::default();
        for (name, id) in [("orders", 7), ("others", 8)] {
            let topic = topic_id(id);
            let made = PartitionRecord {
                partition: PartitionIndex(0),
                topic,
                replicas: vec![BrokerId(1)],
                isr: vec![BrokerId(1)],
                removing: Vec::new(),
                adding: Vec::new(),
                leader: BrokerId(1),
                recovery: 0,
                leader_epoch: 0,
                partition_epoch: 0,
                directories: Vec::new(),
                elr: None,
                last_known_elr: None,
            };
            for record in [MetadataRecord::Topic { name: name.into(), id: topic }, MetadataRecord::Partition(made)] {
                image.replay(&record).unwrap();
            }
        }
        let (board, mut source) = board();
        let event = TailEvent::Image { image: &image, offset: 33, controller: BrokerId(3), why: ImageReason::First };
        board.event(board.clock.now(), &event);
        let Some(Fact::ControllerImage(told)) = source.try_next().map(|stamped| stamped.fact) else { panic!("no image") };
        assert_eq!((told.offset, told.controller, told.brokers.len()), (33, Some(BrokerId(3)), 0));
        let partitions: Vec<_> = told.partitions.iter().map(|state| (state.topic.as_str(), state.leader)).collect();
        assert_eq!(partitions, [("orders", Some(BrokerId(1)))]);
    }

    #[test]
    fn what_is_committed_and_cut_off_is_told_of_told_records_alone() {
        let (board, mut source) = board();
        let now = board.clock.now();
        let committed = |high_watermark| TailEvent::Committed { high_watermark, not_before: Some(now) };
        let (change, nothing) = (record(40, Change::PartitionChanged(step("orders"))), record(41, Change::Nothing));
        let elected = record(43, Change::ControllerElected { node: BrokerId(3) });
        let refused = record(44, Change::Refused { reason: "no such topic".into() });
        let events = [
            TailEvent::Followed { controller: Some(BrokerId(3)), epoch: Some(LeaderEpoch(2)), detail: "it says so" },
            TailEvent::Record(&change),
            committed(40),
            TailEvent::Record(&nothing),
            committed(41),
            committed(42),
            TailEvent::Record(&elected),
            TailEvent::Truncated { to_offset: 43, records: 1 },
            committed(44),
            TailEvent::Record(&refused),
        ];
        for event in &events {
            board.event(now, event);
        }
        assert_eq!(board.controller(), Some(BrokerId(3)));
        let mut told = std::iter::from_fn(|| source.try_next()).map(|stamped| stamped.fact);
        let Some(Fact::ControllerFollowed { node: Some(BrokerId(3)), detail, .. }) = told.next() else { panic!("not followed") };
        assert_eq!(detail, "it says so");
        let Some(Fact::ControllerRecord(first)) = told.next() else { panic!("no record") };
        // A manual clock stands at its first reading since 1970.
        let since_1970_us = i64::try_from(now.0).unwrap();
        assert_eq!((first.offset, first.controller_epoch, first.controller_time_us), (40, LeaderEpoch(2), -since_1970_us));
        let rest: Vec<_> = told.collect();
        assert_eq!(rest[0], Fact::ControllerCommitted { high_watermark: 41, not_before_us: Some(0) }, "{rest:?}");
        assert!(matches!(&rest[1], Fact::ControllerRecord(record) if record.offset == 43), "{rest:?}");
        assert_eq!(rest[2], Fact::ControllerTruncated { end_offset: 43, records: 1 });
        let Fact::ControllerRecord(refused) = &rest[3] else { panic!("{rest:?}") };
        assert_eq!(refused.change, ControllerChange::NotTakenIn { reason: "no such topic".into() });
        assert_eq!(rest.len(), 4);
    }
}
