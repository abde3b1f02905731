//! What became of nodes by nobody's plan: a container that somebody removed, a broker that ended by itself. Figures of such a run are not the
//! plan's.
//!
//! Set against each other: steps on nodes, and the container engine's word once a second. Called by the analysis; the verdict asks it.

use std::collections::BTreeMap;

use crate::analyze::findings::UnplannedFinding;
use crate::ids::BrokerId;
use crate::record::fact::{Fact, Stamped};
use crate::record::files::millis;

/// What steps have made of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Planned {
    #[default]
    Up,
    /// Killed or stopped.
    Down,
    /// Paused.
    Frozen,
    /// A step has begun to bring it back; looks that began before it still show what was.
    Returning,
}

/// Nodes that were found otherwise than steps had left them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unplanned {
    planned: BTreeMap<BrokerId, Planned>,
    /// The first of each node.
    found: BTreeMap<BrokerId, UnplannedFinding>,
}

impl Unplanned {
    /// Takes in a fact. A step's request is told before its call, so what the call does is never seen first.
    pub(crate) fn fold(&mut self, stamped: &Stamped) {
        match &stamped.fact {
            Fact::StepRequested { action, nodes, .. } => {
                let planned = match action.as_str() {
                    "kill" | "stop" => Planned::Down,
                    "pause" => Planned::Frozen,
                    "start" | "unpause" => Planned::Returning,
                    _ => return,
                };
                nodes.iter().for_each(|node| {
                    self.planned.insert(*node, planned);
                });
            }
            Fact::Broker(seen) => {
                if let Some(state) = &seen.state {
                    self.saw(seen.node, state, stamped.time_us);
                }
            }
            _ => {}
        }
    }

    fn saw(&mut self, node: BrokerId, state: &str, time_us: i64) {
        let planned = self.planned.entry(node).or_default();
        let is_as_planned = match state {
            "running" => {
                if *planned == Planned::Returning {
                    *planned = Planned::Up;
                }
                true
            }
            "exited" => matches!(planned, Planned::Down | Planned::Returning),
            "paused" => matches!(planned, Planned::Frozen | Planned::Returning),
            "absent" => false,
            _ => true,
        };
        if !is_as_planned {
            let finding = UnplannedFinding { node: node.0, state: state.to_owned(), seen_ms: millis(time_us) };
            self.found.entry(node).or_insert(finding);
        }
    }

    /// By node.
    pub(crate) fn findings(&self) -> Vec<UnplannedFinding> {
        self.found.values().cloned().collect()
    }
}

impl UnplannedFinding {
    /// As a reason against trusting the run.
    pub(crate) fn words(&self) -> String {
        let what = match self.state.as_str() {
            "absent" => "was removed",
            "paused" => "was paused",
            _ => "ended",
        };
        let seen_s = self.seen_ms / 1000;
        format!(
            "the container of node {} {what} (seen at {seen_s} s), by no step of the plan: what clients met is not what the plan says",
            self.node
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::broker::BrokerSecond;
    use crate::record::sample::Sample;

    fn found(stream: &Sample) -> Vec<(i32, String, i64)> {
        let mut unplanned = Unplanned::default();
        stream.facts.iter().for_each(|fact| unplanned.fold(fact));
        unplanned.findings().into_iter().map(|found| (found.node, found.state, found.seen_ms)).collect()
    }

    fn is(state: &'static str) -> impl Fn(&mut BrokerSecond) {
        move |seen| seen.state = Some(state.to_owned())
    }

    #[test]
    fn what_steps_do_is_planned() {
        let stream = Sample::new(&[("steady", 1)])
            .broker(2, 1, is("running"))
            .step(1, "kill", "2", 2_500)
            .broker(2, 2, is("exited"))
            .step(2, "start", "2", 4_500)
            .broker(2, 4, is("exited"))
            .broker(2, 5, is("running"))
            .step(3, "pause", "2", 6_500)
            .broker(2, 6, is("paused"))
            .step(4, "unpause", "2", 7_500)
            .broker(2, 7, is("paused"))
            .broker(2, 8, is("running"))
            .step(5, "disconnect", "2", 9_500)
            .broker(2, 9, is("disconnected"))
            .broker(3, 9, is("not-started"))
            .broker(3, 10, |_| {});
        assert_eq!(found(&stream), []);
    }

    #[test]
    fn what_nobody_planned_is_found_once_for_each_node() {
        let stream = Sample::new(&[("steady", 1)])
            .step(1, "start", "2", 1_500)
            .broker(2, 2, is("running"))
            .broker(2, 3, is("exited"))
            .broker(2, 4, is("exited"))
            .broker(3, 3, is("paused"))
            .step(2, "kill", "4", 4_000)
            .broker(4, 4, is("absent"));
        let expected = [(2, "exited", 4_000), (3, "paused", 4_000), (4, "absent", 5_000)];
        assert_eq!(found(&stream), expected.map(|(node, state, seen_ms)| (node, state.to_owned(), seen_ms)));
    }
}
