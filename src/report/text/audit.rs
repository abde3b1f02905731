//! What the topics held after the load, against what clients were told.

use super::format::moment_ms;
use super::table::{Table, Titled};
use crate::analyze::audit::{findings::LostFinding, remarks};
use crate::analyze::findings::Findings;
use crate::digits::grouped;

/// Each group's records.
pub(crate) fn audit(findings: &Findings) -> Titled {
    let mut table = Table::new(&COLUMNS);
    let Some(audit) = &findings.audit else { return Titled::new(TITLE, table) };
    for group in &audit.groups {
        let mut row = vec![group.name.clone()];
        // The last of them has no column: it is worth a remark if it is not 0.
        row.extend(group.counts.in_order().into_iter().take(SHOWN).map(grouped));
        table.row(row);
    }
    Titled { notes: remarks(audit), ..Titled::new(TITLE, table) }
}

const COLUMNS: [&str; SHOWN + 1] =
    ["<group", "acknowledged", "found", "lost", "duplicated", "out of order", "failed", "there", "indeterminate", "there"];
/// How many of a group's counts have a column.
const SHOWN: usize = 9;

const TITLE: &str = "Audit: what the topics hold, against what clients were told";

/// Where acknowledged records vanished.
pub(crate) fn lost(findings: &Findings) -> Titled {
    let mut table = Table::new(&[
        "<partition",
        "lost",
        "producers",
        "<due",
        "step",
        "elected",
        "leader",
        "epoch",
        "cut off at",
        "<where they vanished",
    ]);
    let lost = findings.audit.as_ref().map_or(&[][..], |audit| &audit.lost);
    for place in lost {
        table.row([
            format!("{}/{}", place.topic, place.partition),
            grouped(place.records),
            grouped(place.producers),
            due(place),
            place.step.map_or_else(String::new, |step| step.to_string()),
            place.elected_ms.map_or_else(String::new, moment_ms),
            place.leader.map_or_else(String::new, |leader| leader.to_string()),
            place.leader_epoch.map_or_else(String::new, |epoch| epoch.to_string()),
            place.truncated_at.map_or_else(String::new, |offset| offset.to_string()),
            // Of a change of leader the columns before say it all.
            if place.truncated_at.is_none() || place.is_unclean == Some(true) { place.in_words.clone() } else { String::new() },
        ]);
    }
    let untold = findings.audit.as_ref().map_or(0, |audit| audit.lost_untold);
    let notes =
        if untold > 0 { vec![format!("{} more were lost in too many stretches to tell of each", grouped(untold))] } else { Vec::new() };
    Titled { notes, ..Titled::new("Acknowledged records that are not there", table) }
}

/// Between which due times.
fn due(place: &LostFinding) -> String {
    match (place.due_after_ms, place.due_before_ms) {
        (Some(after), Some(before)) => format!("{} to {}", moment_ms(after), moment_ms(before)),
        (Some(after), None) => format!("after {}", moment_ms(after)),
        (None, Some(before)) => format!("before {}", moment_ms(before)),
        (None, None) => String::new(),
    }
}
