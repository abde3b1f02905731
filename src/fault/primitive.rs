//! The smallest things that can be done: one call to the engine or one request to the cluster.

use std::time::Duration;

use crate::fault::event::What;
use crate::fault::partitions::Before;
use crate::ids::{BrokerId, PartitionIndex, TopicId, TopicName};
use crate::kafka::admin::Replicas;
use crate::plan::model::{ClientFault, Condition, Down, Election, LimitChange, LinkAct, PropertyChange, Reassignment, Reshape, TopicSpec};

/// Something done to one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeAct {
    /// SIGKILL.
    Kill,
    /// SIGTERM, then SIGKILL after this grace.
    Stop(Duration),
    /// Start.
    Start,
    /// Freeze.
    Pause,
    /// Thaw.
    Unpause,
    /// Off the network.
    Disconnect,
    /// Back onto it.
    Connect,
    /// Less to use, or more again.
    Limit(LimitChange),
    /// First start of a broker that joins.
    Add,
}

impl NodeAct {
    /// Its kind.
    #[must_use]
    pub fn what(self) -> What {
        match self {
            Self::Kill => What::Kill,
            Self::Stop(_) => What::Stop,
            Self::Start => What::Start,
            Self::Pause => What::Pause,
            Self::Unpause => What::Unpause,
            Self::Disconnect => What::Disconnect,
            Self::Connect => What::Connect,
            Self::Limit(_) => What::Limit,
            Self::Add => What::AddBroker,
        }
    }

    /// Whether it hurts; else it heals.
    #[must_use]
    pub fn is_fault(self) -> bool {
        matches!(self, Self::Kill | Self::Stop(_) | Self::Pause | Self::Disconnect | Self::Limit(_))
    }
}

impl From<Down> for NodeAct {
    fn from(how: Down) -> Self {
        match how {
            Down::Kill => Self::Kill,
            Down::Stop { grace } => Self::Stop(grace),
        }
    }
}

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub enum Primitive {
    /// Something done to one node.
    Node {
        /// What.
        act: NodeAct,
        /// To whom.
        node: BrokerId,
    },
    /// Something done to what a node sends to others.
    NodeLink {
        /// What.
        act: LinkAct,
        /// Who sends.
        from: BrokerId,
        /// To whom; empty: to every other node.
        to: Vec<BrokerId>,
    },
    /// Something done to the links between clients and brokers.
    ClientLink {
        /// Which brokers.
        to: Vec<BrokerId>,
        /// Which group's clients; `None`: all.
        group: Option<String>,
        /// What is wrong with them from now on.
        fault: ClientFault,
    },
    /// A topic grows.
    AddPartitions {
        /// Which.
        topic: TopicName,
        /// To this count.
        to: u32,
    },
    /// A topic is made.
    CreateTopic(TopicSpec),
    /// A topic is deleted.
    DeleteTopic(TopicName),
    /// A topic is deleted and made again.
    RecreateTopic {
        /// Which.
        topic: TopicName,
        /// What is to be another than before.
        shape: Reshape,
    },
    /// Leaders are elected.
    ElectLeaders {
        /// Of which topic.
        topic: TopicName,
        /// Of which partition; `None`: of all.
        partition: Option<PartitionIndex>,
        /// How.
        election: Election,
    },
    /// Partitions move.
    Reassign {
        /// Of which topic.
        topic: TopicName,
        /// Where to.
        to: Reassignment,
        /// Longest wait until they are there.
        within: Duration,
    },
    /// Properties of a topic change.
    ConfigureTopic {
        /// Which topic.
        topic: TopicName,
        /// How.
        change: PropertyChange,
    },
    /// Properties of a broker change.
    ConfigureBroker {
        /// Which broker.
        broker: BrokerId,
        /// How.
        change: PropertyChange,
    },
    /// Nothing is done until a condition holds.
    Wait {
        /// Which.
        until: Condition,
        /// Longest wait.
        within: Duration,
    },
}

/// What an act found out on its way, for those who look for its effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trace {
    /// The primitive says it all.
    Nothing,
    /// Partitions that got a leader by it.
    Elected(Vec<Before>),
    /// Where partitions go.
    Moving(Vec<Replicas>),
    /// A topic of this name is another one.
    Recreated {
        /// Ids that topics of this name had, the latest last.
        gone: Vec<TopicId>,
        /// How many partitions the new one has.
        partitions: u32,
    },
}
