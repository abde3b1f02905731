//! `[cluster.security]`.

use super::Need::{Default, Optional, Required};
use super::{Kind, NAME, OneOf, Table, key};

/// `[cluster.security]`.
pub(super) static SECURITY: Table = Table {
    name: "[cluster.security]",
    id: "security",
    about: "How the listeners of clients and controllers are secured, and who all clients of the run are. See security.md.",
    keys: &[
        key(
            "protocol",
            Kind::Choice { words: &["SSL", "SASL_PLAINTEXT", "SASL_SSL"], later: &[] },
            Required,
            "protocol = \"SASL_SSL\"",
            "`SSL`: TLS, and clients show certificates. `SASL_PLAINTEXT`: a user and a password. `SASL_SSL`: these, in TLS.",
        ),
        key(
            "mechanism",
            Kind::Choice { words: &["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"], later: &[] },
            Optional,
            "mechanism = \"SCRAM-SHA-512\"",
            "How the password is proven. Needed with SASL.",
        ),
        key("user", NAME, Default("chaos"), "user = \"chaos\"", "The user that all clients are, with SASL."),
        key(
            "password",
            Kind::Table(&PASSWORD),
            Optional,
            "password = { env = \"CHAOS_PASSWORD\" }",
            "Where the password is found; it never stands in a plan. Absent: one is made up for each run.",
        ),
        key(
            "valid",
            Kind::Duration,
            Optional,
            "valid = \"10min\"",
            "With TLS: for how long the brokers' certificates are valid, from the cluster's making on. Absent: longer than any run.",
        ),
    ],
    choices: &[],
    later: &[],
};

/// `password`.
static PASSWORD: Table = Table {
    name: "`password`",
    id: "password",
    about: "Where a password is found when the run begins.",
    keys: &[
        key(
            "env",
            Kind::Text { what: "a variable's name in quotes", pattern: "^[A-Za-z_][A-Za-z0-9_]*$" },
            Optional,
            "env = \"CHAOS_PASSWORD\"",
            "In this environment variable.",
        ),
        key(
            "file",
            Kind::Text { what: "a path in quotes", pattern: "^.+$" },
            Optional,
            "file = \"/run/secrets/chaos\"",
            "In this file, without the line end at its end.",
        ),
    ],
    choices: &[OneOf { keys: &["env", "file"], required: true }],
    later: &[],
};
