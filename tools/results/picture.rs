//! A picture of the top of a page that was kept, for those who read of it elsewhere.

use std::path::Path;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::browser::Browser;
use crate::table;

/// In CSS pixels, which are the picture's own.
const WIDTH: u32 = 1200;
const HEIGHT: u32 = 1170;

/// Figures within the window are drawn when they come into view.
const ALL_IN_VIEW_ARE_DRAWN: &str = "[...document.querySelectorAll('figure.chart')]
    .filter((figure) => figure.getBoundingClientRect().top < innerHeight)
    .every((figure) => figure.dataset.drawn !== undefined && [...figure.querySelectorAll('canvas')].every((canvas) => canvas.width > 0))";

/// Draws it in a browser.
///
/// # Errors
/// There is no page or no browser, or the picture cannot be written.
pub(crate) fn write(page: &Path, out: &Path) -> anyhow::Result<()> {
    let page = page.canonicalize().with_context(|| format!("there is no page {}", page.display()))?;
    let mut browser = Browser::start().context("a picture needs a browser: CHAOS_TEST_BROWSER=1, or its program")?;
    let window = json!({"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": false});
    browser.call("Emulation.setDeviceMetricsOverride", &window);
    browser.call("Emulation.setScrollbarsHidden", &json!({"hidden": true}));
    browser.open(&page);
    browser.wait_until(ALL_IN_VIEW_ARE_DRAWN);
    // Charts draw in a microtask, observers call before the next frame.
    browser.run("await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame);");
    let shot = browser.call("Page.captureScreenshot", &json!({"format": "png"}));
    let png = STANDARD.decode(shot["data"].as_str().unwrap_or_default()).context("the browser made no picture")?;
    table::write_bytes(out, &png)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_of_the_page() {
        let folder = tempfile::tempdir().unwrap();
        let (page, out) = (folder.path().join("page.html"), folder.path().join("page.png"));
        assert!(write(&page, &out).unwrap_err().to_string().starts_with("there is no page "));
        std::fs::write(&page, "<!DOCTYPE html><title>p</title><body style=\"background: #123456\"><p>A page").unwrap();
        // Without a browser there is none, and that is said.
        if let Err(error) = write(&page, &out) {
            return assert!(error.to_string().contains("a picture needs a browser"), "{error}");
        }
        let png = std::fs::read(&out).unwrap();
        // The header's width and height, behind the signature.
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!((png.get(..4), number(16), number(20)), (Some(&b"\x89PNG"[..]), WIDTH, HEIGHT));
    }
}
