//! `compare.html`: a comparison as one page that needs nothing else: what was found in words and tables, and pictures that its own script
//! draws.
//!
//! ```text
//! ComparisonFindings -> summary, cells, figures, runs (static HTML) \
//!                    -> data (JSON)                                  > report::html::frame -> the page
//!                       report::html::assets ----------------------> /
//! ```
//!
//! The same findings give the same bytes; names are escaped and the page's policy allows no script but its own, as on the page of a run
//! (`report::html`), whose frame, tables and styles these are. Bounded, whatever was compared. Not here: judgements (`analyze::compare`).
//! Called by who tells a comparison.

mod cells;
mod data;
mod figures;
mod runs;
mod summary;

#[cfg(test)]
mod tests;

use maud::{Markup, html};

use self::summary::heading;
use crate::analyze::compare::findings::ComparisonFindings;
use crate::report::html::assets::COMPARE_SCRIPTS;
use crate::report::html::figure::figure;
use crate::report::html::frame::{Page, Section, document};

/// Name of the page in a comparison's folder.
pub const COMPARE: &str = "compare.html";

/// Cells that the page shows.
const CELLS_MAX: usize = 100;

/// What the page is made of.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    /// What was found.
    pub findings: &'a ComparisonFindings,
    /// What was varied; `None`: the runs were there already, and nobody says what their plan is.
    pub plan: Option<ComparedPlan<'a>>,
    /// Where the folders of the runs are, as a path from the page; `None`: not beside it, so that no link leads there.
    pub runs: Option<&'a str>,
}

/// The plan of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct ComparedPlan<'a> {
    /// Its name.
    pub name: &'a str,
    /// The file that it came from.
    pub path: &'a str,
    /// Seed of the runs' order.
    pub seed: u64,
}

/// The whole page.
///
/// # Errors
/// If the serializer refuses.
pub fn page(content: Content<'_>) -> Result<String, serde_json::Error> {
    let page = Page {
        title: format!("{}: comparison", heading(content)),
        version: env!("CARGO_PKG_VERSION"),
        masthead: summary::masthead(content),
        sections: sections(content),
        colophon: html! {
            "Made by chaos " (env!("CARGO_PKG_VERSION")) " from the runs' own facts; " code { "chaos compare" }
            " with the comparison's folder makes it again. Pictures: uPlot, MIT licence."
        },
        data: &data::json(content.findings)?,
        scripts: COMPARE_SCRIPTS,
    };
    Ok(document(page).into_string())
}

/// All of them; one without anything to say is empty.
fn sections(content: Content<'_>) -> Vec<Section> {
    let findings = content.findings;
    let section = |id, title, body| Section { id, title, body };
    vec![
        section("summary", "What was found", summary::section(findings)),
        section("cells", "The cells", cells::section(findings)),
        section("curve", "What it costs and what it brings", cells::curve(findings)),
        section("figures", "Figures", figures::section(findings)),
        section("percentiles", "Latency by percentile", percentiles(findings)),
        section("runs", "The runs", runs::section(content)),
        section("about", "How it was judged", summary::about(content)),
    ]
}

fn percentiles(findings: &ComparisonFindings) -> Markup {
    let has_any = data::latencies(findings).next().is_some();
    html! {
        @if has_any { (figure("cell-percentiles", "Percentiles of latency, the cells over each other", "compare.json")) }
    }
}
