//! What a person sees while a run goes: bars on a terminal, plain lines elsewhere, or nothing.
//!
//! Draws to standard error; the summary at the end is the report's and goes to standard output. Knows figures and texts, not what they
//! mean. Called by `run`, from the thread that takes in the facts and from the conductor; all handles of a [`Screen`] draw the same.

mod bars;
pub mod colour;
mod figures;
mod plain;

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

/// A handle on the screen; cheap to clone.
#[derive(Clone, Debug)]
pub struct Screen(Arc<Mutex<Box<dyn Draw>>>);

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
        Self(Arc::new(Mutex::new(draw)))
    }

    /// What is being done now, outside the load.
    pub fn stage(&self, text: &str) {
        self.draw().stage(text);
    }

    /// A phase of the load has begun; `length` as planned, `None` if it ends by an event.
    pub fn phase(&self, name: &'static str, length: Option<Duration>) {
        self.draw().phase(name, length);
    }

    /// A line that stays.
    pub fn note(&self, tone: Tone, text: &str) {
        self.draw().note(tone, text);
    }

    /// The groups' figures now.
    pub fn groups(&self, groups: &[LiveGroup]) {
        self.draw().groups(groups);
    }

    /// Takes everything down that does not stay. The screen can still be used.
    pub fn clear(&self) {
        self.draw().clear();
    }

    fn draw(&self) -> MutexGuard<'_, Box<dyn Draw>> {
        // A panic while drawing must not take the run's other threads with it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
