//! What an admin call can fail with.

use std::fmt;

use crate::ids::{TopicName, TopicPartition};
use crate::kafka::net::rpc::RpcError;
use crate::kafka::net::security::ScramError;
use crate::kafka::wire::error::ErrorCode;

/// Why an admin call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdminError {
    /// No response.
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// A broker answered the whole request with an error.
    #[error("{asked} was refused: {code}{}", told(message.as_deref()))]
    Refused {
        /// Kafka's name of the request.
        asked: &'static str,
        /// The code.
        code: ErrorCode,
        /// Kafka's own words, if any.
        message: Option<String>,
    },
    /// Some topics of the request failed; the others were done.
    #[error("{}", join(failed))]
    Topics {
        /// Which, and why.
        failed: Vec<TopicFailure>,
    },
    /// Some partitions of the request failed; the others were done.
    #[error("{}", join(failed))]
    Partitions {
        /// Which, and why.
        failed: Vec<PartitionFailure>,
    },
    /// A response lacks what was asked for.
    #[error("the response to {asked} holds no {missing}")]
    Incomplete {
        /// Kafka's name of the request.
        asked: &'static str,
        /// What is not there.
        missing: &'static str,
    },
    /// A password cannot be made checkable.
    #[error("cannot make a user of SCRAM: {0}")]
    Scram(ScramError),
    /// There is nobody to ask.
    #[error("no bootstrap address was given")]
    NoBootstrap,
}

impl AdminError {
    /// Kafka's code for the failure: the request's, or that of all its topics or partitions; `None` where no broker answered or they differ.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::Topics { failed } => only(failed.iter().map(|failure| failure.code)),
            Self::Partitions { failed } => only(failed.iter().map(|failure| failure.code)),
            _ => None,
        }
    }
}

/// The code that all of these are.
fn only(mut codes: impl Iterator<Item = ErrorCode>) -> Option<ErrorCode> {
    let first = codes.next()?;
    codes.all(|code| code == first).then_some(first)
}

/// A partition that a request could not be done for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionFailure {
    /// Which.
    pub partition: TopicPartition,
    /// The code.
    pub code: ErrorCode,
    /// Kafka's own words, if any.
    pub message: Option<String>,
}

impl fmt::Display for PartitionFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "partition {}: {}{}", self.partition, self.code, told(self.message.as_deref()))
    }
}

/// A topic that a request could not be done for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicFailure {
    /// Which.
    pub topic: TopicName,
    /// The code.
    pub code: ErrorCode,
    /// Kafka's own words, if any.
    pub message: Option<String>,
}

impl fmt::Display for TopicFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "topic {}: {}{}", self.topic, self.code, told(self.message.as_deref()))
    }
}

fn told(message: Option<&str>) -> String {
    message.filter(|text| !text.is_empty()).map_or_else(String::new, |text| format!(": {text}"))
}

fn join(failed: &[impl fmt::Display]) -> String {
    failed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
