//! How a cluster's listeners are secured, as a plan says it. No secret is in here: a plan tells where one is found.

use std::path::PathBuf;
use std::time::Duration;

/// The user that nodes are to each other; no client can be it.
pub const NODE_USER: &str = "chaos-node";

/// Security of the listeners of clients and controllers, and who all clients of the run are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecuritySpec {
    /// Whether connections are in TLS. Without SASL, clients show certificates.
    pub tls: bool,
    /// The user that all clients are; `None`: there is no SASL.
    pub login: Option<Login>,
    /// For how long the brokers' certificates are valid, from the cluster's making on; `None`: longer than any run.
    pub valid: Option<Duration>,
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// Kafka's name of the mechanism.
    pub mechanism: &'static str,
    /// Its name.
    pub user: String,
    /// Where its password is found.
    pub password: PasswordSource,
}

/// Where a password is found when the run begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PasswordSource {
    /// Nowhere: one is made up for each run.
    MadeUp,
    /// In this environment variable.
    Env(String),
    /// In this file.
    File(PathBuf),
}

impl SecuritySpec {
    /// Kafka's name of the protocol.
    #[must_use]
    pub fn protocol(&self) -> &'static str {
        match (self.tls, self.login.is_some()) {
            (true, false) => "SSL",
            (true, true) => "SASL_SSL",
            (false, true) => "SASL_PLAINTEXT",
            (false, false) => "PLAINTEXT",
        }
    }
}
