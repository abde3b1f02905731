//! Control records: what the quorum writes of itself between the controller's records, in batches that are marked as such.

use super::RecordError;
use super::fields::Fields;
use crate::ids::BrokerId;

/// A control record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlRecord {
    /// A node has become the active controller: the first record of its epoch (type 2).
    LeaderChange {
        /// Which.
        leader: BrokerId,
    },
    /// Begins a snapshot (type 3).
    SnapshotHeader {
        /// When the last record that is in the snapshot was appended.
        last_contained_timestamp_ms: i64,
    },
    /// Ends a snapshot (type 4).
    SnapshotFooter,
    /// The quorum's own feature level (type 5).
    KRaftVersion {
        /// The level.
        level: i16,
    },
    /// Who votes (type 6).
    Voters,
    /// Of another type.
    Other {
        /// Which.
        kind: i16,
    },
}

impl ControlRecord {
    /// Decodes a control record from its key (a version and the type) and its value. What is not needed of the value is not read.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn decode(key: &[u8], value: &[u8]) -> Result<Self, RecordError> {
        let mut key = Fields::new(key);
        let _version = key.i16()?;
        let kind = key.i16()?;
        let mut value = Fields::new(value);
        let mut body = || {
            let _version = value.i16()?;
            Ok::<_, RecordError>(value)
        };
        Ok(match kind {
            2 => Self::LeaderChange { leader: body()?.broker()? },
            3 => Self::SnapshotHeader { last_contained_timestamp_ms: body()?.i64()? },
            4 => Self::SnapshotFooter,
            5 => Self::KRaftVersion { level: body()?.i16()? },
            6 => Self::Voters,
            other => Self::Other { kind: other },
        })
    }
}
