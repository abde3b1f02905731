//! A healthy cluster as it is heard, and ways to spoil it.
//!
//! Three combined nodes at `b1:9092` to `b3:9092`; the topic `orders` with three replicas and three partitions, partition N led by node N + 1 in epoch 4.
//! The active controller is node 1 in epoch 7, its log ends at 500.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::ids::{BrokerId, HostPort, LeaderEpoch, PartitionIndex, TopicId, TopicPartition};
use crate::kafka::admin::{BrokerView, ClusterDescription, EligibleReplicas, ErrorCode, PartitionView, QuorumView, ReplicaView, TopicView};
use crate::kafka::raft::image::Image;
use crate::kafka::raft::record::{BrokerRegistration, MetadataRecord, PartitionRecord};
use crate::probe::trace::sighting::{ControllerLog, Heard, Served, Sighting, Silence, Unheard, View, Voice};

/// "Now" on the active controller's clock.
pub(crate) const NOW_MS: i64 = 1_000_000;

pub(crate) fn address(id: i32) -> HostPort {
    HostPort::new(&format!("b{id}"), 9092)
}

pub(crate) fn orders(index: i32) -> TopicPartition {
    TopicPartition { topic: "orders".into(), partition: PartitionIndex(index) }
}

pub(crate) fn ids(ids: &[i32]) -> Vec<BrokerId> {
    ids.iter().copied().map(BrokerId).collect()
}

pub(crate) fn unheard(why: Silence) -> Unheard {
    Unheard { why, detail: format!("{why:?}") }
}

pub(crate) fn partition(index: i32) -> PartitionView {
    PartitionView {
        partition: PartitionIndex(index),
        error: None,
        leader: Some(BrokerId(index + 1)),
        leader_epoch: Some(LeaderEpoch(4)),
        replicas: ids(&[1, 2, 3]),
        isr: ids(&[1, 2, 3]),
        offline: vec![],
    }
}

pub(crate) fn topic(name: &str, partitions: Vec<PartitionView>) -> TopicView {
    TopicView { name: name.into(), id: Some(TopicId(uuid::Uuid::from_u128(7))), is_internal: false, error: None, partitions }
}

fn broker(id: i32) -> BrokerView {
    BrokerView { id: BrokerId(id), listener: address(id), rack: None, is_fenced: false }
}

pub(crate) fn replica(id: i32) -> ReplicaView {
    let ms = Some(if id == 1 { NOW_MS } else { NOW_MS - 300 });
    ReplicaView { id: BrokerId(id), log_end_offset: Some(500), last_fetch_ms: ms, last_caught_up_ms: ms }
}

fn quorum() -> QuorumView {
    QuorumView {
        leader: BrokerId(1),
        leader_epoch: LeaderEpoch(7),
        high_watermark: 500,
        voters: [1, 2, 3].map(replica).to_vec(),
        observers: vec![],
    }
}

pub(crate) fn healthy() -> Sighting {
    let orders_topic = Arc::new(topic("orders", [0, 1, 2].map(partition).to_vec()));
    let voice = |id| Voice {
        address: address(id),
        view: Ok(View {
            cluster_id: Some("prod".into()),
            brokers: [1, 2, 3].map(broker).to_vec(),
            topics: vec![Arc::clone(&orders_topic)],
        }),
        cluster: Ok(ClusterDescription {
            cluster_id: "prod".into(),
            controller: None,
            brokers: [1, 2, 3].map(broker).to_vec(),
            includes_fenced: true,
        }),
        quorum: Ok(quorum()),
    };
    let served = |id| (BrokerId(id), Ok(Served::from([(orders(id - 1), Ok(90))])));
    Sighting {
        scope: super::super::Scope::default(),
        ended_at: Duration::from_secs(1_800_000_000),
        took: Duration::from_millis(80),
        bootstrap: vec![address(1)],
        voices: [1, 2, 3].map(voice).to_vec(),
        controllers: vec![],
        log: Err(Unheard::not_asked("no controller's listener was given")),
        log_before: None,
        served: [1, 2, 3].map(served).into(),
        eligible: Err(Unheard::not_asked("no partition was worth the question")),
        topics_left_out: 0,
        brokers_left_out: 0,
        partitions_left_out: 0,
    }
}

fn voice(sighting: &mut Sighting, id: i32) -> &mut Voice {
    sighting.voices.iter_mut().find(|voice| voice.address == address(id)).unwrap()
}

/// Nobody hears from these.
pub(crate) fn silence(sighting: &mut Sighting, nodes: &[i32]) {
    for id in nodes {
        let voice = voice(sighting, *id);
        voice.view = Err(unheard(Silence::Silent));
        voice.cluster = Err(unheard(Silence::Silent));
        voice.quorum = Err(unheard(Silence::Silent));
        if let Some(served) = sighting.served.get_mut(&BrokerId(*id)) {
            *served = Err(unheard(Silence::Silent));
        }
    }
}

/// What a broker shows.
pub(crate) fn view_of(sighting: &mut Sighting, id: i32) -> &mut View {
    voice(sighting, id).view.as_mut().unwrap()
}

/// Changes a partition of `orders` as these show it.
pub(crate) fn edit(sighting: &mut Sighting, shown_by: &[i32], index: usize, change: impl Fn(&mut PartitionView)) {
    for id in shown_by {
        change(&mut Arc::make_mut(&mut view_of(sighting, *id).topics[0]).partitions[index]);
    }
}

/// The active controller has fenced a node: these no longer list it, and say so.
pub(crate) fn fence(sighting: &mut Sighting, by: &[i32], node: i32) {
    for id in by {
        let voice = voice(sighting, *id);
        voice.view.as_mut().unwrap().brokers.retain(|broker| broker.id != BrokerId(node));
        let registered = &mut voice.cluster.as_mut().unwrap().brokers;
        registered.iter_mut().filter(|broker| broker.id == BrokerId(node)).for_each(|broker| broker.is_fenced = true);
    }
}

/// The same on brokers that do not tell of fenced ones (before 4.0).
pub(crate) fn forget(sighting: &mut Sighting, by: &[i32], node: i32) {
    for id in by {
        let voice = voice(sighting, *id);
        voice.view.as_mut().unwrap().brokers.retain(|broker| broker.id != BrokerId(node));
    }
    for cluster in sighting.voices.iter_mut().filter_map(|voice| voice.cluster.as_mut().ok()) {
        cluster.includes_fenced = false;
        cluster.brokers.retain(|broker| broker.id != BrokerId(node));
    }
}

/// Changes what the active controller says, through whomever.
pub(crate) fn edit_quorum(sighting: &mut Sighting, change: impl Fn(&mut QuorumView)) {
    sighting.voices.iter_mut().filter_map(|voice| voice.quorum.as_mut().ok()).for_each(change);
}

/// A voter last fetched so long ago.
pub(crate) fn last_fetch(sighting: &mut Sighting, node: i32, ms_ago: i64) {
    edit_quorum(sighting, |quorum| {
        for voter in quorum.voters.iter_mut().filter(|voter| voter.id == BrokerId(node)) {
            (voter.last_fetch_ms, voter.last_caught_up_ms) = (Some(NOW_MS - ms_ago), Some(NOW_MS - ms_ago));
            voter.log_end_offset = Some(500 - ms_ago / 500);
        }
    });
}

/// What brokers answer to the question for the quorum.
pub(crate) fn no_quorum(sighting: &mut Sighting, nodes: &[i32], why: Silence) {
    for id in nodes {
        voice(sighting, *id).quorum = Err(unheard(why));
    }
}

/// A leader refuses a partition.
pub(crate) fn refuse(sighting: &mut Sighting, leader: i32, index: i32, code: i16) {
    let served: &mut Heard<Served> = sighting.served.get_mut(&BrokerId(leader)).unwrap();
    served.as_mut().unwrap().insert(orders(index), Err(ErrorCode(code)));
}

pub(crate) fn eligible(sighting: &mut Sighting, index: i32, elr: &[i32]) {
    let replicas = EligibleReplicas { elr: ids(elr), last_known: vec![] };
    sighting.eligible = Ok(BTreeMap::from([(orders(index), replicas)]));
}

/// One topic is asked for, and brokers answer with an error.
pub(crate) fn ask_for(sighting: &mut Sighting, name: &str, error: Option<ErrorCode>) {
    sighting.scope.topic = Some(name.into());
    for id in [1, 2, 3] {
        if let Some(code) = error {
            let unknown = TopicView { error: Some(code), id: None, ..topic(name, vec![]) };
            view_of(sighting, id).topics = vec![Arc::new(unknown)];
        }
    }
}

/// An address besides those of the brokers.
pub(crate) fn stranger(sighting: &mut Sighting, view: Heard<View>) {
    let address = HostPort::new("lb", 9092);
    let unheard = || unheard(Silence::NotAsked);
    sighting.bootstrap.push(address.clone());
    sighting.voices.push(Voice { address, view, cluster: Err(unheard()), quorum: Err(unheard()) });
}

/// The controllers' log, before and after, as it fits to the healthy cluster, with node 3 fenced in it if others do not list it, and `orders/0`
/// changed.
pub(crate) fn logged(sighting: &mut Sighting, change: impl Fn(&mut PartitionRecord)) {
    let image = image(sighting, change);
    sighting.log_before = Some(Arc::clone(&image));
    sighting.log = Ok(ControllerLog { image, offset: 499, controller: BrokerId(1), pending: 0 });
}

/// The controllers' log was like this before brokers were asked.
pub(crate) fn logged_before(sighting: &mut Sighting, change: impl Fn(&mut PartitionRecord)) {
    sighting.log_before = Some(image(sighting, change));
}

fn image(sighting: &Sighting, change: impl Fn(&mut PartitionRecord)) -> Arc<Image> {
    let topic_id = TopicId(uuid::Uuid::from_u128(7));
    let is_listed = sighting.views().any(|(_, view)| view.brokers.iter().any(|broker| broker.id == BrokerId(3)));
    let mut records = vec![MetadataRecord::Topic { name: "orders".into(), id: topic_id }];
    records.extend([1, 2, 3].map(|id| MetadataRecord::RegisterBroker(registration(id, id == 3 && !is_listed))));
    for index in [0, 1, 2] {
        let mut record = record_of(&partition(index), topic_id);
        if index == 0 {
            change(&mut record);
        }
        records.push(MetadataRecord::Partition(record));
    }
    let mut image = Image::default();
    for record in records {
        image.replay(&record).unwrap();
    }
    Arc::new(image)
}

/// The controllers' log has another broker, too.
pub(crate) fn logged_broker(sighting: &mut Sighting, id: i32, is_fenced: bool) {
    let log = sighting.log.as_mut().unwrap();
    Arc::make_mut(&mut log.image).replay(&MetadataRecord::RegisterBroker(registration(id, is_fenced))).unwrap();
}

fn registration(id: i32, is_fenced: bool) -> BrokerRegistration {
    BrokerRegistration {
        broker: BrokerId(id),
        is_migrating: false,
        incarnation: uuid::Uuid::nil(),
        broker_epoch: 10 + i64::from(id),
        endpoints: vec![],
        features: vec![],
        rack: None,
        is_fenced,
        in_controlled_shutdown: false,
        directories: vec![],
        cordoned: None,
    }
}

fn record_of(view: &PartitionView, topic: TopicId) -> PartitionRecord {
    PartitionRecord {
        partition: view.partition,
        topic,
        replicas: view.replicas.clone(),
        isr: view.isr.clone(),
        removing: vec![],
        adding: vec![],
        leader: view.leader.unwrap(),
        recovery: 0,
        leader_epoch: view.leader_epoch.unwrap().0,
        partition_epoch: 9,
        directories: vec![],
        elr: None,
        last_known_elr: None,
    }
}
