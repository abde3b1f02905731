//! Bytes and bounds: drips, partial writes, the in-flight limit, throttling, memory, closing.

use std::time::Duration;

use kafka_protocol::messages::ApiKey;

use super::fake::{FakeCluster, Reaction};
use super::watcher::Client;
use crate::kafka::event::{BlockedOn, ClientEvent, Outcome};

async fn settled(leaders: &[i32], properties: &[(&str, &str)]) -> Client {
    let cluster = FakeCluster::new(2);
    cluster.add_topic("orders", leaders);
    Client::settled(&cluster, 1, properties).await
}

#[tokio::test(start_paused = true)]
async fn answers_in_two_bytes_at_a_time_are_put_together() {
    let cluster = FakeCluster::new(1);
    cluster.add_topic("orders", &[1]);
    for api in [ApiKey::ApiVersions, ApiKey::Metadata, ApiKey::Produce] {
        cluster.always(1, api, Some(Reaction::Drip { bytes: 2, every: Duration::from_millis(1) }));
    }
    let client = Client::start(&cluster, &[]);
    client.send(0, 1).await.unwrap();
    client.wait_for_outcomes(1, Duration::from_secs(5)).await;
    let round_trips: Vec<_> = client
        .events()
        .into_iter()
        .filter_map(|(_, event)| match event {
            ClientEvent::MetadataRequestDone { response_bytes, round_trip, .. } => Some((response_bytes as u128, round_trip.as_millis())),
            _ => None,
        })
        .collect();
    let [(bytes, took_ms)] = round_trips[..] else { panic!("{round_trips:?}") };
    assert_eq!(took_ms, 10 + bytes.div_ceil(2) - 1, "a pause before each piece but the first");
}

#[tokio::test(start_paused = true)]
async fn a_pipe_that_takes_sixteen_bytes_at_a_time_carries_large_requests() {
    let cluster = FakeCluster::new(1);
    cluster.add_topic("orders", &[1]);
    cluster.state().pipe_bytes = 16;
    let client = Client::start(&cluster, &[("batch.size", "4096"), ("linger.ms", "20")]);
    for mark in 0..500 {
        client.send(0, mark).await.unwrap();
    }
    let told = client.wait_for_outcomes(500, Duration::from_secs(5)).await;
    assert!(told.iter().all(|told| matches!(told.outcome, Outcome::Ok { .. })));
    let expected: Vec<_> = (0..500).map(|mark: u64| mark.to_string().into_bytes()).collect();
    assert_eq!(cluster.log("orders", 0), expected);
}

#[tokio::test(start_paused = true)]
async fn no_more_requests_are_in_flight_than_allowed() {
    let client = settled(&[1], &[("linger.ms", "0"), ("max.in.flight.requests.per.connection", "2")]).await;
    client.cluster.script(1, ApiKey::Produce, Reaction::Delay(Duration::from_millis(30)));
    for mark in 0..4 {
        client.send(0, mark).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let told = client.wait_for_outcomes(4, Duration::from_secs(1)).await;
    let sent: Vec<_> = client.cluster.asked(ApiKey::Produce).iter().map(|asked| client.ms_of(asked.at)).collect();
    assert_eq!(sent, [0, 1, 40], "the first answer, 40 ms late, makes room; by then two records share a batch");
    let marks: Vec<_> = told.iter().map(|told| told.mark).collect();
    assert_eq!(marks, [0, 1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_asks_for_silence_gets_it_and_the_others_are_served() {
    let client = settled(&[1, 2], &[("linger.ms", "0")]).await;
    client.cluster.script(1, ApiKey::Produce, Reaction::Throttle(Duration::from_millis(200)));
    client.send(0, 1).await.unwrap();
    client.wait_for_outcomes(1, Duration::from_secs(1)).await;
    client.send(0, 2).await.unwrap();
    client.send(1, 3).await.unwrap();
    let sent_at = client.elapsed_ms();
    client.wait_for_outcomes(3, Duration::from_secs(1)).await;
    let sent: Vec<_> = client.cluster.asked(ApiKey::Produce).iter().map(|asked| (client.ms_of(asked.at), asked.node)).collect();
    assert_eq!(sent, [(0, 1), (sent_at, 2), (10 + 200, 1)]);
}

#[tokio::test(start_paused = true)]
async fn silence_is_kept_from_the_first_answer_on() {
    let cluster = FakeCluster::new(1);
    cluster.add_topic("orders", &[1]);
    cluster.script(1, ApiKey::ApiVersions, Reaction::Throttle(Duration::from_millis(200)));
    let client = Client::start(&cluster, &[]);
    client.send(0, 1).await.unwrap();
    let asked: Vec<_> = client.cluster.asked(ApiKey::Metadata).iter().map(|asked| client.ms_of(asked.at)).collect();
    assert!(asked[0] >= 200, "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_full_buffer_holds_senders_back_until_an_answer_frees_it() {
    // Room for two batches; what waits for the third makes the others go without lingering.
    let memory = [("buffer.memory", "40000"), ("linger.ms", "3000"), ("max.block.ms", "60")];
    let client = settled(&[1, 1, 1], &memory).await;
    client.send(0, 1).await.unwrap();
    client.send(1, 2).await.unwrap();
    assert_eq!(client.producer.view().buffer_free_bytes, 40_000 - 2 * 16_384);
    client.send(2, 3).await.unwrap();
    assert_eq!(client.elapsed_ms(), 10, "one round trip");
    let waits: Vec<_> = client.events().into_iter().filter(|(_, event)| matches!(event, ClientEvent::Blocked { .. })).collect();
    let expected = ClientEvent::Blocked { on: BlockedOn::Memory, took: Duration::from_millis(10), satisfied: true };
    assert_eq!(waits.iter().map(|(_, event)| event).collect::<Vec<_>>(), [&expected]);

    client.cluster.always(1, ApiKey::Produce, Some(Reaction::Silence));
    client.send(0, 4).await.unwrap();
    let failure = client.send(1, 5).await.unwrap_err();
    assert_eq!(client.elapsed_ms(), 10 + 60);
    assert_eq!(failure.kind, "BufferExhaustedException");
    assert_eq!(
        failure.text,
        "Failed to allocate 16384 bytes within the configured max blocking time 60 ms. Total memory: 40000 bytes. Available memory: 7232 \
         bytes. Poolable size: 16384 bytes"
    );
}

#[tokio::test(start_paused = true)]
async fn a_buffer_that_holds_no_batch_refuses_at_once() {
    let cluster = FakeCluster::new(1);
    cluster.add_topic("orders", &[1]);
    let client = Client::start(&cluster, &[("buffer.memory", "8000")]);
    let failure = client.send(0, 1).await.unwrap_err();
    assert!(client.elapsed_ms() < 1_000, "{} ms", client.elapsed_ms());
    assert_eq!(failure.kind, "IllegalArgumentException");
    assert_eq!(failure.text, "Attempt to allocate 16384 bytes, but there is a hard limit of 8000 on memory allocations.");
}

#[tokio::test(start_paused = true)]
async fn closing_sends_what_is_left_without_lingering() {
    let client = settled(&[1, 2], &[("linger.ms", "3000")]).await;
    client.send(0, 1).await.unwrap();
    client.send(1, 2).await.unwrap();
    client.producer.close(Duration::from_secs(5)).await;
    assert_eq!(client.elapsed_ms(), 10);
    let told = client.outcomes();
    assert!(told.len() == 2 && told.iter().all(|told| matches!(told.outcome, Outcome::Ok { .. })), "{told:?}");
    assert_eq!(client.producer.view().buffer_free_bytes, 33_554_432);
    let refused = client.send(0, 3).await.unwrap_err();
    assert_eq!(refused.text, "Cannot perform operation after producer has been closed");
}

#[tokio::test(start_paused = true)]
async fn what_a_close_cannot_send_in_time_fails_and_says_whether_it_may_be_written() {
    let client = settled(&[1, 2], &[("linger.ms", "0")]).await;
    client.cluster.always(1, ApiKey::Produce, Some(Reaction::Silence));
    client.cluster.kill(2);
    client.send(0, 1).await.unwrap();
    client.send(1, 2).await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    client.producer.close(Duration::from_millis(50)).await;
    assert_eq!(client.elapsed_ms(), 20 + 50);
    let told = client.wait_for_outcomes(2, Duration::from_secs(1)).await;
    for told in told {
        let failure = match (told.mark, told.outcome) {
            (1, Outcome::Indeterminate(failure)) | (2, Outcome::Failed(failure)) => failure,
            other => panic!("{other:?}"),
        };
        assert_eq!(failure.text, "Producer is closed forcefully.");
    }
}

#[tokio::test(start_paused = true)]
async fn closing_ends_a_send_that_waits() {
    let client = settled(&[1], &[]).await;
    let (sent, ()) = tokio::join!(client.send_to("no-such-topic", None, 1), async {
        tokio::time::sleep(Duration::from_millis(40)).await;
        client.producer.close(Duration::from_secs(5)).await;
    });
    assert_eq!(sent.unwrap_err().text, "Producer closed while send in progress");
    assert_eq!(client.elapsed_ms(), 40);
}
