//! Pictures: panels of horizontal bars with their ranges, readable on white and on black.

use std::fmt::Write;

use crate::stats::Spread;
use crate::svg::{TEXT, begin, escaped};

const WIDTH: f64 = 760.0;
const LABEL_WIDTH: f64 = 210.0;
const VALUE_WIDTH: f64 = 110.0;
const BAR_HEIGHT: f64 = 16.0;
const STEP: f64 = 24.0;
const TITLE_HEIGHT: f64 = 34.0;
const GAP: f64 = 14.0;
/// The strokes at the ends of a range.
const CAP_HEIGHT: f64 = 8.0;
/// Of a range where it lies on its bar: dark enough for both colours of bars.
const ON_BAR: &str = "#1f2328";

/// Some bars under one title.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) bars: Vec<Bar>,
    /// Bars grow with the logarithm; the shortest stands for a tenth of the least value.
    pub(crate) is_logarithmic: bool,
}

/// One bar.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) spread: Spread,
    /// The value as it is written.
    pub(crate) text: String,
    pub(crate) is_ours: bool,
}

/// The picture of the panels, one below the other.
pub(crate) fn draw(description: &str, panels: &[Panel]) -> String {
    let height: f64 = panels.iter().map(|panel| TITLE_HEIGHT + STEP * panel.bars.len() as f64 + GAP).sum();
    let mut svg = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(svg, "{}", begin(WIDTH, height, description));
    let mut top = 0.0;
    for panel in panels {
        let _ = writeln!(svg, r#"<text x="0" y="{:.1}" font-size="14" font-weight="600">{}</text>"#, top + 20.0, escaped(&panel.title));
        top += TITLE_HEIGHT;
        for bar in &panel.bars {
            draw_bar(&mut svg, bar, top, |value| scaled(panel, value));
            top += STEP;
        }
        top += GAP;
    }
    svg.push_str("</svg>\n");
    svg
}

fn draw_bar(svg: &mut String, bar: &Bar, top: f64, scaled: impl Fn(f64) -> f64) {
    let colour = if bar.is_ours { "#2f81f7" } else { "#8b949e" };
    let (text_y, middle) = (top + 12.5, top + BAR_HEIGHT / 2.0);
    let [min, end, max] = [bar.spread.min, bar.spread.median, bar.spread.max].map(|value| LABEL_WIDTH + scaled(value));
    let _ = writeln!(svg, r#"<text x="{:.1}" y="{text_y:.1}" text-anchor="end">{}</text>"#, LABEL_WIDTH - 8.0, escaped(&bar.label));
    let _ = writeln!(
        svg,
        r#"<rect x="{LABEL_WIDTH}" y="{top:.1}" width="{:.1}" height="{BAR_HEIGHT}" rx="2" fill="{colour}"/>"#,
        end - LABEL_WIDTH
    );
    let (from, to) = (middle - CAP_HEIGHT / 2.0, middle + CAP_HEIGHT / 2.0);
    for (start, stop, cap, colour) in [(min, end, min, ON_BAR), (end, max, max, TEXT)] {
        let _ = writeln!(
            svg,
            r#"<path d="M{start:.1} {middle:.1}H{stop:.1}M{cap:.1} {from:.1}V{to:.1}" stroke="{colour}" stroke-width="1.5" fill="none"/>"#
        );
    }
    let _ = writeln!(svg, r#"<text x="{:.1}" y="{text_y:.1}">{}</text>"#, max.max(end) + 8.0, escaped(&bar.text));
}

/// Length of a value's bar.
fn scaled(panel: &Panel, value: f64) -> f64 {
    let room = WIDTH - LABEL_WIDTH - VALUE_WIDTH;
    let greatest = panel.bars.iter().map(|bar| bar.spread.max).fold(f64::MIN_POSITIVE, f64::max);
    if !panel.is_logarithmic {
        return room * value / greatest;
    }
    let least = panel.bars.iter().map(|bar| bar.spread.min).filter(|value| *value > 0.0).fold(greatest, f64::min) / 10.0;
    room * (value.max(least) / least).ln() / (greatest / least).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_dark_on_its_bar_and_grey_beside_it() {
        let spread = Spread { min: 5.0, median: 10.0, max: 20.0, count: 3 };
        let bar = Bar { label: "a < b".to_owned(), spread, text: "10".to_owned(), is_ours: true };
        let svg = draw("one \"bar\"", &[Panel { title: "P".to_owned(), bars: vec![bar], is_logarithmic: false }]);
        let room = WIDTH - LABEL_WIDTH - VALUE_WIDTH;
        let [min, median, max] = [0.25, 0.5, 1.0].map(|part| LABEL_WIDTH + room * part);
        for line in [
            format!(r#"<path d="M{min:.1} 42.0H{median:.1}M{min:.1} 38.0V46.0" stroke="{ON_BAR}""#),
            format!(r#"<path d="M{median:.1} 42.0H{max:.1}M{max:.1} 38.0V46.0" stroke="{TEXT}""#),
            "a &lt; b".to_owned(),
            "one &quot;bar&quot;".to_owned(),
        ] {
            assert!(svg.contains(&line), "{line}:\n{svg}");
        }
    }
}
