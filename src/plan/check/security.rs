//! `[cluster.security]`, and what cannot be had together with it.

use std::path::PathBuf;

use crate::plan::model::{EngineKind, Login, NODE_USER, PasswordSource, Plan, SecuritySpec};
use crate::plan::problem::Problem;
use crate::plan::raw::Fields;

/// Parts of the names of properties that hold secrets.
const SECRETS: [&str; 6] = ["jaas.config", "password", "passphrase", "keystore.key", "client.secret", ".key.pem"];

/// End of the name of the property that bounds sessions (KIP-368).
const SESSION_LENGTH: &str = "connections.max.reauth.ms";

/// Whether a property of this name holds a secret, which never stands in a plan.
pub(super) fn holds_secret(property: &str) -> bool {
    let name = property.to_ascii_lowercase();
    SECRETS.iter().any(|part| name.contains(part))
}

pub(super) fn read(cluster: &Fields<'_>) -> Option<SecuritySpec> {
    let fields = cluster.table("security")?;
    let protocol = fields.choice("protocol")?;
    let (tls, sasl) = (protocol != "SASL_PLAINTEXT", protocol != "SSL");
    refuse_without(&fields, sasl, &["mechanism", "user", "password"], "there is no SASL with `protocol = \"SSL\"`");
    refuse_without(&fields, tls, &["valid"], "there are no certificates with `protocol = \"SASL_PLAINTEXT\"`");
    if fields.duration("valid").is_some_and(|valid| valid.is_zero()) {
        let problem = Problem::error(fields.span_of("valid"), "certificates that are never valid let no cluster start");
        fields.problems.push(problem.hint("give the cluster time to start: `valid = \"2min\"` or more"));
    }
    if sasl && !fields.has("mechanism") {
        let problem = Problem::error(fields.key_span("protocol"), format!("`protocol = \"{protocol}\"` needs `mechanism` beside it"));
        fields.problems.push(problem.hint("for instance `mechanism = \"SCRAM-SHA-512\"`").absent());
    }
    let login = if sasl { Some(login(&fields)?) } else { None };
    Some(SecuritySpec { tls, login, valid: fields.duration("valid").filter(|_| fields.has("valid")) })
}

fn refuse_without(fields: &Fields<'_>, has: bool, keys: &[&str], why: &str) {
    for key in keys.iter().filter(|key| !has && fields.has(key)) {
        fields.problems.push(Problem::error(fields.key_span(key), format!("`{key}` means nothing here: {why}")).hint("leave it out"));
    }
}

fn login(fields: &Fields<'_>) -> Option<Login> {
    let mechanism = match fields.choice("mechanism")? {
        "PLAIN" => "PLAIN",
        "SCRAM-SHA-256" => "SCRAM-SHA-256",
        _ => "SCRAM-SHA-512",
    };
    let user = fields.text("user")?;
    if user.value == NODE_USER {
        let problem = Problem::error(user.span, format!("the nodes themselves are `{NODE_USER}`"));
        fields.problems.push(problem.hint("name the clients' user otherwise"));
        return None;
    }
    let password = match fields.table("password") {
        None => PasswordSource::MadeUp,
        Some(source) if source.has("env") => PasswordSource::Env(source.text("env")?.value.to_owned()),
        Some(source) => PasswordSource::File(PathBuf::from(source.text("file")?.value)),
    };
    Some(Login { mechanism, user: user.value.to_owned(), password })
}

/// What a secured cluster cannot be used with.
pub(super) fn check(plan: &Plan, cluster: &Fields<'_>, producers: &[Fields<'_>]) {
    let Some(security) = &plan.cluster.security else { return };
    for (group, fields) in plan.producers.iter().zip(producers).filter(|(group, _)| group.engine == EngineKind::Librdkafka) {
        let message = format!("the engine {} cannot speak {}", group.engine.name(), security.protocol());
        let hint = "take `engine = \"native\"` or `\"java\"` with `[cluster.security]`";
        fields.problems.push(Problem::error(fields.span_of("engine"), message).hint(hint));
    }
    if security.login.is_some() && plan.cluster.config.keys().any(|name| name.ends_with(SESSION_LENGTH)) {
        let message = format!("with `{SESSION_LENGTH}` brokers close producers' connections when a session is over");
        let problem = Problem::warning(cluster.span_of("config"), message);
        cluster.problems.push(problem.hint("Java's clients log in again on the open connection, and the native producer does not"));
    }
    if security.tls && plan.cluster.links.clients {
        let message = "links to clients cannot be hurt in TLS: the relay cannot read who connects".to_owned();
        let problem = Problem::error(cluster.key_span("security"), message);
        cluster
            .problems
            .push(problem.hint("use `protocol = \"SASL_PLAINTEXT\"`, or leave out the steps with `link = { from = \"clients\", ... }`"));
    }
}
