//! Brokers that move, die, fall silent or talk nonsense while a settled client sends.

use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::messages::ApiKey;

use super::fake::{FakeCluster, Reaction};
use super::watcher::Client;
use crate::ids::BrokerId;
use crate::kafka::event::{ClientEvent, DisconnectCause, Outcome, UpdateReason};
use crate::kafka::wire::error::ErrorCode;

/// Three brokers; 1 and 2 lead the partitions of `orders`, 3 is the client's way in.
async fn settled(properties: &[(&str, &str)]) -> Client {
    let cluster = FakeCluster::new(3);
    cluster.add_topic("orders", &[1, 2]);
    let mut linger_0 = vec![("linger.ms", "0")];
    linger_0.extend_from_slice(properties);
    Client::settled(&cluster, 3, &linger_0).await
}

/// Waits for the one record's outcome: when it came.
async fn acknowledged(client: &Client) -> u128 {
    let told = client.wait_for_outcomes(1, Duration::from_secs(20)).await;
    assert!(matches!(told[0].outcome, Outcome::Ok { .. }), "{told:?}");
    client.ms_of(told[0].at)
}

fn disconnects(client: &Client) -> Vec<(u128, BrokerId, DisconnectCause)> {
    let end = |(at, event)| match event {
        ClientEvent::Disconnected { node, cause, .. } => Some((client.ms_of(at), node, cause)),
        _ => None,
    };
    client.events().into_iter().filter_map(end).collect()
}

fn batch_errors(client: &Client) -> Vec<(u128, ErrorCode)> {
    let error = |(at, event)| match event {
        ClientEvent::BatchError { code, retried: true, .. } => Some((client.ms_of(at), code)),
        _ => None,
    };
    client.events().into_iter().filter_map(error).collect()
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_moved_is_found_in_one_round_trip() {
    let client = settled(&[]).await;
    client.cluster.elect("orders", 0, 2);
    client.send(0, 1).await.unwrap();
    assert_eq!(acknowledged(&client).await, 30, "error 6, Metadata at once, then the new leader without backoff");
    assert_eq!(batch_errors(&client), [(10, ErrorCode::NOT_LEADER_OR_FOLLOWER)]);
    let sent: Vec<_> = client.cluster.asked(ApiKey::Produce).iter().map(|asked| (client.ms_of(asked.at), asked.node)).collect();
    assert_eq!(sent, [(0, 1), (20, 2)]);
    assert_eq!(client.cluster.log("orders", 0), [b"1".to_vec()]);
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_dies_in_mid_request_is_noticed_at_once() {
    let client = settled(&[]).await;
    client.send(0, 1).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    client.cluster.kill(1);
    client.cluster.elect("orders", 0, 2);
    assert_eq!(acknowledged(&client).await, 5 + 10 + 10, "Metadata from another broker, then the new leader without backoff");
    assert_eq!(disconnects(&client), [(5, BrokerId(1), DisconnectCause::Lost)]);
    assert_eq!(batch_errors(&client), [(5, ErrorCode::NETWORK_EXCEPTION)]);
    let asked = client.cluster.asked(ApiKey::Metadata);
    assert_eq!((asked.len(), client.ms_of(asked[0].at)), (1, 5));
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_comes_back_is_reached_again() {
    for is_still_listed in [false, true] {
        let client = settled(&[]).await;
        client.cluster.kill(1);
        client.cluster.state().brokers.get_mut(&1).unwrap().is_listed = is_still_listed;
        client.send(0, 1).await.unwrap();
        tokio::time::sleep(Duration::from_millis(700)).await;
        assert!(client.outcomes().is_empty());
        client.cluster.revive(1);
        let at = acknowledged(&client).await;
        assert!((720..=700 + 1_000 + 30).contains(&at), "at most one backoff later: {at} ms");
        let tried = disconnects(&client).iter().any(|(_, node, cause)| (*node, *cause) == (BrokerId(1), DisconnectCause::Refused));
        assert_eq!(tried, is_still_listed, "a leader that no answer names is waited for, not tried");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_broker_is_left_after_the_request_timeout() {
    let client = settled(&[("request.timeout.ms", "1000")]).await;
    client.cluster.script(1, ApiKey::Produce, Reaction::Silence);
    client.send(0, 1).await.unwrap();
    let at = acknowledged(&client).await;
    assert_eq!(disconnects(&client), [(1_001, BrokerId(1), DisconnectCause::RequestTimeout)], "more than 1000 ms, in whole ms");
    assert_eq!(batch_errors(&client), [(1_001, ErrorCode::REQUEST_TIMED_OUT)]);
    assert!((1_001 + 80 + 20..=1_001 + 119 + 20 + 1).contains(&at), "the same leader again after the retry's backoff: {at} ms");
    let reasons = client.events().into_iter().filter_map(|(_, event)| match event {
        ClientEvent::MetadataRequestSent { reason, .. } => Some(reason),
        _ => None,
    });
    assert_eq!(reasons.collect::<Vec<_>>(), [UpdateReason::Disconnect]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_carries_nothing_for_its_idle_time_is_closed_though_a_request_waits_on_it() {
    let client = settled(&[("connections.max.idle.ms", "5000")]).await;
    client.cluster.script(1, ApiKey::Produce, Reaction::Silence);
    client.send(0, 1).await.unwrap();
    acknowledged(&client).await;
    assert!(disconnects(&client).contains(&(5_000, BrokerId(1), DisconnectCause::Idle)), "{:?}", disconnects(&client));
    assert_eq!(batch_errors(&client), [(5_000, ErrorCode::NETWORK_EXCEPTION)]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_another_request_ends_the_connection() {
    let client = settled(&[]).await;
    client.cluster.script(1, ApiKey::Produce, Reaction::CorrelationId(77_000));
    client.send(0, 1).await.unwrap();
    acknowledged(&client).await;
    assert_eq!(disconnects(&client), [(10, BrokerId(1), DisconnectCause::Protocol)]);
    assert_eq!(batch_errors(&client), [(10, ErrorCode::NETWORK_EXCEPTION)]);
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_answer_end_the_connection_and_nothing_else() {
    let garbage: [&'static [u8]; 4] = [&[0, 0, 0, 3, 1, 2, 3], &[0xff; 64], &[0x7f, 0xff, 0xff, 0xff], &[0, 0, 0, 4, 0, 0, 0, 0]];
    for bytes in garbage {
        for api in [ApiKey::Produce, ApiKey::Metadata] {
            let client = settled(&[("metadata.max.age.ms", "2000")]).await;
            for node in 1..=3 {
                client.cluster.script(node, api, Reaction::Raw(Bytes::from_static(bytes)));
            }
            tokio::time::sleep(Duration::from_millis(2_500)).await;
            client.send(0, 1).await.unwrap();
            acknowledged(&client).await;
            let ends = disconnects(&client);
            assert!(ends.iter().any(|(_, _, cause)| *cause == DisconnectCause::Protocol), "{api:?}, {bytes:?}: {ends:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_cut_off_is_no_answer() {
    let client = settled(&[]).await;
    client.cluster.script(1, ApiKey::Produce, Reaction::CutAfter(7));
    client.send(0, 1).await.unwrap();
    acknowledged(&client).await;
    assert_eq!(disconnects(&client), [(10, BrokerId(1), DisconnectCause::Lost)]);
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_closes_instead_of_answering_is_asked_again() {
    let client = settled(&[]).await;
    client.cluster.script(1, ApiKey::Produce, Reaction::Disconnect);
    client.send(0, 1).await.unwrap();
    let at = acknowledged(&client).await;
    assert!((80 + 20..=119 + 20 + 1).contains(&at), "{at} ms");
    assert_eq!(client.cluster.log("orders", 0), [b"1".to_vec()], "the first request was not carried out");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_can_pass_is_retried_with_growing_backoff_and_one_that_cannot_is_told() {
    let client = settled(&[]).await;
    for _ in 0..3 {
        client.cluster.script(1, ApiKey::Produce, Reaction::Refuse(19));
    }
    client.send(0, 1).await.unwrap();
    acknowledged(&client).await;
    let sent: Vec<_> = client.cluster.asked(ApiKey::Produce).iter().map(|asked| client.ms_of(asked.at)).collect();
    for (pair, (least, most)) in sent.windows(2).zip([(90, 130), (170, 250), (330, 490)]) {
        assert!((least..=most).contains(&(pair[1] - pair[0])), "{sent:?}: NOT_ENOUGH_REPLICAS, 10 ms away");
    }
    assert!(client.cluster.asked(ApiKey::Metadata).is_empty(), "19 does not speak of metadata");
    client.cluster.script(1, ApiKey::Produce, Reaction::Refuse(87));
    client.send(0, 2).await.unwrap();
    let told = client.wait_for_outcomes(2, Duration::from_secs(1)).await;
    assert!(matches!(&told[1].outcome, Outcome::Failed(failure) if failure.code == Some(ErrorCode(87))), "{told:?}");
}
