//! A checked plan: no optional values left to guess, no spans, every name resolved.
//!
//! Made by `plan::check` alone; read by every later stage. Nothing here can be wrong in a way that `check` finds.

mod client_links;
mod consumers;
mod engine;
mod expectation;
mod link;
mod metric;
mod requesters;
mod reserved;
mod security;
mod step;
mod topic_change;
mod window;

pub use client_links::ClientLinks;
pub use consumers::ConsumerGroup;
pub use engine::EngineKind;
pub(crate) use expectation::plain;
pub use expectation::{Comparison, Expectation, ExpectationText};
pub use link::{ClientFault, LinkAct, LinkNeeds, Pace};
pub use metric::{Asked, Asker, Audited, Fate, Groups, Metric, MetricInfo, Point, Quantile, Since, Stage, Unit, Windows};
pub use requesters::{RequesterGroup, TopicList};
pub use reserved::RESERVED_PROPERTIES;
pub use security::{Login, NODE_USER, PasswordSource, SecuritySpec};
pub use step::{Action, Ceiling, Condition, Down, LimitChange, Step, Target};
pub use topic_change::{Election, PropertyChange, Reassignment, Reshape};
pub use window::Window;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::ids::{BrokerId, HostPort, TopicName};

/// A whole plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Short name; part of the run's folder name.
    pub name: String,
    /// What the plan shows, in a sentence or two.
    pub about: String,
    /// Seed of everything random in the run.
    pub seed: u64,
    /// The cluster to start.
    pub cluster: ClusterSpec,
    /// Topics made before the load begins (`count` already expanded).
    pub topics: Vec<TopicSpec>,
    /// Producer groups, in file order.
    pub producers: Vec<ProducerGroup>,
    /// Requester groups, in file order.
    pub requesters: Vec<RequesterGroup>,
    /// Consumers, in file order.
    pub consumers: Vec<ConsumerGroup>,
    /// Lengths of the phases around the steps.
    pub phases: Phases,
    /// Steps in order of `at`; equal times keep file order.
    pub steps: Vec<Step>,
    /// Conditions that decide the verdict.
    pub expectations: Vec<Expectation>,
    /// Whether the topics are read back.
    pub audit: AuditSpec,
    /// The text that the plan was read from.
    pub source: PlanSource,
}

/// Where a plan came from.
#[derive(Clone, Debug)]
pub struct PlanSource {
    /// File name as given by the user.
    pub path: String,
    /// The file's text.
    pub text: String,
    /// SHA-256 of the text, in hexadecimal.
    pub sha256: String,
}

/// The cluster section.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterSpec {
    /// Kafka's version, which names the image.
    pub kafka: String,
    /// Which nodes there are.
    pub layout: Layout,
    /// Properties for every node's `server.properties`.
    pub config: BTreeMap<String, String>,
    /// Memory limit per node, in bytes.
    pub memory_bytes: u64,
    /// JVM heap per node, in bytes.
    pub heap_bytes: u64,
    /// How nodes reach the host's network.
    pub network: NetworkMode,
    /// So many brokers join while the run goes: they are made with the others, have the ids after all of them, and are started by steps.
    pub joining: u16,
    /// What its links must be able to suffer.
    pub links: LinkNeeds,
    /// A disk that can be filled.
    pub disk: Option<SmallDisk>,
    /// How its listeners are secured; `None`: not at all.
    pub security: Option<SecuritySpec>,
}

/// A second log directory of one broker, on a disk of its own that is small enough to be filled. It lives in memory, and is empty again when the
/// broker's container starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallDisk {
    /// Whose.
    pub broker: BrokerId,
    /// How large.
    pub size_bytes: u64,
}

/// Most nodes of a cluster, those that join included.
pub const NODES_MAX: usize = 100;

impl ClusterSpec {
    /// Ids of the brokers that steps add, in order.
    #[must_use]
    pub fn joiners(&self) -> Vec<BrokerId> {
        let first = self.layout.first_free();
        (0..i32::from(self.joining)).map(|offset| BrokerId(first.0 + offset)).collect()
    }
}

/// Nodes of a cluster at its start. Brokers have ids 1 to n; dedicated controllers follow, from n + 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Every node is broker and controller.
    Combined {
        /// How many.
        nodes: u16,
    },
    /// Brokers and controllers are apart.
    Dedicated {
        /// Broker nodes.
        brokers: u16,
        /// Controller nodes.
        controllers: u16,
    },
}

impl Layout {
    /// Ids of the nodes that are brokers.
    #[must_use]
    pub fn brokers(self) -> Vec<BrokerId> {
        let count = match self {
            Self::Combined { nodes } => nodes,
            Self::Dedicated { brokers, .. } => brokers,
        };
        (1..=i32::from(count)).map(BrokerId).collect()
    }

    /// Ids of the nodes that vote in the metadata quorum.
    #[must_use]
    pub fn controllers(self) -> Vec<BrokerId> {
        match self {
            Self::Combined { .. } => self.brokers(),
            Self::Dedicated { brokers, controllers } => {
                (1..=i32::from(controllers)).map(|offset| BrokerId(i32::from(brokers) + offset)).collect()
            }
        }
    }

    /// Ids of all nodes, in order.
    #[must_use]
    pub fn nodes(self) -> Vec<BrokerId> {
        match self {
            Self::Combined { .. } => self.brokers(),
            Self::Dedicated { .. } => self.brokers().into_iter().chain(self.controllers()).collect(),
        }
    }

    /// The id of a node that comes after all of these.
    #[must_use]
    pub fn first_free(self) -> BrokerId {
        BrokerId(1 + self.nodes().last().map_or(0, |last| last.0))
    }
}

/// How containers are joined to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkMode {
    /// A network of the run's own; listeners published on 127.0.0.1.
    Bridge,
    /// The host's network (Linux): no proxy and no address translation, for high rates.
    Host,
}

/// One topic.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicSpec {
    /// Its name.
    pub name: TopicName,
    /// How many partitions.
    pub partitions: u32,
    /// Where the replicas go.
    pub replication: Replication,
    /// Topic properties.
    pub config: BTreeMap<String, String>,
}

/// Placement of replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replication {
    /// Kafka places so many replicas.
    Factor(u16),
    /// Brokers per partition, preferred leader first.
    Assignment(Vec<Vec<BrokerId>>),
}

impl Replication {
    /// How many replicas each partition has.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::Factor(factor) => usize::from(*factor),
            Self::Assignment(rows) => rows.iter().map(Vec::len).min().unwrap_or_default(),
        }
    }
}

/// Producers alike.
#[derive(Clone, Debug, PartialEq)]
pub struct ProducerGroup {
    /// The group's name; client ids are `NAME-0`, `NAME-1`, ...
    pub name: String,
    /// How many producers, each a client of its own unless `share` says otherwise.
    pub count: u32,
    /// Which client makes the load.
    pub engine: EngineKind,
    /// So many senders use one client; `None`: each sender has its own.
    pub share: Option<NonZeroU32>,
    /// Each producer writes to all of them in turn.
    pub topics: Vec<TopicName>,
    /// When records are due.
    pub load: Load,
    /// Shape of a record.
    pub record: RecordSpec,
    /// When the group sends.
    pub active: Active,
    /// Its producers start one after the other, evenly over this time; zero: all at once.
    pub ramp: Duration,
    /// Producer properties, by the Java producer's names; values as text.
    pub config: BTreeMap<String, String>,
    /// Bootstrap list to give instead of the cluster's own.
    pub bootstrap: Option<Vec<HostPort>>,
}

/// How a producer paces its records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Open loop: record `i` is due at a computed time, whatever became of the ones before it.
    Open {
        /// Records per second and producer, over all its topics.
        rate_per_second: f64,
        /// Spacing of due times.
        arrivals: Arrivals,
    },
    /// As fast as the client takes them.
    Max,
    /// Send, wait for the outcome at most so long, send the next.
    Closed {
        /// Longest wait for an outcome.
        wait: Duration,
        /// Shortest time between two sends; zero: the next follows at once.
        every: Duration,
    },
}

/// Spacing of due times in an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Evenly spaced; producers of one group start spread over one interval.
    Constant,
    /// Exponential gaps from the seeded generator.
    Poisson,
}

/// Shape of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordSpec {
    /// Bytes of the value.
    pub size_bytes: usize,
    /// How many distinct keys; `None`: records have no key and follow the sticky partitioner.
    pub keys: Option<NonZeroU32>,
}

/// When a group sends, counted from the start of the load (warm-up included).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Active {
    /// First due time.
    pub from: Duration,
    /// No record is due at or after it; `None`: until the run's end.
    pub until: Option<Duration>,
}

/// How the topics are read back after the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditSpec {
    /// Whether they are.
    pub is_on: bool,
    /// Longest that it may take.
    pub within: Duration,
}

/// Lengths of the phases. Steps happen between `steady` and `recovery`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phases {
    /// Load outside the baseline; its second numbers are negative.
    pub warmup: Duration,
    /// The baseline.
    pub steady: Duration,
    /// After the last step.
    pub recovery: Duration,
}
