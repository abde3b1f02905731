//! A group's live figures as one line of text.

use super::colour::{Painter, Tone};

/// What is shown of a group while it runs. Counts are sums since its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupLine {
    /// Its name.
    pub name: String,
    /// Records handed to the client.
    pub sent: u64,
    /// Acknowledged.
    pub ok: u64,
    /// Certainly not in the log.
    pub failed: u64,
    /// May be in the log.
    pub indeterminate: u64,
    /// Handed over and not yet known.
    pub in_flight: u64,
    /// Metadata requests in the last second.
    pub metadata_per_second: u64,
    /// Producer-partition pairs without service now.
    pub stalled_pairs: u64,
    /// How long the worst of them has been waiting.
    pub stalled_max_ms: u64,
}

impl GroupLine {
    /// The line, without the group's name.
    #[must_use]
    pub fn text(&self, painter: Painter) -> String {
        let mut text = format!("sent {}, ok {}", grouped(self.sent), grouped(self.ok));
        for (count, word) in [(self.failed, "failed"), (self.indeterminate, "indeterminate")] {
            let part = format!("{} {word}", grouped(count));
            if count > 0 {
                text.push_str(", ");
                text.push_str(&painter.paint(Tone::Bad, &part));
            } else if word == "failed" {
                text.push_str(", 0 failed");
            }
        }
        text.push_str(&format!(", {} in flight, {} metadata/s", grouped(self.in_flight), self.metadata_per_second));
        if self.stalled_pairs > 0 {
            let seconds = (self.stalled_max_ms + 50) / 100;
            let part = format!("  STALLED: {} partitions, {}.{} s", grouped(self.stalled_pairs), seconds / 10, seconds % 10);
            text.push_str(&painter.paint(Tone::Warning, &part));
        }
        text
    }
}

/// A count with its thousands set apart: `1,234,567`.
#[must_use]
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (count, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(grouped(count), text);
        }
    }

    #[test]
    fn a_line_names_trouble_only_when_there_is_some() {
        let mut line =
            GroupLine { name: "steady".into(), sent: 1_200, ok: 1_190, in_flight: 10, metadata_per_second: 3, ..GroupLine::default() };
        let painter = Painter { enabled: false };
        assert_eq!(line.text(painter), "sent 1,200, ok 1,190, 0 failed, 10 in flight, 3 metadata/s");
        line.failed = 4;
        line.indeterminate = 1;
        line.stalled_pairs = 300;
        line.stalled_max_ms = 9_130;
        assert_eq!(
            line.text(painter),
            "sent 1,200, ok 1,190, 4 failed, 1 indeterminate, 10 in flight, 3 metadata/s  STALLED: 300 partitions, 9.1 s"
        );
    }
}
