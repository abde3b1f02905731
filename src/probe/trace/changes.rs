//! What is different between two sightings: for people who watch.
//!
//! Only states, no figures that always move (offsets, ages). What several brokers show alike is one change. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use super::diagnosis::Diagnosis;
use super::roll::{Following, Node, Roll, Speaker};
use super::sighting::{Sighting, View};
use super::survey::Version;
use super::words;
use crate::ids::{BrokerId, HostPort, TopicPartition};
use crate::kafka::admin::{ErrorCode, PartitionView, TopicView};

/// Changes of topics and partitions that are told one by one; a broker that dies may change thousands.
const TOLD_MAX: usize = 50;

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The active controller.
    Quorum,
    /// A node: whether it answers, is fenced, fetches.
    Node,
    /// Which brokers are listed.
    Brokers,
    /// A topic as a whole.
    Topic,
    /// A partition.
    Partition,
    /// Whether a leader serves.
    Served,
    /// What it all comes to.
    Diagnosis,
}

/// Something that is different now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What it is about.
    pub about: Subject,
    /// Who shows it; empty where that makes no difference.
    pub shown_by: Vec<Speaker>,
    /// It in words, without who shows it.
    pub text: String,
}

impl Change {
    /// The line that people read.
    #[must_use]
    pub fn line(&self) -> String {
        if self.shown_by.is_empty() {
            return self.text.clone();
        }
        let verb = if self.shown_by.len() == 1 { "shows" } else { "show" };
        format!("{} {verb} {}", words::brokers(&self.shown_by), self.text)
    }
}

/// What changed from one sighting to the next.
#[must_use]
pub fn changes(before: (&Sighting, &Diagnosis), after: (&Sighting, &Diagnosis)) -> Vec<Change> {
    let (diagnosed_before, diagnosed) = (before.1, after.1);
    let (before, after) = (before.0, after.0);
    let (roll_before, roll) = (Roll::of(before), Roll::of(after));
    let of_all = |about, text| Change { about, shown_by: vec![], text };
    let mut told: Vec<Change> = quorum(before, after).map(|text| of_all(Subject::Quorum, text)).into_iter().collect();
    told.extend(nodes(&roll_before, &roll, before, after).into_iter().map(|text| of_all(Subject::Node, text)));
    told.extend(shown(before, after, &roll));
    told.extend(served(before, after).into_iter().map(|text| of_all(Subject::Served, text)));
    if !diagnosed.is_same(diagnosed_before) {
        told.push(of_all(Subject::Diagnosis, format!("now: {}", diagnosed.sentence)));
    }
    told
}

fn arrow(what: &str, before: &str, after: &str) -> Option<String> {
    (before != after).then(|| format!("{what} {before} -> {after}"))
}

fn quorum(before: &Sighting, after: &Sighting) -> Option<String> {
    let active = |sighting: &Sighting| sighting.quorum().map_or_else(|| "unknown".to_owned(), |quorum| quorum.leader.to_string());
    let epoch = |sighting: &Sighting| sighting.quorum().map_or_else(|| "unknown".to_owned(), |quorum| quorum.leader_epoch.0.to_string());
    let parts = [arrow("active controller", &active(before), &active(after)), arrow("epoch", &epoch(before), &epoch(after))];
    joined(&parts)
}

/// Parts with a comma between; `None` if there are none.
fn joined(parts: &[Option<String>]) -> Option<String> {
    let parts: Vec<&str> = parts.iter().flatten().map(String::as_str).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn nodes(roll_before: &Roll<'_>, roll: &Roll<'_>, before: &Sighting, after: &Sighting) -> Vec<String> {
    let yes_no = |state: Option<bool>| state.map_or("unknown", |state| if state { "yes" } else { "no" });
    let answers = |node: &Node<'_>| match node.voice.map(|voice| &voice.view) {
        Some(Ok(_)) => "yes".to_owned(),
        Some(Err(unheard)) => unheard.word(),
        None => "not asked".to_owned(),
    };
    let difference = |node: &Node<'_>| {
        let was = roll_before.node(node.id)?;
        let follows = [was.follows(before.quorum().is_some()), node.follows(after.quorum().is_some())].map(following);
        let parts = [
            arrow("answers", &answers(was), &answers(node)),
            arrow("fenced", yes_no(was.is_fenced), yes_no(node.is_fenced)),
            arrow("fetches the controller's log", follows[0], follows[1]),
        ];
        Some(format!("node {}: {}", node.id, joined(&parts)?))
    };
    roll.nodes().iter().filter_map(difference).collect()
}

fn following(state: Option<Following>) -> &'static str {
    match state {
        Some(Following::Close) => "yes",
        Some(Following::Behind) => "behind",
        Some(Following::Not) => "no",
        None => "unknown",
    }
}

/// What brokers show differently, those that show it alike together.
fn shown(before: &Sighting, after: &Sighting, roll: &Roll<'_>) -> Vec<Change> {
    let views_before: BTreeMap<&HostPort, &View> = before.views().collect();
    let mut by_text: BTreeMap<(Subject, String), BTreeSet<Speaker>> = BTreeMap::new();
    for (address, view) in after.views() {
        let Some(was) = views_before.get(address) else { continue };
        for told in of_view(was, view) {
            by_text.entry(told).or_default().insert(roll.speaker(address));
        }
    }
    let left_out = by_text.len().saturating_sub(TOLD_MAX);
    let change = |((about, text), speakers): (_, BTreeSet<Speaker>)| Change { about, shown_by: speakers.into_iter().collect(), text };
    let mut told: Vec<Change> = by_text.into_iter().take(TOLD_MAX).map(change).collect();
    if left_out > 0 {
        let text = format!("and {} like these", words::counted(left_out, "more change"));
        told.push(Change { about: Subject::Partition, shown_by: vec![], text });
    }
    told
}

fn of_view(before: &View, after: &View) -> Vec<(Subject, String)> {
    let listed = |view: &View| words::ids(&view.brokers.iter().map(|broker| broker.id).collect::<Vec<BrokerId>>());
    let lists = arrow("brokers", &listed(before), &listed(after)).map(|text| (Subject::Brokers, text));
    let mut told: Vec<(Subject, String)> = lists.into_iter().collect();
    let is_alike =
        before.topics.len() == after.topics.len() && before.topics.iter().zip(&after.topics).all(|(was, is)| Arc::ptr_eq(was, is));
    if is_alike {
        return told;
    }
    let known = |view: &'_ View| -> BTreeMap<_, _> {
        view.topics.iter().filter(|topic| topic.error.is_none()).map(|topic| (topic.name.clone(), Arc::clone(topic))).collect()
    };
    let (was, is) = (known(before), known(after));
    let gone = was.keys().filter(|name| !is.contains_key(*name));
    told.extend(gone.map(|name| (Subject::Topic, format!("{name}: gone"))));
    for (name, topic) in &is {
        match was.get(name) {
            None => told.push((Subject::Topic, format!("{name}: new, with {}", words::counted(topic.partitions.len(), "partition")))),
            Some(old) if old == topic => {}
            Some(old) => told.extend(of_topic(old, topic)),
        }
    }
    told
}

fn of_topic(before: &TopicView, after: &TopicView) -> Vec<(Subject, String)> {
    let id = |topic: &TopicView| topic.id.map_or_else(|| "none".to_owned(), |id| id.0.to_string());
    let count = |topic: &TopicView| topic.partitions.len().to_string();
    let parts = [arrow("id", &id(before), &id(after)), arrow("partitions", &count(before), &count(after))];
    let whole = joined(&parts).map(|text| (Subject::Topic, format!("{}: {text}", after.name)));
    let of_partition = |is: &PartitionView| {
        let was = before.partitions.iter().find(|was| was.partition == is.partition)?;
        let version = |view| Version { speakers: [].into(), topic_id: None, view: Some(view) };
        let text = arrow("", &words::version(&version(was), &version(is)), &words::version(&version(is), &version(was)))?;
        Some((Subject::Partition, format!("{}/{}:{text}", after.name, is.partition)))
    };
    whole.into_iter().chain(after.partitions.iter().filter_map(of_partition)).collect()
}

/// Partitions that leaders refuse, or serve again.
fn served(before: &Sighting, after: &Sighting) -> Vec<String> {
    let (was, is) = (refused(before), refused(after));
    let newly = is.iter().filter(|(partition, refusal)| was.get(*partition) != Some(*refusal));
    let mut told: Vec<String> = newly.map(|(partition, (leader, code))| format!("{partition}: broker {leader} answers {code}")).collect();
    let again =
        |partition: &&&TopicPartition| after.served.values().flatten().any(|served| served.get(**partition).is_some_and(Result::is_ok));
    let ended: Vec<&TopicPartition> = was.keys().filter(|partition| !is.contains_key(*partition)).collect();
    told.extend(ended.iter().filter(again).map(|partition| format!("{partition}: served again")));
    let left_out = told.len().saturating_sub(TOLD_MAX);
    told.truncate(TOLD_MAX);
    if left_out > 0 {
        told.push(format!("and {} like these", words::counted(left_out, "more change")));
    }
    told
}

fn refused(sighting: &Sighting) -> BTreeMap<TopicPartition, (BrokerId, ErrorCode)> {
    let mut refused = BTreeMap::new();
    for (leader, served) in &sighting.served {
        let codes = served.iter().flatten().filter_map(|(partition, told)| Some((partition.clone(), (*leader, told.err()?))));
        refused.extend(codes);
    }
    refused
}
