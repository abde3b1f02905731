//! `[[requesters]]`.

use super::Need::{Default, Optional, Required};
use super::sections::ACTIVE;
use super::{Kind, NAME, Table, key};

/// `[[requesters]]`.
pub(super) static REQUESTERS: Table = Table {
    name: "[[requesters]]",
    id: "requesters",
    about: "A group of clients that send nothing but Metadata requests.",
    keys: &[
        key("name", NAME, Required, "name = \"storm\"", "The group's name; client ids are NAME-0, NAME-1 and so on."),
        key("count", Kind::Integer { min: 1, max: 10_000 }, Default("1"), "count = 20", "How many, each with a connection of its own."),
        key(
            "rate",
            Kind::Text { what: "a rate in quotes", pattern: r"^[0-9]+(\.[0-9]+)? */ *(s|min|h)$" },
            Required,
            "rate = \"5/s\"",
            "Requests per time of each, open loop: none is skipped, whatever became of the ones before.",
        ),
        key(
            "list",
            Kind::TopicList,
            Required,
            "list = \"all\"",
            "The topics that a request names. \"all\": a null list, which asks for every topic; \"none\": an empty one, which asks for brokers alone.",
        ),
        key("active", Kind::Table(&ACTIVE), Optional, "active = { from = \"0s\", until = \"end\" }", "When the group asks."),
    ],
    choices: &[],
    later: &[],
};
