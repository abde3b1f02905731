//! What steps are made of: the queue's items, and how composite steps unfold into them.

use std::time::Duration;

use crate::clock::Moment;
use crate::fault::event::{Scope, StepInfo, What};
use crate::fault::primitive::{NodeAct, Primitive};
use crate::fault::schedule::link::{ClientLink, NodeLink};
use crate::fault::text;
use crate::ids::{BrokerId, StepNumber};
use crate::plan::model::{Action, Condition, Down, PropertyChange, Reassignment, Step, Target};

/// Something in the schedule's queue.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) due: Due,
    pub(super) scope: Scope,
    pub(super) line: usize,
    pub(super) job: Job,
}

/// When an item may be taken, once those before it are acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    /// At once.
    Now,
    /// Not before this moment.
    At(Moment),
    /// So long after the acknowledgement before it, and not before every earlier part of the same scope is over: a node that is still going down
    /// cannot be started.
    AfterDown(Duration),
}

/// What an item does.
#[derive(Debug)]
pub(super) enum Job {
    Node {
        act: OnNode,
        target: Target,
    },
    Plain(Primitive),
    NodeLink(NodeLink),
    ClientLink(ClientLink),
    /// The next broker joins.
    Join,
    Restart {
        how: Down,
        down: Duration,
        target: Target,
    },
    Rolling(Roll),
    Repeat {
        times: u32,
        steps: Vec<Step>,
    },
    /// One round of a `repeat`: its steps' due times count from when it is taken.
    Round(Vec<Step>),
    /// All parts of a group are acknowledged.
    End(StepNumber),
}

/// What is done to each node that a target stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OnNode {
    Act(NodeAct),
    Configure(PropertyChange),
}

impl OnNode {
    /// Whether it hurts, so that it matters what the node was.
    pub(super) fn is_fault(&self) -> bool {
        matches!(self, Self::Act(act) if act.is_fault())
    }

    pub(super) fn primitive(&self, node: BrokerId) -> Primitive {
        match self {
            Self::Act(act) => Primitive::Node { act: *act, node },
            Self::Configure(change) => Primitive::ConfigureBroker { broker: node, change: change.clone() },
        }
    }

    fn info(&self) -> (What, String) {
        match self {
            Self::Act(act) => (act.what(), text::node_act(*act)),
            Self::Configure(change) => (What::Config, text::config(change)),
        }
    }
}

/// A `rolling`.
#[derive(Clone, Debug)]
pub(super) struct Roll {
    brokers: Vec<BrokerId>,
    how: Down,
    down: Duration,
    then: Option<Condition>,
    within: Duration,
}

impl Item {
    /// Its description under a number.
    pub(super) fn info(&self, number: StepNumber, is_group: bool) -> StepInfo {
        let (what, action, target) = match &self.job {
            Job::ClientLink(link) => {
                let (action, target) = text::client_link(link.fault, link.lasts, link.group.as_deref(), &text::target(&link.to));
                (What::Link, action, target)
            }
            Job::Node { act, target } => {
                let (what, action) = act.info();
                (what, action, text::target(target))
            }
            Job::NodeLink(link) => {
                let (action, target) = text::node_link(link.act, link.lasts, &text::target(&link.from), &text::target(&link.to));
                (What::Link, action, target)
            }
            Job::Plain(primitive) => plain_info(primitive),
            Job::Join => (What::AddBroker, What::AddBroker.to_string(), String::new()),
            Job::Restart { how, down, target } => (What::Restart, text::restarts(What::Restart, *how, *down), text::target(target)),
            Job::Rolling(roll) => {
                let nodes = if roll.brokers.is_empty() { text::target(&Target::All) } else { text::nodes(&roll.brokers) };
                (What::Rolling, text::restarts(What::Rolling, roll.how, roll.down), nodes)
            }
            Job::Repeat { times, .. } => (What::Repeat, format!("repeat {times} times"), String::new()),
            // Neither is ever given a number.
            Job::Round(_) | Job::End(_) => (What::Repeat, String::new(), String::new()),
        };
        StepInfo { number, scope: self.scope, what, is_group, action, target, line: self.line }
    }
}

fn plain_info(primitive: &Primitive) -> (What, String, String) {
    match primitive {
        Primitive::Node { act, node } => (act.what(), text::node_act(*act), node.to_string()),
        Primitive::ClientLink { to, group, fault } => {
            let (action, target) = text::client_link(*fault, None, group.as_deref(), &text::nodes(to));
            (What::Link, action, target)
        }
        Primitive::NodeLink { act, from, to } => {
            let to = if to.is_empty() { text::target(&Target::All) } else { text::nodes(to) };
            let (action, target) = text::node_link(*act, None, &from.to_string(), &to);
            (What::Link, action, target)
        }
        Primitive::AddPartitions { topic, to } => (What::AddPartitions, format!("add-partitions (to {to})"), topic.to_string()),
        Primitive::CreateTopic(topic) => (What::CreateTopic, text::create_topic(topic), topic.name.to_string()),
        Primitive::DeleteTopic(topic) => (What::DeleteTopic, "delete-topic".to_owned(), topic.to_string()),
        Primitive::RecreateTopic { topic, shape } => (What::RecreateTopic, format!("recreate-topic ({shape})"), topic.to_string()),
        Primitive::ElectLeaders { topic, partition, election } => {
            let target = partition.map_or_else(|| topic.to_string(), |partition| format!("{topic}/{partition}"));
            (What::ElectLeaders, format!("elect-leaders ({})", election.name()), target)
        }
        Primitive::Reassign { topic, to, .. } => {
            let target = if let Reassignment::One(partition, _) = to { format!("{topic}/{partition}") } else { topic.to_string() };
            (What::Reassign, format!("reassign ({to})"), target)
        }
        Primitive::ConfigureTopic { topic, change } => (What::Config, text::config(change), topic.to_string()),
        Primitive::ConfigureBroker { broker, change } => (What::Config, text::config(change), broker.to_string()),
        Primitive::Wait { until, .. } => (What::Wait, format!("wait {}", text::condition(until)), String::new()),
    }
}

/// Steps as items, due from `origin` on.
pub(super) fn steps(steps: &[Step], origin: Moment, scope: Scope) -> impl Iterator<Item = Item> {
    steps.iter().map(move |step| Item { due: Due::At(origin + step.at), scope, line: step.line, job: job_of(&step.action) })
}

fn job_of(action: &Action) -> Job {
    let node = |act, target: &Target| Job::Node { act: OnNode::Act(act), target: target.clone() };
    match action {
        Action::Kill { target } => node(NodeAct::Kill, target),
        Action::Stop { target, grace } => node(NodeAct::Stop(*grace), target),
        Action::Start { target } => node(NodeAct::Start, target),
        Action::Pause { target } => node(NodeAct::Pause, target),
        Action::Unpause { target } => node(NodeAct::Unpause, target),
        Action::Disconnect { target } => node(NodeAct::Disconnect, target),
        Action::Connect { target } => node(NodeAct::Connect, target),
        Action::Limit { target, change } => node(NodeAct::Limit(*change), target),
        Action::AddBroker => Job::Join,
        Action::Restart { target, how, down } => Job::Restart { how: *how, down: *down, target: target.clone() },
        Action::Rolling { brokers, how, down, then, within } => {
            Job::Rolling(Roll { brokers: brokers.clone(), how: *how, down: *down, then: then.clone(), within: *within })
        }
        Action::Repeat { times, steps } => Job::Repeat { times: *times, steps: steps.clone() },
        Action::ClientLink { to, group, fault, lasts } => {
            Job::ClientLink(ClientLink { to: to.clone(), group: group.clone(), fault: *fault, lasts: *lasts })
        }
        Action::NodeLink { from, to, act, lasts } => {
            Job::NodeLink(NodeLink { act: *act, from: from.clone(), to: to.clone(), lasts: *lasts, sender: None })
        }
        Action::AddPartitions { topic, to } => Job::Plain(Primitive::AddPartitions { topic: topic.clone(), to: *to }),
        Action::CreateTopic { topic } => Job::Plain(Primitive::CreateTopic(topic.clone())),
        Action::DeleteTopic { topic } => Job::Plain(Primitive::DeleteTopic(topic.clone())),
        Action::RecreateTopic { topic, shape } => Job::Plain(Primitive::RecreateTopic { topic: topic.clone(), shape: shape.clone() }),
        Action::ElectLeaders { topic, partition, election } => {
            Job::Plain(Primitive::ElectLeaders { topic: topic.clone(), partition: *partition, election: *election })
        }
        Action::Reassign { topic, to, within } => Job::Plain(Primitive::Reassign { topic: topic.clone(), to: to.clone(), within: *within }),
        Action::ConfigureTopic { topic, change } => Job::Plain(Primitive::ConfigureTopic { topic: topic.clone(), change: change.clone() }),
        Action::ConfigureBroker { target, change } => Job::Node { act: OnNode::Configure(change.clone()), target: target.clone() },
        Action::Wait { until, within } => Job::Plain(Primitive::Wait { until: until.clone(), within: *within }),
    }
}

/// Down, a while, up.
pub(super) fn restart(how: Down, down: Duration, target: &Target, scope: Scope, line: usize) -> [Item; 2] {
    let part = |due, act| Item { due, scope, line, job: Job::Node { act: OnNode::Act(act), target: target.clone() } };
    [part(Due::Now, how.into()), part(Due::AfterDown(down), NodeAct::Start)]
}

/// Restarts one after the other, a round each; an empty list means `all`.
pub(super) fn rolling(roll: &Roll, all: &[BrokerId], parent: StepNumber, line: usize) -> Vec<Item> {
    let nodes = if roll.brokers.is_empty() { all } else { &roll.brokers };
    let mut items = Vec::new();
    for (node, round) in nodes.iter().zip(1..) {
        let scope = Scope { parent: Some(parent), round: Some(round) };
        items.extend(restart(roll.how, roll.down, &Target::Node(*node), scope, line));
        if let Some(until) = &roll.then {
            let wait = Primitive::Wait { until: until.clone(), within: roll.within };
            items.push(Item { due: Due::Now, scope, line, job: Job::Plain(wait) });
        }
    }
    items
}

/// Rounds of a `repeat`.
pub(super) fn rounds(times: u32, steps: &[Step], parent: StepNumber, line: usize) -> Vec<Item> {
    let scope = |round| Scope { parent: Some(parent), round: Some(round) };
    (1..=times).map(|round| Item { due: Due::Now, scope: scope(round), line, job: Job::Round(steps.to_vec()) }).collect()
}
