//! What consumers have read, and how long records were on their way to them.

use super::format::span_us;
use super::groups::listed;
use super::head::or_dash;
use super::table::{Table, Titled};
use crate::analyze::findings::{ConsumerFinding, Findings, Quantiles};
use crate::digits::grouped;

/// Each consumer, by window.
pub(crate) fn consumers(findings: &Findings) -> Titled {
    let mut table =
        Table::new(&["<consumer", "<window", "records", "end to end p50", "p99", "max", "behind at most", "at the end", "<went wrong"]);
    let after = if findings.steps.is_empty() { "after it" } else { "with steps" };
    for consumer in &findings.consumers {
        let windows = [("baseline", consumer.baseline), (after, consumer.after), ("warm-up", consumer.warmup)];
        for (at, (window, times)) in windows.into_iter().filter(|(_, times)| times.is_some()).enumerate() {
            let mut row = vec![consumer.name.clone(), window.to_owned()];
            row.extend(cells(times));
            row.extend(if at == 0 { of_the_run(consumer) } else { Default::default() });
            table.row(row);
        }
        if [consumer.baseline, consumer.after, consumer.warmup] == [None; 3] {
            let mut row = vec![consumer.name.clone(), "run".to_owned()];
            row.extend([grouped(consumer.records), "-".into(), "-".into(), "-".into()]);
            row.extend(of_the_run(consumer));
            table.row(row);
        }
    }
    Titled::new("Consumers: end to end = arrival - due", table)
}

fn cells(times: Option<Quantiles>) -> [String; 4] {
    times.map_or_else(Default::default, |q| [grouped(q.count), span_us(q.p50_us), span_us(q.p99_us), span_us(q.max_us)])
}

fn of_the_run(consumer: &ConsumerFinding) -> [String; 3] {
    [or_dash(consumer.behind_max.map(grouped)), or_dash(consumer.behind_at_end.map(grouped)), listed(&consumer.errors)]
}
