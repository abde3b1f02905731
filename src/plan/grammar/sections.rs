//! The tables at the top of a plan.

use super::Need::{Default, Optional, Required};
use super::consumers::CONSUMERS;
use super::requesters::REQUESTERS;
use super::security::SECURITY;
use super::{ASSIGNMENT, Key, Kind, NAME, OneOf, PARTITIONS, REPLICATION, STEP, TOPIC_NAME, Table, key};

/// The whole file.
pub(in super::super) static PLAN: Table = Table {
    name: "the plan",
    id: "plan",
    about: "A plan of chaos: which cluster, which load, which steps, and what must hold.",
    keys: &[
        key("name", NAME, Required, "name = \"rolling-restart\"", "Short name; part of the name of the run's folder."),
        key(
            "about",
            Kind::Text { what: "a text in quotes", pattern: "" },
            Default(""),
            "about = \"Who fails, and for how long?\"",
            "What the plan shows, in a sentence or two.",
        ),
        key("seed", Kind::Integer { min: 0, max: i64::MAX as u64 }, Default("1"), "seed = 7", "Seed of everything random in the run."),
        key("cluster", Kind::Table(&CLUSTER), Optional, "[cluster]", "The cluster to start."),
        key("topic", Kind::Tables(&TOPIC), Optional, "[[topic]]", "Topics made before the load begins."),
        key("producers", Kind::Tables(&PRODUCERS), Required, "[[producers]]", "Groups of producers alike."),
        key(
            "requesters",
            Kind::Tables(&REQUESTERS),
            Optional,
            "[[requesters]]",
            "Groups of clients that send nothing but Metadata requests.",
        ),
        key("consumers", Kind::Tables(&CONSUMERS), Optional, "[[consumers]]", "Consumers that measure how long records are on their way."),
        key("phases", Kind::Table(&PHASES), Optional, "[phases]", "Lengths of the phases around the steps."),
        key("audit", Kind::Table(&AUDIT), Optional, "[audit]", "Whether the topics are read back after the load."),
        key("step", Kind::Tables(&STEP), Optional, "[[step]]", "Timed actions, in order of `at`."),
        key("expect", Kind::Tables(&EXPECT), Optional, "[[expect]]", "Conditions that decide the verdict."),
    ],
    choices: &[],
    later: &[],
};

/// `[cluster]`.
pub(in super::super) static CLUSTER: Table = Table {
    name: "[cluster]",
    id: "cluster",
    about: "The cluster to start.",
    keys: &[
        key(
            "kafka",
            Kind::Text { what: "a version in quotes", pattern: r"^[0-9]+\.[0-9]+\.[0-9]+$" },
            Default("4.3.0"),
            "kafka = \"4.3.0\"",
            "Kafka's version, which names the image; 3.9.0 or later.",
        ),
        key("nodes", Kind::Integer { min: 1, max: 100 }, Optional, "nodes = 3", "So many nodes, each broker and controller. Default: 3."),
        key(
            "brokers",
            Kind::Integer { min: 1, max: 100 },
            Optional,
            "brokers = 3",
            "So many broker-only nodes, with ids from 1. Goes with `controllers`.",
        ),
        key(
            "controllers",
            Kind::Integer { min: 1, max: 9 },
            Optional,
            "controllers = 1",
            "So many controller-only nodes, with the ids after the brokers'. Goes with `brokers`.",
        ),
        key(
            "config",
            Kind::Config { producer: false },
            Optional,
            "config = { \"broker.session.timeout.ms\" = 9000 }",
            "Properties for every node's server.properties.",
        ),
        key(
            "memory",
            Kind::Size { min: 256 << 20, max: 64 << 30 },
            Default("768 MiB"),
            "memory = \"768 MiB\"",
            "Memory limit of each node.",
        ),
        key("heap", Kind::Size { min: 64 << 20, max: 32 << 30 }, Default("384 MiB"), "heap = \"384 MiB\"", "JVM heap of each node."),
        key(
            "network",
            Kind::Choice { words: &["bridge", "host"], later: &[] },
            Default("bridge"),
            "network = \"bridge\"",
            "`bridge`: a network of the run's own, listeners published on 127.0.0.1. `host`: the host's network, Linux only.",
        ),
        key(
            "disk",
            Kind::Table(&DISK),
            Optional,
            "disk = { broker = 2, size = \"64 MiB\" }",
            "Gives a broker a second log directory on a disk of its own that is small enough to be filled.",
        ),
        key(
            "security",
            Kind::Table(&SECURITY),
            Optional,
            "security = { protocol = \"SSL\" }",
            "How the listeners are secured. Absent: not at all.",
        ),
    ],
    choices: &[OneOf { keys: &["nodes", "brokers"], required: false }, OneOf { keys: &["nodes", "controllers"], required: false }],
    later: &[],
};

/// `disk`.
pub(super) static DISK: Table = Table {
    name: "`disk`",
    id: "disk",
    about: "A second log directory of one broker, on a disk of its own, in memory. About half of the broker's partitions lie there.",
    keys: &[
        key("broker", Kind::Integer { min: 1, max: 100 }, Required, "broker = 2", "Which broker's."),
        key("size", Kind::Size { min: 16 << 20, max: 16 << 30 }, Required, "size = \"64 MiB\"", "How much fits."),
    ],
    choices: &[],
    later: &[],
};

/// `[[topic]]`.
static TOPIC: Table = Table {
    name: "[[topic]]",
    id: "topic",
    about: "A topic made before the load begins.",
    keys: &[
        key("name", TOPIC_NAME, Required, "name = \"orders\"", "The topic's name."),
        key(
            "count",
            Kind::Integer { min: 1, max: 10_000 },
            Optional,
            "count = 100",
            "Makes so many topics alike, NAME-0, NAME-1 and so on. In `topics` of producers NAME stands for all of them.",
        ),
        key("partitions", PARTITIONS, Optional, "partitions = 6", "How many partitions. Needed unless `assignment` says it."),
        key("replication", REPLICATION, Optional, "replication = 3", "So many replicas of each partition, placed by Kafka."),
        key("assignment", ASSIGNMENT, Optional, "assignment = [[2], [2], [2]]", "Brokers of each partition, preferred leader first."),
        key("config", Kind::Config { producer: false }, Optional, "config = { \"min.insync.replicas\" = 2 }", "Properties of the topic."),
    ],
    choices: &[OneOf { keys: &["replication", "assignment"], required: true }],
    later: &[],
};

/// `[[producers]]`.
static PRODUCERS: Table = Table {
    name: "[[producers]]",
    id: "producers",
    about: "A group of producers alike, each a client of its own unless `share` says otherwise.",
    keys: PRODUCER_KEYS,
    choices: &[OneOf { keys: &["rate", "closed"], required: true }],
    later: &[],
};

/// Keys of `[[producers]]`.
const PRODUCER_KEYS: &[Key] = &[
    key("name", NAME, Required, "name = \"steady\"", "The group's name; client ids are NAME-0, NAME-1 and so on."),
    key("count", Kind::Integer { min: 1, max: 100_000 }, Default("1"), "count = 50", "How many producers."),
    key(
        "engine",
        Kind::Choice { words: &["native", "librdkafka", "java"], later: &[] },
        Default("native"),
        "engine = \"native\"",
        "Which client makes the load: this project's own producer, the C client (if built in), or Kafka's own.",
    ),
    key(
        "share",
        Kind::Integer { min: 1, max: 100_000 },
        Optional,
        "share = 10",
        "So many producers send through one client. Absent: each has its own.",
    ),
    key("topics", Kind::List(&TOPIC_NAME), Required, "topics = [\"orders\"]", "Each producer writes to all of them in turn."),
    key(
        "missing",
        Kind::List(&TOPIC_NAME),
        Optional,
        "missing = [\"oders\"]",
        "Those of `topics` that nobody makes, on purpose: what a misspelt name costs.",
    ),
    key(
        "rate",
        Kind::Text { what: "a rate in quotes", pattern: r"^(max|[0-9]+(\.[0-9]+)? */ *(s|min|h))$" },
        Optional,
        "rate = \"20/s\"",
        "Records per time of each producer, open loop: a record is due when it is due, whatever became of the ones before. Or \"max\".",
    ),
    key("closed", Kind::Table(&CLOSED), Optional, "closed = { wait = \"4s\" }", "Closed loop: send, wait for the outcome, send the next."),
    key(
        "arrivals",
        Kind::Choice { words: &["constant", "poisson"], later: &[] },
        Default("constant"),
        "arrivals = \"poisson\"",
        "Spacing of due times under `rate`.",
    ),
    key("record", Kind::Table(&RECORD), Optional, "record = { size = \"100 B\", keys = 1000 }", "Shape of a record."),
    key("active", Kind::Table(&ACTIVE), Optional, "active = { from = \"0s\", until = \"end\" }", "When the group sends."),
    key(
        "ramp",
        Kind::Duration,
        Default("0s"),
        "ramp = \"30s\"",
        "The producers start one after the other, evenly over this time, so that what each does by its own age happens at different moments.",
    ),
    key(
        "config",
        Kind::Config { producer: true },
        Optional,
        "config = { acks = \"all\", \"metadata.max.age.ms\" = 300000 }",
        "Producer properties, by the Java producer's own names.",
    ),
    key(
        "bootstrap",
        Kind::List(&Kind::Text { what: "host:port in quotes", pattern: r"^.+:[0-9]{1,5}$" }),
        Optional,
        "bootstrap = [\"127.0.0.1:9\"]",
        "Bootstrap list to give instead of the cluster's own, for instance a wrong one.",
    ),
];

/// `closed`.
static CLOSED: Table = Table {
    name: "`closed`",
    id: "closed",
    about: "Closed loop: send, wait for the outcome at most so long, send the next.",
    keys: &[
        key("wait", Kind::Duration, Required, "wait = \"4s\"", "Longest wait for an outcome."),
        key("every", Kind::Duration, Default("0s"), "every = \"100ms\"", "Shortest time between two sends; 0s: the next follows at once."),
    ],
    choices: &[],
    later: &[],
};

/// `record`.
static RECORD: Table = Table {
    name: "`record`",
    id: "record",
    about: "Shape of a record.",
    keys: &[
        key(
            "size",
            Kind::Size { min: 16, max: 64 << 20 },
            Default("100 B"),
            "size = \"100 B\"",
            "Bytes of the value; 16 B hold the producer and the sequence number, 28 B also the due time.",
        ),
        key(
            "keys",
            Kind::Integer { min: 1, max: 0xffff_ffff },
            Optional,
            "keys = 1000",
            "How many distinct keys. Absent: records have no key and follow the sticky partitioner.",
        ),
    ],
    choices: &[],
    later: &[],
};

/// `active`.
pub(super) static ACTIVE: Table = Table {
    name: "`active`",
    id: "active",
    about: "When a group sends, counted from the start of the load, warm-up included.",
    keys: &[
        key("from", Kind::Duration, Default("0s"), "from = \"0s\"", "First due time."),
        key(
            "until",
            Kind::Text { what: "\"end\" or a duration in quotes", pattern: "^(end|[0-9].*)$" },
            Default("end"),
            "until = \"10s\"",
            "No record is due from then on; \"end\": until the end of the run.",
        ),
    ],
    choices: &[],
    later: &[],
};

/// `[phases]`.
pub(in super::super) static PHASES: Table = Table {
    name: "[phases]",
    id: "phases",
    about: "Lengths of the phases around the steps.",
    keys: &[
        key("warmup", Kind::Duration, Default("5s"), "warmup = \"5s\"", "Load outside the baseline; counted and shown apart."),
        key("steady", Kind::Duration, Default("10s"), "steady = \"10s\"", "The baseline. Steps count from its end."),
        key("recovery", Kind::Duration, Default("30s"), "recovery = \"30s\"", "Load after the last step."),
    ],
    choices: &[],
    later: &[],
};

/// `[audit]`.
pub(in super::super) static AUDIT: Table = Table {
    name: "[audit]",
    id: "audit",
    about: "After the load every topic is read back, and each record that is there is set against what its client said of it.",
    keys: &[
        key(
            "read",
            Kind::Choice { words: &["all", "none"], later: &[] },
            Default("all"),
            "read = \"all\"",
            "`all`: every record is accounted for. `none`: nothing is read, and nothing is known of lost or duplicated records.",
        ),
        key(
            "within",
            Kind::Duration,
            Default("60s"),
            "within = \"60s\"",
            "Longest that reading may take; what is not read by then is unknown.",
        ),
    ],
    choices: &[],
    later: &[],
};

/// `[[expect]]`.
static EXPECT: Table = Table {
    name: "[[expect]]",
    id: "expect",
    about: "A condition on a figure of the run; one that does not hold makes the verdict FAIL.",
    keys: &[
        key("metric", Kind::Metric, Required, "metric = \"records.failed\"", "Which figure."),
        key("group", NAME, Optional, "group = \"steady\"", "Of which group. Absent: over all groups."),
        key(
            "window",
            Kind::Window,
            Optional,
            "window = \"step 1\"",
            "Over which part of the run: a phase, all steps, one by its number, or those of an action. Absent: the metric's usual one.",
        ),
        key(
            "except",
            Kind::List(&Kind::Window),
            Optional,
            "except = [\"step 1\"]",
            "Windows of which nothing counts: failures that are allowed.",
        ),
        key(
            "is",
            Kind::Text { what: "a comparison in quotes", pattern: r"^ *(==|!=|<=|>=|<|>) *[0-9].*$" },
            Required,
            "is = \"== 0\"",
            "How it compares with what: a number, a duration for metrics that are times, a size for those that are bytes.",
        ),
    ],
    choices: &[],
    later: &[],
};
