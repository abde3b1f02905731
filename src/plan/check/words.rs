//! The small languages inside strings: names, partitions, roles, conditions, comparisons, addresses.
//!
//! Not here: whether what they name exists.

use crate::ids::{HostPort, PartitionIndex, TopicName, TopicPartition};
use crate::plan::grammar::NAME_BYTES_MAX;
use crate::plan::model::Comparison;
use crate::plan::problem::{Collector, Problem};
use crate::plan::raw::At;

/// A name that Kafka takes for a topic or a client, and that a folder can bear.
pub(super) fn name<'p>(text: &At<&'p str>, key: &str, problems: &Collector) -> Option<&'p str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let fits = (1..=NAME_BYTES_MAX).contains(&text.value.len()) && !matches!(text.value, "." | "..");
    if fits && text.value.chars().all(allowed) {
        return Some(text.value);
    }
    let message = format!("`{key}` = {:?} is no name", text.value);
    let hint = format!("a name has 1 to {NAME_BYTES_MAX} of the letters a-z and A-Z, digits, `.`, `_` and `-`");
    problems.push(Problem::error(text.span.clone(), message).hint(hint));
    None
}

/// `leader-of(orders/0)` as its function and its partition: `("leader-of", ("orders", 0))`.
pub(super) fn call(text: &str) -> Option<(&str, &str, u32)> {
    let (function, rest) = text.split_once('(')?;
    let (topic, partition) = rest.strip_suffix(')')?.rsplit_once('/')?;
    let partition = partition.parse().ok().filter(|_| partition.chars().all(|c| c.is_ascii_digit()))?;
    Some((function, topic, partition))
}

/// A partition from its parts.
pub(super) fn partition(topic: &str, partition: u32) -> TopicPartition {
    TopicPartition { topic: TopicName::from(topic), partition: PartitionIndex(i32::try_from(partition).unwrap_or(i32::MAX)) }
}

/// `<= 5` as its sign and the text after it.
pub(super) fn comparison(text: &str) -> Option<(Comparison, &str)> {
    let text = text.trim();
    Comparison::ALL.iter().find_map(|(comparison, sign)| Some((*comparison, text.strip_prefix(sign)?.trim())))
}

/// `host:port`, with brackets around an IPv6 address.
pub(in crate::plan) fn host_port(text: &str) -> Option<HostPort> {
    let (host, port) = text.rsplit_once(':')?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = match bare {
        Some(address) => address,
        None if host.contains(':') => return None,
        None => host,
    };
    let valid = !host.is_empty() && !host.contains(char::is_whitespace);
    let port = port.parse::<u16>().ok().filter(|port| *port > 0)?;
    valid.then(|| HostPort::new(host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_a_topic_and_a_partition() {
        assert_eq!(call("leader-of(orders/0)"), Some(("leader-of", "orders", 0)));
        assert_eq!(call("follower-of(a.b-c_d/12)"), Some(("follower-of", "a.b-c_d", 12)));
        for text in [
            "leader-of",
            "leader-of()",
            "leader-of(orders)",
            "leader-of(orders/)",
            "leader-of(orders/-1)",
            "leader-of(orders/+1)",
            "leader-of(orders/0",
        ] {
            assert_eq!(call(text), None, "{text}");
        }
    }

    #[test]
    fn comparisons_are_read_longest_sign_first() {
        assert_eq!(comparison("<= 5"), Some((Comparison::LessOrEqual, "5")));
        assert_eq!(comparison(" <5"), Some((Comparison::Less, "5")));
        assert_eq!(comparison("== 0"), Some((Comparison::Equal, "0")));
        assert_eq!(comparison("= 0"), None);
    }

    #[test]
    fn addresses_have_a_host_and_a_port() {
        assert_eq!(host_port("127.0.0.1:9092"), Some(HostPort::new("127.0.0.1", 9092)));
        assert_eq!(host_port("[::1]:9092"), Some(HostPort::new("::1", 9092)));
        for text in ["", "host", "host:", ":9092", "host:0", "host:65536", "::1:9092", "a b:1"] {
            assert_eq!(host_port(text), None, "{text}");
        }
    }
}
