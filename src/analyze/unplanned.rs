//! What became of nodes by nobody's plan: a container that somebody removed, a broker that ended by itself. Figures of such a run are not the
//! plan's.
//!
//! Set against each other: steps on nodes, and the container engine's word once a second. Called by the analysis; the verdict asks it.

use std::collections::BTreeMap;

use crate::analyze::findings::UnplannedFinding;
use crate::ids::{BrokerId, StepNumber};
use crate::record::fact::{Fact, Stamped, StepOutcome};
use crate::record::files::millis;

/// What a step makes of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    /// Killed or stopped.
    Down,
    /// Paused.
    Frozen,
}

/// What steps have made of a node.
#[derive(Clone, Debug)]
struct Planned {
    /// What it may be seen as: what the last step makes of it, and what it was before as long as a look may show that.
    may_be: Vec<State>,
    /// The last step; `None`: there was none.
    step: Option<StepNumber>,
    /// When that was done; `None`: it is not, or has failed.
    done_us: Option<i64>,
}

impl Default for Planned {
    fn default() -> Self {
        Self { may_be: vec![State::Up], step: None, done_us: Some(i64::MIN) }
    }
}

/// Nodes that were found otherwise than steps had left them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unplanned {
    planned: BTreeMap<BrokerId, Planned>,
    /// The first of each node; that its container is gone says more than that it had ended.
    found: BTreeMap<BrokerId, UnplannedFinding>,
}

impl Unplanned {
    /// Takes in a fact. A step's request is told before its call, so what the call does is never seen first.
    pub(crate) fn fold(&mut self, stamped: &Stamped) {
        match &stamped.fact {
            Fact::StepRequested { step, action, nodes, .. } => {
                let state = match action.as_str() {
                    "kill" | "stop" => State::Down,
                    "pause" => State::Frozen,
                    "start" | "unpause" => State::Up,
                    _ => return,
                };
                for node in nodes {
                    let planned = self.planned.entry(*node).or_default();
                    planned.may_be.push(state);
                    (planned.step, planned.done_us) = (Some(*step), None);
                }
            }
            Fact::StepFinished { step, outcome: StepOutcome::Done, .. } => {
                for planned in self.planned.values_mut().filter(|planned| planned.step == Some(*step)) {
                    planned.done_us = Some(stamped.time_us);
                }
            }
            Fact::Broker(seen) => {
                if let Some(state) = &seen.state {
                    self.saw(seen.node, state, stamped.time_us);
                }
            }
            _ => {}
        }
    }

    /// A look bears the time at which it began; it is told after all nodes have been looked at, so steps may be told before it that it does not
    /// show. Only a look that began when the last step was done shows what that made of the node.
    fn saw(&mut self, node: BrokerId, state: &str, time_us: i64) {
        let planned = self.planned.entry(node).or_default();
        if planned.done_us.is_some_and(|done_us| time_us > done_us) {
            planned.may_be.drain(..planned.may_be.len() - 1);
        }
        let seen = match state {
            "running" => State::Up,
            "exited" => State::Down,
            "paused" => State::Frozen,
            "absent" => return self.find(node, state, time_us),
            _ => return,
        };
        if !planned.may_be.contains(&seen) {
            self.find(node, state, time_us);
        }
    }

    fn find(&mut self, node: BrokerId, state: &str, time_us: i64) {
        let finding = UnplannedFinding { node: node.0, state: state.to_owned(), seen_ms: millis(time_us) };
        let found = self.found.entry(node).or_insert_with(|| finding.clone());
        if found.state == "exited" && state == "absent" {
            *found = finding;
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
            "running" => "was set going again",
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
            .child(2, None, None, "start", "2", 4_500)
            .broker(2, 4, is("exited"))
            .done(2, 5_100, StepOutcome::Done)
            .broker(2, 5, is("running"))
            .step(3, "pause", "2", 6_500)
            .broker(2, 6, is("paused"))
            .child(4, None, None, "unpause", "2", 7_500)
            .broker(2, 7, is("paused"))
            .done(4, 8_100, StepOutcome::Done)
            .broker(2, 8, is("running"))
            .step(5, "disconnect", "2", 9_500)
            .broker(2, 9, is("disconnected"))
            .broker(3, 9, is("not-started"))
            .broker(3, 10, |_| {});
        assert_eq!(found(&stream), []);
    }

    /// A look takes up to 0.7 s, and bears the time at which it began.
    #[test]
    fn a_look_that_began_before_a_step_and_is_told_after_it_shows_what_was() {
        let stream = Sample::new(&[("steady", 1)])
            .step(1, "pause", "2", 1_500)
            .step(2, "unpause", "2", 4_050)
            .step(3, "kill", "2", 4_300)
            .broker(2, 3, is("paused"))
            .broker(2, 4, is("exited"))
            .step(4, "start", "2", 6_100)
            .step(5, "pause", "2", 6_400)
            .broker(2, 5, is("exited"))
            .broker(2, 6, is("paused"));
        assert_eq!(found(&stream), []);
        let next = stream.broker(2, 7, is("exited"));
        assert_eq!(found(&next), [(2, "exited".to_owned(), 8_000)]);
    }

    #[test]
    fn a_step_that_is_under_way_or_failed_leaves_what_was_possible() {
        let stream = Sample::new(&[("steady", 1)])
            .child(1, None, None, "stop", "2", 1_500)
            .broker(2, 1, is("running"))
            .broker(2, 2, is("exited"))
            .broker(2, 3, is("running"));
        assert_eq!(found(&stream), []);
        let done = stream.done(1, 4_100, StepOutcome::Done).broker(2, 3, is("running")).broker(2, 4, is("running"));
        assert_eq!(found(&done), [(2, "running".to_owned(), 5_000)]);
    }

    #[test]
    fn that_a_container_is_gone_says_more_than_that_it_ended() {
        let stream = Sample::new(&[("steady", 1)]).broker(2, 1, is("exited")).broker(2, 2, is("absent")).broker(2, 3, is("absent"));
        assert_eq!(found(&stream), [(2, "absent".to_owned(), 3_000)]);
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
