//! Which nodes are up, down, paused or off the network at a point of the plan, as far as that can be known before the run.
//!
//! A step that changes nothing fails the run; what is sure to be one is found here. After a step whose target is a role, every node
//! that it may have hit is unknown, and unknown nodes pass everything.

use std::collections::BTreeMap;

use crate::ids::BrokerId;
use crate::plan::model::{Ceiling, Layout, LimitChange, Target};

/// What is known of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    process: Process,
    link: Link,
    limits: Limits,
}

/// What is known of a node's limits; `None`: nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limits {
    cpu_thousandths: Option<Ceiling>,
    memory_bytes: Option<Ceiling>,
}

/// A node that nothing was done to.
const WELL: Known = Known {
    process: Process::Up,
    link: Link::On,
    limits: Limits { cpu_thousandths: Some(Ceiling::Usual), memory_bytes: Some(Ceiling::Usual) },
};
/// A node that anything may have been done to.
const ANYHOW: Known =
    Known { process: Process::Unknown, link: Link::Unknown, limits: Limits { cpu_thousandths: None, memory_bytes: None } };

/// What is known of a node's process, with the line that made it so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Process {
    Up,
    Down { line: usize },
    Paused { line: usize },
    Unknown,
}

/// What is known of a node's place on the network, with the line that made it so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    On,
    Off { line: usize },
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
    Disconnect,
    Connect,
    Limit(LimitChange),
}

impl Change {
    /// Whether it undoes another change: a role, which names a node that is well, cannot be its target.
    pub(super) fn is_undoing(self) -> bool {
        matches!(self, Self::Start | Self::Unpause | Self::Connect)
    }
}

/// The nodes' states.
#[derive(Debug)]
pub(super) struct Nodes {
    states: BTreeMap<BrokerId, Known>,
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
        let states = ids(Layout::nodes).into_iter().map(|node| (node, WELL)).collect();
        Self { states, brokers: ids(Layout::brokers), controllers: ids(Layout::controllers), certain: true }
    }

    /// Whether there is such a node by now. Without a layout every id passes.
    pub(super) fn has(&self, node: BrokerId) -> bool {
        self.states.is_empty() || self.states.contains_key(&node)
    }

    /// The brokers that there are by now. Without a layout: none.
    pub(super) fn brokers(&self) -> &[BrokerId] {
        &self.brokers
    }

    /// Another broker; its id.
    pub(super) fn join(&mut self) -> BrokerId {
        let next = self.next();
        self.states.insert(next, WELL);
        self.brokers.push(next);
        next
    }

    /// The id of the next broker that joins.
    pub(super) fn next(&self) -> BrokerId {
        BrokerId(1 + self.states.keys().last().map_or(0, |last| last.0))
    }

    /// How many nodes there are by now.
    pub(super) fn count(&self) -> usize {
        self.states.len()
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
        let known = self.states.get_mut(&node)?;
        let refusal = no_effect(change, node, *known);
        *known = known.after(change, line);
        refusal
    }

    /// `all` means every single broker: one that it cannot change fails the step.
    fn apply_to_all(&mut self, change: Change, line: usize) -> Option<NoEffect> {
        let mut refusal = None;
        for node in self.brokers.clone() {
            // A role hits one node and leaves the others as they are.
            let is_one_of_several =
                self.certain && change.is_undoing() && self.states.get(&node).is_some_and(|known| known.may_suit(change));
            let of_node = self.apply_to_node(change, node, line).or_else(|| is_one_of_several.then(|| some_are_well(change)));
            refusal = refusal.or(of_node);
        }
        refusal
    }

    /// A step that could not be read may have done anything.
    pub(super) fn forget_all(&mut self) {
        self.certain = false;
        for known in self.states.values_mut() {
            *known = ANYHOW;
        }
    }

    /// A role may have hit any of these: those that it cannot change stay as they are.
    fn forget(&mut self, candidates: &[BrokerId], change: Change) {
        for node in candidates {
            let Some(known) = self.states.get_mut(node) else { continue };
            match change {
                Change::TakeDown | Change::Pause if known.process == Process::Up => known.process = Process::Unknown,
                Change::Disconnect if known.link == Link::On => known.link = Link::Unknown,
                Change::Limit(limit) => known.limits = known.limits.perhaps(limit),
                _ => {}
            }
        }
    }

    /// The controllers that are surely out of the quorum, if the rest is no majority. `also`: one more that a step takes down for a while.
    pub(super) fn lost_quorum(&self, also: Option<BrokerId>) -> Option<(Vec<BrokerId>, usize)> {
        let out = |node: &BrokerId| also == Some(*node) || self.states.get(node).is_some_and(|known| known.is_out());
        let lost: Vec<BrokerId> = self.controllers.iter().copied().filter(out).collect();
        let total = self.controllers.len();
        // A cluster of one node loses its quorum with the node: nobody is surprised.
        (self.states.len() > 1 && (total - lost.len()) * 2 <= total).then_some((lost, total))
    }
}

impl Known {
    fn after(self, change: Change, line: usize) -> Self {
        match change {
            Change::TakeDown => Self { process: Process::Down { line }, ..self },
            Change::Start | Change::Restart | Change::Unpause => Self { process: Process::Up, ..self },
            Change::Pause => Self { process: Process::Paused { line }, ..self },
            Change::Disconnect => Self { link: Link::Off { line }, ..self },
            Change::Connect => Self { link: Link::On, ..self },
            Change::Limit(limit) => Self { limits: self.limits.after(limit), ..self },
        }
    }

    /// Whether nobody knows if the node is one that the change can undo something for.
    fn may_suit(self, change: Change) -> bool {
        if change == Change::Connect { self.link == Link::Unknown } else { self.process == Process::Unknown }
    }

    fn is_out(self) -> bool {
        matches!(self.process, Process::Down { .. } | Process::Paused { .. }) || matches!(self.link, Link::Off { .. })
    }
}

impl Limits {
    fn after(self, limit: LimitChange) -> Self {
        Self { cpu_thousandths: limit.cpu_thousandths.or(self.cpu_thousandths), memory_bytes: limit.memory_bytes.or(self.memory_bytes) }
    }

    /// After a change that may have been another node's: what is the same either way stays known.
    fn perhaps(self, limit: LimitChange) -> Self {
        let after = self.after(limit);
        Self {
            cpu_thousandths: self.cpu_thousandths.filter(|known| after.cpu_thousandths == Some(*known)),
            memory_bytes: self.memory_bytes.filter(|known| after.memory_bytes == Some(*known)),
        }
    }
}

fn some_are_well(change: Change) -> NoEffect {
    let (state, hint) = match change {
        Change::Connect => ("off the network", "name the node in both steps"),
        _ => ("down", "to hit a role and bring it back use `restart`"),
    };
    NoEffect { message: format!("not every broker is {state} here: a role stands for one of them"), hint: hint.to_owned() }
}

fn no_effect(change: Change, node: BrokerId, known: Known) -> Option<NoEffect> {
    let said =
        |message: String, first: &str| Some(NoEffect { message, hint: format!("a step that changes nothing fails the run: {first}") });
    match (change, known.process, known.link) {
        (Change::Limit(limit), ..) if known.limits.after(limit) == known.limits => {
            said(format!("node {node} has just these limits here: {limit}"), "give another one, or \"none\" to take one away")
        }
        (Change::Limit(_), ..) => None,
        (Change::Disconnect, _, Link::On | Link::Unknown) | (Change::Connect, _, Link::Off { .. } | Link::Unknown) => None,
        (Change::Disconnect, _, Link::Off { line }) => {
            said(format!("node {node} is already off the network here, since the step in line {line}"), "connect it first")
        }
        (Change::Connect, _, Link::On) => said(format!("node {node} is not off the network here"), "disconnect it first"),
        (_, Process::Unknown, _)
        | (Change::TakeDown | Change::Restart | Change::Pause, Process::Up, _)
        | (Change::Start, Process::Down { .. }, _)
        | (Change::Unpause, Process::Paused { .. }, _) => None,
        (Change::TakeDown | Change::Restart | Change::Pause, Process::Down { line }, _) => {
            said(format!("node {node} is already down here, since the step in line {line}"), "start it first")
        }
        (Change::TakeDown | Change::Restart | Change::Pause, Process::Paused { line }, _) => {
            said(format!("node {node} is paused here, since the step in line {line}"), "unpause it first")
        }
        (Change::Start, Process::Up, _) => said(format!("node {node} is not down here"), "kill or stop it first"),
        (Change::Start, Process::Paused { line }, _) => {
            said(format!("node {node} is not down here, but paused by the step in line {line}"), "`unpause` it instead")
        }
        (Change::Unpause, Process::Up | Process::Down { .. }, _) => said(format!("node {node} is not paused here"), "pause it first"),
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
        assert_eq!(nodes.apply(Change::Start, &Target::All, 10), Some(some_are_well(Change::Start)));
        nodes.forget_all();
        assert_eq!(nodes.apply(Change::Start, &Target::All, 11), None);
    }

    #[test]
    fn the_network_and_the_process_are_two_things() {
        let mut nodes = three();
        let two = Target::Node(BrokerId(2));
        assert!(nodes.apply(Change::Connect, &two, 4).unwrap().message.contains("is not off the network"));
        assert_eq!(nodes.apply(Change::Disconnect, &two, 5), None);
        assert!(nodes.apply(Change::Disconnect, &two, 6).unwrap().message.contains("line 5"));
        assert_eq!(nodes.apply(Change::TakeDown, &two, 7), None, "also off the network a process can be killed");
        assert_eq!(nodes.apply(Change::Start, &two, 8), None);
        assert_eq!(nodes.apply(Change::Connect, &two, 9), None);
        nodes.apply(Change::Disconnect, &Target::Random, 10);
        assert_eq!(nodes.apply(Change::Connect, &Target::All, 11), Some(some_are_well(Change::Connect)));
    }

    #[test]
    fn a_limit_that_is_there_already_has_no_effect() {
        let mut nodes = three();
        let two = Target::Node(BrokerId(2));
        let cpus = |ceiling| Change::Limit(LimitChange { cpu_thousandths: Some(ceiling), memory_bytes: None });
        let half = Ceiling::AtMost(500);
        assert!(nodes.apply(cpus(Ceiling::Usual), &two, 4).is_some());
        assert_eq!(nodes.apply(cpus(half), &two, 5), None);
        assert!(nodes.apply(cpus(half), &two, 6).is_some());
        let both = Change::Limit(LimitChange { cpu_thousandths: Some(half), memory_bytes: Some(Ceiling::AtMost(1 << 29)) });
        assert_eq!(nodes.apply(both, &two, 7), None, "the memory is new");
        nodes.apply(cpus(Ceiling::Usual), &Target::Random, 8);
        assert_eq!(nodes.apply(cpus(half), &two, 9), None, "it may have been node 2 that was freed");
        assert!(nodes.apply(cpus(Ceiling::Usual), &Target::Node(BrokerId(1)), 10).is_some(), "node 1 was free all the time");
    }

    #[test]
    fn a_broker_that_joins_is_one_of_all() {
        let mut nodes = three();
        assert!(!nodes.has(BrokerId(4)));
        assert_eq!(nodes.join(), BrokerId(4));
        assert!(nodes.has(BrokerId(4)) && nodes.brokers().len() == 4);
        nodes.apply(Change::TakeDown, &Target::All, 5);
        assert_eq!(nodes.apply(Change::Start, &Target::Node(BrokerId(4)), 6), None);
        assert!(Nodes::new(None).has(BrokerId(9)), "nothing is known of a broken section");
    }

    #[test]
    fn two_of_three_take_the_quorum_with_them() {
        let mut nodes = three();
        nodes.apply(Change::TakeDown, &Target::Node(BrokerId(3)), 5);
        assert_eq!(nodes.lost_quorum(None), None);
        assert_eq!(nodes.lost_quorum(Some(BrokerId(2))), Some((vec![BrokerId(2), BrokerId(3)], 3)));
        nodes.apply(Change::Pause, &Target::Node(BrokerId(1)), 6);
        assert_eq!(nodes.lost_quorum(None), Some((vec![BrokerId(1), BrokerId(3)], 3)));
        nodes.apply(Change::Unpause, &Target::Node(BrokerId(1)), 7);
        nodes.apply(Change::Disconnect, &Target::Node(BrokerId(2)), 8);
        assert_eq!(nodes.lost_quorum(None), Some((vec![BrokerId(2), BrokerId(3)], 3)));
        assert_eq!(Nodes::new(None).lost_quorum(None), None);
    }
}
