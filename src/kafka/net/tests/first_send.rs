//! From the start of a client to its first acknowledgement.

use std::time::Duration;

use kafka_protocol::messages::ApiKey;

use super::fake::{Door, FakeCluster, Reaction};
use super::watcher::Client;
use crate::kafka::event::{ClientEvent, DisconnectCause, MetadataOutcome, Outcome};

#[tokio::test(start_paused = true)]
async fn the_first_acknowledgement_takes_four_round_trips_and_linger() {
    let cluster = FakeCluster::new(2);
    cluster.add_topic("orders", &[1, 2]);
    let client = Client::start(&cluster, &[]);
    client.send(0, 1).await.unwrap();
    assert_eq!(client.elapsed_ms(), 20, "ApiVersions and Metadata, which names the topic at once");
    let told = client.wait_for_outcomes(1, Duration::from_secs(1)).await;
    assert_eq!((told[0].mark, &told[0].outcome), (1, &Outcome::Ok { base_offset: 0 }));
    assert_eq!(client.ms_of(told[0].at), 20 + 5 + 20, "linger, then ApiVersions and Produce: the bootstrap connection is not reused");
    assert_eq!(cluster.log("orders", 0), [b"1".to_vec()]);
    assert_eq!(cluster.asked(ApiKey::Metadata).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn topics_are_named_by_id_from_version_13_on() {
    let cluster = FakeCluster::new(1);
    cluster.add_topic("orders", &[1]);
    cluster.state().versions.insert(ApiKey::Produce as i16, (3, 13));
    let client = Client::start(&cluster, &[]);
    client.send(0, 1).await.unwrap();
    let told = client.wait_for_outcomes(1, Duration::from_secs(1)).await;
    assert_eq!(told[0].outcome, Outcome::Ok { base_offset: 0 });
    assert_eq!(cluster.asked(ApiKey::Produce)[0].version, 13);
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_does_not_know_the_newest_api_versions_is_asked_again_in_its_own() {
    let cluster = FakeCluster::new(1);
    cluster.add_topic("orders", &[1]);
    cluster.state().versions.insert(ApiKey::ApiVersions as i16, (0, 2));
    let client = Client::start(&cluster, &[]);
    client.send(0, 1).await.unwrap();
    assert_eq!(client.elapsed_ms(), 30, "one round trip more");
    let versions: Vec<_> = cluster.asked(ApiKey::ApiVersions).iter().map(|asked| asked.version).collect();
    assert_eq!(versions, [4, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_refuses_every_version_of_api_versions_is_left_and_tried_again_with_backoff() {
    let cluster = FakeCluster::new(1);
    cluster.add_topic("orders", &[1]);
    cluster.always(1, ApiKey::ApiVersions, Some(Reaction::Refuse(35)));
    let client = Client::start(&cluster, &[("max.block.ms", "1500"), ("metadata.recovery.strategy", "none")]);
    let failure = client.send(0, 1).await.unwrap_err();
    assert_eq!(failure.text, "Topic orders not present in metadata after 1500 ms.");
    assert_eq!(client.elapsed_ms(), 1_500);
    let versions: Vec<_> = cluster.asked(ApiKey::ApiVersions).iter().map(|asked| asked.version).collect();
    let attempts = cluster.state().attempts.len();
    assert_eq!(versions, [4, 0].repeat(attempts), "asked twice on each connection");
    assert!((4..=7).contains(&attempts), "{attempts} attempts in 1500 ms, with 50, 100, 200, 400, 800 ms between them");
}

#[tokio::test(start_paused = true)]
async fn a_starting_broker_that_names_no_brokers_is_asked_again_after_a_backoff() {
    let cluster = FakeCluster::new(1);
    cluster.add_topic("orders", &[1]);
    cluster.script(1, ApiKey::Metadata, Reaction::NoBrokers);
    let client = Client::start(&cluster, &[]);
    client.send(0, 1).await.unwrap();
    let asked: Vec<_> = cluster.asked(ApiKey::Metadata).iter().map(|asked| client.ms_of(asked.at)).collect();
    assert_eq!((asked[0], asked.len()), (10, 2));
    assert!((20 + 80..=20 + 119).contains(&asked[1]), "{asked:?}");
    let outcomes: Vec<_> = client
        .events()
        .into_iter()
        .filter_map(|(_, event)| match event {
            ClientEvent::MetadataRequestDone { outcome, .. } => Some(outcome),
            _ => None,
        })
        .collect();
    assert_eq!(outcomes, [MetadataOutcome::Empty, MetadataOutcome::Updated]);
}

#[tokio::test(start_paused = true)]
async fn an_address_that_swallows_packets_is_given_up_after_the_setup_timeout() {
    let cluster = FakeCluster::new(1);
    cluster.set_door(1, Door::Swallows);
    let client = Client::start(&cluster, &[]);
    tokio::time::sleep(Duration::from_secs(13)).await;
    let ends: Vec<_> = client.events().into_iter().filter(|(_, event)| matches!(event, ClientEvent::Disconnected { .. })).collect();
    let [(at, ClientEvent::Disconnected { cause: DisconnectCause::SetupTimeout, .. })] = ends[..] else { panic!("{ends:?}") };
    assert!((8_001..=12_001).contains(&client.ms_of(at)), "{} ms", client.ms_of(at));
}
