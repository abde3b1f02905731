//! `steps.csv`: one row per step that really ran.

use std::path::PathBuf;

use super::replace::replace_table;
use super::{cell, millis};
use crate::record::error::Result;
use crate::record::fact::{Stamped, StepOutcome};
use crate::record::step::{StepLedger, StepRecord};

pub(super) const COLUMNS: &str =
    "step,parent,round,action,target,resolved_node,was_controller,requested_ms,acknowledged_ms,observed_ms,outcome,detail";

#[derive(Debug)]
pub(super) struct StepsFile {
    path: PathBuf,
    ledger: StepLedger,
    changed: bool,
}

impl StepsFile {
    pub(super) fn create(path: PathBuf) -> Result<Self> {
        let mut file = Self { path, ledger: StepLedger::default(), changed: true };
        file.flush()?;
        Ok(file)
    }

    pub(super) fn fold(&mut self, stamped: &Stamped) {
        self.changed |= self.ledger.fold(stamped);
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        if self.changed {
            replace_table(&self.path, COLUMNS, self.ledger.steps().map(row))?;
            self.changed = false;
        }
        Ok(())
    }
}

fn row(step: &StepRecord) -> [String; 12] {
    let nodes: Vec<String> = step.nodes.iter().map(ToString::to_string).collect();
    [
        step.step.to_string(),
        cell(step.parent),
        cell(step.round),
        step.action.clone(),
        step.target.clone(),
        nodes.join(" "),
        cell(step.was_controller),
        millis(step.requested_us).to_string(),
        cell(step.acknowledged_us.map(millis)),
        cell(step.observed_us.map(millis)),
        step.outcome.map_or("", StepOutcome::name).to_owned(),
        step.detail.clone(),
    ]
}
