//! `[cluster.security]` in plans: what it may say, and what cannot be had together with it.

use kafka_chaos::plan;
use kafka_chaos::plan::model::PasswordSource;

use crate::plan_check::{BASE, KILL, problems, spoiled};

/// The base with these lines as its security.
fn secured(lines: &str) -> String {
    BASE.replacen("[[topic]]", &format!("[cluster.security]\n{lines}\n\n[[topic]]"), 1)
}

#[test]
fn security() {
    let cases = [
        "",
        "protocol = \"TLS\"",
        "protocol = \"SASL_SSL\"",
        "protocol = \"SSL\"\nmechanism = \"PLAIN\"",
        "protocol = \"SSL\"\npassword = { env = \"SECRET\" }",
        "protocol = \"SASL_PLAINTEXT\"\nmechanism = \"PLAIN\"\nvalid = \"1min\"",
        "protocol = \"SSL\"\nvalid = \"0s\"",
        "protocol = \"SASL_SSL\"\nmechanism = \"GSSAPI\"",
        "protocol = \"SASL_SSL\"\nmechanism = \"PLAIN\"\nuser = \"chaos-node\"",
        "protocol = \"SASL_SSL\"\nmechanism = \"PLAIN\"\npassword = \"secret\"",
        "protocol = \"SASL_SSL\"\nmechanism = \"PLAIN\"\npassword = {}",
        "protocol = \"SASL_SSL\"\nmechanism = \"PLAIN\"\npassword = { env = \"A\", file = \"b\" }",
    ];
    let cases: Vec<(&str, String)> = cases.iter().map(|lines| ("[[topic]]", format!("[cluster.security]\n{lines}\n\n[[topic]]"))).collect();
    let cases: Vec<(&str, &str)> = cases.iter().map(|(from, to)| (*from, to.as_str())).collect();
    insta::assert_snapshot!(spoiled(&cases));
}

#[test]
fn what_cannot_be_had_with_security_is_an_error() {
    let tls = secured("protocol = \"SSL\"");
    assert!(problems(&tls).is_empty(), "{}", problems(&tls));
    let by = |engine: &str| problems(&tls.replacen("rate =", &format!("engine = \"{engine}\"\nrate ="), 1)).to_string();
    assert!(by("librdkafka").contains("the engine librdkafka cannot speak SSL"), "{}", by("librdkafka"));
    assert_eq!(by("java"), "");
    let hurt = |text: &str| text.replacen(KILL, "link = { from = \"clients\", to = 2, fault = \"reset\", for = \"2s\" }", 1);
    let said = problems(&hurt(&tls)).to_string();
    assert!(said.contains("links to clients cannot be hurt in TLS"), "{said}");
    let said = problems(&hurt(&secured("protocol = \"SASL_PLAINTEXT\"\nmechanism = \"PLAIN\""))).to_string();
    assert!(!said.contains("in TLS"), "{said}");
}

#[test]
fn sessions_that_end_are_a_warning() {
    let session = |text: &str| text.replacen("\"broker.session.timeout.ms\" = 9000", "\"connections.max.reauth.ms\" = 9000", 1);
    let said = problems(&session(&secured("protocol = \"SASL_PLAINTEXT\"\nmechanism = \"PLAIN\""))).to_string();
    assert!(said.starts_with("warning: with `connections.max.reauth.ms` brokers close producers' connections"), "{said}");
    assert_eq!(problems(&session(BASE)).to_string(), "");
}

#[test]
fn no_property_of_a_plan_holds_a_secret() {
    for name in ["ssl.keystore.key", "ssl.truststore.password", "listener.name.client.plain.sasl.jaas.config"] {
        let text = BASE.replacen("\"broker.session.timeout.ms\" = 9000", &format!("\"{name}\" = \"x\""), 1);
        let said = problems(&text).to_string();
        assert!(said.contains(&format!("`{name}` holds a secret, and a plan's text is part of each run's results")), "{said}");
    }
    let text = BASE.replacen("acks = \"all\"", "\"sasl.jaas.config\" = \"x\"", 1);
    let said = problems(&text).to_string();
    assert!(said.contains("secrets never stand in plans"), "{said}");
}

#[test]
fn a_plan_says_where_the_password_is_not_what() {
    let of = |lines: &str| plan::parse("plan.toml", &secured(lines)).unwrap().plan.cluster.security.unwrap();
    let login = "protocol = \"SASL_SSL\"\nmechanism = \"SCRAM-SHA-256\"";
    let rows = [
        ("", PasswordSource::MadeUp),
        ("password = { env = \"SECRET\" }", PasswordSource::Env("SECRET".into())),
        ("password = { file = \"/run/x\" }", PasswordSource::File("/run/x".into())),
    ];
    for (line, expected) in rows {
        let security = of(&format!("{login}\n{line}"));
        assert_eq!((security.protocol(), security.login.unwrap().password), ("SASL_SSL", expected));
    }
    let tls = of("protocol = \"SSL\"\nvalid = \"2min\"");
    assert_eq!((tls.login, tls.valid), (None, Some(std::time::Duration::from_secs(120))));
}
