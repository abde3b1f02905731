//! For tests: records and batches of a controller's log, written as a controller writes them.

use bytes::{BufMut, Bytes, BytesMut};
use uuid::Uuid;

use super::record::{
    BrokerChange, BrokerRegistration, ControlRecord, ControllerRegistration, Endpoint, FeatureRange, MetadataRecord, PartitionChangeRecord,
    PartitionRecord,
};
use crate::ids::{BrokerId, PartitionIndex, TopicId};

/// The bytes of a record's value in this version of its kind.
pub(crate) fn value_of(record: &MetadataRecord, version: i16) -> Vec<u8> {
    let mut out = Writer::default();
    let (kind, tagged) = out.body_of(record, version);
    let body = std::mem::take(&mut out.0);
    out.varint(1);
    out.varint(kind);
    out.varint(version as u32);
    out.0.put_slice(&body);
    out.tagged(tagged);
    out.0.to_vec()
}

/// Tagged fields, as long as they are not put together.
type Tagged = Vec<(u32, Writer)>;

#[derive(Default)]
struct Writer(BytesMut);

impl Writer {
    /// Writes the plain fields; returns the kind and the tagged ones.
    fn body_of(&mut self, record: &MetadataRecord, version: i16) -> (u32, Tagged) {
        let mut tagged = Tagged::new();
        let kind = match record {
            MetadataRecord::RegisterBroker(record) => {
                tagged = self.registration(record, version);
                0
            }
            MetadataRecord::UnregisterBroker { broker, broker_epoch } => self.epoch_of(1, *broker, *broker_epoch),
            MetadataRecord::Topic { name, id } => {
                self.text(Some(name.as_str()));
                self.uuid(id.0);
                2
            }
            MetadataRecord::Partition(record) => {
                tagged = self.partition(record, version);
                3
            }
            MetadataRecord::Config { resource_type, resource_name, name, value } => {
                self.0.put_i8(*resource_type);
                self.text(Some(resource_name));
                self.text(Some(name));
                self.text(value.as_deref());
                4
            }
            MetadataRecord::PartitionChange(record) => {
                tagged = self.partition_change(record, version);
                5
            }
            MetadataRecord::FenceBroker { broker, broker_epoch } => self.epoch_of(7, *broker, *broker_epoch),
            MetadataRecord::UnfenceBroker { broker, broker_epoch } => self.epoch_of(8, *broker, *broker_epoch),
            MetadataRecord::RemoveTopic { id } => {
                self.uuid(id.0);
                9
            }
            MetadataRecord::FeatureLevel { name, level } => {
                self.text(Some(name));
                self.0.put_i16(*level);
                12
            }
            MetadataRecord::BrokerRegistrationChange(record) => {
                tagged = self.broker_change(record, version);
                17
            }
            MetadataRecord::NoOp => 20,
            MetadataRecord::BeginTransaction { name } => {
                tagged.extend(name.as_deref().map(|name| (0, field(|out| out.text(Some(name))))));
                23
            }
            MetadataRecord::EndTransaction => 24,
            MetadataRecord::AbortTransaction { reason } => {
                tagged.extend(reason.as_deref().map(|reason| (0, field(|out| out.text(Some(reason))))));
                25
            }
            MetadataRecord::RegisterController(record) => {
                self.controller(record);
                27
            }
            MetadataRecord::ClearElr { topic } => {
                self.text(Some(topic));
                28
            }
            MetadataRecord::Other { api_key } => *api_key as u32,
        };
        (kind, tagged)
    }

    fn epoch_of(&mut self, kind: u32, broker: BrokerId, epoch: i64) -> u32 {
        self.0.put_i32(broker.0);
        self.0.put_i64(epoch);
        kind
    }

    fn registration(&mut self, record: &BrokerRegistration, version: i16) -> Tagged {
        self.0.put_i32(record.broker.0);
        if version >= 2 {
            self.0.put_u8(record.is_migrating.into());
        }
        self.uuid(record.incarnation);
        self.0.put_i64(record.broker_epoch);
        self.endpoints(&record.endpoints);
        self.features(&record.features);
        self.text(record.rack.as_deref());
        self.0.put_u8(record.is_fenced.into());
        if version >= 1 {
            self.0.put_u8(record.in_controlled_shutdown.into());
        }
        let mut tagged = Tagged::new();
        if version >= 3 && !record.directories.is_empty() {
            tagged.push((0, field(|out| out.uuids(Some(&record.directories)))));
        }
        if version >= 4 {
            tagged.extend(record.cordoned.as_ref().map(|cordoned| (1, field(|out| out.uuids(Some(cordoned))))));
        }
        tagged
    }

    fn controller(&mut self, record: &ControllerRegistration) {
        self.0.put_i32(record.controller.0);
        self.uuid(record.incarnation);
        self.0.put_u8(record.zk_migration_ready.into());
        self.endpoints(&record.endpoints);
        self.features(&record.features);
    }

    fn broker_change(&mut self, record: &BrokerChange, version: i16) -> Tagged {
        self.epoch_of(17, record.broker, record.broker_epoch);
        let mut tagged = Tagged::new();
        if record.fenced != 0 {
            tagged.push((0, field(|out| out.0.put_i8(record.fenced))));
        }
        if version >= 1 && record.in_controlled_shutdown != 0 {
            tagged.push((1, field(|out| out.0.put_i8(record.in_controlled_shutdown))));
        }
        if version >= 2 && !record.directories.is_empty() {
            tagged.push((2, field(|out| out.uuids(Some(&record.directories)))));
        }
        if version >= 3 {
            tagged.extend(record.cordoned.as_ref().map(|cordoned| (3, field(|out| out.uuids(Some(cordoned))))));
        }
        tagged
    }

    fn partition(&mut self, record: &PartitionRecord, version: i16) -> Tagged {
        self.0.put_i32(record.partition.0);
        self.uuid(record.topic.0);
        for brokers in [&record.replicas, &record.isr, &record.removing, &record.adding] {
            self.brokers(brokers);
        }
        self.0.put_i32(record.leader.0);
        self.0.put_i32(record.leader_epoch);
        self.0.put_i32(record.partition_epoch);
        if version >= 1 {
            self.uuids(Some(&record.directories));
        }
        let mut tagged = Tagged::new();
        if record.recovery != 0 {
            tagged.push((0, field(|out| out.0.put_i8(record.recovery))));
        }
        if version >= 2 {
            tagged.extend(record.elr.as_ref().map(|elr| (1, field(|out| out.brokers(elr)))));
            tagged.extend(record.last_known_elr.as_ref().map(|elr| (2, field(|out| out.brokers(elr)))));
        }
        tagged
    }

    fn partition_change(&mut self, record: &PartitionChangeRecord, version: i16) -> Tagged {
        self.0.put_i32(record.partition.0);
        self.uuid(record.topic.0);
        let mut tagged = Tagged::new();
        let mut brokers = |tag, brokers: &Option<Vec<BrokerId>>| {
            tagged.extend(brokers.as_ref().map(|brokers| (tag, field(|out| out.brokers(brokers)))));
        };
        brokers(0, &record.isr);
        brokers(2, &record.replicas);
        brokers(3, &record.removing);
        brokers(4, &record.adding);
        if version >= 2 {
            brokers(6, &record.elr);
            brokers(7, &record.last_known_elr);
        }
        tagged.extend(record.leader.map(|leader| (1, field(|out| out.0.put_i32(leader.0)))));
        tagged.extend(record.recovery.map(|recovery| (5, field(|out| out.0.put_i8(recovery)))));
        if version >= 1 {
            tagged.extend(record.directories.as_ref().map(|directories| (8, field(|out| out.uuids(Some(directories))))));
        }
        tagged.sort_by_key(|(tag, _)| *tag);
        tagged
    }

    fn endpoints(&mut self, endpoints: &[Endpoint]) {
        self.varint(endpoints.len() as u32 + 1);
        for endpoint in endpoints {
            self.text(Some(&endpoint.name));
            self.text(Some(&endpoint.host));
            self.0.put_u16(endpoint.port);
            self.0.put_i16(endpoint.security_protocol);
            self.tagged(Tagged::new());
        }
    }

    fn features(&mut self, features: &[FeatureRange]) {
        self.varint(features.len() as u32 + 1);
        for feature in features {
            self.text(Some(&feature.name));
            self.0.put_i16(feature.min);
            self.0.put_i16(feature.max);
            self.tagged(Tagged::new());
        }
    }

    fn tagged(&mut self, fields: Tagged) {
        self.varint(fields.len() as u32 + 1);
        for (tag, value) in fields {
            self.varint(tag);
            self.varint(value.0.len() as u32);
            self.0.put_slice(&value.0);
        }
        // One that nobody knows.
        self.varint(77);
        self.varint(3);
        self.0.put_slice(b"new");
    }

    fn uuid(&mut self, id: Uuid) {
        self.0.put_slice(id.as_bytes());
    }

    fn uuids(&mut self, ids: Option<&[Uuid]>) {
        self.varint(ids.map_or(0, |ids| ids.len() as u32 + 1));
        ids.into_iter().flatten().for_each(|id| self.uuid(*id));
    }

    fn brokers(&mut self, brokers: &[BrokerId]) {
        self.varint(brokers.len() as u32 + 1);
        brokers.iter().for_each(|broker| self.0.put_i32(broker.0));
    }

    fn text(&mut self, text: Option<&str>) {
        self.varint(text.map_or(0, |text| text.len() as u32 + 1));
        self.0.put_slice(text.unwrap_or_default().as_bytes());
    }

    fn varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.0.put_u8(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.put_u8(value as u8);
    }
}

fn field(write: impl FnOnce(&mut Writer)) -> Writer {
    let mut out = Writer::default();
    write(&mut out);
    out
}

/// Key and value of a control record.
pub(crate) fn control_of(record: &ControlRecord) -> (Vec<u8>, Vec<u8>) {
    let (kind, mut value) = match record {
        ControlRecord::LeaderChange { leader } => (2_i16, [&[0, 0][..], &leader.0.to_be_bytes()].concat()),
        ControlRecord::SnapshotHeader { last_contained_timestamp_ms: at } => (3, [&[0, 0][..], &at.to_be_bytes()].concat()),
        ControlRecord::SnapshotFooter => (4, vec![0, 0]),
        ControlRecord::KRaftVersion { level } => (5, [&[0, 0][..], &level.to_be_bytes()].concat()),
        ControlRecord::Voters => (6, vec![0, 0, 1]),
        ControlRecord::Other { kind } => (*kind, vec![]),
    };
    value.push(0);
    ([&[0, 0][..], &kind.to_be_bytes()].concat(), value)
}

/// A batch of these records.
pub(crate) fn batch(base_offset: i64, epoch: i32, records: &[MetadataRecord]) -> Bytes {
    let records: Vec<_> = records.iter().map(|record| (None, value_of(record, newest(record)))).collect();
    batch_of(base_offset, epoch, false, &records)
}

/// A batch of one control record.
pub(crate) fn control_batch(base_offset: i64, epoch: i32, record: &ControlRecord) -> Bytes {
    let (key, value) = control_of(record);
    batch_of(base_offset, epoch, true, &[(Some(key), value)])
}

/// The timestamp of all batches.
pub(crate) const TIMESTAMP_MS: i64 = 1_700_000_000_000;

/// A batch, written by hand: the codec crate's encoder writes no control batches.
fn batch_of(base_offset: i64, epoch: i32, is_control: bool, records: &[(Option<Vec<u8>>, Vec<u8>)]) -> Bytes {
    let mut checked = BytesMut::new();
    checked.put_i16(if is_control { 1 << 5 } else { 0 });
    checked.put_i32(records.len() as i32 - 1);
    checked.put_i64(TIMESTAMP_MS);
    checked.put_i64(TIMESTAMP_MS);
    checked.put_bytes(0xff, 14);
    checked.put_i32(records.len() as i32);
    for (delta, (key, value)) in records.iter().enumerate() {
        let mut record = Writer::default();
        record.0.put_slice(&[0, 0]);
        record.varint(2 * delta as u32);
        match key {
            Some(key) => {
                record.varint(2 * key.len() as u32);
                record.0.put_slice(key);
            }
            None => record.varint(1),
        }
        record.varint(2 * value.len() as u32);
        record.0.put_slice(value);
        record.varint(0);
        let mut length = Writer::default();
        length.varint(2 * record.0.len() as u32);
        checked.put_slice(&length.0);
        checked.put_slice(&record.0);
    }
    let mut batch = BytesMut::new();
    batch.put_i64(base_offset);
    batch.put_i32(checked.len() as i32 + 9);
    batch.put_i32(epoch);
    batch.put_u8(2);
    batch.put_u32(crc32c::crc32c(&checked));
    batch.put_slice(&checked);
    batch.freeze()
}

/// The newest version of a record's kind.
pub(crate) fn newest(record: &MetadataRecord) -> i16 {
    match record {
        MetadataRecord::RegisterBroker(_) => 4,
        MetadataRecord::BrokerRegistrationChange(_) => 3,
        MetadataRecord::Partition(_) | MetadataRecord::PartitionChange(_) => 2,
        _ => 0,
    }
}

/// A topic's id.
pub(crate) fn topic_id(number: u128) -> TopicId {
    TopicId(Uuid::from_u128(number))
}

/// Brokers by their ids.
pub(crate) fn brokers<const COUNT: usize>(ids: [i32; COUNT]) -> Vec<BrokerId> {
    ids.map(BrokerId).to_vec()
}

/// A topic's record.
pub(crate) fn topic(name: &str, number: u128) -> MetadataRecord {
    MetadataRecord::Topic { name: name.into(), id: topic_id(number) }
}

/// The record of a partition on brokers 1 to 3 that 1 leads.
pub(crate) fn partition_record(number: u128, partition: i32) -> PartitionRecord {
    PartitionRecord {
        partition: PartitionIndex(partition),
        topic: topic_id(number),
        replicas: brokers([1, 2, 3]),
        isr: brokers([1, 2, 3]),
        removing: vec![],
        adding: vec![],
        leader: BrokerId(1),
        recovery: 0,
        leader_epoch: 0,
        partition_epoch: 0,
        directories: vec![],
        elr: None,
        last_known_elr: None,
    }
}

/// A change of the leader of a partition.
pub(crate) fn leads(number: u128, partition: i32, leader: i32) -> MetadataRecord {
    let none = PartitionChangeRecord::of(topic_id(number), PartitionIndex(partition));
    MetadataRecord::PartitionChange(PartitionChangeRecord { leader: Some(BrokerId(leader)), ..none })
}

/// A broker's registration, fenced.
pub(crate) fn registration(broker: i32, broker_epoch: i64) -> BrokerRegistration {
    BrokerRegistration {
        broker: BrokerId(broker),
        is_migrating: false,
        incarnation: Uuid::from_u128(broker_epoch.unsigned_abs().into()),
        broker_epoch,
        endpoints: vec![Endpoint { name: "CLIENT".to_owned(), host: "broker".to_owned(), port: 9_092, security_protocol: 0 }],
        features: vec![FeatureRange { name: "metadata.version".to_owned(), min: 1, max: 27 }],
        rack: None,
        is_fenced: true,
        in_controlled_shutdown: false,
        directories: vec![Uuid::from_u128(9)],
        cordoned: None,
    }
}
