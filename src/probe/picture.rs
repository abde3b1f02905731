//! What is known of all layers at present, put together: who leads by whose word, and whether the layers agree. Pure.
//!
//! Not here: what is told as facts (those who ask tell it), and what a difference means (`analyze`).

use std::collections::{BTreeMap, BTreeSet};

use super::fetched::{Fetched, Passed};
use super::serving::{Lead, Serving};
use crate::clock::Moment;
use crate::ids::{BrokerId, LeaderEpoch, PartitionIndex, TopicName, TopicPartition};
use crate::kafka::admin::{ClusterView, PartitionView, QuorumView, TopicView};
use crate::record::layer::{BrokerState, ControllerChange, ControllerImage, ControllerRecord, PartitionState};

/// All layers.
#[derive(Debug, Default)]
pub(super) struct Picture {
    /// The controller's log as the tail has read it, committed or not; `None`: nobody has told.
    image: Option<Image>,
    /// Offsets of records that were told and are not known to be committed.
    uncommitted: BTreeSet<i64>,
    fetched: Fetched,
    /// Brokers that are asked, with what they show.
    brokers: BTreeMap<BrokerId, Broker>,
    /// Rises with everything that may make a difference.
    version: u64,
    /// What differed at that version.
    compared: Option<(u64, Option<String>)>,
}

#[derive(Debug, Default)]
struct Image {
    brokers: BTreeMap<BrokerId, BrokerState>,
    topics: BTreeMap<TopicName, BTreeMap<PartitionIndex, PartitionState>>,
}

#[derive(Debug, Default)]
struct Broker {
    /// What it shows; `None`: it does not answer.
    shown: Option<ClusterView>,
    /// Whether the controller has unfenced it since it last showed anything: clients will be sent to it.
    is_awaited: bool,
    serving: Serving,
    /// The version at which nothing was left to ask it.
    content_at: Option<u64>,
}

impl Picture {
    /// The controller's log as a whole; `is_committed`: all that is in it is.
    pub(super) fn load(&mut self, image: &ControllerImage, is_committed: bool) {
        let mut loaded =
            Image { brokers: image.brokers.iter().map(|broker| (broker.broker, broker.clone())).collect(), ..Image::default() };
        for partition in &image.partitions {
            loaded.put(partition);
        }
        self.image = Some(loaded);
        self.fetched.told(image.offset);
        if is_committed {
            self.uncommitted = self.uncommitted.split_off(&(image.offset + 1));
        }
        self.version += 1;
    }

    /// A record that the tail has read.
    pub(super) fn apply(&mut self, record: &ControllerRecord) {
        self.uncommitted.insert(record.offset);
        self.fetched.told(record.offset);
        self.version += 1;
        let Some(image) = &mut self.image else { return };
        match &record.change {
            ControllerChange::BrokerRegistered(after) | ControllerChange::BrokerChanged(after) => {
                let before = image.brokers.insert(after.broker, after.clone());
                if let Some(broker) = self.brokers.get_mut(&after.broker) {
                    let is_unfenced = before.is_some_and(|before| before.is_fenced);
                    broker.is_awaited = !after.is_fenced && broker.shown.is_none() && (is_unfenced || broker.is_awaited);
                }
            }
            ControllerChange::BrokerUnregistered { broker } => _ = image.brokers.remove(broker),
            ControllerChange::TopicRemoved { topic, .. } => _ = image.topics.remove(topic),
            ControllerChange::PartitionMade(partition) | ControllerChange::PartitionChanged(partition) => image.put(partition),
            ControllerChange::TopicMade { .. }
            | ControllerChange::Config { .. }
            | ControllerChange::FeatureLevel { .. }
            | ControllerChange::ControllerElected { .. }
            | ControllerChange::NotTakenIn { .. } => {}
        }
    }

    /// The controller's log is committed up to there. Whether that covers records that were told.
    pub(super) fn committed(&mut self, high_watermark: i64) -> bool {
        let rest = self.uncommitted.split_off(&high_watermark);
        let covered = std::mem::replace(&mut self.uncommitted, rest);
        self.version += u64::from(!covered.is_empty());
        !covered.is_empty()
    }

    /// The controller's log ends here again: what was told from this offset on is void. The image follows.
    pub(super) fn truncated(&mut self, end: i64) {
        drop(self.uncommitted.split_off(&end));
        self.fetched.truncated(end);
        self.version += 1;
    }

    /// The active controller has told how far nodes have fetched, asked at that moment. Those that have passed records that were told.
    pub(super) fn quorum_answered(&mut self, quorum: &QuorumView, asked_at: Moment) -> Vec<Passed> {
        // Ends rise all the time; that matters only as long as somebody lacks what was told.
        if !matches!(self.compared, Some((_, None))) {
            self.version += 1;
        }
        self.fetched.answered(quorum, asked_at)
    }

    /// What a broker showed last.
    pub(super) fn shown(&self, broker: BrokerId) -> Option<&ClusterView> {
        self.brokers.get(&broker)?.shown.as_ref()
    }

    /// Whether a broker is known not to answer.
    pub(super) fn is_silent(&self, broker: BrokerId) -> bool {
        self.brokers.get(&broker).is_some_and(|broker| broker.shown.is_none())
    }

    /// A broker shows something else than before; `None`: nothing, it does not answer.
    pub(super) fn show(&mut self, broker: BrokerId, view: Option<ClusterView>) {
        let broker = self.brokers.entry(broker).or_default();
        if view.is_none() {
            broker.serving.forget();
        }
        broker.shown = view;
        broker.is_awaited = false;
        self.version += 1;
    }

    /// Partitions that a broker is to lead and is not known to serve.
    pub(super) fn open_questions(&mut self, id: BrokerId) -> Vec<(TopicPartition, Lead)> {
        let version = self.version;
        let is_content = |broker: &Broker| broker.shown.is_none() || broker.content_at == Some(version);
        if self.brokers.get(&id).is_none_or(is_content) {
            return Vec::new();
        }
        let unserved = self.unserved(id);
        if let Some(broker) = self.brokers.get_mut(&id).filter(|_| unserved.is_empty()) {
            broker.content_at = Some(version);
        }
        unserved
    }

    /// The answers of a broker for partitions that it is to lead.
    pub(super) fn serving(&mut self, broker: BrokerId) -> &mut Serving {
        self.version += 1;
        &mut self.brokers.entry(broker).or_default().serving
    }

    /// The first difference between layers, in words; `None`: all that answer agree.
    pub(super) fn difference(&mut self) -> Option<&str> {
        if self.compared.as_ref().is_none_or(|(version, _)| *version != self.version) {
            self.compared = Some((self.version, self.compare()));
        }
        self.compared.as_ref()?.1.as_deref()
    }

    fn compare(&self) -> Option<String> {
        self.uncommitted().or_else(|| self.unfetched()).or_else(|| self.awaited()).or_else(|| self.otherwise_shown()).or_else(|| {
            let unserved = self.live().find_map(|(id, _)| Some((id, self.unserved(id).into_iter().next()?)));
            unserved.map(|(id, (partition, lead))| format!("broker {id} does not serve {partition} in epoch {} yet", lead.epoch.0))
        })
    }

    fn uncommitted(&self) -> Option<String> {
        let first = self.uncommitted.first()?;
        Some(format!("offset {first} of the controller's log is not committed"))
    }

    fn unfetched(&self) -> Option<String> {
        let (node, end) = self.fetched.behind()?;
        Some(format!("node {node} has fetched the controller's log up to offset {end}"))
    }

    fn awaited(&self) -> Option<String> {
        let (id, _) = self.brokers.iter().find(|(_, broker)| broker.is_awaited)?;
        Some(format!("broker {id} does not answer yet, though the controller has unfenced it"))
    }

    /// Brokers that answer and, by the controller's word, are not fenced.
    fn live(&self) -> impl Iterator<Item = (BrokerId, &ClusterView)> {
        let is_live = |id: &BrokerId| self.image.as_ref().is_none_or(|image| image.brokers.get(id).is_some_and(|broker| !broker.is_fenced));
        self.brokers.iter().filter(move |(id, _)| is_live(id)).filter_map(|(id, broker)| Some((*id, broker.shown.as_ref()?)))
    }

    /// Where a broker shows something else than the controller, or than another broker where the controller is not known.
    fn otherwise_shown(&self) -> Option<String> {
        match &self.image {
            Some(image) => self.live().find_map(|(id, view)| {
                image.difference_in(view).map(|what| format!("broker {id} shows {what} otherwise than the controller"))
            }),
            None => {
                let mut live = self.live();
                let (first, first_view) = live.next()?;
                let (other, _) = live.find(|(_, view)| *view != first_view)?;
                Some(format!("brokers {first} and {other} do not show the same"))
            }
        }
    }

    /// What a broker leads by the controller's word, and by its own where that is newer, and is not known to serve.
    fn unserved(&self, id: BrokerId) -> Vec<(TopicPartition, Lead)> {
        let Some(broker) = self.brokers.get(&id) else { return Vec::new() };
        let mut leads = BTreeMap::new();
        for partition in self.image.iter().flat_map(|image| image.topics.values()).flat_map(BTreeMap::values) {
            if partition.leader == Some(id) {
                leads.insert(
                    (&partition.topic, partition.partition),
                    Lead { topic_id: Some(partition.topic_id), epoch: partition.leader_epoch },
                );
            }
        }
        for topic in broker.shown.iter().flat_map(|view| &view.topics) {
            for (partition, epoch) in topic.partitions.iter().filter_map(|view| Some((view.partition, own_epoch(view, id)?))) {
                let lead = Lead { topic_id: topic.id, epoch };
                if self.image.as_ref().is_none_or(|image| image.is_older(topic, partition, lead)) {
                    leads.insert((&topic.name, partition), lead);
                }
            }
        }
        let named = leads.into_iter().map(|((topic, partition), lead)| (TopicPartition { topic: topic.clone(), partition }, lead));
        named.filter(|(partition, lead)| !broker.serving.serves(partition, *lead)).collect()
    }
}

/// The epoch in which a broker says that it leads itself.
fn own_epoch(view: &PartitionView, id: BrokerId) -> Option<LeaderEpoch> {
    view.leader_epoch.filter(|_| view.leader == Some(id))
}

impl Image {
    fn put(&mut self, partition: &PartitionState) {
        let topic = self.topics.entry(partition.topic.clone()).or_default();
        // A topic that is made anew has nothing of the one before.
        if topic.values().next().is_some_and(|known| known.topic_id != partition.topic_id) {
            topic.clear();
        }
        let mut partition = partition.clone();
        // As in answers that are compared with it.
        partition.isr.sort_unstable();
        topic.insert(partition.partition, partition);
    }

    /// Whether a broker knows a later leadership of a partition than this image does.
    fn is_older(&self, topic: &TopicView, partition: PartitionIndex, lead: Lead) -> bool {
        let known = self.topics.get(&topic.name).and_then(|partitions| partitions.get(&partition));
        known.is_some_and(|known| Some(known.topic_id) == topic.id && known.leader_epoch < lead.epoch)
    }

    /// The first thing that a broker shows otherwise, in words.
    fn difference_in(&self, view: &ClusterView) -> Option<String> {
        let unfenced = self.brokers.values().filter(|broker| !broker.is_fenced).map(|broker| broker.broker);
        if !unfenced.eq(view.brokers.iter().map(|broker| broker.id)) {
            return Some("the brokers".to_owned());
        }
        view.topics.iter().find_map(|topic| {
            let known = self.topics.get(&topic.name);
            if known.map_or(0, BTreeMap::len) != topic.partitions.len() {
                return Some(topic.name.to_string());
            }
            let differs = |view: &&PartitionView| {
                known.and_then(|known| known.get(&view.partition)).is_none_or(|known| !is_shown(known, topic, view))
            };
            topic.partitions.iter().find(differs).map(|view| format!("{}/{}", topic.name, view.partition))
        })
    }
}

/// Whether a broker shows a partition as the controller has it; the ISRs of both are in order.
fn is_shown(known: &PartitionState, topic: &TopicView, view: &PartitionView) -> bool {
    topic.id == Some(known.topic_id)
        && view.leader == known.leader
        && view.leader_epoch == Some(known.leader_epoch)
        && view.isr == known.isr
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::admin::{ErrorCode, ReplicaView};
    use crate::probe::sample::{self, TopicSample};
    use crate::probe::shown::comparable;

    const AT: Moment = Moment(1);
    const ONE: BrokerId = BrokerId(1);
    const TWO: BrokerId = BrokerId(2);
    /// Broker 1 leads `orders/0` in epoch 3, broker 2 `orders/1` in epoch 0.
    const ORDERS: TopicSample<'_> = ("orders", 7, &[(1, 3), (2, 0)]);

    fn image(brokers: &[i32], topics: &[TopicSample<'_>]) -> ControllerImage {
        ControllerImage { offset: 99, controller: None, brokers: sample::brokers(brokers), partitions: sample::partitions(topics) }
    }

    fn view(topics: &[TopicSample<'_>]) -> ClusterView {
        comparable(sample::view(&[1, 2], topics))
    }

    fn record(offset: i64, change: ControllerChange) -> ControllerRecord {
        ControllerRecord { offset, controller_epoch: LeaderEpoch(1), controller_time_us: 0, change }
    }

    /// `orders/0` with this leader and epoch, as a record has it.
    fn moved(offset: i64, leader: i32, epoch: i32) -> ControllerRecord {
        let partition = sample::partitions(&[("orders", 7, &[(leader, epoch)])]).remove(0);
        record(offset, ControllerChange::PartitionChanged(partition))
    }

    fn quorum(ends: &[(i32, i64)]) -> QuorumView {
        let voter = |(id, end): &(i32, i64)| ReplicaView {
            id: BrokerId(*id),
            log_end_offset: Some(*end),
            last_fetch_ms: Some(1),
            last_caught_up_ms: None,
        };
        let voters = ends.iter().map(voter).collect();
        QuorumView { leader: ONE, leader_epoch: LeaderEpoch(1), high_watermark: 1, voters, observers: Vec::new() }
    }

    /// Answers all that a broker is to be asked, with this.
    fn answer(picture: &mut Picture, broker: BrokerId, said: Result<i64, ErrorCode>) -> Vec<String> {
        let asked = picture.open_questions(broker);
        let answers = asked.iter().map(|(partition, _)| (partition.clone(), said)).collect();
        picture.serving(broker).answered(&asked, &answers, AT);
        asked.iter().map(|(partition, lead)| format!("{partition} in {}", lead.epoch.0)).collect()
    }

    /// All layers, in agreement.
    fn settled() -> Picture {
        let mut picture = Picture::default();
        picture.load(&image(&[1, 2], &[ORDERS]), true);
        picture.quorum_answered(&quorum(&[(1, 100), (2, 100)]), AT);
        for broker in [ONE, TWO] {
            picture.show(broker, Some(view(&[ORDERS])));
            answer(&mut picture, broker, Ok(40));
        }
        assert_eq!(picture.difference(), None);
        picture
    }

    #[test]
    fn a_change_is_followed_through_all_layers() {
        let mut picture = settled();
        picture.apply(&moved(120, 2, 4));
        assert_eq!(picture.difference(), Some("offset 120 of the controller's log is not committed"));
        assert!(!picture.committed(120), "it is the first that is not");
        assert!(picture.committed(121) && !picture.committed(125), "told once");
        assert_eq!(picture.difference(), Some("node 1 has fetched the controller's log up to offset 100"));
        picture.quorum_answered(&quorum(&[(1, 125), (2, 121)]), AT);
        assert_eq!(picture.difference(), Some("broker 1 shows orders/0 otherwise than the controller"));
        let moved = view(&[("orders", 7, &[(2, 4), (2, 0)])]);
        picture.show(ONE, Some(moved.clone()));
        assert_eq!(picture.difference(), Some("broker 2 shows orders/0 otherwise than the controller"));
        // The new leader is asked before it shows that it leads.
        assert_eq!(answer(&mut picture, TWO, Err(ErrorCode(75))), ["orders/0 in 4"]);
        picture.show(TWO, Some(moved));
        assert_eq!(picture.difference(), Some("broker 2 does not serve orders/0 in epoch 4 yet"));
        assert_eq!(answer(&mut picture, TWO, Ok(41)), ["orders/0 in 4"]);
        assert_eq!(picture.difference(), None);
        assert_eq!(answer(&mut picture, TWO, Ok(41)), [""; 0]);
        assert_eq!(answer(&mut picture, ONE, Ok(41)), [""; 0], "nobody asks the old leader");
    }

    #[test]
    fn who_is_fenced_or_silent_is_not_waited_for() {
        let mut picture = settled();
        picture.show(TWO, None);
        assert_eq!((picture.is_silent(TWO), picture.is_silent(ONE), picture.is_silent(BrokerId(3))), (true, false, false));
        assert_eq!(picture.difference(), None, "it may be down, and nobody knows yet");
        assert_eq!(answer(&mut picture, TWO, Ok(1)), [""; 0]);
        picture.apply(&record(120, ControllerChange::BrokerChanged(sample::brokers(&[-2]).remove(0))));
        picture.committed(121);
        picture.quorum_answered(&quorum(&[(1, 121), (2, 121)]), AT);
        assert_eq!(picture.difference(), Some("broker 1 shows the brokers otherwise than the controller"));
        picture.show(ONE, Some(comparable(sample::view(&[1], &[ORDERS]))));
        assert_eq!(picture.difference(), None);
        // Back, and fenced: what it shows is old, and no client is sent to it.
        picture.show(TWO, Some(view(&[("orders", 7, &[(1, 2), (2, 0)])])));
        assert_eq!(picture.difference(), None);
        assert_eq!(answer(&mut picture, TWO, Ok(40)), ["orders/1 in 0"], "what it said before it was silent does not hold");
    }

    #[test]
    fn who_is_unfenced_before_it_answers_is_waited_for() {
        let mut picture = settled();
        picture.show(TWO, None);
        for (offset, id, expected) in [
            (120, -2, None),
            (121, -2, None),
            (122, 2, Some("broker 2 does not answer yet, though the controller has unfenced it")),
            // About to stop: the controller still has it unfenced.
            (123, 2, Some("broker 2 does not answer yet, though the controller has unfenced it")),
            (124, -2, None),
            (125, 2, Some("broker 2 does not answer yet, though the controller has unfenced it")),
        ] {
            picture.apply(&record(offset, ControllerChange::BrokerChanged(sample::brokers(&[id]).remove(0))));
            picture.committed(offset + 1);
            picture.quorum_answered(&quorum(&[(1, offset + 1), (2, offset + 1)]), AT);
            let listed: &[i32] = if id > 0 { &[1, 2] } else { &[1] };
            picture.show(ONE, Some(comparable(sample::view(listed, &[ORDERS]))));
            assert_eq!(picture.difference(), expected, "{offset}");
        }
        picture.show(TWO, Some(view(&[ORDERS])));
        answer(&mut picture, TWO, Ok(40));
        assert_eq!(picture.difference(), None);
    }

    #[test]
    fn topics_that_come_and_go_are_compared_whole() {
        let mut picture = settled();
        let removed = ControllerChange::TopicRemoved { topic: "orders".into(), topic_id: sample::topic_id(7) };
        let made = sample::partitions(&[("orders", 8, &[(1, 0)])]).remove(0);
        for (offset, change) in [(120, removed), (121, ControllerChange::PartitionMade(made))] {
            picture.apply(&record(offset, change));
        }
        picture.committed(122);
        picture.quorum_answered(&quorum(&[(1, 122), (2, 122)]), AT);
        let unknown: TopicSample<'_> = ("orders", 0, &[]);
        let anew: TopicSample<'_> = ("orders", 8, &[(1, 0)]);
        picture.show(TWO, Some(view(&[anew])));
        for (shown, expected) in [
            (ORDERS, Some("broker 1 shows orders otherwise than the controller")),
            (unknown, Some("broker 1 shows orders otherwise than the controller")),
            (("orders", 7, &[(1, 0)]), Some("broker 1 shows orders/0 otherwise than the controller")),
            (anew, Some("broker 1 does not serve orders/0 in epoch 0 yet")),
        ] {
            picture.show(ONE, Some(view(&[shown])));
            assert_eq!(picture.difference(), expected, "{shown:?}");
        }
        answer(&mut picture, ONE, Ok(0));
        assert_eq!(picture.difference(), None);
    }

    #[test]
    fn what_is_cut_off_the_log_is_not_waited_for() {
        let mut picture = settled();
        picture.apply(&moved(120, 2, 4));
        picture.truncated(120);
        picture.load(&ControllerImage { offset: 119, ..image(&[1, 2], &[ORDERS]) }, false);
        picture.quorum_answered(&quorum(&[(1, 120), (2, 120)]), AT);
        assert_eq!(picture.difference(), None);
    }

    #[test]
    fn without_a_controller_brokers_are_compared_with_each_other() {
        let mut picture = Picture::default();
        assert_eq!(picture.difference(), None);
        picture.show(ONE, Some(view(&[ORDERS])));
        picture.show(TWO, Some(view(&[("orders", 7, &[(1, 2), (2, 0)])])));
        assert_eq!(picture.difference(), Some("brokers 1 and 2 do not show the same"));
        picture.show(TWO, Some(view(&[ORDERS])));
        assert_eq!(picture.difference(), Some("broker 1 does not serve orders/0 in epoch 3 yet"));
        assert_eq!(answer(&mut picture, ONE, Ok(1)), ["orders/0 in 3"], "by its own word");
        assert_eq!(answer(&mut picture, TWO, Ok(1)), ["orders/1 in 0"]);
        assert_eq!(picture.difference(), None);
    }

    #[test]
    fn a_broker_that_knows_a_later_epoch_than_the_tail_is_asked_with_it() {
        let mut picture = settled();
        picture.show(ONE, Some(view(&[("orders", 7, &[(1, 5), (2, 0)])])));
        assert_eq!(answer(&mut picture, ONE, Ok(1)), ["orders/0 in 5"]);
    }
}
