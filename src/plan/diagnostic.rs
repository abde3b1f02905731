//! Problems as a person reads them: file, line, column, the text with a caret, and a hint.
//!
//! The only file that knows annotate-snippets. Not here: finding problems. Called by whoever prints a [`Problems`].

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::problem::{Problem, Severity};

/// Problems of one plan with the text that they point into, in the order of the text.
#[derive(Clone, Debug)]
pub struct Problems {
    path: Arc<str>,
    text: Arc<str>,
    list: Vec<Problem>,
}

impl Problems {
    pub(super) fn new(path: &str, text: &str, list: Vec<Problem>) -> Self {
        Self { path: Arc::from(path), text: Arc::from(text), list }
    }

    /// The problems, in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.list.iter()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many are of this severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        self.list.iter().filter(|problem| problem.severity == severity).count()
    }

    /// All of them as text, a blank line between two, and no line end after the last.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let each: Vec<String> = self.list.iter().map(|problem| renderer.render(&[self.group(problem)])).collect();
        each.join("\n\n")
    }

    /// Each on one line, without the text: for places where only a line fits.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let line = |problem: &Problem| {
            let (line, column) = position(&self.text, problem.span.start);
            format!("{}:{line}:{column}: {}", self.path, problem.message)
        };
        self.list.iter().map(line).collect()
    }

    fn group<'s>(&'s self, problem: &'s Problem) -> Group<'s> {
        let level = match problem.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let annotation = AnnotationKind::Primary.span(first_line(&self.text, &problem.span)).label(problem.label.as_str());
        let snippet = Snippet::source(&*self.text).path(&*self.path).annotation(annotation);
        let group = level.primary_title(problem.message.as_str()).element(snippet);
        group.elements(problem.hints.iter().map(|hint| Level::HELP.message(hint.as_str())))
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Problems {}

/// Line and column (in characters) of a byte offset, both from 1.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// The span cut at the end of its first line: a caret under a whole section hides what it is about.
fn first_line(text: &str, span: &Range<usize>) -> Range<usize> {
    let start = span.start.min(text.len());
    let end = span.end.clamp(start, text.len());
    let line = text.get(start..end).and_then(|part| part.find('\n')).map_or(end, |newline| start + newline);
    start..line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        let text = "a = 1\nä = \"ü\" # x\n";
        assert_eq!(position(text, 0), (1, 1));
        assert_eq!(position(text, 6), (2, 1));
        assert_eq!(position(text, text.find('#').unwrap()), (2, 9));
        assert_eq!(position(text, 999), (3, 1));
    }

    #[test]
    fn a_problem_shows_its_place_and_its_hint() {
        let text = "name = \"x\"\nseed = true\n";
        let problem = Problem::error(18..22, "`seed` is a whole number").label("found a boolean").hint("write `seed = 7`");
        let problems = Problems::new("p.toml", text, vec![problem]);
        insta::assert_snapshot!(problems.render(false), @r"
        error: `seed` is a whole number
         --> p.toml:2:8
          |
        2 | seed = true
          |        ^^^^ found a boolean
          |
          = help: write `seed = 7`
        ");
        assert_eq!(problems.lines(), ["p.toml:2:8: `seed` is a whole number"]);
        assert!(problems.render(true).contains('\u{1b}'));
    }
}
