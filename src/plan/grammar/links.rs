//! The arguments of `link`.

use super::Need::{Optional, Required};
use super::{Kind, Table, key};

/// `link`.
pub(super) static LINK: Table = Table {
    name: "`link`",
    id: "link",
    about: "Cuts a node off from others, or mends that.",
    keys: &[
        key(
            "from",
            Kind::Target,
            Required,
            "from = 2",
            "Whose packets are dropped: a node's id, controllers included, or a role that is resolved when the step fires.",
        ),
        key("to", Kind::Target, Required, "to = 4", "On their way to whom: a node's id or a role; \"all\": to every other node."),
        key(
            "fault",
            Kind::Choice { words: &["black-hole", "none"], later: &[] },
            Required,
            "fault = \"black-hole\"",
            "What is done: all packets are dropped (one direction is enough to stop TCP); \"none\": the link is whole again.",
        ),
        key("for", Kind::Duration, Optional, "for = \"12s\"", "Mended after so long. Absent: it stays until a later step mends it."),
    ],
    choices: &[],
    later: &[],
};
