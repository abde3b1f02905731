//! What each group of requesters did: apart from producers, whose own Metadata requests are counted with them.

use super::groups::listed;
use super::head::or_dash;
use super::table::{Table, Titled};
use crate::analyze::findings::Findings;
use crate::digits::{bytes, grouped};

/// Each group.
pub(crate) fn requesters(findings: &Findings) -> Titled {
    let mut table = Table::new(&[
        "<group",
        "<asks for",
        "clients",
        "topics",
        "partitions",
        "sent",
        "answered",
        "failed",
        "bytes in",
        "per answer",
        "<went wrong",
    ]);
    for group in &findings.requesters {
        table.row([
            group.name.clone(),
            group.list.clone(),
            grouped(u64::from(group.requesters)),
            or_dash(group.topics_max.map(|topics| grouped(topics.into()))),
            or_dash(group.partitions_max.map(|partitions| grouped(partitions.into()))),
            grouped(group.sent),
            grouped(group.ok),
            grouped(group.failed),
            bytes(group.response_bytes),
            or_dash(group.response_bytes_per_answer.map(bytes)),
            listed(&group.errors),
        ]);
    }
    Titled::new("Requesters: Metadata requests beside the producers'", table)
}
