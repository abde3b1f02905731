//! What the steps tell, as facts of the run.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::clock::Moment;
use crate::fault::{Outcome, StepEvent, StepInfo, StepSink};
use crate::ids::StepNumber;
use crate::record::fact::{Fact, StepOutcome};
use crate::record::sink::FactSink;

/// Turns step events into facts, and remembers which steps are not over.
#[derive(Debug)]
pub(super) struct StepFacts {
    sink: FactSink,
    open: Mutex<BTreeSet<StepNumber>>,
}

impl StepFacts {
    /// Facts go to this sink.
    pub(super) fn new(sink: FactSink) -> Self {
        Self { sink, open: Mutex::default() }
    }

    /// The run ends: what is not over never will be.
    pub(super) fn cancel_open(&self, now: Moment) {
        let open = std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner));
        for step in open {
            let detail = "the run ended first".to_owned();
            self.sink.emit(now, Fact::StepFinished { step, outcome: StepOutcome::Cancelled, detail });
        }
    }
}

impl StepSink for StepFacts {
    fn on_step(&self, event: StepEvent) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        match &event {
            StepEvent::Requested { step, .. } => _ = open.insert(step.number),
            StepEvent::Finished { step, .. } => _ = open.remove(step),
            StepEvent::Acknowledged { .. } | StepEvent::Observed { .. } => {}
        }
        let (at, fact) = fact_of(event);
        self.sink.emit(at, fact);
    }
}

fn fact_of(event: StepEvent) -> (Moment, Fact) {
    match event {
        StepEvent::Requested { step, nodes, at } => {
            let was_controller =
                nodes.iter().map(|node| node.was_controller).reduce(|any, one| any.zip(one).map(|(a, b)| a || b)).flatten();
            let fact = Fact::StepRequested {
                step: step.number,
                parent: step.scope.parent,
                round: step.scope.round,
                action: step.what.name().to_owned(),
                target: target_of(&step),
                nodes: nodes.into_iter().map(|node| node.id).collect(),
                was_controller,
            };
            (at, fact)
        }
        StepEvent::Acknowledged { step, at } => (at, Fact::StepAcknowledged { step }),
        StepEvent::Observed { step, at, detail } => (at, Fact::StepObserved { step, detail }),
        StepEvent::Finished { step, at, outcome } => {
            let detail = outcome.reason().to_owned();
            let outcome = match outcome {
                Outcome::Done => StepOutcome::Done,
                Outcome::NoOp(_) => StepOutcome::NoOp,
                Outcome::Failed(_) => StepOutcome::Failed,
                Outcome::NotObserved(_) => StepOutcome::NotObserved,
            };
            (at, Fact::StepFinished { step, outcome, detail })
        }
    }
}

/// The target, with what the action says beyond its kind.
fn target_of(step: &StepInfo) -> String {
    let rest = step.action.strip_prefix(step.what.name()).unwrap_or(&step.action).trim();
    [step.target.as_str(), rest].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{ResolvedNode, Scope, What};
    use crate::ids::BrokerId;
    use crate::record::fact::Stamped;
    use crate::record::sink;

    fn stop_of(target: &str, number: u32) -> StepInfo {
        StepInfo {
            number: StepNumber(number),
            scope: Scope::default(),
            what: What::Stop,
            is_group: false,
            action: "stop (grace 30s)".into(),
            target: target.into(),
            line: 7,
        }
    }

    #[test]
    fn a_step_cut_off_by_the_end_is_told_as_cancelled() {
        let (sink, mut source) = sink::channel(Moment(1_000_000), 0, 16);
        let facts = StepFacts::new(sink);
        let node = ResolvedNode { id: BrokerId(2), was_controller: Some(true), led: None };
        let at = Moment(1_500_000);
        facts.on_step(StepEvent::Requested { step: stop_of("controller", 1), nodes: vec![node], at });
        facts.on_step(StepEvent::Requested { step: stop_of("3", 2), nodes: vec![], at });
        facts.on_step(StepEvent::Finished { step: StepNumber(1), at, outcome: Outcome::NoOp("down already".into()) });
        facts.cancel_open(Moment(3_000_000));
        facts.cancel_open(Moment(3_000_000));
        let mut told = std::iter::from_fn(|| source.try_next());
        let first = told.next().unwrap();
        assert_eq!(first.time_us, 500_000);
        let Fact::StepRequested { target, nodes, was_controller, action, .. } = first.fact else { panic!("{first:?}") };
        assert_eq!((action.as_str(), target.as_str()), ("stop", "controller (grace 30s)"));
        assert_eq!((nodes, was_controller), (vec![BrokerId(2)], Some(true)));
        let finished = |stamped: Stamped| match stamped.fact {
            Fact::StepFinished { step, outcome, .. } => Some((step.0, outcome, stamped.time_us)),
            _ => None,
        };
        let outcomes: Vec<_> = told.filter_map(finished).collect();
        assert_eq!(outcomes, [(1, StepOutcome::NoOp, 500_000), (2, StepOutcome::Cancelled, 2_000_000)]);
    }
}
