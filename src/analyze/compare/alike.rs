//! Figures that have the same values in all runs, whatever they are called: they answer one question, and are asked and shown once.
//!
//! With a single step in the plan, the windows `steps`, `step 1` and `kill` are the same time, and so is every figure over them. Asked three
//! times, a question would make all answers less certain than they are. Not here: what the figures say.

use std::collections::BTreeMap;

use crate::analyze::compare::figures::UsedCell;
use crate::analyze::compare::model::{FigureName, RunFigure};

/// A figure, and what else it is called.
#[derive(Debug)]
pub(super) struct Once<'a> {
    /// The first of its names in the order of the figures.
    pub(super) figure: &'a RunFigure,
    /// The others.
    pub(super) also: Vec<FigureName>,
}

impl<'a> Once<'a> {
    /// A figure without other names.
    pub(super) fn alone(figure: &'a RunFigure) -> Self {
        Self { figure, also: Vec::new() }
    }
}

/// Unit and values by run, as bits: only what is the very same is one figure.
type Values = (&'static str, Vec<Option<u64>>);

/// Each figure once, in their order. A figure that never differs stays by itself, whatever else has that value too: nothing is asked of it,
/// and zero failed records are not the same as zero hangs.
pub(super) fn once<'a>(cells: &[UsedCell<'_>], figures: Vec<&'a RunFigure>) -> Vec<Once<'a>> {
    let mut seen: BTreeMap<Values, usize> = BTreeMap::new();
    let mut found: Vec<Once<'a>> = Vec::new();
    for figure in figures {
        let values: Vec<Option<u64>> =
            cells.iter().flat_map(|cell| cell.values(&figure.name)).map(|value| value.map(f64::to_bits)).collect();
        if values.windows(2).all(|pair| pair[0] == pair[1]) {
            found.push(Once::alone(figure));
            continue;
        }
        let at = *seen.entry((figure.unit.name(), values)).or_insert(found.len());
        match found.get_mut(at) {
            Some(first) => first.also.push(figure.name.clone()),
            None => found.push(Once::alone(figure)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::compare::model::RunFigures;
    use crate::analyze::compare::tests::noise::{name, run};
    use crate::plan::model::Unit;

    fn figure(metric: &str, unit: Unit, value: Option<f64>) -> RunFigure {
        RunFigure { name: name(metric), unit, value, is_main: true, about: String::new() }
    }

    #[test]
    fn only_the_very_same_values_in_the_same_unit_are_one_figure() {
        let run = |order: u32, varies: Option<f64>| {
            let other = if order == 2 { Some(7.0) } else { varies };
            let figures = vec![
                figure("a", Unit::Ms, varies),
                figure("b", Unit::Ms, varies),
                figure("in another unit", Unit::Count, varies),
                figure("once another", Unit::Ms, other),
                figure("c", Unit::Ms, varies),
                figure("never differs", Unit::Ms, Some(0.0)),
                figure("nor does this", Unit::Ms, Some(0.0)),
            ];
            run(order, figures)
        };
        let runs: Vec<RunFigures> = vec![run(1, Some(1.0)), run(2, Some(2.0)), run(3, None)];
        let cells = [UsedCell { name: "x", runs: runs.iter().collect() }];
        let found = once(&cells, runs[0].figures.iter().collect());
        let names: Vec<(&str, usize)> = found.iter().map(|once| (once.figure.name.metric.as_str(), once.also.len())).collect();
        assert_eq!(names, [("a", 2), ("in another unit", 0), ("once another", 0), ("never differs", 0), ("nor does this", 0)]);
        assert_eq!(found[0].also.iter().map(|name| name.metric.as_str()).collect::<Vec<_>>(), ["b", "c"]);
    }
}
