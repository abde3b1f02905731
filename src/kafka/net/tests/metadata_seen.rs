//! What a client learns of the cluster, when, and from whom.

use std::time::Duration;

use kafka_protocol::messages::ApiKey;

use super::fake::{FakeCluster, Reaction};
use super::watcher::Client;
use crate::kafka::event::{ClientEvent, DisconnectCause, MetadataOutcome, Outcome, UpdateReason};

async fn settled(leaders: &[i32], properties: &[(&str, &str)]) -> Client {
    let cluster = FakeCluster::new(3);
    cluster.add_topic("orders", leaders);
    Client::settled(&cluster, 3, properties).await
}

#[tokio::test(start_paused = true)]
async fn new_partitions_are_seen_at_the_exact_age() {
    let client = settled(&[1, 2], &[("metadata.max.age.ms", "5000")]).await;
    client.cluster.grow("orders", &[1]);
    let age_ms = client.producer.view().metadata_age.unwrap().as_millis();
    tokio::time::sleep(Duration::from_secs(6)).await;
    let asked: Vec<_> = client.cluster.asked(ApiKey::Metadata).iter().map(|asked| client.ms_of(asked.at)).collect();
    assert_eq!(asked, [5_000 - age_ms]);
    let seen = client.events().into_iter().find_map(|(at, event)| match event {
        ClientEvent::PartitionCountChanged { from: 2, to: 3, .. } => Some(client.ms_of(at)),
        _ => None,
    });
    assert_eq!(seen, Some(5_000 - age_ms + 10));
    assert!(
        client
            .events()
            .iter()
            .any(|(_, event)| matches!(event, ClientEvent::MetadataRequestSent { reason: UpdateReason::Age, full: true, .. }))
    );
}

#[tokio::test(start_paused = true)]
async fn a_send_to_a_partition_to_come_waits_for_it_and_then_goes_through() {
    let client = settled(&[1, 2], &[]).await;
    let (sent, ()) = tokio::join!(client.send(2, 1), async {
        tokio::time::sleep(Duration::from_millis(650)).await;
        client.cluster.grow("orders", &[1]);
    });
    sent.unwrap();
    assert!((650..=650 + 1_000 + 10).contains(&client.elapsed_ms()), "one backoff later at most: {} ms", client.elapsed_ms());
    let asked: Vec<_> = client.cluster.asked(ApiKey::Metadata).iter().map(|asked| client.ms_of(asked.at)).collect();
    assert_eq!(asked[0], 0, "asked at once");
    for (pair, (least, most)) in asked.windows(2).zip([(90, 130), (170, 250), (330, 490), (650, 970)]) {
        assert!((least..=most).contains(&(pair[1] - pair[0])), "nothing new is told, so it asks less and less often: {asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_never_comes_fails_with_its_count() {
    let client = settled(&[1, 2], &[("max.block.ms", "300")]).await;
    let failure = client.send(7, 1).await.unwrap_err();
    assert_eq!(failure.text, "Partition 7 of topic orders with partition count 2 is not present in metadata after 300 ms.");
    assert_eq!(client.elapsed_ms(), 300);
}

#[tokio::test(start_paused = true)]
async fn brokers_that_have_fallen_behind_are_asked_less_and_less_often_until_one_knows() {
    let client = settled(&[1, 2], &[("linger.ms", "0")]).await;
    for node in 1..=3 {
        client.cluster.fall_behind(node);
    }
    client.cluster.elect("orders", 0, 2);
    client.send(0, 1).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    assert!(client.outcomes().is_empty());
    let refusals = client.cluster.asked(ApiKey::Produce).len();
    assert!((3..=5).contains(&refusals), "retried after 100, 200, 400 ms, to the old leader: {refusals}");
    for broker in client.cluster.state().brokers.values_mut() {
        broker.stale_topics = None;
    }
    let told = client.wait_for_outcomes(1, Duration::from_secs(3)).await;
    assert!(matches!(told[0].outcome, Outcome::Ok { .. }), "{told:?}");
    assert_eq!(client.cluster.asked(ApiKey::Produce).last().unwrap().node, 2);
}

#[tokio::test(start_paused = true)]
async fn an_older_epoch_than_is_known_changes_nothing() {
    let client = settled(&[1, 2], &[("metadata.max.age.ms", "2000"), ("linger.ms", "0")]).await;
    client.cluster.elect("orders", 0, 2);
    client.send(0, 1).await.unwrap();
    client.wait_for_outcomes(1, Duration::from_secs(1)).await;
    let mut stale = client.cluster.state().topics.clone();
    let partition = &mut stale.get_mut("orders").unwrap().partitions[0];
    (partition.leader, partition.epoch) = (1, 0);
    for broker in client.cluster.state().brokers.values_mut() {
        broker.stale_topics = Some(stale.clone());
    }
    let before = client.events().len();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let since = client.events().split_off(before);
    let updates = since.iter().filter(|(_, event)| matches!(event, ClientEvent::MetadataRequestDone { .. })).count();
    assert!(updates >= 2, "asked and answered {updates} times");
    assert!(!since.iter().any(|(_, event)| matches!(event, ClientEvent::LeaderChanged { .. })), "{since:?}");
    client.send(0, 2).await.unwrap();
    client.wait_for_outcomes(2, Duration::from_secs(1)).await;
    assert_eq!(client.cluster.asked(ApiKey::Produce).last().unwrap().node, 2);
}

#[tokio::test(start_paused = true)]
async fn a_topic_error_is_the_cause_of_the_timeout() {
    let client = settled(&[1], &[("max.block.ms", "250")]).await;
    let failure = client.send_to("no-such-topic", None, 1).await.unwrap_err();
    assert_eq!(failure.text, "Topic no-such-topic not present in metadata after 250 ms.");
    assert_eq!(failure.code.map(|code| code.0), Some(3));
    for node in 1..=3 {
        client.cluster.always(node, ApiKey::Metadata, Some(Reaction::Refuse(29)));
    }
    let failure = client.send_to("secret", None, 2).await.unwrap_err();
    assert_eq!((failure.kind.as_str(), failure.code.map(|code| code.0)), ("TopicAuthorizationException", Some(29)));
}

#[tokio::test(start_paused = true)]
async fn a_send_to_a_partition_without_a_leader_does_not_wait() {
    let client = settled(&[1, 2], &[("metadata.max.age.ms", "1000"), ("linger.ms", "0")]).await;
    client.cluster.elect("orders", 0, -1);
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let before_ms = client.elapsed_ms();
    client.send(0, 1).await.unwrap();
    assert_eq!(client.elapsed_ms(), before_ms);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(client.outcomes().is_empty() && client.cluster.asked(ApiKey::Produce).is_empty());
    client.cluster.elect("orders", 0, 1);
    let told = client.wait_for_outcomes(1, Duration::from_secs(2)).await;
    assert!(matches!(told[0].outcome, Outcome::Ok { .. }), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn an_update_that_does_not_bring_the_topic_makes_the_sender_ask_again() {
    let client = settled(&[1, 2], &[]).await;
    let (sent, ()) = tokio::join!(client.send_to("to-come", None, 1), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        client.cluster.add_topic("to-come", &[1]);
    });
    sent.unwrap();
    let asked: Vec<_> = client.cluster.asked(ApiKey::Metadata).iter().map(|asked| client.ms_of(asked.at)).collect();
    assert_eq!(asked[0], 0, "a new topic is asked for at once");
    // Answered at 10 ms without the topic; asked again one backoff after that, and after two.
    assert!((10 + 80..=10 + 119 + 1).contains(&asked[1]), "{asked:?}");
    assert!((asked[1] + 10 + 160..=asked[1] + 10 + 239 + 1).contains(&asked[2]), "{asked:?}");
    assert_eq!((asked.len(), client.elapsed_ms()), (3, asked[2] + 10));
}

#[tokio::test(start_paused = true)]
async fn a_rebootstrap_that_a_broker_asks_for_happens_at_that_moment() {
    let client = settled(&[1, 2], &[("metadata.max.age.ms", "1000")]).await;
    for node in 1..=3 {
        client.cluster.script(node, ApiKey::Metadata, Reaction::Rebootstrap);
    }
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    let events = client.events();
    let told = events
        .iter()
        .position(|(_, event)| matches!(event, ClientEvent::MetadataRequestDone { outcome: MetadataOutcome::RebootstrapRequired, .. }));
    let (at, _) = events[told.unwrap()];
    let at_once: Vec<_> = events.iter().filter(|(other, _)| *other == at).map(|(_, event)| event).collect();
    let closed = at_once.iter().filter(|event| matches!(event, ClientEvent::Disconnected { cause: DisconnectCause::Rebootstrap, .. }));
    assert_eq!(closed.count(), 2, "both connections to known nodes: {at_once:?}");
    assert!(at_once.iter().any(|event| matches!(event, ClientEvent::Rebootstrapped { .. })), "{at_once:?}");
    assert!(
        at_once.iter().any(|event| matches!(event, ClientEvent::PartitionCountChanged { from: 2, to: 0, .. })),
        "all topics are forgotten"
    );
}
