//! Tables: those of the summary on the screen, with a caption and named headers, and with a bound on their rows.

use maud::{Markup, html};

use super::words::words;
use crate::digits::grouped;
use crate::report::text::table::{Align, Titled};

/// Rows that a table has at most.
pub(crate) const ROWS_MAX: usize = 1_000;

/// Characters that a cell has at most.
const CELL_MAX: usize = 500;

/// Depths of indented text that can be told apart.
const INDENTS_MAX: usize = 3;

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
                            tr id=[(look.row_id)(row)] class=[(look.row_class)(row)] {
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
    let mut class = class.to_owned();
    if shown == "unknown" {
        class.push_str(" unknown");
    }
    if let Some(depth) = depth(text) {
        class.push_str(&format!(" indent-{depth}"));
    }
    html! {
        @if is_first { th scope="row" class=(class) { (shown) } } @else { td class=(class) { (shown) } }
    }
}

/// How deep a cell's text stands for a part of what is above it: in tables of text, two spaces each. `None`: it does not.
fn depth(text: &str) -> Option<usize> {
    let spaces = text.len() - text.trim_start_matches(' ').len();
    (spaces > 1).then(|| (spaces / 2).min(INDENTS_MAX))
}

/// Text that fits, with dots if it was cut.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(CELL_MAX) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::text::table::Table;

    #[test]
    fn indented_text_is_indented_where_it_stands_and_nothing_else() {
        let mut rows = Table::new(&["step", "<what"]);
        for (step, what) in [("1", "rolling all"), ("2", "  kill 1"), ("12", "    wait"), ("3", "                    ")] {
            rows.row([step.to_owned(), format!("{what}x")]);
        }
        let html = table(&Titled::new("Steps", rows), Look::NAMELESS).into_string();
        for cell in [
            "<tr><th scope=\"row\" class=\"number\">1</th><td class=\"text\">rolling allx</td></tr>",
            "<tr><th scope=\"row\" class=\"number\">2</th><td class=\"text indent-1\">kill 1x</td></tr>",
            "<td class=\"text indent-2\">waitx</td>",
            "<td class=\"text indent-3\">x</td>",
        ] {
            assert!(html.contains(cell), "{cell} is not in {html}");
        }
    }
}
