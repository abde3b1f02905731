//! A partition, and how a change merges into it.

use super::replay::ReplayError;
use crate::ids::{BrokerId, LeaderEpoch};
use crate::kafka::raft::record::{PartitionChangeRecord, PartitionRecord};

/// A partition as the controller's log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its leader; `None`: it has none.
    pub leader: Option<BrokerId>,
    /// Rises by one whenever a record names a leader, be it the same or none.
    pub leader_epoch: LeaderEpoch,
    /// Rises by one at each change.
    pub partition_epoch: i32,
    /// Its replicas, preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// Replicas that a reassignment adds.
    pub adding: Vec<BrokerId>,
    /// Replicas that a reassignment takes away.
    pub removing: Vec<BrokerId>,
    /// In-sync replicas.
    pub isr: Vec<BrokerId>,
    /// Eligible leader replicas (KIP-966): not in sync, but with all that is committed.
    pub elr: Vec<BrokerId>,
    /// Those that were eligible or in sync last, where there are none now.
    pub last_known_elr: Vec<BrokerId>,
    /// Its leader was elected although it may lack committed records, and has not recovered from that yet.
    pub is_recovering: bool,
}

impl Partition {
    /// A partition as it is made.
    pub(super) fn made(record: &PartitionRecord) -> Result<Self, ReplayError> {
        Ok(Self {
            leader: known(record.leader),
            leader_epoch: LeaderEpoch(record.leader_epoch),
            partition_epoch: record.partition_epoch,
            replicas: record.replicas.clone(),
            adding: record.adding.clone(),
            removing: record.removing.clone(),
            isr: record.isr.clone(),
            elr: record.elr.clone().unwrap_or_default(),
            last_known_elr: record.last_known_elr.clone().unwrap_or_default(),
            is_recovering: is_recovering(record.recovery)?,
        })
    }

    /// The partition after a change; Java: `PartitionRegistration.merge`.
    pub(super) fn merged(&self, record: &PartitionChangeRecord) -> Result<Self, ReplayError> {
        let or = |new: &Option<Vec<BrokerId>>, old: &Vec<BrokerId>| new.as_ref().unwrap_or(old).clone();
        let (leader, leader_epoch) = match record.leader {
            Some(leader) => (known(leader), LeaderEpoch(self.leader_epoch.0.wrapping_add(1))),
            None => (self.leader, self.leader_epoch),
        };
        Ok(Self {
            leader,
            leader_epoch,
            partition_epoch: self.partition_epoch.wrapping_add(1),
            replicas: or(&record.replicas, &self.replicas),
            adding: or(&record.adding, &self.adding),
            removing: or(&record.removing, &self.removing),
            isr: or(&record.isr, &self.isr),
            elr: or(&record.elr, &self.elr),
            last_known_elr: or(&record.last_known_elr, &self.last_known_elr),
            is_recovering: record.recovery.map_or(Ok(self.is_recovering), is_recovering)?,
        })
    }
}

/// The wire says -1 for nobody.
fn known(leader: BrokerId) -> Option<BrokerId> {
    (leader.0 >= 0).then_some(leader)
}

fn is_recovering(state: i8) -> Result<bool, ReplayError> {
    match state {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(ReplayError::Value { field: "leader recovery state", value: other }),
    }
}
