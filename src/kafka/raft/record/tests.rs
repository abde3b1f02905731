//! Records of every kind and version, whole, cut and spoilt.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::ids::PartitionIndex;
use crate::kafka::raft::sample::{control_of, value_of};

fn text() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9._ äß-]{0,12}"
}

fn id() -> impl Strategy<Value = Uuid> {
    any::<u128>().prop_map(Uuid::from_u128)
}

fn topic() -> impl Strategy<Value = TopicId> {
    id().prop_map(TopicId)
}

fn broker() -> impl Strategy<Value = BrokerId> {
    any::<i32>().prop_map(BrokerId)
}

fn some_brokers() -> impl Strategy<Value = Vec<BrokerId>> {
    vec(broker(), 0..5)
}

fn endpoints() -> impl Strategy<Value = Vec<Endpoint>> {
    let endpoint = (text(), text(), any::<u16>(), any::<i16>());
    vec(endpoint.prop_map(|(name, host, port, security_protocol)| Endpoint { name, host, port, security_protocol }), 0..4)
}

fn features() -> impl Strategy<Value = Vec<FeatureRange>> {
    vec((text(), any::<i16>(), any::<i16>()).prop_map(|(name, min, max)| FeatureRange { name, min, max }), 0..4)
}

/// Registrations, with what the version does not have left out.
fn registration() -> impl Strategy<Value = (MetadataRecord, i16)> {
    let head = (broker(), any::<bool>(), id(), any::<i64>(), endpoints(), features());
    let tail = (of(text()), any::<[bool; 2]>(), vec(id(), 0..3), of(vec(id(), 0..3)));
    (head, tail, 0_i16..=4).prop_map(|(head, tail, version)| {
        let (broker, is_migrating, incarnation, broker_epoch, endpoints, features) = head;
        let (rack, [is_fenced, in_controlled_shutdown], directories, cordoned) = tail;
        let record = BrokerRegistration {
            broker,
            is_migrating: is_migrating && version >= 2,
            incarnation,
            broker_epoch,
            endpoints,
            features,
            rack,
            is_fenced,
            in_controlled_shutdown: in_controlled_shutdown && version >= 1,
            directories: if version >= 3 { directories } else { vec![] },
            cordoned: cordoned.filter(|_| version >= 4),
        };
        (MetadataRecord::RegisterBroker(record), version)
    })
}

fn broker_change() -> impl Strategy<Value = (MetadataRecord, i16)> {
    (broker(), any::<i64>(), -1_i8..=1, 0_i8..=1, vec(id(), 0..3), of(vec(id(), 0..3)), 0_i16..=3).prop_map(
        |(broker, broker_epoch, fenced, shutdown, directories, cordoned, version)| {
            let record = BrokerChange {
                fenced,
                in_controlled_shutdown: if version >= 1 { shutdown } else { 0 },
                directories: if version >= 2 { directories } else { vec![] },
                cordoned: cordoned.filter(|_| version >= 3),
                ..BrokerChange::of(broker, broker_epoch)
            };
            (MetadataRecord::BrokerRegistrationChange(record), version)
        },
    )
}

fn partition() -> impl Strategy<Value = (MetadataRecord, i16)> {
    let sets = (some_brokers(), some_brokers(), some_brokers(), some_brokers(), of(some_brokers()), of(some_brokers()));
    (topic(), any::<[i32; 3]>(), broker(), 0_i8..=1, sets, vec(id(), 0..4), 0_i16..=2).prop_map(
        |(topic, [partition, leader_epoch, partition_epoch], leader, recovery, sets, directories, version)| {
            let (replicas, isr, removing, adding, elr, last_known_elr) = sets;
            let record = PartitionRecord {
                partition: PartitionIndex(partition),
                topic,
                replicas,
                isr,
                removing,
                adding,
                leader,
                recovery,
                leader_epoch,
                partition_epoch,
                directories: if version >= 1 { directories } else { vec![] },
                elr: elr.filter(|_| version >= 2),
                last_known_elr: last_known_elr.filter(|_| version >= 2),
            };
            (MetadataRecord::Partition(record), version)
        },
    )
}

fn partition_change() -> impl Strategy<Value = (MetadataRecord, i16)> {
    let set = || of(some_brokers());
    let leader = of((-1_i32..9).prop_map(BrokerId));
    let sets = (set(), set(), set(), set(), set(), set());
    (topic(), any::<i32>(), leader, of(0_i8..=1), sets, of(vec(id(), 0..4)), 0_i16..=2).prop_map(
        |(topic, partition, leader, recovery, sets, directories, version)| {
            let (isr, replicas, removing, adding, elr, last_known_elr) = sets;
            let record = PartitionChangeRecord {
                isr,
                leader,
                replicas,
                removing,
                adding,
                recovery,
                directories: directories.filter(|_| version >= 1),
                elr: elr.filter(|_| version >= 2),
                last_known_elr: last_known_elr.filter(|_| version >= 2),
                ..PartitionChangeRecord::of(topic, PartitionIndex(partition))
            };
            (MetadataRecord::PartitionChange(record), version)
        },
    )
}

/// Kinds with one version.
fn plain() -> impl Strategy<Value = (MetadataRecord, i16)> {
    let controller = (broker(), id(), any::<bool>(), endpoints(), features()).prop_map(|parts| {
        let (controller, incarnation, zk_migration_ready, endpoints, features) = parts;
        ControllerRegistration { controller, incarnation, zk_migration_ready, endpoints, features }
    });
    let named = |broker, broker_epoch, which| match which {
        0 => MetadataRecord::UnregisterBroker { broker, broker_epoch },
        1 => MetadataRecord::FenceBroker { broker, broker_epoch },
        _ => MetadataRecord::UnfenceBroker { broker, broker_epoch },
    };
    let record = prop_oneof![
        (broker(), any::<i64>(), 0..3).prop_map(move |(broker, epoch, which)| named(broker, epoch, which)),
        (text(), topic()).prop_map(|(name, id)| MetadataRecord::Topic { name: (&*name).into(), id }),
        topic().prop_map(|id| MetadataRecord::RemoveTopic { id }),
        (any::<i8>(), text(), text(), of(text())).prop_map(|(resource_type, resource_name, name, value)| MetadataRecord::Config {
            resource_type,
            resource_name,
            name,
            value
        }),
        (text(), any::<i16>()).prop_map(|(name, level)| MetadataRecord::FeatureLevel { name, level }),
        of(text()).prop_map(|name| MetadataRecord::BeginTransaction { name }),
        of(text()).prop_map(|reason| MetadataRecord::AbortTransaction { reason }),
        Just(MetadataRecord::EndTransaction),
        Just(MetadataRecord::NoOp),
        text().prop_map(|topic| MetadataRecord::ClearElr { topic }),
        controller.prop_map(MetadataRecord::RegisterController),
    ];
    record.prop_map(|record| (record, 0))
}

proptest! {
    #[test]
    fn what_is_written_is_read_and_nothing_less(
        (record, version) in prop_oneof![registration(), broker_change(), partition(), partition_change(), plain()]
    ) {
        let value = value_of(&record, version);
        prop_assert_eq!(MetadataRecord::decode(&value), Ok(record));
        for cut in 0..value.len() {
            prop_assert!(MetadataRecord::decode(&value[..cut]).is_err(), "cut at {} of {:?}", cut, value);
        }
        prop_assert_eq!(MetadataRecord::decode(&[&value[..], &[7]].concat()), Err(RecordError::Surplus { bytes: 1 }));
    }

    #[test]
    fn any_bytes_are_read_or_refused(value in vec(any::<u8>(), 0..200), kind in 0_u8..30, version in 0_u8..6) {
        let _ = MetadataRecord::decode(&value);
        let _ = MetadataRecord::decode(&[&[1, kind, version], &value[..]].concat());
        let _ = ControlRecord::decode(&[0, 0, 0, kind], &value);
    }
}

#[test]
fn kinds_that_no_image_needs_are_passed_over_and_newer_versions_refused() {
    let rows: [(&[u8], Result<MetadataRecord, RecordError>); 9] = [
        (&[1, 15, 0, 1, 2, 3], Ok(MetadataRecord::Other { api_key: 15 })),
        (&[1, 15, 9], Ok(MetadataRecord::Other { api_key: 15 })),
        (&[1, 0xac, 2, 0], Ok(MetadataRecord::Other { api_key: 300 })),
        (&[1, 20, 0, 0], Ok(MetadataRecord::NoOp)),
        (&[1, 20, 1, 0], Err(RecordError::Version { api_key: 20, version: 1, newest: 0 })),
        (&[1, 5, 3, 0], Err(RecordError::Version { api_key: 5, version: 3, newest: 2 })),
        (&[0, 20, 0, 0], Err(RecordError::Frame { version: 0 })),
        (&[1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0], Err(RecordError::Number)),
        (&[], Err(RecordError::Short { needed: 1, left: 0 })),
    ];
    for (value, expected) in rows {
        assert_eq!(MetadataRecord::decode(value), expected, "{value:?}");
    }
}

#[test]
fn no_count_makes_room_for_what_is_not_there() {
    let head = [1, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let rows: [(&[u8], RecordError); 4] = [
        (&[0xff, 0xff, 0xff, 0xff, 0x0f, 1], RecordError::Short { needed: 4 * 0xffff_fffe, left: 1 }),
        (&[0xff, 0xff, 0xff, 0xff, 0x1f], RecordError::Number),
        (&[0], RecordError::Null),
        (&[3, 0, 0, 0, 1], RecordError::Short { needed: 8, left: 4 }),
    ];
    for (replicas, expected) in rows {
        assert_eq!(MetadataRecord::decode(&[&head[..], replicas].concat()), Err(expected), "{replicas:?}");
    }
}

#[test]
fn a_tagged_field_must_fill_its_bytes() {
    let noop = [1, 20, 0];
    let change = [&[1, 17, 3][..], &[0; 12]].concat();
    let rows: [(Vec<u8>, Result<(), RecordError>); 5] = [
        ([&noop[..], &[1, 5, 2, 9, 9]].concat(), Ok(())),
        ([&noop[..], &[1, 5, 3, 9, 9]].concat(), Err(RecordError::Short { needed: 3, left: 2 })),
        ([&change[..], &[1, 0, 1, 1]].concat(), Ok(())),
        ([&change[..], &[1, 0, 2, 1, 1]].concat(), Err(RecordError::Surplus { bytes: 1 })),
        ([&change[..], &[1, 0, 0]].concat(), Err(RecordError::Short { needed: 1, left: 0 })),
    ];
    for (value, expected) in rows {
        assert_eq!(MetadataRecord::decode(&value).map(|_| ()), expected, "{value:?}");
    }
}

#[test]
fn control_records_are_told_apart() {
    let records = [
        ControlRecord::LeaderChange { leader: BrokerId(3) },
        ControlRecord::SnapshotHeader { last_contained_timestamp_ms: 5 },
        ControlRecord::SnapshotFooter,
        ControlRecord::KRaftVersion { level: 1 },
        ControlRecord::Voters,
        ControlRecord::Other { kind: 99 },
    ];
    for record in records {
        let (key, value) = control_of(&record);
        assert_eq!(ControlRecord::decode(&key, &value), Ok(record));
    }
    assert_eq!(ControlRecord::decode(&[0, 0, 0], &[]), Err(RecordError::Short { needed: 2, left: 1 }));
    assert_eq!(ControlRecord::decode(&[0, 0, 0, 2], &[0, 0, 1]), Err(RecordError::Short { needed: 4, left: 1 }));
}
