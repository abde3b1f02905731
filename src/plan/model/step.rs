//! Steps of a checked plan: what is done, to whom, and what is waited for.

use std::time::Duration;

use super::{ClientFault, Election, LinkAct, PropertyChange, Reassignment, Reshape, TopicSpec};
use crate::ids::{BrokerId, PartitionIndex, TopicName, TopicPartition};

/// One timed action.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// When it fires, counted from the end of `steady`. A step that is still running delays the next.
    pub at: Duration,
    /// What is done.
    pub action: Action,
    /// Line in the plan, from 1, for messages.
    pub line: usize,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// SIGKILL.
    Kill {
        /// Whom.
        target: Target,
    },
    /// SIGTERM, then SIGKILL after the grace.
    Stop {
        /// Whom.
        target: Target,
        /// Time for a controlled shutdown.
        grace: Duration,
    },
    /// Start of a node that is down.
    Start {
        /// Whom.
        target: Target,
    },
    /// Down, a while, up again.
    Restart {
        /// Whom.
        target: Target,
        /// How it goes down.
        how: Down,
        /// How long it stays down.
        down: Duration,
    },
    /// Freezes the node's processes: a silent failure.
    Pause {
        /// Whom.
        target: Target,
    },
    /// Thaws them.
    Unpause {
        /// Whom.
        target: Target,
    },
    /// Takes the node off its network.
    Disconnect {
        /// Whom.
        target: Target,
    },
    /// Brings it back.
    Connect {
        /// Whom.
        target: Target,
    },
    /// Limits what the node may use.
    Limit {
        /// Whom.
        target: Target,
        /// How.
        change: LimitChange,
    },
    /// Adds a broker to the cluster: the next of [`joiners`](super::ClusterSpec::joiners).
    AddBroker,
    /// Restarts nodes one after the other.
    Rolling {
        /// Which nodes, in which order; empty means all brokers by id.
        brokers: Vec<BrokerId>,
        /// How each goes down.
        how: Down,
        /// How long each stays down.
        down: Duration,
        /// What must hold before the next; `None`: nothing, the next follows at once.
        then: Option<Condition>,
        /// Longest wait for it; past it the step fails.
        within: Duration,
    },
    /// Grows a topic.
    AddPartitions {
        /// Which.
        topic: TopicName,
        /// New total count.
        to: u32,
    },
    /// Creates a topic.
    CreateTopic {
        /// Its shape.
        topic: TopicSpec,
    },
    /// Deletes a topic.
    DeleteTopic {
        /// Which.
        topic: TopicName,
    },
    /// Cuts a node off from others, or mends that.
    NodeLink {
        /// Whose packets are dropped; one node.
        from: Target,
        /// On their way to whom; [`Target::All`]: to every other node, controllers too.
        to: Target,
        /// What is done.
        act: LinkAct,
        /// Mended after so long; `None`: it stays until a later step.
        lasts: Option<Duration>,
    },
    /// Hurts the links between clients and brokers, or mends them.
    ClientLink {
        /// Which brokers; [`Target::All`]: every one.
        to: Target,
        /// Which group's clients; `None`: all.
        group: Option<String>,
        /// What is wrong with them from now on.
        fault: ClientFault,
        /// Mended after so long; `None`: it stays until a later step.
        lasts: Option<Duration>,
    },
    /// Deletes a topic and makes one of the same name.
    RecreateTopic {
        /// Which.
        topic: TopicName,
        /// What is to be another than before.
        shape: Reshape,
    },
    /// Elects leaders of a topic's partitions.
    ElectLeaders {
        /// Which topic.
        topic: TopicName,
        /// Which partition; `None`: all of them.
        partition: Option<PartitionIndex>,
        /// How.
        election: Election,
    },
    /// Moves partitions of a topic to other brokers.
    Reassign {
        /// Which topic.
        topic: TopicName,
        /// Where they go.
        to: Reassignment,
        /// Longest wait until they are there; past it the step fails.
        within: Duration,
    },
    /// Changes properties of a topic.
    ConfigureTopic {
        /// Which.
        topic: TopicName,
        /// How.
        change: PropertyChange,
    },
    /// Changes properties of a broker while it runs.
    ConfigureBroker {
        /// Whom.
        target: Target,
        /// How.
        change: PropertyChange,
    },
    /// Waits for a condition or a time.
    Wait {
        /// For what.
        until: Condition,
        /// Longest wait; past it the step fails.
        within: Duration,
    },
    /// Does its steps several times.
    Repeat {
        /// How often.
        times: u32,
        /// What, `at` counted from the start of each round.
        steps: Vec<Step>,
    },
}

/// How a node goes down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Down {
    /// SIGKILL.
    Kill,
    /// SIGTERM with so much grace.
    Stop {
        /// Time for a controlled shutdown.
        grace: Duration,
    },
}

/// A change of what a node may use; at least one of both is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitChange {
    /// CPU time in thousandths of a core; `None`: stays as it is.
    pub cpu_thousandths: Option<Ceiling>,
    /// Memory; `None`: stays as it is.
    pub memory_bytes: Option<Ceiling>,
}

/// The most that a node may use of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ceiling {
    /// So much.
    AtMost(u64),
    /// What nodes are started with: every core, and the memory of `[cluster]`.
    Usual,
}

/// A node, by id or by a role that is resolved when the step fires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// This node.
    Node(BrokerId),
    /// Leader of a partition.
    LeaderOf(TopicPartition),
    /// The first replica in the partition's ISR that is not its leader.
    FollowerOf(TopicPartition),
    /// The active controller.
    Controller,
    /// A broker that is up, chosen by the seeded generator.
    Random,
    /// Every broker.
    All,
}

/// What `wait` and `rolling ... then` wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Every replica of every partition is in its ISR.
    IsrFull,
    /// A partition has a leader, or this very one.
    LeaderOf {
        /// Which partition.
        partition: TopicPartition,
        /// Who must lead; `None`: anyone.
        is: Option<BrokerId>,
    },
    /// Every live node has read the controller's log to its end.
    CaughtUp,
    /// A time has passed.
    Elapsed(Duration),
}
