//! A picture of times against what they cost: points with a stroke up to the worst case, on two logarithmic axes, readable on white and on
//! black.

use std::fmt::Write;

use crate::svg::{begin, escaped};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 52.0;
const GRID: &str = "#7d859040";
/// Colours and shapes of series: told apart without colour too.
const SERIES: [(&str, Shape); 3] = [("#2f81f7", Shape::Disc), ("#d55e00", Shape::Square), ("#009e73", Shape::Triangle)];

#[derive(Clone, Copy, Debug)]
enum Shape {
    Disc,
    Square,
    Triangle,
}

/// Points of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
}

/// One setting.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// Beside the point; empty: nothing.
    pub(crate) label: String,
    pub(crate) x: f64,
    /// The usual case.
    pub(crate) median: f64,
    /// The worst case.
    pub(crate) max: f64,
}

/// What a picture says besides its points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words<'a> {
    pub(crate) title: &'a str,
    /// For those who cannot see it.
    pub(crate) description: &'a str,
    pub(crate) x: &'a str,
    pub(crate) y: &'a str,
}

/// A logarithmic axis: values from `least` to `greatest` on pixels from `from` to `to`.
#[derive(Clone, Copy, Debug)]
struct Axis {
    least: f64,
    greatest: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// An axis that ends at whole ticks around the values. All must be above zero.
    fn around(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let (mut least, mut greatest) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| *value > 0.0 && value.is_finite()) {
            (least, greatest) = (least.min(value), greatest.max(value));
        }
        if greatest == 0.0 {
            return None;
        }
        let least = ticks(least / 10.0, least).pop()?;
        let greatest = *ticks(greatest, greatest * 10.0).iter().find(|tick| **tick > greatest)?;
        Some(Self { least, greatest, from, to })
    }

    fn at(self, value: f64) -> f64 {
        let part = (value.max(self.least) / self.least).ln() / (self.greatest / self.least).ln();
        self.from + (self.to - self.from) * part
    }
}

/// 1, 2, 5, 10 and so on between two values, both included.
fn ticks(least: f64, greatest: f64) -> Vec<f64> {
    let mut ticks = Vec::new();
    for power in -6..=9 {
        for step in [1.0, 2.0, 5.0] {
            let tick = step * 10.0_f64.powi(power);
            if tick >= least * 0.999 && tick <= greatest * 1.001 {
                ticks.push(tick);
            }
        }
    }
    ticks
}

/// The picture; `None` without a point.
pub(crate) fn draw(words: Words<'_>, series: &[Series]) -> Option<String> {
    let points = || series.iter().flat_map(|series| &series.points);
    let x = Axis::around(points().map(|point| point.x), LEFT, WIDTH - RIGHT)?;
    let y = Axis::around(points().flat_map(|point| [point.median, point.max]), HEIGHT - BOTTOM, TOP)?;
    let mut svg = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(svg, "{}", begin(WIDTH, HEIGHT, words.description));
    let _ = writeln!(svg, r#"<text x="0" y="18" font-size="14" font-weight="600">{}</text>"#, escaped(words.title));
    axes(&mut svg, words, x, y);
    for (number, (series, look)) in series.iter().zip(SERIES.iter().cycle()).enumerate() {
        legend(&mut svg, number, series, *look);
        for point in &series.points {
            draw_point(&mut svg, point, *look, x, y);
        }
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

fn axes(svg: &mut String, words: Words<'_>, x: Axis, y: Axis) {
    for tick in ticks(x.least, x.greatest) {
        let at = x.at(tick);
        let _ = writeln!(svg, r#"<path d="M{at:.1} {TOP}V{:.1}" stroke="{GRID}"/>"#, HEIGHT - BOTTOM);
        let _ = writeln!(svg, r#"<text x="{at:.1}" y="{:.1}" text-anchor="middle">{tick}</text>"#, HEIGHT - BOTTOM + 18.0);
    }
    for tick in ticks(y.least, y.greatest) {
        let at = y.at(tick);
        let _ = writeln!(svg, r#"<path d="M{LEFT} {at:.1}H{:.1}" stroke="{GRID}"/>"#, WIDTH - RIGHT);
        let _ = writeln!(svg, r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{tick}</text>"#, LEFT - 8.0, at + 4.5);
    }
    let _ = writeln!(svg, r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"#, WIDTH - RIGHT, HEIGHT - 10.0, escaped(words.x));
    let _ = writeln!(svg, r#"<text x="0" y="{:.1}">{}</text>"#, TOP - 14.0, escaped(words.y));
}

fn legend(svg: &mut String, number: usize, series: &Series, look: (&str, Shape)) {
    let right = WIDTH - RIGHT - 190.0 * number as f64;
    mark(svg, look, right, TOP - 18.0);
    let _ = writeln!(svg, r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"#, right - 10.0, TOP - 13.5, escaped(&series.name));
}

fn draw_point(svg: &mut String, point: &Point, look: (&str, Shape), x: Axis, y: Axis) {
    let (at, median, max) = (x.at(point.x), y.at(point.median), y.at(point.max));
    let (from, to) = (at - 4.0, at + 4.0);
    let _ = writeln!(
        svg,
        r#"<path d="M{at:.1} {median:.1}V{max:.1}M{from:.1} {max:.1}H{to:.1}" stroke="{}" stroke-width="1.5" fill="none"/>"#,
        look.0
    );
    mark(svg, look, at, median);
    if !point.label.is_empty() {
        let _ = writeln!(svg, r#"<text x="{:.1}" y="{:.1}">{}</text>"#, at + 8.0, max + 4.5, escaped(&point.label));
    }
}

fn mark(svg: &mut String, (colour, shape): (&str, Shape), x: f64, y: f64) {
    let _ = match shape {
        Shape::Disc => writeln!(svg, r#"<circle cx="{x:.1}" cy="{y:.1}" r="5" fill="{colour}"/>"#),
        Shape::Square => writeln!(svg, r#"<rect x="{:.1}" y="{:.1}" width="9" height="9" fill="{colour}"/>"#, x - 4.5, y - 4.5),
        Shape::Triangle => {
            let (top, bottom) = (y - 6.0, y + 4.5);
            writeln!(svg, r#"<path d="M{x:.1} {top:.1}L{:.1} {bottom:.1}H{:.1}Z" fill="{colour}"/>"#, x + 6.0, x - 6.0)
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: Words<'_> = Words { title: "a < b", description: "\"so\"", x: "x", y: "y" };

    #[test]
    fn a_point_is_where_its_values_say_and_its_stroke_ends_at_the_worst_case() {
        let point = Point { label: "2 s".to_owned(), x: 100.0, median: 1.0, max: 2.0 };
        let far = Point { label: String::new(), x: 10.0, median: 10.0, max: 30.0 };
        let svg = draw(WORDS, &[Series { name: "seen".to_owned(), points: vec![point, far] }]).unwrap();
        // Axes from 10 to 200 and from 1 to 50.
        let x = LEFT + (WIDTH - RIGHT - LEFT) * 10.0_f64.ln() / 20.0_f64.ln();
        let y = HEIGHT - BOTTOM + (TOP - HEIGHT + BOTTOM) * 2.0_f64.ln() / 50.0_f64.ln();
        let bottom = HEIGHT - BOTTOM;
        for part in [format!(r#"<path d="M{x:.1} {bottom:.1}V{y:.1}M"#), format!(r#"<circle cx="{x:.1}" cy="{bottom:.1}""#)] {
            assert!(svg.contains(&part), "{part}\n{svg}");
        }
        assert!(svg.contains("a &lt; b") && svg.contains("&quot;so&quot;"), "{svg}");
    }

    #[test]
    fn ticks_are_one_two_five_and_there_is_no_picture_of_nothing() {
        assert_eq!(ticks(0.9, 21.0), [1.0, 2.0, 5.0, 10.0, 20.0]);
        assert!(draw(WORDS, &[]).is_none());
    }
}
