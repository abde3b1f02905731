//! The summary at the end of a run: first what happened in a sentence, then the figures behind it.
//!
//! Plain text at most 120 characters wide; emphasis by colour only where the caller allows it. One file per part of the page.
//! Tables, spans and emphasis look alike in other commands' output (`cli`), which uses `table`, `format` and `style` too.

pub(crate) mod format;
mod groups;
mod head;
mod layers;
mod requesters;
mod steps;
mod storm;
pub(crate) mod style;
pub(crate) mod table;

use std::path::Path;

use crate::analyze::findings::Findings;
use crate::record::fact::RunStarted;
use style::Style;
use table::Table;

/// The whole summary. `run` is missing if the run's first fact was; `folder` is where its files are.
#[must_use]
pub fn render(run: Option<&RunStarted>, findings: &Findings, folder: Option<&Path>, colour: bool) -> String {
    let mut page = Page { style: Style { colour }, lines: Vec::new() };
    head::head(&mut page, run, findings);
    head::expectations(&mut page, findings);
    steps::steps(&mut page, findings);
    steps::outside(&mut page, findings);
    layers::layers(&mut page, findings);
    groups::records(&mut page, findings);
    groups::latency(&mut page, findings);
    groups::requests(&mut page, findings);
    requesters::requesters(&mut page, findings);
    storm::storm(&mut page, findings);
    groups::growth(&mut page, findings);
    groups::first_ack(&mut page, findings);
    groups::generator(&mut page, findings);
    layers::probes(&mut page, findings);
    head::warnings(&mut page, findings);
    head::files(&mut page, folder);
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

    fn table(&mut self, title: &str, table: &Table) {
        self.part(title, table.lines(self.style));
    }
}

#[cfg(test)]
mod tests;
