//! Keeps equal topics once, so that a view costs little more than what is different in it.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use super::sighting::View;
use crate::ids::TopicName;
use crate::kafka::admin::{ClusterView, TopicView};

/// Topics that several answers show alike, kept once; those of the round before, too.
#[derive(Debug, Default)]
pub(super) struct SharedTopics {
    before: HashMap<TopicName, Vec<Arc<TopicView>>>,
    now: HashMap<TopicName, Vec<Arc<TopicView>>>,
}

impl SharedTopics {
    /// The answer, with topics that are known already put in place of equal ones.
    pub(super) fn share(&mut self, view: ClusterView) -> View {
        let topics = view.topics.into_iter().map(|topic| self.one(topic)).collect();
        View { cluster_id: view.cluster_id, brokers: view.brokers, topics }
    }

    fn one(&mut self, topic: TopicView) -> Arc<TopicView> {
        let now = self.now.entry(topic.name.clone()).or_default();
        if let Some(known) = now.iter().find(|known| ***known == topic) {
            return Arc::clone(known);
        }
        let before = self.before.get(&topic.name).and_then(|known| known.iter().find(|known| ***known == topic));
        let shared = before.map_or_else(|| Arc::new(topic), Arc::clone);
        now.push(Arc::clone(&shared));
        shared
    }

    /// What is known from now on is what this round has shown.
    pub(super) fn end_round(&mut self) {
        self.before = mem::take(&mut self.now);
    }
}
