//! Asking brokers on loopback listeners: some answer, some are silent, some are gone.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kafka_protocol::messages::ApiKey;
use tokio::net::TcpListener;

use crate::clock::Clock;
use crate::ids::{BrokerId, HostPort};
use crate::kafka::admin::Security;
use crate::kafka::admin::fake::{FakeBroker, Shared, shared};
use crate::kafka::raft::fake::{FakeController, Quorum};
use crate::probe::trace::diagnosis::Cause;
use crate::probe::trace::sighting::{Scope, Sighting, Silence};
use crate::probe::trace::{Outcome, Tracer, diagnose};

const WITHIN: Duration = Duration::from_millis(900);

async fn cluster() -> (Shared, [FakeBroker; 3]) {
    let state = shared(1);
    let brokers = [FakeBroker::start(1, 0, &state).await, FakeBroker::start(2, 0, &state).await, FakeBroker::start(3, 0, &state).await];
    let mut known = state.lock().unwrap();
    known.topics.insert("orders".into(), vec![vec![1, 2, 3], vec![2, 3, 1]]);
    known.ends.extend([(("orders".into(), 0), (10, 10)), (("orders".into(), 1), (20, 20))]);
    drop(known);
    (state, brokers)
}

async fn look(bootstrap: Vec<HostPort>) -> Sighting {
    Tracer::new(bootstrap, vec![], Scope::default(), Security::plaintext(), Clock::real()).look(WITHIN).await
}

#[tokio::test]
async fn those_that_are_named_are_asked_each_once() {
    let (state, brokers) = cluster().await;
    let sighting = look(vec![brokers[0].host_port()]).await;
    assert_eq!(sighting.views().count(), 3);
    assert_eq!(sighting.quorum().unwrap().leader, BrokerId(1));
    assert_eq!(sighting.served.values().filter(|served| served.is_ok()).count(), 2, "two of them lead something");
    let asked = state.lock().unwrap().asked.clone();
    let count = |api| asked.iter().filter(|(_, key, _)| *key == api).count();
    assert_eq!([ApiKey::Metadata, ApiKey::DescribeQuorum, ApiKey::DescribeCluster, ApiKey::ListOffsets].map(count), [3, 3, 3, 2]);
    assert!(asked.iter().all(|(client_id, ..)| client_id == "chaos-probe"));
    let topics: Vec<_> = sighting.views().map(|(_, view)| std::sync::Arc::as_ptr(&view.topics[0])).collect();
    assert!(topics.windows(2).all(|pair| pair[0] == pair[1]), "equal topics are kept once");
}

#[tokio::test]
async fn the_silent_the_gone_and_the_half_open_delay_nobody() {
    let (_state, [one, two, three]) = cluster().await;
    two.freeze(true);
    let gone = three.host_port();
    three.stop().await;
    // Takes connections into its backlog and never reads.
    let half_open = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let half_open = HostPort::new("127.0.0.1", half_open.local_addr().unwrap().port());
    let sighting = look(vec![half_open.clone(), one.host_port()]).await;
    assert!(sighting.took <= WITHIN, "{:?}", sighting.took);
    let why = |address: &HostPort| {
        let voice = sighting.voices.iter().find(|voice| voice.address == *address).unwrap();
        voice.view.as_ref().err().map(|unheard| unheard.why)
    };
    assert_eq!(why(&one.host_port()), None);
    assert_eq!(why(&two.host_port()), Some(Silence::Silent));
    assert_eq!(why(&gone), Some(Silence::Unreachable));
    assert!(matches!(why(&half_open), Some(Silence::Silent | Silence::Unreachable)), "{:?}", why(&half_open));
    assert!(
        matches!(&sighting.served[&BrokerId(2)], Err(unheard) if unheard.why == Silence::Silent),
        "known to be silent, not asked again"
    );
    let diagnosis = diagnose(&sighting);
    assert_eq!((diagnosis.outcome, diagnosis.findings[0].cause), (Outcome::Stuck, Cause::Undetected));
    assert_eq!(diagnosis.findings[0].nodes, [BrokerId(2), BrokerId(3)]);
}

#[tokio::test]
async fn where_nobody_answers_it_still_ends() {
    let nobody = HostPort::new("127.0.0.1", 1);
    let sighting = look(vec![nobody.clone(), HostPort::new("no-such-host.invalid", 9092)]).await;
    assert!(sighting.took <= WITHIN, "{:?}", sighting.took);
    let diagnosis = diagnose(&sighting);
    assert_eq!(diagnosis.outcome, Outcome::Unreachable);
    assert!(diagnosis.sentence.contains("127.0.0.1:1 (no connection)"), "{}", diagnosis.sentence);
}

#[tokio::test]
async fn a_cluster_without_an_active_controller_is_told_as_one() {
    let (state, brokers) = cluster().await;
    state.lock().unwrap().controller = None;
    let sighting = look(vec![brokers[0].host_port()]).await;
    assert_eq!(diagnose(&sighting).findings[0].cause, Cause::NoActiveController);
}

#[tokio::test]
async fn later_rounds_know_whom_earlier_ones_have_found() {
    let (_state, [one, two, _three]) = cluster().await;
    let mut tracer = Tracer::new(vec![one.host_port()], vec![], Scope::default(), Security::plaintext(), Clock::real());
    let first = tracer.look(WITHIN).await;
    one.stop().await;
    let second = tracer.look(WITHIN).await;
    assert_eq!(second.views().count(), 2);
    let shown = |sighting: &Sighting| {
        let (_, view) = sighting.views().find(|(address, _)| **address == two.host_port()).unwrap();
        std::sync::Arc::as_ptr(&view.topics[0])
    };
    assert_eq!(shown(&first), shown(&second), "what has not changed is the same value");
}

#[tokio::test]
async fn what_is_committed_once_brokers_are_asked_was_not_in_the_log_before() {
    let (state, [one, two, _three]) = cluster().await;
    // So the log has been read long before all brokers were heard.
    two.freeze(true);
    let mut committed = Quorum::led();
    committed.commit_topic("orders");
    let quorum = Arc::new(Mutex::new(committed));
    let controller = FakeController::start(0, &quorum).await;
    let committing = tokio::spawn(async move {
        while state.lock().unwrap().asked.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        quorum.lock().unwrap().commit_topic("payments");
    });
    let mut tracer =
        Tracer::new(vec![one.host_port()], vec![controller.address.clone()], Scope::default(), Security::plaintext(), Clock::real());
    let sighting = tracer.look(3 * WITHIN).await;
    committing.await.unwrap();
    assert_eq!(sighting.log_before.unwrap().topics().len(), 1);
    assert_eq!(sighting.log.unwrap().image.topics().len(), 2);
}
