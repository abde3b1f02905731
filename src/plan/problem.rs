//! One thing that is wrong with a plan, and the bag that gathers them.
//!
//! Not here: how a problem looks on a terminal (`diagnostic`). Filled by `raw` and `check`, which never stop at the first one.

use std::cell::RefCell;
use std::ops::Range;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The plan cannot run.
    Error,
    /// The plan can run, but may not do what its author thinks.
    Warning,
}

/// One thing that is wrong, at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// Bytes of the plan's text that it is about.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// A few words under the caret; may be empty.
    pub label: String,
    /// What to do about it.
    pub hints: Vec<String>,
    /// Whether something is absent, rather than there and wrong. After a slip of syntax it may be absent only because it could not be read.
    pub(super) absent: bool,
}

impl Problem {
    /// Something that forbids a run.
    pub(super) fn error(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, span, message: message.into(), label: String::new(), hints: Vec::new(), absent: false }
    }

    /// Something worth a second look.
    pub(super) fn warning(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(span, message) }
    }

    /// Adds the words under the caret.
    pub(super) fn label(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }

    /// Adds what to do.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds "did you mean", if something like `word` is among `known`; else the list of what is known, if that is short.
    pub(super) fn did_you_mean<'k>(self, word: &str, known: impl IntoIterator<Item = &'k str>) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        match nearest(word, &known) {
            Some(near) => self.hint(format!("did you mean `{near}`?")),
            None if known.is_empty() => self.hint("nothing of the kind is declared in this plan"),
            None if known.len() > KNOWN_SHOWN_MAX => self.hint(format!("known here: {} and others", list(&known[..KNOWN_SHOWN_MAX]))),
            None => self.hint(format!("known here: {}", list(&known))),
        }
    }

    /// Marks the problem as one of absence.
    pub(super) fn absent(self) -> Self {
        Self { absent: true, ..self }
    }
}

/// How many known words a hint lists.
const KNOWN_SHOWN_MAX: usize = 24;

/// Words in backquotes, with commas.
pub(super) fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// The known word most like `word`, if one is like it at all.
pub(super) fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let folded = word.to_lowercase().replace('_', "-");
    let score = |candidate: &str| strsim::jaro_winkler(&folded, &candidate.to_lowercase());
    let edits = |candidate: &str| strsim::damerau_levenshtein(&folded, &candidate.to_lowercase());
    known
        .iter()
        .copied()
        .filter(|candidate| edits(candidate) <= 1 + candidate.len() / 4 && score(candidate) > 0.6)
        .max_by(|a, b| edits(b).cmp(&edits(a)).then(score(a).total_cmp(&score(b))))
}

/// Gathers problems. Shared by reference, so that every reader of a part of the plan can add to it.
#[derive(Debug, Default)]
pub(super) struct Collector(RefCell<Vec<Problem>>);

impl Collector {
    /// Adds a problem. The same one twice counts once: steps inside `repeat` are looked at more than once.
    pub(super) fn push(&self, problem: Problem) {
        let mut problems = self.0.borrow_mut();
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }

    /// All problems in the order of the text.
    pub(super) fn into_sorted(self) -> Vec<Problem> {
        let mut problems = self.0.into_inner();
        problems.sort_by_key(|problem| (problem.span.start, problem.span.end));
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_near() {
        let known = ["kill", "stop", "start", "restart", "add-partitions"];
        for (word, near) in
            [("kil", Some("kill")), ("strat", Some("start")), ("add_partitions", Some("add-partitions")), ("Kill", Some("kill"))]
        {
            assert_eq!(nearest(word, &known), near, "{word}");
        }
        assert_eq!(nearest("frobnicate", &known), None);
    }

    #[test]
    fn the_same_problem_twice_counts_once() {
        let problems = Collector::default();
        problems.push(Problem::error(5..6, "later"));
        problems.push(Problem::error(1..2, "sooner"));
        problems.push(Problem::error(5..6, "later"));
        let messages: Vec<String> = problems.into_sorted().into_iter().map(|problem| problem.message).collect();
        assert_eq!(messages, ["sooner", "later"]);
    }
}
