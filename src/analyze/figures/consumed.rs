//! What consumers have read.

use super::Unknown;
use super::cut::{Cut, count};
use super::load::of;
use crate::analyze::load::merged;
use crate::plan::model::Quantile;

impl Cut<'_> {
    pub(super) fn end_to_end(&self, quantile: Quantile) -> Result<f64, Unknown> {
        let consumers = self.measured.analysis.consumers.named(self.group);
        let times: Vec<_> = consumers.flat_map(|consumer| consumer.times(self.window)).map(|times| Some(times.clone())).collect();
        let times = merged(times.iter()).ok_or(Unknown::NotSeen)?;
        of(&times, quantile).ok_or(Unknown::NotSeen)
    }

    pub(super) fn consumed(&self) -> Result<f64, Unknown> {
        let mut consumers = self.measured.analysis.consumers.named(self.group).peekable();
        consumers.peek().ok_or(Unknown::NotSeen)?;
        Ok(count(consumers.map(|consumer| consumer.records(self.window)).sum()))
    }
}
