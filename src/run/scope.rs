//! Which topics the brokers are asked about, so that asking stays cheap whatever the plan's size. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::TopicName;
use crate::plan::model::{Action, Plan, Reshape, Step};
use crate::probe::WatchedTopic;

/// Partitions whose leaders are watched: each broker lists all of them once a second.
const WATCHED_MAX: u32 = 1_000;
/// Partitions whose offsets are asked for.
const PROBED_MAX: u32 = 64;
/// Partitions that are followed through controller and brokers: while something changes, each broker lists all of them up to 100 times a
/// second.
const FOLLOWED_MAX: u32 = 2_000;

/// The plan's topics in its order, those that steps make last, within the bounds; and what the bounds leave out, in words.
pub(super) fn watched(plan: &Plan) -> (Vec<WatchedTopic>, Option<String>) {
    let sizes = sizes(plan);
    let (mut watched, mut watched_partitions, mut probed_partitions) = (Vec::new(), 0_u32, 0);
    for (name, partitions) in &sizes {
        if watched_partitions.saturating_add(*partitions) > WATCHED_MAX {
            continue;
        }
        let probed = (*partitions).min(PROBED_MAX - probed_partitions);
        watched_partitions += partitions;
        probed_partitions += probed;
        watched.push(WatchedTopic { name: name.clone(), probed });
    }
    let all: u64 = sizes.iter().map(|(_, partitions)| u64::from(*partitions)).sum();
    let is_all = all == u64::from(probed_partitions);
    let warning = format!(
        "brokers.csv: of {} topics with {all} partitions it covers leaders and under-replication of {} topics with {watched_partitions}, \
         and offsets of {probed_partitions} partitions",
        sizes.len(),
        watched.len(),
    );
    (watched, (!is_all).then_some(warning))
}

/// The topics that are followed through all layers, in the same order, within a bound of their own; and what it leaves out, in words.
pub(super) fn followed(plan: &Plan) -> (Vec<TopicName>, Option<String>) {
    let sizes = sizes(plan);
    let (mut followed, mut left) = (Vec::new(), FOLLOWED_MAX);
    for (name, partitions) in &sizes {
        if *partitions <= left {
            left -= partitions;
            followed.push(name.clone());
        }
    }
    let left_out: Vec<&(TopicName, u32)> = sizes.iter().filter(|(name, _)| !followed.contains(name)).collect();
    let warning = left_out.first().map(|(first, _)| {
        let partitions: u64 = left_out.iter().map(|(_, partitions)| u64::from(*partitions)).sum();
        let count = left_out.len();
        format!("layers: {count} of {} topics, with {partitions} partitions, are not followed: {first} is the first of them", sizes.len())
    });
    (followed, warning)
}

/// Every topic that the plan names.
pub(super) fn topics(plan: &Plan) -> BTreeSet<TopicName> {
    sizes(plan).into_iter().map(|(name, _)| name).collect()
}

/// Every topic that the plan names, with its greatest count of partitions.
fn sizes(plan: &Plan) -> Vec<(TopicName, u32)> {
    let mut sizes = Sizes::default();
    for topic in &plan.topics {
        sizes.add(&topic.name, topic.partitions);
    }
    sizes.add_steps(&plan.steps);
    for topic in plan.producers.iter().flat_map(|group| &group.topics) {
        // Nobody makes it, unless a broker does so because it is asked for.
        if !sizes.index.contains_key(topic) {
            sizes.add(topic, 1);
        }
    }
    sizes.topics
}

#[derive(Default)]
struct Sizes {
    topics: Vec<(TopicName, u32)>,
    index: BTreeMap<TopicName, usize>,
}

impl Sizes {
    fn add(&mut self, topic: &TopicName, partitions: u32) {
        let index = *self.index.entry(topic.clone()).or_insert_with(|| {
            self.topics.push((topic.clone(), 0));
            self.topics.len() - 1
        });
        self.topics[index].1 = self.topics[index].1.max(partitions);
    }

    fn add_steps(&mut self, steps: &[Step]) {
        for step in steps {
            match &step.action {
                Action::CreateTopic { topic } => self.add(&topic.name, topic.partitions),
                Action::AddPartitions { topic, to } => self.add(topic, *to),
                Action::RecreateTopic { topic, shape: Reshape { partitions: Some(partitions), .. } } => self.add(topic, *partitions),
                Action::Repeat { steps, .. } => self.add_steps(steps),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;

    fn plan_of(topics: &[(&str, u32)], steps: &str, group: &str) -> Plan {
        let topics: String = topics
            .iter()
            .map(|(name, partitions)| format!("[[topic]]\nname = \"{name}\"\npartitions = {partitions}\nreplication = 1\n"))
            .collect();
        let text = format!(
            "name = \"p\"\nabout = \"x\"\n[cluster]\nnodes = 1\n{topics}[[producers]]\nname = \"g\"\n{group}\nrate = \"1/s\"\n{steps}"
        );
        plan::parse("p.toml", &text).unwrap().plan
    }

    fn scope(topics: &[(&str, u32)], steps: &str) -> (Vec<(String, u32)>, Option<String>) {
        let (watched, warning) = watched(&plan_of(topics, steps, "topics = [\"a\"]"));
        (watched.into_iter().map(|topic| (topic.name.to_string(), topic.probed)).collect(), warning)
    }

    #[test]
    fn a_topic_counts_with_all_partitions_that_it_will_have() {
        let grow = "[[step]]\nat = \"0s\"\nadd-partitions = { topic = \"a\", to = 12 }\n\
                    [[step]]\nat = \"1s\"\nrecreate-topic = { topic = \"b\", partitions = 3 }\n";
        assert_eq!(scope(&[("a", 6), ("b", 1)], grow), (vec![("a".to_owned(), 12), ("b".to_owned(), 3)], None));
    }

    fn followed_of(topics: &[(&str, u32)], group: &str) -> (Vec<String>, Option<String>) {
        let (followed, warning) = followed(&plan_of(topics, "", group));
        (followed.iter().map(ToString::to_string).collect(), warning)
    }

    /// Topics with their partitions, topics of the group; which are followed, and the warning.
    type Row<'a> = (&'a [(&'a str, u32)], &'a str, &'a [&'a str], Option<&'a str>);

    #[test]
    fn topics_that_fit_are_followed_and_the_rest_is_told() {
        let rows: [Row<'_>; 4] = [
            (&[("a", 6), ("b", 1)], "topics = [\"a\"]", &["a", "b"], None),
            (&[("a", 6)], "topics = [\"typo\"]\nmissing = [\"typo\"]", &["a", "typo"], None),
            (
                &[("a", 1_999), ("b", 2), ("c", 1), ("d", 4)],
                "topics = [\"a\"]",
                &["a", "c"],
                Some("layers: 2 of 4 topics, with 6 partitions, are not followed: b is the first of them"),
            ),
            (
                &[("a", 10_000)],
                "topics = [\"a\"]",
                &[],
                Some("layers: 1 of 1 topics, with 10000 partitions, are not followed: a is the first of them"),
            ),
        ];
        for (topics, group, expected, warning) in rows {
            let (names, told) = followed_of(topics, group);
            assert_eq!((names.iter().map(String::as_str).collect::<Vec<_>>(), told.as_deref()), (expected.to_vec(), warning));
        }
    }

    #[test]
    fn what_the_bounds_leave_out_is_told() {
        let (watched, warning) = scope(&[("a", 60), ("b", 6), ("c", 990), ("d", 3)], "");
        assert_eq!(watched, [("a".to_owned(), 60), ("b".to_owned(), 4), ("d".to_owned(), 0)]);
        assert_eq!(
            warning.unwrap(),
            "brokers.csv: of 4 topics with 1059 partitions it covers leaders and under-replication of 3 topics with 69, and offsets of 64 \
             partitions"
        );
    }
}
