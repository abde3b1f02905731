//! What a run of steps tells about itself.

use std::fmt;

use crate::clock::Moment;
use crate::fault::target::ResolvedNode;
use crate::ids::StepNumber;

/// Kind of a step, named as in plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// SIGKILL to a node.
    Kill,
    /// SIGTERM to a node.
    Stop,
    /// Start of a node.
    Start,
    /// Down, a while, up again.
    Restart,
    /// Processes frozen.
    Pause,
    /// Processes thawed.
    Unpause,
    /// A node leaves its network.
    Disconnect,
    /// It comes back.
    Connect,
    /// What a node may use.
    Limit,
    /// A broker joins.
    AddBroker,
    /// Restarts one after the other.
    Rolling,
    /// A link is cut, hurt or mended.
    Link,
    /// A topic grows.
    AddPartitions,
    /// A topic appears.
    CreateTopic,
    /// A topic goes.
    DeleteTopic,
    /// A topic goes and comes back.
    RecreateTopic,
    /// Partitions get leaders.
    ElectLeaders,
    /// Partitions move.
    Reassign,
    /// Properties of a topic or a broker change.
    Config,
    /// Nothing is done until a condition holds.
    Wait,
    /// Steps, several times.
    Repeat,
}

impl What {
    /// The name in plans.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Stop => "stop",
            Self::Start => "start",
            Self::Restart => "restart",
            Self::Pause => "pause",
            Self::Unpause => "unpause",
            Self::Disconnect => "disconnect",
            Self::Connect => "connect",
            Self::Limit => "limit",
            Self::AddBroker => "add-broker",
            Self::Rolling => "rolling",
            Self::Link => "link",
            Self::AddPartitions => "add-partitions",
            Self::CreateTopic => "create-topic",
            Self::DeleteTopic => "delete-topic",
            Self::RecreateTopic => "recreate-topic",
            Self::ElectLeaders => "elect-leaders",
            Self::Reassign => "reassign",
            Self::Config => "config",
            Self::Wait => "wait",
            Self::Repeat => "repeat",
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a step belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The step that it is a part of; `None`: it stands in the plan by itself.
    pub parent: Option<StepNumber>,
    /// Which round of its parent, from 1: of `repeat`, or which node of `rolling`.
    pub round: Option<u32>,
}

/// A step that has its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepInfo {
    /// Its number.
    pub number: StepNumber,
    /// Where it belongs.
    pub scope: Scope,
    /// Its kind.
    pub what: What,
    /// Whether it only holds other steps together (`rolling`, `restart`, `repeat`, a fault on several nodes): its children do the work, and
    /// counting both would count twice.
    pub is_group: bool,
    /// What is done, in a plan's words, without the target.
    pub action: String,
    /// To whom, in a plan's words; empty if there is no target.
    pub target: String,
    /// Line of the plan, from 1.
    pub line: usize,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done, and seen from outside.
    Done,
    /// It would have changed nothing, and was not tried.
    NoOp(String),
    /// It could not be done, its target does not exist, or what it waited for did not come in time.
    Failed(String),
    /// It was done, but nobody outside could see it in time.
    NotObserved(String),
}

impl Outcome {
    /// Whether the step did what it should. Anything else fails the run.
    #[must_use]
    pub fn is_done(&self) -> bool {
        *self == Self::Done
    }

    /// A word for tables.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::NoOp(_) => "no-op",
            Self::Failed(_) => "failed",
            Self::NotObserved(_) => "not-observed",
        }
    }

    /// Why it is not done; empty if it is.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Done => "",
            Self::NoOp(why) | Self::Failed(why) | Self::NotObserved(why) => why,
        }
    }
}

/// Something happened to a step. For one step they come in this order; `Acknowledged` and `Observed` are missing where it did not get that
/// far, and `Finished` always comes unless the run is cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepEvent {
    /// It is asked for: the moment just before the call to the engine or the broker (of a group: when its first part came up).
    Requested {
        /// The step.
        step: StepInfo,
        /// The nodes that its target stood for at that moment; empty for a step on topics or a wait.
        nodes: Vec<ResolvedNode>,
        /// When.
        at: Moment,
    },
    /// The call returned (of a group: of its last part; of a wait: the condition held).
    Acknowledged {
        /// The step's number.
        step: StepNumber,
        /// When.
        at: Moment,
    },
    /// It was seen from outside. Groups have none.
    Observed {
        /// The step's number.
        step: StepNumber,
        /// When: the end of the first look that showed it.
        at: Moment,
        /// What was seen.
        detail: String,
    },
    /// Nothing more will be heard of it.
    Finished {
        /// The step's number.
        step: StepNumber,
        /// When.
        at: Moment,
        /// How it ended.
        outcome: Outcome,
    },
}
