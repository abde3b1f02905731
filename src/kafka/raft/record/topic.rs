//! Records of partitions: as they are made, and as they change.

use super::fields::Fields;
use super::{DirectoryId, RecordError, topic_id};
use crate::ids::{BrokerId, PartitionIndex, TopicId};

/// A partition as it is made (kind 3, versions 0 to 2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionRecord {
    /// Its index.
    pub partition: PartitionIndex,
    /// Its topic.
    pub topic: TopicId,
    /// Its replicas, preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// In-sync replicas.
    pub isr: Vec<BrokerId>,
    /// Replicas that a reassignment takes away.
    pub removing: Vec<BrokerId>,
    /// Replicas that a reassignment adds.
    pub adding: Vec<BrokerId>,
    /// Its leader; -1: none.
    pub leader: BrokerId,
    /// 1 while its leader recovers from an unclean election, else 0.
    pub recovery: i8,
    /// Its leader's epoch.
    pub leader_epoch: i32,
    /// Rises at every change.
    pub partition_epoch: i32,
    /// Log directory of each replica (version 1 and later; empty before).
    pub directories: Vec<DirectoryId>,
    /// Eligible leader replicas (version 2 and later); `None`: null.
    pub elr: Option<Vec<BrokerId>>,
    /// Those that were eligible or in sync last, where there are none now (version 2 and later); `None`: null.
    pub last_known_elr: Option<Vec<BrokerId>>,
}

impl PartitionRecord {
    pub(super) fn read(version: i16, fields: &mut Fields<'_>) -> Result<Self, RecordError> {
        let mut record = Self {
            partition: PartitionIndex(fields.i32()?),
            topic: topic_id(fields)?,
            replicas: fields.brokers()?,
            isr: fields.brokers()?,
            removing: fields.brokers()?,
            adding: fields.brokers()?,
            leader: fields.broker()?,
            leader_epoch: fields.i32()?,
            partition_epoch: fields.i32()?,
            directories: if version >= 1 { fields.uuids()? } else { Vec::new() },
            recovery: 0,
            elr: None,
            last_known_elr: None,
        };
        fields.tagged(|tag, field| {
            match tag {
                0 => record.recovery = field.i8()?,
                1 if version >= 2 => record.elr = field.brokers_or_null()?,
                2 if version >= 2 => record.last_known_elr = field.brokers_or_null()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(record)
    }
}

/// A change of a partition (kind 5, versions 0 to 2). `None` stands for "as before".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionChangeRecord {
    /// Its index.
    pub partition: PartitionIndex,
    /// Its topic.
    pub topic: TopicId,
    /// In-sync replicas.
    pub isr: Option<Vec<BrokerId>>,
    /// Its leader; -1: none from now on. A leader that is named anew, even the same, raises the leader's epoch.
    pub leader: Option<BrokerId>,
    /// Its replicas.
    pub replicas: Option<Vec<BrokerId>>,
    /// Replicas that a reassignment takes away.
    pub removing: Option<Vec<BrokerId>>,
    /// Replicas that a reassignment adds.
    pub adding: Option<Vec<BrokerId>>,
    /// 1 while its leader recovers from an unclean election, 0 from then on.
    pub recovery: Option<i8>,
    /// Log directory of each replica (version 1 and later).
    pub directories: Option<Vec<DirectoryId>>,
    /// Eligible leader replicas (version 2 and later).
    pub elr: Option<Vec<BrokerId>>,
    /// Those that were eligible or in sync last (version 2 and later).
    pub last_known_elr: Option<Vec<BrokerId>>,
}

/// Says that the leader stays.
const NO_LEADER_CHANGE: i32 = -2;
/// Says that the leader's recovery goes on as it did.
const NO_RECOVERY_CHANGE: i8 = -1;

impl PartitionChangeRecord {
    /// A change of nothing.
    #[must_use]
    pub fn of(topic: TopicId, partition: PartitionIndex) -> Self {
        Self {
            partition,
            topic,
            isr: None,
            leader: None,
            replicas: None,
            removing: None,
            adding: None,
            recovery: None,
            directories: None,
            elr: None,
            last_known_elr: None,
        }
    }

    pub(super) fn read(version: i16, fields: &mut Fields<'_>) -> Result<Self, RecordError> {
        let partition = PartitionIndex(fields.i32()?);
        let mut record = Self::of(topic_id(fields)?, partition);
        fields.tagged(|tag, field| {
            match tag {
                0 => record.isr = field.brokers_or_null()?,
                1 => record.leader = Some(field.broker()?).filter(|leader| leader.0 != NO_LEADER_CHANGE),
                2 => record.replicas = field.brokers_or_null()?,
                3 => record.removing = field.brokers_or_null()?,
                4 => record.adding = field.brokers_or_null()?,
                5 => record.recovery = Some(field.i8()?).filter(|recovery| *recovery != NO_RECOVERY_CHANGE),
                6 if version >= 2 => record.elr = field.brokers_or_null()?,
                7 if version >= 2 => record.last_known_elr = field.brokers_or_null()?,
                8 if version >= 1 => record.directories = field.uuids_or_null()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(record)
    }
}
