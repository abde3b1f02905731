//! Steps end to end, against brokers on the loopback and in real time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::fake::FakeCluster;
use super::*;
use crate::clock::{Clock, Moment};
use crate::cluster::Cluster;
use crate::ids::{BrokerId, PartitionIndex, TopicPartition};
use crate::plan::model::{
    Action, Ceiling, ClientFault, Condition, Down, Election, LimitChange, LinkAct, Pace, PropertyChange, Reassignment, Replication,
    Reshape, Step, Target, TopicSpec,
};

#[derive(Debug, Default)]
struct Log(Mutex<Vec<StepEvent>>);

impl StepSink for Log {
    fn on_step(&self, event: StepEvent) {
        self.0.lock().unwrap().push(event);
    }
}

impl Log {
    /// When a step was requested, acknowledged and observed.
    fn times(&self, number: u32) -> [Option<Moment>; 3] {
        let mut times = [None; 3];
        for event in self.0.lock().unwrap().iter() {
            match event {
                StepEvent::Requested { step, at, .. } if step.number.0 == number => times[0] = Some(*at),
                StepEvent::Acknowledged { step, at } if step.0 == number => times[1] = Some(*at),
                StepEvent::Observed { step, at, .. } if step.0 == number => times[2] = Some(*at),
                _ => {}
            }
        }
        times
    }

    /// What was seen of a step.
    fn detail(&self, number: u32) -> String {
        let told = self.0.lock().unwrap();
        let seen = told.iter().find_map(|event| match event {
            StepEvent::Observed { step, detail, .. } if step.0 == number => Some(detail.clone()),
            _ => None,
        });
        seen.unwrap_or_default()
    }

    /// The node that a step was done to.
    fn node(&self, number: u32) -> Option<ResolvedNode> {
        self.0.lock().unwrap().iter().find_map(|event| match event {
            StepEvent::Requested { step, nodes, .. } if step.number.0 == number => nodes.first().copied(),
            _ => None,
        })
    }
}

struct Run {
    log: Arc<Log>,
    guards: Arc<Guards>,
    summary: StepsSummary,
}

async fn run(cluster: &Arc<FakeCluster>, actions: impl IntoIterator<Item = Action>) -> Run {
    run_observing(cluster, actions, Duration::from_secs(10)).await
}

async fn run_observing(cluster: &Arc<FakeCluster>, actions: impl IntoIterator<Item = Action>, within: Duration) -> Run {
    let steps: Vec<_> = actions.into_iter().map(|action| Step { at: Duration::ZERO, action, line: 1 }).collect();
    let (clock, log, guards) = (Clock::real(), Arc::new(Log::default()), Arc::new(Guards::default()));
    let sink: Arc<dyn StepSink> = Arc::<Log>::clone(&log);
    let cluster: Arc<dyn Cluster> = Arc::<FakeCluster>::clone(cluster);
    let runner = StepRunner::new(cluster, clock.clone(), 7, Arc::clone(&guards), sink).with_observe_within(within);
    let summary = runner.run(&steps, clock.now()).await;
    Run { log, guards, summary }
}

impl Run {
    fn only_failure(&self) -> Outcome {
        let [failed] = &self.summary.failed[..] else { panic!("{:?}", self.summary.failed) };
        failed.outcome.clone()
    }
}

fn node(id: i32) -> Target {
    Target::Node(BrokerId(id))
}

fn orders(partition: i32) -> TopicPartition {
    TopicPartition { topic: "orders".into(), partition: PartitionIndex(partition) }
}

fn spec(name: &str, partitions: u32) -> TopicSpec {
    TopicSpec { name: name.into(), partitions, replication: Replication::Factor(1), config: [].into() }
}

#[tokio::test]
async fn a_kill_tells_whom_it_hit_and_is_seen_when_the_listener_is_silent() {
    let cluster = Arc::new(FakeCluster::start(3).await);
    cluster.topic("orders", &[&[1, 2], &[2, 3], &[1, 3]]);
    let run = run(&cluster, [Action::Kill { target: Target::LeaderOf(orders(0)) }]).await;
    assert_eq!(run.summary.failed, []);
    assert_eq!(cluster.calls(), ["kill 1"]);
    assert_eq!(run.log.node(1), Some(ResolvedNode { id: BrokerId(1), was_controller: Some(true), led: Some(2) }));
    let [requested, acknowledged, observed] = run.log.times(1);
    assert!(requested.is_some() && requested <= acknowledged && acknowledged <= observed);
    assert_eq!(run.summary.last_acknowledged, acknowledged);
    assert_eq!(run.guards.in_force(), [Heal::Start(BrokerId(1))]);
}

#[tokio::test]
async fn a_start_is_observed_when_the_node_serves_and_meanwhile_the_next_step_fires() {
    let boot = Duration::from_millis(150);
    let cluster = Arc::new(FakeCluster::start_slow(2, boot).await);
    let actions = [Action::Kill { target: node(2) }, Action::Start { target: node(2) }, Action::Pause { target: node(1) }];
    let run = run(&cluster, actions).await;
    assert_eq!(run.summary.failed, []);
    let [_, acknowledged, observed] = run.log.times(2);
    assert!(observed.unwrap().since(acknowledged.unwrap()) >= boot, "it does not serve before");
    assert!(run.log.times(3)[0] < observed, "the pause did not wait for that");
    assert_eq!(run.guards.in_force(), [Heal::Unpause(BrokerId(1))], "the started node needs no healing");
}

#[tokio::test]
async fn a_rolling_restart_goes_through_every_node() {
    let cluster = Arc::new(FakeCluster::start(3).await);
    cluster.topic("orders", &[&[1, 2, 3]]);
    let rolling = Action::Rolling {
        brokers: vec![],
        how: Down::Stop { grace: Duration::from_secs(1) },
        down: Duration::from_millis(20),
        then: Some(Condition::IsrFull),
        within: Duration::from_secs(5),
    };
    let run = run(&cluster, [rolling]).await;
    assert_eq!(run.summary.failed, []);
    assert_eq!(cluster.calls(), ["stop 1", "start 1", "stop 2", "start 2", "stop 3", "start 3"]);
    for stop in [2, 5, 8] {
        let [[_, stopped, _], [started, ..]] = [run.log.times(stop), run.log.times(stop + 1)];
        assert!(started.unwrap().since(stopped.unwrap()) >= Duration::from_millis(20));
    }
}

#[tokio::test]
async fn a_topic_is_observed_when_every_running_broker_shows_it() {
    let cluster = Arc::new(FakeCluster::start(2).await);
    cluster.state.lock().unwrap().blind.insert(2);
    let seeing = async {
        tokio::time::sleep(Duration::from_millis(150)).await;
        cluster.state.lock().unwrap().blind.clear();
    };
    let grow = Action::AddPartitions { topic: "orders".into(), to: 6 };
    let (run, ()) = tokio::join!(run(&cluster, [Action::CreateTopic { topic: spec("orders", 3) }, grow]), seeing);
    assert_eq!(run.summary.failed, []);
    let [_, acknowledged, observed] = run.log.times(1);
    assert!(observed.unwrap().since(acknowledged.unwrap()) >= Duration::from_millis(50), "broker 2 did not show it before");
}

#[tokio::test]
async fn a_step_that_nobody_can_see_is_not_done() {
    let cluster = Arc::new(FakeCluster::start(2).await);
    cluster.state.lock().unwrap().blind.insert(2);
    let create = Action::CreateTopic { topic: spec("orders", 3) };
    let run = run_observing(&cluster, [create], Duration::from_millis(300)).await;
    assert_eq!(run.only_failure(), Outcome::NotObserved("broker 2: does not show topic orders".to_owned()));
}

#[tokio::test]
async fn a_step_that_would_change_nothing_is_a_no_op_and_stops_the_plan() {
    let rows = [
        Action::Start { target: node(1) },
        Action::Unpause { target: node(1) },
        Action::AddPartitions { topic: "orders".into(), to: 2 },
        Action::CreateTopic { topic: spec("orders", 1) },
        Action::DeleteTopic { topic: "nothing".into() },
    ];
    for action in rows {
        let cluster = Arc::new(FakeCluster::start(1).await);
        cluster.topic("orders", &[&[1], &[1]]);
        let run = run(&cluster, [action.clone(), Action::Kill { target: node(1) }]).await;
        assert!(matches!(run.only_failure(), Outcome::NoOp(_)), "{action:?}: {:?}", run.summary.failed);
        assert_eq!(cluster.calls(), [""; 0], "{action:?}");
        assert_eq!((run.summary.dropped, run.log.times(1)[1]), (1, None));
    }
}

#[tokio::test]
async fn growing_a_topic_that_does_not_exist_is_no_no_op_but_a_failure() {
    let cluster = Arc::new(FakeCluster::start(1).await);
    let run = run(&cluster, [Action::AddPartitions { topic: "orders".into(), to: 2 }]).await;
    assert_eq!(run.only_failure(), Outcome::Failed("topic orders: UNKNOWN_TOPIC_OR_PARTITION (3)".to_owned()));
}

#[tokio::test]
async fn a_target_that_does_not_exist_fails_under_a_number() {
    let cluster = Arc::new(FakeCluster::start(1).await);
    let run = run(&cluster, [Action::Kill { target: Target::LeaderOf(orders(0)) }]).await;
    assert_eq!(run.only_failure(), Outcome::Failed("partition orders/0 does not exist".to_owned()));
    assert!(run.log.times(1)[0].is_some());
}

#[tokio::test]
async fn a_condition_that_does_not_come_fails_with_what_is_missing() {
    let cluster = Arc::new(FakeCluster::start(2).await);
    cluster.topic("orders", &[&[1, 2]]);
    cluster.state.lock().unwrap().out_of_sync.insert(2);
    let wait = |until| Action::Wait { until, within: Duration::from_millis(700) };
    let run = run(&cluster, [wait(Condition::CaughtUp), wait(Condition::IsrFull)]).await;
    let why = "it did not hold within 700ms: broker 1: orders/0 has ISR [1] of [1, 2]";
    assert_eq!(run.only_failure(), Outcome::Failed(why.to_owned()));
    assert!(run.log.times(1)[2].is_some(), "the first wait came true");
}

fn link(from: Target, to: Target, act: LinkAct, lasts: Option<Duration>) -> Action {
    Action::NodeLink { from, to, act, lasts }
}

#[tokio::test]
async fn a_link_that_is_cut_stays_so_and_is_healed_by_its_guard() {
    let cluster = Arc::new(FakeCluster::start(3).await);
    let run = run(&cluster, [link(node(2), Target::All, LinkAct::Cut, None), link(node(2), node(1), LinkAct::Mend, None)]).await;
    assert_eq!(run.summary.failed, []);
    assert_eq!(cluster.calls(), ["cut 2 -> 1, 3", "mend 2 -> 1"]);
    assert_eq!(run.guards.in_force(), [Heal::MendLink { from: BrokerId(2), to: BrokerId(3) }]);
    assert!(run.guards.heal_all(&*cluster, &Clock::real(), true).await.is_empty());
    assert_eq!(cluster.calls()[2..], ["mend 2 -> 3"]);
}

#[tokio::test]
async fn a_link_with_a_time_is_cut_and_mended_between_the_same_two_nodes() {
    let cluster = Arc::new(FakeCluster::start(2).await);
    cluster.topic("orders", &[&[2, 1]]);
    let lasts = Duration::from_millis(40);
    let run = run(&cluster, [link(Target::LeaderOf(orders(0)), Target::Controller, LinkAct::Cut, Some(lasts))]).await;
    assert_eq!(run.summary.failed, []);
    assert_eq!(cluster.calls(), ["cut 2 -> 1", "mend 2 -> 1"]);
    let [[_, cut, _], [mended, ..]] = [run.log.times(2), run.log.times(3)];
    assert!(mended.unwrap().since(cut.unwrap()) >= lasts);
    assert_eq!(run.guards.in_force(), []);
}

#[tokio::test]
async fn a_link_that_is_so_already_is_a_no_op_and_a_link_to_itself_fails() {
    let cut = || link(node(2), node(1), LinkAct::Cut, None);
    let cluster = Arc::new(FakeCluster::start(2).await);
    let twice = run(&cluster, [cut(), cut()]).await;
    assert_eq!(twice.only_failure(), Outcome::NoOp("node 2 is cut off from node 1 already".to_owned()));
    let cluster = Arc::new(FakeCluster::start(2).await);
    let mend = run(&cluster, [link(node(2), node(1), LinkAct::Mend, None)]).await;
    assert_eq!(mend.only_failure(), Outcome::NoOp("node 2 reaches node 1 already".to_owned()));
    let itself = run(&cluster, [link(node(1), Target::Controller, LinkAct::Cut, None)]).await;
    assert_eq!(itself.only_failure(), Outcome::Failed("node 1 has no link to itself".to_owned()));
}

fn client_link(to: Target, group: Option<&str>, fault: ClientFault, lasts: Option<Duration>) -> Action {
    Action::ClientLink { to, group: group.map(str::to_owned), fault, lasts }
}

#[tokio::test]
async fn links_from_clients_are_hurt_seen_and_healed() {
    let cluster = Arc::new(FakeCluster::start(2).await.with_relay());
    let delay = Duration::from_millis(30);
    let slow = ClientFault::Slow(Pace { delay, ..Pace::default() });
    let actions = [
        client_link(node(2), None, ClientFault::BlackHole, Some(Duration::from_millis(10))),
        client_link(Target::All, Some("steady"), slow, None),
        client_link(Target::Controller, None, ClientFault::Reset, None),
        client_link(node(2), None, ClientFault::HalfOpen, None),
    ];
    let run = run(&cluster, actions).await;
    assert_eq!(run.summary.failed, []);
    let details: Vec<String> = (1..=6).map(|step| run.log.detail(step)).collect();
    assert_eq!(details[0], "", "of a group only its parts are seen");
    assert!(details[1].starts_with("broker 2 does not answer through the relay"), "{details:?}");
    assert!(details[2].starts_with("broker 2 answers through the relay"), "{details:?}");
    assert!(details[3].contains("; ") || details[3].contains("own word"), "both brokers: {details:?}");
    assert_eq!(details[4], "connections to broker 1 are reset");
    assert!(details[5].contains("own word"), "{details:?}");
    assert_eq!(run.guards.in_force(), [Heal::ClientLinks]);
    let relay = cluster.relay().unwrap();
    assert!(!relay.is_whole());
    assert!(run.guards.heal_all(&*cluster, &Clock::real(), false).await.is_empty());
    assert!(relay.is_whole(), "also of a cluster that is about to go");
}

#[tokio::test]
async fn a_link_from_clients_that_is_so_already_is_a_no_op() {
    let cluster = Arc::new(FakeCluster::start(2).await.with_relay());
    let run = run(&cluster, [client_link(Target::All, None, ClientFault::None, None)]).await;
    assert_eq!(run.only_failure(), Outcome::NoOp("the links between these clients and broker 1, 2 are so already".to_owned()));
    assert_eq!(run.guards.in_force(), []);
}

#[tokio::test]
async fn all_nodes_are_hit_at_once_as_parts_of_a_group() {
    let cluster = Arc::new(FakeCluster::start(3).await);
    let run = run(&cluster, [Action::Restart { target: Target::All, how: Down::Kill, down: Duration::ZERO }]).await;
    assert_eq!(run.summary.failed, []);
    let mut calls = cluster.calls();
    calls[..3].sort();
    calls[3..].sort();
    assert_eq!(calls, ["kill 1", "kill 2", "kill 3", "start 1", "start 2", "start 3"]);
}

#[tokio::test]
async fn a_node_off_the_network_is_asked_by_nobody_until_it_is_back() {
    let cluster = Arc::new(FakeCluster::start(3).await);
    cluster.topic("orders", &[&[1, 2]]);
    let disconnect = || Action::Disconnect { target: Target::LeaderOf(orders(0)) };
    let grow = Action::AddPartitions { topic: "orders".into(), to: 2 };
    let run = run(&cluster, [disconnect(), grow, Action::Connect { target: node(1) }, disconnect()]).await;
    assert_eq!(run.summary.failed, []);
    assert_eq!(cluster.calls(), ["disconnect 1", "connect 1", "disconnect 1"]);
    assert_eq!(run.log.node(1), Some(ResolvedNode { id: BrokerId(1), was_controller: Some(true), led: Some(1) }));
    assert!(run.log.times(2)[2].is_some(), "the others show what broker 1 cannot");
    assert_eq!(run.guards.in_force(), [Heal::Connect(BrokerId(1))]);
    assert!(run.guards.heal_all(&*cluster, &Clock::real(), true).await.is_empty());
    assert!(cluster.is_connected(BrokerId(1)).await.unwrap());
}

#[tokio::test]
async fn a_limit_changes_what_it_names_and_is_undone_where_the_cluster_stays() {
    let cluster = Arc::new(FakeCluster::start(1).await);
    let limit = |cpu_thousandths, memory_bytes| Action::Limit { target: node(1), change: LimitChange { cpu_thousandths, memory_bytes } };
    let half = Some(Ceiling::AtMost(500));
    let run = run(&cluster, [limit(half, Some(Ceiling::AtMost(512 << 20))), limit(None, Some(Ceiling::Usual)), limit(half, None)]).await;
    assert_eq!(run.only_failure(), Outcome::NoOp("node 1 may use 0.5 cores, 768 MiB already".to_owned()));
    assert_eq!(cluster.calls(), ["limit to 0.5 cores, 512 MiB: 1", "limit to 0.5 cores, 768 MiB: 1"]);
    assert_eq!(run.guards.in_force(), [Heal::Limits(BrokerId(1))]);
    assert!(run.guards.heal_all(&*cluster, &Clock::real(), true).await.is_empty());
    assert_eq!(cluster.calls()[2..], ["limit to every core, 768 MiB: 1"]);
}

#[tokio::test]
async fn a_broker_that_joins_is_expected_from_then_on() {
    let cluster = Arc::new(FakeCluster::start_slow(2, Duration::from_millis(100)).await.with_joiner().await);
    cluster.topic("orders", &[&[1, 2]]);
    let wait = |until| Action::Wait { until, within: Duration::from_secs(5) };
    let until_seen = wait(Condition::Elapsed(Duration::from_secs(1)));
    let run = run(&cluster, [wait(Condition::IsrFull), Action::AddBroker, until_seen, Action::Pause { target: Target::All }]).await;
    assert_eq!(run.summary.failed, []);
    let mut calls = cluster.calls();
    calls[1..].sort();
    assert_eq!(calls, ["start 3", "pause 1", "pause 2", "pause 3"]);
    assert_eq!(run.log.node(2).map(|node| node.id), Some(BrokerId(3)));
    let [_, acknowledged, observed] = run.log.times(2);
    assert!(observed.unwrap().since(acknowledged.unwrap()) >= Duration::from_millis(100), "it does not answer before");
}

#[tokio::test]
async fn a_node_that_is_on_its_network_cannot_be_brought_back() {
    let cluster = Arc::new(FakeCluster::start(1).await);
    let run = run(&cluster, [Action::Connect { target: node(1) }]).await;
    assert_eq!(run.only_failure(), Outcome::NoOp("node 1 is on its network".to_owned()));
}

#[tokio::test]
async fn a_run_that_is_cut_off_leaves_guards_that_heal_in_reverse_order() {
    let cluster = Arc::new(FakeCluster::start(3).await);
    let guards = Arc::new(Guards::default());
    let (clock, sink) = (Clock::real(), Arc::new(Log::default()));
    let shared: Arc<dyn Cluster> = Arc::<FakeCluster>::clone(&cluster);
    let runner = StepRunner::new(shared, clock.clone(), 7, Arc::clone(&guards), sink);
    let step = |action| Step { at: Duration::ZERO, action, line: 1 };
    let steps = [
        step(Action::Pause { target: node(2) }),
        step(Action::Kill { target: node(3) }),
        step(Action::Pause { target: node(1) }),
        step(Action::Wait { until: Condition::Elapsed(Duration::from_secs(60)), within: Duration::from_secs(60) }),
    ];
    let hurt = async {
        while guards.in_force().len() < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        _ = runner.run(&steps, clock.now()) => panic!("the wait is long"),
        () = hurt => {}
    }
    assert!(guards.heal_all(&*cluster, &Clock::real(), false).await.is_empty());
    assert_eq!(cluster.calls()[3..], ["unpause 1", "unpause 2"], "a node that is down stays down unless asked for");
    assert_eq!(guards.in_force(), []);
}

#[tokio::test]
async fn leaders_are_elected_where_it_is_needed_and_shown_by_every_broker() {
    let cluster = Arc::new(FakeCluster::start(3).await);
    cluster.topic("orders", &[&[1, 2], &[2, 3]]);
    let elect = |partition: Option<i32>| Action::ElectLeaders {
        topic: "orders".into(),
        partition: partition.map(PartitionIndex),
        election: Election::Preferred,
    };
    {
        let mut state = cluster.state.lock().unwrap();
        state.leaders.insert(("orders".to_owned(), 1), 3);
        state.epochs.insert(("orders".to_owned(), 1), 4);
    }
    let run = run(&cluster, [elect(None), elect(Some(1))]).await;
    assert_eq!(run.log.detail(1), "seen by broker 1, 2, 3");
    assert_eq!(run.only_failure(), Outcome::NoOp("every one of these partitions is led by its first replica already".to_owned()));
    let state = cluster.state.lock().unwrap();
    assert_eq!((state.leaders.len(), state.epochs[&("orders".to_owned(), 1)]), (0, 5));
}

#[tokio::test]
async fn a_move_is_seen_when_it_is_over() {
    let cluster = Arc::new(FakeCluster::start(3).await);
    cluster.topic("orders", &[&[1, 2], &[2, 1]]);
    cluster.state.lock().unwrap().moves_take = 3;
    let reassign = |to| Action::Reassign { topic: "orders".into(), to, within: Duration::from_secs(5) };
    let to_three = Reassignment::One(PartitionIndex(1), vec![BrokerId(3), BrokerId(1)]);
    let over_all = Reassignment::Over(vec![]);
    let seen = Action::Wait { until: Condition::Elapsed(Duration::from_secs(1)), within: Duration::from_secs(1) };
    let run = run(&cluster, [reassign(to_three), seen.clone(), reassign(over_all.clone()), seen, reassign(over_all)]).await;
    assert_eq!(cluster.state.lock().unwrap().topics["orders"], [[1, 2], [2, 3]]);
    assert_eq!(cluster.state.lock().unwrap().moving[&("orders".to_owned(), 1)], 0, "it was waited for");
    assert_eq!(run.only_failure(), Outcome::NoOp("every one of these partitions is where it shall be".to_owned()));
}

#[tokio::test]
async fn a_topic_comes_back_as_another_one_with_what_it_had() {
    let cluster = Arc::new(FakeCluster::start(2).await);
    let mut spec = spec("orders", 3);
    spec.config.insert("retention.ms".to_owned(), "5".to_owned());
    let recreate = |shape| Action::RecreateTopic { topic: "orders".into(), shape };
    let smaller = Reshape { partitions: Some(1), config: Some([].into()), ..Reshape::default() };
    // What made the first attempt find the old topic still there is over at the second.
    cluster.state.lock().unwrap().refusals.extend([0, 36, 0]);
    let run = run(&cluster, [Action::CreateTopic { topic: spec }, recreate(Reshape::default()), recreate(smaller)]).await;
    assert_eq!(run.summary.failed, []);
    let id = |number: u128| uuid::Uuid::from_u128(number);
    assert_eq!(run.log.detail(2), format!("topic id {} -> {}, seen by broker 1, 2", id(1), id(2)));
    assert_eq!(run.log.detail(3), format!("topic id {} -> {}, seen by broker 1, 2", id(2), id(3)));
    let state = cluster.state.lock().unwrap();
    assert_eq!((state.topics["orders"].len(), state.configs[&(2, "orders".to_owned())].len()), (1, 0));
}

#[tokio::test]
async fn a_broker_that_lags_does_not_take_a_topics_properties_away() {
    let cluster = Arc::new(FakeCluster::start(2).await);
    let mut spec = spec("orders", 3);
    spec.config.insert("retention.ms".to_owned(), "5".to_owned());
    cluster.state.lock().unwrap().unheard.insert(1, 2);
    let recreate = Action::RecreateTopic { topic: "orders".into(), shape: Reshape::default() };
    let run = run(&cluster, [Action::CreateTopic { topic: spec }, recreate]).await;
    assert_eq!(run.summary.failed, []);
    let state = cluster.state.lock().unwrap();
    assert_eq!((state.unheard[&1], state.configs[&(2, "orders".to_owned())].len()), (0, 1));
}

#[tokio::test]
async fn properties_change_on_a_topic_and_on_brokers_and_brokers_get_them_back() {
    let cluster = Arc::new(FakeCluster::start(2).await);
    cluster.topic("orders", &[&[1, 2]]);
    let change = |name: &str, value: &str| PropertyChange { set: [(name.to_owned(), value.to_owned())].into(), unset: [].into() };
    let topic = Action::ConfigureTopic { topic: "orders".into(), change: change("retention.ms", "5") };
    let broker = |target, value| Action::ConfigureBroker { target, change: change("num.io.threads", value) };
    let run = run(&cluster, [topic.clone(), broker(Target::All, "4"), broker(Target::LeaderOf(orders(0)), "2"), topic]).await;
    assert_eq!(run.log.detail(1), "told by broker 1, 2");
    assert_eq!(run.log.detail(5), "told by broker 1");
    assert_eq!(run.only_failure(), Outcome::NoOp("it is so already: retention.ms = 5".to_owned()));
    let threads = |broker: &str| cluster.state.lock().unwrap().configs[&(4, broker.to_owned())].get("num.io.threads").cloned();
    assert_eq!((threads("1"), threads("2")), (Some("2".to_owned()), Some("4".to_owned())));
    assert_eq!(run.guards.in_force().len(), 3);
    assert!(run.guards.heal_all(&*cluster, &Clock::real(), true).await.is_empty());
    assert_eq!((threads("1"), threads("2")), (None, None));
}
