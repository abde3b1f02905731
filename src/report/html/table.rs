//! Tables: those of the summary on the screen, with a caption and named headers, and with a bound on their rows.

use maud::{Markup, html};

use super::words::words;
use crate::digits::grouped;
use crate::report::text::table::{Align, Titled};

/// Rows that a table has at most.
pub(crate) const ROWS_MAX: usize = 1_000;

/// Characters that a cell has at most.
const CELL_MAX: usize = 500;

/// How a table differs from a plain one.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    /// Its `id`.
    pub(crate) id: Option<&'static str>,
    /// A row's own `id`.
    pub(crate) row_id: fn(&[String]) -> Option<String>,
    /// A row's class.
    pub(crate) row_class: fn(&[String]) -> Option<&'static str>,
}

impl Look {
    /// Nothing special; one of several of its kind.
    pub(crate) const NAMELESS: Self = Self { id: None, row_id: |_| None, row_class: |_| None };

    /// A table with this `id`, and nothing special about its rows.
    pub(crate) const fn plain(id: &'static str) -> Self {
        Self { id: Some(id), ..Self::NAMELESS }
    }
}

/// A table; nothing without rows.
pub(crate) fn table(titled: &Titled, look: Look) -> Markup {
    let Titled { title, table, notes } = titled;
    let columns: Vec<usize> = (0..table.columns().len()).filter(|at| table.rows().iter().any(|row| !row[*at].is_empty())).collect();
    let left_out = table.rows().len().saturating_sub(ROWS_MAX);
    let class = |at: usize| if table.columns()[at].1 == Align::Left { "text" } else { "number" };
    html! {
        @if !table.rows().is_empty() {
            div class="scroll" tabindex="0" role="region" aria-label=(title) {
                table class="figures" id=[look.id] {
                    caption { (title) }
                    thead { tr { @for at in &columns { th scope="col" class=(class(*at)) { (table.columns()[*at].0) } } } }
                    tbody {
                        @for row in table.rows().iter().take(ROWS_MAX) {
                            tr id=[(look.row_id)(row)] class=[row_class(row, look)] {
                                @for (place, at) in columns.iter().enumerate() { (cell(&row[*at], class(*at), place == 0)) }
                            }
                        }
                    }
                }
            }
            @for note in notes { p class="note" { (words(note)) } }
            (more(left_out, "rows"))
        }
    }
}

/// A remark that something is left out, if it is.
pub(crate) fn more(left_out: usize, what: &str) -> Markup {
    html! {
        @if left_out > 0 { p class="note" { (grouped(left_out as u64)) " more " (what) " are not on this page; the other files beside it have them." } }
    }
}

fn cell(text: &str, class: &str, is_first: bool) -> Markup {
    let shown = shortened(text.trim_start());
    let class = if shown == "unknown" { format!("{class} unknown") } else { class.to_owned() };
    html! {
        @if is_first { th scope="row" class=(class) { (shown) } } @else { td class=(class) { (shown) } }
    }
}

/// Indented text stands for a part of what is above it.
fn row_class(row: &[String], look: Look) -> Option<String> {
    let indent = row.iter().map(|cell| cell.len() - cell.trim_start().len()).max().unwrap_or(0);
    let part = (indent > 0).then(|| format!("part-{}", indent / 2));
    let own = (look.row_class)(row).map(str::to_owned);
    match (part, own) {
        (Some(part), Some(own)) => Some(format!("{part} {own}")),
        (part, own) => part.or(own),
    }
}

/// Text that fits, with dots if it was cut.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(CELL_MAX) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text.to_owned(),
    }
}
