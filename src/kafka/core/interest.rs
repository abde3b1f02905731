//! The topics that a producer is interested in: what it asks for, and what it forgets.
//!
//! Java's counterpart: the topic map of `ProducerMetadata`. A topic is forgotten only while an answer is processed, never on a timer.

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::clock::Moment;
use crate::ids::TopicName;

/// Topics by name with the moment at which each may be forgotten.
#[derive(Debug)]
pub struct TopicInterest {
    expiry: FxHashMap<TopicName, Moment>,
    /// Never yet named in any answer.
    new: FxHashSet<TopicName>,
    idle_max: Duration,
    /// The topic that was used last, and when: written into `expiry` only before that is read, for it changes with every record.
    latest: Option<(TopicName, Moment)>,
}

impl TopicInterest {
    /// No topics; each will be kept for `idle_max` (`metadata.max.idle.ms`) after its last use.
    #[must_use]
    pub fn new(idle_max: Duration) -> Self {
        Self { expiry: FxHashMap::default(), new: FxHashSet::default(), idle_max, latest: None }
    }

    /// Notes a use. Returns whether the topic was not there before.
    pub fn add(&mut self, topic: &TopicName, now: Moment) -> bool {
        if let Some((latest, at)) = &mut self.latest
            && Arc::ptr_eq(&latest.0, &topic.0)
        {
            *at = now;
            return false;
        }
        self.settle();
        self.latest = Some((topic.clone(), now));
        if self.expiry.contains_key(topic) {
            return false;
        }
        self.expiry.insert(topic.clone(), now + self.idle_max);
        self.new.insert(topic.clone());
        true
    }

    /// Writes down when the latest topic was used.
    fn settle(&mut self) {
        let Some((topic, at)) = self.latest.take() else { return };
        if let Some(expiry) = self.expiry.get_mut(&topic) {
            *expiry = at + self.idle_max;
        }
    }

    /// The name as it is kept here: names that are equal then share their text, and comparing them costs next to nothing.
    #[must_use]
    pub fn interned(&self, topic: &TopicName) -> Option<TopicName> {
        self.expiry.get_key_value(topic).map(|(kept, _)| kept.clone())
    }

    /// Whether no answer has named the topic yet.
    #[must_use]
    pub fn is_new(&self, topic: &TopicName) -> bool {
        self.new.contains(topic)
    }

    /// Whether the topic is kept while an answer is processed; an idle one is forgotten here.
    pub fn retain(&mut self, topic: &TopicName, now: Moment) -> bool {
        self.settle();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_use_counts_for_the_expiry_also_of_topics_that_take_turns() {
        let idle_max = Duration::from_millis(5_000);
        let at = |ms| Moment(1_000_000_000) + Duration::from_millis(ms);
        let (one, other) = (TopicName::from("one"), TopicName::from("other"));
        let mut interest = TopicInterest::new(idle_max);
        assert!(interest.add(&one, at(0)));
        assert!(interest.add(&other, at(1)));
        for ms in 0..100 {
            assert!(!interest.add(&one, at(10 + ms)));
            assert!(!interest.add(&TopicName::from("other"), at(20 + ms)), "an equal name is the same topic");
        }
        interest.answered(&one);
        interest.answered(&other);
        assert!(interest.retain(&one, at(5_108)));
        assert!(!interest.retain(&one, at(5_109)), "last used at 109");
        assert!(interest.retain(&other, at(5_118)));
        assert!(!interest.add(&other, at(6_000)));
        assert!(interest.retain(&other, at(10_999)), "the use after the last look counts too");
        assert!(!interest.retain(&other, at(11_000)));
        assert!(interest.add(&other, at(11_001)), "a forgotten topic is new again");
    }
}
