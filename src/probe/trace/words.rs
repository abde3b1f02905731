//! Nodes, partitions and ages as a sentence has them.

use crate::digits::grouped;
use crate::ids::{BrokerId, TopicPartition};

use super::survey::Version;

/// `a`, `a and b`, `a, b and c`.
pub(super) fn listed<T: ToString>(items: &[T]) -> String {
    let words: Vec<String> = items.iter().map(ToString::to_string).collect();
    match words.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `broker 3`, `brokers 1 and 3`.
pub(super) fn brokers<T: ToString>(ids: &[T]) -> String {
    plural("broker", ids)
}

/// `controller 3`, `controllers 1 and 3`.
pub(super) fn controllers<T: ToString>(ids: &[T]) -> String {
    plural("controller", ids)
}

fn plural<T: ToString>(noun: &str, ids: &[T]) -> String {
    format!("{noun}{} {}", if ids.len() == 1 { "" } else { "s" }, listed(ids))
}

/// `1 topic`, `6,000 partitions`.
pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(u64::try_from(count).unwrap_or(u64::MAX)), if count == 1 { "" } else { "s" })
}

/// `orders/0`, `orders/0 and 1 other partition`.
pub(super) fn partitions(first: &TopicPartition, count: usize) -> String {
    match count.saturating_sub(1) {
        0 => first.to_string(),
        others => format!("{first} and {}", counted(others, "other partition")),
    }
}

/// `0.4 s`, `12 s`.
pub(super) fn age(ms: i64) -> String {
    if ms < 10_000 {
        format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
    } else {
        format!("{} s", grouped(u64::try_from(ms / 1_000).unwrap_or(0)))
    }
}

/// An offset or a count that may be negative on the wire only.
pub(super) fn number(value: i64) -> String {
    u64::try_from(value).map_or_else(|_| value.to_string(), grouped)
}

/// `1,2,3`; `none` of nobody.
pub(super) fn ids(nodes: &[BrokerId]) -> String {
    let words: Vec<String> = nodes.iter().map(ToString::to_string).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(",") }
}

/// What one version of a partition has that another has not: `leader 1 in epoch 5`, `ISR 1,2`.
pub(super) fn version(this: &Version<'_>, other: &Version<'_>) -> String {
    let Some(view) = this.view else { return "no such partition".to_owned() };
    let leader = view.leader.map_or_else(|| "no leader".to_owned(), |leader| format!("leader {leader}"));
    let leader = match view.leader_epoch {
        Some(epoch) => format!("{leader} in epoch {}", epoch.0),
        None => leader,
    };
    let Some(seen) = other.view else { return leader };
    let id = this.topic_id.map_or_else(|| "none".to_owned(), |id| id.0.to_string());
    let parts = [
        (this.topic_id != other.topic_id, format!("topic id {id}")),
        ((view.leader, view.leader_epoch) != (seen.leader, seen.leader_epoch), leader),
        (view.replicas != seen.replicas, format!("replicas {}", ids(&view.replicas))),
        (view.isr != seen.isr, format!("ISR {}", ids(&view.isr))),
        (view.offline != seen.offline, format!("offline {}", ids(&view.offline))),
        (view.error != seen.error, format!("error {}", view.error.map_or_else(|| "none".to_owned(), |code| code.to_string()))),
    ];
    let different: Vec<String> = parts.into_iter().filter(|(differs, _)| *differs).map(|(_, words)| words).collect();
    different.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_counts_read_as_people_write_them() {
        assert_eq!([&[][..], &[1], &[1, 2], &[1, 2, 3]].map(listed::<i32>), ["", "1", "1 and 2", "1, 2 and 3"]);
        assert_eq!([brokers(&[3]), brokers(&[1, 3])], ["broker 3", "brokers 1 and 3"]);
        assert_eq!([0, 1, 6_000].map(|count| counted(count, "partition")), ["0 partitions", "1 partition", "6,000 partitions"]);
        assert_eq!([0, 450, 9_960, 12_345, 7_200_000].map(age), ["0.0 s", "0.4 s", "9.9 s", "12 s", "7,200 s"]);
        let first = TopicPartition { topic: "orders".into(), partition: crate::ids::PartitionIndex(0) };
        assert_eq!(
            [1, 2, 13].map(|count| partitions(&first, count)),
            ["orders/0", "orders/0 and 1 other partition", "orders/0 and 12 other partitions"]
        );
    }
}
