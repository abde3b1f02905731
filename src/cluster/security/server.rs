//! A node's properties that hold secrets, as a file of Java's properties. Pure.

use std::fmt::Write as _;

use crate::kafka::net::security::{ClientCertificate, Credentials, Mechanism, Secret};
use crate::plan::model::{NODE_USER, SecuritySpec};

/// What Kafka's modules for logins are called.
const PLAIN_MODULE: &str = "org.apache.kafka.common.security.plain.PlainLoginModule";
const SCRAM_MODULE: &str = "org.apache.kafka.common.security.scram.ScramLoginModule";

/// The file. `identity`: the node's certificate, and that of the authority. `users`: the clients' user, and the nodes' password among each other.
pub(super) fn properties(
    spec: &SecuritySpec,
    identity: Option<(&ClientCertificate, &str)>,
    users: Option<(&Credentials, &Secret)>,
) -> Secret {
    let mut lines = String::new();
    let mut set = |name: &str, value: &str| {
        let _ = writeln!(lines, "{name}={}", escaped(value));
    };
    if let Some((certificate, authority)) = identity {
        set("ssl.keystore.type", "PEM");
        set("ssl.keystore.certificate.chain", &certificate.chain);
        set("ssl.keystore.key", certificate.key.expose());
        set("ssl.truststore.type", "PEM");
        set("ssl.truststore.certificates", authority);
        set("ssl.client.auth", if spec.login.is_none() { "required" } else { "none" });
    }
    if let Some((clients, node_password)) = users {
        let mechanism = clients.mechanism.name();
        set("listener.name.client.sasl.enabled.mechanisms", mechanism);
        let known = entry(&clients.user, &clients.password);
        let module = match clients.mechanism {
            Mechanism::Plain => format!("{PLAIN_MODULE} required {known};"),
            Mechanism::ScramSha256 | Mechanism::ScramSha512 => format!("{SCRAM_MODULE} required;"),
        };
        set(&format!("listener.name.client.{}.sasl.jaas.config", mechanism.to_lowercase()), &module);
        set("sasl.mechanism.controller.protocol", "PLAIN");
        set("listener.name.controller.sasl.enabled.mechanisms", "PLAIN");
        let own = format!("username=\"{}\" password=\"{}\"", NODE_USER, quoted(node_password.expose()));
        let nodes = entry(NODE_USER, node_password);
        set("listener.name.controller.plain.sasl.jaas.config", &format!("{PLAIN_MODULE} required {own} {nodes} {known};"));
    }
    Secret::new(lines)
}

/// The line of JAAS by which a client of Kafka's own logs in.
pub(super) fn client_login(credentials: &Credentials) -> Secret {
    let module = if credentials.mechanism == Mechanism::Plain { PLAIN_MODULE } else { SCRAM_MODULE };
    let (user, password) = (quoted(&credentials.user), quoted(credentials.password.expose()));
    Secret::new(format!("{module} required username=\"{user}\" password=\"{password}\";"))
}

/// A user that a listener knows.
fn entry(user: &str, password: &Secret) -> String {
    format!("\"user_{}\"=\"{}\"", quoted(user), quoted(password.expose()))
}

/// As it stands between quotes in a line of JAAS.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t")
}

/// As it stands behind the equals sign of a properties file, which is read as ISO 8859-1.
fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len() + 16);
    for (index, unit) in value.encode_utf16().enumerate() {
        match u8::try_from(unit) {
            Ok(b'\\') => text.push_str("\\\\"),
            Ok(b'\n') => text.push_str("\\n"),
            Ok(b'\r') => text.push_str("\\r"),
            Ok(b' ') if index == 0 => text.push_str("\\ "),
            Ok(byte @ b' '..=b'~') => text.push(char::from(byte)),
            _ => {
                let _ = write!(text, "\\u{unit:04x}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::model::{Login, PasswordSource};

    fn spec(tls: bool, sasl: bool) -> SecuritySpec {
        let login = Login { mechanism: "PLAIN", user: "chaos".into(), password: PasswordSource::MadeUp };
        SecuritySpec { tls, login: sasl.then_some(login), valid: None }
    }

    #[test]
    fn a_password_may_have_anything_in_it() {
        let clients = Credentials { mechanism: Mechanism::Plain, user: "chaos".into(), password: Secret::new("a\"b\\c ä;€\n") };
        let text = properties(&spec(false, true), None, Some((&clients, &Secret::new("x"))));
        let lines: Vec<&str> = text.expose().lines().collect();
        assert_eq!(lines.len(), 5);
        let expected = r#"listener.name.client.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required "user_chaos"="a\\"b\\\\c \u00e4;\u20ac\\n";"#;
        assert_eq!(lines[1], expected);
    }

    #[test]
    fn clients_show_certificates_where_they_have_no_password() {
        let certificate = ClientCertificate { chain: "one\ntwo\n".into(), key: Secret::new("key") };
        for (sasl, expected) in [(false, "ssl.client.auth=required\n"), (true, "ssl.client.auth=none\n")] {
            let text = properties(&spec(true, sasl), Some((&certificate, "authority")), None);
            assert!(text.expose().contains(expected) && text.expose().contains("chain=one\\ntwo\\n\n"), "{}", text.expose());
        }
    }

    #[test]
    fn users_of_scram_are_not_in_the_file_but_for_the_controllers() {
        let clients = Credentials { mechanism: Mechanism::ScramSha512, user: "chaos".into(), password: Secret::new("secret") };
        let text = properties(&spec(false, true), None, Some((&clients, &Secret::new("x"))));
        let with: Vec<&str> = text.expose().lines().filter(|line| line.contains("secret")).collect();
        assert!(matches!(with[..], [line] if line.starts_with("listener.name.controller.plain.")), "{with:?}");
        assert!(text.expose().contains("listener.name.client.scram-sha-512.sasl.jaas.config="));
    }
}
