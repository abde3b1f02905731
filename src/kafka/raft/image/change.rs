//! What a record has changed in an image: the state before and after.

use super::{Broker, ConfigResource, Partition};
use crate::ids::{BrokerId, PartitionIndex, TopicId, TopicName};

/// What a record has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// A broker has registered, for the first time or again.
    BrokerRegistered {
        /// Its registration before, if it had one.
        before: Option<Broker>,
        /// Its registration now.
        after: Broker,
    },
    /// A broker is fenced, unfenced, or about to stop.
    BrokerChanged {
        /// Before.
        before: Broker,
        /// Now.
        after: Broker,
    },
    /// A broker is no part of the cluster any more.
    BrokerUnregistered {
        /// As it was.
        before: Broker,
    },
    /// A topic was made; its partitions follow.
    TopicMade {
        /// Its name.
        topic: TopicName,
        /// Its id.
        topic_id: TopicId,
    },
    /// A topic was removed, with its partitions and its properties.
    TopicRemoved {
        /// Its name.
        topic: TopicName,
        /// Its id.
        topic_id: TopicId,
    },
    /// A partition was made (also: a topic grew).
    PartitionMade {
        /// Which.
        key: PartitionKey,
        /// As it is now.
        after: Partition,
    },
    /// A partition's leader, replicas or ISR have changed.
    PartitionChanged(PartitionStep),
    /// Eligible leader replicas were forgotten, of one topic or of all.
    ElrCleared {
        /// The partitions that had any.
        partitions: Vec<PartitionStep>,
    },
    /// A property was set or removed.
    Config {
        /// Of what.
        resource: ConfigResource,
        /// The property.
        key: String,
        /// Its value before, if it had one.
        before: Option<String>,
        /// Its value now; `None`: removed.
        after: Option<String>,
    },
    /// A feature has another level.
    FeatureLevel {
        /// Which.
        feature: String,
        /// Its level; 0: none.
        level: i16,
    },
    /// A controller has become the active one: the first record of its epoch.
    ControllerElected {
        /// Which.
        node: BrokerId,
    },
    /// What was changed since a transaction began is taken back.
    TransactionAborted,
    /// Nothing that an image holds.
    Nothing,
    /// The record cannot be read, or does not fit to those before it. What it says is not in the image.
    Refused {
        /// Why, in words.
        reason: String,
    },
}

/// A partition by its topic's name and id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionKey {
    /// Its topic.
    pub topic: TopicName,
    /// Its topic's id.
    pub topic_id: TopicId,
    /// Its index.
    pub partition: PartitionIndex,
}

/// A partition before and after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionStep {
    /// Which.
    pub key: PartitionKey,
    /// Before.
    pub before: Partition,
    /// Now.
    pub after: Partition,
}
