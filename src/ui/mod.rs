//! What a person sees while a run goes: bars on a terminal, plain lines elsewhere, or nothing.
//!
//! Draws to standard error; the summary at the end is the report's and goes to standard output. Knows figures and texts, not what they
//! mean. Called by `run`, from the thread that takes in the facts and from the conductor; all handles of a [`Screen`] draw the same.

mod bars;
pub mod colour;
mod figures;
mod plain;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::analyze::live::LiveGroup;
use crate::clock::Clock;
use colour::{Painter, Tone};

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Bars and live lines that are drawn over.
    Bars,
    /// Lines with time stamps, each written once.
    Lines,
    /// Nothing.
    Quiet,
}

impl Style {
    /// What suits an output: `is_drawn` says whether it is a terminal that can be drawn over.
    #[must_use]
    pub fn suiting(is_quiet: bool, is_drawn: bool) -> Self {
        match (is_quiet, is_drawn) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Bars,
            (false, false) => Self::Lines,
        }
    }
}

/// One way of showing progress.
trait Draw: Debug + Send {
    /// What is being done now; replaces the stage or phase before.
    fn stage(&mut self, text: &str);
    /// A phase of the load has begun; `length` as planned, `None` if it ends by an event.
    fn phase(&mut self, name: &'static str, length: Option<Duration>);
    /// A line that stays.
    fn note(&mut self, tone: Tone, text: &str);
    /// The groups' figures now.
    fn groups(&mut self, groups: &[LiveGroup]);
    /// Takes everything down that does not stay.
    fn clear(&mut self);
}

/// How many texts of parts are remembered, so that each is shown once.
const TOLD_MAX: usize = 1_000;

/// A handle on the screen; cheap to clone.
#[derive(Clone, Debug)]
pub struct Screen {
    drawn: Arc<Mutex<Box<dyn Draw>>>,
    style: Style,
    /// Whether this handle shows a part of something larger.
    is_part: bool,
    /// Warnings that parts have shown.
    told: Arc<Mutex<BTreeSet<String>>>,
}

impl Screen {
    /// A screen of a style. `colours` as [`colour::ColourChoice::decide`] says.
    #[must_use]
    pub fn new(style: Style, colours: bool, clock: Clock) -> Self {
        let painter = Painter { enabled: colours };
        let draw: Box<dyn Draw> = match style {
            Style::Bars => Box::new(bars::Bars::new(painter, clock)),
            Style::Lines => Box::new(plain::Plain::new(painter, clock, std::io::stderr())),
            Style::Quiet => Box::new(Nothing),
        };
        Self { drawn: Arc::new(Mutex::new(draw)), style, is_part: false, told: Arc::default() }
    }

    /// A handle on the same screen for one of several parts of what goes on. It leaves no ordinary lines behind, only bars and live figures
    /// where there are some, and warnings: each text once, whichever part says it.
    #[must_use]
    pub fn of_a_part(&self) -> Self {
        Self { is_part: true, ..self.clone() }
    }

    /// What is being done now, outside the load.
    pub fn stage(&self, text: &str) {
        if self.shows_progress() {
            self.draw().stage(text);
        }
    }

    /// A phase of the load has begun; `length` as planned, `None` if it ends by an event.
    pub fn phase(&self, name: &'static str, length: Option<Duration>) {
        if self.shows_progress() {
            self.draw().phase(name, length);
        }
    }

    /// A line that stays.
    pub fn note(&self, tone: Tone, text: &str) {
        if !self.is_part || self.is_news(tone, text) {
            self.draw().note(tone, text);
        }
    }

    /// The groups' figures now.
    pub fn groups(&self, groups: &[LiveGroup]) {
        if self.shows_progress() {
            self.draw().groups(groups);
        }
    }

    /// Takes everything down that does not stay. The screen can still be used.
    pub fn clear(&self) {
        self.draw().clear();
    }

    fn draw(&self) -> MutexGuard<'_, Box<dyn Draw>> {
        // A panic while drawing must not take the run's other threads with it.
        self.drawn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A part's progress is for bars, which are drawn over: as lines it would bury what stays.
    fn shows_progress(&self) -> bool {
        !self.is_part || self.style == Style::Bars
    }

    fn is_news(&self, tone: Tone, text: &str) -> bool {
        match tone {
            Tone::Bad => true,
            Tone::Warning => {
                let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
                // Beyond the bound a text may be shown again.
                if told.len() >= TOLD_MAX { !told.contains(text) } else { told.insert(text.to_owned()) }
            }
            Tone::Plain | Tone::Good | Tone::Step | Tone::Faint => false,
        }
    }
}

/// Shows nothing.
#[derive(Debug)]
struct Nothing;

impl Draw for Nothing {
    fn stage(&mut self, _: &str) {}
    fn phase(&mut self, _: &'static str, _: Option<Duration>) {}
    fn note(&mut self, _: Tone, _: &str) {}
    fn groups(&mut self, _: &[LiveGroup]) {}
    fn clear(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps what would be drawn.
    #[derive(Clone, Debug, Default)]
    struct Kept(Arc<Mutex<Vec<String>>>);

    impl Draw for Kept {
        fn stage(&mut self, text: &str) {
            self.0.lock().unwrap().push(format!("stage {text}"));
        }
        fn phase(&mut self, name: &'static str, _: Option<Duration>) {
            self.0.lock().unwrap().push(format!("phase {name}"));
        }
        fn note(&mut self, _: Tone, text: &str) {
            self.0.lock().unwrap().push(format!("note {text}"));
        }
        fn groups(&mut self, _: &[LiveGroup]) {
            self.0.lock().unwrap().push("groups".to_owned());
        }
        fn clear(&mut self) {}
    }

    /// What is drawn of two parts and the whole in this style.
    fn drawn(style: Style) -> Vec<String> {
        let kept = Kept::default();
        let whole = Screen { drawn: Arc::new(Mutex::new(Box::new(kept.clone()))), style, is_part: false, told: Arc::default() };
        for part in [whole.of_a_part(), whole.of_a_part()] {
            part.stage("making topics");
            part.phase("steady", None);
            part.groups(&[]);
            part.note(Tone::Step, "step 1 requested");
            part.note(Tone::Warning, "a setting without effect");
            part.note(Tone::Bad, "failed");
            whole.note(Tone::Plain, "a run is over");
        }
        kept.0.lock().unwrap().clone()
    }

    #[test]
    fn beyond_so_many_a_warning_may_be_said_again() {
        let kept = Kept::default();
        let whole =
            Screen { drawn: Arc::new(Mutex::new(Box::new(kept.clone()))), style: Style::Lines, is_part: false, told: Arc::default() };
        let part = whole.of_a_part();
        for _ in 0..2 {
            (0..=TOLD_MAX).for_each(|number| part.note(Tone::Warning, &format!("warning {number}")));
        }
        let drawn = kept.0.lock().unwrap().clone();
        assert_eq!(drawn.len(), TOLD_MAX + 2);
        assert_eq!(drawn[TOLD_MAX..], [format!("note warning {TOLD_MAX}"), format!("note warning {TOLD_MAX}")]);
    }

    #[test]
    fn parts_leave_only_what_is_wrong_and_say_a_warning_once() {
        let first = ["note a setting without effect", "note failed", "note a run is over"];
        let second = ["note failed", "note a run is over"];
        assert_eq!(drawn(Style::Lines), [&first[..], &second[..]].concat());
        let progress = ["stage making topics", "phase steady", "groups"];
        assert_eq!(drawn(Style::Bars), [&progress[..], &first[..], &progress[..], &second[..]].concat());
    }
}
