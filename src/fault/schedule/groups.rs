//! Steps that hold others together: a group is finished when its last part was acknowledged and every part is finished.

use std::collections::BTreeMap;

use crate::fault::event::Outcome;
use crate::ids::StepNumber;

/// Groups that have begun and are not finished.
#[derive(Debug, Default)]
pub(super) struct Groups(BTreeMap<StepNumber, Group>);

#[derive(Debug, Default)]
struct Group {
    /// Parts that have begun and are not finished.
    open: usize,
    /// No part will come any more, and all are acknowledged.
    is_acknowledged: bool,
    /// The first part that failed.
    failed: Option<StepNumber>,
}

impl Groups {
    pub(super) fn begin(&mut self, group: StepNumber) {
        self.0.insert(group, Group::default());
    }

    pub(super) fn child_began(&mut self, group: StepNumber) {
        if let Some(group) = self.0.get_mut(&group) {
            group.open += 1;
        }
    }

    /// Tells the group's outcome if that was its last part.
    pub(super) fn child_finished(&mut self, number: StepNumber, child: StepNumber, is_done: bool) -> Option<Outcome> {
        let group = self.0.get_mut(&number)?;
        group.open -= 1;
        if !is_done {
            group.failed.get_or_insert(child);
        }
        self.outcome_if_over(number)
    }

    /// No part will come any more; tells the group's outcome if all are finished.
    pub(super) fn all_acknowledged(&mut self, number: StepNumber) -> Option<Outcome> {
        self.0.get_mut(&number)?.is_acknowledged = true;
        self.outcome_if_over(number)
    }

    fn outcome_if_over(&mut self, number: StepNumber) -> Option<Outcome> {
        let group = self.0.get(&number)?;
        if group.open > 0 || !group.is_acknowledged {
            return None;
        }
        let group = self.0.remove(&number)?;
        Some(group.failed.map_or(Outcome::Done, |step| Outcome::Failed(format!("its step {step} failed"))))
    }
}
