//! Records of nodes: brokers as they register and change, controllers as they register.

use super::fields::Fields;
use super::{DirectoryId, RecordError};
use crate::ids::BrokerId;

/// A broker's registration (kind 0, versions 0 to 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerRegistration {
    /// Which broker.
    pub broker: BrokerId,
    /// It is a ZooKeeper broker on its way (version 2 and later).
    pub is_migrating: bool,
    /// Which life of its process.
    pub incarnation: uuid::Uuid,
    /// Its epoch: the offset that the record was meant for.
    pub broker_epoch: i64,
    /// Where it listens.
    pub endpoints: Vec<Endpoint>,
    /// What it supports.
    pub features: Vec<FeatureRange>,
    /// Its rack.
    pub rack: Option<String>,
    /// Whether it is fenced.
    pub is_fenced: bool,
    /// Whether it is about to stop (version 1 and later).
    pub in_controlled_shutdown: bool,
    /// Its log directories (version 3 and later).
    pub directories: Vec<DirectoryId>,
    /// Those that get no new partitions (version 4 and later); `None`: it has not said so yet.
    pub cordoned: Option<Vec<DirectoryId>>,
}

/// A listener in a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The listener's name.
    pub name: String,
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Its security protocol, as Kafka numbers them.
    pub security_protocol: i16,
}

/// A feature in a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureRange {
    /// The feature.
    pub name: String,
    /// Lowest level that is supported.
    pub min: i16,
    /// Highest.
    pub max: i16,
}

/// Least bytes of an endpoint: two empty strings, port, protocol, tags.
const ENDPOINT_BYTES_MIN: usize = 7;
/// Least bytes of a feature: an empty string, two levels, tags.
const FEATURE_BYTES_MIN: usize = 6;

impl BrokerRegistration {
    pub(super) fn read(version: i16, fields: &mut Fields<'_>) -> Result<Self, RecordError> {
        let broker = fields.broker()?;
        let is_migrating = version >= 2 && fields.bool()?;
        let mut record = Self {
            broker,
            is_migrating,
            incarnation: fields.uuid()?,
            broker_epoch: fields.i64()?,
            endpoints: fields.array(ENDPOINT_BYTES_MIN, endpoint)?,
            features: fields.array(FEATURE_BYTES_MIN, feature)?,
            rack: fields.text_or_null()?,
            is_fenced: fields.bool()?,
            in_controlled_shutdown: version >= 1 && fields.bool()?,
            directories: Vec::new(),
            cordoned: None,
        };
        fields.tagged(|tag, field| {
            match tag {
                0 if version >= 3 => record.directories = field.uuids()?,
                1 if version >= 4 => record.cordoned = field.uuids_or_null()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(record)
    }
}

fn endpoint(fields: &mut Fields<'_>) -> Result<Endpoint, RecordError> {
    let endpoint = Endpoint { name: fields.text()?, host: fields.text()?, port: fields.u16()?, security_protocol: fields.i16()? };
    fields.no_tagged()?;
    Ok(endpoint)
}

fn feature(fields: &mut Fields<'_>) -> Result<FeatureRange, RecordError> {
    let feature = FeatureRange { name: fields.text()?, min: fields.i16()?, max: fields.i16()? };
    fields.no_tagged()?;
    Ok(feature)
}

/// A change of a broker's registration (kind 17, versions 0 to 3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerChange {
    /// Which broker.
    pub broker: BrokerId,
    /// Its registration's epoch.
    pub broker_epoch: i64,
    /// 1: fenced from now on, -1: unfenced, 0: as before.
    pub fenced: i8,
    /// 1: about to stop, 0: as before (version 1 and later).
    pub in_controlled_shutdown: i8,
    /// Its log directories; empty: as before (version 2 and later).
    pub directories: Vec<DirectoryId>,
    /// Those that get no new partitions; `None`: as before (version 3 and later).
    pub cordoned: Option<Vec<DirectoryId>>,
}

impl BrokerChange {
    /// A change of nothing.
    #[must_use]
    pub fn of(broker: BrokerId, broker_epoch: i64) -> Self {
        Self { broker, broker_epoch, fenced: 0, in_controlled_shutdown: 0, directories: Vec::new(), cordoned: None }
    }

    pub(super) fn read(version: i16, fields: &mut Fields<'_>) -> Result<Self, RecordError> {
        let mut record = Self::of(fields.broker()?, fields.i64()?);
        fields.tagged(|tag, field| {
            match tag {
                0 => record.fenced = field.i8()?,
                1 if version >= 1 => record.in_controlled_shutdown = field.i8()?,
                2 if version >= 2 => record.directories = field.uuids()?,
                3 if version >= 3 => record.cordoned = field.uuids_or_null()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(record)
    }
}

/// A controller's registration (kind 27, version 0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerRegistration {
    /// Which node.
    pub controller: BrokerId,
    /// Which life of its process.
    pub incarnation: uuid::Uuid,
    /// It is ready to take over from ZooKeeper.
    pub zk_migration_ready: bool,
    /// Where it listens.
    pub endpoints: Vec<Endpoint>,
    /// What it supports.
    pub features: Vec<FeatureRange>,
}

impl ControllerRegistration {
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, RecordError> {
        let record = Self {
            controller: fields.broker()?,
            incarnation: fields.uuid()?,
            zk_migration_ready: fields.bool()?,
            endpoints: fields.array(ENDPOINT_BYTES_MIN, endpoint)?,
            features: fields.array(FEATURE_BYTES_MIN, feature)?,
        };
        fields.no_tagged()?;
        Ok(record)
    }
}
