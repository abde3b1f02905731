//! Emphasis, with or without colour.

use crate::analyze::findings::Verdict;

/// How emphasis is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Whether escape sequences may be written.
    pub(crate) colour: bool,
}

impl Style {
    pub(crate) fn heading(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(super) fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(crate) fn warning(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(super) fn verdict(self, verdict: Verdict) -> String {
        let code = match verdict {
            Verdict::Pass => "1;32",
            Verdict::Fail | Verdict::Hang => "1;31",
            Verdict::Unknown | Verdict::Interrupted => "1;33",
        };
        self.paint(code, verdict.word())
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
