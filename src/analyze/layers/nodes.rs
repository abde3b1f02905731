//! Which nodes were down when, and which had settled since: a dead node follows nothing, and that is nobody's stuck layer.
//!
//! Known from steps on nodes and from the container engine's word once a second. Where a cluster is not ours, nobody tells.

use std::collections::BTreeMap;

use crate::analyze::window::SECOND_US;
use crate::ids::BrokerId;
use crate::record::fact::{Fact, Stamped};

/// A node that was started (or thawed) has caught up after so long, even if nobody says so.
const SETTLED_AFTER_US: i64 = 15 * SECOND_US;

/// A change of a node's state.
#[derive(Clone, Copy, Debug)]
struct Mark {
    time_us: i64,
    is_up: bool,
    /// What a step has taken down, only a step brings back: the engine does not know that a running node is cut off.
    is_by_step: bool,
}

/// What is known of each node's life.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nodes {
    /// Changes of each node's state, by time.
    marks: BTreeMap<BrokerId, Vec<Mark>>,
    /// When a broker was unfenced.
    unfenced: BTreeMap<BrokerId, Vec<i64>>,
}

impl Nodes {
    /// Takes in a fact.
    pub(crate) fn fold(&mut self, stamped: &Stamped) {
        match &stamped.fact {
            Fact::StepRequested { action, nodes, .. } => {
                let is_up = match action.as_str() {
                    "kill" | "stop" | "pause" | "disconnect" => false,
                    "start" | "unpause" | "connect" => true,
                    _ => return,
                };
                nodes.iter().for_each(|node| self.mark(*node, Mark { time_us: stamped.time_us, is_up, is_by_step: true }));
            }
            Fact::Broker(seen) => {
                if let Some(state) = &seen.state {
                    let (time_us, is_up) = ((seen.second + 1) * SECOND_US, state == "running");
                    self.mark(seen.node, Mark { time_us, is_up, is_by_step: false });
                }
            }
            _ => {}
        }
    }

    /// A broker was unfenced.
    pub(crate) fn unfenced(&mut self, node: BrokerId, time_us: i64) {
        self.unfenced.entry(node).or_default().push(time_us);
    }

    /// Keeps changes only: a node that runs is told to run each second.
    fn mark(&mut self, node: BrokerId, mark: Mark) {
        let marks = self.marks.entry(node).or_default();
        let at = marks.partition_point(|known| known.time_us <= mark.time_us);
        let before = at.checked_sub(1).map(|before| marks[before]);
        let is_taken_down = before.is_some_and(|before| before.is_by_step && !before.is_up);
        if before.is_none_or(|before| before.is_up) != mark.is_up && (mark.is_by_step || !is_taken_down) {
            marks.insert(at, mark);
        }
    }

    /// Whether the node was down (or frozen) then.
    pub(crate) fn is_down(&self, node: BrokerId, time_us: i64) -> bool {
        self.last_mark(node, time_us).is_some_and(|mark| !mark.is_up)
    }

    /// Whether it was down at any time between.
    pub(crate) fn was_down(&self, node: BrokerId, from_us: i64, until_us: i64) -> bool {
        self.down_from(node, from_us, until_us).is_some()
    }

    /// From when on it was down (or frozen) between two times; `None`: it ran.
    pub(crate) fn down_from(&self, node: BrokerId, from_us: i64, until_us: i64) -> Option<i64> {
        if self.is_down(node, from_us) {
            return Some(from_us);
        }
        let within = |mark: &&Mark| !mark.is_up && (from_us..=until_us).contains(&mark.time_us);
        self.marks.get(&node)?.iter().find(within).map(|mark| mark.time_us)
    }

    /// Whether it ran then, and had caught up since it last came up.
    pub(crate) fn is_settled(&self, node: BrokerId, time_us: i64) -> bool {
        match self.last_mark(node, time_us) {
            None => true,
            Some(Mark { is_up: false, .. }) => false,
            Some(Mark { time_us: since_us, .. }) => {
                let is_unfenced = self.unfenced.get(&node).is_some_and(|at| at.iter().any(|at| (since_us..=time_us).contains(at)));
                is_unfenced || time_us - since_us > SETTLED_AFTER_US
            }
        }
    }

    fn last_mark(&self, node: BrokerId, time_us: i64) -> Option<Mark> {
        let marks = self.marks.get(&node)?;
        marks.partition_point(|mark| mark.time_us <= time_us).checked_sub(1).map(|last| marks[last])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample::Sample;

    const NODE: BrokerId = BrokerId(2);

    fn nodes(stream: &Sample) -> Nodes {
        let mut nodes = Nodes::default();
        stream.facts.iter().for_each(|fact| nodes.fold(fact));
        nodes
    }

    #[test]
    fn a_node_is_down_by_its_step_or_by_the_engines_word() {
        let state = |word: &'static str| move |seen: &mut crate::record::broker::BrokerSecond| seen.state = Some(word.to_owned());
        let by_steps = Sample::new(&[]).step(1, "kill", "2", 10_000).step(2, "start", "2", 14_000);
        let by_word = Sample::new(&[]).broker(2, 8, state("running")).broker(2, 9, state("paused")).broker(2, 13, state("running"));
        let cut_off = Sample::new(&[]).step(1, "disconnect", "2", 10_000).broker(2, 11, state("running")).step(2, "connect", "2", 14_000);
        for stream in [by_steps, by_word, cut_off] {
            let nodes = nodes(&stream);
            let down: Vec<bool> = [9_000, 10_000, 13_999, 14_000, 20_000].iter().map(|ms: &i64| nodes.is_down(NODE, ms * 1000)).collect();
            assert_eq!(down, [false, true, true, false, false]);
            assert!(!nodes.is_down(BrokerId(3), 12_000_000));
            assert!(nodes.was_down(NODE, 9_000_000, 11_000_000) && !nodes.was_down(NODE, 14_000_000, 20_000_000));
        }
    }

    #[test]
    fn a_node_has_settled_when_it_is_unfenced_or_after_a_while() {
        let mut nodes = nodes(&Sample::new(&[]).step(1, "kill", "2", 10_000).step(2, "start", "2", 14_000));
        let settled = |nodes: &Nodes| [9, 12, 18, 20, 30].map(|s: i64| nodes.is_settled(NODE, s * SECOND_US));
        assert_eq!(settled(&nodes), [true, false, false, false, true]);
        nodes.unfenced(NODE, 19 * SECOND_US);
        assert_eq!(settled(&nodes), [true, false, false, true, true]);
    }
}
