//! What the Java producer program is told of its group: lines of a Java properties file, then an empty one. Pure.

use std::fmt::Write;

use crate::cluster::AccessParts;
use crate::engine::schedule;
use crate::ids::HostPort;
use crate::kafka::net::security::Secret;
use crate::plan::model::{Arrivals, Load, ProducerGroup};

/// The settings of a group. They may hold what it takes to get into a secured cluster.
pub(super) fn text(group: &ProducerGroup, bootstrap: &[HostPort], access: Option<&AccessParts>, seed: u64) -> Secret {
    let mut lines = String::new();
    let mut set = |key: &str, value: &str| {
        // Writing into memory has no way to fail.
        let _ = writeln!(lines, "{}={}", escaped(key), escaped(value));
    };
    set("group", &group.name);
    set("seed", &seed.to_string());
    set("producers", &group.count.to_string());
    set("share", &schedule::senders_per_client(group).to_string());
    let (load, poisson, rate, wait, every) = match group.load {
        Load::Open { rate_per_second, arrivals } => ("OPEN", arrivals == Arrivals::Poisson, rate_per_second, 0, 0),
        Load::Max => ("MAX", false, 0.0, 0, 0),
        Load::Closed { wait, every } => ("CLOSED", false, 0.0, wait.as_micros(), every.as_micros()),
    };
    set("load", load);
    set("poisson", &poisson.to_string());
    // The shortest text that reads back as the same number, here and in Java.
    set("rate", &format!("{rate:?}"));
    set("wait", &wait.to_string());
    set("every", &every.to_string());
    set("ramp", &group.ramp.as_micros().to_string());
    set("size", &group.record.size_bytes.to_string());
    set("keys", &group.record.keys.map_or(0, std::num::NonZeroU32::get).to_string());
    for (place, topic) in group.topics.iter().enumerate() {
        set(&format!("topic.{place}"), topic.as_str());
    }
    for (key, value) in &group.config {
        set(&format!("config.{key}"), value);
    }
    for (key, value) in access.iter().flat_map(|access| access.java_properties()) {
        set(&format!("config.{key}"), value.expose());
    }
    let bootstrap: Vec<String> = bootstrap.iter().map(ToString::to_string).collect();
    set("config.bootstrap.servers", &bootstrap.join(","));
    lines.push('\n');
    Secret::new(lines)
}

/// All but letters, digits and a few signs as `\uXXXX`, which means the same everywhere in a properties file.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for unit in text.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() || b"._-,".contains(&byte) => escaped.push(char::from(byte)),
            _ => {
                // As above.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::java::tests::group;
    use crate::kafka::net::security::{Credentials, Mechanism};

    #[test]
    fn settings_are_lines_of_a_properties_file() {
        let mut group = group(Load::Open { rate_per_second: 0.1 + 0.2, arrivals: Arrivals::Poisson });
        group.ramp = std::time::Duration::from_millis(2_500);
        group.config.insert("metric.reporters".into(), "a=\"ü\" \n;".into());
        let bootstrap = [HostPort::new("127.0.0.1", 20_001), HostPort::new("127.0.0.1", 20_003)];
        let text = text(&group, &bootstrap, None, u64::MAX);
        let expected = "group=steady\nseed=18446744073709551615\nproducers=2\nshare=1\nload=OPEN\npoisson=true\nrate=0.30000000000000004\n\
                        wait=0\nevery=0\nramp=2500000\nsize=100\nkeys=0\ntopic.0=orders\n\
                        config.metric.reporters=a\\u003d\\u0022\\u00fc\\u0022\\u0020\\u000a\\u003b\n\
                        config.bootstrap.servers=127.0.0.1\\u003a20001,127.0.0.1\\u003a20003\n\n";
        assert_eq!(text.expose(), expected);
    }

    #[test]
    fn what_it_takes_to_get_in_is_among_them_and_not_shown() {
        let credentials = Credentials { mechanism: Mechanism::ScramSha512, user: "ann".into(), password: Secret::new("pen\"cil") };
        let access = AccessParts { authority: Some("authority".into()), certificate: None, credentials: Some(credentials) };
        let text = text(&group(Load::Max), &[], Some(&access), 1);
        let lines: Vec<&str> = text.expose().lines().filter(|line| line.starts_with("config.s")).collect();
        assert_eq!(
            lines[..3],
            ["config.security.protocol=SASL_SSL", "config.ssl.truststore.type=PEM", "config.ssl.truststore.certificates=authority"]
        );
        assert_eq!(lines[3], "config.sasl.mechanism=SCRAM-SHA-512");
        assert!(
            lines[4].starts_with("config.sasl.jaas.config=org.apache.kafka") && lines[4].contains("pen\\u005c\\u0022cil"),
            "{}",
            lines[4]
        );
        assert!(!format!("{text:?}").contains("cil"));
    }
}
