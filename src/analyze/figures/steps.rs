//! What the layers and the caches made of steps. Of several nodes, groups or steps, the slowest one's figure counts.
//!
//! A step's change may come after the next step, as when a killed node is started before the controller has noticed. Its window then saw no
//! change, and the layers of the partition that waited longest are taken: that change is known to be the step's.

use super::Unknown;
use super::cut::{Cut, count, float};
use super::outages::at;
use crate::analyze::findings::GrowthFinding;
use crate::analyze::layers::findings::LayerFinding;
use crate::analyze::spread::Spread;
use crate::ids::StepNumber;
use crate::plan::model::Point;
use crate::record::layer::Layer;

impl Cut<'_> {
    pub(super) fn layer(&self, layer: &str, point: Point) -> Result<f64, Unknown> {
        let selection = self.selection()?;
        let layers = &self.measured.findings.layers;
        if layers.is_empty() {
            return Err(Unknown::NotLooked);
        }
        let of_steps = layers.iter().filter(|finding| selection.holds(StepNumber(finding.step)));
        slowest(of_steps.flat_map(|finding| self.times(finding, layer)), point)
    }

    /// When a layer followed, at each node and for each group.
    fn times(&self, finding: &LayerFinding, layer: &str) -> Vec<Spread> {
        let is_meant = |of: Layer, group: Option<&str>| of.name() == layer && (self.group.is_none() || self.group == group);
        let spreads = finding.spreads.iter().filter(|spread| is_meant(spread.layer, spread.group.as_deref()));
        let times: Vec<Spread> = spreads.filter_map(|spread| spread.after_ms).collect();
        if !times.is_empty() {
            return times;
        }
        let stages = finding.waterfall.iter().flat_map(|waterfall| &waterfall.stages);
        let meant = stages.filter(|stage| is_meant(stage.layer, stage.group.as_deref()) && !stage.is_down);
        meant.filter_map(|stage| stage.after_ms.or_else(|| Spread::of([stage.time_ms? - finding.began_ms]))).collect()
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
