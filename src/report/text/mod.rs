//! The summary at the end of a run: first what happened in a sentence, then the figures behind it.
//!
//! Plain text at most 120 characters wide; emphasis by colour only where the caller allows it. One file per part of the page.
//! Tables, spans and emphasis look alike in other commands' output (`cli`), which uses `table`, `format` and `style` too; the tables themselves
//! are those of `report::html`.

pub(crate) mod audit;
pub(crate) mod consumers;
pub(crate) mod format;
pub(crate) mod groups;
pub(crate) mod head;
pub(crate) mod layers;
pub(crate) mod requesters;
pub(crate) mod steps;
pub(crate) mod storm;
pub(crate) mod style;
pub(crate) mod table;

use std::path::Path;

use crate::analyze::findings::Findings;
use crate::record::fact::RunStarted;
use style::Style;
use table::Titled;

/// Where a run's files are.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The folder.
    pub folder: &'a Path,
    /// Whether the page is among them.
    pub has_page: bool,
}

/// The whole summary. `run` is missing if the run's first fact was; of `None` no files are named.
#[must_use]
pub fn render(run: Option<&RunStarted>, findings: &Findings, place: Option<Place<'_>>, colour: bool) -> String {
    let mut page = Page { style: Style { colour }, lines: Vec::new() };
    head::head(&mut page, run, findings);
    head::expectations(&mut page, findings);
    page.table(&steps::steps(findings, |_| true));
    steps::outside(findings).iter().for_each(|table| page.table(table));
    layers::layers(&mut page, findings);
    page.table(&groups::records(findings));
    page.table(&audit::audit(findings));
    page.table(&audit::lost(findings));
    page.table(&groups::latency(findings));
    page.table(&consumers::consumers(findings));
    page.table(&groups::requests(findings));
    page.table(&requesters::requesters(findings));
    storm::storm(findings).iter().for_each(|table| page.table(table));
    page.table(&groups::growth(findings));
    page.table(&groups::first_ack(findings));
    page.part("Load generator", groups::generator(findings).iter().map(|line| format!("  {line}")));
    page.part("Clients in a process of their own", groups::processes(findings).iter().map(|line| format!("  {line}")));
    layers::probes(&mut page, findings);
    head::warnings(&mut page, findings);
    head::files(&mut page, place);
    page.lines.join("\n") + "\n"
}

/// The page so far.
#[derive(Debug)]
struct Page {
    style: Style,
    lines: Vec<String>,
}

impl Page {
    /// A part with a heading; left out if it has no lines.
    fn part(&mut self, title: &str, lines: impl IntoIterator<Item = String>) {
        let lines: Vec<String> = lines.into_iter().collect();
        if lines.is_empty() {
            return;
        }
        self.lines.push(String::new());
        self.lines.push(self.style.heading(title));
        self.lines.extend(lines);
    }

    fn table(&mut self, titled: &Titled) {
        let mut lines = titled.table.lines(self.style);
        if !lines.is_empty() {
            lines.extend(titled.notes.iter().map(|note| self.style.faint(&format!("  {note}"))));
        }
        self.part(titled.title, lines);
    }
}

#[cfg(test)]
mod tests;
