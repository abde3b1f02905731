//! Replay by Kafka's rules, and that a record that does not fit leaves the image as it was.

use proptest::prelude::*;

use super::*;
use crate::ids::LeaderEpoch;
use crate::kafka::raft::record::{BrokerChange, MetadataRecord, PartitionChangeRecord};
use crate::kafka::raft::sample::{brokers, leads, partition_record, registration, topic, topic_id};

const ORDERS: u128 = 7;

fn image_of(records: &[MetadataRecord]) -> Image {
    let mut image = Image::default();
    for record in records {
        image.replay(record).unwrap_or_else(|error| panic!("{error}: {record:?}"));
    }
    image
}

/// A topic of two partitions on brokers 1 to 3, led by 1.
fn orders() -> Vec<MetadataRecord> {
    vec![
        topic("orders", ORDERS),
        MetadataRecord::Partition(partition_record(ORDERS, 0)),
        MetadataRecord::Partition(partition_record(ORDERS, 1)),
    ]
}

fn changed(change: impl FnOnce(&mut PartitionChangeRecord)) -> MetadataRecord {
    let mut record = PartitionChangeRecord::of(topic_id(ORDERS), PartitionIndex(0));
    change(&mut record);
    MetadataRecord::PartitionChange(record)
}

fn first_partition(image: &Image) -> Partition {
    image.topic(&"orders".into()).unwrap().1.partitions[&PartitionIndex(0)].clone()
}

/// Each row is a change and what it makes of leader, leader epoch, ISR and the rest, on a partition in leader epoch 4 and partition epoch 9 whose
/// ISR is 1 and 2, and whose ELR is 3.
#[test]
fn a_change_merges_as_kafka_merges_it() {
    let made = PartitionChangeRecord::of(topic_id(ORDERS), PartitionIndex(0));
    let mut start = partition_record(ORDERS, 0);
    (start.leader_epoch, start.partition_epoch) = (4, 9);
    (start.isr, start.elr, start.last_known_elr) = (brokers([1, 2]), Some(brokers([3])), Some(vec![]));
    let mut image = image_of(&[topic("orders", ORDERS), MetadataRecord::Partition(start)]);
    let before = first_partition(&image);
    let with = |leader: Option<i32>, leader_epoch, change: fn(&mut Partition)| {
        let mut after =
            Partition { leader: leader.map(BrokerId), leader_epoch: LeaderEpoch(leader_epoch), partition_epoch: 10, ..before.clone() };
        change(&mut after);
        after
    };
    let rows: [(PartitionChangeRecord, Partition); 9] = [
        (made.clone(), with(Some(1), 4, |_| {})),
        (PartitionChangeRecord { isr: Some(brokers([1])), ..made.clone() }, with(Some(1), 4, |after| after.isr = brokers([1]))),
        (PartitionChangeRecord { leader: Some(BrokerId(2)), ..made.clone() }, with(Some(2), 5, |_| {})),
        // The same leader anew: an epoch of its own.
        (PartitionChangeRecord { leader: Some(BrokerId(1)), ..made.clone() }, with(Some(1), 5, |_| {})),
        (
            PartitionChangeRecord { leader: Some(BrokerId(-1)), isr: Some(vec![]), ..made.clone() },
            with(None, 5, |after| after.isr = vec![]),
        ),
        (
            PartitionChangeRecord {
                leader: Some(BrokerId(3)),
                isr: Some(brokers([3])),
                recovery: Some(1),
                elr: Some(vec![]),
                ..made.clone()
            },
            with(Some(3), 5, |after| (after.isr, after.elr, after.is_recovering) = (brokers([3]), vec![], true)),
        ),
        (
            PartitionChangeRecord { adding: Some(brokers([4])), replicas: Some(brokers([1, 2, 3, 4])), ..made.clone() },
            with(Some(1), 4, |after| (after.adding, after.replicas) = (brokers([4]), brokers([1, 2, 3, 4]))),
        ),
        (PartitionChangeRecord { removing: Some(brokers([3])), ..made.clone() }, with(Some(1), 4, |after| after.removing = brokers([3]))),
        (
            PartitionChangeRecord { last_known_elr: Some(brokers([2])), ..made.clone() },
            with(Some(1), 4, |after| after.last_known_elr = brokers([2])),
        ),
    ];
    for (record, after) in rows {
        let untouched = image.clone();
        let change = image.replay(&MetadataRecord::PartitionChange(record.clone())).unwrap();
        let Change::PartitionChanged(step) = change else { panic!("{change:?}") };
        assert_eq!((&step.before, &step.after), (&before, &after), "{record:?}");
        assert_eq!(first_partition(&image), after);
        image = untouched;
    }
}

#[test]
fn leader_epochs_rise_once_per_named_leader() {
    let mut image = image_of(&orders());
    for (leader, epoch) in [(2, 1), (-1, 2), (1, 3), (1, 4)] {
        image.replay(&leads(ORDERS, 0, leader)).unwrap();
        let partition = first_partition(&image);
        assert_eq!((partition.leader, partition.leader_epoch.0), ((leader >= 0).then_some(BrokerId(leader)), epoch));
    }
    assert_eq!(first_partition(&image).partition_epoch, 4);
}

#[test]
fn brokers_register_change_and_go() {
    let mut image = Image::default();
    let registered = image.replay(&MetadataRecord::RegisterBroker(registration(1, 100))).unwrap();
    let Change::BrokerRegistered { before: None, after } = registered else { panic!("{registered:?}") };
    assert!(after.is_fenced && after.epoch == 100);
    let change = |fenced, in_controlled_shutdown, epoch| {
        let of = BrokerChange::of(BrokerId(1), epoch);
        MetadataRecord::BrokerRegistrationChange(BrokerChange { fenced, in_controlled_shutdown, ..of })
    };
    let rows = [(change(-1, 0, 100), false, false), (change(0, 1, 100), false, true), (change(1, 0, 100), true, true)];
    for (record, is_fenced, in_controlled_shutdown) in rows {
        let Change::BrokerChanged { after, .. } = image.replay(&record).unwrap() else { panic!("{record:?}") };
        assert_eq!((after.is_fenced, after.in_controlled_shutdown), (is_fenced, in_controlled_shutdown), "{record:?}");
        assert_eq!(image.brokers()[&BrokerId(1)], after);
    }
    let old = image.replay(&MetadataRecord::UnfenceBroker { broker: BrokerId(1), broker_epoch: 100 }).unwrap();
    assert!(matches!(old, Change::BrokerChanged { after, .. } if !after.is_fenced));
    let again = image.replay(&MetadataRecord::RegisterBroker(registration(1, 200))).unwrap();
    assert!(matches!(again, Change::BrokerRegistered { before: Some(before), after } if (before.epoch, after.epoch) == (100, 200)));
    let gone = image.replay(&MetadataRecord::UnregisterBroker { broker: BrokerId(1), broker_epoch: 200 }).unwrap();
    assert!(matches!(gone, Change::BrokerUnregistered { before } if before.epoch == 200));
    assert!(image.brokers().is_empty());
}

#[test]
fn a_topic_goes_with_its_partitions_and_properties_and_may_come_back_as_another() {
    let config = |value: Option<&str>| MetadataRecord::Config {
        resource_type: 2,
        resource_name: "orders".to_owned(),
        name: "retention.ms".to_owned(),
        value: value.map(ToOwned::to_owned),
    };
    let mut image = image_of(&[orders(), vec![config(Some("1"))]].concat());
    let Change::Config { before, after, resource, .. } = image.replay(&config(Some("2"))).unwrap() else { panic!("no config") };
    assert_eq!((before.as_deref(), after.as_deref(), resource.kind.to_string().as_str()), (Some("1"), Some("2"), "topic"));
    let removed = image.replay(&MetadataRecord::RemoveTopic { id: topic_id(ORDERS) }).unwrap();
    assert_eq!(removed, Change::TopicRemoved { topic: "orders".into(), topic_id: topic_id(ORDERS) });
    assert_eq!(image, Image::default());
    image.replay(&topic("orders", 8)).unwrap();
    assert_eq!(image.topic(&"orders".into()).unwrap().0, topic_id(8));
    assert!(image.replay(&leads(ORDERS, 0, 2)).is_err(), "the old id is nobody's");
    image.replay(&config(Some("3"))).unwrap();
    image.replay(&config(None)).unwrap();
    assert!(image.configs().is_empty());
}

#[test]
fn eligible_replicas_are_cleared_of_one_topic_or_all_and_count_as_a_change() {
    let with_elr = changed(|record| record.elr = Some(brokers([2])));
    let other = [topic("other", 8), MetadataRecord::Partition(partition_record(8, 0))];
    let image = image_of(&[orders(), other.to_vec(), vec![with_elr]].concat());
    for (name, count) in [("orders", 1), ("", 1), ("other", 0)] {
        let mut image = image.clone();
        let change = image.replay(&MetadataRecord::ClearElr { topic: name.to_owned() }).unwrap();
        let Change::ElrCleared { partitions } = change else { panic!("{change:?}") };
        assert_eq!(partitions.len(), count, "{name}");
        let partition = first_partition(&image);
        assert_eq!((partition.elr.is_empty(), partition.partition_epoch), (count == 1, 1 + count as i32), "{name}");
    }
}

#[test]
fn features_have_levels_but_for_the_quorums_own() {
    let feature = |name: &str, level| MetadataRecord::FeatureLevel { name: name.to_owned(), level };
    let mut image = image_of(&[feature("metadata.version", 27), feature("kraft.version", 1), feature("group.version", 1)]);
    assert_eq!(
        image.features().iter().map(|(name, level)| (name.as_str(), *level)).collect::<Vec<_>>(),
        [("group.version", 1), ("metadata.version", 27)]
    );
    image.replay(&feature("group.version", 0)).unwrap();
    assert_eq!(image.features().len(), 1);
}

#[test]
fn an_aborted_transaction_leaves_nothing() {
    let begin = MetadataRecord::BeginTransaction { name: None };
    let abort = MetadataRecord::AbortTransaction { reason: None };
    let mut image = image_of(&orders());
    let before = image.clone();
    for record in [begin.clone(), topic("other", 8), leads(ORDERS, 0, 2)] {
        image.replay(&record).unwrap();
    }
    assert_eq!(image.replay(&begin), Err(ReplayError::Transaction), "one within another");
    assert_eq!(image.replay(&abort), Ok(Change::TransactionAborted));
    assert_eq!(image, before);
    assert_eq!(image.replay(&abort), Err(ReplayError::Transaction));
    for record in [begin, leads(ORDERS, 0, 2), MetadataRecord::EndTransaction] {
        image.replay(&record).unwrap();
    }
    assert_eq!(first_partition(&image).leader, Some(BrokerId(2)));
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let mut image = image_of(&[orders(), vec![MetadataRecord::RegisterBroker(registration(1, 100))]].concat());
    let before = image.clone();
    let of_broker = |broker, epoch, fenced, in_controlled_shutdown| {
        let of = BrokerChange::of(BrokerId(broker), epoch);
        MetadataRecord::BrokerRegistrationChange(BrokerChange { fenced, in_controlled_shutdown, ..of })
    };
    let rows = [
        (leads(9, 0, 1), "there is no topic 00000000-0000-0000-0000-000000000009"),
        (leads(ORDERS, 2, 1), "the topic orders has no partition 2"),
        (changed(|record| record.recovery = Some(2)), "its leader recovery state is 2, which means nothing"),
        (MetadataRecord::Partition(partition_record(9, 0)), "there is no topic"),
        (MetadataRecord::RemoveTopic { id: topic_id(9) }, "there is no topic"),
        (MetadataRecord::ClearElr { topic: "nobody".to_owned() }, "there is no topic nobody"),
        (MetadataRecord::UnregisterBroker { broker: BrokerId(2), broker_epoch: 1 }, "broker 2 is not registered"),
        (of_broker(2, 100, 1, 0), "broker 2 is not registered"),
        (of_broker(1, 99, 1, 0), "broker 1 is registered in epoch 100, and the record is about epoch 99"),
        (of_broker(1, 100, 2, 0), "its fenced is 2"),
        (of_broker(1, 100, 0, -1), "its in controlled shutdown is -1"),
        (MetadataRecord::EndTransaction, "it does not fit to the transaction before it"),
    ];
    for (record, words) in rows {
        let error = image.replay(&record).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(image, before, "{record:?}");
    }
}

/// Records of few topics, partitions and brokers, so that most of them fit.
fn any_record() -> impl Strategy<Value = MetadataRecord> {
    let topic_number = || 0_u128..3;
    prop_oneof![
        topic_number().prop_map(|number| topic(["orders", "other", "third"][number as usize], number)),
        topic_number().prop_map(|number| MetadataRecord::RemoveTopic { id: topic_id(number) }),
        (topic_number(), 0..3).prop_map(|(number, partition)| MetadataRecord::Partition(partition_record(number, partition))),
        (topic_number(), 0..3, -1..4).prop_map(|(number, partition, leader)| leads(number, partition, leader)),
        (topic_number(), 0..3, any::<[bool; 3]>()).prop_map(|(number, partition, in_sync)| {
            let isr = [1, 2, 3].into_iter().zip(in_sync).filter(|(_, is_in)| *is_in).map(|(id, _)| BrokerId(id)).collect();
            let of = PartitionChangeRecord::of(topic_id(number), PartitionIndex(partition));
            MetadataRecord::PartitionChange(PartitionChangeRecord { isr: Some(isr), ..of })
        }),
        (1..4, 0_i64..3).prop_map(|(broker, epoch)| MetadataRecord::RegisterBroker(registration(broker, epoch))),
        (1..4, 0_i64..3, -1_i8..=1).prop_map(|(broker, epoch, fenced)| {
            MetadataRecord::BrokerRegistrationChange(BrokerChange { fenced, ..BrokerChange::of(BrokerId(broker), epoch) })
        }),
        Just(MetadataRecord::BeginTransaction { name: None }),
        Just(MetadataRecord::EndTransaction),
        Just(MetadataRecord::AbortTransaction { reason: None }),
    ]
}

proptest! {
    #[test]
    fn epochs_follow_the_records_and_names_go_with_topics(records in prop::collection::vec(any_record(), 0..60)) {
        let mut image = Image::default();
        for record in &records {
            let before = image.clone();
            match image.replay(record) {
                Err(_) => prop_assert_eq!(&image, &before),
                Ok(Change::PartitionChanged(step)) => {
                    let named = matches!(record, MetadataRecord::PartitionChange(PartitionChangeRecord { leader: Some(_), .. }));
                    prop_assert_eq!(step.after.leader_epoch.0 - step.before.leader_epoch.0, i32::from(named));
                    prop_assert_eq!(step.after.partition_epoch - step.before.partition_epoch, 1);
                    prop_assert_eq!(&image.topics()[&step.key.topic_id].partitions[&step.key.partition], &step.after);
                }
                Ok(_) => {}
            }
            prop_assert_eq!(image.ids.len(), image.topics.len());
            for (id, topic) in &image.topics {
                prop_assert_eq!(image.topic(&topic.name).map(|(id, _)| id), Some(*id));
            }
        }
    }
}
