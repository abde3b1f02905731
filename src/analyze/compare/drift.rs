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

/// Fewer values are on a line by themselves.
const TREND_VALUES_MIN: usize = 3;

/// Notes every cell's trend and all drift that is shown at the figures; the latter also as a list, in their order.
pub(super) fn drift(cells: &[UsedCell<'_>], controls: &UsedCell<'_>, figures: &mut [FigureFinding]) -> Vec<DriftFinding> {
    let main = figures.iter().filter(|figure| figure.is_main).count();
    let significance = SIGNIFICANCE / float(main * (controls.runs.len() + 1 + cells.len())).max(1.0);
    let mut all = Vec::new();
    for figure in figures {
        let looked = Looked { cells, controls, name: &figure.name, unit: figure.unit, significance };
        let trends: Vec<Option<f64>> = cells.iter().map(|cell| looked.trend_of(cell)).collect();
        if figure.is_main {
            figure.drift = looked.seen();
        }
        figure.cells.iter_mut().zip(trends).for_each(|(cell, trend)| cell.trend = trend);
        let seen = figure.drift.iter().cloned();
        all.extend(seen.map(|seen| DriftFinding { name: figure.name.clone(), unit: figure.unit, seen }));
    }
    all
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
    /// All that is shown. What rises in all cells together is not told of each of them again.
    fn seen(&self) -> Vec<Drift> {
        let mut seen = self.controls();
        match self.trend() {
            Some(change) => seen.push(Drift::Trend { change }),
            None if self.cells.len() > 1 => seen.extend(self.cells.iter().filter_map(|cell| self.shown_trend_of(cell))),
            None => {}
        }
        seen
    }

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

    /// A slope over the places in the sequence that is common to all cells, from the first run to the last.
    fn trend(&self) -> Option<f64> {
        let cells: Vec<Vec<(f64, f64)>> = self
            .cells
            .iter()
            .enumerate()
            .map(|(at, cell)| {
                let mut told = told(cell, self.name);
                if at == 0 {
                    told.extend(self::told(self.controls, self.name));
                }
                told
            })
            .collect();
        let line = Line::through(&cells)?;
        line.is_shown(self.floor(), self.significance).then(|| line.slope * self.length())
    }

    /// By how much one cell's values rise from its first run to its last.
    fn trend_of(&self, cell: &UsedCell<'_>) -> Option<f64> {
        let told = told(cell, self.name);
        let line = Line::through(std::slice::from_ref(&told)).filter(|_| told.len() >= TREND_VALUES_MIN)?;
        let orders = || cell.runs.iter().map(|run| run.order);
        Some(line.slope * f64::from(orders().max()? - orders().min()?))
    }

    fn shown_trend_of(&self, cell: &UsedCell<'_>) -> Option<Drift> {
        let line = Line::through(&[told(cell, self.name)])?;
        let change = self.trend_of(cell).filter(|_| line.is_shown(self.floor(), self.significance))?;
        Some(Drift::TrendOfCell { cell: cell.name.to_owned(), change })
    }

    /// Variance that a value has by its resolution alone.
    fn floor(&self) -> f64 {
        let first = self.cells.first().and_then(|cell| mean(&known(cell, self.name)));
        variance_floor(self.unit, first.unwrap_or(0.0))
    }

    /// From the first place to the last.
    fn length(&self) -> f64 {
        let orders = || self.cells.iter().chain([self.controls]).flat_map(|cell| &cell.runs).map(|run| run.order);
        orders().max().zip(orders().min()).map_or(0.0, |(last, first)| f64::from(last - first))
    }
}

/// The line of one slope through the values of cells, each cell at its own height.
struct Line {
    slope: f64,
    /// Of the places, about their cell's mean.
    squares: f64,
    /// What the line leaves of the values.
    left: f64,
    degrees: f64,
}

impl Line {
    /// Of (place, value) by cell; `None` if no cell has two places.
    fn through(cells: &[Vec<(f64, f64)>]) -> Option<Self> {
        let (mut points, mut heights) = (Vec::new(), 0.0);
        for told in cells {
            let middle_place = mean(&told.iter().map(|(place, _)| *place).collect::<Vec<_>>());
            let middle_value = mean(&told.iter().map(|(_, value)| *value).collect::<Vec<_>>());
            let Some((middle_place, middle_value)) = middle_place.zip(middle_value) else { continue };
            heights += 1.0;
            points.extend(told.iter().map(|(place, value)| (place - middle_place, value - middle_value)));
        }
        let squares: f64 = points.iter().map(|(place, _)| place * place).sum();
        let slope = points.iter().map(|(place, value)| place * value).sum::<f64>() / squares;
        let left = points.iter().map(|(place, value)| (value - slope * place).powi(2)).sum();
        (squares > 0.0).then(|| Self { slope, squares, left, degrees: float(points.len()) - heights - 1.0 })
    }

    fn is_shown(&self, floor: f64, significance: f64) -> bool {
        if self.degrees < DEGREES_MIN || self.slope == 0.0 {
            return false;
        }
        let error = ((self.left / self.degrees).max(floor) / self.squares).sqrt();
        two_sided_p(self.slope / error, self.degrees) <= significance
    }
}

fn known(cell: &UsedCell<'_>, name: &FigureName) -> Vec<f64> {
    cell.values(name).into_iter().flatten().collect()
}

/// Place in the sequence, and value.
fn told(cell: &UsedCell<'_>, name: &FigureName) -> Vec<(f64, f64)> {
    cell.runs.iter().zip(cell.values(name)).filter_map(|(run, value)| Some((f64::from(run.order), value?))).collect()
}
