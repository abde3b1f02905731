//! The task against controllers on loopback listeners.

use super::fake::{FakeController, Quorum, Shared};
use super::*;
use crate::ids::BrokerId;
use crate::kafka::raft::machine::told::Told;
use crate::kafka::raft::record::ControlRecord;
use crate::kafka::raft::sample::{batch, control_batch, topic};

const CLIENT_ID: &str = "chaos-tail";

/// Three controllers; the first leads in epoch 1 and has written its election, and a topic that is not committed.
async fn three(fetch_max: i16) -> (Shared, Vec<FakeController>) {
    let elected = control_batch(0, 1, &ControlRecord::LeaderChange { leader: BrokerId(1) });
    let log = vec![elected, batch(1, 1, &[topic("a", 1)])];
    let quorum = Arc::new(Mutex::new(Quorum { active: Some((0, 1)), log, high_watermark: 1, fetch_max, ..Quorum::default() }));
    let mut controllers = Vec::new();
    for place in 0..3 {
        controllers.push(FakeController::start(place, &quorum).await);
    }
    (quorum, controllers)
}

fn start(addresses: Vec<HostPort>, traffic: &Traffic) -> (Arc<Told>, Tail) {
    let told = Arc::new(Told::default());
    let config = TailConfig { controllers: addresses, client: CLIENT_ID.into(), tells_history: false };
    let tail = Tail::start(config, Clock::real(), traffic.clone(), Arc::<Told>::clone(&told));
    (told, tail)
}

fn addresses(controllers: &[FakeController]) -> Vec<HostPort> {
    controllers.iter().map(|controller| controller.address.clone()).collect()
}

async fn until(mut is_so: impl FnMut() -> bool) {
    let awaited = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), awaited).await.expect("it becomes so within 10 s");
}

/// Waits for that many lines.
async fn lines(told: &Told, count: usize) -> Vec<String> {
    let mut lines = Vec::new();
    until(|| {
        lines.extend(told.lines());
        lines.len() >= count
    })
    .await;
    lines
}

#[tokio::test]
async fn the_active_controller_is_found_among_all_and_followed_to_the_next() {
    let (quorum, mut controllers) = three(18).await;
    let traffic = Traffic::default();
    let (told, tail) = start(addresses(&controllers), &traffic);
    let expected = ["follows 1 in epoch 1", "image First to 0 from 1: 0 topics", "record 1 of epoch 1: topic a"];
    assert_eq!(lines(&told, 3).await, expected);
    quorum.lock().unwrap().high_watermark = 2;
    assert_eq!(lines(&told, 1).await, ["committed 2"]);

    // It ends, and with it its listener; nobody leads for a while.
    quorum.lock().unwrap().active = None;
    drop(controllers.remove(0));
    let lost = lines(&told, 1).await;
    assert!(lost[0].starts_with("follows nobody: "), "{lost:?}");
    {
        let mut quorum = quorum.lock().unwrap();
        quorum.log.push(control_batch(2, 2, &ControlRecord::LeaderChange { leader: BrokerId(3) }));
        (quorum.active, quorum.high_watermark) = (Some((2, 2)), 3);
    }
    assert_eq!(lines(&told, 3).await, ["follows 3 in epoch 2", "record 2 of epoch 2: 3 elected", "committed 3"]);

    let counts = traffic.take();
    assert!(counts.requests["Fetch"] >= 4 && counts.requests["DescribeQuorum"] >= 4, "{counts:?}");
    assert!(counts.request_bytes > 500 && counts.response_bytes > 500, "{counts:?}");
    tail.stop().await;
    quorum.lock().unwrap().log.push(batch(3, 2, &[topic("b", 2)]));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!((told.lines().len(), traffic.take().requests.len()), (0, 0), "it has ended");
}

#[tokio::test]
async fn a_controller_that_steps_down_is_left() {
    let (quorum, controllers) = three(18).await;
    let (told, _tail) = start(addresses(&controllers), &Traffic::default());
    lines(&told, 3).await;
    quorum.lock().unwrap().active = Some((1, 2));
    let moved = lines(&told, 2).await;
    assert!(moved[0].starts_with("follows nobody: node 1 answers Fetch with NOT_LEADER"), "{moved:?}");
    assert_eq!(moved[1], "follows 2 in epoch 2");
}

#[tokio::test]
async fn a_commit_is_awaited_by_long_polls_or_by_short_ones() {
    for (fetch_max, is_short) in [(18, false), (17, true)] {
        let (quorum, controllers) = three(fetch_max).await;
        let (told, _tail) = start(addresses(&controllers), &Traffic::default());
        lines(&told, 3).await;
        let fetches = || quorum.lock().unwrap().fetches.clone();
        if is_short {
            until(|| fetches().len() > 3).await;
        } else {
            tokio::time::sleep(Duration::from_millis(60)).await;
            assert_eq!(fetches().len(), 2, "the second waits");
        }
        assert_eq!(fetches()[0], (500, (!is_short).then_some(-1)));
        assert_eq!(fetches()[1], if is_short { (5, None) } else { (500, Some(1)) });
        quorum.lock().unwrap().high_watermark = 2;
        assert_eq!(lines(&told, 1).await, ["committed 2"]);
        // All is committed: there is no hurry.
        until(|| *fetches().last().unwrap() == (500, (!is_short).then_some(2))).await;
    }
}

#[tokio::test]
async fn who_speaks_too_old_a_fetch_is_named() {
    let (_quorum, controllers) = three(11).await;
    let (told, _tail) = start(addresses(&controllers), &Traffic::default());
    let lines = lines(&told, 2).await;
    assert_eq!(lines[1], "follows nobody: the controller has no version of request 1 from 12 on that this client speaks");
}

#[tokio::test]
async fn without_any_controller_that_is_told_once() {
    let (_quorum, controllers) = three(18).await;
    let dead = addresses(&controllers);
    drop(controllers);
    let (told, _tail) = start(dead, &Traffic::default());
    let lost = lines(&told, 1).await;
    assert!(
        lost[0].starts_with("follows nobody: no controller leads: 127.0.0.1:") && lost[0].matches("cannot connect").count() == 3,
        "{lost:?}"
    );
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(told.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn a_silent_controller_holds_up_nobody() {
    let (quorum, mut controllers) = three(18).await;
    // It takes connections and never says a word.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut addresses = addresses(&controllers);
    addresses[1] = HostPort::new("127.0.0.1", silent.local_addr().unwrap().port());
    let (told, _tail) = start(addresses, &Traffic::default());
    assert_eq!(lines(&told, 3).await[0], "follows 1 in epoch 1");
    quorum.lock().unwrap().active = None;
    drop(controllers.remove(0));
    lines(&told, 1).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    quorum.lock().unwrap().active = Some((2, 2));
    let clock = Clock::real();
    let elected = clock.now();
    assert_eq!(lines(&told, 1).await, ["follows 3 in epoch 2"]);
    let waited = clock.now().since(elected);
    assert!(waited < Duration::from_millis(700), "{waited:?}");
}

#[tokio::test]
async fn one_that_was_cut_off_is_left_though_it_says_that_it_leads() {
    let (quorum, controllers) = three(18).await;
    // The second quorum is what the others have become since.
    let others = Arc::new(Mutex::new(Quorum { fetch_max: 18, ..Quorum::default() }));
    let other = FakeController::start(2, &others).await;
    let (told, _tail) = start(vec![controllers[0].address.clone(), other.address.clone()], &Traffic::default());
    lines(&told, 3).await;
    {
        let mut others = others.lock().unwrap();
        others.log = vec![quorum.lock().unwrap().log[0].clone(), control_batch(1, 2, &ControlRecord::LeaderChange { leader: BrokerId(3) })];
        (others.active, others.high_watermark) = (Some((2, 2)), 2);
    }
    let moved = lines(&told, 4).await;
    let expected =
        ["follows 3 in epoch 2", "truncated 1 from 1 on", "image Truncated to 0 from 3: 0 topics", "record 1 of epoch 2: 3 elected"];
    assert_eq!(moved[..4], expected);
}

#[tokio::test]
async fn without_addresses_it_says_so() {
    let (told, _tail) = start(Vec::new(), &Traffic::default());
    assert_eq!(lines(&told, 1).await, ["follows nobody: no controller's address is known"]);
}
