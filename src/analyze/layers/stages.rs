//! A change on its way through all layers: every node, every broker, every group, each in its place.

use std::collections::BTreeMap;

use super::Layers;
use super::caches::Serving;
use super::clients::Learned;
use super::index::Who;
use super::log::{Change, Event, Kind, Noticed};
use super::order::{Observed, Placed, Sight, place};
use super::step::{Step, Wait};
use super::words;
use crate::ids::BrokerId;
use crate::kafka::wire::error::ErrorCode;
use crate::record::layer::Layer;

/// A stage, without its place.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) layer: Layer,
    pub(crate) node: Option<BrokerId>,
    pub(crate) group: Option<u32>,
    pub(crate) what: String,
    pub(crate) is_down: bool,
    /// Of a group: when each producer that got there did.
    pub(crate) times_us: Vec<i64>,
    /// Of a group: how many did not.
    pub(crate) never: u64,
    pub(crate) by_reason: BTreeMap<String, u64>,
    pub(crate) by_node: BTreeMap<i32, u64>,
}

/// All stages of one change.
#[derive(Debug, Default)]
pub(crate) struct Stages {
    /// `None` at positions that only hold the order together, such as the first producer that a broker told.
    pub(crate) stages: Vec<Option<Stage>>,
    pub(crate) placed: Vec<Placed>,
    graph: Vec<Observed>,
}

impl Stages {
    fn put(&mut self, stage: Option<Stage>, sight: Option<Sight>, after: &[usize]) -> usize {
        self.stages.push(stage);
        self.graph.push(Observed { sight, after: after.to_vec() });
        self.graph.len() - 1
    }

    /// Those that are shown, with their places.
    pub(crate) fn shown(&self) -> impl Iterator<Item = (&Stage, Placed)> {
        self.stages.iter().zip(&self.placed).filter_map(|(stage, placed)| Some((stage.as_ref()?, *placed)))
    }

    /// When the last of those that a stage depends on had followed, as far as that is known; `None`: one of them has not.
    pub(crate) fn ready_us(&self, at: usize) -> Option<i64> {
        let ends: Option<Vec<i64>> = self.graph[at].after.iter().map(|before| self.placed[*before].no_later_us).collect();
        ends?.into_iter().max()
    }

    /// How many producers never got there who should have, and when the last stage was seen. Of a topic that grew every producer should know; of a
    /// new leader those who send to it, and they show in the acknowledgements.
    pub(crate) fn completed(&self, kind: Kind) -> (u64, Option<i64>) {
        let should = |stage: &Stage| stage.layer == Layer::Delivery || (stage.layer == Layer::ClientCache && kind == Kind::Made);
        let never = self.shown().filter(|(stage, _)| should(stage)).map(|(stage, _)| stage.never).sum();
        let last = |least: Layer| self.shown().filter(|(stage, _)| stage.layer >= least).filter_map(|(_, placed)| placed.time_us).max();
        (never, last(Layer::ClientCache).or_else(|| last(Layer::Detected)))
    }
}

fn stage(layer: Layer, node: Option<BrokerId>, what: String) -> Stage {
    let (group, is_down, never) = (None, false, 0);
    let (times_us, by_reason, by_node) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    Stage { layer, node, group, what, is_down, times_us, never, by_reason, by_node }
}

/// The stages of a partition's change.
pub(crate) fn of_change(layers: &Layers, step: &Step<'_>, change: &Change) -> Stages {
    let mut stages = Stages::default();
    let cause = causes(&mut stages, layers, step, change.offset, change.made);
    let what = words::state(layers, change);
    let record = stages.put(Some(stage(Layer::Detected, None, what)), Some(change.made), cause.as_slice());
    let (committed, fetched) = log_stages(&mut stages, layers, change.offset, change.made, record);
    let caches = caches(&mut stages, layers, change, committed, &fetched);
    let leader_cache = change.after.leader.and_then(|leader| caches.get(&leader).copied());
    let mut servable = committed;
    if let (Some(leader), true) = (change.after.leader, matches!(change.kind, Kind::Made | Kind::Led)) {
        let (sight, what) = match layers.caches.serving(change) {
            Serving::Since(sight) => (Some(sight), "serves in its epoch".to_owned()),
            Serving::Refused(code) => (None, format!("refuses: {}", ErrorCode(code))),
            Serving::NotAsked => (None, "not asked".to_owned()),
        };
        let after: Vec<usize> = leader_cache.into_iter().chain([committed]).collect();
        servable = stages.put(Some(stage(Layer::Servable, Some(leader), what)), sight, &after);
    }
    let mut learned = BTreeMap::new();
    let mut clients = BTreeMap::new();
    if matches!(change.kind, Kind::Made | Kind::Led) {
        learned = layers.clients.learned(change, &layers.index);
        clients = client_stages(&mut stages, layers, step, change, &learned, &caches, committed);
    }
    let served_by = if change.kind == Kind::Shrunk { leader_cache.unwrap_or(committed) } else { servable };
    let acks = acks(layers, step, change, &learned);
    delivery(&mut stages, change, acks, served_by, &clients);
    stages.placed = place(&stages.graph);
    stages
}

/// The stages of a step whose records are not about partitions, up to the last of them: that in words, and its offset.
pub(crate) fn of_events(layers: &Layers, step: &Step<'_>) -> Option<(String, i64, Stages)> {
    let mut last = *step.events.last()?;
    let mut stages = Stages::default();
    let mut record = causes(&mut stages, layers, step, last.offset, last.made);
    if last.node.is_some() {
        // Of other nodes than the step's own no more is told than of these.
        last = step.causes(layers, last.offset, last.made).last().copied()?;
    }
    if last.node.is_none() {
        record = Some(stages.put(Some(stage(Layer::Detected, None, words::noticed(last))), Some(last.made), record.as_slice()));
    }
    let (committed, fetched) = log_stages(&mut stages, layers, last.offset, last.made, record?);
    if let Noticed::TopicRemoved { topic, topic_id } = &last.noticed
        && let Some(topic) = layers.index.topics.find(topic)
    {
        topic::removed(&mut stages, layers, step, topic, *topic_id, last.made, committed, &fetched);
    }
    stages.placed = place(&stages.graph);
    Some((words::noticed(last), last.offset, stages))
}

/// What the controller noticed, one after the other; a broker that has registered has to catch up before it is unfenced.
fn causes(stages: &mut Stages, layers: &Layers, step: &Step<'_>, offset: i64, made: Sight) -> Option<usize> {
    let mut last: Option<usize> = None;
    let causes = step.causes(layers, offset, made);
    for (at, event) in causes.iter().enumerate() {
        if let Some((node, sight)) = caught_up(layers, &causes[..at], event) {
            let what = "caught up to its registration".to_owned();
            last = Some(stages.put(Some(stage(Layer::Detected, Some(node), what)), Some(sight), last.as_slice()));
        }
        last = Some(stages.put(Some(stage(Layer::Detected, event.node, words::noticed(event))), Some(event.made), last.as_slice()));
    }
    last
}

/// Before a broker is unfenced: when it had fetched its own registration.
fn caught_up(layers: &Layers, before: &[&Event], event: &Event) -> Option<(BrokerId, Sight)> {
    let node = event.node.filter(|_| event.noticed == Noticed::Unfenced)?;
    let registered = before.iter().rfind(|before| before.node == Some(node) && matches!(before.noticed, Noticed::Registered { .. }))?;
    Some((node, layers.quorum.fetched(node, registered.offset, registered.made.earliest_us())?))
}

/// Committed, and fetched by each node.
fn log_stages(stages: &mut Stages, layers: &Layers, offset: i64, made: Sight, record: usize) -> (usize, BTreeMap<BrokerId, usize>) {
    let made_us = made.earliest_us();
    let what = || format!("offset {offset}");
    let committed = layers.quorum.committed(offset, made_us);
    let committed = stages.put(Some(stage(Layer::Committed, None, what())), committed, &[record]);
    let mut of_node = |node: BrokerId| {
        let is_down = layers.nodes.is_down(node, made_us);
        let stage = Stage { is_down, ..stage(Layer::Fetched, Some(node), what()) };
        (node, stages.put(Some(stage), layers.quorum.fetched(node, offset, made_us), &[record]))
    };
    (committed, layers.quorum.nodes(made_us).map(&mut of_node).collect())
}

/// Each broker's own answers.
fn caches(
    stages: &mut Stages,
    layers: &Layers,
    change: &Change,
    committed: usize,
    fetched: &BTreeMap<BrokerId, usize>,
) -> BTreeMap<BrokerId, usize> {
    let watched = |broker: &BrokerId| layers.caches.knows(*broker, change.part);
    let mut of_broker = |broker: BrokerId| {
        let after: Vec<usize> = fetched.get(&broker).copied().into_iter().chain([committed]).collect();
        let is_down = layers.nodes.is_down(broker, change.made.earliest_us());
        let stage = Stage { is_down, ..stage(Layer::BrokerCache, Some(broker), "its own answer".to_owned()) };
        (broker, stages.put(Some(stage), layers.shows(broker, change), &after))
    };
    layers.caches.brokers(change.made.earliest_us()).filter(watched).map(&mut of_broker).collect()
}

/// Each group's caches and routes; the positions of its first producer that knew, by group.
fn client_stages(
    stages: &mut Stages,
    layers: &Layers,
    step: &Step<'_>,
    change: &Change,
    learned: &BTreeMap<Who, Learned>,
    caches: &BTreeMap<BrokerId, usize>,
    committed: usize,
) -> BTreeMap<u32, Vec<usize>> {
    let topic = layers.index.of_part(change.part).map_or(u32::MAX, |(topic, _)| topic);
    let groups = by_group(layers, step, topic, change.made.earliest_us(), learned);
    let mut firsts: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (group, (learned, never)) in &groups {
        let first = first_told(stages, learned, caches, committed);
        let cache = cache_stage(layers, *group, learned, *never);
        let last = cache.times_us.iter().max().copied().map(Sight::exact);
        stages.put(Some(cache), last, &first);
        firsts.insert(*group, first);
    }
    for (group, (learned, _)) in &groups {
        let Some(leader) = change.after.leader else { continue };
        let routed = |(who, how): &(Who, Learned)| layers.clients.routed(change.part, *who, leader, how.time_us);
        let times_us: Vec<i64> = learned.iter().filter_map(routed).collect();
        if let Some(last) = times_us.iter().max().copied() {
            let route = Stage { group: Some(*group), times_us, ..stage(Layer::Route, Some(leader), "requests go there".to_owned()) };
            stages.put(Some(route), Some(Sight::exact(last)), &firsts[group]);
        }
    }
    firsts
}

/// A group's caches.
fn cache_stage(layers: &Layers, group: u32, learned: &[(Who, Learned)], never: u64) -> Stage {
    let mut cache = Stage { group: Some(group), never, ..stage(Layer::ClientCache, None, "its cache".to_owned()) };
    for (_, how) in learned {
        cache.times_us.push(how.time_us);
        *cache.by_reason.entry(words::reason(layers, how)).or_default() += 1;
        if let Some(node) = how.node {
            *cache.by_node.entry(node.0).or_default() += 1;
        }
    }
    cache
}

/// Clients by group: those that know, and how many do not although they knew the topic and are to send.
type ByGroup = BTreeMap<u32, (Vec<(Who, Learned)>, u64)>;

fn by_group(layers: &Layers, step: &Step<'_>, topic: u32, made_us: i64, learned: &BTreeMap<Who, Learned>) -> ByGroup {
    let mut groups = ByGroup::new();
    for (who, how) in learned {
        groups.entry(who.group).or_default().0.push((*who, *how));
    }
    for who in layers.clients.knowing(topic, step.began_us).iter().filter(|who| !learned.contains_key(who)) {
        if step.is_active(layers.index.group_name(who.group), made_us) {
            groups.entry(who.group).or_default().1 += 1;
        }
    }
    groups
}

/// Of each broker that told a group, the first producer that it told: it cannot have told before it knew.
fn first_told(stages: &mut Stages, learned: &[(Who, Learned)], caches: &BTreeMap<BrokerId, usize>, committed: usize) -> Vec<usize> {
    let mut first: BTreeMap<Option<BrokerId>, i64> = BTreeMap::new();
    for (_, how) in learned {
        // A hint comes from the broker's replicas, not from the cache that answers to Metadata.
        let by = how.node.filter(|_| !how.is_hint);
        let time_us = first.entry(by).or_insert(how.time_us);
        *time_us = (*time_us).min(how.time_us);
    }
    let after = |by: Option<BrokerId>| by.and_then(|by| caches.get(&by).copied()).unwrap_or(committed);
    first.into_iter().map(|(by, time_us)| stages.put(None, Some(Sight::exact(time_us)), &[after(by)])).collect()
}

/// The first acknowledgement of each producer after a change; `None`: it waited, and there was none. A producer that sent nothing before all was
/// ready for it waited for nothing: its first acknowledgement says nothing of the layers, unless the partition is new.
fn acks(layers: &Layers, step: &Step<'_>, change: &Change, learned: &BTreeMap<Who, Learned>) -> BTreeMap<Who, Option<i64>> {
    let mut acks: BTreeMap<Who, Option<i64>> = BTreeMap::new();
    let of_change = |wait: &&Wait| wait.until_us.is_none_or(|until_us| until_us >= change.made.earliest_us());
    for wait in step.waits_of.get(&change.part).into_iter().flatten().filter(of_change) {
        acks.entry(wait.who).or_insert(wait.until_us);
    }
    if !matches!(change.kind, Kind::Made | Kind::Led) {
        return acks;
    }
    let served_us = match layers.caches.serving(change) {
        Serving::Since(sight) => sight.time_us,
        Serving::Refused(_) | Serving::NotAsked => change.made.time_us,
    };
    for at in layers.clients.delivered(change.part, change.made.earliest_us()) {
        let how = layers.clients.client_of(at.who).and_then(|client| learned.get(&client));
        let ready_us = how.map_or(served_us, |how| how.time_us.max(served_us));
        let is_told = change.kind == Kind::Made || at.due_us <= ready_us;
        if is_told && (at.node.is_none() || at.node == change.after.leader) {
            acks.entry(at.who).or_insert(Some(at.time_us));
        }
    }
    acks
}

/// First acknowledgements, by group.
fn delivery(stages: &mut Stages, change: &Change, acks: BTreeMap<Who, Option<i64>>, served_by: usize, clients: &BTreeMap<u32, Vec<usize>>) {
    let mut groups: BTreeMap<u32, (Vec<i64>, u64)> = BTreeMap::new();
    for (who, ack) in acks {
        let (times_us, never) = groups.entry(who.group).or_default();
        match ack {
            Some(time_us) => times_us.push(time_us),
            None => *never += 1,
        }
    }
    for (group, (times_us, never)) in groups {
        // Where the leader is the same, the old epoch may have been acknowledged in.
        let is_same_leader = change.kind == Kind::Led && change.before.is_some_and(|before| before.leader == change.after.leader);
        let mut after: Vec<usize> = if is_same_leader { Vec::new() } else { vec![served_by] };
        // Only one broker told the group: then whoever was first acknowledged had been told by it.
        after.extend(clients.get(&group).filter(|firsts| firsts.len() == 1).into_iter().flatten());
        let first = times_us.iter().min().copied().map(Sight::exact);
        let first = stages.put(None, first, &after);
        let last = times_us.iter().max().copied().map(Sight::exact);
        let acks = Stage { group: Some(group), times_us, never, ..stage(Layer::Delivery, None, "first ack".to_owned()) };
        stages.put(Some(acks), last, &[first]);
    }
}

mod topic;
