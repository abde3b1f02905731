//! Text to tree: what is no TOML at all, and how much can still be looked at then.
//!
//! A slip inside one value (no quotes, a string without end, a key given twice) leaves the rest of the tree sound, so the rest is
//! checked too. A slip in the structure (an open bracket) makes the parser guess, and guesses lead to nonsense: then only it is
//! reported.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, Error};

use super::problem::Problem;

/// What the parser says of slips that stay inside one value.
const LOCAL: [&str; 3] = ["duplicate key", "string values must be quoted", "invalid basic string"];

/// A parsed text.
#[derive(Debug)]
pub(super) struct Syntax<'p> {
    /// The tree, as far as it could be read.
    pub(super) tree: Spanned<DeTable<'p>>,
    /// What is wrong with the text.
    pub(super) problems: Vec<Problem>,
    /// Whether the tree is worth a look.
    pub(super) sound: bool,
}

/// Parses a text.
pub(super) fn parse(text: &str) -> Syntax<'_> {
    let (tree, mut errors) = DeTable::parse_recoverable(text);
    errors.sort_by_key(|error| place(error, text).start);
    let broken = errors.iter().position(|error| !is_local(error));
    errors.truncate(broken.map_or(errors.len(), |first| first + 1));
    let problems = errors.iter().map(|error| problem(error, text)).collect();
    Syntax { tree, problems, sound: broken.is_none() }
}

fn is_local(error: &Error) -> bool {
    LOCAL.iter().any(|message| error.message().starts_with(message))
}

fn problem(error: &Error, text: &str) -> Problem {
    let problem = Problem::error(place(error, text), format!("not TOML: {}", error.message()));
    if error.message().starts_with("duplicate key") {
        problem.hint("each key stands once in a table; sections that come several times have two brackets: `[[topic]]`")
    } else if is_local(error) {
        problem.hint("put the value in double quotes")
    } else {
        problem.hint("what follows is checked once this is mended")
    }
}

/// The place of an error, never empty where there is a character to show.
fn place(error: &Error, text: &str) -> Range<usize> {
    let span = error.span().unwrap_or(0..0);
    let start = span.start.min(text.len());
    if span.end > start {
        return start..span.end;
    }
    match text.get(start..).and_then(|rest| rest.chars().next()) {
        Some(next) if next != '\n' => start..start + next.len_utf8(),
        _ => start..start,
    }
}

/// Whether a problem stands on a line that already has a slip of syntax: then it is most likely its consequence.
pub(super) fn is_consequence(problem: &Problem, slips: &[Problem], text: &str) -> bool {
    let line = |offset: usize| text.get(..offset).unwrap_or(text).matches('\n').count();
    problem.absent || slips.iter().any(|slip| line(slip.span.start) == line(problem.span.start))
}
