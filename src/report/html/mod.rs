//! `report.html`: the run as one page that needs nothing else: figures in words and tables, and pictures that its own script draws.
//!
//! ```text
//! RunStarted, Findings, SeriesFinding, ErrorLedger -> sections (static HTML) \
//!                                                  -> data (JSON)             > frame -> the page
//!                             assets (CSS, JavaScript, embedded) -----------> /
//! ```
//!
//! The same facts give the same bytes: no clock, no order by chance. Everything that a plan or a cluster may have named is escaped, and a
//! Content-Security-Policy allows no script but those that are embedded here. The page is bounded, whatever the run was. Not here: how
//! pictures are drawn (`assets/`), and figures that `analyze` could compute. Called by `results` and `replay`; the page of a comparison
//! (`compare::html`) uses the same frame, tables and assets.

mod about;
pub(crate) mod assets;
mod data;
pub(crate) mod figure;
pub(crate) mod frame;
pub(crate) mod head;
mod layers;
mod sections;
mod steps;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod words;

#[cfg(test)]
mod tests;

use self::assets::RUN_SCRIPTS;
use self::frame::{Page, document};
use crate::analyze::findings::Findings;
use crate::analyze::series::findings::SeriesFinding;
use crate::record::error_sums::ErrorLedger;
use crate::record::fact::RunStarted;

/// Name of the page in a run's folder.
pub const REPORT: &str = "report.html";

/// What the page is made of.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    /// The run.
    pub run: &'a RunStarted,
    /// What was found.
    pub findings: &'a Findings,
    /// Figures over time.
    pub series: &'a SeriesFinding,
    /// What went wrong with records.
    pub errors: &'a ErrorLedger,
}

/// The whole page.
///
/// # Errors
/// If the serializer refuses.
pub fn page(content: Content<'_>) -> Result<String, serde_json::Error> {
    let Content { run, findings, .. } = content;
    let page = Page {
        title: format!("{}: {}", run.plan, findings.verdict.word()),
        version: head::version(run, "chaos"),
        masthead: head::masthead(content),
        sections: sections::all(content),
        colophon: head::colophon(run),
        data: &data::json(content)?,
        scripts: RUN_SCRIPTS,
    };
    Ok(document(page).into_string())
}
