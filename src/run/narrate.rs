//! Facts as lines for the screen: steps as they happen, remarks, and when a group has recovered. Pure.
//!
//! Not here: what outages there were (`analyze`); a line says what is seen while the run goes, at the accuracy of a screen.

use std::collections::BTreeMap;

use crate::ids::{BrokerId, StepNumber};
use crate::record::fact::{Fact, Stamped, StepOutcome};
use crate::ui::colour::Tone;

/// Steps that take something away from clients; a recovery is counted from the last of them.
const HURTING: [&str; 5] = ["kill", "stop", "pause", "disconnect", "delete-topic"];

/// Remembers what a line needs of the facts before it.
#[derive(Debug, Default)]
pub(super) struct Narrator {
    steps: BTreeMap<StepNumber, KnownStep>,
    /// The last step that hurt: when it was requested, and what it was.
    hurt: Option<(i64, String)>,
    groups: BTreeMap<String, GroupState>,
}

#[derive(Debug)]
struct KnownStep {
    /// Such as `kill node 2`.
    what: String,
    requested_us: i64,
    acknowledged_us: Option<i64>,
}

/// Whether a group is without service somewhere.
#[derive(Debug, Default)]
struct GroupState {
    is_stalled: bool,
    /// The latest end of a gap since it stalled.
    last_gap_end_us: Option<i64>,
}

impl Narrator {
    /// The line that a fact is worth, if it is.
    pub(super) fn line(&mut self, stamped: &Stamped) -> Option<(Tone, String)> {
        let time_us = stamped.time_us;
        match &stamped.fact {
            Fact::StepRequested { step, action, target, nodes, was_controller, .. } => {
                let what = format!("{action} {}", subject(target, nodes));
                let what = what.trim_end().to_owned();
                let role = if *was_controller == Some(true) { " (active controller)" } else { "" };
                let line = format!("step {step}: {what}{role} requested");
                if HURTING.contains(&action.as_str()) {
                    self.hurt = Some((time_us, what.clone()));
                }
                self.steps.insert(*step, KnownStep { what, requested_us: time_us, acknowledged_us: None });
                Some((Tone::Step, at(time_us, &line)))
            }
            Fact::StepAcknowledged { step } => {
                let known = self.steps.get_mut(step)?;
                known.acknowledged_us = Some(time_us);
                let line = format!("step {step}: {} done in {}", known.what, seconds(time_us - known.requested_us));
                Some((Tone::Step, at(time_us, &line)))
            }
            Fact::StepObserved { step, detail } => {
                let known = self.steps.get(step)?;
                let after = known.acknowledged_us.map_or(String::new(), |done| format!(", {} after it was done", seconds(time_us - done)));
                Some((Tone::Step, at(time_us, &format!("step {step}: observed{after}: {detail}"))))
            }
            Fact::StepFinished { step, outcome, detail } => {
                self.finished(*step, *outcome, detail).map(|(tone, line)| (tone, at(time_us, &line)))
            }
            Fact::GroupStarted { group, warnings } if !warnings.is_empty() => {
                Some((Tone::Warning, format!("{group}: {}", warnings.join("; "))))
            }
            Fact::FactsLost { count } => Some((Tone::Bad, at(time_us, &format!("{count} facts did not fit into the stream and are lost")))),
            Fact::Gap { group, first_ok_us: Some(end_us), .. } => {
                let state = self.groups.entry(group.clone()).or_default();
                state.last_gap_end_us = state.last_gap_end_us.max(Some(*end_us));
                None
            }
            Fact::Second(second) => {
                self.recovered(&second.group, second.stalled_pairs, time_us).map(|line| (Tone::Good, at(time_us, &line)))
            }
            _ => None,
        }
    }

    fn finished(&mut self, step: StepNumber, outcome: StepOutcome, detail: &str) -> Option<(Tone, String)> {
        let what = &self.steps.get(&step)?.what;
        let ended = match outcome {
            StepOutcome::Done => return None,
            StepOutcome::NoOp => "changed nothing",
            StepOutcome::Failed => "failed",
            StepOutcome::NotObserved => "was not observed",
            StepOutcome::Cancelled => "was cut off",
        };
        let tone = if outcome == StepOutcome::Cancelled { Tone::Faint } else { Tone::Bad };
        Some((tone, format!("step {step}: {what} {ended}: {detail}")))
    }

    /// Follows a group's stalls by its seconds; a line when the last of them is over.
    fn recovered(&mut self, group: &str, stalled_pairs: u64, time_us: i64) -> Option<String> {
        let state = self.groups.entry(group.to_owned()).or_default();
        if stalled_pairs > 0 {
            if !state.is_stalled {
                *state = GroupState { is_stalled: true, last_gap_end_us: None };
            }
            return None;
        }
        if !std::mem::take(&mut state.is_stalled) {
            return None;
        }
        let end_us = state.last_gap_end_us.take().unwrap_or(time_us);
        let (hurt_us, what) = self.hurt.as_ref()?;
        Some(format!("{group}: recovered {} after {what}", seconds(end_us - hurt_us)))
    }
}

/// Whom a step concerns: `node 2`, `leader-of(orders/0) (node 2)`, or the target as the plan has it.
fn subject(target: &str, nodes: &[BrokerId]) -> String {
    match nodes {
        [] => target.to_owned(),
        [node] => {
            let id = node.to_string();
            match target.strip_prefix(&id) {
                Some(rest) if !rest.starts_with(|next: char| next.is_ascii_digit()) => format!("node {target}"),
                _ => format!("{target} (node {id})"),
            }
        }
        several => {
            let ids: Vec<String> = several.iter().map(ToString::to_string).collect();
            if target == ids.join(", ") { format!("nodes {target}") } else { format!("{target} (nodes {})", ids.join(", ")) }
        }
    }
}

fn at(time_us: i64, line: &str) -> String {
    format!("{:>7}  {line}", seconds(time_us))
}

fn seconds(span_us: i64) -> String {
    format!("{:.1} s", span_us as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{PartitionIndex, ProducerIndex};
    use crate::record::fact::GroupSecond;

    fn told(narrator: &mut Narrator, time_ms: i64, fact: Fact) -> Option<String> {
        narrator.line(&Stamped { time_us: time_ms * 1_000, worker: 0, fact }).map(|(_, line)| line.trim_start().to_owned())
    }

    fn kill(step: u32, target: &str, node: i32, was_controller: bool) -> Fact {
        Fact::StepRequested {
            step: StepNumber(step),
            parent: None,
            round: None,
            action: "kill".into(),
            target: target.into(),
            nodes: vec![BrokerId(node)],
            was_controller: Some(was_controller),
        }
    }

    fn second(stalled_pairs: u64) -> Fact {
        Fact::Second(Box::new(GroupSecond { group: "steady".into(), stalled_pairs, ..GroupSecond::default() }))
    }

    fn gap_until(end_ms: i64) -> Fact {
        Fact::Gap {
            group: "steady".into(),
            producer: ProducerIndex(0),
            topic: "orders".into(),
            partition: PartitionIndex(0),
            last_ok_us: None,
            first_due_us: 0,
            first_error_us: None,
            first_ok_us: Some(end_ms * 1_000),
        }
    }

    #[test]
    fn a_step_is_told_from_request_to_observation() {
        let narrator = &mut Narrator::default();
        let step = StepNumber(1);
        assert_eq!(told(narrator, 10_000, kill(1, "2", 2, true)).unwrap(), "10.0 s  step 1: kill node 2 (active controller) requested");
        assert_eq!(told(narrator, 10_210, Fact::StepAcknowledged { step }).unwrap(), "10.2 s  step 1: kill node 2 done in 0.2 s");
        let observed = Fact::StepObserved { step, detail: "exited with 137".into() };
        assert_eq!(told(narrator, 10_510, observed).unwrap(), "10.5 s  step 1: observed, 0.3 s after it was done: exited with 137");
        let done = Fact::StepFinished { step, outcome: StepOutcome::Done, detail: String::new() };
        assert_eq!(told(narrator, 10_510, done), None);
    }

    #[test]
    fn a_step_that_changed_nothing_is_told() {
        let narrator = &mut Narrator::default();
        told(narrator, 0, kill(4, "2", 2, false));
        let finished = Fact::StepFinished { step: StepNumber(4), outcome: StepOutcome::NoOp, detail: "it has ended already".into() };
        assert_eq!(told(narrator, 20, finished).unwrap(), "0.0 s  step 4: kill node 2 changed nothing: it has ended already");
    }

    #[test]
    fn a_group_recovers_once_from_the_last_fault_before() {
        let narrator = &mut Narrator::default();
        told(narrator, 10_000, kill(1, "leader-of(orders/0)", 2, false));
        assert_eq!(told(narrator, 11_000, second(300)), None);
        assert_eq!(told(narrator, 18_000, second(4)), None);
        assert_eq!(told(narrator, 18_900, gap_until(18_900)), None);
        assert_eq!(told(narrator, 19_100, gap_until(19_100)), None);
        let recovered = "20.0 s  steady: recovered 9.1 s after kill leader-of(orders/0) (node 2)";
        assert_eq!(told(narrator, 20_000, second(0)).unwrap(), recovered);
        assert_eq!(told(narrator, 21_000, second(0)), None);
    }

    #[test]
    fn a_stall_without_a_fault_is_no_recovery_from_one() {
        let narrator = &mut Narrator::default();
        told(narrator, 1_000, second(2));
        assert_eq!(told(narrator, 2_000, second(0)), None);
    }

    #[test]
    fn nodes_are_named_where_the_target_does_not() {
        let rows = [
            ("2", vec![2], "node 2"),
            ("2 (grace 30s)", vec![2], "node 2 (grace 30s)"),
            ("controller", vec![3], "controller (node 3)"),
            ("12", vec![1], "12 (node 1)"),
            ("1, 2, 3", vec![1, 2, 3], "nodes 1, 2, 3"),
            ("all", vec![1, 2], "all (nodes 1, 2)"),
            ("orders 3 -> 6", vec![], "orders 3 -> 6"),
        ];
        for (target, nodes, expected) in rows {
            let nodes: Vec<_> = nodes.into_iter().map(BrokerId).collect();
            assert_eq!(subject(target, &nodes), expected);
        }
    }
}
