//! What a sighting means: which layer is stuck, where, why, and what to look at next.
//!
//! The words of a finding are for people; programs read its cause, nodes and partitions. Made by `diagnose`.

use serde::Serialize;

use crate::ids::{BrokerId, TopicPartition};
use crate::kafka::admin::ErrorCode;
use crate::record::layer::Layer;

/// Why a partition has no leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoLeader {
    /// Every replica is down.
    AllReplicasDown,
    /// Nobody is in sync, and nobody else may lead.
    IsrEmpty,
    /// Nobody is in sync; who else may lead is not known.
    IsrEmptyElrUnknown,
    /// All in-sync replicas are down; others live, but may lack what is committed.
    IsrDown,
    /// Somebody could lead; the election has not come.
    NotElected,
}

/// What is wrong. Declared in the order in which they are told: what explains others comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// No address answers as a broker.
    NobodyAnswers,
    /// The addresses lead to different clusters.
    TwoClusters,
    /// Nobody who answers and can tell knows an active controller, neither brokers nor controllers.
    NoActiveController,
    /// The active controller has lost the majority of the voters.
    NoMajority,
    /// Neither a broker nor the controllers' log knows the topic that was asked for.
    UnknownTopic,
    /// The topic that was asked for has no such partition.
    UnknownPartition,
    /// Clients are sent to a broker that does not answer, and that does not fetch the controller's log either.
    Undetected,
    /// Clients are sent to a broker that does not answer here, although it fetches the controller's log.
    OutOfReachFromHere,
    /// A broker answers, but does not fetch the controller's log any more.
    NotFetching,
    /// A broker fetches the controller's log, but has been behind for long.
    Lagging,
    /// A broker's own requests reach no active controller; those of others do, or nobody can tell.
    ControllerOutOfReach,
    /// A partition has no leader.
    NoLeader(NoLeader),
    /// The leader has no listener of the name through which clients came.
    ListenerNotFound,
    /// The leader's disk has failed.
    StorageError,
    /// The controllers' log has something newer than any broker shows.
    BrokersBehind,
    /// Brokers show different things.
    BrokersDisagree,
    /// The broker that is shown as leader says that it is not.
    NotLeader,
    /// The leader is in a newer epoch than brokers show.
    FencedEpoch,
    /// The leader is in an older epoch than brokers show.
    UnknownEpoch,
    /// The new leader does not know yet what is committed.
    NotYetServed,
    /// The leader refuses with another code.
    Unserved(ErrorCode),
    /// A broker answers, but the controller has fenced it.
    Fenced,
    /// A broker is down, and the cluster has moved on.
    Down,
    /// A controller does not follow the active one; a majority does.
    VoterDown,
    /// Replicas are not in sync.
    OutOfSync,
    /// An address that was given does not answer, and no broker calls it its own.
    BootstrapSilent,
}

impl Cause {
    /// The layer that is stuck; `None`: none is, the cluster has done what it can.
    #[must_use]
    pub fn layer(self) -> Option<Layer> {
        match self {
            Self::NobodyAnswers | Self::TwoClusters | Self::OutOfReachFromHere | Self::BootstrapSilent | Self::ListenerNotFound => {
                Some(Layer::Route)
            }
            Self::NoActiveController | Self::NoMajority | Self::NoLeader(_) => Some(Layer::Committed),
            Self::Undetected | Self::ControllerOutOfReach | Self::Fenced => Some(Layer::Detected),
            Self::NotFetching | Self::Lagging | Self::VoterDown => Some(Layer::Fetched),
            Self::BrokersBehind | Self::BrokersDisagree | Self::FencedEpoch => Some(Layer::BrokerCache),
            Self::NotLeader | Self::UnknownEpoch | Self::NotYetServed | Self::StorageError | Self::Unserved(_) => Some(Layer::Servable),
            Self::OutOfSync => Some(Layer::Delivery),
            Self::UnknownTopic | Self::UnknownPartition | Self::Down => None,
        }
    }

    /// Its name, for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NobodyAnswers => "nobody_answers",
            Self::TwoClusters => "two_clusters",
            Self::NoActiveController => "no_active_controller",
            Self::NoMajority => "no_majority",
            Self::UnknownTopic => "unknown_topic",
            Self::UnknownPartition => "unknown_partition",
            Self::Undetected => "undetected",
            Self::OutOfReachFromHere => "out_of_reach_from_here",
            Self::NotFetching => "not_fetching",
            Self::Lagging => "lagging",
            Self::ControllerOutOfReach => "controller_out_of_reach",
            Self::NoLeader(NoLeader::AllReplicasDown) => "no_leader_all_replicas_down",
            Self::NoLeader(NoLeader::IsrEmpty) => "no_leader_isr_empty",
            Self::NoLeader(NoLeader::IsrEmptyElrUnknown) => "no_leader_isr_empty_elr_unknown",
            Self::NoLeader(NoLeader::IsrDown) => "no_leader_isr_down",
            Self::NoLeader(NoLeader::NotElected) => "no_leader_not_elected",
            Self::ListenerNotFound => "listener_not_found",
            Self::StorageError => "storage_error",
            Self::BrokersBehind => "brokers_behind",
            Self::BrokersDisagree => "brokers_disagree",
            Self::NotLeader => "not_leader",
            Self::FencedEpoch => "fenced_epoch",
            Self::UnknownEpoch => "unknown_epoch",
            Self::NotYetServed => "not_yet_served",
            Self::Unserved(_) => "unserved",
            Self::Fenced => "fenced",
            Self::Down => "down",
            Self::VoterDown => "voter_down",
            Self::OutOfSync => "out_of_sync",
            Self::BootstrapSilent => "bootstrap_silent",
        }
    }

    /// Whether a change that is just passing looks the same, so that a second look tells more.
    #[must_use]
    pub fn may_pass(self) -> bool {
        matches!(
            self,
            Self::OutOfReachFromHere
                | Self::NoMajority
                | Self::VoterDown
                | Self::Fenced
                | Self::NotFetching
                | Self::Lagging
                | Self::NoLeader(NoLeader::NotElected)
                | Self::BrokersBehind
                | Self::BrokersDisagree
                | Self::NotLeader
                | Self::FencedEpoch
                | Self::UnknownEpoch
                | Self::NotYetServed
        )
    }
}

/// Something that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub cause: Cause,
    /// Nodes that it is about, by id.
    pub nodes: Vec<BrokerId>,
    /// The first partitions that it is about.
    pub partitions: Vec<TopicPartition>,
    /// How many it is about in all.
    pub partition_count: usize,
    /// The cause in a sentence.
    pub sentence: String,
    /// What to look at next.
    pub next: String,
}

impl Finding {
    /// Whether it is the same trouble at the same place; how long it lasts, and so the words, may differ.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let place = |finding: &Self| (finding.cause, finding.partition_count);
        place(self) == place(other) && self.nodes == other.nodes && self.partitions == other.partitions
    }
}

/// What it all comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every layer agrees, and nothing is unhealthy.
    Healthy,
    /// Something is stuck, differs or is unhealthy.
    Stuck,
    /// No broker could be asked.
    Unreachable,
    /// Nothing wrong was seen, but too much could not be asked.
    Unknown,
}

/// What a sighting means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// What it comes to.
    pub outcome: Outcome,
    /// It in a sentence: the first finding's, if there is one.
    pub sentence: String,
    /// What to look at next.
    pub next: String,
    /// All that is wrong; what explains others comes first.
    pub findings: Vec<Finding>,
    /// What could not be asked, in words.
    pub unknown: Vec<String>,
}

impl Diagnosis {
    /// The layer that is stuck: the first finding's; `None`: none is, or it is unknown.
    #[must_use]
    pub fn layer(&self) -> Option<Layer> {
        self.findings.first()?.cause.layer()
    }

    /// Whether a second look may tell more.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        self.findings.iter().any(|finding| finding.cause.may_pass())
    }

    /// Whether both say the same, the time that has passed aside.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.outcome == other.outcome
            && self.findings.len() == other.findings.len()
            && self.findings.iter().zip(&other.findings).all(|(one, two)| one.is_same(two))
    }
}
