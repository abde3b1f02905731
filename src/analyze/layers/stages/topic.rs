//! A topic that is gone: when brokers and clients no longer know it.

use std::collections::BTreeMap;

use super::{Stages, by_group, cache_stage, first_told, stage};
use crate::analyze::layers::Layers;
use crate::analyze::layers::order::Sight;
use crate::analyze::layers::stages::Stage;
use crate::analyze::layers::step::Step;
use crate::ids::BrokerId;
use crate::record::layer::Layer;

/// Who forgot a topic, after the stages of its record.
#[allow(clippy::too_many_arguments, reason = "a topic, its record and the stages that it follows")]
pub(super) fn removed(
    stages: &mut Stages,
    layers: &Layers,
    step: &Step<'_>,
    topic: u32,
    topic_id: u32,
    made: Sight,
    committed: usize,
    fetched: &BTreeMap<BrokerId, usize>,
) {
    let made_us = made.earliest_us();
    let mut caches = BTreeMap::new();
    for broker in layers.caches.brokers(made_us) {
        let after: Vec<usize> = fetched.get(&broker).copied().into_iter().chain([committed]).collect();
        let is_down = layers.nodes.is_down(broker, made_us);
        let cache = Stage { is_down, ..stage(Layer::BrokerCache, Some(broker), "its own answer".to_owned()) };
        let at = stages.put(Some(cache), layers.caches.forgets(broker, topic, topic_id, made_us), &after);
        caches.insert(broker, at);
    }
    let forgot = layers.clients.forgot(topic, topic_id, made_us);
    for (group, (forgot, never)) in by_group(layers, step, topic, made_us, &forgot) {
        let first = first_told(stages, &forgot, &caches, committed);
        let cache = cache_stage(layers, group, &forgot, never);
        let last = cache.times_us.iter().max().copied().map(Sight::exact);
        stages.put(Some(cache), last, &first);
    }
}
