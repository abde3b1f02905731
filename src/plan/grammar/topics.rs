//! The arguments of steps on topics, and on the properties of topics and brokers.

use super::Need::{Default, Optional, Required};
use super::steps::BROKER;
use super::{ASSIGNMENT, Key, Kind, OneOf, PARTITION, PARTITIONS, REPLICATION, TOPIC_NAME, Table, arguments, key};

/// Which existing topic.
const TOPIC: Key = key("topic", TOPIC_NAME, Required, "topic = \"orders\"", "Which topic.");

pub(super) static ADD_PARTITIONS: Table = arguments(
    "`add-partitions`",
    "add-partitions",
    "Grows a topic.",
    &[TOPIC, key("to", PARTITIONS, Required, "to = 6", "The new total of partitions.")],
    &[],
);

pub(super) static CREATE_TOPIC: Table = arguments(
    "`create-topic`",
    "create-topic",
    "Creates a topic.",
    &[
        key("name", TOPIC_NAME, Required, "name = \"late\"", "The topic's name."),
        key("partitions", PARTITIONS, Optional, "partitions = 6", "How many partitions. Needed unless `assignment` says it."),
        key("replication", REPLICATION, Optional, "replication = 3", "So many replicas of each partition, placed by Kafka."),
        key("assignment", ASSIGNMENT, Optional, "assignment = [[2], [2], [2]]", "Brokers of each partition, preferred leader first."),
        key("config", Kind::Config { producer: false }, Optional, "config = { \"min.insync.replicas\" = 2 }", "Properties of the topic."),
    ],
    &[OneOf { keys: &["replication", "assignment"], required: true }],
);

pub(super) static DELETE_TOPIC: Table = arguments("`delete-topic`", "delete-topic", "Deletes a topic.", &[TOPIC], &[]);

pub(super) static RECREATE_TOPIC: Table = arguments(
    "`recreate-topic`",
    "recreate-topic",
    "Deletes a topic and makes one of the same name. What is not given is as it was.",
    &[
        TOPIC,
        key("partitions", PARTITIONS, Optional, "partitions = 3", "How many partitions. Absent: as before."),
        key("replication", REPLICATION, Optional, "replication = 3", "So many replicas of each partition. Absent: as before."),
        key("assignment", ASSIGNMENT, Optional, "assignment = [[2, 1], [1, 2]]", "Brokers of each partition, preferred leader first."),
        key(
            "config",
            Kind::Config { producer: false },
            Optional,
            "config = { \"min.insync.replicas\" = 2 }",
            "Properties of the new topic, all of them. Absent: as before.",
        ),
    ],
    &[OneOf { keys: &["replication", "assignment"], required: false }],
);

pub(super) static ELECT_LEADERS: Table = arguments(
    "`elect-leaders`",
    "elect-leaders",
    "Elects leaders of partitions.",
    &[
        TOPIC,
        key("partition", Kind::PartitionOrAll, Default("all"), "partition = 0", "Which partition; \"all\": every one of the topic."),
        key(
            "election",
            Kind::Choice { words: &["preferred", "unclean"], later: &[] },
            Default("preferred"),
            "election = \"preferred\"",
            "preferred: the first replica, if it is in sync. unclean: any live replica of a partition without a leader; records may be lost.",
        ),
    ],
    &[],
);

pub(super) static REASSIGN: Table = arguments(
    "`reassign`",
    "reassign",
    "Moves partitions of a topic to other brokers.",
    &[
        TOPIC,
        key("partition", PARTITION, Optional, "partition = 0", "Which partition. Absent: all of them."),
        key(
            "to",
            Kind::Replicas,
            Optional,
            "to = [[2, 1], [1, 2]]",
            "Brokers of each partition, preferred leader first; with `partition` one list.",
        ),
        key("brokers", Kind::Brokers, Optional, "brokers = [1, 2, 4]", "Or: over these brokers in turn, as many replicas as before."),
        key("within", Kind::Duration, Default("60s"), "within = \"60s\"", "Longest wait until all are moved; past it the step fails."),
    ],
    &[OneOf { keys: &["to", "brokers"], required: true }, OneOf { keys: &["partition", "brokers"], required: false }],
);

pub(super) static CONFIG: Table = arguments(
    "`config`",
    "config",
    "Changes properties of a topic or a broker while the run goes; at least one of `set` and `unset`.",
    &[
        key("topic", TOPIC_NAME, Optional, "topic = \"orders\"", "Which topic."),
        BROKER,
        key("set", Kind::Config { producer: false }, Optional, "set = { \"retention.ms\" = 60000 }", "Properties that get a value."),
        key(
            "unset",
            Kind::List(&Kind::Text { what: "a property's name in quotes", pattern: "" }),
            Optional,
            "unset = [\"retention.ms\"]",
            "Properties that fall back to what holds without the step.",
        ),
    ],
    &[OneOf { keys: &["topic", "broker"], required: true }],
);
