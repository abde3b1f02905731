//! The runs in their order, each with a link to its own page where that lies beside this one.

use maud::{Markup, html};

use super::Content;
use crate::analyze::compare::findings::RunFinding;
use crate::analyze::findings::Verdict;
use crate::report::html::REPORT;
use crate::report::html::head::to_the_second;
use crate::report::html::table::{ROWS_MAX, more, shortened};

/// The section.
pub(super) fn section(content: Content<'_>) -> Markup {
    let runs = &content.findings.runs;
    html! {
        @if !runs.is_empty() {
            div class="scroll" tabindex="0" role="region" aria-label="All runs" {
                table class="figures" id="table-runs" {
                    caption { "All runs in the order in which they were made" }
                    thead {
                        tr {
                            th scope="col" class="number" { "order" }
                            @for title in ["run", "cell", "verdict", "left out", "baseline from (UTC)"] { th scope="col" class="text" { (title) } }
                        }
                    }
                    tbody { @for run in runs.iter().take(ROWS_MAX) { (row(run, content.runs)) } }
                }
            }
            (more(runs.len().saturating_sub(ROWS_MAX), "runs"))
        }
    }
}

fn row(run: &RunFinding, folder: Option<&str>) -> Markup {
    let verdict = match run.verdict {
        Verdict::Pass => "text met",
        Verdict::Fail | Verdict::Hang => "text bad",
        Verdict::Unknown | Verdict::Interrupted => "text unknown",
    };
    html! {
        tr {
            th scope="row" class="number" { (run.order) }
            td class="text" {
                @match folder {
                    Some(folder) => a href={ (folder) "/" (in_address(&run.name)) "/" (REPORT) } { (shortened(&run.name)) },
                    None => (shortened(&run.name)),
                }
            }
            td class="text" { (shortened(&run.cell)) @if run.is_control { " (control, in no figure)" } }
            td class=(verdict) { (run.verdict.word()) }
            td class="text" { (shortened(run.left_out.as_deref().unwrap_or_default())) }
            td class="text" { (shortened(&to_the_second(&run.started_at))) }
        }
    }
}

/// A folder's name as a part of an address.
pub(super) fn in_address(name: &str) -> String {
    let escaped = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    name.bytes().map(escaped).collect()
}
