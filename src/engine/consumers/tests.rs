use super::positions::Positions;
use super::second::Gathered;
use crate::clock::Moment;
use crate::ids::{BrokerId, LeaderEpoch, PartitionIndex, TopicId, TopicName, TopicPartition};
use crate::kafka::admin::{AdminError, ClusterView, ErrorCode, PartitionView, TopicView};

const ORDERS: u128 = 7;

fn orders(partition: i32) -> TopicPartition {
    TopicPartition { topic: "orders".into(), partition: PartitionIndex(partition) }
}

/// A view of `orders`: id, and of each partition leader (0: none) and epoch.
fn view(id: u128, partitions: &[(i32, i32)]) -> ClusterView {
    let partition = |(index, (leader, epoch)): (i32, &(i32, i32))| PartitionView {
        partition: PartitionIndex(index),
        error: None,
        leader: (*leader > 0).then_some(BrokerId(*leader)),
        leader_epoch: Some(LeaderEpoch(*epoch)),
        replicas: Vec::new(),
        isr: Vec::new(),
        offline: Vec::new(),
    };
    let topic = TopicView {
        name: "orders".into(),
        id: Some(TopicId(uuid::Uuid::from_u128(id))),
        is_internal: false,
        error: None,
        partitions: (0..).zip(partitions).map(partition).collect(),
    };
    ClusterView { topics: vec![topic], ..ClusterView::default() }
}

fn following(positions: &Positions, view: &ClusterView) {
    positions.follow(view, &[TopicName::from("orders")]);
}

/// Partitions that a broker leads, with where to read on.
fn of(positions: &Positions, node: i32) -> Vec<(i32, i64)> {
    positions.of(BrokerId(node)).iter().map(|(key, from)| (key.partition.0, from.offset)).collect()
}

#[test]
fn each_partition_is_read_from_its_leader_and_on_from_where_it_was_read_to() {
    let positions = Positions::default();
    assert!(positions.are_doubted(), "nothing is known yet");
    following(&positions, &view(ORDERS, &[(1, 0), (2, 0), (1, 0)]));
    assert_eq!((of(&positions, 1), of(&positions, 2)), (vec![(0, 0), (2, 0)], vec![(1, 0)]));
    let (key, from) = positions.of(BrokerId(2)).remove(0);
    assert!(positions.advance(&key, &from, 40, 50));
    assert!(!positions.advance(&key, &from, 60, 60), "what was asked for before does not count twice");
    assert_eq!((of(&positions, 2), positions.behind()), (vec![(1, 40)], (Some(10), 0)));
}

#[test]
fn a_leader_that_is_not_one_is_doubted_until_somebody_names_another() {
    let positions = Positions::default();
    following(&positions, &view(ORDERS, &[(1, 4)]));
    let (key, from) = positions.of(BrokerId(1)).remove(0);
    positions.doubt(&key, &from);
    assert!(positions.are_doubted() && of(&positions, 1).is_empty());
    assert_eq!(positions.behind(), (None, 1));
    following(&positions, &view(ORDERS, &[(3, 3)]));
    assert!(positions.are_doubted(), "an older epoch is not believed");
    following(&positions, &view(ORDERS, &[(2, 5)]));
    assert_eq!((of(&positions, 2), positions.are_doubted()), (vec![(0, 0)], false));
    // Of an epoch that is over by now.
    positions.doubt(&key, &from);
    assert!(!positions.are_doubted());
}

#[test]
fn partitions_that_are_added_are_read_and_a_topic_that_is_made_anew_from_its_beginning() {
    let positions = Positions::default();
    following(&positions, &view(ORDERS, &[(1, 9)]));
    let (key, from) = positions.of(BrokerId(1)).remove(0);
    assert!(positions.advance(&key, &from, 40, 40));
    following(&positions, &view(ORDERS, &[(1, 9), (1, 0)]));
    assert_eq!(of(&positions, 1), [(0, 40), (1, 0)]);
    let old = positions.of(BrokerId(1)).remove(0).1;
    following(&positions, &view(ORDERS + 1, &[(1, 0)]));
    assert_eq!(of(&positions, 1)[0], (0, 0));
    assert!(!positions.advance(&orders(0), &old, 50, 50), "what the old topic gave does not count");
}

#[tokio::test]
async fn what_a_consumer_gathers_is_told_once() {
    let gathered = Gathered::default();
    gathered.arrived(Moment(5), &[4_000, 9_000], 1, 300);
    gathered.arrived(Moment(9), &[], 0, 60);
    gathered.code(ErrorCode::NOT_LEADER_OR_FOLLOWER);
    gathered.failed(&AdminError::NoBootstrap);
    assert_eq!(gathered.last_arrival(), Moment(5), "an answer without records is no arrival");
    let told = gathered.take();
    assert_eq!((told.records, told.undated, told.bytes, told.end_to_end_max_us), (3, 1, 360, 9_000));
    assert_eq!(told.errors, [("6".to_owned(), 1), ("refused".to_owned(), 1)].into());
    assert_eq!(gathered.take(), crate::record::consumers::ConsumerSecond::default());
}
