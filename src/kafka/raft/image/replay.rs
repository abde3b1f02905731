//! Replay: one record at a time into the image.

use super::{Broker, Change, ConfigKind, ConfigResource, Image, Partition, PartitionKey, PartitionStep, Topic};
use crate::ids::{BrokerId, PartitionIndex, TopicId, TopicName};
use crate::kafka::raft::record::{BrokerChange, BrokerRegistration, MetadataRecord, PartitionChangeRecord, PartitionRecord};

/// Why a record does not fit into an image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// It is about a topic that the image does not hold.
    #[error("there is no topic {topic}")]
    NoTopic {
        /// Its id or its name.
        topic: String,
    },
    /// It is about a partition that the image does not hold.
    #[error("the topic {topic} has no partition {partition}")]
    NoPartition {
        /// The topic.
        topic: TopicName,
        /// The partition.
        partition: PartitionIndex,
    },
    /// It is about a broker that the image does not hold.
    #[error("broker {broker} is not registered")]
    NoBroker {
        /// Which.
        broker: BrokerId,
    },
    /// It is about another registration of a broker.
    #[error("broker {broker} is registered in epoch {registered}, and the record is about epoch {told}")]
    BrokerEpoch {
        /// Which.
        broker: BrokerId,
        /// Its epoch in the image.
        registered: i64,
        /// Its epoch in the record.
        told: i64,
    },
    /// A field holds a value that means nothing.
    #[error("its {field} is {value}, which means nothing")]
    Value {
        /// Which field.
        field: &'static str,
        /// What it holds.
        value: i8,
    },
    /// A transaction ends that has not begun, or begins within another.
    #[error("it does not fit to the transaction before it")]
    Transaction,
}

/// A feature that the quorum keeps to itself, whatever the log says of it.
const KRAFT_VERSION: &str = "kraft.version";

impl Image {
    /// Takes in a record. What it has changed.
    ///
    /// # Errors
    /// The record does not fit; the image is as it was.
    pub fn replay(&mut self, record: &MetadataRecord) -> Result<Change, ReplayError> {
        match record {
            MetadataRecord::RegisterBroker(record) => Ok(self.register(record)),
            MetadataRecord::UnregisterBroker { broker, .. } => self.unregister(*broker),
            MetadataRecord::BrokerRegistrationChange(record) => self.change_broker(record),
            MetadataRecord::FenceBroker { broker, broker_epoch } => self.fence(*broker, *broker_epoch, 1),
            MetadataRecord::UnfenceBroker { broker, broker_epoch } => self.fence(*broker, *broker_epoch, -1),
            MetadataRecord::Topic { name, id } => Ok(self.make_topic(name, *id)),
            MetadataRecord::RemoveTopic { id } => self.remove_topic(*id),
            MetadataRecord::Partition(record) => self.make_partition(record),
            MetadataRecord::PartitionChange(record) => self.change_partition(record),
            MetadataRecord::ClearElr { topic } => self.clear_elr(topic),
            MetadataRecord::Config { resource_type, resource_name, name, value } => {
                let resource = ConfigResource { kind: ConfigKind::from_wire(*resource_type), name: resource_name.clone() };
                Ok(self.configure(resource, name, value.as_deref()))
            }
            MetadataRecord::FeatureLevel { name, level } => Ok(self.set_feature(name, *level)),
            MetadataRecord::BeginTransaction { .. } => self.begin_transaction(),
            MetadataRecord::EndTransaction => self.before_transaction.take().map(|_| Change::Nothing).ok_or(ReplayError::Transaction),
            MetadataRecord::AbortTransaction { .. } => self.abort_transaction(),
            MetadataRecord::NoOp | MetadataRecord::RegisterController(_) | MetadataRecord::Other { .. } => Ok(Change::Nothing),
        }
    }

    fn register(&mut self, record: &BrokerRegistration) -> Change {
        let after = Broker {
            id: record.broker,
            epoch: record.broker_epoch,
            incarnation: record.incarnation,
            is_fenced: record.is_fenced,
            in_controlled_shutdown: record.in_controlled_shutdown,
            rack: record.rack.clone(),
        };
        Change::BrokerRegistered { before: self.brokers.insert(after.id, after.clone()), after }
    }

    /// Whatever the epoch is, as in Kafka.
    fn unregister(&mut self, broker: BrokerId) -> Result<Change, ReplayError> {
        let before = self.brokers.remove(&broker).ok_or(ReplayError::NoBroker { broker })?;
        Ok(Change::BrokerUnregistered { before })
    }

    fn fence(&mut self, broker: BrokerId, broker_epoch: i64, fenced: i8) -> Result<Change, ReplayError> {
        self.change_broker(&BrokerChange { fenced, ..BrokerChange::of(broker, broker_epoch) })
    }

    fn change_broker(&mut self, record: &BrokerChange) -> Result<Change, ReplayError> {
        let broker = record.broker;
        let registered = self.brokers.get_mut(&broker).ok_or(ReplayError::NoBroker { broker })?;
        if registered.epoch != record.broker_epoch {
            return Err(ReplayError::BrokerEpoch { broker, registered: registered.epoch, told: record.broker_epoch });
        }
        let is_fenced = match record.fenced {
            1 => true,
            -1 => false,
            0 => registered.is_fenced,
            value => return Err(ReplayError::Value { field: "fenced", value }),
        };
        let in_controlled_shutdown = match record.in_controlled_shutdown {
            1 => true,
            0 => registered.in_controlled_shutdown,
            value => return Err(ReplayError::Value { field: "in controlled shutdown", value }),
        };
        let after = Broker { is_fenced, in_controlled_shutdown, ..registered.clone() };
        let before = std::mem::replace(registered, after.clone());
        Ok(Change::BrokerChanged { before, after })
    }

    /// A topic of the same name is replaced, as in Kafka, where its removal comes first.
    fn make_topic(&mut self, name: &TopicName, id: TopicId) -> Change {
        if let Some(replaced) = self.ids.insert(name.clone(), id) {
            self.topics.remove(&replaced);
        }
        let topic = Topic { name: name.clone(), partitions: std::collections::BTreeMap::new() };
        if let Some(renamed) = self.topics.insert(id, topic).filter(|old| old.name != *name) {
            self.ids.remove(&renamed.name);
        }
        Change::TopicMade { topic: name.clone(), topic_id: id }
    }

    fn remove_topic(&mut self, id: TopicId) -> Result<Change, ReplayError> {
        let topic = self.topics.remove(&id).ok_or_else(|| ReplayError::NoTopic { topic: id.0.to_string() })?;
        self.ids.remove(&topic.name);
        self.configs.remove(&ConfigResource { kind: ConfigKind::Topic, name: topic.name.as_str().to_owned() });
        Ok(Change::TopicRemoved { topic: topic.name, topic_id: id })
    }

    fn make_partition(&mut self, record: &PartitionRecord) -> Result<Change, ReplayError> {
        let made = Partition::made(record)?;
        let topic = self.topic_mut(record.topic)?;
        topic.partitions.insert(record.partition, made.clone());
        let key = PartitionKey { topic: topic.name.clone(), topic_id: record.topic, partition: record.partition };
        Ok(Change::PartitionMade { key, after: made })
    }

    fn change_partition(&mut self, record: &PartitionChangeRecord) -> Result<Change, ReplayError> {
        step(self.topic_mut(record.topic)?, record).map(Change::PartitionChanged)
    }

    fn clear_elr(&mut self, topic: &str) -> Result<Change, ReplayError> {
        let cleared: Vec<TopicId> = match topic {
            "" => self.topics.keys().copied().collect(),
            name => vec![*self.ids.get(&TopicName::from(name)).ok_or_else(|| ReplayError::NoTopic { topic: name.to_owned() })?],
        };
        let mut partitions = Vec::new();
        for id in cleared {
            let topic = self.topic_mut(id)?;
            let with_elr =
                topic.partitions.iter().filter(|(_, partition)| !partition.elr.is_empty() || !partition.last_known_elr.is_empty());
            let with_elr: Vec<PartitionIndex> = with_elr.map(|(index, _)| *index).collect();
            for index in with_elr {
                let none = Some(Vec::new());
                let record = PartitionChangeRecord { elr: none.clone(), last_known_elr: none, ..PartitionChangeRecord::of(id, index) };
                partitions.push(step(topic, &record)?);
            }
        }
        Ok(Change::ElrCleared { partitions })
    }

    fn configure(&mut self, resource: ConfigResource, key: &str, value: Option<&str>) -> Change {
        let properties = self.configs.entry(resource.clone()).or_default();
        let before = match value {
            Some(value) => properties.insert(key.to_owned(), value.to_owned()),
            None => properties.remove(key),
        };
        if properties.is_empty() {
            self.configs.remove(&resource);
        }
        Change::Config { resource, key: key.to_owned(), before, after: value.map(ToOwned::to_owned) }
    }

    fn set_feature(&mut self, name: &str, level: i16) -> Change {
        match level {
            _ if name == KRAFT_VERSION => return Change::Nothing,
            0 => self.features.remove(name),
            level => self.features.insert(name.to_owned(), level),
        };
        Change::FeatureLevel { feature: name.to_owned(), level }
    }

    fn begin_transaction(&mut self) -> Result<Change, ReplayError> {
        if self.before_transaction.is_some() {
            return Err(ReplayError::Transaction);
        }
        self.before_transaction = Some(Box::new(self.clone()));
        Ok(Change::Nothing)
    }

    fn abort_transaction(&mut self) -> Result<Change, ReplayError> {
        *self = *self.before_transaction.take().ok_or(ReplayError::Transaction)?;
        Ok(Change::TransactionAborted)
    }

    fn topic_mut(&mut self, id: TopicId) -> Result<&mut Topic, ReplayError> {
        self.topics.get_mut(&id).ok_or_else(|| ReplayError::NoTopic { topic: id.0.to_string() })
    }
}

/// Changes a partition of a topic.
fn step(topic: &mut Topic, record: &PartitionChangeRecord) -> Result<PartitionStep, ReplayError> {
    let PartitionChangeRecord { partition, topic: topic_id, .. } = *record;
    let no_partition = || ReplayError::NoPartition { topic: topic.name.clone(), partition };
    let before = topic.partitions.get(&partition).ok_or_else(no_partition)?.clone();
    let after = before.merged(record)?;
    topic.partitions.insert(partition, after.clone());
    Ok(PartitionStep { key: PartitionKey { topic: topic.name.clone(), topic_id, partition }, before, after })
}
