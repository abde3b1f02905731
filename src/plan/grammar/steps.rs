//! `[[step]]` and the arguments of each action.

use super::Need::{Default, Optional, Required};
use super::links::LINK;
use super::topics::{ADD_PARTITIONS, CONFIG, CREATE_TOPIC, DELETE_TOPIC, ELECT_LEADERS, REASSIGN, RECREATE_TOPIC};
use super::{CONDITION_PATTERN, Key, Kind, NODE_ID, OneOf, Table, arguments, key};

/// Actions of this version, in the order of documentation.
const ACTIONS: &[&str] = &[
    "kill",
    "stop",
    "start",
    "restart",
    "pause",
    "unpause",
    "disconnect",
    "connect",
    "limit",
    "add-broker",
    "rolling",
    "link",
    "add-partitions",
    "create-topic",
    "delete-topic",
    "recreate-topic",
    "elect-leaders",
    "reassign",
    "config",
    "wait",
    "repeat",
];

/// `[[step]]`.
pub(in super::super) static STEP: Table = Table {
    name: "a step",
    id: "step",
    about: "A timed action: `at` and exactly one action.",
    keys: &[
        key(
            "at",
            Kind::Duration,
            Required,
            "at = \"0s\"",
            "When it fires, counted from the end of `steady`; inside `repeat`, from the start of the round. A step that still runs delays the next.",
        ),
        key("kill", Kind::Table(&KILL), Optional, "kill = { broker = 2 }", "SIGKILL."),
        key("stop", Kind::Table(&STOP), Optional, "stop = { broker = 2, grace = \"30s\" }", "SIGTERM, then SIGKILL after the grace."),
        key("start", Kind::Table(&START), Optional, "start = { broker = 2 }", "Starts a node that is down."),
        key("restart", Kind::Table(&RESTART), Optional, "restart = { broker = 2, down = \"4s\" }", "Down, a while, up again."),
        key("pause", Kind::Table(&PAUSE), Optional, "pause = { broker = 2 }", "Freezes a node's processes: a silent failure."),
        key("unpause", Kind::Table(&UNPAUSE), Optional, "unpause = { broker = 2 }", "Thaws them."),
        key(
            "disconnect",
            Kind::Table(&DISCONNECT),
            Optional,
            "disconnect = { broker = 2 }",
            "Takes a node off its network: nobody reaches it, and it reaches nobody.",
        ),
        key("connect", Kind::Table(&CONNECT), Optional, "connect = { broker = 2 }", "Brings it back, under the same address."),
        key(
            "limit",
            Kind::Table(&LIMIT),
            Optional,
            "limit = { broker = 2, cpus = 0.5 }",
            "Limits what a node may use, or takes such a limit away.",
        ),
        key("add-broker", Kind::Table(&ADD_BROKER), Optional, "add-broker = {}", "Adds a broker, with the next free id."),
        key(
            "rolling",
            Kind::Table(&ROLLING),
            Optional,
            "rolling = { restart = \"kill\", then = \"isr-full\" }",
            "Restarts brokers one after the other.",
        ),
        key(
            "link",
            Kind::Table(&LINK),
            Optional,
            "link = { from = 2, to = 4, fault = \"black-hole\", for = \"12s\" }",
            "Hurts the links between nodes, or between clients and brokers, or mends them.",
        ),
        key("add-partitions", Kind::Table(&ADD_PARTITIONS), Optional, "add-partitions = { topic = \"orders\", to = 6 }", "Grows a topic."),
        key(
            "create-topic",
            Kind::Table(&CREATE_TOPIC),
            Optional,
            "create-topic = { name = \"late\", partitions = 3, replication = 1 }",
            "Creates a topic.",
        ),
        key("delete-topic", Kind::Table(&DELETE_TOPIC), Optional, "delete-topic = { topic = \"orders\" }", "Deletes a topic."),
        key(
            "recreate-topic",
            Kind::Table(&RECREATE_TOPIC),
            Optional,
            "recreate-topic = { topic = \"orders\" }",
            "Deletes a topic and makes one of the same name, which has another id.",
        ),
        key(
            "elect-leaders",
            Kind::Table(&ELECT_LEADERS),
            Optional,
            "elect-leaders = { topic = \"orders\", election = \"preferred\" }",
            "Elects leaders of partitions.",
        ),
        key(
            "reassign",
            Kind::Table(&REASSIGN),
            Optional,
            "reassign = { topic = \"orders\", partition = 0, to = [2, 1] }",
            "Moves partitions to other brokers.",
        ),
        key(
            "config",
            Kind::Table(&CONFIG),
            Optional,
            "config = { topic = \"orders\", set = { \"min.insync.replicas\" = 1 } }",
            "Changes properties of a topic or a broker while the run goes.",
        ),
        key("wait", Kind::Table(&WAIT), Optional, "wait = { for = \"isr-full\" }", "Waits for a condition or a time."),
        key(
            "repeat",
            Kind::Table(&REPEAT),
            Optional,
            "repeat = { times = 3, steps = [{ at = \"0s\", kill = { broker = 2 } }] }",
            "Does its steps several times.",
        ),
    ],
    choices: &[OneOf { keys: ACTIONS, required: true }],
    later: &[],
};

/// `broker`, the usual spelling of a target.
pub(super) const BROKER: Key = key(
    "broker",
    Kind::Target,
    Optional,
    "broker = 2",
    "A broker's id, or a role that is resolved when the step fires: leader-of(TOPIC/PARTITION), follower-of(TOPIC/PARTITION), controller, random, all.",
);
/// `node`, for nodes that are no brokers.
const NODE: Key = key("node", NODE_ID, Optional, "node = 4", "A node's id; for a node that is a controller only.");
/// One of both.
const ONE_TARGET: &[OneOf] = &[OneOf { keys: &["broker", "node"], required: true }];
/// Time for a controlled shutdown.
const GRACE: Key =
    key("grace", Kind::Duration, Default("30s"), "grace = \"30s\"", "Time for a controlled shutdown; past it the node is killed.");
/// Time between down and up.
const DOWN: Key = key("down", Kind::Duration, Default("4s"), "down = \"4s\"", "How long a node stays down.");
/// Kill or stop.
const HOW: Kind = Kind::Choice { words: &["kill", "stop"], later: &[] };
/// What to wait for.
const CONDITION: Kind = Kind::Text { what: "a condition or a duration in quotes", pattern: CONDITION_PATTERN };
/// The longest wait.
const WITHIN: Key =
    key("within", Kind::Duration, Default("60s"), "within = \"60s\"", "Longest wait for the condition; past it the step fails.");

static KILL: Table = arguments("`kill`", "kill", "SIGKILL.", &[BROKER, NODE], ONE_TARGET);
static STOP: Table = arguments("`stop`", "stop", "SIGTERM, then SIGKILL after the grace.", &[BROKER, NODE, GRACE], ONE_TARGET);
static START: Table = arguments("`start`", "start", "Starts a node that is down.", &[BROKER, NODE], ONE_TARGET);
static PAUSE: Table = arguments("`pause`", "pause", "Freezes a node's processes.", &[BROKER, NODE], ONE_TARGET);
static UNPAUSE: Table = arguments("`unpause`", "unpause", "Thaws a node's processes.", &[BROKER, NODE], ONE_TARGET);
static DISCONNECT: Table = arguments("`disconnect`", "disconnect", "Takes a node off its network.", &[BROKER, NODE], ONE_TARGET);
static CONNECT: Table = arguments("`connect`", "connect", "Brings a node back onto its network.", &[BROKER, NODE], ONE_TARGET);
static LIMIT: Table = arguments(
    "`limit`",
    "limit",
    "Limits what a node may use; at least one of `cpus` and `memory`.",
    &[
        BROKER,
        NODE,
        key("cpus", Kind::CpusOrNone, Optional, "cpus = 0.5", "So many cores at most; \"none\": all of them. Absent: as before."),
        key(
            "memory",
            Kind::SizeOrNone { min: 64 << 20, max: 64 << 30 },
            Optional,
            "memory = \"512 MiB\"",
            "So much memory at most; \"none\": what [cluster] says. Absent: as before.",
        ),
    ],
    ONE_TARGET,
);

static ADD_BROKER: Table = arguments("`add-broker`", "add-broker", "Adds a broker to the cluster.", &[], &[]);

static RESTART: Table = arguments(
    "`restart`",
    "restart",
    "Down, a while, up again.",
    &[BROKER, NODE, key("how", HOW, Default("kill"), "how = \"stop\"", "How it goes down."), GRACE, DOWN],
    ONE_TARGET,
);

static ROLLING: Table = arguments(
    "`rolling`",
    "rolling",
    "Restarts brokers one after the other.",
    &[
        key("restart", HOW, Default("kill"), "restart = \"stop\"", "How each goes down."),
        key("brokers", Kind::Brokers, Default("all"), "brokers = [1, 2, 3]", "Which brokers, in which order; \"all\": every broker by id."),
        GRACE,
        DOWN,
        key("then", CONDITION, Optional, "then = \"isr-full\"", "What must hold before the next. Absent: the next follows at once."),
        WITHIN,
    ],
    &[],
);

static WAIT: Table = arguments(
    "`wait`",
    "wait",
    "Waits for a condition or a time.",
    &[
        key("for", CONDITION, Required, "for = \"isr-full\"", "isr-full, caught-up, leader-of(TOPIC/PARTITION), or a duration."),
        key("is", NODE_ID, Optional, "is = 2", "With leader-of: which broker must lead. Absent: anyone."),
        WITHIN,
    ],
    &[],
);

/// `repeat`, whose `steps` are steps again.
static REPEAT: Table = arguments(
    "`repeat`",
    "repeat",
    "Does its steps several times.",
    &[
        key("times", Kind::Integer { min: 1, max: 1000 }, Required, "times = 3", "How often."),
        key(
            "steps",
            Kind::Tables(&STEP),
            Required,
            "steps = [{ at = \"0s\", kill = { broker = 2 } }]",
            "What, `at` counted from the start of each round.",
        ),
    ],
    &[],
);
