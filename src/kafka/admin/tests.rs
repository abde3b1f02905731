use std::time::Duration;

use kafka_protocol::messages::ApiKey;

use super::fake::{FakeBroker, FakeState, Shared, shared};
use super::*;
use crate::ids::{BrokerId, LeaderEpoch, PartitionIndex, TopicName, TopicPartition};

fn admin(brokers: &[&FakeBroker]) -> Admin {
    let bootstrap = brokers.iter().map(|broker| broker.host_port()).collect();
    Admin::new(bootstrap, "chaos-admin", Clock::real()).with_call_timeout(Duration::from_secs(2)).with_patience(Duration::from_secs(5))
}

fn topic(name: &str, partitions: u32) -> NewTopic {
    NewTopic { name: name.into(), placement: Placement::Counted { partitions, replication_factor: 1 }, config: [].into() }
}

/// A port that nobody listens on.
async fn dead_address(state: &Shared) -> HostPort {
    let broker = FakeBroker::start(9, 0, state).await;
    let address = broker.host_port();
    broker.stop().await;
    state.lock().unwrap().brokers.remove(&9);
    address
}

fn asked(state: &FakeState, api: ApiKey) -> Vec<i16> {
    state.asked.iter().filter(|(_, key, _)| *key == api).map(|(_, _, version)| *version).collect()
}

#[tokio::test]
async fn a_broker_that_refuses_the_newest_api_versions_is_asked_again_in_its_own() {
    let state = shared(1);
    state.lock().unwrap().api_versions_max = 3;
    let broker = FakeBroker::start(1, 0, &state).await;
    let versions = admin(&[&broker]).api_versions(&broker.host_port()).await.unwrap();
    assert_eq!(versions.range(18), Some((18, 0, 3)));
    assert_eq!(asked(&state.lock().unwrap(), ApiKey::ApiVersions), [4, 3]);
}

#[tokio::test]
async fn a_view_is_the_very_brokers_own() {
    let state = shared(2);
    state.lock().unwrap().topics.insert("orders".to_owned(), vec![vec![2, 1], vec![1, 2]]);
    state.lock().unwrap().blind.insert(2);
    state.lock().unwrap().out_of_sync.insert(1);
    let (one, two) = (FakeBroker::start(1, 0, &state).await, FakeBroker::start(2, 0, &state).await);
    let admin = admin(&[&one]);
    let view = admin.metadata_of(&one.host_port(), None).await.unwrap();
    let partition = &view.topic(&"orders".into()).unwrap().partitions[0];
    assert_eq!((partition.leader, &partition.isr[..], partition.is_full()), (Some(BrokerId(2)), &[BrokerId(2)][..], false));
    assert!(view.lists(BrokerId(1)) && view.lists(BrokerId(2)) && !view.lists(BrokerId(3)));
    let named: [TopicName; 1] = ["orders".into()];
    let view = admin.metadata_of(&two.host_port(), Some(&named)).await.unwrap();
    assert_eq!(view.topics[0].error, Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    assert_eq!(view.topic(&named[0]), None);
}

#[tokio::test]
async fn connections_are_kept_and_replaced_when_they_died() {
    let state = shared(1);
    let broker = FakeBroker::start(1, 0, &state).await;
    let admin = admin(&[&broker]);
    let address = broker.host_port();
    for _ in 0..3 {
        admin.metadata_of(&address, None).await.unwrap();
    }
    assert_eq!(asked(&state.lock().unwrap(), ApiKey::ApiVersions).len(), 1, "one connection served all three");
    let _broker = broker.restart().await;
    admin.metadata_of(&address, None).await.unwrap();
    assert_eq!(asked(&state.lock().unwrap(), ApiKey::ApiVersions).len(), 2);
}

#[tokio::test]
async fn calls_and_connections_are_counted() {
    let state = shared(1);
    let broker = FakeBroker::start(1, 0, &state).await;
    let traffic = Traffic::default();
    let admin = admin(&[&broker]).with_traffic(traffic.clone());
    for _ in 0..3 {
        admin.metadata_of(&broker.host_port(), None).await.unwrap();
    }
    let counts = traffic.take();
    assert_eq!(counts.requests, [("ApiVersions".to_owned(), 1), ("Metadata".to_owned(), 3)].into());
    assert!(counts.request_bytes > 4 * 20 && counts.response_bytes > 4 * 20, "{counts:?}");
}

#[tokio::test]
async fn any_bootstrap_broker_that_answers_will_do() {
    let state = shared(1);
    let broker = FakeBroker::start(1, 0, &state).await;
    let bootstrap = vec![dead_address(&state).await, broker.host_port()];
    let admin = Admin::new(bootstrap, "chaos-admin", Clock::real());
    let quorum = admin.describe_quorum().await.unwrap();
    assert_eq!((quorum.leader, quorum.high_watermark, quorum.voters.len()), (BrokerId(1), 60, 1));
    assert_eq!(quorum.voters[0].last_fetch_ms, None, "-1 on the wire");
    assert!(state.lock().unwrap().asked.iter().all(|(client_id, ..)| client_id == "chaos-admin"));
}

#[tokio::test]
async fn a_cluster_without_a_controller_is_asked_again_until_patience_is_over() {
    let state = shared(1);
    let broker = FakeBroker::start(1, 0, &state).await;
    state.lock().unwrap().controller = None;
    let hasty = admin(&[&broker]).with_patience(Duration::ZERO);
    assert_eq!(hasty.describe_quorum().await.unwrap_err().code(), Some(ErrorCode::NOT_LEADER_OR_FOLLOWER));
    let patient = admin(&[&broker]);
    let elected = async {
        while asked(&state.lock().unwrap(), ApiKey::DescribeQuorum).len() < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        state.lock().unwrap().controller = Some(1);
    };
    assert!(tokio::join!(patient.describe_quorum(), elected).0.is_ok());
}

#[tokio::test]
async fn fenced_brokers_are_left_out_where_the_broker_cannot_tell() {
    let state = shared(1);
    let broker = FakeBroker::start(1, 0, &state).await;
    let cluster = admin(&[&broker]).describe_cluster().await.unwrap();
    assert_eq!((cluster.cluster_id.as_str(), cluster.brokers.len(), cluster.includes_fenced), ("fake", 1, false));
    assert_eq!(asked(&state.lock().unwrap(), ApiKey::DescribeCluster), [1]);
}

#[tokio::test]
async fn a_broker_says_for_itself_what_it_serves_and_who_may_lead() {
    let state = shared(1);
    let broker = FakeBroker::start(1, 0, &state).await;
    state.lock().unwrap().ends.insert(("orders".into(), 0), (40, 45));
    state.lock().unwrap().eligible.extend([(("orders".into(), 0), vec![2]), (("orders".into(), 1), vec![3])]);
    let (admin, address) = (admin(&[&broker]), broker.host_port());
    let [served, refused] = [0, 1].map(|index| TopicPartition { topic: "orders".into(), partition: PartitionIndex(index) });
    let asked = [(served.clone(), Some(LeaderEpoch(3))), (refused.clone(), None)];
    let told = admin.served_by(&address, &asked).await.unwrap();
    assert_eq!(told, [(served.clone(), Ok(40)), (refused, Err(ErrorCode::NOT_LEADER_OR_FOLLOWER))].into());
    assert_eq!(admin.served_by(&address, &[]).await.unwrap(), [].into());
    // Of orders/1 the broker does not say all, absent it does not know.
    let told = admin.eligible_of(&address, &["orders".into(), "absent".into()]).await.unwrap();
    assert_eq!(told, [(served, EligibleReplicas { elr: vec![BrokerId(2)], last_known: vec![] })].into());
    let cluster = admin.cluster_of(&address).await.unwrap();
    assert_eq!((cluster.brokers.len(), cluster.includes_fenced), (1, false));
}

#[tokio::test]
async fn only_what_is_still_passing_is_asked_again() {
    let state = shared(1);
    let broker = FakeBroker::start(1, 0, &state).await;
    // NOT_CONTROLLER for the first topic, INVALID_REPLICATION_FACTOR for the second.
    state.lock().unwrap().refusals.extend([41, 38, 0]);
    let error = admin(&[&broker]).create_topics(&[topic("a", 1), topic("b", 1), topic("c", 1)]).await.unwrap_err();
    assert_eq!(error.to_string(), "topic b: INVALID_REPLICATION_FACTOR (38): refused");
    let state = state.lock().unwrap();
    assert_eq!(state.topics.keys().collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(asked(&state, ApiKey::CreateTopics).len(), 2);
}

#[tokio::test]
async fn a_topic_that_an_answer_leaves_out_is_asked_for_again() {
    let state = shared(1);
    let broker = FakeBroker::start(1, 0, &state).await;
    state.lock().unwrap().leaves_out = true;
    admin(&[&broker]).create_topics(&[topic("a", 1), topic("b", 1)]).await.unwrap();
    assert_eq!(asked(&state.lock().unwrap(), ApiKey::CreateTopics).len(), 2);
    // The first is refused for a while, and of the second, which was made, nothing is said.
    state.lock().unwrap().leaves_out = true;
    state.lock().unwrap().refusals.extend([41, 0]);
    admin(&[&broker]).create_topics(&[topic("c", 1), topic("d", 1)]).await.unwrap();
}

#[tokio::test]
async fn a_lost_response_counts_as_done_when_the_next_try_finds_it_done() {
    let state = shared(1);
    let broker = FakeBroker::start(1, 0, &state).await;
    let admin = admin(&[&broker]);
    let orders: TopicName = "orders".into();
    state.lock().unwrap().loses_response = true;
    admin.create_topics(&[topic("orders", 3)]).await.unwrap();
    state.lock().unwrap().loses_response = true;
    admin.create_partitions(&orders, 6).await.unwrap();
    state.lock().unwrap().loses_response = true;
    admin.delete_topics(std::slice::from_ref(&orders)).await.unwrap();
    assert!(state.lock().unwrap().topics.is_empty());
}

#[tokio::test]
async fn a_first_try_that_finds_it_done_is_an_error() {
    let state = shared(1);
    let broker = FakeBroker::start(1, 0, &state).await;
    let admin = admin(&[&broker]);
    let orders: TopicName = "orders".into();
    admin.create_topics(&[topic("orders", 3)]).await.unwrap();
    assert_eq!(admin.create_topics(&[topic("orders", 3)]).await.unwrap_err().code(), Some(ErrorCode(36)));
    assert_eq!(admin.create_partitions(&orders, 3).await.unwrap_err().code(), Some(ErrorCode(37)));
    admin.delete_topics(std::slice::from_ref(&orders)).await.unwrap();
    assert_eq!(admin.delete_topics(&[orders]).await.unwrap_err().code(), Some(ErrorCode(3)));
}

#[tokio::test]
async fn an_assignment_is_sent_as_it_is() {
    let state = shared(1);
    let broker = FakeBroker::start(1, 0, &state).await;
    let placement = Placement::Assigned(vec![vec![BrokerId(2)], vec![BrokerId(3)]]);
    admin(&[&broker]).create_topics(&[NewTopic { name: "pinned".into(), placement, config: [].into() }]).await.unwrap();
    assert_eq!(state.lock().unwrap().topics["pinned"], [[2], [3]]);
}

#[tokio::test]
async fn failures_name_the_address_and_the_reason() {
    let state = shared(1);
    let dead = dead_address(&state).await;
    let frozen = FakeBroker::start(1, 0, &state).await;
    frozen.freeze(true);
    let hasty = admin(&[]).with_call_timeout(Duration::from_millis(50));
    let refused = hasty.api_versions(&dead).await.unwrap_err().to_string();
    assert!(refused.starts_with(&format!("cannot connect to {dead}: ")), "{refused}");
    let silent = hasty.api_versions(&frozen.host_port()).await.unwrap_err().to_string();
    assert_eq!(silent, format!("{} did not answer ApiVersions within 50ms", frozen.host_port()));
    assert!(matches!(hasty.describe_quorum().await, Err(AdminError::NoBootstrap)));
}

#[tokio::test]
async fn an_election_tells_which_partitions_it_changed() {
    let state = shared(1);
    let broker = FakeBroker::start(1, 0, &state).await;
    {
        let mut state = state.lock().unwrap();
        state.topics.insert("orders".into(), vec![vec![1, 2], vec![1, 2], vec![3, 1]]);
        state.leaders.extend([(("orders".to_owned(), 1), 2), (("orders".to_owned(), 2), -1)]);
        state.out_of_sync.insert(3);
    }
    let admin = admin(&[&broker]);
    let orders: TopicName = "orders".into();
    let elect = async |election, partitions: &[i32]| {
        let partitions: Vec<PartitionIndex> = partitions.iter().copied().map(PartitionIndex).collect();
        admin.elect_leaders(election, &orders, &partitions).await
    };
    assert_eq!(elect(Election::Preferred, &[0, 1]).await.unwrap(), [PartitionIndex(1)]);
    assert_eq!(elect(Election::Preferred, &[0, 1]).await.unwrap(), []);
    let error = elect(Election::Preferred, &[1, 2]).await.unwrap_err();
    assert_eq!(error.to_string(), "partition orders/2: PREFERRED_LEADER_NOT_AVAILABLE (80)");
    assert_eq!(elect(Election::Unclean, &[0, 2]).await.unwrap(), [PartitionIndex(2)]);
    // NOT_CONTROLLER, and then an answer that is lost: it was carried out.
    state.lock().unwrap().leaders.insert(("orders".to_owned(), 1), 2);
    state.lock().unwrap().refusals.push_back(41);
    state.lock().unwrap().loses_response = true;
    assert_eq!(elect(Election::Preferred, &[1]).await.unwrap(), [PartitionIndex(1)]);
}

#[tokio::test]
async fn a_move_is_under_way_until_the_controller_says_no_more() {
    let state = shared(1);
    let (broker, _other) = (FakeBroker::start(1, 0, &state).await, FakeBroker::start(2, 0, &state).await);
    state.lock().unwrap().topics.insert("orders".into(), vec![vec![1], vec![1]]);
    state.lock().unwrap().moves_take = 1;
    let admin = admin(&[&broker]);
    let orders: TopicName = "orders".into();
    let to = |broker| (PartitionIndex(1), vec![BrokerId(broker)]);
    admin.reassign(&orders, &[to(2)]).await.unwrap();
    assert_eq!(state.lock().unwrap().topics["orders"], [[1], [2]]);
    let both = [PartitionIndex(0), PartitionIndex(1)];
    assert_eq!(admin.reassigning(&broker.host_port(), &orders, &both).await.unwrap(), [PartitionIndex(1)]);
    assert_eq!(admin.reassigning(&broker.host_port(), &orders, &both).await.unwrap(), []);
    let error = admin.reassign(&orders, &[to(9)]).await.unwrap_err();
    assert_eq!((error.code(), error.to_string().as_str()), (Some(ErrorCode(39)), "partition orders/1: INVALID_REPLICA_ASSIGNMENT (39)"));
}

#[tokio::test]
async fn properties_are_told_and_taken_by_whose_they_are() {
    let state = shared(1);
    let (one, two) = (FakeBroker::start(1, 0, &state).await, FakeBroker::start(2, 0, &state).await);
    state.lock().unwrap().topics.insert("orders".into(), vec![vec![1]]);
    let admin = admin(&[&one, &two]);
    let orders: TopicName = "orders".into();
    let change = |set: &[(&str, &str)], unset: &[&str]| ConfigChange {
        set: set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        unset: unset.iter().map(|name| (*name).to_owned()).collect(),
    };
    let value = |text: &str, is_own| Some(ConfigValue { value: Some(text.to_owned()), is_own });
    admin.alter_topic_configs(&orders, &change(&[("retention.ms", "5")], &[])).await.unwrap();
    let told = admin.configs_of(&two.host_port(), &ConfigResource::Topic(orders.clone()), Some(&["retention.ms", "none"])).await.unwrap();
    assert_eq!((told.len(), told.get("retention.ms").cloned()), (1, value("5", true)));
    admin.alter_topic_configs(&orders, &change(&[], &["retention.ms"])).await.unwrap();
    assert_eq!(admin.topic_configs(&orders, None).await.unwrap().get("retention.ms").cloned(), value("604800000", false));

    let broker = ConfigResource::Broker(BrokerId(2));
    admin.alter_broker_configs(BrokerId(2), &two.host_port(), &change(&[("num.io.threads", "4")], &[])).await.unwrap();
    let told = admin.configs_of(&two.host_port(), &broker, Some(&["num.io.threads"])).await.unwrap();
    assert_eq!(told.get("num.io.threads").cloned(), value("4", true));
    assert_eq!(admin.configs_of(&one.host_port(), &broker, None).await.unwrap_err().code(), Some(ErrorCode(42)));
    assert_eq!(admin.topic_configs(&"absent".into(), None).await.unwrap_err().code(), Some(ErrorCode(3)));
}
