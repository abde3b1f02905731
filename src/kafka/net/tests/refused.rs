//! Brokers that do not accept the client's password.

use std::time::Duration;

use super::fake::{Door, FakeCluster};
use super::watcher::Client;
use crate::ids::BrokerId;
use crate::kafka::event::{ClientEvent, DisconnectCause, Outcome};

#[tokio::test(start_paused = true)]
async fn a_send_that_waits_for_metadata_fails_as_soon_as_the_client_is_refused() {
    let cluster = FakeCluster::new(1);
    cluster.add_topic("orders", &[1]);
    cluster.set_door(1, Door::Denies);
    let client = Client::start(&cluster, &[("max.block.ms", "60000")]);
    let mut failed_at = Vec::new();
    for mark in 0..3 {
        let failure = client.send(0, mark).await.unwrap_err();
        assert_eq!((failure.kind.as_str(), failure.text.as_str()), ("SaslAuthenticationException", "wrong password"));
        assert_eq!(failure.code.map(|code| code.0), Some(58));
        failed_at.push(client.elapsed_ms());
    }
    assert!(
        failed_at[0] == 0 && failed_at[1] >= 40 && failed_at[2] - failed_at[1] >= 80,
        "each hears of an attempt of its own: {failed_at:?}"
    );
    assert!(failed_at[2] < 2_000, "{failed_at:?}");
    let causes: Vec<_> = client
        .events()
        .into_iter()
        .filter_map(|(_, event)| match event {
            ClientEvent::Disconnected { node, cause, .. } => Some((node, cause)),
            _ => None,
        })
        .collect();
    assert!(!causes.is_empty() && causes.iter().all(|(_, cause)| *cause == DisconnectCause::Authentication), "{causes:?}");
    cluster.set_door(1, Door::Open);
    client.send(0, 3).await.unwrap();
    let told = client.wait_for_outcomes(1, Duration::from_secs(5)).await;
    assert!(matches!(told[0].outcome, Outcome::Ok { .. }), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn records_that_were_appended_wait_until_the_client_is_accepted_or_their_time_is_over() {
    let cluster = FakeCluster::new(2);
    cluster.add_topic("orders", &[1]);
    let properties = [("linger.ms", "0"), ("request.timeout.ms", "2000"), ("delivery.timeout.ms", "5000")];
    let client = Client::settled(&cluster, 2, &properties).await;
    cluster.kill(1);
    cluster.set_door(1, Door::Denies);
    cluster.state().brokers.get_mut(&1).unwrap().is_listed = true;
    client.send(0, 1).await.unwrap();
    let told = client.wait_for_outcomes(1, Duration::from_secs(20)).await;
    assert!((5_000..5_100).contains(&client.ms_of(told[0].at)), "{told:?}");
    assert!(matches!(&told[0].outcome, Outcome::Failed(failure) if failure.kind == "TimeoutException"), "{told:?}");
    client.send(0, 2).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    cluster.revive(1);
    let told = client.wait_for_outcomes(2, Duration::from_secs(20)).await;
    assert!(matches!(told[1].outcome, Outcome::Ok { .. }), "{told:?}");
    let refused =
        |event: &ClientEvent| matches!(event, ClientEvent::Disconnected { node: BrokerId(1), cause: DisconnectCause::Authentication, .. });
    assert!(client.events().iter().filter(|(_, event)| refused(event)).count() > 3, "it goes on trying");
}
