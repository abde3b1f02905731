//! What fires when: a state machine over the plan's steps, without clock, cluster or randomness.
//!
//! The shell asks [`Schedule::next`] what to do now, does it, and tells what came of it ([`Schedule::resolved`],
//! [`Schedule::acknowledged`], [`Schedule::finished`]). Steps run in order: one starts at its due time or when the action of the one before
//! is acknowledged, whichever is later; being observed may take longer and holds nobody up. `rolling`, `restart` and `repeat` become
//! children as they go. After the first failure nothing more fires: later steps would act on a cluster that the plan did not mean.

mod expand;
mod groups;
mod link;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use self::expand::{Due, Item, Job, OnNode};
use self::groups::Groups;
use crate::clock::Moment;
use crate::fault::event::{Outcome, Scope, StepInfo};
use crate::fault::primitive::{NodeAct, Primitive};
use crate::fault::target::{ResolvedNode, TargetError};
use crate::ids::{BrokerId, StepNumber};
use crate::plan::model::{Step, Target};

/// What the shell is to do now.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Find out who this is, and say it to [`Schedule::resolved`] before anything else.
    Resolve {
        /// Whom the plan means.
        target: Target,
        /// Whether the node is about to be hurt, so that it matters what it was; a node that comes back need not wait for that.
        is_fault: bool,
    },
    /// A group of steps begins: tell.
    Begin {
        /// The group.
        step: StepInfo,
        /// Whom its target stands for.
        nodes: Vec<ResolvedNode>,
    },
    /// A target stands for nobody: tell. Nothing is done.
    Unresolved {
        /// The step that failed.
        step: StepInfo,
        /// Why.
        error: TargetError,
    },
    /// Do this now, then say [`Schedule::acknowledged`] and [`Schedule::finished`].
    Fire(Firing),
    /// The last part of a group was acknowledged: tell.
    GroupAcknowledged(StepNumber),
    /// Every part of a group is finished: tell.
    GroupFinished(StepNumber, Outcome),
    /// Nothing before this moment, unless a step's end comes first.
    Until(Moment),
    /// Nothing before a step's acknowledgement or end.
    Idle,
    /// All is done.
    Done,
}

/// A primitive to be executed now.
#[derive(Clone, Debug, PartialEq)]
pub struct Firing {
    /// Its step.
    pub step: StepInfo,
    /// What to do.
    pub primitive: Primitive,
    /// The nodes that it is done to or between, if any.
    pub nodes: Vec<ResolvedNode>,
}

/// The steps of a plan, and how far they are.
#[derive(Debug)]
pub struct Schedule {
    brokers: Vec<BrokerId>,
    /// Brokers that can still join, next first.
    joiners: VecDeque<BrokerId>,
    queue: VecDeque<Item>,
    /// What is to be told or fired before the queue goes on.
    outbox: VecDeque<Next>,
    /// What waits for [`Schedule::resolved`].
    resolving: Option<Item>,
    last_number: u32,
    /// Fired, not yet acknowledged: they hold the queue up.
    acting: BTreeSet<StepNumber>,
    /// Begun and not finished, groups too.
    unfinished: BTreeMap<StepNumber, Scope>,
    groups: Groups,
    acknowledged_at: Moment,
    dropped: usize,
}

impl Schedule {
    /// A schedule of `steps` (in order of `at`), counted from `zero`; `brokers` are those that an empty `rolling` means, and `joiners` those that
    /// steps add to them.
    #[must_use]
    pub fn new(steps: &[Step], brokers: Vec<BrokerId>, joiners: Vec<BrokerId>, zero: Moment) -> Self {
        Self {
            brokers,
            joiners: joiners.into(),
            queue: expand::steps(steps, zero, Scope::default()).collect(),
            outbox: VecDeque::new(),
            resolving: None,
            last_number: 0,
            acting: BTreeSet::new(),
            unfinished: BTreeMap::new(),
            groups: Groups::default(),
            acknowledged_at: zero,
            dropped: 0,
        }
    }

    /// What to do now.
    pub fn next(&mut self, now: Moment) -> Next {
        loop {
            if let Some(next) = self.outbox.pop_front() {
                return next;
            }
            if self.resolving.is_some() || !self.acting.is_empty() {
                return Next::Idle;
            }
            let Some(item) = self.queue.front() else {
                return if self.unfinished.is_empty() { Next::Done } else { Next::Idle };
            };
            let due = match item.due {
                Due::Now => now,
                Due::At(moment) => moment,
                Due::AfterDown(_) if self.unfinished.values().any(|scope| *scope == item.scope) => return Next::Idle,
                Due::AfterDown(span) => self.acknowledged_at + span,
            };
            if due > now {
                return Next::Until(due);
            }
            if let Some(item) = self.queue.pop_front() {
                self.take(item, now);
            }
        }
    }

    /// The answer to [`Next::Resolve`].
    pub fn resolved(&mut self, nodes: Result<Vec<ResolvedNode>, TargetError>) {
        let Some(item) = self.resolving.take() else { return };
        let nodes = match nodes {
            Ok(nodes) => nodes,
            Err(error) => return self.unresolved(&item, error),
        };
        match &item.job {
            Job::NodeLink(_) => self.link_resolved(&item, nodes),
            Job::ClientLink(link) => self.client_link_resolved(&item, link, nodes),
            Job::Restart { how, down, target } => {
                let step = self.open(&item, true);
                // The node that went down is the one to come up, whoever has the role by then.
                let target = if let [node] = nodes[..] { Target::Node(node.id) } else { target.clone() };
                let children = expand::restart(*how, *down, &target, Scope { parent: Some(step.number), round: None }, item.line);
                self.begin(step, nodes, children.into());
            }
            Job::Node { act, .. } => match nodes[..] {
                [node] => self.fire_at(&item, act, node),
                _ => self.fan_out(&item, act, nodes),
            },
            _ => {}
        }
    }

    /// A target stands for nobody.
    fn unresolved(&mut self, item: &Item, error: TargetError) {
        let step = self.open(item, false);
        let number = step.number;
        self.outbox.push_back(Next::Unresolved { step, error });
        self.finished(number, false);
    }

    /// A fired step's call returned.
    pub fn acknowledged(&mut self, step: StepNumber, now: Moment) {
        if self.acting.remove(&step) {
            self.acknowledged_at = now;
        }
    }

    /// A fired step is over: it was observed, or it failed.
    pub fn finished(&mut self, step: StepNumber, is_done: bool) {
        self.acting.remove(&step);
        if !is_done {
            self.give_up();
        }
        self.close(step, is_done);
    }

    /// Steps that will not fire because something failed; the inner ones of `rolling` and `repeat` count where they had been unfolded.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    fn take(&mut self, item: Item, now: Moment) {
        match &item.job {
            Job::Node { act, target } => {
                self.outbox.push_back(Next::Resolve { target: target.clone(), is_fault: act.is_fault() });
                self.resolving = Some(item);
            }
            Job::ClientLink(link) => {
                self.outbox.push_back(Next::Resolve { target: link.to.clone(), is_fault: link.is_fault() });
                self.resolving = Some(item);
            }
            Job::NodeLink(link) => {
                self.outbox.push_back(Next::Resolve { target: link.unresolved().clone(), is_fault: link.is_fault() });
                self.resolving = Some(item);
            }
            Job::Restart { target, .. } => {
                // What the node was is asked for the part that takes it down.
                self.outbox.push_back(Next::Resolve { target: target.clone(), is_fault: false });
                self.resolving = Some(item);
            }
            Job::Join => match self.joiners.pop_front() {
                Some(node) => {
                    self.brokers.push(node);
                    let act = OnNode::Act(NodeAct::Add);
                    let item = Item { job: Job::Node { act: act.clone(), target: Target::Node(node) }, ..item };
                    self.fire_at(&item, &act, ResolvedNode { id: node, was_controller: None, led: None });
                }
                None => self.unresolved(&item, TargetError::NobodyJoins),
            },
            Job::Plain(primitive) => {
                let step = self.open(&item, false);
                self.fire(Firing { step, primitive: primitive.clone(), nodes: vec![] });
            }
            Job::Rolling(roll) => {
                let step = self.open(&item, true);
                let children = expand::rolling(roll, &self.brokers, step.number, item.line);
                self.begin(step, vec![], children);
            }
            Job::Repeat { times, steps } => {
                let step = self.open(&item, true);
                let children = expand::rounds(*times, steps, step.number, item.line);
                self.begin(step, vec![], children);
            }
            Job::Round(steps) => {
                let children: Vec<_> = expand::steps(steps, now, item.scope).collect();
                self.push_front(children);
            }
            Job::End(group) => {
                self.outbox.push_back(Next::GroupAcknowledged(*group));
                if let Some(outcome) = self.groups.all_acknowledged(*group) {
                    self.finish_group(*group, outcome);
                }
            }
        }
    }

    /// Gives an item its number and a place among the unfinished.
    fn open(&mut self, item: &Item, is_group: bool) -> StepInfo {
        self.last_number += 1;
        let step = item.info(StepNumber(self.last_number), is_group);
        self.unfinished.insert(step.number, step.scope);
        if let Some(parent) = step.scope.parent {
            self.groups.child_began(parent);
        }
        step
    }

    /// Starts a group: its children come before the rest of the queue.
    fn begin(&mut self, step: StepInfo, nodes: Vec<ResolvedNode>, children: Vec<Item>) {
        self.groups.begin(step.number);
        self.queue.push_front(Item { due: Due::Now, scope: step.scope, line: step.line, job: Job::End(step.number) });
        self.push_front(children);
        self.outbox.push_back(Next::Begin { step, nodes });
    }

    fn push_front(&mut self, items: Vec<Item>) {
        for item in items.into_iter().rev() {
            self.queue.push_front(item);
        }
    }

    /// A fault on several nodes: all at once, each a step of its own.
    fn fan_out(&mut self, item: &Item, act: &OnNode, nodes: Vec<ResolvedNode>) {
        let group = self.open(item, true);
        let scope = Scope { parent: Some(group.number), round: None };
        self.begin(group, nodes.clone(), vec![]);
        for node in nodes {
            let part = Item { due: Due::Now, scope, line: item.line, job: Job::Node { act: act.clone(), target: Target::Node(node.id) } };
            self.fire_at(&part, act, node);
        }
    }

    fn fire_at(&mut self, item: &Item, act: &OnNode, node: ResolvedNode) {
        let step = self.open(item, false);
        self.fire(Firing { step, primitive: act.primitive(node.id), nodes: vec![node] });
    }

    fn fire(&mut self, firing: Firing) {
        self.acting.insert(firing.step.number);
        self.outbox.push_back(Next::Fire(firing));
    }

    /// Lets nothing more fire; groups that have begun still end.
    fn give_up(&mut self) {
        let before = self.queue.len();
        self.queue.retain(|item| matches!(item.job, Job::End(_)));
        self.dropped += before - self.queue.len();
    }

    /// Takes a step off the unfinished, and its group with it if it was the last part.
    fn close(&mut self, step: StepNumber, is_done: bool) {
        let parent = self.unfinished.remove(&step).and_then(|scope| scope.parent);
        if let Some(parent) = parent
            && let Some(outcome) = self.groups.child_finished(parent, step, is_done)
        {
            self.finish_group(parent, outcome);
        }
    }

    fn finish_group(&mut self, group: StepNumber, outcome: Outcome) {
        let is_done = outcome.is_done();
        self.outbox.push_back(Next::GroupFinished(group, outcome));
        self.close(group, is_done);
    }
}
