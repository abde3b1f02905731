//! Producer properties by the Java producer's own names: which exist, which values they take, and which of them this version honours.
//!
//! Pure; knows no TOML. `check` puts its findings under a caret; the client converts what passed here into numbers without a second
//! set of messages.

mod keys;
pub mod librdkafka;
mod reasons;

use std::collections::BTreeMap;

pub use reasons::reason;

use super::model::EngineKind;
use super::problem::{Severity, nearest};

/// What this version does with a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// The native producer does what Java's does.
    Honoured,
    /// A property of Java's that the native producer does not follow yet.
    NotYet {
        /// The value that says what the native producer does anyway; a plan that gives it needs no warning.
        like: Option<&'static str>,
    },
    /// The plan says this in another place, or the load decides it; the text says where.
    Refused(&'static str),
    /// No producer knows it.
    Unknown,
}

/// Which values a property takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Whole {
        /// Lowest.
        min: i64,
        /// Highest.
        max: i64,
    },
    /// One number, or a whole number within bounds.
    WholeOr {
        /// The number that is allowed besides.
        also: i64,
        /// Lowest.
        min: i64,
        /// Highest.
        max: i64,
    },
    /// A number.
    Number,
    /// `true` or `false`.
    Truth,
    /// One of these.
    Word {
        /// The words.
        words: &'static [&'static str],
        /// Whether case does not matter.
        any_case: bool,
    },
    /// Anything.
    Text,
}

/// A property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// Its values.
    pub value: Value,
    /// What this version does with it.
    pub support: Support,
}

/// Something to say about one property of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which property.
    pub key: String,
    /// Whether the caret belongs under the value rather than under the name.
    pub about_value: bool,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// All properties, sorted by name.
#[must_use]
pub fn settings() -> &'static [Setting] {
    keys::SETTINGS
}

/// The property of this name.
#[must_use]
pub fn setting(name: &str) -> Option<&'static Setting> {
    keys::SETTINGS.binary_search_by(|setting| setting.name.cmp(name)).ok().and_then(|index| keys::SETTINGS.get(index))
}

/// What this version does with a property of this name.
#[must_use]
pub fn classify(name: &str) -> Support {
    setting(name).map_or(Support::Unknown, |setting| setting.support)
}

/// Everything to say about a group's properties when this client is to follow them: each by itself, then those that must fit each other.
#[must_use]
pub fn examine(config: &BTreeMap<String, String>, engine: EngineKind) -> Vec<Finding> {
    let mut findings: Vec<Finding> = config.iter().filter_map(|(key, value)| examine_one(key, value, engine)).collect();
    // librdkafka has no such rule.
    if engine != EngineKind::Librdkafka {
        findings.extend(delivery_timeout_too_short(config));
    }
    findings.extend(unfit_for_idempotence(config, engine));
    findings.extend(zstd_not_built_in(config, engine));
    findings.extend(
        [
            never_reached(config, "retry.backoff.ms", "retry.backoff.max.ms"),
            never_reached(config, "reconnect.backoff.ms", "reconnect.backoff.max.ms"),
            never_reached(config, "socket.connection.setup.timeout.ms", "socket.connection.setup.timeout.max.ms"),
        ]
        .into_iter()
        .flatten(),
    );
    findings
}

fn examine_one(key: &str, value: &str, engine: EngineKind) -> Option<Finding> {
    let Some(setting) = setting(key) else {
        let names: Vec<&str> = keys::SETTINGS.iter().map(|setting| setting.name).collect();
        let hint = match nearest(key, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "names are those of the Java producer, such as `linger.ms`".to_owned(),
        };
        return Some(about_key(key, Severity::Error, format!("no producer has a property `{key}`"), hint));
    };
    if let Support::Refused(instead) = setting.support {
        return Some(about_key(key, Severity::Error, format!("`{key}` cannot be set here"), instead.to_owned()));
    }
    if let Some(finding) = wrong_value(setting, value) {
        return Some(finding);
    }
    if engine == EngineKind::Librdkafka {
        return librdkafka::examine(key, value);
    }
    match setting.support {
        Support::NotYet { like } if engine == EngineKind::Native && like.is_none_or(|like| !like.eq_ignore_ascii_case(value.trim())) => {
            let hint = match like {
                Some(like) => format!("it behaves as with \"{like}\""),
                None => "it has no effect: leave it out, or do not count on it".to_owned(),
            };
            let message = format!("the native producer does not honour `{key}`: it {}", reason(key));
            Some(about_key(key, Severity::Warning, message, hint))
        }
        _ => None,
    }
}

fn wrong_value(setting: &Setting, value: &str) -> Option<Finding> {
    let value = value.trim();
    let bounds = "the bounds are the Java producer's own".to_owned();
    let (takes, hint) = match setting.value {
        Value::Whole { min, max } => match value.parse::<i64>() {
            Ok(number) if (min..=max).contains(&number) => return None,
            Ok(_) if max == i64::MAX => (format!("is at least {min}"), bounds),
            Ok(_) => (format!("lies between {min} and {max}"), bounds),
            Err(_) if setting.name.ends_with(".ms") => {
                ("is a whole number".to_owned(), "it counts milliseconds and has no unit, as in Java".to_owned())
            }
            Err(_) => ("is a whole number".to_owned(), "it has no unit, as in Java".to_owned()),
        },
        Value::WholeOr { also, min, max } => match value.parse::<i64>() {
            Ok(number) if number == also || (min..=max).contains(&number) => return None,
            _ => (format!("lies between {min} and {max}, or is {also}"), bounds),
        },
        Value::Number if value.parse::<f64>().is_ok() => return None,
        Value::Number => ("is a number".to_owned(), "for instance 0.8".to_owned()),
        Value::Truth if value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false") => return None,
        Value::Truth => ("is true or false".to_owned(), "write one of both".to_owned()),
        Value::Word { words, any_case } if words.iter().any(|word| *word == value || (any_case && word.eq_ignore_ascii_case(value))) => {
            return None;
        }
        Value::Word { words, .. } => {
            (format!("is one of {}", words.join(", ")), format!("for instance \"{}\"", words.first().unwrap_or(&"")))
        }
        Value::Text => return None,
    };
    let message = format!("`{}` {takes}", setting.name);
    Some(Finding { key: setting.name.to_owned(), about_value: true, severity: Severity::Error, message, hint })
}

/// A whole number of the plan, if it is there and one.
fn number(config: &BTreeMap<String, String>, key: &str) -> Option<i64> {
    config.get(key)?.trim().parse().ok()
}

/// Java refuses this too, if `delivery.timeout.ms` is given; left out, it grows by itself.
fn delivery_timeout_too_short(config: &BTreeMap<String, String>) -> Option<Finding> {
    let delivery = number(config, "delivery.timeout.ms")?;
    let linger = number(config, "linger.ms").unwrap_or(5);
    let request = number(config, "request.timeout.ms").unwrap_or(30_000);
    let least = linger.saturating_add(request).min(i64::from(i32::MAX));
    (delivery >= 0 && delivery < least).then(|| Finding {
        key: "delivery.timeout.ms".to_owned(),
        about_value: true,
        severity: Severity::Error,
        message: format!("`delivery.timeout.ms` is less than `linger.ms` + `request.timeout.ms` = {linger} + {request}"),
        hint: format!("make it at least {least}, or lower `request.timeout.ms`"),
    })
}

/// Java refuses what idempotence cannot live with, if it is asked for; too many requests in flight even if it is on by default alone.
fn unfit_for_idempotence(config: &BTreeMap<String, String>, engine: EngineKind) -> Vec<Finding> {
    let said = config.get("enable.idempotence").map(|said| said.trim().to_ascii_lowercase());
    let (asked, off) = (said.as_deref() == Some("true"), said.as_deref() == Some("false"));
    // librdkafka has it off by default.
    let off = off || engine == EngineKind::Librdkafka && !asked;
    let error = |key: &str, message, hint: &str| Finding {
        key: key.to_owned(),
        about_value: true,
        severity: Severity::Error,
        message,
        hint: hint.to_owned(),
    };
    let mut findings = Vec::new();
    if let Some(acks) = config.get("acks").map(|acks| acks.trim()).filter(|acks| asked && matches!(*acks, "0" | "1")) {
        let message = format!("`enable.idempotence` = true needs `acks` = \"all\", not {acks}");
        findings.push(error("acks", message, "give `acks` = \"all\", or leave `enable.idempotence` out"));
    }
    if asked && number(config, "retries") == Some(0) {
        let message = "`enable.idempotence` = true needs `retries` above 0".to_owned();
        findings.push(error("retries", message, "leave `retries` out, or `enable.idempotence`"));
    }
    const IN_FLIGHT: &str = "max.in.flight.requests.per.connection";
    if let Some(in_flight) = number(config, IN_FLIGHT).filter(|in_flight| !off && *in_flight > 5) {
        let message = format!("idempotence, which is on by default, takes at most 5 requests in flight, not {in_flight}");
        findings.push(error(IN_FLIGHT, message, "make it 5 or less, or give `enable.idempotence` = false"));
    }
    findings
}

/// The codec is C code, and not part of every build.
fn zstd_not_built_in(config: &BTreeMap<String, String>, engine: EngineKind) -> Option<Finding> {
    let is_missing = engine == EngineKind::Native && !cfg!(feature = "zstd") && config.get("compression.type")?.trim() == "zstd";
    is_missing.then(|| Finding {
        key: "compression.type".to_owned(),
        about_value: true,
        severity: Severity::Error,
        message: "this build cannot compress with zstd, which is C code".to_owned(),
        hint: "take gzip, snappy or lz4, or build with `cargo build --release --features zstd`".to_owned(),
    })
}

/// A first delay above its own ceiling: Java warns, and uses the ceiling.
fn never_reached(config: &BTreeMap<String, String>, first: &str, ceiling: &str) -> Option<Finding> {
    let (low, high) = (number(config, first)?, number(config, ceiling)?);
    let message = format!("`{first}` = {low} lies above `{ceiling}` = {high}, which then holds from the start");
    let hint = format!("raise `{ceiling}`, or lower `{first}`");
    (low > high).then(|| Finding { key: first.to_owned(), about_value: true, severity: Severity::Warning, message, hint })
}

fn about_key(key: &str, severity: Severity, message: String, hint: String) -> Finding {
    Finding { key: key.to_owned(), about_value: false, severity, message, hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(pairs: &[(&str, &str)]) -> Vec<String> {
        let config = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let line = |finding: Finding| format!("{:?}: {} | {}", finding.severity, finding.message, finding.hint);
        examine(&config, EngineKind::Native).into_iter().map(line).collect()
    }

    #[test]
    fn settings_are_sorted_and_unique() {
        assert!(keys::SETTINGS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn names_fall_into_four_classes() {
        assert_eq!(classify("linger.ms"), Support::Honoured);
        assert_eq!(classify("compression.lz4.level"), Support::NotYet { like: Some("9") });
        assert!(matches!(classify("bootstrap.servers"), Support::Refused(_)));
        assert_eq!(classify("lingr.ms"), Support::Unknown);
    }

    #[test]
    fn what_the_native_producer_does_anyway_needs_no_warning() {
        for (key, value) in
            [("enable.metrics.push", "false"), ("compression.type", "none"), ("acks", "-1"), ("security.protocol", "plaintext")]
        {
            assert!(said(&[(key, value)]).is_empty(), "{key}");
        }
        insta::assert_snapshot!(said(&[("enable.metrics.push", "true"), ("client.dns.lookup", "resolve_canonical_bootstrap_servers_only"), ("sasl.mechanism", "PLAIN")]).join("\n"), @r#"
        Warning: the native producer does not honour `client.dns.lookup`: it takes a host's next address at each attempt, and looks up no canonical names | it behaves as with "use_all_dns_ips"
        Warning: the native producer does not honour `enable.metrics.push`: it sends no metrics of its own to brokers (KIP-714) | it behaves as with "false"
        Warning: the native producer does not honour `sasl.mechanism`: it logs in as `[cluster.security]` says | it has no effect: leave it out, or do not count on it
        "#);
    }

    #[test]
    fn wrong_values_are_named() {
        let pairs = [
            ("linger.ms", "-1"),
            ("request.timeout.ms", "30s"),
            ("acks", "2"),
            ("partitioner.ignore.keys", "yes"),
            ("sasl.login.refresh.window.factor", "wide"),
            ("compression.gzip.level", "0"),
            ("sasl.login.refresh.buffer.seconds", "4000"),
            ("metdata.max.age.ms", "1"),
            ("zzz", "1"),
            ("client.id", "me"),
        ];
        insta::assert_snapshot!(said(&pairs).join("\n"), @r#"
        Error: `acks` is one of all, -1, 0, 1 | for instance "all"
        Error: `client.id` cannot be set here | the group's name makes it: NAME-0, NAME-1 and so on
        Error: `compression.gzip.level` lies between 1 and 9, or is -1 | the bounds are the Java producer's own
        Error: `linger.ms` is at least 0 | the bounds are the Java producer's own
        Error: no producer has a property `metdata.max.age.ms` | did you mean `metadata.max.age.ms`?
        Error: `partitioner.ignore.keys` is true or false | write one of both
        Error: `request.timeout.ms` is a whole number | it counts milliseconds and has no unit, as in Java
        Error: `sasl.login.refresh.buffer.seconds` lies between 0 and 3600 | the bounds are the Java producer's own
        Error: `sasl.login.refresh.window.factor` is a number | for instance 0.8
        Error: no producer has a property `zzz` | names are those of the Java producer, such as `linger.ms`
        "#);
    }

    #[test]
    fn idempotence_must_be_possible() {
        for fits in [
            vec![("acks", "1")],
            vec![("retries", "0")],
            vec![("max.in.flight.requests.per.connection", "6"), ("enable.idempotence", "false")],
        ] {
            assert!(said(&fits).is_empty(), "{fits:?}");
        }
        let all = [("enable.idempotence", "true"), ("acks", "1"), ("retries", "0"), ("max.in.flight.requests.per.connection", "6")];
        insta::assert_snapshot!(said(&all).join("\n"), @r#"
        Error: `enable.idempotence` = true needs `acks` = "all", not 1 | give `acks` = "all", or leave `enable.idempotence` out
        Error: `enable.idempotence` = true needs `retries` above 0 | leave `retries` out, or `enable.idempotence`
        Error: idempotence, which is on by default, takes at most 5 requests in flight, not 6 | make it 5 or less, or give `enable.idempotence` = false
        "#);
        insta::assert_snapshot!(said(&[("transactional.id", "t-1")]).join("\n"), @r#"
        Error: `transactional.id` cannot be set here | chaos's producers have no transactions; idempotence needs only `enable.idempotence`
        "#);
    }

    #[test]
    fn zstd_needs_a_build_that_has_it() {
        let found = said(&[("compression.type", "zstd")]);
        assert_eq!(found.is_empty(), cfg!(feature = "zstd"), "{found:?}");
        assert!(said(&[("compression.type", "lz4"), ("compression.lz4.level", "9"), ("compression.gzip.level", "-1")]).is_empty());
        let java = BTreeMap::from([("compression.type".to_owned(), "zstd".to_owned())]);
        assert!(examine(&java, EngineKind::Java).is_empty());
    }

    #[test]
    fn every_property_without_effect_has_its_reason() {
        let without: Vec<_> = keys::SETTINGS.iter().filter(|setting| matches!(setting.support, Support::NotYet { .. })).collect();
        assert!(without.iter().all(|setting| reason(setting.name) != "is not built for it yet"));
    }

    #[test]
    fn values_must_fit_each_other() {
        assert!(said(&[("delivery.timeout.ms", "30005")]).is_empty());
        insta::assert_snapshot!(said(&[("delivery.timeout.ms", "30004")]).join("\n"), @r#"
        Error: `delivery.timeout.ms` is less than `linger.ms` + `request.timeout.ms` = 5 + 30000 | make it at least 30005, or lower `request.timeout.ms`
        "#);
        assert!(said(&[("request.timeout.ms", "200000")]).is_empty(), "without delivery.timeout.ms Java stretches its default");
        insta::assert_snapshot!(said(&[("retry.backoff.ms", "5000"), ("retry.backoff.max.ms", "1000")]).join("\n"), @r#"
        Warning: `retry.backoff.ms` = 5000 lies above `retry.backoff.max.ms` = 1000, which then holds from the start | raise `retry.backoff.max.ms`, or lower `retry.backoff.ms`
        "#);
    }
}
