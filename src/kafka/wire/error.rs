//! Error codes and their two classes: retriable, and telling that metadata is out of date.
//!
//! Source: Kafka's `Errors` and its exceptions' class tree (4.3.0), enumerated.

use std::fmt;

use kafka_protocol::error::ResponseError;
use serde::{Deserialize, Serialize};

/// What Kafka's `Errors` (4.3.0) says of each code, a line each: code, name, exception class, default message.
const ERRORS: &str = include_str!("errors.tsv");

/// A non-zero error code of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ErrorCode(pub i16);

impl ErrorCode {
    /// -1, and what every code that this client does not know counts as.
    pub const UNKNOWN_SERVER_ERROR: Self = Self(-1);
    /// 2
    pub const CORRUPT_MESSAGE: Self = Self(2);
    /// 3
    pub const UNKNOWN_TOPIC_OR_PARTITION: Self = Self(3);
    /// 5
    pub const LEADER_NOT_AVAILABLE: Self = Self(5);
    /// 6
    pub const NOT_LEADER_OR_FOLLOWER: Self = Self(6);
    /// 7; made by the client too, for requests that timed out.
    pub const REQUEST_TIMED_OUT: Self = Self(7);
    /// 10
    pub const MESSAGE_TOO_LARGE: Self = Self(10);
    /// 13; made by the client for requests that a disconnect cut off.
    pub const NETWORK_EXCEPTION: Self = Self(13);
    /// 17
    pub const INVALID_TOPIC_EXCEPTION: Self = Self(17);
    /// 29
    pub const TOPIC_AUTHORIZATION_FAILED: Self = Self(29);
    /// 20
    pub const NOT_ENOUGH_REPLICAS_AFTER_APPEND: Self = Self(20);
    /// 31
    pub const CLUSTER_AUTHORIZATION_FAILED: Self = Self(31);
    /// 33
    pub const UNSUPPORTED_SASL_MECHANISM: Self = Self(33);
    /// 34; made by the client for an answer that has no place in the conversation.
    pub const ILLEGAL_SASL_STATE: Self = Self(34);
    /// 35
    pub const UNSUPPORTED_VERSION: Self = Self(35);
    /// 36
    pub const TOPIC_ALREADY_EXISTS: Self = Self(36);
    /// 37
    pub const INVALID_PARTITIONS: Self = Self(37);
    /// 45
    pub const OUT_OF_ORDER_SEQUENCE_NUMBER: Self = Self(45);
    /// 46
    pub const DUPLICATE_SEQUENCE_NUMBER: Self = Self(46);
    /// 47
    pub const INVALID_PRODUCER_EPOCH: Self = Self(47);
    /// 49
    pub const INVALID_PRODUCER_ID_MAPPING: Self = Self(49);
    /// 53
    pub const TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Self = Self(53);
    /// 56
    pub const KAFKA_STORAGE_ERROR: Self = Self(56);
    /// 58
    pub const SASL_AUTHENTICATION_FAILED: Self = Self(58);
    /// 59
    pub const UNKNOWN_PRODUCER_ID: Self = Self(59);
    /// 72
    pub const LISTENER_NOT_FOUND: Self = Self(72);
    /// 74
    pub const FENCED_LEADER_EPOCH: Self = Self(74);
    /// 75
    pub const UNKNOWN_LEADER_EPOCH: Self = Self(75);
    /// 78
    pub const OFFSET_NOT_AVAILABLE: Self = Self(78);
    /// 90
    pub const PRODUCER_FENCED: Self = Self(90);
    /// 100
    pub const UNKNOWN_TOPIC_ID: Self = Self(100);
    /// 129
    pub const REBOOTSTRAP_REQUIRED: Self = Self(129);

    /// The code, or `None` for 0. A code that this client does not know becomes -1.
    #[must_use]
    pub fn from_wire(code: i16) -> Option<Self> {
        match ResponseError::try_from_code(code)? {
            ResponseError::Unknown(_) => Some(Self::UNKNOWN_SERVER_ERROR),
            _ => Some(Self(code)),
        }
    }

    /// Whether the Java client's exception for it is an `InvalidMetadataException`: metadata is refreshed, and the request may be retried.
    #[must_use]
    pub fn invalidates_metadata(self) -> bool {
        matches!(self.0, 3 | 5 | 6 | 9 | 13 | 56 | 72 | 74 | 80 | 83 | 84 | 100 | 103)
    }

    /// Whether the request may be retried.
    #[must_use]
    pub fn is_retriable(self) -> bool {
        self.invalidates_metadata()
            || matches!(self.0, 2 | 7 | 14 | 15 | 16 | 19 | 20 | 41 | 51 | 70 | 71 | 75 | 78 | 88 | 89 | 106 | 122 | 123 | 133)
    }

    /// The Java client's exception class for it, such as `NotLeaderOrFollowerException`; not always made of the code's name.
    #[must_use]
    pub fn exception_class(self) -> &'static str {
        self.row().0
    }

    /// The Java client's message where the broker has sent none.
    #[must_use]
    pub fn default_message(self) -> &'static str {
        self.row().1
    }

    /// As in Java, a code that nobody knows is an unknown server error.
    fn row(self) -> (&'static str, &'static str) {
        let row = |line: &'static str| {
            let mut fields = line.split('\t');
            let code: i16 = fields.next()?.parse().ok()?;
            Some((code, (fields.nth(1)?, fields.next()?)))
        };
        let mut unknown = ("UnknownServerException", "");
        for (code, fields) in ERRORS.lines().filter_map(row) {
            if code == self.0 {
                return fields;
            }
            if code == Self::UNKNOWN_SERVER_ERROR.0 {
                unknown = fields;
            }
        }
        unknown
    }

    /// Kafka's name of the code, such as `NOT_LEADER_OR_FOLLOWER`.
    #[must_use]
    pub fn name(self) -> String {
        let Some(known) = ResponseError::try_from_code(self.0) else { return "NONE".to_owned() };
        let mut name = String::new();
        for character in format!("{known:?}").chars() {
            if character.is_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(character.to_ascii_uppercase());
        }
        name
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kafkas() {
        for (code, name) in
            [(6, "NOT_LEADER_OR_FOLLOWER"), (7, "REQUEST_TIMED_OUT"), (3, "UNKNOWN_TOPIC_OR_PARTITION"), (-1, "UNKNOWN_SERVER_ERROR")]
        {
            assert_eq!(ErrorCode(code).name(), name);
        }
    }

    #[test]
    fn every_code_has_the_line_of_its_name() {
        let mut lines = 0;
        for (line, code) in ERRORS.lines().zip((-1_i16..).filter(|code| *code != 0)) {
            let fields: Vec<&str> = line.split('\t').collect();
            assert_eq!(fields[..2], [code.to_string(), ErrorCode(code).name()], "{line}");
            assert!(fields.len() == 4 && !fields[2].is_empty() && !fields[3].is_empty(), "{line}");
            lines += 1;
        }
        assert_eq!(lines, 134, "as many as `Errors` has besides NONE");
        let is_known = |code: &i16| ErrorCode::from_wire(*code) == Some(ErrorCode(*code));
        assert_eq!((-1..1_000).filter(is_known).max(), Some(133), "a newer one needs its line");
    }

    #[test]
    fn exceptions_are_javas_also_where_their_names_are_not_the_codes() {
        let rows = [
            (-1, "UnknownServerException"),
            (2, "CorruptRecordException"),
            (6, "NotLeaderOrFollowerException"),
            (7, "TimeoutException"),
            (10, "RecordTooLargeException"),
            (17, "InvalidTopicException"),
            (18, "RecordBatchTooLargeException"),
            (29, "TopicAuthorizationException"),
            (31, "ClusterAuthorizationException"),
            (45, "OutOfOrderSequenceException"),
            (46, "DuplicateSequenceException"),
            (47, "InvalidProducerEpochException"),
            (49, "InvalidPidMappingException"),
            (53, "TransactionalIdAuthorizationException"),
            (56, "KafkaStorageException"),
            (87, "InvalidRecordException"),
            (9_999, "UnknownServerException"),
        ];
        for (code, class) in rows {
            assert_eq!(ErrorCode(code).exception_class(), class, "{code}");
        }
        assert_eq!(ErrorCode::REQUEST_TIMED_OUT.default_message(), "The request timed out.");
        assert_eq!(ErrorCode(9_999).default_message(), ErrorCode::UNKNOWN_SERVER_ERROR.default_message());
    }

    #[test]
    fn a_code_from_the_future_is_an_unknown_server_error() {
        assert_eq!(ErrorCode::from_wire(0), None);
        assert_eq!(ErrorCode::from_wire(6), Some(ErrorCode::NOT_LEADER_OR_FOLLOWER));
        assert_eq!(ErrorCode::from_wire(30_000), Some(ErrorCode::UNKNOWN_SERVER_ERROR));
    }

    #[test]
    fn unknown_leader_epoch_is_retried_without_a_refresh() {
        assert!(ErrorCode(75).is_retriable());
        assert!(!ErrorCode(75).invalidates_metadata());
    }
}
