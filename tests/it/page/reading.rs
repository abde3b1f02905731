//! How the page is read elsewhere than in a wide, bright window that runs its script: on a phone, in the dark, on paper, without the script; and
//! what it says of what nobody told.

use serde_json::json;

use super::browser::Browser;
use super::facts::{ORDINARY, Shape};
use super::{FIGURES, Page, draw_all, opened};

#[test]
fn who_told_nothing_is_named_where_it_is_missing() {
    let Some(mut browser) = opened(Shape { producers: 6, ..ORDINARY }, 1280) else { return };
    let notes = browser.run("return [...document.querySelectorAll('#fig-caches .note')].map((note) => note.textContent);");
    let told = json!("4 of the 6 clients of steady told which leaders their caches show.");
    assert!(notes.as_array().unwrap().contains(&told), "{notes}");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_cache_that_did_not_follow_has_a_row_beside_those_that_did() {
    let Some(mut browser) = opened(ORDINARY, 1280) else { return };
    let notes = browser.run("return [...document.querySelectorAll('#fig-caches .note')].map((note) => note.textContent).join(' ');");
    assert!(!notes.as_str().unwrap().contains("from the first answer on"), "all showed one topic, which grew: {notes}");
    browser.run("document.querySelector('#fig-caches .canvas').focus();");
    browser.press("End");
    let mut rows = Vec::new();
    for _ in 0..ORDINARY.producers {
        rows.push(browser.run("return document.querySelector('#fig-caches .said').textContent;").to_string());
        browser.press("ArrowDown");
    }
    assert!(rows.iter().any(|said| said.contains("steady 3 orders: 6 partitions, since a request by reason start")), "{rows:?}");
    assert!(rows.iter().any(|said| said.contains("steady 2 orders: 7 partitions, since a request by reason age")), "{rows:?}");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_chosen_cell_of_a_wide_heat_map_is_in_view() {
    let Some(mut browser) = opened(Shape { partitions: 100, ..ORDINARY }, 390) else { return };
    let scrolled = "return document.querySelector('#fig-outages .heat').scrollLeft;";
    browser.run("document.querySelector('#fig-outages canvas').focus();");
    assert_eq!(browser.run(scrolled), json!(0));
    (0..100).for_each(|_| browser.press("ArrowRight"));
    let at_the_end =
        "const heat = document.querySelector('#fig-outages .heat'); return heat.scrollWidth - heat.clientWidth - heat.scrollLeft;";
    assert!(browser.run(at_the_end).as_f64().unwrap().abs() <= 1.0, "{}", browser.run(at_the_end));
    assert!(browser.run(scrolled).as_f64() > Some(0.0));
    (0..100).for_each(|_| browser.press("ArrowLeft"));
    assert_eq!(browser.run(scrolled), json!(0));
}

/// As a reader has it whose browser, or whose mail program, runs no script.
#[test]
fn without_its_script_the_page_says_where_the_figures_of_each_picture_are() {
    let Some(mut browser) = Browser::start() else { return };
    let page = Page::of(ORDINARY);
    let text = std::fs::read_to_string(page.path()).unwrap();
    std::fs::write(page.path(), text.split_once("<script>").unwrap().0).unwrap();
    browser.open(&page.path());
    let figures = browser.run(
        "return [...document.querySelectorAll('figure.chart')].map((figure) =>
           [figure.querySelector('.without-script').clientHeight > 0, figure.querySelector('.plot').clientHeight]);",
    );
    let figures = figures.as_array().unwrap();
    assert!(figures.len() >= FIGURES.len() && figures.iter().all(|figure| *figure == json!([true, 0])), "{figures:?}");
}

#[test]
fn a_phone_scrolls_down_and_never_sideways() {
    let Some(mut browser) = opened(ORDINARY, 390) else { return };
    let wide = browser.run(
        "document.querySelectorAll('details').forEach((details) => { details.open = true; });
         await new Promise(requestAnimationFrame);
         const scrolls = (node) => node !== null && (getComputedStyle(node).overflowX !== 'visible' || scrolls(node.parentElement));
         const { scrollWidth, clientWidth } = document.documentElement;
         return [innerWidth, scrollWidth - clientWidth, [...document.querySelectorAll('main *')]
           .filter((node) => node.getBoundingClientRect().right > innerWidth + 1 && !scrolls(node.parentElement))
           .map((node) => node.outerHTML.slice(0, 120))];",
    );
    assert_eq!(wide, json!([390, 0, []]));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn dark_is_drawn_anew_and_paper_has_every_figure_on_white() {
    let Some(mut browser) = Browser::start() else { return };
    let page = Page::of(ORDINARY);
    browser.open(&page.path());
    draw_all(&mut browser);
    browser.run("window.inLight = document.querySelector('#fig-records canvas').toDataURL();");
    browser.call("Emulation.setEmulatedMedia", &json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]}));
    browser.wait_until("document.querySelector('#fig-records canvas').toDataURL() !== window.inLight");
    assert_eq!(browser.complaints(), [""; 0]);

    // Opened anew, nothing far down has been drawn yet.
    browser.open(&page.path());
    browser.run(
        "addEventListener('beforeprint', () => {
           const style = getComputedStyle(document.documentElement);
           const folded = [...document.querySelectorAll('main details:not([open])')].filter((details) => details.closest('.plot') === null);
           window.paper = [
             style.backgroundColor,
             [...document.querySelectorAll('figure.chart')].every((figure) => figure.dataset.drawn !== undefined),
             folded.length,
           ];
         });",
    );
    browser.call("Page.printToPDF", &json!({"printBackground": true}));
    assert_eq!(browser.run("return window.paper;"), json!(["rgb(255, 255, 255)", true, 0]));
    assert!(
        browser.run("return document.querySelectorAll('main details.stages:not([open])').length;").as_u64() > Some(0),
        "stays unfolded"
    );
    assert_ne!(browser.run("return getComputedStyle(document.documentElement).backgroundColor;"), "rgb(255, 255, 255)");
    assert_eq!(browser.complaints(), [""; 0]);
}
