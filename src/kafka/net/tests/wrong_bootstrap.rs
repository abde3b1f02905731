//! A wrong bootstrap list: construction succeeds, the first `send` fails after `max.block.ms`, and nobody is asked too often.

use std::time::Duration;

use kafka_protocol::messages::ApiKey;
use tokio::net::TcpListener;

use super::fake::{Door, FakeCluster, Reaction};
use super::watcher::{Client, Watcher, config};
use crate::clock::{Clock, Moment};
use crate::ids::{HostPort, TopicName};
use crate::kafka::event::{ClientEvent, DisconnectCause};
use crate::kafka::net::producer::{Producer, Record};

/// Starts with a list of brokers that nobody reaches, and waits for its first `send` to fail.
async fn fails(cluster: &FakeCluster, nodes: &[i32], properties: &[(&str, &str)]) -> Client {
    cluster.add_topic("orders", &[1]);
    let client = Client::start_at(cluster, nodes.iter().copied().map(FakeCluster::address).collect(), properties);
    let failure = client.send_to("orders", None, 1).await.unwrap_err();
    assert_eq!((&*failure.kind, &*failure.text), ("TimeoutException", "Topic orders not present in metadata after 60000 ms."));
    assert_eq!(client.elapsed_ms(), 60_000);
    client
}

/// Pauses between the attempts to reach one broker.
fn gaps_ms(cluster: &FakeCluster, node: i32) -> Vec<u128> {
    let state = cluster.state();
    let moments: Vec<Moment> =
        state.attempts.iter().filter(|(_, address)| *address == FakeCluster::address(node)).map(|(at, _)| *at).collect();
    moments.windows(2).map(|pair| pair[1].since(pair[0]).as_millis()).collect()
}

fn ends(client: &Client) -> Vec<(u128, DisconnectCause)> {
    let ends = client.events().into_iter().filter_map(|(at, event)| match event {
        ClientEvent::Disconnected { cause, .. } => Some((client.ms_of(at), cause)),
        _ => None,
    });
    ends.collect()
}

#[tokio::test(start_paused = true)]
async fn a_dead_address_is_tried_after_50_ms_and_at_most_once_a_second() {
    let cluster = FakeCluster::new(1);
    cluster.set_door(1, Door::Shut);
    fails(&cluster, &[1], &[]).await;
    let gaps = gaps_ms(&cluster, 1);
    // The backoff of the connection, and on top of it what is left of the refresh's own, which each failure prolongs too.
    for (gap, least) in gaps.iter().zip([40, 80, 160, 320, 640]) {
        assert!((least..=1_060).contains(gap), "{gaps:?}");
    }
    assert!(gaps[0] <= 59 + 60, "{gaps:?}");
    assert!(gaps[5..].iter().all(|gap| (800..=1_060).contains(gap)), "{gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn of_three_dead_addresses_each_backs_off_by_itself() {
    let cluster = FakeCluster::new(3);
    (1..=3).for_each(|node| cluster.set_door(node, Door::Shut));
    fails(&cluster, &[1, 2, 3], &[]).await;
    for node in 1..=3 {
        let gaps = gaps_ms(&cluster, node);
        assert!(gaps[0] >= 40 && gaps[5..].iter().all(|gap| *gap >= 800), "{node}: {gaps:?}");
        assert!((20..90).contains(&gaps.len()), "{node}: {} attempts in a minute", gaps.len());
    }
}

#[tokio::test(start_paused = true)]
async fn one_dead_address_of_three_costs_less_than_a_second() {
    for dead in 1..=3 {
        let cluster = FakeCluster::new(3);
        cluster.add_topic("orders", &[dead % 3 + 1]);
        cluster.set_door(dead, Door::Shut);
        let client = Client::start_at(&cluster, (1..=3).map(FakeCluster::address).collect(), &[]);
        client.send(0, 1).await.unwrap();
        assert!(client.elapsed_ms() < 1_000, "{} ms with {dead} dead", client.elapsed_ms());
    }
}

#[tokio::test(start_paused = true)]
async fn an_address_that_swallows_packets_is_given_up_later_each_time() {
    let cluster = FakeCluster::new(1);
    cluster.set_door(1, Door::Swallows);
    let client = fails(&cluster, &[1], &[]).await;
    let ends = ends(&client);
    assert!(ends.iter().all(|(_, cause)| *cause == DisconnectCause::SetupTimeout), "{ends:?}");
    assert!((8_000..=12_001).contains(&ends[0].0), "{ends:?}");
    assert!((16_000..=24_200).contains(&(ends[1].0 - ends[0].0)), "{ends:?}");
}

#[tokio::test(start_paused = true)]
async fn an_address_that_says_nothing_is_given_up_after_the_request_timeout_and_stays_in_backoff() {
    let cluster = FakeCluster::new(1);
    cluster.always(1, ApiKey::ApiVersions, Some(Reaction::Silence));
    let client = fails(&cluster, &[1], &[("request.timeout.ms", "10000")]).await;
    let ends = ends(&client);
    assert!(ends.iter().all(|(_, cause)| *cause == DisconnectCause::RequestTimeout), "{ends:?}");
    let pauses: Vec<u128> = gaps_ms(&cluster, 1).iter().map(|gap| gap - 10_001).collect();
    for (pause, least) in pauses.iter().zip([40, 80, 160, 320]) {
        assert!((least..=1_060).contains(pause), "an open connection alone does not end the backoff: {pauses:?}");
    }
}

/// The same over real sockets: a port that nobody listens on, and one whose listener never answers.
#[tokio::test]
async fn over_real_sockets_the_first_send_fails_in_time_too() {
    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let bootstrap = [&mute, &closed].map(|listener| HostPort::new("127.0.0.1", listener.local_addr().unwrap().port()));
    drop(closed);
    let (clock, watcher) = (Clock::real(), std::sync::Arc::new(Watcher::default()));
    let observer = std::sync::Arc::clone(&watcher);
    let producer = Producer::start(config(&[("max.block.ms", "300")]), bootstrap.into(), "lab", clock.clone(), 5, observer);
    let (topic, before) = (TopicName::from("orders"), clock.now());
    let record = Record { topic: &topic, partition: None, key: None, value: b"1", timestamp_ms: 0, mark: 1, number: 1 };
    let failure = producer.send(&record).await.unwrap_err();
    assert_eq!(failure.text, "Topic orders not present in metadata after 300 ms.");
    assert!(clock.now().since(before) >= Duration::from_millis(300));
    producer.close(Duration::ZERO).await;
    drop(mute);
}
