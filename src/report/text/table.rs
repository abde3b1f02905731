//! Tables in plain text: aligned, at most 120 characters wide if nobody says otherwise, without columns that say nothing.

use std::borrow::Cow;

use super::style::Style;

/// Widest line.
pub(crate) const WIDTH: usize = 120;

const INDENT: &str = "  ";
const GAP: usize = 2;
/// A column that had to give way keeps at least so much.
const LEAST: usize = 12;

/// Where a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Figures.
    Right,
}

/// A table with its title, and remarks below it.
#[derive(Debug)]
pub(crate) struct Titled {
    pub(crate) title: &'static str,
    pub(crate) table: Table,
    pub(crate) notes: Vec<String>,
}

impl Titled {
    /// Without remarks.
    pub(crate) fn new(title: &'static str, table: Table) -> Self {
        Self { title, table, notes: Vec::new() }
    }
}

/// A table that grows row by row.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(Cow<'static, str>, Align)>,
    rows: Vec<Vec<String>>,
    width: usize,
}

impl Table {
    /// Columns: a title that begins with `<` stands left, any other right.
    pub(crate) fn new(titles: &[&'static str]) -> Self {
        let column = |title: &&'static str| match title.strip_prefix('<') {
            Some(title) => (Cow::Borrowed(title), Align::Left),
            None => (Cow::Borrowed(*title), Align::Right),
        };
        Self { columns: titles.iter().map(column).collect(), rows: Vec::new(), width: WIDTH }
    }

    /// The same table, but lines may be so wide.
    pub(crate) fn within(self, width: usize) -> Self {
        Self { width, ..self }
    }

    /// Adds a column that stands right, whose title is known only now. Rows come after the last column.
    pub(crate) fn column(&mut self, title: String) {
        self.columns.push((Cow::Owned(title), Align::Right));
    }

    /// Adds a row; missing cells are empty.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut row: Vec<String> = cells.into_iter().collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// Titles in order.
    pub(crate) fn columns(&self) -> &[(Cow<'static, str>, Align)] {
        &self.columns
    }

    /// Rows in order, each with a cell per column.
    pub(crate) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// The table's lines, header first; nothing without rows.
    pub(crate) fn lines(&self, style: Style) -> Vec<String> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let widths = self.widths();
        let titles: Vec<String> = self.columns.iter().map(|(title, _)| title.clone().into_owned()).collect();
        let header = style.faint(&self.line(&titles, &widths));
        std::iter::once(header).chain(self.rows.iter().map(|row| self.line(row, &widths))).collect()
    }

    /// Width of each column; `None`: it is left out, since no row has anything in it.
    fn widths(&self) -> Vec<Option<usize>> {
        let width = |(at, (title, _)): (usize, &(Cow<'static, str>, Align))| {
            let widest = self.rows.iter().map(|row| length(&row[at])).max().unwrap_or(0);
            (widest > 0).then(|| widest.max(length(title)))
        };
        let mut widths: Vec<Option<usize>> = self.columns.iter().enumerate().map(width).collect();
        let total = |widths: &[Option<usize>]| widths.iter().flatten().map(|width| width + GAP).sum::<usize>();
        while total(&widths) > self.width {
            let left = widths.iter_mut().zip(&self.columns).filter(|(_, (_, align))| *align == Align::Left);
            match left.filter_map(|(width, _)| width.as_mut()).max() {
                Some(widest) if *widest > LEAST => *widest -= 1,
                _ => break,
            }
        }
        widths
    }

    fn line(&self, cells: &[String], widths: &[Option<usize>]) -> String {
        let mut line = String::new();
        for ((cell, width), (_, align)) in cells.iter().zip(widths).zip(&self.columns) {
            let Some(width) = width else { continue };
            let cell = fitted(cell, *width);
            let padding = " ".repeat(width - length(&cell));
            line.push_str(INDENT);
            match align {
                Align::Left => line.extend([cell, padding]),
                Align::Right => line.extend([padding, cell]),
            }
        }
        line.trim_end().to_owned()
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn fitted(cell: &str, width: usize) -> String {
    if length(cell) <= width {
        return cell.to_owned();
    }
    cell.chars().take(width.saturating_sub(2)).chain("..".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Style = Style { colour: false };

    #[test]
    fn columns_are_aligned_and_empty_ones_left_out() {
        let mut table = Table::new(&["<what", "empty", "count"]);
        table.row(["kill".to_owned(), String::new(), "7".to_owned()]);
        table.row(["start it".to_owned(), String::new(), "1,234".to_owned()]);
        assert_eq!(table.lines(PLAIN), ["  what      count", "  kill          7", "  start it  1,234"]);
        assert_eq!(Table::new(&["a"]).lines(PLAIN), [""; 0]);
    }

    #[test]
    fn a_line_never_exceeds_the_width() {
        let mut table = Table::new(&["<what", "<why", "n"]);
        table.row(["w".repeat(200), "y".repeat(90), "123".to_owned()]);
        let lines = table.lines(PLAIN);
        assert!(lines.iter().all(|line| length(line) <= WIDTH), "{lines:?}");
        assert!(lines[1].ends_with("..  123"), "{lines:?}");
    }
}
