//! The grammar as data: every table of a plan, its keys, their kinds, defaults and one line of documentation each.
//!
//! The one source for what `raw` accepts, for "did you mean", for defaults and for the JSON Schema. Not here: meaning across keys and
//! sections (`check`).

mod consumers;
mod links;
mod requesters;
mod sections;
mod security;
mod steps;
mod topics;

pub(super) use sections::{AUDIT, CLUSTER, PHASES, PLAN};
pub(super) use steps::STEP;

/// A table of a plan and the keys that it may hold.
#[derive(Debug)]
pub(super) struct Table {
    /// How messages call it.
    pub(super) name: &'static str,
    /// Its name among the schema's definitions.
    pub(super) id: &'static str,
    /// What it is.
    pub(super) about: &'static str,
    /// Its keys, in the order of documentation.
    pub(super) keys: &'static [Key],
    /// Keys that exclude each other.
    pub(super) choices: &'static [OneOf],
    /// Words that the language has, but this version does not.
    pub(super) later: &'static [&'static str],
}

/// A set of keys of which a table has at most one, or exactly one.
#[derive(Debug)]
pub(super) struct OneOf {
    /// The keys.
    pub(super) keys: &'static [&'static str],
    /// Whether one of them must be there.
    pub(super) required: bool,
}

/// A key of a table.
#[derive(Debug)]
pub(super) struct Key {
    /// Its name.
    pub(super) name: &'static str,
    /// What its value looks like.
    pub(super) kind: Kind,
    /// Whether it must be there, and what holds if it is not.
    pub(super) need: Need,
    /// A value, as TOML.
    pub(super) example: &'static str,
    /// What it is for.
    pub(super) about: &'static str,
}

/// Whether a key must be there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Need {
    /// It must.
    Required,
    /// It need not; what then holds depends on other keys, or is nothing.
    Optional,
    /// It need not; this text stands for it.
    Default(&'static str),
}

/// What a value looks like.
#[derive(Debug)]
pub(super) enum Kind {
    /// A string that follows a pattern.
    Text {
        /// How messages call it, with its article.
        what: &'static str,
        /// Regular expression for the schema; empty: any string.
        pattern: &'static str,
    },
    /// A whole number.
    Integer {
        /// Lowest.
        min: u64,
        /// Highest.
        max: u64,
    },
    /// `"1m30s"`.
    Duration,
    /// `"16 KiB"`.
    Size {
        /// Lowest, in bytes.
        min: u64,
        /// Highest, in bytes.
        max: u64,
    },
    /// `"512 MiB"`, or `"none"`: no limit of a step's.
    SizeOrNone {
        /// Lowest, in bytes.
        min: u64,
        /// Highest, in bytes.
        max: u64,
    },
    /// A number of cores, or `"none"`: no limit of a step's.
    CpusOrNone,
    /// One of these words.
    Choice {
        /// The words.
        words: &'static [&'static str],
        /// Words that the language has, but this build does not.
        later: &'static [&'static str],
    },
    /// A metric's name.
    Metric,
    /// A window of the run.
    Window,
    /// A node id or a role.
    Target,
    /// The same, or all clients.
    Sender,
    /// `"all"` or a list of broker ids.
    Brokers,
    /// `"all"`, `"none"` or a list of topics.
    TopicList,
    /// `"all"` or a partition's number.
    PartitionOrAll,
    /// A list of broker ids, or one such list for each partition.
    Replicas,
    /// A list.
    List(&'static Self),
    /// A table in braces or under a header.
    Table(&'static Table),
    /// A list of tables.
    Tables(&'static Table),
    /// Properties: names to strings, numbers or booleans.
    Config {
        /// Whether the names are the producer's, which are all known.
        producer: bool,
    },
}

impl Kind {
    /// How messages call it, with its article.
    pub(super) fn what(&self) -> &'static str {
        match self {
            Self::Text { what, .. } => what,
            Self::Integer { .. } => "a whole number",
            Self::Duration => "a duration in quotes",
            Self::Size { .. } => "a size in quotes",
            Self::SizeOrNone { .. } => "a size or \"none\", in quotes",
            Self::CpusOrNone => "a number of cores, or \"none\" in quotes",
            Self::Choice { .. } => "a word in quotes",
            Self::Metric => "a metric's name in quotes",
            Self::Window => "a window in quotes",
            Self::Target => "a node id or a role",
            Self::Sender => "a node id, a role or \"clients\"",
            Self::Brokers => "\"all\" or a list of broker ids",
            Self::TopicList => "\"all\", \"none\" or a list of topics",
            Self::PartitionOrAll => "a partition's number or \"all\"",
            Self::Replicas => "a list of broker ids, or one for each partition",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Tables(_) => "a list of tables",
            Self::Config { .. } => "a table of properties",
        }
    }
}

impl Table {
    /// The key of this name.
    pub(super) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Names of all keys.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }
}

/// A key, in one line per fact.
const fn key(name: &'static str, kind: Kind, need: Need, example: &'static str, about: &'static str) -> Key {
    Key { name, kind, need, example, about }
}

/// A table of arguments without choices of its own.
const fn arguments(name: &'static str, id: &'static str, about: &'static str, keys: &'static [Key], choices: &'static [OneOf]) -> Table {
    Table { name, id, about, keys, choices, later: &[] }
}

/// Names of plans, topics and groups: what Kafka allows in a topic's name.
pub(super) const NAME_PATTERN: &str = "^[A-Za-z0-9._-]{1,200}$";
/// Longest name: Kafka's limit of 249 less what `-0` and client ids add.
pub(super) const NAME_BYTES_MAX: usize = 200;
/// A partition, `topic/number`, as a pattern without anchors.
macro_rules! partition_pattern {
    () => {
        r"\([A-Za-z0-9._-]+/[0-9]+\)"
    };
}
/// A role that stands for a node.
pub(super) const ROLE_PATTERN: &str = concat!("^(controller|random|all|(leader|follower)-of", partition_pattern!(), ")$");
/// The same, or all clients.
pub(super) const SENDER_PATTERN: &str = concat!("^(clients|controller|random|(leader|follower)-of", partition_pattern!(), ")$");
/// What `wait` and `then` wait for.
pub(super) const CONDITION_PATTERN: &str = concat!("^(isr-full|caught-up|leader-of", partition_pattern!(), "|[0-9].*)$");
/// A duration.
pub(super) const DURATION_PATTERN: &str = r"^[0-9][0-9.,: a-zµ]*$";
/// Bytes per second.
pub(super) const BYTE_RATE_PATTERN: &str = r"^[0-9]+ *([kMG]|[KMG]i)?B */ *s$";
/// The fewest and most cores that a step can leave a node, in thousandths.
pub(super) const CPU_THOUSANDTHS: std::ops::RangeInclusive<u64> = 10..=1_000_000;
/// A size.
pub(super) const SIZE_PATTERN: &str = r"^[0-9]+ *([kMG]|[KMG]i)?B$";

/// A name.
const NAME: Kind = Kind::Text { what: "a name in quotes", pattern: NAME_PATTERN };
/// A topic's name.
const TOPIC_NAME: Kind = Kind::Text { what: "a topic's name in quotes", pattern: NAME_PATTERN };
/// How many partitions a topic may have here.
const PARTITIONS: Kind = Kind::Integer { min: 1, max: 10_000 };
/// A partition's number.
const PARTITION: Kind = Kind::Integer { min: 0, max: PARTITION_MAX };
/// The highest one.
pub(super) const PARTITION_MAX: u64 = 9_999;
/// How many replicas.
const REPLICATION: Kind = Kind::Integer { min: 1, max: 100 };
/// Brokers of each partition.
const ASSIGNMENT: Kind = Kind::List(&Kind::List(&NODE_ID));
/// A node's id.
const NODE_ID: Kind = Kind::Integer { min: 1, max: 200 };
