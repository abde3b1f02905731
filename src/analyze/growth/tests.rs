//! Growth as caches see it.

use super::*;
use crate::ids::{BrokerId, TopicName, UpdateVersion};
use crate::record::sample::{Pair, Sample};

trait Cache {
    fn cache(self, group: &str, producer: u32, counts: (u32, u32), reason: &str, at_ms: i64) -> Self;
}

impl Cache for Sample {
    fn cache(self, group: &str, producer: u32, (from, to): (u32, u32), reason: &str, at_ms: i64) -> Self {
        let fact = Fact::PartitionCount {
            group: group.to_owned(),
            producer: ProducerIndex(producer),
            topic: TopicName::from("orders"),
            topic_id: None,
            from,
            to,
            node: Some(BrokerId(1)),
            reason: Some(reason.to_owned()),
            update_version: Some(UpdateVersion(2)),
        };
        self.at(at_ms, fact)
    }
}

/// Requested at 10.0 s, acknowledged at 10.1 s, observed at 10.2 s.
fn grown(target: &str) -> Sample {
    Sample::new(&[("fast", 3), ("slow", 2)])
        .cache("fast", 0, (0, 3), "start", -1_900)
        .cache("fast", 1, (0, 3), "start", -1_900)
        .cache("slow", 0, (0, 3), "start", -1_900)
        .cache("slow", 1, (0, 3), "start", -1_900)
        .step(1, "add-partitions", target, 10_000)
        .cache("fast", 0, (3, 6), "age", 10_150)
        .cache("fast", 1, (3, 6), "age", 14_200)
        .first_used(Pair("fast", 0, 2), 10_500)
        .first_used(Pair("fast", 0, 4), 10_900)
        .first_used(Pair("fast", 1, 5), 14_300)
        // Made after the step: it has nothing to learn.
        .cache("fast", 2, (0, 6), "start", 11_000)
        .cache("slow", 1, (3, 6), "disconnect", 12_200)
}

fn findings(stream: &Sample) -> Vec<GrowthFinding> {
    let (mut growth, mut steps) = (Growth::default(), StepLedger::default());
    for fact in &stream.facts {
        growth.fold(fact);
        steps.fold(fact);
    }
    growth.findings(&steps, &["fast".to_owned(), "slow".to_owned()])
}

#[test]
fn each_group_learns_in_its_own_time_and_way() {
    for target in ["orders 3 -> 6", "orders (to 6)"] {
        let findings = findings(&grown(target));
        let (fast, slow) = (&findings[0], &findings[1]);
        assert_eq!((fast.from, fast.to, fast.producers, fast.never), (Some(3), 6, 2, 0), "{target}");
        let cached = fast.cached_ms.unwrap();
        assert_eq!((cached.min, cached.max), (-50, 4_000), "the first cache knew before the step was observed");
        assert_eq!(fast.by_reason, BTreeMap::from([("age".to_owned(), 2)]));
        let first_use = fast.first_use_ms.unwrap();
        assert_eq!((first_use.min, first_use.max), (105, 755), "partition 2 is not a new one");
        assert!(accidents(fast).is_empty());
        assert_eq!((slow.producers, slow.never), (2, 1));
        assert_eq!(accidents(slow), BTreeSet::from([("disconnect".to_owned(), 1)]));
    }
}

#[test]
fn another_topic_or_another_action_is_no_growth() {
    assert_eq!(findings(&grown("payments 3 -> 6")), []);
    assert_eq!(findings(&grown("orders")), []);
    assert_eq!(findings(&Sample::new(&[]).step(1, "kill", "1", 10_000)), []);
}
