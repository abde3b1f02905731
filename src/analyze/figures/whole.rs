//! Figures of whole lives, of the nodes and of the load generator.

use super::Unknown;
use super::cut::{Cut, count, float};
use super::load::of;
use super::outages::at;
use crate::analyze::findings::GroupFinding;
use crate::plan::model::{Point, Quantile, Stage};

impl Cut<'_> {
    pub(super) fn first_ack(&self, stage: Stage, point: Point) -> Result<f64, Unknown> {
        let names = self.groups().map(|group| group.name.as_str());
        self.measured.analysis.first_acks.over(names, stage).map(|spread| float(at(spread, point))).ok_or(Unknown::NotSeen)
    }

    /// Of the least and greatest partition count in each group's caches.
    pub(super) fn cached(&self, pick: fn(&mut dyn Iterator<Item = (u32, u32)>) -> Option<u32>) -> Result<f64, Unknown> {
        let counts: Option<Vec<(u32, u32)>> = self.groups().map(|group| group.cached_partitions).collect();
        pick(&mut counts.ok_or(Unknown::NotTold)?.into_iter()).map(f64::from).ok_or(Unknown::NotTold)
    }

    pub(super) fn blocked(&self, of: fn(&GroupFinding) -> Option<u64>) -> Result<f64, Unknown> {
        let sum: Option<u64> = self.groups().map(of).sum();
        sum.map(count).ok_or(Unknown::NotTold)
    }

    /// The mean over nodes, and the worst second.
    pub(super) fn cpu(&self) -> Result<(f64, f64), Unknown> {
        self.measured.analysis.storm.cpu.over(self.selection()?.parts()?).ok_or(Unknown::NotSeen)
    }

    pub(super) fn lateness(&self, quantile: Quantile) -> Result<f64, Unknown> {
        self.selection()?;
        let lateness = self.measured.analysis.generator.lateness(self.window).ok_or(Unknown::NotSeen)?;
        of(lateness, quantile).ok_or(Unknown::NotSeen)
    }
}
