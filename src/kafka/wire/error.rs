//! Error codes and their two classes: retriable, and telling that metadata is out of date.
//!
//! Source: Kafka's `Errors` and its exceptions' class tree (4.3.0), enumerated.

use std::fmt;

use kafka_protocol::error::ResponseError;
use serde::{Deserialize, Serialize};

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
    /// 31
    pub const CLUSTER_AUTHORIZATION_FAILED: Self = Self(31);
    /// 35
    pub const UNSUPPORTED_VERSION: Self = Self(35);
    /// 45
    pub const OUT_OF_ORDER_SEQUENCE_NUMBER: Self = Self(45);
    /// 46
    pub const DUPLICATE_SEQUENCE_NUMBER: Self = Self(46);
    /// 59
    pub const UNKNOWN_PRODUCER_ID: Self = Self(59);
    /// 72
    pub const LISTENER_NOT_FOUND: Self = Self(72);
    /// 74
    pub const FENCED_LEADER_EPOCH: Self = Self(74);
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
