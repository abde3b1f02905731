//! The probes at work on brokers that are made up: what they tell, and how they ask.

use std::time::Duration;

use super::board::Board;
use super::*;
use crate::clock::Clock;
use crate::ids::{BrokerId, HostPort};
use crate::kafka::admin::fake::{FakeBroker, Shared, shared};
use crate::kafka::admin::{Security, Traffic};
use crate::record::fact::{Fact, Stamped};
use crate::record::layer::{BrokerShows, ProbeSecond};
use crate::record::sink::{self, FactSink, FactSource};

/// Looks at `orders` over listeners that nothing secures.
fn config(nodes: Vec<ProbedNode>, facts: FactSink) -> ProbeConfig {
    ProbeConfig { nodes, topics: vec!["orders".into()], clients: Security::plaintext(), controllers: Security::plaintext(), facts }
}

/// Two brokers; broker 1 leads `orders/0` in epoch 3.
fn cluster() -> Shared {
    let state = shared(1);
    {
        let mut state = state.lock().unwrap();
        state.topics.insert("orders".into(), vec![vec![1, 2]]);
        state.epochs.insert(("orders".into(), 0), 3);
        state.ends.insert(("orders".into(), 0), (40, 40));
    }
    state
}

fn sink(clock: &Clock) -> (FactSink, FactSource) {
    sink::channel(clock.now() + Duration::from_secs(100), 0, 1_024)
}

fn node(id: i32, client_listener: Option<HostPort>) -> ProbedNode {
    ProbedNode { id: BrokerId(id), client_listener, controller_listener: None }
}

/// A fact of a layer, in short: who shows what, and whether it says since when at the latest it was otherwise.
fn short(fact: &Fact) -> Option<String> {
    match fact {
        Fact::BrokerShows { node, not_before_us, shows } => {
            let what = match shows {
                BrokerShows::Nothing { .. } => "nothing".to_owned(),
                BrokerShows::Brokers { brokers } => format!("{} brokers", brokers.len()),
                BrokerShows::Topic { topic, partition_count, .. } => format!("{topic} with {partition_count}"),
                BrokerShows::Partition { topic, partition, leader, leader_epoch, .. } => {
                    let (leader, epoch) = (leader.map_or(-1, |leader| leader.0), leader_epoch.map_or(-1, |epoch| epoch.0));
                    format!("{topic}/{partition} led by {leader} in {epoch}")
                }
            };
            Some(format!("{node} shows {what}{}", since(*not_before_us)))
        }
        Fact::Servable { node, topic, partition, leader_epoch, not_before_us, error, high_watermark } => {
            let said = error.map_or_else(|| format!("up to {}", high_watermark.unwrap()), |code| format!("error {code}"));
            Some(format!("{node} serves {topic}/{partition} in {}: {said}{}", leader_epoch.0, since(*not_before_us)))
        }
        Fact::NodeFetched { node, log_end_offset, not_before_us, .. } => {
            Some(format!("{node} fetched {log_end_offset}{}", since(*not_before_us)))
        }
        _ => None,
    }
}

fn since(not_before_us: Option<i64>) -> &'static str {
    if not_before_us.is_some() { ", not before" } else { "" }
}

/// The next facts of layers, as many as are expected, in the order of the alphabet: brokers are asked side by side.
async fn assert_told(source: &mut FactSource, expected: &[&str]) {
    let mut told = Vec::new();
    while told.len() < expected.len() {
        let next = tokio::time::timeout(Duration::from_secs(20), source.next()).await;
        let Ok(next) = next else { panic!("nothing more is told after {told:?}, and {expected:?} is expected") };
        told.extend(short(&next.unwrap().fact));
    }
    told.sort();
    assert_eq!(told, expected);
}

#[tokio::test]
async fn each_broker_is_followed_by_its_own_word() {
    let (state, clock) = (cluster(), Clock::real());
    let (one, two) = (FakeBroker::start(1, 0, &state).await, FakeBroker::start(2, 0, &state).await);
    let (facts, mut source) = sink(&clock);
    let nodes = vec![node(1, Some(one.host_port())), node(2, Some(two.host_port())), node(3, None)];
    let prober = Prober::start(config(nodes, facts), &clock).unwrap();
    let all = |id: i32| ["2 brokers", "orders with 1", "orders/0 led by 1 in 3"].map(|what| format!("{id} shows {what}"));
    let (first, second) = (all(1), all(2));
    let mut expected: Vec<_> = first.iter().chain(&second).map(String::as_str).collect();
    expected.insert(3, "1 serves orders/0 in 3: up to 40");
    expected.sort_unstable();
    assert_told(&mut source, &expected).await;

    {
        let mut state = state.lock().unwrap();
        state.topics.insert("orders".into(), vec![vec![2, 1]]);
        state.epochs.insert(("orders".into(), 0), 4);
    }
    prober.nudge().step_fired();
    let moved =
        ["1 shows orders/0 led by 2 in 4, not before", "2 serves orders/0 in 4: up to 40", "2 shows orders/0 led by 2 in 4, not before"];
    assert_told(&mut source, &moved).await;

    one.stop().await;
    assert_told(&mut source, &["1 shows nothing, not before"]).await;
    prober.finish().await;
    let mut last = None::<Stamped>;
    while let Some(next) = source.try_next() {
        last = Some(next);
    }
    let Some(Fact::ProbeSecond(cost)) = last.map(|stamped| stamped.fact) else { panic!("the cost comes last") };
    let ProbeSecond { request_bytes, response_bytes, fast_ms, .. } = *cost;
    assert!(cost.requests.contains_key("Metadata") && request_bytes > 0 && response_bytes > 0 && fast_ms > 0, "{cost:?}");
    assert!(state.lock().unwrap().asked.iter().all(|(client_id, ..)| client_id == CLIENT_ID));
}

#[tokio::test]
async fn a_broker_that_does_not_answer_keeps_its_one_question() {
    let (state, clock) = (cluster(), Clock::real());
    let one = FakeBroker::start(1, 0, &state).await;
    let (facts, mut source) = sink(&clock);
    let nodes = vec![node(1, Some(one.host_port()))];
    let prober = Prober::start(config(nodes, facts), &clock).unwrap();
    let all = ["1 serves orders/0 in 3: up to 40", "1 shows 1 brokers", "1 shows orders with 1", "1 shows orders/0 led by 1 in 3"];
    assert_told(&mut source, &all).await;
    one.freeze(true);
    prober.nudge().step_fired();
    assert_told(&mut source, &["1 shows nothing, not before"]).await;
    // Time for many more looks, if each were given up.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(state.lock().unwrap().connections, 1, "clients wait in the same queue");
    one.freeze(false);
    let again = [
        "1 serves orders/0 in 3: up to 40",
        "1 shows 1 brokers, not before",
        "1 shows orders with 1, not before",
        "1 shows orders/0 led by 1 in 3, not before",
    ];
    assert_told(&mut source, &again).await;
    // It is asked on, and a step that is done makes it be asked over a new connection.
    one.freeze(true);
    assert_told(&mut source, &["1 shows nothing, not before"]).await;
    prober.nudge().step_done();
    while state.lock().unwrap().connections < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    one.freeze(false);
    assert_told(&mut source, &again).await;
    prober.finish().await;
}

#[tokio::test]
async fn only_the_active_controller_is_asked_how_far_nodes_have_fetched() {
    let (state, clock) = (cluster(), Clock::real());
    let (one, two) = (FakeBroker::start(1, 0, &state).await, FakeBroker::start(2, 0, &state).await);
    let (facts, mut source) = sink(&clock);
    let board = std::sync::Arc::new(Board::new(Vec::new(), clock, facts));
    let controllers = [(BrokerId(1), one.host_port()), (BrokerId(2), two.host_port())].into();
    let task = tokio::spawn(quorum::watch(std::sync::Arc::clone(&board), controllers, CLIENT_ID.into(), Traffic::default()));
    let follow = |controller: Option<i32>| {
        board.state().controller = controller.map(BrokerId);
        board.stirred.notify_waiters();
    };
    two.freeze(true);
    follow(Some(2));
    tokio::task::yield_now().await;
    // The question to the one before is not waited for.
    follow(Some(1));
    assert_told(&mut source, &["1 fetched 60", "2 fetched 60"]).await;
    task.abort();
}

#[tokio::test]
async fn a_prober_that_is_dropped_asks_no_more() {
    let (state, clock) = (cluster(), Clock::real());
    let one = FakeBroker::start(1, 0, &state).await;
    let (facts, mut source) = sink(&clock);
    let nodes = vec![node(1, Some(one.host_port()))];
    drop(Prober::start(config(nodes, facts), &clock).unwrap());
    // The stream ends when the thread has let go of its end.
    let rest = async { while source.next().await.is_some() {} };
    tokio::time::timeout(Duration::from_secs(20), rest).await.unwrap();
}
