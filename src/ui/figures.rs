//! A group's live figures as one line of text.

use super::colour::{Painter, Tone};
use crate::analyze::live::LiveGroup;
use crate::digits::grouped;

/// The line, without the group's name.
#[must_use]
pub(super) fn text(group: &LiveGroup, painter: Painter) -> String {
    let totals = &group.totals;
    let mut text = format!("sent {}, ok {}", grouped(totals.sent), grouped(totals.ok));
    for (count, word) in [(totals.failed, "failed"), (totals.indeterminate, "indeterminate")] {
        let part = format!("{} {word}", grouped(count));
        if count > 0 {
            text.push_str(", ");
            text.push_str(&painter.paint(Tone::Bad, &part));
        } else if word == "failed" {
            text.push_str(", 0 failed");
        }
    }
    let requests = group.metadata_requests.map_or_else(|| "?".to_owned(), |count| count.to_string());
    text.push_str(&format!(", {} in flight, {requests} metadata/s", grouped(group.in_flight)));
    if let (Some(pairs @ 1..), Some(longest_ms)) = (group.stalled_pairs, group.stalled_max_ms) {
        let tenths = (longest_ms + 50) / 100;
        let part = format!("  STALLED: {} pairs, {}.{} s", grouped(pairs), tenths / 10, tenths % 10);
        text.push_str(&painter.paint(Tone::Warning, &part));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_trouble_only_when_there_is_some() {
        let mut group = LiveGroup::default();
        (group.totals.sent, group.totals.ok) = (1_200, 1_190);
        group.in_flight = 10;
        group.metadata_requests = Some(3);
        let painter = Painter { enabled: false };
        assert_eq!(text(&group, painter), "sent 1,200, ok 1,190, 0 failed, 10 in flight, 3 metadata/s");
        group.totals.failed = 4;
        group.totals.indeterminate = 1;
        group.stalled_pairs = Some(300);
        group.stalled_max_ms = Some(9_130);
        assert_eq!(
            text(&group, painter),
            "sent 1,200, ok 1,190, 4 failed, 1 indeterminate, 10 in flight, 3 metadata/s  STALLED: 300 pairs, 9.1 s"
        );
    }
}
