//! Whether the machine or the cluster changed while the comparison went on: controls against the runs of the first cell, and trends.
//!
//! Only main figures are looked at, at the comparison's significance over all of them; nothing is corrected for drift.

use crate::analyze::compare::SIGNIFICANCE;
use crate::analyze::compare::figures::UsedCell;
use crate::analyze::compare::findings::{Drift, DriftFinding, FigureFinding};
use crate::analyze::compare::model::FigureName;
use crate::analyze::compare::sample::{Sample, float, mean, variance_floor};
use crate::analyze::compare::student::two_sided_p;
use crate::plan::model::Unit;

/// Fewer degrees of freedom say nothing of scatter.
const DEGREES_MIN: f64 = 3.0;

/// All drift that is shown, in the order of the figures.
pub(super) fn drift(cells: &[UsedCell<'_>], controls: &UsedCell<'_>, figures: &[FigureFinding]) -> Vec<DriftFinding> {
    let main = || figures.iter().filter(|figure| figure.is_main);
    let significance = SIGNIFICANCE / float(main().count() * (controls.runs.len() + 1)).max(1.0);
    let of_figure = |figure: &FigureFinding| {
        let looked = Looked { cells, controls, name: &figure.name, unit: figure.unit, significance };
        let mut seen = looked.controls();
        seen.extend(looked.trend());
        seen.into_iter().map(|seen| DriftFinding { name: figure.name.clone(), unit: figure.unit, seen }).collect::<Vec<_>>()
    };
    main().flat_map(of_figure).collect()
}

/// One figure.
struct Looked<'a> {
    cells: &'a [UsedCell<'a>],
    controls: &'a UsedCell<'a>,
    name: &'a FigureName,
    unit: Unit,
    significance: f64,
}

impl Looked<'_> {
    /// Controls that a further run of the first cell would not be like.
    fn controls(&self) -> Vec<Drift> {
        let Some(first) = self.cells.first() else { return Vec::new() };
        let Some(sample) = Sample::of(&known(first, self.name), self.unit) else { return Vec::new() };
        let degrees = sample.count - 1.0;
        if degrees < DEGREES_MIN {
            return Vec::new();
        }
        // Runs of one cell may agree by chance; those of all cells hardly.
        let error = (sample.variance.max(self.pooled_variance()) * (1.0 + 1.0 / sample.count)).sqrt();
        let values = self.controls.runs.iter().zip(self.controls.values(self.name));
        let told = values.filter_map(|(run, value)| Some((run, value?)));
        told.filter(|(_, value)| two_sided_p((value - sample.mean) / error, degrees) <= self.significance)
            .map(|(run, value)| Drift::Control { run: run.name.clone(), order: run.order, value, mean: sample.mean })
            .collect()
    }

    /// Variance within cells, over all of them; 0 if no cell has two runs.
    fn pooled_variance(&self) -> f64 {
        let (mut squares, mut degrees) = (0.0, 0.0);
        for cell in self.cells {
            let values = known(cell, self.name);
            let Some(mean) = mean(&values) else { continue };
            squares += values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            degrees += float(values.len()) - 1.0;
        }
        if degrees > 0.0 { squares / degrees } else { 0.0 }
    }

    /// A slope over the places in the sequence that is common to all cells.
    fn trend(&self) -> Option<Drift> {
        let (mut places, mut values, mut means) = (Vec::new(), Vec::new(), 0.0);
        for (at, cell) in self.cells.iter().enumerate() {
            let mut told = told(cell, self.name);
            if at == 0 {
                told.extend(self::told(self.controls, self.name));
            }
            let middle_place = mean(&told.iter().map(|(place, _)| *place).collect::<Vec<_>>());
            let middle_value = mean(&told.iter().map(|(_, value)| *value).collect::<Vec<_>>());
            let Some((middle_place, middle_value)) = middle_place.zip(middle_value) else { continue };
            means += 1.0;
            places.extend(told.iter().map(|(place, _)| place - middle_place));
            values.extend(told.iter().map(|(_, value)| value - middle_value));
        }
        let degrees = float(values.len()) - means - 1.0;
        let squares: f64 = places.iter().map(|place| place * place).sum();
        if degrees < DEGREES_MIN || squares <= 0.0 {
            return None;
        }
        let slope = places.iter().zip(&values).map(|(place, value)| place * value).sum::<f64>() / squares;
        let left: f64 = places.iter().zip(&values).map(|(place, value)| (value - slope * place).powi(2)).sum();
        let floor = variance_floor(self.unit, mean(&known(self.cells.first()?, self.name)).unwrap_or(0.0));
        let error = ((left / degrees).max(floor) / squares).sqrt();
        let is_shown = slope != 0.0 && two_sided_p(slope / error, degrees) <= self.significance;
        is_shown.then(|| Drift::Trend { change: slope * self.length() })
    }

    /// From the first place to the last.
    fn length(&self) -> f64 {
        let orders = || self.cells.iter().chain([self.controls]).flat_map(|cell| &cell.runs).map(|run| run.order);
        orders().max().zip(orders().min()).map_or(0.0, |(last, first)| f64::from(last - first))
    }
}

fn known(cell: &UsedCell<'_>, name: &FigureName) -> Vec<f64> {
    cell.values(name).into_iter().flatten().collect()
}

/// Place in the sequence, and value.
fn told(cell: &UsedCell<'_>, name: &FigureName) -> Vec<(f64, f64)> {
    cell.runs.iter().zip(cell.values(name)).filter_map(|(run, value)| Some((f64::from(run.order), value?))).collect()
}
