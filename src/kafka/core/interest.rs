//! The topics that a producer is interested in: what it asks for, and what it forgets.
//!
//! Java's counterpart: the topic map of `ProducerMetadata`. A topic is forgotten only while an answer is processed, never on a timer.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::clock::Moment;
use crate::ids::TopicName;

/// Topics by name with the moment at which each may be forgotten.
#[derive(Debug)]
pub struct TopicInterest {
    expiry: HashMap<TopicName, Moment>,
    /// Never yet named in any answer.
    new: HashSet<TopicName>,
    idle_max: Duration,
}

impl TopicInterest {
    /// No topics; each will be kept for `idle_max` (`metadata.max.idle.ms`) after its last use.
    #[must_use]
    pub fn new(idle_max: Duration) -> Self {
        Self { expiry: HashMap::new(), new: HashSet::new(), idle_max }
    }

    /// Notes a use. Returns whether the topic was not there before.
    pub fn add(&mut self, topic: &TopicName, now: Moment) -> bool {
        let expiry = now + self.idle_max;
        if let Some(known) = self.expiry.get_mut(topic) {
            *known = expiry;
            return false;
        }
        self.expiry.insert(topic.clone(), expiry);
        self.new.insert(topic.clone());
        true
    }

    /// Whether no answer has named the topic yet.
    #[must_use]
    pub fn is_new(&self, topic: &TopicName) -> bool {
        self.new.contains(topic)
    }

    /// Whether the topic is kept while an answer is processed; an idle one is forgotten here.
    pub fn retain(&mut self, topic: &TopicName, now: Moment) -> bool {
        let Some(expiry) = self.expiry.get(topic) else { return false };
        if self.new.contains(topic) || *expiry > now {
            return true;
        }
        self.expiry.remove(topic);
        false
    }

    /// Notes that an answer named the topic, with whatever error.
    pub fn answered(&mut self, topic: &TopicName) {
        self.new.remove(topic);
    }

    /// All topics, in no particular order.
    #[must_use]
    pub fn all(&self) -> Vec<TopicName> {
        self.expiry.keys().cloned().collect()
    }

    /// Those that no answer has named yet.
    #[must_use]
    pub fn unanswered(&self) -> Vec<TopicName> {
        self.new.iter().cloned().collect()
    }
}
