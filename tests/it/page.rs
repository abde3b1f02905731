//! `report.html` and `compare.html` in a real browser: that every figure is drawn, answers to mouse and keyboard, fits a phone and paper, opens
//! fast, and that nothing in them is fetched or, whatever things are called, executed. What a page says is tested where it is made.
//!
//! Needs `CHAOS_TEST_BROWSER`: 1, or the program (`make test` sets it). Without it these tests print that they were skipped.

mod browser;
mod compare;
mod facts;
mod reading;

use std::path::PathBuf;

use serde_json::{Value, json};

use self::browser::Browser;
use self::facts::{ORDINARY, Shape};
use crate::program::chaos;

/// Beyond the page's own bounds in time, producers and partitions.
const BIG: Shape = Shape {
    plan: "big",
    groups: &["steady", "sparse", "third"],
    producers: 40,
    partitions: 110,
    seconds: 700,
    step_every_s: 150,
    ..ORDINARY
};

/// Names that would be markup if they were not text.
const HOSTILE: Shape = Shape {
    plan: "</script><script>window.hacked = 1</script>",
    groups: &["\"><img src=x onerror=\"window.hacked = 1\">", "' onmouseover='window.hacked = 1"],
    topic: "<svg onload=window.hacked=1>",
    text: "--></title></style></script><script>window.hacked = 1; alert(1)</script>",
    ..ORDINARY
};

/// The time within which a page opens, with all that is visible drawn.
const OPENS_MS: f64 = 2000.0;

/// A run's page in its folder, which lives as long as this.
struct Page {
    folder: tempfile::TempDir,
}

impl Page {
    fn of(shape: Shape) -> Self {
        let folder = tempfile::tempdir().unwrap();
        facts::write(shape, folder.path());
        let report = chaos(&["report", folder.path().to_str().unwrap()]).output().unwrap();
        assert!(report.stderr.is_empty(), "{}", String::from_utf8_lossy(&report.stderr));
        Self { folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("report.html")
    }
}

/// A browser with the page of such a run, all its figures drawn; `None` if no test may.
fn opened(shape: Shape, width: u32) -> Option<Browser> {
    let mut browser = Browser::start()?;
    let page = Page::of(shape);
    browser.resize(width);
    browser.open(&page.path());
    draw_all(&mut browser);
    Some(browser)
}

/// Figures are drawn when they come near the window, so all of it is shown once.
fn draw_all(browser: &mut Browser) {
    browser.run(
        "for (let top = 0; top < document.documentElement.scrollHeight; top += 400) {
           scrollTo({ top, behavior: 'instant' });
           await new Promise(requestAnimationFrame);
         }",
    );
    browser.wait_until("[...document.querySelectorAll('figure.chart')].every((figure) => figure.dataset.drawn !== undefined)");
    // uPlot draws in a microtask, observers call before the next frame.
    browser.run(
        "scrollTo({ top: 0, behavior: 'instant' }); await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame);",
    );
}

/// What each figure shows: its name, how many of its canvases have more than one colour, and how many shapes of SVG have a size.
const INVENTORY: &str = "
    const colours = (canvas) => {
      const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
      return new Set(pixels).size;
    };
    return [...document.querySelectorAll('figure.chart')].map((figure) => ({
      name: figure.dataset.chart,
      height: figure.querySelector('.plot').clientHeight,
      canvases: figure.querySelectorAll('canvas').length,
      drawn: [...figure.querySelectorAll('canvas')].filter((canvas) => canvas.width > 100 && canvas.height > 50 && colours(canvas) > 3).length,
      shapes: [...figure.querySelectorAll('.bar rect, .bar line')].filter((shape) => shape.getBoundingClientRect().height > 0).length,
      failed: figure.textContent.includes('could not be drawn'),
    }));";

/// [from, to] of every chart over time, in milliseconds.
const VIEWS: &str =
    "return [...document.querySelectorAll('.canvas[data-from-ms]')].map((chart) => [+chart.dataset.fromMs, +chart.dataset.toMs]);";

const FIGURES: [&str; 12] = [
    "records",
    "in-flight",
    "metadata-requests",
    "latency",
    "percentiles",
    "outages",
    "layers",
    "replicas",
    "brokers",
    "caches",
    "first-ack",
    "generator",
];

#[test]
fn every_figure_is_drawn_and_nothing_is_asked_for_or_complained_about() {
    let Some(mut browser) = opened(ORDINARY, 1280) else { return };
    let figures = browser.run(INVENTORY);
    let names: Vec<_> = figures.as_array().unwrap().iter().map(|figure| figure["name"].as_str().unwrap().to_owned()).collect();
    for name in FIGURES {
        assert!(names.contains(&name.to_owned()), "no figure {name} among {names:?}");
    }
    for figure in figures.as_array().unwrap() {
        assert_eq!(figure["failed"], false, "{figure}");
        assert_eq!(figure["drawn"], figure["canvases"], "a canvas is blank: {figure}");
        assert!(figure["canvases"].as_u64() > Some(0) || figure["shapes"].as_u64() > Some(4), "nothing is drawn: {figure}");
        assert!(figure["height"].as_u64() > Some(100), "{figure}");
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_drag_zooms_every_chart_over_time_and_escape_or_a_double_click_shows_all() {
    let Some(mut browser) = opened(ORDINARY, 1280) else { return };
    let all = browser.run(VIEWS);
    assert!(all.as_array().unwrap().len() >= 8, "{all}");
    drag_over_records(&mut browser);
    let zoomed = browser.run(VIEWS);
    for (before, after) in all.as_array().unwrap().iter().zip(zoomed.as_array().unwrap()) {
        assert_eq!(after, &zoomed[0], "charts differ");
        assert!(after[0].as_f64() > before[0].as_f64() && after[1].as_f64() < before[1].as_f64(), "{before} -> {after}");
    }
    browser.run("document.querySelector('#fig-records .canvas').focus();");
    browser.press("Escape");
    assert_eq!(browser.run(VIEWS), all);

    drag_over_records(&mut browser);
    assert_ne!(browser.run(VIEWS), all);
    browser.run("document.querySelector('#fig-latency .u-over').dispatchEvent(new MouseEvent('dblclick', { bubbles: true }));");
    assert_eq!(browser.run(VIEWS), all);
    assert_eq!(browser.complaints(), [""; 0]);
}

/// From a quarter to three quarters of the first chart's width.
fn drag_over_records(browser: &mut Browser) {
    let place = browser.run(
        "const over = document.querySelector('#fig-records .u-over');
         over.scrollIntoView({ block: 'center', behavior: 'instant' });
         await new Promise(requestAnimationFrame);
         const box = over.getBoundingClientRect();
         return [box.left, box.top + box.height / 2, box.width];",
    );
    let [left, y, width] = [0, 1, 2].map(|at| place[at].as_f64().unwrap());
    browser.drag((left + width / 4.0, y), (left + width * 3.0 / 4.0, y));
    browser.run("await new Promise(requestAnimationFrame);");
}

#[test]
fn the_legends_buttons_hide_a_series_and_show_it_again() {
    let Some(mut browser) = opened(ORDINARY, 1280) else { return };
    for figure in ["records", "metadata-requests", "latency", "percentiles"] {
        let toggle = format!(
            "const figure = document.querySelector('#fig-{figure}');
             const button = figure.querySelector('button.series[aria-pressed=\"true\"]:last-of-type, button.series[aria-pressed=\"true\"]');
             const canvas = figure.querySelector('canvas');
             const look = async () => {{ await new Promise(requestAnimationFrame); return [button.getAttribute('aria-pressed'), canvas.toDataURL()]; }};
             const before = await look();
             button.click();
             const hidden = await look();
             button.click();
             const after = await look();
             return [before[0], hidden[0], after[0], before[1] === hidden[1], before[1] === after[1]];"
        );
        assert_eq!(browser.run(&toggle), json!(["true", "false", "true", false, true]), "{figure}");
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn the_keyboard_moves_the_cursor_says_what_is_there_and_zooms() {
    let Some(mut browser) = opened(ORDINARY, 1280) else { return };
    let all = browser.run(VIEWS);
    let said = |browser: &mut Browser| {
        browser.run("return document.querySelector('[role=\"status\"]')?.textContent ?? '';").as_str().unwrap().to_owned()
    };
    browser.run("document.querySelector('#fig-records .canvas').focus();");
    browser.press("ArrowRight");
    let first = said(&mut browser);
    assert!(first.contains("-10.0 s") && first.contains("warm-up") && first.contains("ok "), "{first}");
    browser.press("ArrowRight");
    assert_ne!(said(&mut browser), first);
    browser.press("+");
    let zoomed = browser.run(VIEWS);
    assert!(zoomed.as_array().unwrap().iter().all(|view| view == &zoomed[0] && view != &all[0]), "{zoomed}");
    browser.press("End");
    assert!(browser.run(VIEWS)[0][1].as_f64() > zoomed[0][1].as_f64(), "the view does not follow the cursor");
    browser.press("Escape");
    assert_eq!(browser.run(VIEWS), all);

    browser.run("document.querySelector('#fig-replicas .canvas').focus();");
    browser.press("ArrowDown");
    assert!(said(&mut browser).contains("orders/"), "{}", said(&mut browser));
    browser.run("document.querySelector('#fig-percentiles .canvas').focus();");
    browser.press("ArrowRight");
    assert!(said(&mut browser).contains(" %"), "{}", said(&mut browser));
    // At the end of the longest curve stands its greatest value: none took longer.
    (0..80).for_each(|_| browser.press("ArrowRight"));
    assert!(said(&mut browser).contains("(the longest of ") && !said(&mut browser).contains("took longer"), "{}", said(&mut browser));
    // The first producer is at its end five seconds before the run.
    browser.run("document.querySelector('#fig-caches .canvas').focus();");
    browser.press("End");
    assert!(said(&mut browser).ends_with("steady 0 orders: not known from 55.0 s on"), "{}", said(&mut browser));
    browser.run("document.querySelector('#fig-outages canvas').focus();");
    browser.press("ArrowRight");
    assert!(said(&mut browser).contains("steady 0, orders/"), "{}", said(&mut browser));
    (1..ORDINARY.partitions).for_each(|_| browser.press("ArrowRight"));
    assert_eq!(said(&mut browser), "steady 0, orders/5: never used");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn names_that_are_markup_stay_text() {
    let Some(mut browser) = opened(HOSTILE, 1280) else { return };
    let found = browser.run(
        "document.querySelectorAll('details').forEach((details) => { details.open = true; });
         document.querySelectorAll('.choice button, button.tool').forEach((button) => button.click());
         document.querySelectorAll('main *').forEach((node) => node.dispatchEvent(new MouseEvent('mouseover', { bubbles: true })));
         await new Promise((next) => setTimeout(next, 200));
         return {
           hacked: window.hacked ?? null,
           images: document.querySelectorAll('img').length,
           scripts: document.querySelectorAll('script').length,
           handlers: [...document.querySelectorAll('*')].filter((node) => node.getAttributeNames().some((name) => name.startsWith('on'))).length,
           heading: document.querySelector('h1').textContent,
         };",
    );
    let wanted = json!({"hacked": null, "images": 0, "scripts": 3, "handlers": 0, "heading": HOSTILE.plan});
    assert_eq!(found, wanted);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn the_page_of_a_big_run_opens_within_two_seconds() {
    let Some(mut browser) = Browser::start() else { return };
    let page = Page::of(BIG);
    browser.resize(1280);
    // Other tests use this machine too: the best of three tells what the page needs.
    let fastest = (0..3).map(|_| opening_ms(&mut browser, &page)).fold(f64::INFINITY, f64::min);
    eprintln!("the page of a big run ({} bytes) opened in {fastest:.0} ms", page.path().metadata().unwrap().len());
    assert!(fastest < OPENS_MS, "{fastest} ms");
    draw_all(&mut browser);
    let failed = browser.run(INVENTORY).as_array().unwrap().iter().filter(|figure| figure["failed"] == true).count();
    assert_eq!(failed, 0);
    assert_eq!(browser.complaints(), [""; 0]);
}

/// From the beginning of the navigation until all that is visible has been drawn.
fn opening_ms(browser: &mut Browser, page: &Page) -> f64 {
    browser.open(&page.path());
    let took: Value = browser.run(
        "const isSeen = (figure) => figure.getBoundingClientRect().top < innerHeight;
         while (![...document.querySelectorAll('figure.chart')].filter(isSeen).every((figure) => figure.dataset.drawn !== undefined)) {
           await new Promise(requestAnimationFrame);
         }
         await new Promise(requestAnimationFrame);
         return performance.now();",
    );
    took.as_f64().unwrap()
}
