//! What is seen of one node from outside in one second: by the container engine, and by the node's own word.
//!
//! Totals are kept as they were read; what happened *in* a second is the difference to the one before (`files::brokers`). Whatever could
//! not be learnt in time is `None`.

use serde::{Deserialize, Serialize};

use crate::ids::{BrokerId, LeaderEpoch, PartitionIndex, TopicName};

/// A node at the end of a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerSecond {
    /// Which second, as in [`GroupSecond`](super::fact::GroupSecond).
    pub second: i64,
    /// Which node.
    pub node: BrokerId,
    /// `running`, `paused`, `disconnected`, `exited`, `not-started` or `absent`, as the container engine says.
    pub state: Option<String>,
    /// What it uses; `None` for a node that is down.
    pub usage: Option<Usage>,
    /// What it leads by its own word; `None` for a node that is no broker or did not answer.
    pub led: Option<Led>,
}

/// What a node has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// When it was read, in microseconds since the start of `steady`.
    pub read_at_us: i64,
    /// CPU time since the node was started.
    pub cpu_us_total: Option<u64>,
    /// Memory in use.
    pub memory_bytes: Option<u64>,
    /// Bytes received since the cluster was made.
    pub rx_bytes_total: Option<u64>,
    /// Bytes sent since the cluster was made.
    pub tx_bytes_total: Option<u64>,
}

impl Usage {
    /// CPU time used since another reading, and the time passed since, both in microseconds. `None`: one of them lacks it, the total began anew,
    /// or no time has passed.
    #[must_use]
    pub fn cpu_since(&self, before: &Self) -> Option<(u64, u64)> {
        let used_us = self.cpu_us_total?.checked_sub(before.cpu_us_total?)?;
        let passed_us = u64::try_from(self.read_at_us.checked_sub(before.read_at_us)?).ok().filter(|passed| *passed > 0)?;
        Some((used_us, passed_us))
    }
}

/// What a broker leads among the watched topics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Led {
    /// Partitions that it leads.
    pub leaders: u64,
    /// Those of them whose ISR is smaller than their set of replicas.
    pub under_replicated: u64,
    /// The probed ones of them.
    pub probed: Vec<LogEnd>,
}

/// Where the log of a partition ends, as its leader says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEnd {
    /// The topic.
    pub topic: TopicName,
    /// The partition.
    pub partition: PartitionIndex,
    /// In which epoch it leads.
    pub leader_epoch: Option<LeaderEpoch>,
    /// How many replicas it has; `None`: not told.
    #[serde(default)]
    pub replicas: Option<u32>,
    /// First offset that consumers cannot read yet.
    pub high_watermark: Option<i64>,
    /// First offset that does not exist yet.
    pub log_end_offset: Option<i64>,
}
