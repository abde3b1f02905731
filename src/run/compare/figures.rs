//! A run's figures as a comparison takes them: by name, the main ones first, latencies also as points of a curve. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::analyze::compare::model::{CellRuns, FigureName, LatencyPoints, RunFigure};
use crate::analyze::figures::{Figure, FigureKey};
use crate::plan::model::{Groups, Window};

/// Latencies that make the points of a curve.
const CURVE: [(&str, f64); 6] = [
    ("latency.p50", 50.0),
    ("latency.p90", 90.0),
    ("latency.p99", 99.0),
    ("latency.p99.9", 99.9),
    ("latency.p99.99", 99.99),
    ("latency.max", 100.0),
];

/// All figures, the main ones first, and of the latencies the points of curves. What a single group says again of itself is left out: every
/// figure is a question more, and makes the others' answers less certain.
pub(super) fn of_run(figures: &[Figure]) -> (Vec<RunFigure>, Vec<LatencyPoints>) {
    let names = |kind: Groups| {
        let of_kind = figures.iter().filter(move |figure| figure.key.metric.info().groups == kind);
        of_kind.filter_map(|figure| figure.key.group.as_deref()).collect::<BTreeSet<&str>>()
    };
    let is_alone = |kind: Groups| names(kind).len() == 1;
    let alone = [Groups::Producers, Groups::Requesters].into_iter().filter(|kind| is_alone(*kind)).collect::<Vec<_>>();
    let figures: Vec<&Figure> =
        figures.iter().filter(|figure| figure.key.group.is_none() || !alone.contains(&figure.key.metric.info().groups)).collect();
    let mut all: Vec<RunFigure> = figures.iter().map(|figure| of_figure(figure)).collect();
    all.sort_by_key(|figure| figure.name.main_place().unwrap_or(usize::MAX));
    (all, curves(&figures))
}

fn of_figure(figure: &Figure) -> RunFigure {
    let name = name_of(&figure.key);
    RunFigure {
        unit: figure.unit(),
        value: figure.known().filter(|value| value.is_finite()),
        is_main: name.is_main(),
        about: figure.key.metric.info().about.to_owned(),
        name,
    }
}

fn name_of(key: &FigureKey) -> FigureName {
    FigureName { metric: key.metric.name().to_owned(), group: key.group.clone(), window: key.window.to_string() }
}

/// Of which group, over which window.
type Scope = (Option<String>, Window);

/// One curve for each group and window of which every point is known.
fn curves(figures: &[&Figure]) -> Vec<LatencyPoints> {
    let mut curves: BTreeMap<Scope, Vec<(f64, f64)>> = BTreeMap::new();
    for (metric, percentile) in CURVE {
        for figure in figures.iter().filter(|figure| figure.key.metric.name() == metric) {
            if let Some(value) = figure.known() {
                curves.entry((figure.key.group.clone(), figure.key.window.clone())).or_default().push((percentile, value));
            }
        }
    }
    let whole = curves.into_iter().filter(|(_, points)| points.len() == CURVE.len());
    whole
        .map(|((group, window), points)| LatencyPoints {
            name: FigureName { metric: "latency".to_owned(), group, window: window.to_string() },
            points,
        })
        .collect()
}

/// Takes out the figures that no run of any cell knows: a plan without growth has none of its figures.
pub(super) fn drop_unknown(cells: &mut [CellRuns]) {
    let all = cells.iter().flat_map(|cell| &cell.runs).flat_map(|run| &run.figures);
    let known: BTreeSet<FigureName> = all.filter(|figure| figure.value.is_some()).map(|figure| figure.name.clone()).collect();
    for run in cells.iter_mut().flat_map(|cell| &mut cell.runs) {
        run.figures.retain(|figure| known.contains(&figure.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::Analysis;
    use crate::analyze::compare::model::RunFigures;
    use crate::analyze::findings::Verdict;
    use crate::plan::model::{Metric, Unit};
    use crate::record::sample::{Pair, Sample};

    fn figures(groups: &[&str]) -> Vec<Figure> {
        let groups: Vec<(&str, u32)> = groups.iter().map(|name| (*name, 1)).collect();
        let stream = Sample::new(&groups).pairs("steady", 1, 2).load("steady", -2, 20).step(1, "kill", "2", 10_000).gap(
            Pair("steady", 0, 0),
            10_000,
            Some(19_000),
        );
        let mut analysis = Analysis::new();
        stream.end(20_000).facts.iter().for_each(|fact| analysis.fold(fact));
        analysis.figures(&analysis.finish())
    }

    #[test]
    fn points_of_curves_are_metrics() {
        for (name, _) in CURVE {
            assert!(Metric::find(name).is_some(), "{name}");
        }
    }

    #[test]
    fn main_figures_come_first_and_each_name_once() {
        let (figures, _) = of_run(&figures(&["steady", "other"]));
        assert_eq!((figures[0].name.to_string().as_str(), figures[0].value), ("outage.max (steps)", Some(9_000.0)));
        let mains = figures.iter().take_while(|figure| figure.is_main).count();
        assert!(mains > 10 && figures[mains..].iter().all(|figure| !figure.is_main), "{mains}");
        let names: BTreeSet<&FigureName> = figures.iter().map(|figure| &figure.name).collect();
        assert_eq!(names.len(), figures.len());
        assert!(figures.iter().any(|figure| figure.name.group.as_deref() == Some("steady")));
    }

    #[test]
    fn a_group_that_is_alone_is_not_told_twice() {
        let (figures, curves) = of_run(&figures(&["steady"]));
        assert!(figures.iter().all(|figure| figure.name.group.is_none()));
        assert!(curves.iter().all(|curve| curve.name.group.is_none()) && !curves.is_empty());
    }

    #[test]
    fn a_figure_that_no_run_knows_is_left_out_of_all() {
        let run = |figures: Vec<RunFigure>| RunFigures {
            name: "r".into(),
            order: 1,
            started_at: String::new(),
            plan_sha256: String::new(),
            common_plan_sha256: None,
            versions: BTreeMap::new(),
            machine: BTreeMap::new(),
            verdict: Verdict::Pass,
            unconfirmed: None,
            figures,
            series: Vec::new(),
            latencies: Vec::new(),
        };
        let figure = |metric: &str, value: Option<f64>| RunFigure {
            name: FigureName { metric: metric.into(), group: None, window: "run".into() },
            unit: Unit::Count,
            value,
            is_main: false,
            about: String::new(),
        };
        let cell = |runs: Vec<RunFigures>| CellRuns { name: "c".into(), settings: Vec::new(), is_control: false, runs };
        let mut cells =
            [cell(vec![run(vec![figure("a", None), figure("b", None)])]), cell(vec![run(vec![figure("a", Some(1.0)), figure("b", None)])])];
        drop_unknown(&mut cells);
        for run in cells.iter().flat_map(|cell| &cell.runs) {
            assert_eq!(run.figures.iter().map(|figure| figure.name.metric.as_str()).collect::<Vec<_>>(), ["a"]);
        }
    }

    #[test]
    fn a_curve_has_the_same_points_in_every_window() {
        let (_, curves) = of_run(&figures(&["steady", "other"]));
        assert!(!curves.is_empty());
        for curve in curves {
            let percentiles: Vec<f64> = curve.points.iter().map(|(percentile, _)| *percentile).collect();
            assert_eq!(percentiles, CURVE.map(|(_, percentile)| percentile), "{:?}", curve.name);
        }
    }
}
