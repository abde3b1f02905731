//! Latencies by percentile, from the analysis' own histograms: the baseline against what came after it.

use super::findings::PercentileCurve;
use crate::analyze::load::{GroupLoad, merged};
use crate::analyze::parts::Part;
use crate::record::histogram::LatencyHistogram;

/// What is above a percentile, in percent; the same again for each further nine.
const ABOVE: [f64; 9] = [100.0, 90.0, 75.0, 60.0, 50.0, 40.0, 30.0, 20.0, 15.0];

/// So many nines at most: a run has fewer records than that.
const NINES_MAX: i32 = 7;

/// A window's name, and which parts lie in it.
type NamedWindow = (&'static str, fn(Part) -> bool);

/// All curves of a group; none for a window without records.
pub(super) fn curves(group: &str, load: &GroupLoad) -> Vec<PercentileCurve> {
    let windows: [NamedWindow; 2] = [("baseline", |part| part == Part::Baseline), ("after", Part::is_after)];
    let of_window = |(window, is_in): NamedWindow| {
        let loads = || load.parts().filter(move |(part, _)| is_in(*part)).map(|(_, load)| load);
        let kinds =
            [("response", merged(loads().map(|load| &load.response_ok))), ("service", merged(loads().map(|load| &load.service_ok)))];
        kinds.into_iter().filter_map(move |(kind, histogram)| {
            let histogram = histogram.filter(|histogram| !histogram.is_empty())?;
            Some(PercentileCurve { group: group.to_owned(), window, kind, count: histogram.count(), points: points(&histogram) })
        })
    };
    windows.into_iter().flat_map(of_window).collect()
}

/// As many nines as there are records for.
fn points(histogram: &LatencyHistogram) -> Vec<(f64, u64)> {
    let mut points = Vec::new();
    for nines in 0..NINES_MAX {
        let scale = 10_f64.powi(-nines);
        for above in ABOVE.into_iter().map(|above| above * scale) {
            if above * histogram.count() as f64 <= 100.0 && !points.is_empty() {
                points.push((100.0, histogram.max_us()));
                return points;
            }
            let percentile = ((100.0 - above) * 1e7).round() / 1e7;
            if let Some(value_us) = histogram.quantile_us(percentile / 100.0) {
                points.push((percentile, value_us));
            }
        }
    }
    points.push((100.0, histogram.max_us()));
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_as_many_nines_as_records_and_ends_with_the_greatest() {
        let mut histogram = LatencyHistogram::new();
        (1..=1_000).for_each(|value_us| histogram.record(value_us));
        histogram.record(70_003);
        let points = points(&histogram);
        assert_eq!((points[0], points.last()), ((0.0, 1), Some(&(100.0, 70_003))));
        assert!(points.contains(&(50.0, 501)) && points.contains(&(98.0, 981)), "{points:?}");
        assert!(points.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{points:?}");
        assert!(points[points.len() - 2].0 < 99.95, "{points:?}");
        let mut single = LatencyHistogram::new();
        single.record(5);
        assert_eq!(super::points(&single), [(0.0, 5), (100.0, 5)]);
    }
}
