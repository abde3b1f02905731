//! The producer's configuration, under the Java producer's names and with its defaults (4.3.0).
//!
//! Source: `ProducerConfig`, `CommonClientConfigs`. Keys that this client does not act on are listed, never dropped in silence. Not here: which
//! of those exist at all, and hints for people; the plan language has both.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::kafka::core::compression_config::CompressionKeys;
use crate::kafka::wire::compression::Codec;

/// Java cuts `linger.ms`, and its sum with `request.timeout.ms`, to 31 bits.
const TIMEOUT_MAX: Duration = Duration::from_millis(i32::MAX as u64);

/// How many replicas must have a record before it counts as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// None: done when written to the socket.
    None,
    /// The leader.
    Leader,
    /// Every replica in sync.
    All,
}

impl Acks {
    /// The number on the wire.
    #[must_use]
    pub fn on_the_wire(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Leader => 1,
            Self::All => -1,
        }
    }
}

/// What a client does when it can reach none of the brokers it knows (KIP-899).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryStrategy {
    /// Goes on trying them.
    None,
    /// Goes back to its bootstrap list.
    Rebootstrap,
}

/// A producer's settings.
#[derive(Clone, Debug)]
pub struct ProducerConfig {
    /// `acks`
    pub acks: Acks,
    /// `linger.ms`
    pub linger: Duration,
    /// `batch.size`, at least 1
    pub batch_bytes: usize,
    /// `buffer.memory`
    pub buffer_bytes: usize,
    /// `max.request.size`
    pub request_bytes_max: usize,
    /// `max.block.ms`
    pub block_max: Duration,
    /// `delivery.timeout.ms`
    pub delivery_timeout: Duration,
    /// `request.timeout.ms`
    pub request_timeout: Duration,
    /// `retries`
    pub retries: u32,
    /// `retry.backoff.ms`
    pub retry_backoff: Duration,
    /// `retry.backoff.max.ms`
    pub retry_backoff_max: Duration,
    /// `reconnect.backoff.ms`
    pub reconnect_backoff: Duration,
    /// `reconnect.backoff.max.ms`
    pub reconnect_backoff_max: Duration,
    /// `socket.connection.setup.timeout.ms`
    pub setup_timeout: Duration,
    /// `socket.connection.setup.timeout.max.ms`
    pub setup_timeout_max: Duration,
    /// `connections.max.idle.ms`
    pub idle_max: Option<Duration>,
    /// `metadata.max.age.ms`
    pub metadata_age_max: Duration,
    /// `metadata.max.idle.ms`
    pub metadata_idle_max: Duration,
    /// `metadata.recovery.strategy`
    pub recovery_strategy: RecoveryStrategy,
    /// `metadata.recovery.rebootstrap.trigger.ms`
    pub rebootstrap_trigger: Duration,
    /// `max.in.flight.requests.per.connection`
    pub in_flight_max: usize,
    /// `enable.idempotence`, as it is in force: conflicting settings switch it off unless it was asked for
    pub idempotence: bool,
    /// `partitioner.ignore.keys`
    pub ignore_keys: bool,
    /// `partitioner.adaptive.partitioning.enable`
    pub adaptive_partitioning: bool,
    /// `partitioner.availability.timeout.ms`; zero: off
    pub availability_timeout: Duration,
    /// `compression.type` with its level; `None`: none
    pub compression: Option<Codec>,
    /// `send.buffer.bytes`; `None`: the system's own
    pub send_buffer_bytes: Option<u32>,
    /// `receive.buffer.bytes`; `None`: the system's own
    pub receive_buffer_bytes: Option<u32>,
    /// Keys that were given and have no effect.
    pub unused: Vec<String>,
}

impl Default for ProducerConfig {
    fn default() -> Self {
        Self {
            acks: Acks::All,
            linger: Duration::from_millis(5),
            batch_bytes: 16_384,
            buffer_bytes: 33_554_432,
            request_bytes_max: 1_048_576,
            block_max: Duration::from_secs(60),
            delivery_timeout: Duration::from_secs(120),
            request_timeout: Duration::from_secs(30),
            retries: i32::MAX.cast_unsigned(),
            retry_backoff: Duration::from_millis(100),
            retry_backoff_max: Duration::from_secs(1),
            reconnect_backoff: Duration::from_millis(50),
            reconnect_backoff_max: Duration::from_secs(1),
            setup_timeout: Duration::from_secs(10),
            setup_timeout_max: Duration::from_secs(30),
            idle_max: Some(Duration::from_secs(540)),
            metadata_age_max: Duration::from_secs(300),
            metadata_idle_max: Duration::from_secs(300),
            recovery_strategy: RecoveryStrategy::Rebootstrap,
            rebootstrap_trigger: Duration::from_secs(300),
            in_flight_max: 5,
            idempotence: true,
            ignore_keys: false,
            adaptive_partitioning: true,
            availability_timeout: Duration::ZERO,
            compression: None,
            send_buffer_bytes: Some(131_072),
            receive_buffer_bytes: Some(32_768),
            unused: Vec::new(),
        }
    }
}

/// A broker remembers so many batches of a producer: with more in flight it could not tell a duplicate.
const IN_FLIGHT_MAX_WITH_IDEMPOTENCE: usize = 5;

/// A property that cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// Its value is not one of those allowed.
    #[error("`{key}` is `{value}`, but must be {expected}")]
    BadValue {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// What is allowed.
        expected: &'static str,
    },
    /// As the Java producer refuses it.
    #[error("delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms")]
    DeliveryTimeoutTooShort,
    /// As the Java producer refuses it.
    #[error("Must set retries to non-zero when using the idempotent producer.")]
    IdempotenceWithoutRetries,
    /// As the Java producer refuses it.
    #[error("Must set acks to all in order to use the idempotent producer. Otherwise we cannot guarantee idempotence.")]
    IdempotenceWithoutAllAcks,
    /// As the Java producer refuses it.
    #[error("To use the idempotent producer, max.in.flight.requests.per.connection must be set to at most 5. Current value is {0}.")]
    IdempotenceWithTooManyInFlight(usize),
    /// A property that this producer cannot follow, and must not ignore.
    #[error("`{0}` cannot be set: this producer has no transactions; leave it out (idempotence needs only `enable.idempotence`)")]
    NoTransactions(String),
    /// It needs code that this build does not have.
    #[error("`{key}` = {value} is not built in: it is C code, and comes with the cargo feature `{feature}`")]
    NotBuiltIn {
        /// The key.
        key: &'static str,
        /// Its value.
        value: &'static str,
        /// What to build with.
        feature: &'static str,
    },
}

impl ProducerConfig {
    /// Reads properties.
    ///
    /// # Errors
    /// [`ConfigError`] for the first key or value that cannot be used.
    pub fn from_properties(properties: &BTreeMap<String, String>) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        let mut compression = CompressionKeys::default();
        for (key, value) in properties {
            // As Java reads them: without the space around.
            config.set(key, value.trim(), &mut compression)?;
        }
        config.compression = compression.codec()?;
        if properties.contains_key("reconnect.backoff.ms") && !properties.contains_key("reconnect.backoff.max.ms") {
            config.reconnect_backoff_max = config.reconnect_backoff;
        }
        let least = (config.linger + config.request_timeout).min(TIMEOUT_MAX);
        if config.delivery_timeout < least {
            if properties.contains_key("delivery.timeout.ms") {
                return Err(ConfigError::DeliveryTimeoutTooShort);
            }
            config.delivery_timeout = least;
        }
        config.resolve_idempotence(properties.contains_key("enable.idempotence"))?;
        Ok(config)
    }

    /// As Java's `postProcessAndValidateIdempotenceConfigs`: what idempotence cannot live with is refused if it was asked for, and else switches
    /// it off; too many requests in flight are refused either way.
    fn resolve_idempotence(&mut self, is_asked_for: bool) -> Result<(), ConfigError> {
        if !self.idempotence {
            return Ok(());
        }
        if is_asked_for && self.retries == 0 {
            return Err(ConfigError::IdempotenceWithoutRetries);
        }
        if is_asked_for && self.acks != Acks::All {
            return Err(ConfigError::IdempotenceWithoutAllAcks);
        }
        if self.in_flight_max > IN_FLIGHT_MAX_WITH_IDEMPOTENCE {
            return Err(ConfigError::IdempotenceWithTooManyInFlight(self.in_flight_max));
        }
        self.idempotence = self.retries > 0 && self.acks == Acks::All;
        Ok(())
    }

    fn set(&mut self, key: &str, value: &str, compression: &mut CompressionKeys) -> Result<(), ConfigError> {
        match key {
            "acks" => {
                self.acks = match value {
                    "0" => Acks::None,
                    "1" => Acks::Leader,
                    "all" | "-1" => Acks::All,
                    _ => return Err(bad(key, value, "0, 1 or all")),
                }
            }
            "linger.ms" => self.linger = millis(key, value)?.min(TIMEOUT_MAX),
            "batch.size" => self.batch_bytes = bytes(key, value)?.max(1),
            "buffer.memory" => self.buffer_bytes = bytes(key, value)?,
            "max.request.size" => self.request_bytes_max = bytes(key, value)?,
            "max.block.ms" => self.block_max = millis(key, value)?,
            "delivery.timeout.ms" => self.delivery_timeout = millis(key, value)?,
            "request.timeout.ms" => self.request_timeout = millis(key, value)?,
            "retries" => self.retries = number(key, value)?,
            "retry.backoff.ms" => self.retry_backoff = millis(key, value)?,
            "retry.backoff.max.ms" => self.retry_backoff_max = millis(key, value)?,
            "reconnect.backoff.ms" => self.reconnect_backoff = millis(key, value)?,
            "reconnect.backoff.max.ms" => self.reconnect_backoff_max = millis(key, value)?,
            "socket.connection.setup.timeout.ms" => self.setup_timeout = signed_millis(key, value)?.unwrap_or_default(),
            "socket.connection.setup.timeout.max.ms" => self.setup_timeout_max = signed_millis(key, value)?.unwrap_or_default(),
            "connections.max.idle.ms" => self.idle_max = signed_millis(key, value)?,
            "compression.type" => compression.set_type(value)?,
            "compression.gzip.level" => compression.set_gzip_level(value)?,
            "compression.zstd.level" => compression.set_zstd_level(value)?,
            "send.buffer.bytes" => self.send_buffer_bytes = buffer_bytes(key, value)?,
            "receive.buffer.bytes" => self.receive_buffer_bytes = buffer_bytes(key, value)?,
            "metadata.max.age.ms" => self.metadata_age_max = millis(key, value)?,
            "metadata.max.idle.ms" => {
                self.metadata_idle_max = millis(key, value)?;
                if self.metadata_idle_max < Duration::from_secs(5) {
                    return Err(bad(key, value, "at least 5000"));
                }
            }
            "metadata.recovery.strategy" => {
                self.recovery_strategy = match value.to_ascii_lowercase().as_str() {
                    "none" => RecoveryStrategy::None,
                    "rebootstrap" => RecoveryStrategy::Rebootstrap,
                    _ => return Err(bad(key, value, "none or rebootstrap")),
                }
            }
            "metadata.recovery.rebootstrap.trigger.ms" => self.rebootstrap_trigger = millis(key, value)?,
            "max.in.flight.requests.per.connection" => self.in_flight_max = at_least_one(key, value)?,
            "partitioner.adaptive.partitioning.enable" => self.adaptive_partitioning = boolean(key, value)?,
            "partitioner.availability.timeout.ms" => self.availability_timeout = millis(key, value)?,
            "enable.idempotence" => self.idempotence = boolean(key, value)?,
            "transactional.id" => return Err(ConfigError::NoTransactions(key.to_owned())),
            "partitioner.ignore.keys" => self.ignore_keys = boolean(key, value)?,
            _ => self.unused.push(key.to_owned()),
        }
        Ok(())
    }
}

pub(super) fn bad(key: &str, value: &str, expected: &'static str) -> ConfigError {
    ConfigError::BadValue { key: key.to_owned(), value: value.to_owned(), expected }
}

fn millis(key: &str, value: &str) -> Result<Duration, ConfigError> {
    value.parse().map(Duration::from_millis).map_err(|_| bad(key, value, "a whole number of milliseconds, 0 or more"))
}

/// Java takes any number here; `None`: below zero.
fn signed_millis(key: &str, value: &str) -> Result<Option<Duration>, ConfigError> {
    let millis: i64 = value.parse().map_err(|_| bad(key, value, "a whole number of milliseconds"))?;
    Ok(u64::try_from(millis).ok().map(Duration::from_millis))
}

fn buffer_bytes(key: &str, value: &str) -> Result<Option<u32>, ConfigError> {
    match value.parse() {
        Ok(-1_i64) => Ok(None),
        Ok(bytes @ 0..) if bytes <= i64::from(i32::MAX) => Ok(u32::try_from(bytes).ok()),
        _ => Err(bad(key, value, "a whole number of bytes, or -1 for the system's own")),
    }
}

fn bytes(key: &str, value: &str) -> Result<usize, ConfigError> {
    value.parse().map_err(|_| bad(key, value, "a whole number of bytes, 0 or more"))
}

fn number(key: &str, value: &str) -> Result<u32, ConfigError> {
    value.parse().map_err(|_| bad(key, value, "a whole number, 0 or more"))
}

fn at_least_one(key: &str, value: &str) -> Result<usize, ConfigError> {
    value.parse().ok().filter(|number| *number > 0).ok_or_else(|| bad(key, value, "a whole number, 1 or more"))
}

fn boolean(key: &str, value: &str) -> Result<bool, ConfigError> {
    value.to_ascii_lowercase().parse().map_err(|_| bad(key, value, "true or false"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<ProducerConfig, ConfigError> {
        ProducerConfig::from_properties(&pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn a_default_delivery_timeout_is_raised_and_an_explicit_one_refused() {
        let raised = read(&[("request.timeout.ms", "200000")]).unwrap();
        assert_eq!(raised.delivery_timeout, Duration::from_millis(200_005));
        let refused = read(&[("request.timeout.ms", "200000"), ("delivery.timeout.ms", "1000")]);
        assert_eq!(refused.unwrap_err(), ConfigError::DeliveryTimeoutTooShort);
        let cut = [("linger.ms", "2147483647"), ("request.timeout.ms", "30000")];
        assert_eq!(read(&cut).unwrap().delivery_timeout, TIMEOUT_MAX);
        assert!(read(&[cut[0], cut[1], ("delivery.timeout.ms", "2147483647")]).is_ok());
    }

    #[test]
    fn a_lone_reconnect_backoff_is_constant() {
        assert_eq!(read(&[("reconnect.backoff.ms", "70")]).unwrap().reconnect_backoff_max, Duration::from_millis(70));
    }

    #[test]
    fn idempotence_is_on_unless_something_stands_against_it() {
        type Row = (&'static [(&'static str, &'static str)], Result<bool, ConfigError>);
        let rows: [Row; 12] = [
            (&[], Ok(true)),
            (&[("enable.idempotence", "True")], Ok(true)),
            (&[("enable.idempotence", "false")], Ok(false)),
            (&[("acks", "1")], Ok(false)),
            (&[("acks", "0")], Ok(false)),
            (&[("retries", "0")], Ok(false)),
            (&[("acks", "1"), ("enable.idempotence", "true")], Err(ConfigError::IdempotenceWithoutAllAcks)),
            (&[("retries", "0"), ("enable.idempotence", "true")], Err(ConfigError::IdempotenceWithoutRetries)),
            (&[("max.in.flight.requests.per.connection", "5")], Ok(true)),
            (&[("max.in.flight.requests.per.connection", "6")], Err(ConfigError::IdempotenceWithTooManyInFlight(6))),
            // As Java does: this is looked at before the conflict with acks has switched idempotence off.
            (&[("acks", "1"), ("max.in.flight.requests.per.connection", "6")], Err(ConfigError::IdempotenceWithTooManyInFlight(6))),
            (&[("max.in.flight.requests.per.connection", "6"), ("enable.idempotence", "false")], Ok(false)),
        ];
        for (properties, expected) in rows {
            assert_eq!(read(properties).map(|config| config.idempotence), expected, "{properties:?}");
        }
    }

    #[test]
    fn transactions_are_refused_and_not_ignored() {
        let error = read(&[("transactional.id", "t-1")]).unwrap_err();
        assert!(error.to_string().contains("has no transactions"), "{error}");
    }

    #[test]
    fn values_are_read_as_java_reads_them() {
        let config = read(&[
            ("linger.ms", " 7 "),
            ("partitioner.ignore.keys", "True"),
            ("connections.max.idle.ms", "-2"),
            ("send.buffer.bytes", "-1"),
        ]);
        let config = config.unwrap();
        assert_eq!((config.linger, config.ignore_keys, config.idle_max), (Duration::from_millis(7), true, None));
        assert_eq!((config.send_buffer_bytes, config.receive_buffer_bytes), (None, Some(32_768)));
        assert_eq!(read(&[("linger.ms", "9223372036854775807"), ("request.timeout.ms", "1")]).unwrap().linger, TIMEOUT_MAX);
        assert!(read(&[("receive.buffer.bytes", "-2")]).is_err());
    }

    #[test]
    fn keys_without_effect_are_listed_and_bad_values_refused() {
        assert_eq!(read(&[("client.dns.lookup", "use_all_dns_ips"), ("linger.ms", "1")]).unwrap().unused, ["client.dns.lookup"]);
        assert!(matches!(read(&[("acks", "2")]), Err(ConfigError::BadValue { .. })));
    }
}
