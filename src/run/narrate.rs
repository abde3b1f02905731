//! Facts as lines for the screen: steps as they happen, remarks, and when a group has recovered. Pure.
//!
//! Not here: when a group has recovered or what outages there were (`analyze`).

use std::collections::BTreeMap;

use crate::analyze::live::Recovered;
use crate::ids::{BrokerId, StepNumber};
use crate::record::fact::{Fact, Stamped, StepOutcome};
use crate::ui::colour::Tone;

/// A group that has recovered from a step may stall again and again as the cluster settles; only such stalls are told then.
const AGAIN_MIN_US: i64 = 1_000_000;

/// Remembers what a line needs of the facts before it.
#[derive(Debug, Default)]
pub(super) struct Narrator {
    steps: BTreeMap<StepNumber, KnownStep>,
    /// The step that each group was last told to have recovered from.
    recovered_from: BTreeMap<String, StepNumber>,
}

#[derive(Debug)]
struct KnownStep {
    /// Such as `kill node 2`.
    what: String,
    requested_us: i64,
    acknowledged_us: Option<i64>,
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
                self.steps.insert(*step, KnownStep { what, requested_us: time_us, acknowledged_us: None });
                Some((Tone::Step, at(time_us, &line)))
            }
            Fact::StepAcknowledged { step } => {
                let known = self.steps.get_mut(step)?;
                known.acknowledged_us = Some(time_us);
                let line = format!("step {step}: {} done in {}", known.what, seconds(time_us - known.requested_us));
                Some((Tone::Step, at(time_us, &line)))
            }
            // A wait for a time is over when it is done: there is nothing to be seen.
            Fact::StepObserved { detail, .. } if detail.is_empty() => None,
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

    /// The line that a group's recovery is worth.
    pub(super) fn recovered(&mut self, time_us: i64, recovered: &Recovered) -> Option<(Tone, String)> {
        let (step, _) = recovered.step.as_ref()?;
        let what = &self.steps.get(step)?.what;
        let after = seconds(recovered.since_request_us?);
        let is_again = self.recovered_from.insert(recovered.group.clone(), *step) == Some(*step);
        if is_again && recovered.longest_us < AGAIN_MIN_US {
            return None;
        }
        let again = if is_again { " again" } else { "" };
        let line = format!("{}: recovered{again} {after} after {what} (longest stall {})", recovered.group, seconds(recovered.longest_us));
        Some((Tone::Good, at(time_us, &line)))
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
            let named = [ids.join(", "), ids.join(" -> ")].iter().any(|named| target.starts_with(named.as_str()));
            if named { format!("nodes {target}") } else { format!("{target} (nodes {})", ids.join(", ")) }
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
    fn a_recovery_names_the_step_that_it_is_from() {
        let narrator = &mut Narrator::default();
        told(narrator, 10_000, kill(1, "leader-of(orders/0)", 2, false));
        let mut recovered = Recovered {
            group: "steady".into(),
            step: Some((StepNumber(1), "kill".into())),
            since_request_us: Some(9_100_000),
            stretches: 300,
            longest_us: 9_050_000,
        };
        let (_, line) = narrator.recovered(20_000_000, &recovered).unwrap();
        assert_eq!(line, " 20.0 s  steady: recovered 9.1 s after kill leader-of(orders/0) (node 2) (longest stall 9.1 s)");
        recovered.longest_us = 900_000;
        assert_eq!(narrator.recovered(21_000_000, &recovered), None, "a short stall after the recovery");
        recovered.longest_us = 1_900_000;
        let (_, line) = narrator.recovered(22_000_000, &recovered).unwrap();
        assert!(line.contains("recovered again 9.1 s after"), "{line}");
        recovered.step = None;
        assert_eq!(narrator.recovered(20_000_000, &recovered), None, "a stall without a fault is no recovery from one");
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
            ("2 -> 4 black-hole", vec![2, 4], "nodes 2 -> 4 black-hole"),
            ("2 -> controller black-hole", vec![2, 4], "2 -> controller black-hole (nodes 2, 4)"),
            ("2 -> all black-hole", vec![2], "node 2 -> all black-hole"),
            ("orders 3 -> 6", vec![], "orders 3 -> 6"),
        ];
        for (target, nodes, expected) in rows {
            let nodes: Vec<_> = nodes.into_iter().map(BrokerId).collect();
            assert_eq!(subject(target, &nodes), expected);
        }
    }
}
