//! What librdkafka calls the Java producer's properties, in which units, and which of them it has no counterpart for.
//!
//! Bounds are those of librdkafka 2.12.1's `CONFIGURATION.md`. Pure; known whether or not librdkafka is built in, so that a plan is
//! checked alike everywhere. `docs/engines.md` shows the table, a test holds both equal.

use std::collections::BTreeMap;

use super::{Finding, about_key};
use crate::plan::problem::Severity;

/// Properties that the engine sets whatever a plan says, with the reason; a plan's own come on top of librdkafka's defaults.
pub const ALWAYS: [(&str, &str, &str); 4] = [
    ("partitioner", "murmur2_random", "keys go to the partitions that the Java producer would choose"),
    ("statistics.interval.ms", "1000", "first partition counts and queue sizes come from its statistics, once a second"),
    ("debug", "metadata", "its Metadata requests and their reasons come from its log"),
    ("delivery.report.only.error", "false", "every record's outcome is counted"),
];

/// How a value is carried over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carry {
    /// A whole number within librdkafka's bounds, unchanged.
    Whole(i64, i64),
    /// Bytes become KiB, rounded up.
    Kibibytes(i64),
    /// Java's -1, the system's default, is 0 there; then as a whole number from 0 to this.
    MinusOneIsZero(i64),
    /// One of these words, in lower case.
    Words(&'static [&'static str]),
    /// Nothing to set: it does what this value says, and cannot do otherwise.
    Only(&'static str),
    /// Not librdkafka's: the engine itself does it.
    ByEngine,
}

/// One row.
#[derive(Clone, Copy, Debug)]
struct Row {
    java: &'static str,
    /// Its names there, each of which gets the value.
    theirs: &'static [&'static str],
    /// Set along with it.
    with: &'static [(&'static str, &'static str)],
    carry: Carry,
    remark: &'static str,
}

const fn row(java: &'static str, theirs: &'static [&'static str], carry: Carry, remark: &'static str) -> Row {
    Row { java, theirs, with: &[], carry, remark }
}

const INT_MAX: i64 = i32::MAX as i64;
const HOUR_MS: i64 = 3_600_000;

/// The table, in the order of the alphabet.
const ROWS: &[Row] = &[
    row("acks", &["acks"], Carry::Words(&["all", "-1", "0", "1"]), ""),
    row("batch.size", &["batch.size"], Carry::Whole(1, INT_MAX), "of one partition's batch; there also `batch.num.messages`, 10,000"),
    Row {
        java: "buffer.memory",
        theirs: &["queue.buffering.max.kbytes"],
        with: &[("queue.buffering.max.messages", "0")],
        carry: Carry::Kibibytes(INT_MAX * 1_024),
        remark: "bytes become KiB; the limit of 100,000 records is lifted, as Java has none",
    },
    row("client.dns.lookup", &["client.dns.lookup"], Carry::Words(&["use_all_dns_ips"]), ""),
    row("compression.type", &["compression.type"], Carry::Words(&["none", "gzip", "snappy", "lz4"]), "zstd is not built in"),
    row("connections.max.idle.ms", &["connections.max.idle.ms"], Carry::Whole(1, INT_MAX), "0 would mean never there"),
    row("delivery.timeout.ms", &["message.timeout.ms"], Carry::Whole(1, INT_MAX), "counts from `produce`, with the retries in it"),
    row("enable.idempotence", &["enable.idempotence"], Carry::Words(&["true", "false"]), "off by default there"),
    row("enable.metrics.push", &["enable.metrics.push"], Carry::Words(&["true", "false"]), ""),
    row("linger.ms", &["linger.ms"], Carry::Whole(0, 900_000), ""),
    row(
        "max.block.ms",
        &[],
        Carry::ByEngine,
        "how long a record waits for room in a full queue; waits for metadata are inside the queue there",
    ),
    row(
        "max.in.flight.requests.per.connection",
        &["max.in.flight.requests.per.connection"],
        Carry::Whole(1, 1_000_000),
        "practically no limit by default there",
    ),
    row("max.request.size", &["message.max.bytes"], Carry::Whole(1_000, 1_000_000_000), ""),
    row(
        "metadata.max.age.ms",
        &["topic.metadata.refresh.interval.ms"],
        Carry::Whole(10, HOUR_MS),
        "its own `metadata.max.age.ms` is something else (when its cache forgets) and follows at three times this",
    ),
    row("metadata.recovery.rebootstrap.trigger.ms", &["metadata.recovery.rebootstrap.trigger.ms"], Carry::Whole(0, INT_MAX), ""),
    row("metadata.recovery.strategy", &["metadata.recovery.strategy"], Carry::Words(&["rebootstrap", "none"]), "in lower case"),
    row("partitioner.adaptive.partitioning.enable", &[], Carry::Only("false"), "no adaptive partitioning"),
    row("partitioner.availability.timeout.ms", &[], Carry::Only("0"), "no adaptive partitioning"),
    row("partitioner.ignore.keys", &[], Carry::Only("false"), ""),
    row("receive.buffer.bytes", &["socket.receive.buffer.bytes"], Carry::MinusOneIsZero(100_000_000), "-1 becomes 0: the system's default"),
    row("reconnect.backoff.max.ms", &["reconnect.backoff.max.ms"], Carry::Whole(0, HOUR_MS), ""),
    row("reconnect.backoff.ms", &["reconnect.backoff.ms"], Carry::Whole(0, HOUR_MS), "jitter of -25 % to +50 % there"),
    row(
        "request.timeout.ms",
        &["request.timeout.ms", "socket.timeout.ms"],
        Carry::Whole(10, 300_000),
        "the first is what the broker is told, the second how long the client waits",
    ),
    row("retries", &["retries"], Carry::Whole(0, INT_MAX), ""),
    row("retry.backoff.max.ms", &["retry.backoff.max.ms"], Carry::Whole(1, 300_000), ""),
    row("retry.backoff.ms", &["retry.backoff.ms"], Carry::Whole(1, 300_000), ""),
    row("security.protocol", &["security.protocol"], Carry::Words(&["plaintext"]), "TLS and SASL are not built in"),
    row("send.buffer.bytes", &["socket.send.buffer.bytes"], Carry::MinusOneIsZero(100_000_000), "-1 becomes 0: the system's default"),
    row(
        "socket.connection.setup.timeout.ms",
        &["socket.connection.setup.timeout.ms"],
        Carry::Whole(1_000, INT_MAX),
        "does not grow there: `socket.connection.setup.timeout.max.ms` has no counterpart",
    ),
];

/// A group's properties in librdkafka's names and units; those without a counterpart are left out, as the check of plans refuses them.
#[must_use]
pub fn translate(config: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let mut theirs = Vec::new();
    for (row, value) in config.iter().filter_map(|(key, value)| Some((find(key)?, value))) {
        if let Ok(value) = carry(row, value) {
            theirs.extend(row.theirs.iter().map(|name| ((*name).to_owned(), value.clone())));
            theirs.extend(row.with.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        }
    }
    theirs
}

/// The table as it is shown: the Java producer's name, librdkafka's, values that it takes, a remark.
#[must_use]
pub fn table() -> Vec<[String; 4]> {
    let shown = |row: &Row| {
        let names: Vec<String> = row.theirs.iter().map(|name| format!("`{name}`")).collect();
        let theirs = match row.carry {
            Carry::Only(_) => "-".to_owned(),
            Carry::ByEngine => "the engine's own".to_owned(),
            _ => names.join(" and "),
        };
        [format!("`{}`", row.java), theirs, takes(row.carry), row.remark.to_owned()]
    };
    ROWS.iter().map(shown).collect()
}

/// What to say about a property whose value is right for Java: librdkafka may have no counterpart for it, or other bounds.
pub(super) fn examine(key: &str, value: &str) -> Option<Finding> {
    let Some(row) = find(key) else {
        let hint = "leave it out for this engine; docs/engines.md lists the properties that it has".to_owned();
        return Some(about_key(key, Severity::Error, format!("librdkafka has no counterpart for `{key}`"), hint));
    };
    let Err(takes) = carry(row, value) else { return None };
    let hint = if row.remark.is_empty() { "docs/engines.md lists what it takes".to_owned() } else { row.remark.to_owned() };
    let message = format!("librdkafka cannot do `{key}` = \"{}\": it takes {takes}", value.trim());
    Some(Finding { key: key.to_owned(), about_value: true, severity: Severity::Error, message, hint })
}

fn find(key: &str) -> Option<&'static Row> {
    ROWS.binary_search_by(|row| row.java.cmp(key)).ok().and_then(|index| ROWS.get(index))
}

/// The value in librdkafka's form, or what it takes instead.
fn carry(row: &Row, value: &str) -> Result<String, String> {
    let value = value.trim();
    let number = value.parse::<i64>().ok();
    let carried = match row.carry {
        Carry::Whole(least, most) => number.filter(|number| (least..=most).contains(number)).map(|number| number.to_string()),
        Carry::Kibibytes(most) => {
            number.filter(|bytes| (1..=most).contains(bytes)).map(|bytes| bytes.unsigned_abs().div_ceil(1_024).to_string())
        }
        Carry::MinusOneIsZero(most) => number.filter(|bytes| (-1..=most).contains(bytes)).map(|bytes| bytes.max(0).to_string()),
        Carry::Words(words) => Some(value.to_ascii_lowercase()).filter(|word| words.contains(&word.as_str())),
        Carry::Only(only) => value.eq_ignore_ascii_case(only).then(|| value.to_owned()),
        Carry::ByEngine => Some(value.to_owned()),
    };
    carried.ok_or_else(|| takes(row.carry))
}

fn takes(carry: Carry) -> String {
    match carry {
        Carry::Whole(least, most) => format!("{least} to {most}"),
        Carry::Kibibytes(most) => format!("1 to {most}"),
        Carry::MinusOneIsZero(most) => format!("-1 to {most}"),
        Carry::Words(words) => words.join(", "),
        Carry::Only(only) => format!("{only} only"),
        Carry::ByEngine => "any".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Support, settings};
    use super::*;

    fn translated(pairs: &[(&str, &str)]) -> Vec<String> {
        let config = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        translate(&config).into_iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    #[test]
    fn rows_are_sorted_and_are_properties_of_javas_that_a_plan_may_set() {
        assert!(ROWS.windows(2).all(|pair| pair[0].java < pair[1].java));
        for row in ROWS {
            let setting = settings().iter().find(|setting| setting.name == row.java).unwrap_or_else(|| panic!("{}", row.java));
            assert!(!matches!(setting.support, Support::Refused(_)), "{}", row.java);
        }
    }

    #[test]
    fn names_and_units_are_carried_over() {
        for (java, value, theirs) in [
            ("acks", "all", "acks=all"),
            ("buffer.memory", "33554433", "queue.buffering.max.kbytes=32769 queue.buffering.max.messages=0"),
            ("delivery.timeout.ms", "120000", "message.timeout.ms=120000"),
            ("max.request.size", "1048576", "message.max.bytes=1048576"),
            ("metadata.max.age.ms", "300000", "topic.metadata.refresh.interval.ms=300000"),
            ("metadata.recovery.strategy", "REBOOTSTRAP", "metadata.recovery.strategy=rebootstrap"),
            ("request.timeout.ms", "30000", "request.timeout.ms=30000 socket.timeout.ms=30000"),
            ("send.buffer.bytes", "-1", "socket.send.buffer.bytes=0"),
            ("partitioner.ignore.keys", "false", ""),
            ("max.block.ms", "60000", ""),
        ] {
            assert_eq!(translated(&[(java, value)]).join(" "), theirs, "{java}");
        }
    }

    #[test]
    fn what_has_no_counterpart_is_refused() {
        let said = |key, value| examine(key, value).map(|finding| (finding.about_value, format!("{} | {}", finding.message, finding.hint)));
        assert_eq!(said("linger.ms", "5"), None);
        let no_counterpart = said("metadata.max.idle.ms", "300000").unwrap();
        assert_eq!((no_counterpart.0, &no_counterpart.1[..58]), (false, "librdkafka has no counterpart for `metadata.max.idle.ms` |"));
        let out_of_bounds = said("socket.connection.setup.timeout.ms", "500").unwrap();
        assert!(out_of_bounds.0 && out_of_bounds.1.contains("it takes 1000 to 2147483647"), "{}", out_of_bounds.1);
        assert!(said("partitioner.ignore.keys", "true").unwrap().1.contains("it takes false only"));
        assert!(said("compression.type", "zstd").unwrap().1.contains("zstd is not built in"));
    }
}
