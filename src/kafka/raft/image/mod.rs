//! The image: what the controller's log says in all, by replaying its records one after the other.
//!
//! The rules are those of Kafka's own image (`MetadataDelta` and `PartitionRegistration.merge`, 4.3.0). A record that does not fit, such as a
//! change of a partition that was never made, is refused and leaves the image as it was. Pure. Not here: which records are committed
//! (`ledger`), where they come from (`tail`).

mod change;
mod partition;
mod replay;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

pub use change::{Change, PartitionKey, PartitionStep};
pub use partition::Partition;
pub use replay::ReplayError;

use crate::ids::{BrokerId, PartitionIndex, TopicId, TopicName};

/// The cluster as the controller's log has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    topics: BTreeMap<TopicId, Topic>,
    /// The topic of each name. Invariant: it and `topics` hold the same topics.
    ids: BTreeMap<TopicName, TopicId>,
    brokers: BTreeMap<BrokerId, Broker>,
    features: BTreeMap<String, i16>,
    configs: BTreeMap<ConfigResource, BTreeMap<String, String>>,
    /// The image as it was before the transaction that is under way.
    before_transaction: Option<Box<Self>>,
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name.
    pub name: TopicName,
    /// Its partitions, by index.
    pub partitions: BTreeMap<PartitionIndex, Partition>,
}

/// A registered broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    /// Which.
    pub id: BrokerId,
    /// Rises with each registration.
    pub epoch: i64,
    /// Which life of its process.
    pub incarnation: uuid::Uuid,
    /// A fenced broker leads nothing and is not shown to clients.
    pub is_fenced: bool,
    /// It has asked to stop: its leaderships are being moved away.
    pub in_controlled_shutdown: bool,
    /// Its rack.
    pub rack: Option<String>,
}

/// What has properties.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigResource {
    /// Its kind.
    pub kind: ConfigKind,
    /// Its name; of brokers, the empty name stands for all.
    pub name: String,
}

/// Kinds of things that have properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConfigKind {
    /// A topic.
    Topic,
    /// A broker.
    Broker,
    /// A subscription to clients' metrics.
    ClientMetrics,
    /// A group of consumers.
    Group,
    /// Another, by Kafka's number.
    Other(i8),
}

impl ConfigKind {
    /// The kind with Kafka's number of it.
    #[must_use]
    pub fn from_wire(number: i8) -> Self {
        match number {
            2 => Self::Topic,
            4 => Self::Broker,
            16 => Self::ClientMetrics,
            32 => Self::Group,
            other => Self::Other(other),
        }
    }
}

impl fmt::Display for ConfigKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Topic => f.write_str("topic"),
            Self::Broker => f.write_str("broker"),
            Self::ClientMetrics => f.write_str("client-metrics"),
            Self::Group => f.write_str("group"),
            Self::Other(number) => write!(f, "resource-{number}"),
        }
    }
}

impl Image {
    /// All topics, by id.
    #[must_use]
    pub fn topics(&self) -> &BTreeMap<TopicId, Topic> {
        &self.topics
    }

    /// A topic with its id, by its name.
    #[must_use]
    pub fn topic(&self, name: &TopicName) -> Option<(TopicId, &Topic)> {
        let id = *self.ids.get(name)?;
        self.topics.get(&id).map(|topic| (id, topic))
    }

    /// Registered brokers, by id.
    #[must_use]
    pub fn brokers(&self) -> &BTreeMap<BrokerId, Broker> {
        &self.brokers
    }

    /// Levels of features, such as `metadata.version`.
    #[must_use]
    pub fn features(&self) -> &BTreeMap<String, i16> {
        &self.features
    }

    /// Properties that are set, by what they belong to.
    #[must_use]
    pub fn configs(&self) -> &BTreeMap<ConfigResource, BTreeMap<String, String>> {
        &self.configs
    }
}
