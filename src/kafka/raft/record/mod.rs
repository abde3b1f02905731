//! Records of the controller's log (`__cluster_metadata`), decoded by hand from Kafka's definitions of them (4.3.0).
//!
//! A record's value is a frame version, the kind, the kind's version (three varints), and the body. Kinds that an image needs are decoded
//! in all their versions; another is passed over by its length. A version that is newer than what is known is refused, for its plain fields
//! cannot be told apart. Not here: batches (`wire::log`), what a record changes (`image`).

mod broker;
mod control;
mod fields;
#[cfg(test)]
mod tests;
mod topic;

use uuid::Uuid;

pub use broker::{BrokerChange, BrokerRegistration, ControllerRegistration, Endpoint, FeatureRange};
pub use control::ControlRecord;
pub use topic::{PartitionChangeRecord, PartitionRecord};

use self::fields::Fields;
use crate::ids::{BrokerId, TopicId, TopicName};

/// The only frame version there is; 0 was that of a preview.
const FRAME_VERSION: u32 = 1;

/// Why a record cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// More bytes are announced than there are.
    #[error("{needed} bytes are announced, and {left} are left")]
    Short {
        /// Announced.
        needed: usize,
        /// Left.
        left: usize,
    },
    /// A varint that does not end, or is too large for what it counts.
    #[error("a number is too large")]
    Number,
    /// A string that is not UTF-8.
    #[error("a string is not UTF-8")]
    Text,
    /// Null where there must be a value.
    #[error("a field that must not be null is null")]
    Null,
    /// Bytes behind the last field.
    #[error("{bytes} bytes are left over")]
    Surplus {
        /// How many.
        bytes: usize,
    },
    /// Another frame than that of all Kafka releases.
    #[error("its frame has version {version}, only {FRAME_VERSION} is known")]
    Frame {
        /// The frame's version.
        version: u32,
    },
    /// A kind that is known, in a version that is not.
    #[error("version {version} of kind {api_key} is not known; the newest that is known is {newest}")]
    Version {
        /// The kind.
        api_key: i16,
        /// Its version.
        version: i16,
        /// What is known.
        newest: i16,
    },
}

/// What a record of the controller's log says, as it stands there: without what it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetadataRecord {
    /// A broker has registered (kind 0).
    RegisterBroker(BrokerRegistration),
    /// A broker is removed from the cluster (1).
    UnregisterBroker {
        /// Which.
        broker: BrokerId,
        /// Its registration's epoch.
        broker_epoch: i64,
    },
    /// A topic is made (2).
    Topic {
        /// Its name.
        name: TopicName,
        /// Its id.
        id: TopicId,
    },
    /// A partition is made (3).
    Partition(PartitionRecord),
    /// A property is set or removed (4).
    Config {
        /// Of which kind of thing, as Kafka numbers them.
        resource_type: i8,
        /// Which thing.
        resource_name: String,
        /// The property.
        name: String,
        /// Its value; `None`: removed.
        value: Option<String>,
    },
    /// A partition changes (5).
    PartitionChange(PartitionChangeRecord),
    /// A broker is fenced (7); no release since 3.3 writes it.
    FenceBroker {
        /// Which.
        broker: BrokerId,
        /// Its registration's epoch.
        broker_epoch: i64,
    },
    /// A broker is unfenced (8); no release since 3.3 writes it.
    UnfenceBroker {
        /// Which.
        broker: BrokerId,
        /// Its registration's epoch.
        broker_epoch: i64,
    },
    /// A topic is removed, with its partitions (9).
    RemoveTopic {
        /// Which.
        id: TopicId,
    },
    /// A feature's level is set (12).
    FeatureLevel {
        /// Which.
        name: String,
        /// Its level; 0: none.
        level: i16,
    },
    /// A broker's registration changes (17).
    BrokerRegistrationChange(BrokerChange),
    /// Says that the active controller lives (20).
    NoOp,
    /// What follows is to be taken as a whole or not at all (23).
    BeginTransaction {
        /// What for, if it says so.
        name: Option<String>,
    },
    /// What was begun holds (24).
    EndTransaction,
    /// What was begun does not hold (25).
    AbortTransaction {
        /// Why, if it says so.
        reason: Option<String>,
    },
    /// A controller has registered (27).
    RegisterController(ControllerRegistration),
    /// Eligible leader replicas are forgotten (28).
    ClearElr {
        /// Of which topic; empty: of all.
        topic: String,
    },
    /// Of another kind.
    Other {
        /// Which kind.
        api_key: i16,
    },
}

impl MetadataRecord {
    /// Decodes a record's value.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn decode(value: &[u8]) -> Result<Self, RecordError> {
        let mut fields = Fields::new(value);
        let frame = fields.varint()?;
        if frame != FRAME_VERSION {
            return Err(RecordError::Frame { version: frame });
        }
        let [api_key, version] = [fields.varint()?, fields.varint()?].map(|number| i16::try_from(number).map_err(|_| RecordError::Number));
        let (api_key, version) = (api_key?, version?);
        let Some(newest) = newest_version(api_key) else { return Ok(Self::Other { api_key }) };
        if version > newest {
            return Err(RecordError::Version { api_key, version, newest });
        }
        let record = Self::body(api_key, version, &mut fields)?;
        match fields.left() {
            0 => Ok(record),
            bytes => Err(RecordError::Surplus { bytes }),
        }
    }

    fn body(api_key: i16, version: i16, fields: &mut Fields<'_>) -> Result<Self, RecordError> {
        let record = match api_key {
            0 => return BrokerRegistration::read(version, fields).map(Self::RegisterBroker),
            3 => return PartitionRecord::read(version, fields).map(Self::Partition),
            5 => return PartitionChangeRecord::read(version, fields).map(Self::PartitionChange),
            17 => return BrokerChange::read(version, fields).map(Self::BrokerRegistrationChange),
            23 => return tagged_text(fields).map(|name| Self::BeginTransaction { name }),
            25 => return tagged_text(fields).map(|reason| Self::AbortTransaction { reason }),
            27 => return ControllerRegistration::read(fields).map(Self::RegisterController),
            1 => Self::UnregisterBroker { broker: fields.broker()?, broker_epoch: fields.i64()? },
            2 => Self::Topic { name: TopicName::from(&*fields.text()?), id: topic_id(fields)? },
            4 => Self::Config {
                resource_type: fields.i8()?,
                resource_name: fields.text()?,
                name: fields.text()?,
                value: fields.text_or_null()?,
            },
            7 => Self::FenceBroker { broker: fields.broker()?, broker_epoch: fields.i64()? },
            8 => Self::UnfenceBroker { broker: fields.broker()?, broker_epoch: fields.i64()? },
            9 => Self::RemoveTopic { id: topic_id(fields)? },
            12 => Self::FeatureLevel { name: fields.text()?, level: fields.i16()? },
            20 => Self::NoOp,
            24 => Self::EndTransaction,
            28 => Self::ClearElr { topic: fields.text()? },
            other => return Ok(Self::Other { api_key: other }),
        };
        fields.no_tagged()?;
        Ok(record)
    }
}

/// The newest version of a kind that is decoded; `None`: the kind is passed over.
fn newest_version(api_key: i16) -> Option<i16> {
    match api_key {
        0 => Some(4),
        17 => Some(3),
        3 | 5 => Some(2),
        1 | 2 | 4 | 7 | 8 | 9 | 12 | 20 | 23 | 24 | 25 | 27 | 28 => Some(0),
        _ => None,
    }
}

fn topic_id(fields: &mut Fields<'_>) -> Result<TopicId, RecordError> {
    fields.uuid().map(TopicId)
}

/// The only field of a record that has one tagged string.
fn tagged_text(fields: &mut Fields<'_>) -> Result<Option<String>, RecordError> {
    let mut text = None;
    fields.tagged(|tag, field| match tag {
        0 => field.text_or_null().map(|read| text = read).map(|()| true),
        _ => Ok(false),
    })?;
    Ok(text)
}

/// A log directory's id.
type DirectoryId = Uuid;
