//! What each group of requesters did: apart from producers, whose own Metadata requests are counted with them.

use super::Page;
use super::format::{bytes, span_us};
use super::groups::listed;
use super::head::or_dash;
use super::table::Table;
use crate::analyze::findings::{Findings, Quantiles};
use crate::digits::grouped;

pub(super) fn requesters(page: &mut Page, findings: &Findings) {
    let mut table = Table::new(&[
        "<group",
        "<asks for",
        "requesters",
        "sent",
        "most in 1 s",
        "answered",
        "failed",
        "bytes out",
        "bytes in",
        "per answer",
        "<went wrong",
    ]);
    for group in &findings.requesters {
        table.row([
            group.name.clone(),
            group.list.clone(),
            grouped(u64::from(group.requesters)),
            grouped(group.sent),
            grouped(group.sent_per_second_max),
            grouped(group.ok),
            grouped(group.failed),
            bytes(group.request_bytes),
            bytes(group.response_bytes),
            or_dash(group.response_bytes_per_answer.map(bytes)),
            listed(&group.errors),
        ]);
    }
    page.table("Requesters: Metadata requests beside the producers'", &table);
    let mut table = Table::new(&["<group", "<window", "answered", "round trip p50", "p99", "max"]);
    let after = if findings.steps.is_empty() { "after it" } else { "with steps" };
    for group in &findings.requesters {
        let windows = [("baseline", group.baseline_round_trip), (after, group.after_round_trip), ("warm-up", group.warmup_round_trip)];
        for (name, Quantiles { count, p50_us, p99_us, max_us }) in windows.into_iter().filter_map(|(name, window)| Some((name, window?))) {
            let mut row = vec![group.name.clone(), name.to_owned(), grouped(count)];
            row.extend([p50_us, p99_us, max_us].map(span_us));
            table.row(row);
        }
    }
    page.table("Requesters' round trips, from send to answer", &table);
}
