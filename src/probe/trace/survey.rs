//! What the voices say of each partition, side by side.
//!
//! Equal answers are one [`Version`]. Pure; goes over all partitions without keeping them, so that a large cluster costs no more memory than
//! its answers.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use super::roll::{Roll, Speaker};
use super::sighting::Sighting;
use crate::ids::{BrokerId, PartitionIndex, TopicId, TopicName, TopicPartition};
use crate::kafka::admin::{ErrorCode, InEpoch, PartitionView, TopicView};

/// A partition as some voices show it.
#[derive(Clone, Debug)]
pub(super) struct Version<'a> {
    /// Who shows it so.
    pub(super) speakers: Rc<[Speaker]>,
    /// The topic's id there; `None`: not told, or the partition is not known there.
    pub(super) topic_id: Option<TopicId>,
    /// The partition; `None`: they do not know it.
    pub(super) view: Option<&'a PartitionView>,
}

/// A partition as all voices show it.
#[derive(Clone, Debug)]
pub(super) struct Surveyed<'a> {
    /// Which.
    pub(super) partition: TopicPartition,
    /// What is shown; the newest first. Never empty.
    pub(super) versions: Vec<Version<'a>>,
}

impl<'a> Surveyed<'a> {
    /// What the newest version shows; `None`: nobody who answered knows it, only the controllers' log.
    pub(super) fn newest(&self) -> Option<&'a PartitionView> {
        self.versions.first()?.view
    }

    /// Whether the voices disagree.
    pub(super) fn differs(&self) -> bool {
        self.versions.len() > 1
    }

    /// Whether the controllers' log has something newer than any broker shows: committed before they were asked, and not changed since.
    pub(super) fn is_behind_log(&self, sighting: &Sighting) -> bool {
        let (Some(shown), Some((id, logged))) = (self.versions.first(), sighting.logged_throughout(&self.partition)) else { return false };
        let Some(view) = shown.view else { return true };
        let isr = |nodes: &[BrokerId]| nodes.iter().copied().collect::<BTreeSet<_>>();
        let is_same =
            (view.leader, isr(&view.isr)) == (logged.leader, isr(&logged.isr)) || view.error == Some(ErrorCode::LISTENER_NOT_FOUND);
        match view.leader_epoch.cmp(&Some(logged.leader_epoch)) {
            Ordering::Less => true,
            Ordering::Equal => !is_same || shown.topic_id != Some(id),
            Ordering::Greater => shown.topic_id != Some(id),
        }
    }

    /// Whether it differs, or is not served.
    pub(super) fn is_urgent(&self, sighting: &Sighting) -> bool {
        let Some(view) = self.newest() else { return true };
        let is_refused = |leader| sighting.served(leader, &self.partition).is_some_and(|served| served.is_err());
        self.differs() || view.error.is_some() || view.leader.is_none_or(is_refused) || self.is_behind_log(sighting)
    }

    /// Replicas that should be in sync and are not. Those that a reassignment adds, by the controllers' log before or after, are still on their
    /// way.
    pub(super) fn missing(&self, sighting: &Sighting) -> Vec<BrokerId> {
        let Some(view) = self.newest().filter(|view| !view.is_full()) else { return vec![] };
        let readings = [sighting.logged(&self.partition), sighting.logged_before(&self.partition)];
        let is_added = |replica: &BrokerId| readings.iter().flatten().any(|(_, logged)| logged.adding.contains(replica));
        let is_expected = |replica: &BrokerId| !is_added(replica) || view.offline.contains(replica);
        view.replicas.iter().copied().filter(|replica| !view.isr.contains(replica) && is_expected(replica)).collect()
    }

    /// Whether a reassignment of it goes on, by the controllers' log.
    pub(super) fn is_reassigned(&self, sighting: &Sighting) -> bool {
        sighting.logged(&self.partition).is_some_and(|(_, logged)| !(logged.adding.is_empty() && logged.removing.is_empty()))
    }

    /// Whether it differs, or is not as it should be.
    pub(super) fn is_notable(&self, sighting: &Sighting) -> bool {
        self.is_urgent(sighting) || !self.missing(sighting).is_empty()
    }
}

/// One topic, and who shows it so.
struct Group<'a> {
    topic: Option<&'a TopicView>,
    speakers: Rc<[Speaker]>,
}

/// Every partition in the sighting's scope that a broker or the controllers' log knows, by topic and index.
pub(super) fn partitions<'a>(sighting: &'a Sighting, roll: &Roll<'_>) -> impl Iterator<Item = Surveyed<'a>> {
    let (speakers, topics) = by_topic(sighting, roll);
    topics.into_iter().flat_map(move |(name, shown)| of_topic(sighting, name, &grouped(&speakers, &shown)))
}

/// Who leads what, in which epoch, by the newest versions.
pub(super) fn led(sighting: &Sighting, roll: &Roll<'_>) -> BTreeMap<BrokerId, Vec<InEpoch>> {
    let mut led: BTreeMap<BrokerId, Vec<InEpoch>> = BTreeMap::new();
    for surveyed in partitions(sighting, roll) {
        if let Some(PartitionView { leader: Some(leader), leader_epoch, .. }) = surveyed.newest() {
            led.entry(*leader).or_default().push((surveyed.partition, *leader_epoch));
        }
    }
    led
}

/// Topics in scope that the controllers' log has, without those that a broker may not tell us of or refuses: of these its silence says nothing.
fn logged_topics(sighting: &Sighting) -> impl Iterator<Item = &TopicName> {
    let refused: HashSet<&TopicName> = sighting
        .views()
        .flat_map(|(_, view)| &view.topics)
        .filter(|topic| topic.error.is_some_and(|code| code != ErrorCode::UNKNOWN_TOPIC_OR_PARTITION))
        .map(|topic| &topic.name)
        .collect();
    let is_asked = move |name: &&TopicName| sighting.scope.topic.as_ref().is_none_or(|only| only == *name);
    let names = sighting.log.iter().flat_map(|log| log.image.topics().values()).map(|topic| &topic.name);
    names.filter(is_asked).filter(move |name| !refused.contains(name))
}

/// What each voice shows of a topic, by its place among the voices.
type Shown<'a> = Vec<(usize, &'a Arc<TopicView>)>;

fn by_topic<'a>(sighting: &'a Sighting, roll: &Roll<'_>) -> (Vec<Speaker>, BTreeMap<&'a TopicName, Shown<'a>>) {
    let mut speakers = Vec::new();
    let mut topics: BTreeMap<&TopicName, Shown<'a>> = BTreeMap::new();
    for (place, (address, view)) in sighting.views().enumerate() {
        speakers.push(roll.speaker(address));
        for topic in view.topics.iter().filter(|topic| topic.error.is_none()) {
            topics.entry(&topic.name).or_default().push((place, topic));
        }
    }
    if !speakers.is_empty() {
        for name in logged_topics(sighting) {
            topics.entry(name).or_default();
        }
    }
    (speakers, topics)
}

/// Joins voices that show the topic alike; those that do not show it make a group, too.
fn grouped<'a>(speakers: &[Speaker], shown: &Shown<'a>) -> Vec<Group<'a>> {
    let mut alike: Vec<(Option<&Arc<TopicView>>, Vec<usize>)> = Vec::new();
    for (place, topic) in shown {
        match alike.iter_mut().find(|(other, _)| other.is_some_and(|other| Arc::ptr_eq(other, topic) || other == *topic)) {
            Some((_, places)) => places.push(*place),
            None => alike.push((Some(topic), vec![*place])),
        }
    }
    let without: Vec<usize> = (0..speakers.len()).filter(|place| shown.iter().all(|(other, _)| other != place)).collect();
    if !without.is_empty() {
        alike.push((None, without));
    }
    let named = |places: Vec<usize>| places.into_iter().map(|place| speakers[place].clone()).collect();
    alike.into_iter().map(|(topic, places)| Group { topic: topic.map(Arc::as_ref), speakers: named(places) }).collect()
}

fn of_topic<'a>(sighting: &Sighting, name: &TopicName, groups: &[Group<'a>]) -> Vec<Surveyed<'a>> {
    let shown = groups.iter().filter_map(|group| group.topic).flat_map(|topic| &topic.partitions).map(|view| view.partition);
    let mut indexes: BTreeSet<PartitionIndex> = shown.collect();
    indexes.extend(only_logged(sighting, name, &indexes));
    indexes.retain(|index| sighting.scope.partition.is_none_or(|only| only == *index));
    let surveyed = |partition| Surveyed {
        partition: TopicPartition { topic: name.clone(), partition },
        versions: newest_first(versions(partition, groups)),
    };
    indexes.into_iter().map(surveyed).collect()
}

/// Partitions that the controllers' log has and had before brokers were asked, and that are not shown.
fn only_logged(sighting: &Sighting, name: &TopicName, shown: &BTreeSet<PartitionIndex>) -> Vec<PartitionIndex> {
    let logged = sighting.log.as_ref().ok().and_then(|log| log.image.topic(name));
    let missing = logged.into_iter().flat_map(|(_, topic)| topic.partitions.keys().copied()).filter(|index| !shown.contains(index));
    let stayed = |index: &PartitionIndex| {
        let partition = TopicPartition { topic: name.clone(), partition: *index };
        sighting.logged_throughout(&partition).is_some()
    };
    missing.filter(stayed).collect()
}

fn versions<'a>(partition: PartitionIndex, groups: &[Group<'a>]) -> Vec<Version<'a>> {
    let mut versions: Vec<Version<'a>> = Vec::new();
    for group in groups {
        let place = group.topic.and_then(|topic| topic.partitions.binary_search_by_key(&partition, |view| view.partition).ok());
        let view = place.and_then(|place| group.topic?.partitions.get(place));
        let topic_id = group.topic.filter(|_| view.is_some()).and_then(|topic| topic.id);
        match versions.iter_mut().find(|version| (version.topic_id, version.view) == (topic_id, view)) {
            Some(version) => version.speakers = version.speakers.iter().chain(&*group.speakers).cloned().collect(),
            None => versions.push(Version { speakers: Rc::clone(&group.speakers), topic_id, view }),
        }
    }
    versions
}

/// A higher epoch is newer; of a topic that was made anew the epochs begin anew, too, so that there the many are believed.
fn newest_first(mut versions: Vec<Version<'_>>) -> Vec<Version<'_>> {
    let ids: BTreeSet<Option<TopicId>> = versions.iter().filter(|version| version.view.is_some()).map(|version| version.topic_id).collect();
    let is_one_topic = ids.len() < 2;
    let epoch = |version: &Version<'_>| version.view.and_then(|view| view.leader_epoch).filter(|_| is_one_topic);
    versions.sort_by_key(|version| std::cmp::Reverse((version.view.is_some(), epoch(version), version.speakers.len())));
    versions
}

/// The error code that every voice gives for the topic that was asked for; `None`: somebody knows it, or none was asked for.
pub(super) fn topic_refusal(sighting: &Sighting) -> Option<ErrorCode> {
    let name = sighting.scope.topic.as_ref()?;
    let mut codes = sighting.views().map(|(_, view)| view.topics.iter().find(|topic| topic.name == *name).and_then(|topic| topic.error));
    let first = codes.next()??;
    codes.all(|code| code.is_some()).then_some(first)
}
