//! The arguments of `link`.

use super::Need::{Optional, Required};
use super::{Key, Kind, NAME, OneOf, Table, key};

/// `link`.
pub(super) static LINK: Table = Table {
    name: "`link`",
    id: "link",
    about: "Hurts the links from a node to others, or from clients to brokers, or mends them.",
    keys: KEYS,
    choices: &[OneOf { keys: &["fault", "delay"], required: false }, OneOf { keys: &["fault", "rate"], required: false }],
    later: &[],
};

/// Keys of `link`.
const KEYS: &[Key] = &[
    key(
        "from",
        Kind::Sender,
        Required,
        "from = 2",
        "Whose packets are dropped: a node's id, controllers included, or a role that is resolved when the step fires. \"clients\": the link between clients and brokers.",
    ),
    key(
        "to",
        Kind::Target,
        Required,
        "to = 4",
        "On their way to whom: a node's id or a role; \"all\": to every other node, from clients to every broker.",
    ),
    key("group", NAME, Optional, "group = \"steady\"", "From clients: which group's. Absent: all clients'."),
    key(
        "fault",
        Kind::Choice { words: &["black-hole", "reset", "half-open", "none"], later: &[] },
        Optional,
        "fault = \"black-hole\"",
        "What is done: nothing passes; from clients also: connections are reset, or lose their broker without being told. \"none\": the link is whole again.",
    ),
    key("delay", Kind::Duration, Optional, "delay = \"50ms\"", "From clients: so long all bytes are under way, in each direction."),
    key("jitter", Kind::Duration, Optional, "jitter = \"10ms\"", "With `delay`: by so much at most it varies, both ways."),
    key(
        "rate",
        Kind::Text { what: "bytes per second in quotes", pattern: super::BYTE_RATE_PATTERN },
        Optional,
        "rate = \"64 KiB/s\"",
        "From clients: so much passes in each direction, over all connections of the link together.",
    ),
    key("for", Kind::Duration, Optional, "for = \"12s\"", "Mended after so long. Absent: it stays until a later step mends it."),
];
