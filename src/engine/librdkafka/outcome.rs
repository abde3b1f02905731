//! What became of a record, from librdkafka's error code.
//!
//! librdkafka also has a status per message (not persisted, possibly, persisted), but only behind a raw pointer, and this crate forbids
//! `unsafe`. So the code decides. It tells how the record ended, not what came of earlier attempts, so only a refusal that every attempt would
//! have met is one; but a record that never had a partition was never sent. Pure.

use rdkafka::types::RDKafkaErrorCode as Code;

use crate::kafka::event::{Failure, Outcome};
use crate::kafka::wire::error::ErrorCode;

/// The outcome of a record that was not acknowledged.
pub(super) fn of_error(code: Code, partition: i32) -> Outcome {
    let failure = failure(code);
    if partition < 0 || certainly_not_written(code) { Outcome::Failed(failure) } else { Outcome::Indeterminate(failure) }
}

/// An error in librdkafka's own words.
pub(super) fn failure(code: Code) -> Failure {
    let number = i16::try_from(code as i32).ok().map(ErrorCode);
    Failure { kind: format!("{code:?}"), code: number, text: code.to_string() }
}

/// The client took no such record, or a broker takes none of its kind, at no attempt: each refusal is older than any append.
///
/// Not so `PurgeQueue`, `UnknownTopic` and `UnknownPartition`: a record that waits to be sent again is in the queue too. Nor what depends on the
/// moment (leaders, replicas in sync, storage): an attempt before may have been cut off after its append; with `acks=all` a broker that has
/// appended and then loses the partition answers `NotLeaderForPartition` or `UnknownTopicOrPartition` as well (`DelayedProduce`,
/// `ReplicaManager`); and a disk may fail while what is written is flushed (`KafkaStorageError`).
fn certainly_not_written(code: Code) -> bool {
    matches!(
        code,
        Code::QueueFull
            | Code::InvalidArgument
            | Code::MessageSizeTooLarge
            | Code::InvalidTopic
            | Code::MessageBatchTooLarge
            | Code::InvalidRequiredAcks
            | Code::InvalidTimestamp
            | Code::UnsupportedVersion
            | Code::UnsupportedForMessageFormat
            | Code::PolicyViolation
            | Code::UnsupportedCompressionType
            | Code::InvalidRecord
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_certainly_not_written_has_failed() {
        for (code, partition, failed) in [
            (Code::MessageTimedOut, -1, true),
            (Code::MessageTimedOut, 3, false),
            (Code::PurgeQueue, -1, true),
            (Code::PurgeQueue, 3, false),
            (Code::PurgeInflight, 3, false),
            (Code::BrokerTransportFailure, 3, false),
            (Code::UnknownTopic, 3, false),
            (Code::UnknownPartition, 3, false),
            (Code::QueueFull, 3, true),
            (Code::InvalidArgument, 3, true),
            (Code::MessageSizeTooLarge, 3, true),
            (Code::InvalidRecord, 3, true),
            (Code::Unknown, 3, false),
            (Code::UnknownTopicOrPartition, 3, false),
            (Code::NotLeaderForPartition, 3, false),
            (Code::RequestTimedOut, 3, false),
            (Code::NotEnoughReplicas, 3, false),
            (Code::NotEnoughReplicasAfterAppend, 3, false),
            (Code::KafkaStorageError, 3, false),
        ] {
            assert_eq!(matches!(of_error(code, partition), Outcome::Failed(_)), failed, "{code:?}");
        }
    }

    #[test]
    fn errors_keep_librdkafkas_words() {
        let failure = failure(Code::MessageTimedOut);
        assert_eq!((failure.kind.as_str(), failure.code.map(|code| code.0)), ("MessageTimedOut", Some(-192)));
        assert!(failure.text.contains("Local: Message timed out"), "{}", failure.text);
    }
}
