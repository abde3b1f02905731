use std::time::Duration;

use super::*;
use crate::clock::Clock;
use crate::fault::event::What;
use crate::plan::model::{Action, ClientFault, Condition, Down, LinkAct};

const BROKERS: [BrokerId; 3] = [BrokerId(1), BrokerId(2), BrokerId(3)];

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn step(at: u64, action: Action) -> Step {
    Step { at: s(at), action, line: 1 }
}

fn kill(node: i32) -> Action {
    Action::Kill { target: Target::Node(BrokerId(node)) }
}

fn start(node: i32) -> Action {
    Action::Start { target: Target::Node(BrokerId(node)) }
}

fn wait() -> Action {
    Action::Wait { until: Condition::IsrFull, within: s(60) }
}

fn rolling(brokers: &[i32], then: Option<Condition>) -> Action {
    let brokers = brokers.iter().copied().map(BrokerId).collect();
    Action::Rolling { brokers, how: Down::Kill, down: s(4), then, within: s(60) }
}

/// Drives a schedule by hand and writes down what it says, with seconds since zero.
struct Driver {
    schedule: Schedule,
    clock: Clock,
    zero: Moment,
    log: Vec<String>,
}

impl Driver {
    fn new(steps: &[Step]) -> Self {
        let clock = Clock::manual();
        let zero = clock.now();
        Self { schedule: Schedule::new(steps, BROKERS.to_vec(), vec![BrokerId(5)], zero), clock, zero, log: vec![] }
    }

    /// Takes what comes at this moment; targets are node ids, or everyone.
    fn drain(&mut self) -> Next {
        loop {
            let next = self.schedule.next(self.clock.now());
            let at = self.clock.now().since(self.zero).as_secs();
            match next {
                Next::Resolve { target, .. } => {
                    let ids = match target {
                        Target::Node(BrokerId(9)) => {
                            self.schedule.resolved(Err(TargetError::NoSuchNode(BrokerId(9))));
                            continue;
                        }
                        Target::Node(node) => vec![node],
                        Target::Controller => vec![BrokerId(2)],
                        _ => BROKERS.to_vec(),
                    };
                    let node = |id| ResolvedNode { id, was_controller: None, led: None };
                    self.schedule.resolved(Ok(ids.into_iter().map(node).collect()));
                }
                Next::Begin { step, .. } => self.log.push(format!("{at}s begin {}", line_of(&step))),
                Next::Unresolved { step, error } => self.log.push(format!("{at}s {}: {error}", line_of(&step))),
                Next::Fire(firing) => self.log.push(format!("{at}s {}", line_of(&firing.step))),
                Next::GroupAcknowledged(group) => self.log.push(format!("{at}s acknowledged {group}")),
                Next::GroupFinished(group, outcome) => self.log.push(format!("{at}s {} {group}", outcome.name())),
                idle => return idle,
            }
        }
    }

    fn sleep(&mut self, seconds: u64) -> Next {
        self.clock.advance(s(seconds));
        self.drain()
    }

    fn acknowledge(&mut self, step: u32) -> Next {
        self.schedule.acknowledged(StepNumber(step), self.clock.now());
        self.drain()
    }

    fn finish(&mut self, step: u32, is_done: bool) -> Next {
        self.schedule.finished(StepNumber(step), is_done);
        self.drain()
    }

    /// Acknowledged and seen at once.
    fn complete(&mut self, step: u32) -> Next {
        self.schedule.acknowledged(StepNumber(step), self.clock.now());
        self.finish(step, true)
    }

    fn until(&self, seconds: u64) -> Next {
        Next::Until(self.zero + s(seconds))
    }

    fn take_log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }
}

fn line_of(step: &StepInfo) -> String {
    let mut line = format!("{} {} {}", step.number, step.what, step.target).trim_end().to_owned();
    if let Some(parent) = step.scope.parent {
        line += &format!(" in {parent}");
    }
    if let Some(round) = step.scope.round {
        line += &format!(" round {round}");
    }
    line
}

#[test]
fn a_step_fires_when_it_is_due() {
    let mut driver = Driver::new(&[step(4, kill(2)), step(8, start(2))]);
    assert_eq!(driver.drain(), driver.until(4));
    assert_eq!(driver.sleep(4), Next::Idle);
    assert_eq!(driver.complete(1), driver.until(8));
    assert_eq!(driver.sleep(4), Next::Idle);
    assert_eq!(driver.complete(2), Next::Done);
    assert_eq!(driver.take_log(), ["4s 1 kill 2", "8s 2 start 2"]);
}

#[test]
fn a_step_waits_for_the_action_before_it_but_not_for_its_observation() {
    let mut driver = Driver::new(&[step(0, start(1)), step(2, kill(2))]);
    driver.drain();
    assert_eq!(driver.sleep(5), Next::Idle, "due, but the start has not returned");
    assert_eq!(driver.take_log(), ["0s 1 start 1"]);
    assert_eq!(driver.acknowledge(1), Next::Idle);
    assert_eq!(driver.take_log(), ["5s 2 kill 2"], "acknowledged is enough");
    assert_eq!(driver.complete(2), Next::Idle, "not done before the first step is seen");
    assert_eq!(driver.finish(1, true), Next::Done);
}

#[test]
fn a_restart_brings_up_the_node_that_went_down() {
    let restart = Action::Restart { target: Target::Controller, how: Down::Kill, down: s(3) };
    let mut driver = Driver::new(&[step(0, restart)]);
    driver.drain();
    driver.acknowledge(2);
    assert_eq!(driver.sleep(10), Next::Idle, "a node that is still going down cannot be started");
    assert_eq!(driver.finish(2, true), Next::Idle);
    assert_eq!(driver.complete(3), Next::Done);
    assert_eq!(
        driver.take_log(),
        ["0s begin 1 restart controller", "0s 2 kill 2 in 1", "10s 3 start 2 in 1", "10s acknowledged 1", "10s done 1"]
    );
}

#[test]
fn what_a_node_was_matters_only_if_it_is_hurt() {
    for (action, hurts) in [(kill(1), true), (Action::Pause { target: Target::All }, true), (start(1), false)] {
        let zero = Moment(0);
        let next = Schedule::new(&[step(0, action)], BROKERS.to_vec(), vec![], zero).next(zero);
        assert!(matches!(next, Next::Resolve { is_fault, .. } if is_fault == hurts), "{next:?}");
    }
}

#[test]
fn time_down_counts_from_the_acknowledgement() {
    let mut driver = Driver::new(&[step(0, rolling(&[3], None))]);
    driver.drain();
    driver.sleep(2);
    assert_eq!(driver.complete(2), driver.until(6));
}

#[test]
fn a_rolling_restart_goes_node_by_node() {
    let mut driver = Driver::new(&[step(0, rolling(&[], Some(Condition::IsrFull))), step(1, kill(1))]);
    driver.drain();
    for number in [2, 5, 8] {
        driver.complete(number);
        driver.sleep(4);
        driver.acknowledge(number + 1);
        driver.sleep(8);
        driver.complete(number + 2);
        driver.finish(number + 1, true);
    }
    assert_eq!(
        driver.take_log(),
        [
            "0s begin 1 rolling all",
            "0s 2 kill 1 in 1 round 1",
            "4s 3 start 1 in 1 round 1",
            "4s 4 wait in 1 round 1",
            "12s 5 kill 2 in 1 round 2",
            "16s 6 start 2 in 1 round 2",
            "16s 7 wait in 1 round 2",
            "24s 8 kill 3 in 1 round 3",
            "28s 9 start 3 in 1 round 3",
            "28s 10 wait in 1 round 3",
            "36s acknowledged 1",
            "36s 11 kill 1",
            "36s done 1",
        ]
    );
}

#[test]
fn a_rolling_without_a_condition_goes_on_when_the_start_returns() {
    let mut driver = Driver::new(&[step(0, rolling(&[3, 1], None))]);
    driver.drain();
    driver.complete(2);
    driver.sleep(4);
    driver.acknowledge(3);
    assert_eq!(driver.take_log().last().unwrap(), "4s 4 kill 1 in 1 round 2");
}

#[test]
fn a_repeat_counts_its_steps_from_each_round() {
    let repeat = Action::Repeat { times: 2, steps: vec![step(1, kill(1)), step(3, start(1))] };
    let mut driver = Driver::new(&[step(10, repeat)]);
    assert_eq!(driver.drain(), driver.until(10));
    assert_eq!(driver.sleep(10), driver.until(11));
    driver.sleep(1);
    assert_eq!(driver.complete(2), driver.until(13));
    driver.sleep(2);
    assert_eq!(driver.complete(3), driver.until(14));
    driver.sleep(1);
    driver.complete(4);
    driver.sleep(2);
    assert_eq!(driver.complete(5), Next::Done);
    assert_eq!(
        driver.take_log(),
        [
            "10s begin 1 repeat",
            "11s 2 kill 1 in 1 round 1",
            "13s 3 start 1 in 1 round 1",
            "14s 4 kill 1 in 1 round 2",
            "16s 5 start 1 in 1 round 2",
            "16s acknowledged 1",
            "16s done 1",
        ]
    );
}

#[test]
fn a_link_asks_for_both_ends_and_heals_after_its_time() {
    let lasts = Some(s(12));
    let link = Action::NodeLink { from: Target::Node(BrokerId(1)), to: Target::Controller, act: LinkAct::Cut, lasts };
    let mut driver = Driver::new(&[step(0, link), step(1, kill(3))]);
    driver.drain();
    assert_eq!(driver.complete(2), driver.until(12));
    assert_eq!(driver.sleep(12), Next::Idle);
    assert_eq!(driver.complete(3), Next::Idle);
    assert_eq!(
        driver.take_log(),
        [
            "0s begin 1 link 1 -> controller",
            "0s 2 link 1 -> 2 in 1",
            "12s 3 link 1 -> 2 in 1",
            "12s acknowledged 1",
            "12s done 1",
            "12s 4 kill 3",
        ]
    );
}

#[test]
fn groups_nest() {
    let repeat = Action::Repeat { times: 1, steps: vec![step(0, rolling(&[2], Some(Condition::CaughtUp)))] };
    let mut driver = Driver::new(&[step(0, repeat)]);
    driver.drain();
    driver.complete(3);
    driver.sleep(4);
    driver.complete(4);
    assert_eq!(driver.complete(5), Next::Done);
    assert_eq!(
        driver.take_log(),
        [
            "0s begin 1 repeat",
            "0s begin 2 rolling 2 in 1 round 1",
            "0s 3 kill 2 in 2 round 1",
            "4s 4 start 2 in 2 round 1",
            "4s 5 wait in 2 round 1",
            "4s acknowledged 2",
            "4s done 2",
            "4s acknowledged 1",
            "4s done 1",
        ]
    );
}

#[test]
fn a_fault_on_all_nodes_is_a_group_that_fires_at_once() {
    let mut driver = Driver::new(&[step(0, Action::Kill { target: Target::All }), step(0, wait())]);
    assert_eq!(driver.drain(), Next::Idle);
    assert_eq!(driver.take_log(), ["0s begin 1 kill all", "0s 2 kill 1 in 1", "0s 3 kill 2 in 1", "0s 4 kill 3 in 1"]);
    driver.complete(3);
    driver.complete(4);
    assert_eq!(driver.take_log(), Vec::<String>::new(), "the wait needs all three acknowledged");
    driver.complete(2);
    assert_eq!(driver.complete(5), Next::Done);
    assert_eq!(driver.take_log(), ["0s acknowledged 1", "0s done 1", "0s 5 wait"]);
}

#[test]
fn after_a_failure_nothing_more_fires_and_open_groups_fail() {
    let mut driver = Driver::new(&[step(0, start(3)), step(0, rolling(&[1, 2], None)), step(1, kill(3))]);
    driver.drain();
    driver.acknowledge(1);
    assert_eq!(driver.take_log(), ["0s 1 start 3", "0s begin 2 rolling 1, 2", "0s 3 kill 1 in 2 round 1"]);
    assert_eq!(driver.finish(3, false), Next::Idle, "the first step is still being observed");
    assert_eq!(driver.take_log(), ["0s acknowledged 2", "0s failed 2"]);
    assert_eq!(driver.finish(1, true), Next::Done);
    assert_eq!(driver.schedule.dropped(), 4, "start 1, kill 2, start 2, kill 3");
}

#[test]
fn a_target_that_stands_for_nobody_fails_with_a_number_of_its_own() {
    let mut driver = Driver::new(&[step(0, kill(9)), step(1, kill(1))]);
    assert_eq!(driver.drain(), Next::Done);
    assert_eq!(driver.take_log(), ["0s 1 kill 9: node 9 does not exist"]);
    assert_eq!(driver.schedule.dropped(), 1);
}

#[test]
fn a_broker_that_joins_is_rolled_with_the_others_and_none_joins_twice() {
    let mut driver = Driver::new(&[step(0, Action::AddBroker), step(1, rolling(&[], None)), step(2, Action::AddBroker)]);
    driver.drain();
    driver.sleep(1);
    driver.complete(1);
    for number in [3, 5, 7, 9] {
        driver.complete(number);
        driver.sleep(4);
        driver.complete(number + 1);
    }
    let log = driver.take_log();
    assert_eq!((log[0].as_str(), log[8].as_str()), ("0s 1 add-broker 5", "13s 9 kill 5 in 2 round 4"));
    assert_eq!(log.last().unwrap(), "17s 11 add-broker: no broker is left that could join the cluster");
}

#[test]
fn a_late_failure_of_an_observation_stops_what_comes_later() {
    let mut driver = Driver::new(&[step(0, kill(1)), step(5, kill(2))]);
    driver.drain();
    assert_eq!(driver.acknowledge(1), driver.until(5));
    assert_eq!(driver.finish(1, false), Next::Done);
}

#[test]
fn texts_are_a_plans_words() {
    let actions = [
        (Action::Stop { target: Target::Random, grace: s(30) }, "stop (grace 30s)", "random", What::Stop),
        (rolling(&[], None), "rolling (kill, down 4s)", "all", What::Rolling),
        (
            Action::ClientLink { to: Target::Random, group: Some("a".into()), fault: ClientFault::HalfOpen, lasts: None },
            "link half-open",
            "clients of a -> random",
            What::Link,
        ),
        (
            Action::NodeLink { from: Target::Node(BrokerId(2)), to: Target::All, act: LinkAct::Cut, lasts: Some(s(12)) },
            "link black-hole (for 12s)",
            "2 -> all",
            What::Link,
        ),
        (Action::AddPartitions { topic: "orders".into(), to: 6 }, "add-partitions (to 6)", "orders", What::AddPartitions),
        (Action::Wait { until: Condition::Elapsed(Duration::from_millis(1500)), within: s(2) }, "wait 1500ms", "", What::Wait),
    ];
    for (action, text, target, what) in actions {
        let item = expand::steps(&[step(0, action)], Moment(0), Scope::default()).next().unwrap();
        let info = item.info(StepNumber(1), false);
        assert_eq!((info.action.as_str(), info.target.as_str(), info.what), (text, target, what));
    }
}
