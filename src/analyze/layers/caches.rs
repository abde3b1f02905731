//! What brokers answered: which state of a partition each showed, and whether leaders served.

use std::collections::BTreeMap;

use super::index::{Index, NodeSet, Part, Room};
use super::log::{Change, KEPT_MAX, Kind};
use super::order::Sight;
use crate::ids::{BrokerId, LeaderEpoch};
use crate::record::fact::{Fact, Stamped};
use crate::record::layer::BrokerShows;

/// A broker's answer on a partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    pub(crate) sight: Sight,
    topic_id: Option<u32>,
    pub(crate) leader: Option<BrokerId>,
    pub(crate) epoch: Option<LeaderEpoch>,
    isr: NodeSet,
}

/// When a broker showed a topic, and its id's number; `None`: it did not know the topic.
type TopicShown = (Sight, Option<u32>);

/// A leader's answer to a request with its epoch.
#[derive(Clone, Copy, Debug)]
struct Served {
    sight: Sight,
    node: BrokerId,
    /// The topic's id by that broker's word at that time.
    topic_id: Option<u32>,
    epoch: LeaderEpoch,
    error: Option<i16>,
}

impl Served {
    /// Whether it was about a change, or what came after it. A topic that is made again has the epochs of the one that had its name before.
    fn is_after(&self, change: &Change) -> bool {
        let is_of_topic = self.topic_id.is_none_or(|id| id == change.after.topic_id);
        self.epoch >= change.after.epoch && (is_of_topic || self.sight.time_us >= change.made.earliest_us())
    }
}

/// Whether a new leader served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Serving {
    /// Since then.
    Since(Sight),
    /// It was asked and refused, for the last time with this error.
    Refused(i16),
    /// It was never asked in this epoch.
    NotAsked,
}

/// All answers of brokers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Caches {
    shown: BTreeMap<Part, BTreeMap<BrokerId, Vec<Shown>>>,
    /// The id under which each broker knew a topic.
    topics: BTreeMap<u32, BTreeMap<BrokerId, Vec<TopicShown>>>,
    served: BTreeMap<Part, Vec<Served>>,
    /// When each broker began to answer (`None`) or ceased to (why).
    silence: BTreeMap<BrokerId, Vec<(i64, Option<String>)>>,
    pub(crate) room: Room<KEPT_MAX>,
}

impl Caches {
    /// Takes in a fact.
    pub(crate) fn fold(&mut self, stamped: &Stamped, index: &mut Index) {
        match &stamped.fact {
            Fact::BrokerShows { node, not_before_us, shows } => {
                self.note_silence(*node, stamped.time_us, shows);
                if let BrokerShows::Topic { topic, topic_id, .. } = shows
                    && self.room.take()
                {
                    let topic_id = topic_id.as_ref().map(|id| index.topic_ids.number(id));
                    let shown = (Sight { not_before_us: *not_before_us, time_us: stamped.time_us }, topic_id);
                    self.topics.entry(index.topics.number(topic)).or_default().entry(*node).or_default().push(shown);
                }
                let BrokerShows::Partition { topic, topic_id, partition, leader, leader_epoch, isr, .. } = shows else { return };
                if !self.room.take() {
                    return;
                }
                let shown = Shown {
                    sight: Sight { not_before_us: *not_before_us, time_us: stamped.time_us },
                    topic_id: topic_id.as_ref().map(|id| index.topic_ids.number(id)),
                    leader: *leader,
                    epoch: *leader_epoch,
                    isr: index.set(isr),
                };
                self.shown.entry(index.part(topic, *partition)).or_default().entry(*node).or_default().push(shown);
            }
            Fact::Servable { node, topic, partition, leader_epoch, not_before_us, error, .. } if self.room.take() => {
                let sight = Sight { not_before_us: *not_before_us, time_us: stamped.time_us };
                let part = index.part(topic, *partition);
                let topic_id = self.of(*node, part).last().and_then(|shown| shown.topic_id);
                let served = Served { sight, node: *node, topic_id, epoch: *leader_epoch, error: *error };
                self.served.entry(part).or_default().push(served);
            }
            _ => {}
        }
    }

    /// Brokers that were asked by that time: one that joins the cluster later has nothing to show yet.
    pub(crate) fn brokers(&self, time_us: i64) -> impl Iterator<Item = BrokerId> {
        let known = self.silence.iter().filter(move |(_, silence)| silence.first().is_some_and(|(first_us, _)| *first_us <= time_us));
        known.map(|(broker, _)| *broker)
    }

    /// Whether a broker's answers on this partition are watched.
    pub(crate) fn knows(&self, broker: BrokerId, part: Part) -> bool {
        self.shown.get(&part).is_some_and(|brokers| brokers.contains_key(&broker))
    }

    /// When a broker's answers began to show a change, or a later state.
    pub(crate) fn shows(&self, broker: BrokerId, change: &Change) -> Option<Sight> {
        let shown = self.shown.get(&change.part)?.get(&broker)?;
        let before = shown.iter().rfind(|shown| shown.sight.time_us < change.made.earliest_us());
        if before.is_some_and(|before| is_so_already(before, change)) {
            return Some(Sight { not_before_us: None, time_us: change.made.time_us });
        }
        shown.iter().find(|shown| reflects(shown, change)).map(|shown| shown.sight)
    }

    /// When a broker's answers began to show that a topic is gone, or another one under its name.
    pub(crate) fn forgets(&self, broker: BrokerId, topic: u32, topic_id: u32, since_us: i64) -> Option<Sight> {
        let mut shown = self.topics.get(&topic)?.get(&broker)?.iter();
        shown.find(|(sight, id)| sight.time_us >= since_us && *id != Some(topic_id)).map(|(sight, _)| *sight)
    }

    /// All that a broker showed of a partition, in order.
    pub(crate) fn of(&self, broker: BrokerId, part: Part) -> &[Shown] {
        self.shown.get(&part).and_then(|brokers| brokers.get(&broker)).map_or(&[], Vec::as_slice)
    }

    /// What it showed at that time.
    pub(crate) fn at(&self, broker: BrokerId, part: Part, time_us: i64) -> Option<&Shown> {
        self.of(broker, part).iter().rfind(|shown| shown.sight.time_us <= time_us)
    }

    /// Whether the new leader of a change served in its epoch.
    pub(crate) fn serving(&self, change: &Change) -> Serving {
        let (Some(leader), Some(served)) = (change.after.leader, self.served.get(&change.part)) else { return Serving::NotAsked };
        let asked = || served.iter().filter(|served| served.node == leader && served.is_after(change));
        match asked().find(|served| served.error.is_none()) {
            Some(served) => Serving::Since(served.sight),
            None => asked().next_back().and_then(|served| served.error).map_or(Serving::NotAsked, Serving::Refused),
        }
    }

    /// Whether the last answer of a leader up to a time, in this epoch or a later one, was that it serves; `None`: it was not asked.
    pub(crate) fn served_by(&self, part: Part, leader: BrokerId, epoch: LeaderEpoch, until_us: i64) -> Option<bool> {
        let is_such = |served: &&Served| served.node == leader && served.epoch >= epoch && served.sight.time_us <= until_us;
        let last = self.served.get(&part)?.iter().rfind(is_such)?;
        Some(last.error.is_none())
    }

    /// The first error with which the new leader of a change refused, before it served.
    pub(crate) fn refusal(&self, change: &Change) -> Option<i16> {
        let served = self.served.get(&change.part)?;
        let mut asked = served.iter().filter(|served| Some(served.node) == change.after.leader && served.is_after(change));
        asked.next()?.error
    }

    /// Why a broker did not answer at that time, and since when.
    pub(crate) fn silent(&self, broker: BrokerId, at_us: i64) -> Option<(i64, &str)> {
        let (time_us, why) = self.silence.get(&broker)?.iter().rfind(|(time_us, _)| *time_us <= at_us)?;
        Some((*time_us, why.as_deref()?))
    }

    fn note_silence(&mut self, broker: BrokerId, time_us: i64, shows: &BrokerShows) {
        let why = match shows {
            BrokerShows::Nothing { why } => Some(why.clone()),
            _ => None,
        };
        let silence = self.silence.entry(broker).or_default();
        if silence.last().is_none_or(|(_, known)| known.is_some() != why.is_some()) {
            silence.push((time_us, why));
        }
    }
}

/// Whether an answer from before a change of the ISR is what it would be after it: a broker that has missed the changes in between shows no other.
fn is_so_already(before: &Shown, change: &Change) -> bool {
    let is_of_isr = matches!(change.kind, Kind::Shrunk | Kind::Other);
    is_of_isr && before.epoch == Some(change.after.epoch) && before.isr == change.after.isr
}

/// Whether an answer shows a change, or what came after it. Answers hold no partition epoch, so another ISR than the one before counts.
fn reflects(shown: &Shown, change: &Change) -> bool {
    if shown.sight.time_us < change.made.earliest_us() || shown.topic_id.is_some_and(|id| id != change.after.topic_id) {
        return false;
    }
    let Some(epoch) = shown.epoch else { return change.kind != Kind::Other && shown.leader == change.after.leader };
    match change.kind {
        Kind::Made | Kind::Led => epoch >= change.after.epoch,
        Kind::Shrunk | Kind::Other if epoch == change.after.epoch => change.before.is_some_and(|before| before.isr != shown.isr),
        Kind::Shrunk | Kind::Other => epoch > change.after.epoch,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::layers::log::ControllerLog;
    use crate::ids::TopicId;
    use crate::record::layer::ControllerChange;
    use crate::record::sample::Sample;
    use crate::record::sample::layers::Part as Partition;

    fn folded(stream: &Sample) -> (Caches, ControllerLog) {
        let (mut caches, mut log, mut index) = (Caches::default(), ControllerLog::default(), Index::default());
        for stamped in &stream.facts {
            caches.fold(stamped, &mut index);
            match &stamped.fact {
                Fact::ControllerImage(image) => log.image(stamped.time_us, image, &mut index),
                Fact::ControllerRecord(record) => log.record(stamped.time_us, record, &mut index),
                _ => {}
            }
        }
        (caches, log)
    }

    fn moved() -> Sample {
        let (old, new) = (Partition(0, 2, 4, &[1, 2, 3]), Partition(0, 3, 5, &[1, 3]));
        (1..=2)
            .fold(Sample::new(&[]).image(&[old], -1_000), |stream, node| stream.shows_partition(node, old, -900))
            .record(501, new.changed(), 9_000)
            .serves(3, new, Some(74), 9_005)
    }

    #[test]
    fn a_broker_shows_a_change_or_what_came_after_it() {
        let (new, later) = (Partition(0, 3, 5, &[1, 3]), Partition(0, 2, 7, &[1, 2, 3]));
        let (caches, log) = folded(&moved().shows_partition(1, new, 9_020).shows_partition(2, later, 30_000));
        let change = &log.changes()[0];
        let shows = |node: i32| caches.shows(BrokerId(node), change).map(|sight| sight.time_us / 1000);
        assert_eq!([1, 2, 3].map(shows), [Some(9_020), Some(30_000), None]);
        let epoch_at = |ms: i64| caches.at(BrokerId(1), 0, ms * 1000).and_then(|shown| shown.epoch).map(|epoch| epoch.0);
        assert_eq!([-950, 9_000, 9_020].map(epoch_at), [None, Some(4), Some(5)]);
    }

    #[test]
    fn a_smaller_isr_is_shown_by_the_isr() {
        let (old, new) = (Partition(0, 1, 4, &[1, 2, 3]), Partition(0, 1, 4, &[1, 3]));
        let stream = Sample::new(&[])
            .image(&[old], -1_000)
            .shows_partition(1, old, -900)
            .record(501, new.changed(), 9_000)
            .shows_partition(1, new, 9_015);
        let (caches, log) = folded(&stream);
        assert_eq!(caches.shows(BrokerId(1), &log.changes()[0]).map(|sight| sight.time_us), Some(9_015_000));
    }

    #[test]
    fn a_broker_that_missed_a_smaller_isr_shows_the_full_one_already() {
        let (full, small) = (Partition(0, 1, 4, &[1, 2, 3]), Partition(0, 1, 4, &[1, 3]));
        let stream = Sample::new(&[]).image(&[full], -1_000).shows_partition(2, full, -900).record(501, small.changed(), 9_000).record(
            502,
            full.changed(),
            20_000,
        );
        let (caches, log) = folded(&stream);
        let shows: Vec<_> = log.changes().iter().map(|change| caches.shows(BrokerId(2), change)).collect();
        assert_eq!(shows, [None, Some(Sight { not_before_us: None, time_us: 20_000_000 })]);
    }

    #[test]
    fn a_leader_serves_refuses_or_was_not_asked() {
        let new = Partition(0, 3, 5, &[1, 3]);
        let (caches, log) = folded(&moved());
        assert_eq!(caches.serving(&log.changes()[0]), Serving::Refused(74));
        let (caches, log) = folded(&moved().serves(3, new, None, 9_030));
        assert!(matches!(caches.serving(&log.changes()[0]), Serving::Since(sight) if sight.time_us == 9_030_000));
        assert_eq!(caches.served_by(0, BrokerId(3), LeaderEpoch(5), i64::MAX), Some(true));
        let (caches, log) = folded(&Sample::new(&[]).image(&[], -1_000).record(501, new.made(), 9_000));
        assert_eq!(caches.serving(&log.changes()[0]), Serving::NotAsked);
    }

    #[test]
    fn a_leader_of_a_topic_that_is_made_again_serves_the_new_one() {
        let part = Partition(0, 3, 0, &[1, 2, 3]);
        let again = |stream: Sample| {
            let ControllerChange::PartitionMade(mut state) = part.made() else { unreachable!("it is made") };
            state.topic_id = TopicId(uuid::Uuid::from_u128(8));
            stream.record(501, ControllerChange::PartitionMade(state), 9_000)
        };
        let before = || Sample::new(&[]).image(&[part], -1_000).shows_partition(3, part, -900).serves(3, part, None, -800);
        let (caches, log) = folded(&again(before()));
        assert_eq!(caches.serving(&log.changes()[0]), Serving::NotAsked);
        let (caches, log) = folded(&again(before()).serves(3, part, Some(3), 9_010).serves(3, part, None, 9_200));
        assert!(matches!(caches.serving(&log.changes()[0]), Serving::Since(sight) if sight.time_us == 9_200_000));
        assert_eq!(caches.refusal(&log.changes()[0]), Some(3));
    }

    #[test]
    fn a_broker_that_ceases_to_answer_is_silent_until_it_answers_again() {
        let silent = |stream: Sample| stream.shows(2, BrokerShows::Nothing { why: "timed out".to_owned() }, 9_100);
        let (caches, _) = folded(&silent(moved()));
        assert_eq!(caches.silent(BrokerId(2), i64::MAX), Some((9_100_000, "timed out")));
        let (caches, _) = folded(&silent(moved()).shows_partition(2, Partition(0, 3, 5, &[1, 3]), 9_900));
        assert_eq!((caches.silent(BrokerId(2), i64::MAX), caches.brokers(i64::MAX).count()), (None, 2));
    }
}
