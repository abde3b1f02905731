//! Styles and scripts that pages carry within themselves; `assets/` has them as files, and says whose they are.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// Style sheets in order.
pub(crate) const STYLES: [&str; 2] = [include_str!("assets/uplot.min.css"), include_str!("assets/report.css")];

/// Scripts of a page in order: the library that draws lines, then ours.
pub(crate) type Scripts = [&'static str; 2];

/// Of the page of one run.
pub(super) const RUN_SCRIPTS: Scripts = [
    UPLOT,
    concat!(
        include_str!("assets/js/common.js"),
        include_str!("assets/js/frame.js"),
        include_str!("assets/js/time.js"),
        include_str!("assets/js/lines.js"),
        include_str!("assets/js/lanes.js"),
        include_str!("assets/js/cluster.js"),
        include_str!("assets/js/percentiles.js"),
        include_str!("assets/js/waterfall.js"),
        include_str!("assets/js/heatmap.js"),
        include_str!("assets/js/page.js"),
        include_str!("assets/js/report.js"),
    ),
];

/// Of the page of a comparison.
pub(crate) const COMPARE_SCRIPTS: Scripts = [
    UPLOT,
    concat!(
        include_str!("assets/js/common.js"),
        include_str!("assets/js/frame.js"),
        include_str!("assets/js/percentiles.js"),
        include_str!("assets/js/axes.js"),
        include_str!("assets/js/curve.js"),
        include_str!("assets/js/page.js"),
        include_str!("assets/js/compare.js"),
    ),
];

const UPLOT: &str = include_str!("assets/uplot.iife.min.js");

/// What the page may do: run these very scripts with these very styles, and nothing else. It loads nothing and sends nothing.
pub(super) fn policy(scripts: Scripts) -> String {
    let [scripts, styles] = [scripts, STYLES].map(|texts| texts.map(source).join(" "));
    format!("default-src 'none'; script-src {scripts}; style-src {styles}; img-src data:; base-uri 'none'; form-action 'none'")
}

/// A text's name in a policy.
fn source(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_named_by_its_hash() {
        // The example of the Content Security Policy specification.
        assert_eq!(source("alert('Hello, world.');"), "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='");
    }

    #[test]
    fn nothing_in_them_ends_its_own_element_or_asks_for_more() {
        for asset in STYLES.iter().chain(&RUN_SCRIPTS).chain(&COMPARE_SCRIPTS) {
            let text = asset.to_lowercase();
            for forbidden in ["</script", "</style", "<!--", "@import", "eval(", "new function", "xmlhttprequest", "fetch("] {
                assert!(!text.contains(forbidden), "{forbidden} in an asset");
            }
        }
        // The name of SVG is no address.
        let own = [STYLES[1], RUN_SCRIPTS[1], COMPARE_SCRIPTS[1]].join("\n").replace("http://www.w3.org/2000/svg", "");
        assert!(!own.contains("http://www") && !own.contains("https://"), "the page refers to the outside");
    }
}
