//! What became of a record, from librdkafka's error code.
//!
//! librdkafka also has a status per message (not persisted, possibly, persisted), but only behind a raw pointer, and this crate forbids
//! `unsafe`. So the code decides, and a record that timed out without saying where counts as indeterminate, unless it never had a
//! partition: then nobody can have sent it. Pure.

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

/// Errors of the client's own (negative numbers) may hide a request that got through, unless they say that the record never left the queue.
/// A broker's error says that nothing was written, but for those that it gives after it has written.
fn certainly_not_written(code: Code) -> bool {
    match code {
        Code::PurgeQueue
        | Code::QueueFull
        | Code::UnknownTopic
        | Code::UnknownPartition
        | Code::InvalidArgument
        | Code::MessageSizeTooLarge => true,
        Code::RequestTimedOut | Code::NotEnoughReplicasAfterAppend | Code::Unknown => false,
        code => code as i32 > 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_certainly_not_written_has_failed() {
        for (code, partition, failed) in [
            (Code::MessageTimedOut, -1, true),
            (Code::MessageTimedOut, 3, false),
            (Code::PurgeQueue, 3, true),
            (Code::PurgeInflight, 3, false),
            (Code::BrokerTransportFailure, 3, false),
            (Code::NotEnoughReplicas, 3, true),
            (Code::NotEnoughReplicasAfterAppend, 3, false),
            (Code::RequestTimedOut, 3, false),
            (Code::MessageSizeTooLarge, 3, true),
            (Code::NotLeaderForPartition, 3, true),
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
