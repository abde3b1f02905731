//! Which nodes are up, down or paused at a point of the plan, as far as that can be known before the run.
//!
//! A step that changes nothing fails the run; what is sure to be one is found here. After a step whose target is a role, every node
//! that it may have hit is unknown, and unknown nodes pass everything.

use std::collections::BTreeMap;

use crate::ids::BrokerId;
use crate::plan::model::{Layout, Target};

/// What is known of a node, with the line that made it so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    Down { line: usize },
    Paused { line: usize },
    Unknown,
}

/// What a step does to its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    TakeDown,
    Start,
    Restart,
    Pause,
    Unpause,
}

/// The nodes' states.
#[derive(Debug)]
pub(super) struct Nodes {
    states: BTreeMap<BrokerId, State>,
    brokers: Vec<BrokerId>,
    controllers: Vec<BrokerId>,
    /// Whether every step so far could be read: else any node may be in any state.
    certain: bool,
}

/// Why a step would change nothing, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoEffect {
    pub(super) message: String,
    pub(super) hint: String,
}

impl Nodes {
    pub(super) fn new(layout: Option<Layout>) -> Self {
        let ids = |of: fn(Layout) -> Vec<BrokerId>| layout.map(of).unwrap_or_default();
        let states = ids(Layout::nodes).into_iter().map(|node| (node, State::Up)).collect();
        Self { states, brokers: ids(Layout::brokers), controllers: ids(Layout::controllers), certain: true }
    }

    /// Applies a step; answers why it cannot do anything, if that is sure.
    pub(super) fn apply(&mut self, change: Change, target: &Target, line: usize) -> Option<NoEffect> {
        match target {
            Target::Node(node) => self.apply_to_node(change, *node, line),
            Target::All => self.apply_to_all(change, line),
            Target::Controller => {
                self.forget(&self.controllers.clone(), change);
                None
            }
            Target::LeaderOf(_) | Target::FollowerOf(_) | Target::Random => {
                self.forget(&self.brokers.clone(), change);
                None
            }
        }
    }

    fn apply_to_node(&mut self, change: Change, node: BrokerId, line: usize) -> Option<NoEffect> {
        let state = *self.states.get(&node)?;
        self.states.insert(node, after(change, line));
        no_effect(change, node, state)
    }

    /// `all` means every single broker: one that it cannot change fails the step.
    fn apply_to_all(&mut self, change: Change, line: usize) -> Option<NoEffect> {
        let mut refusal = None;
        for node in self.brokers.clone() {
            let state = self.states.insert(node, after(change, line)).unwrap_or(State::Unknown);
            refusal = refusal.or_else(|| no_effect(change, node, state));
            // A role takes one node down and leaves the others up.
            if state == State::Unknown && self.certain && matches!(change, Change::Start | Change::Unpause) {
                refusal = refusal.or_else(|| Some(some_are_up()));
            }
        }
        refusal
    }

    /// A step that could not be read may have done anything.
    pub(super) fn forget_all(&mut self) {
        self.certain = false;
        for state in self.states.values_mut() {
            *state = State::Unknown;
        }
    }

    /// A role may have hit any of these: those that it cannot change stay as they are.
    fn forget(&mut self, candidates: &[BrokerId], change: Change) {
        if change == Change::Restart {
            return;
        }
        for node in candidates {
            if self.states.get(node) == Some(&State::Up) {
                self.states.insert(*node, State::Unknown);
            }
        }
    }

    /// The controllers that are surely out of the quorum, if the rest is no majority. `also`: one more that a step takes down for a while.
    pub(super) fn lost_quorum(&self, also: Option<BrokerId>) -> Option<(Vec<BrokerId>, usize)> {
        let out = |node: &BrokerId| also == Some(*node) || matches!(self.states.get(node), Some(State::Down { .. } | State::Paused { .. }));
        let lost: Vec<BrokerId> = self.controllers.iter().copied().filter(out).collect();
        let total = self.controllers.len();
        // A cluster of one node loses its quorum with the node: nobody is surprised.
        (self.states.len() > 1 && (total - lost.len()) * 2 <= total).then_some((lost, total))
    }
}

fn after(change: Change, line: usize) -> State {
    match change {
        Change::TakeDown => State::Down { line },
        Change::Start | Change::Restart | Change::Unpause => State::Up,
        Change::Pause => State::Paused { line },
    }
}

fn some_are_up() -> NoEffect {
    NoEffect {
        message: "not every broker is down here: a role stands for one of them".to_owned(),
        hint: "to hit a role and bring it back use `restart`".to_owned(),
    }
}

fn no_effect(change: Change, node: BrokerId, state: State) -> Option<NoEffect> {
    let said =
        |message: String, first: &str| Some(NoEffect { message, hint: format!("a step that changes nothing fails the run: {first}") });
    match (change, state) {
        (_, State::Unknown)
        | (Change::TakeDown | Change::Restart | Change::Pause, State::Up)
        | (Change::Start, State::Down { .. })
        | (Change::Unpause, State::Paused { .. }) => None,
        (Change::TakeDown | Change::Restart | Change::Pause, State::Down { line }) => {
            said(format!("node {node} is already down here, since the step in line {line}"), "start it first")
        }
        (Change::TakeDown | Change::Restart | Change::Pause, State::Paused { line }) => {
            said(format!("node {node} is paused here, since the step in line {line}"), "unpause it first")
        }
        (Change::Start, State::Up) => said(format!("node {node} is not down here"), "kill or stop it first"),
        (Change::Start, State::Paused { line }) => {
            said(format!("node {node} is not down here, but paused by the step in line {line}"), "`unpause` it instead")
        }
        (Change::Unpause, State::Up | State::Down { .. }) => said(format!("node {node} is not paused here"), "pause it first"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Nodes {
        Nodes::new(Some(Layout::Combined { nodes: 3 }))
    }

    #[test]
    fn a_second_kill_has_no_effect_until_a_start() {
        let mut nodes = three();
        let two = Target::Node(BrokerId(2));
        assert_eq!(nodes.apply(Change::TakeDown, &two, 5), None);
        assert!(nodes.apply(Change::TakeDown, &two, 6).unwrap().message.contains("line 5"));
        assert_eq!(nodes.apply(Change::Start, &two, 7), None);
        assert!(nodes.apply(Change::Start, &two, 8).is_some());
    }

    #[test]
    fn a_role_leaves_every_node_that_it_may_have_hit_unknown() {
        let mut nodes = three();
        assert_eq!(nodes.apply(Change::TakeDown, &Target::Random, 5), None);
        assert_eq!(nodes.apply(Change::Start, &Target::Node(BrokerId(1)), 6), None);
        assert!(nodes.apply(Change::Start, &Target::Node(BrokerId(1)), 7).is_some(), "node 1 is surely up now");
    }

    #[test]
    fn all_must_suit_every_broker() {
        let mut nodes = three();
        nodes.apply(Change::TakeDown, &Target::Node(BrokerId(3)), 5);
        assert!(nodes.apply(Change::Start, &Target::All, 6).unwrap().message.contains("node 1 is not down"));
        assert_eq!(nodes.apply(Change::TakeDown, &Target::All, 7), None);
        assert_eq!(nodes.apply(Change::Start, &Target::All, 8), None);
        nodes.apply(Change::TakeDown, &Target::Random, 9);
        assert_eq!(nodes.apply(Change::Start, &Target::All, 10), Some(some_are_up()));
        nodes.forget_all();
        assert_eq!(nodes.apply(Change::Start, &Target::All, 11), None);
    }

    #[test]
    fn two_of_three_take_the_quorum_with_them() {
        let mut nodes = three();
        nodes.apply(Change::TakeDown, &Target::Node(BrokerId(3)), 5);
        assert_eq!(nodes.lost_quorum(None), None);
        assert_eq!(nodes.lost_quorum(Some(BrokerId(2))), Some((vec![BrokerId(2), BrokerId(3)], 3)));
        nodes.apply(Change::Pause, &Target::Node(BrokerId(1)), 6);
        assert_eq!(nodes.lost_quorum(None), Some((vec![BrokerId(1), BrokerId(3)], 3)));
        assert_eq!(Nodes::new(None).lost_quorum(None), None);
    }
}
