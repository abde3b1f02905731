//! What the layers and the caches made of steps. Of several nodes, groups or steps, the slowest one's figure counts.

use super::Unknown;
use super::cut::{Cut, count, float};
use super::outages::at;
use crate::analyze::findings::GrowthFinding;
use crate::analyze::spread::Spread;
use crate::ids::StepNumber;
use crate::plan::model::Point;

impl Cut<'_> {
    pub(super) fn layer(&self, layer: &str, point: Point) -> Result<f64, Unknown> {
        let selection = self.selection()?;
        let layers = &self.measured.findings.layers;
        if layers.is_empty() {
            return Err(Unknown::NotLooked);
        }
        let of_steps = layers.iter().filter(|finding| selection.holds(StepNumber(finding.step)));
        let spreads = of_steps.flat_map(|finding| &finding.spreads).filter(|spread| spread.layer.name() == layer);
        let of_group = spreads.filter(|spread| self.group.is_none_or(|group| spread.group.as_deref() == Some(group)));
        slowest(of_group.filter_map(|spread| spread.after_ms), point)
    }

    pub(super) fn growth(&self, point: Point, of: fn(&GrowthFinding) -> Option<Spread>) -> Result<f64, Unknown> {
        slowest(self.growths()?.filter_map(of), point)
    }

    pub(super) fn growth_never(&self) -> Result<f64, Unknown> {
        let never: Vec<u64> = self.growths()?.map(|growth| growth.never).collect();
        if never.is_empty() { Err(Unknown::NotSeen) } else { Ok(count(never.iter().sum())) }
    }

    fn growths(&self) -> Result<impl Iterator<Item = &GrowthFinding>, Unknown> {
        let selection = self.selection()?;
        let of_steps = move |growth: &&GrowthFinding| selection.holds(StepNumber(growth.step));
        let of_group = |growth: &&GrowthFinding| self.group.is_none_or(|group| growth.group == group);
        Ok(self.measured.findings.growth.iter().filter(of_steps).filter(of_group))
    }
}

fn slowest(spreads: impl Iterator<Item = Spread>, point: Point) -> Result<f64, Unknown> {
    spreads.map(|spread| at(spread, point)).max().map(float).ok_or(Unknown::NotSeen)
}
