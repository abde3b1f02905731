//! Steps put together again from their facts: one row per step that really ran.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{BrokerId, StepNumber};
use crate::record::fact::{Fact, Stamped};

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// Done and observed.
    Done,
    /// It changed nothing: fails the run.
    NoOp,
    /// The call failed.
    Failed,
    /// The call succeeded, but the change was not seen from outside in time.
    NotObserved,
    /// The run ended first.
    Cancelled,
}

/// What is known of a step so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRecord {
    /// Its number.
    pub step: StepNumber,
    /// The step whose part it is.
    pub parent: Option<StepNumber>,
    /// Round of a `repeat` or position in a `rolling`, from 1.
    pub round: Option<u32>,
    /// Such as `kill`.
    pub action: String,
    /// As the plan says it.
    pub target: String,
    /// What the target was resolved to.
    pub nodes: Vec<BrokerId>,
    /// Whether the node was the active controller, where that could be asked.
    pub was_controller: Option<bool>,
    /// Just before the call.
    pub requested_us: i64,
    /// The call returned.
    pub acknowledged_us: Option<i64>,
    /// Confirmed from outside.
    pub observed_us: Option<i64>,
    /// How it ended; `None`: it has not.
    pub outcome: Option<StepOutcome>,
    /// What was seen, and how it ended, in words.
    pub detail: String,
}

/// All steps of a run, by number.
#[derive(Clone, Debug, Default)]
pub struct StepLedger {
    steps: BTreeMap<StepNumber, StepRecord>,
}

impl StepLedger {
    /// Takes in a fact; tells whether it was about a step.
    pub fn fold(&mut self, stamped: &Stamped) -> bool {
        match &stamped.fact {
            Fact::StepRequested { .. } => self.requested(stamped),
            Fact::StepAcknowledged { step } => self.change(*step, |row| row.acknowledged_us = Some(stamped.time_us)),
            Fact::StepObserved { step, detail } => self.change(*step, |row| {
                row.observed_us = Some(stamped.time_us);
                row.add_detail(detail);
            }),
            Fact::StepFinished { step, outcome, detail } => self.change(*step, |row| {
                row.outcome = Some(*outcome);
                row.add_detail(detail);
            }),
            _ => return false,
        }
        true
    }

    /// All steps in the order of firing.
    pub fn steps(&self) -> impl Iterator<Item = &StepRecord> + Clone {
        self.steps.values()
    }

    /// One step.
    #[must_use]
    pub fn get(&self, step: StepNumber) -> Option<&StepRecord> {
        self.steps.get(&step)
    }

    /// Whether there was no step at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    fn requested(&mut self, stamped: &Stamped) {
        if let Fact::StepRequested { step, parent, round, action, target, nodes, was_controller } = &stamped.fact {
            let row = StepRecord {
                step: *step,
                parent: *parent,
                round: *round,
                action: action.clone(),
                target: target.clone(),
                nodes: nodes.clone(),
                was_controller: *was_controller,
                requested_us: stamped.time_us,
                acknowledged_us: None,
                observed_us: None,
                outcome: None,
                detail: String::new(),
            };
            self.steps.insert(*step, row);
        }
    }

    /// A fact about a step that was never requested (its request was lost) has no row to go to.
    fn change(&mut self, step: StepNumber, change: impl FnOnce(&mut StepRecord)) {
        if let Some(row) = self.steps.get_mut(&step) {
            change(row);
        }
    }
}

impl StepRecord {
    fn add_detail(&mut self, detail: &str) {
        if detail.is_empty() || self.detail == detail {
            return;
        }
        if !self.detail.is_empty() {
            self.detail.push_str("; ");
        }
        self.detail.push_str(detail);
    }
}

impl StepOutcome {
    /// The outcome as files have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::NoOp => "no_op",
            Self::Failed => "failed",
            Self::NotObserved => "not_observed",
            Self::Cancelled => "cancelled",
        }
    }
}
