//! What steps do to topics that exist, and to the properties of topics and brokers.

use std::collections::{BTreeMap, BTreeSet};

use super::Replication;
use crate::ids::{BrokerId, PartitionIndex};

/// What a topic that is made again has otherwise than before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reshape {
    /// How many partitions; `None`: as before.
    pub partitions: Option<u32>,
    /// Where its replicas go; `None`: as many as before, and on the same brokers if the partitions stay as many too.
    pub replication: Option<Replication>,
    /// Its properties, all of them; `None`: as before.
    pub config: Option<BTreeMap<String, String>>,
}

/// How a leader is elected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Election {
    /// The first replica, if it is in sync.
    Preferred,
    /// Any live replica of a partition that has no leader.
    Unclean,
}

impl Election {
    /// Its word in plans.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Preferred => "preferred",
            Self::Unclean => "unclean",
        }
    }
}

/// Where partitions go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reassignment {
    /// One partition to these brokers, preferred leader first.
    One(PartitionIndex, Vec<BrokerId>),
    /// Each partition to its brokers, by index.
    Each(Vec<Vec<BrokerId>>),
    /// Over these brokers in turn, as many replicas as before; empty: over all that there are.
    Over(Vec<BrokerId>),
}

/// A change of properties; not empty, and no property is in both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyChange {
    /// Properties that get a value.
    pub set: BTreeMap<String, String>,
    /// Properties that lose theirs.
    pub unset: BTreeSet<String>,
}
