//! What a node of the cluster used in one second.

use serde::{Deserialize, Serialize};

use crate::ids::BrokerId;

/// One node's second. A field is `None` where the node was down or nobody could tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSecond {
    /// Which second, as in [`super::fact::GroupSecond`].
    pub second: i64,
    /// The node.
    pub node: BrokerId,
    /// CPU time of its container in this second.
    pub cpu_ms: Option<u64>,
    /// Memory of its container at the end of the second, without file caches.
    pub memory_bytes: Option<u64>,
    /// Bytes that its container received in this second.
    pub network_in_bytes: Option<u64>,
    /// Bytes that it sent.
    pub network_out_bytes: Option<u64>,
    /// Partitions that it leads and whose ISR is not full, as any running broker sees it.
    pub under_replicated_partitions: Option<u32>,
}
