//! Progress on a terminal: a bar for the phase, a live line per group, and lines that stay above them.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::colour::{Painter, Tone};
use super::{Draw, figures};
use crate::analyze::live::LiveGroup;
use crate::clock::{Clock, Moment};

/// Redraws per second at most: progress must not cost what it watches.
const DRAWS_PER_SECOND: u8 = 5;

/// Characters of the phase's bar.
const BAR_WIDTH: u64 = 30;

/// Draws over the same lines of standard error.
#[derive(Debug)]
pub(super) struct Bars {
    painter: Painter,
    clock: Clock,
    multi: MultiProgress,
    top: ProgressBar,
    groups: BTreeMap<String, ProgressBar>,
    phase: Option<RunningPhase>,
}

/// A phase on the screen.
#[derive(Debug)]
struct RunningPhase {
    name: &'static str,
    began: Moment,
    length: Option<Duration>,
}

impl Bars {
    pub(super) fn new(painter: Painter, clock: Clock) -> Self {
        let multi = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND));
        let top = multi.add(message_line());
        Self { painter, clock, multi, top, groups: BTreeMap::new(), phase: None }
    }

    fn draw_phase(&self) {
        let Some(phase) = &self.phase else { return };
        let passed = self.clock.now().since(phase.began);
        self.top.set_message(phase_text(phase.name, passed, phase.length, self.painter));
    }
}

/// A line that holds a message and nothing else.
fn message_line() -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::no_length().with_style(style)
}

/// The phase's line: a bar with the time left, or the time passed where the end is an event.
fn phase_text(name: &str, passed: Duration, length: Option<Duration>, painter: Painter) -> String {
    let Some(length) = length else { return format!("{name:<9} {} s", passed.as_secs()) };
    let filled = if length.is_zero() {
        BAR_WIDTH
    } else {
        (passed.as_millis() as u64 * BAR_WIDTH / (length.as_millis() as u64).max(1)).min(BAR_WIDTH)
    };
    let left = length.saturating_sub(passed).as_millis().div_ceil(1_000);
    let done = painter.paint(Tone::Good, &"=".repeat(filled as usize));
    let open = painter.paint(Tone::Faint, &"-".repeat((BAR_WIDTH - filled) as usize));
    format!("{name:<9} [{done}{open}] {left} s left")
}

impl Draw for Bars {
    fn stage(&mut self, text: &str) {
        self.phase = None;
        self.top.set_message(text.to_owned());
        self.top.tick();
    }

    fn phase(&mut self, name: &'static str, length: Option<Duration>) {
        self.phase = Some(RunningPhase { name, began: self.clock.now(), length });
        self.draw_phase();
    }

    fn note(&mut self, tone: Tone, text: &str) {
        self.multi.println(self.painter.paint(tone, text)).ok();
    }

    fn groups(&mut self, groups: &[LiveGroup]) {
        self.draw_phase();
        for group in groups {
            let line = self.groups.entry(group.name.clone()).or_insert_with(|| self.multi.add(message_line()));
            line.set_message(format!("{:<9} {}", group.name, figures::text(group, self.painter)));
        }
    }

    fn clear(&mut self) {
        self.phase = None;
        self.groups.clear();
        self.multi.clear().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_shows_the_time_left_rounded_up() {
        let painter = Painter { enabled: false };
        let length = Some(Duration::from_secs(10));
        let rows = [
            (0, "steady    [------------------------------] 10 s left"),
            (5_001, "steady    [===============---------------] 5 s left"),
            (10_000, "steady    [==============================] 0 s left"),
            (12_000, "steady    [==============================] 0 s left"),
        ];
        for (passed_ms, text) in rows {
            assert_eq!(phase_text("steady", Duration::from_millis(passed_ms), length, painter), text);
        }
        assert_eq!(phase_text("steps", Duration::from_millis(3_900), None, painter), "steps     3 s");
    }
}
