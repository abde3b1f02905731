//! `compare.html`: the curve and the percentiles of cells, drawn, asked by keyboard, on a phone, in the dark and on paper, whatever cells and
//! groups are called.

use std::path::Path;

use serde_json::json;

use super::browser::Browser;
use super::facts::{self, ORDINARY, Shape};
use super::{HOSTILE, draw_all};
use crate::program::chaos;

/// A cell's name that would be markup if it were not text.
const MARKUP: &str = "</script><script>alert(1)</script>";

/// Two cells of two runs each: the second has twice the producers, which ask half as often each.
fn compared(folder: &Path) -> std::path::PathBuf {
    let cell = |name: &str, shape: Shape| {
        let runs = [1, 2].map(|run| {
            let path = folder.join(format!("{}-{run}", shape.producers));
            std::fs::create_dir(&path).unwrap();
            facts::write(shape, &path);
            path.display().to_string()
        });
        format!("{name}={}", runs.join(","))
    };
    let cells = [cell("plain", Shape { groups: HOSTILE.groups, ..ORDINARY }), cell(MARKUP, Shape { producers: 8, ..HOSTILE })];
    let out = folder.join("out");
    let told = chaos(&["compare", "--cell", &cells[0], "--cell", &cells[1], "--out", out.to_str().unwrap()]).output().unwrap();
    assert!(told.status.success() && told.stderr.is_empty(), "{told:?}");
    out.join("compare.html")
}

#[test]
fn a_comparisons_page_draws_its_curve_and_percentiles_and_runs_nothing_else() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = compared(folder.path());
    browser.resize(390);
    browser.open(&page);
    draw_all(&mut browser);
    let drawn = browser.run(
        "document.querySelectorAll('details').forEach((details) => { details.open = true; });
         await new Promise(requestAnimationFrame);
         const count = (selector) => document.querySelectorAll(selector).length;
         return {
           outages: count('#fig-curve .tradeoff rect.area'),
           labels: [...document.querySelectorAll('#fig-curve .label')].map((label) => label.textContent.slice(0, 5)).sort(),
           lines: count('#fig-cell-percentiles canvas'), cells: count('#fig-cell-percentiles button.series'),
           failed: document.querySelector('main').textContent.includes('could not be drawn'),
           heading: document.querySelector('h1').textContent, scripts: count('script'),
           sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth,
         };",
    );
    assert_eq!(drawn["outages"], 2, "{drawn}");
    assert_eq!((&drawn["lines"], &drawn["cells"], &drawn["failed"]), (&json!(1), &json!(2), &json!(false)), "{drawn}");
    assert!(drawn["labels"].as_array().unwrap().contains(&json!("plain")), "{drawn}");
    assert_eq!((&drawn["heading"], &drawn["scripts"]), (&json!(format!("{MARKUP} against plain")), &json!(3)));
    assert_eq!(drawn["sideways"], 0, "a phone scrolls sideways");

    let said = |browser: &mut Browser| browser.run("return document.querySelector('[role=\"status\"]')?.textContent ?? '';");
    browser.run("document.querySelector('#fig-curve .canvas').focus();");
    browser.press("ArrowRight");
    assert!(said(&mut browser).as_str().unwrap().contains("at Metadata requests "), "{}", said(&mut browser));
    browser.run("document.querySelectorAll('.choice button, button.series').forEach((button) => { button.click(); button.click(); });");
    browser.run("document.querySelector('#fig-cell-percentiles .canvas').focus();");
    browser.press("ArrowRight");
    assert!(said(&mut browser).as_str().unwrap().starts_with("50 %"), "{}", said(&mut browser));

    browser.call("Emulation.setEmulatedMedia", &json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]}));
    browser.open(&page);
    browser.run(
        "addEventListener('beforeprint', () => {
           const figures = [...document.querySelectorAll('figure.chart')];
           window.paper = [getComputedStyle(document.documentElement).backgroundColor, figures.every((figure) => figure.dataset.drawn !== undefined)];
         });",
    );
    browser.call("Page.printToPDF", &json!({"printBackground": true}));
    assert_eq!(browser.run("return window.paper;"), json!(["rgb(255, 255, 255)", true]));
    assert_eq!(browser.complaints(), [""; 0]);
}
