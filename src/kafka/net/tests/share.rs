//! Many senders on one client.

use kafka_protocol::messages::ApiKey;

use super::fake::FakeCluster;
use super::watcher::Client;
use crate::kafka::event::ClientEvent;

/// How many Metadata requests it takes to wait half a minute for a topic that is not there.
async fn requests_for(senders: u64) -> usize {
    let cluster = FakeCluster::new(1);
    let client = std::sync::Arc::new(Client::start(&cluster, &[("max.block.ms", "30000")]));
    let sends: Vec<_> = (0..senders)
        .map(|mark| {
            let client = std::sync::Arc::clone(&client);
            tokio::spawn(async move { client.send_to("missing", None, mark).await })
        })
        .collect();
    for send in sends {
        let failure = send.await.unwrap().unwrap_err();
        assert_eq!(failure.text, "Topic missing not present in metadata after 30000 ms.");
    }
    assert_eq!(client.elapsed_ms(), 30_000, "none waits for another");
    let mut in_flight = 0;
    for (_, event) in client.events() {
        match event {
            ClientEvent::MetadataRequestSent { .. } => in_flight += 1,
            ClientEvent::MetadataRequestDone { .. } => in_flight -= 1,
            _ => {}
        }
        assert!((0..=1).contains(&in_flight), "one in flight at most");
    }
    cluster.asked(ApiKey::Metadata).len()
}

#[tokio::test(start_paused = true)]
async fn a_hundred_senders_that_block_on_one_topic_ask_as_one() {
    let (alone, together) = (requests_for(1).await, requests_for(100).await);
    // After the first, 100, 200, 400, 800 and then at most 1,000 ms of backoff.
    assert!((28..=44).contains(&alone), "{alone}");
    assert!(together.abs_diff(alone) <= 5, "{together} with a hundred senders, {alone} with one");
}
