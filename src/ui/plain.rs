//! Progress without a terminal: lines with time stamps, each written once.

use std::fmt::Debug;
use std::io::Write;
use std::time::Duration;

use super::colour::{Painter, Tone};
use super::{Draw, figures};
use crate::analyze::live::LiveGroup;
use crate::clock::{Clock, Moment};

/// Shortest time between two lines of figures.
const FIGURES_EVERY: Duration = Duration::from_secs(5);

/// Writes lines to `out`. A line that cannot be written is dropped: progress is not the run's result.
#[derive(Debug)]
pub(super) struct Plain<W> {
    painter: Painter,
    clock: Clock,
    out: W,
    figures_due: Moment,
}

impl<W: Write + Debug + Send> Plain<W> {
    pub(super) fn new(painter: Painter, clock: Clock, out: W) -> Self {
        let figures_due = clock.now();
        Self { painter, clock, out, figures_due }
    }

    fn line(&mut self, tone: Tone, text: &str) {
        let wall_time = jiff::Timestamp::try_from(self.clock.wall_time_of(self.clock.now())).unwrap_or_default();
        let stamp = self.painter.paint(Tone::Faint, &wall_time.strftime("%H:%M:%S").to_string());
        writeln!(self.out, "{stamp} {}", self.painter.paint(tone, text)).ok();
    }
}

impl<W: Write + Debug + Send> Draw for Plain<W> {
    fn stage(&mut self, text: &str) {
        self.line(Tone::Plain, text);
    }

    fn phase(&mut self, name: &'static str, length: Option<Duration>) {
        match length {
            Some(length) => self.line(Tone::Plain, &format!("{name}: {:.0} s", length.as_secs_f64())),
            None => self.line(Tone::Plain, name),
        }
    }

    fn note(&mut self, tone: Tone, text: &str) {
        self.line(tone, text);
    }

    fn groups(&mut self, groups: &[LiveGroup]) {
        let now = self.clock.now();
        if now < self.figures_due {
            return;
        }
        self.figures_due = now + FIGURES_EVERY;
        for group in groups {
            let text = format!("  {}: {}", group.name, figures::text(group, self.painter));
            self.line(Tone::Plain, &text);
        }
    }

    fn clear(&mut self) {
        self.out.flush().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_come_at_most_every_few_seconds_and_notes_always() {
        let clock = Clock::manual();
        let mut plain = Plain::new(Painter { enabled: false }, clock.clone(), Vec::new());
        let mut group = LiveGroup::default();
        group.name = "steady".into();
        let groups = [group];
        plain.phase("warm-up", Some(Duration::from_secs(5)));
        for _ in 0..11 {
            plain.groups(&groups);
            clock.advance(Duration::from_secs(1));
        }
        plain.note(Tone::Step, "step 1: kill of node 2 requested");
        let text = String::from_utf8(plain.out).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert_eq!(lines[0], "00:00:00 warm-up: 5 s");
        assert_eq!(lines[1], "00:00:00   steady: sent 0, ok 0, 0 failed, 0 in flight, ? metadata/s");
        assert!(lines[3].starts_with("00:00:10   steady"), "{text}");
        assert_eq!(lines[4], "00:00:11 step 1: kill of node 2 requested");
    }
}
