//! Failures in the Java client's words: exception class and exact message, as users search for them.

use std::time::Duration;

use crate::clock::Moment;
use crate::ids::{BrokerId, PartitionIndex, TopicName};
use crate::kafka::core::batch::Batch;
use crate::kafka::event::Failure;
use crate::kafka::wire::error::ErrorCode;

fn failure(kind: &str, code: Option<ErrorCode>, text: String) -> Failure {
    Failure { kind: kind.to_owned(), code, text }
}

/// A topic is not in the snapshot at the end of `max.block.ms`.
#[must_use]
pub fn topic_not_present(topic: &TopicName, block_max: Duration, cause: Option<ErrorCode>) -> Failure {
    failure("TimeoutException", cause, format!("Topic {topic} not present in metadata after {} ms.", block_max.as_millis()))
}

/// A topic has too few partitions at the end of `max.block.ms`.
#[must_use]
pub fn partition_not_present(
    topic: &TopicName,
    partition: PartitionIndex,
    count: u32,
    block_max: Duration,
    cause: Option<ErrorCode>,
) -> Failure {
    let text = format!(
        "Partition {partition} of topic {topic} with partition count {count} is not present in metadata after {} ms.",
        block_max.as_millis()
    );
    failure("TimeoutException", cause, text)
}

/// No memory within `max.block.ms`.
#[must_use]
pub fn buffer_exhausted(bytes: usize, block_max: Duration, total: usize, free: usize, poolable: usize) -> Failure {
    let text = format!(
        "Failed to allocate {bytes} bytes within the configured max blocking time {} ms. Total memory: {total} bytes. Available memory: {free} \
         bytes. Poolable size: {poolable} bytes",
        block_max.as_millis()
    );
    failure("BufferExhaustedException", None, text)
}

/// A record that no request can carry.
#[must_use]
pub fn larger_than_request(bytes: usize, request_bytes_max: usize) -> Failure {
    let text = format!(
        "The message is {bytes} bytes when serialized which is larger than {request_bytes_max}, which is the value of the max.request.size \
         configuration."
    );
    failure("RecordTooLargeException", None, text)
}

/// A record that the whole buffer cannot hold.
#[must_use]
pub fn larger_than_buffer(bytes: usize) -> Failure {
    let text = format!(
        "The message is {bytes} bytes when serialized which is larger than the total memory buffer you have configured with the \
         buffer.memory configuration."
    );
    failure("RecordTooLargeException", None, text)
}

/// A batch that the whole buffer cannot hold.
#[must_use]
pub fn more_than_buffer(bytes: usize, total: usize) -> Failure {
    let text = format!("Attempt to allocate {bytes} bytes, but there is a hard limit of {total} on memory allocations.");
    failure("IllegalArgumentException", None, text)
}

/// Closed while a `send` waited for metadata.
#[must_use]
pub fn closed_while_sending() -> Failure {
    failure("KafkaException", None, "Producer closed while send in progress".to_owned())
}

/// Closed while a `send` waited for memory.
#[must_use]
pub fn closed_while_allocating() -> Failure {
    failure("KafkaException", None, "Producer closed while allocating memory".to_owned())
}

/// A partition that no topic can have.
#[must_use]
pub fn negative_partition(partition: PartitionIndex) -> Failure {
    let text = format!("Invalid partition: {partition}. Partition number should always be non-negative or null.");
    failure("IllegalArgumentException", None, text)
}

/// Used after close.
#[must_use]
pub fn used_after_close() -> Failure {
    failure("IllegalStateException", None, "Cannot perform operation after producer has been closed".to_owned())
}

/// Closed with records left.
#[must_use]
pub fn forced_close() -> Failure {
    failure("KafkaException", None, "Producer is closed forcefully.".to_owned())
}

/// A broker that cannot give producer ids.
#[must_use]
pub fn no_idempotence(node: BrokerId) -> Failure {
    let text = format!("The node {node} does not support INIT_PRODUCER_ID; set enable.idempotence=false to produce to it.");
    failure("UnsupportedVersionException", Some(ErrorCode::UNSUPPORTED_VERSION), text)
}

/// A producer id was refused for good.
#[must_use]
pub fn producer_id_refused(code: ErrorCode) -> Failure {
    match code {
        ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::PRODUCER_FENCED => exception(ErrorCode::PRODUCER_FENCED, None),
        _ => {
            let text = format!("Unexpected error in InitProducerIdResponse; {}", code.default_message());
            failure("KafkaException", Some(code), text)
        }
    }
}

/// A batch's `delivery.timeout.ms` is over.
#[must_use]
pub fn expired(batch: &Batch, now: Moment) -> Failure {
    let text = format!(
        "Expiring {} record(s) for {}-{}:{} ms has passed since batch creation. The request has not been sent, or no server response has been \
         received yet.",
        batch.tags.len(),
        batch.topic,
        batch.partition,
        now.since(batch.created_at).as_millis()
    );
    failure("TimeoutException", None, text)
}

/// A topic whose name the last answer called invalid: the message is the bare name.
#[must_use]
pub fn invalid_topic(topic: &TopicName) -> Failure {
    let code = ErrorCode::INVALID_TOPIC_EXCEPTION;
    failure(code.exception_class(), Some(code), topic.to_string())
}

/// A topic-level error that a `send` cannot outwait (17, 29).
#[must_use]
pub fn topic_error(topic: &TopicName, code: ErrorCode) -> Failure {
    let text = match code {
        ErrorCode::TOPIC_AUTHORIZATION_FAILED => format!("Not authorized to access topics: [{topic}]"),
        _ => format!("Invalid topics: [{topic}]"),
    };
    failure(code.exception_class(), Some(code), text)
}

/// What Java's `Errors` makes of a code: the broker's words, where it had some, else the code's own.
#[must_use]
pub fn exception(code: ErrorCode, message: Option<String>) -> Failure {
    let text = message.unwrap_or_else(|| code.default_message().to_owned());
    failure(code.exception_class(), Some(code), text)
}

/// A batch for this topic came back with an error for good. `message`: the broker's words, where it had some.
#[must_use]
pub fn batch_error(topic: &TopicName, code: ErrorCode, message: Option<String>) -> Failure {
    match code {
        ErrorCode::TOPIC_AUTHORIZATION_FAILED => topic_error(topic, code),
        ErrorCode::CLUSTER_AUTHORIZATION_FAILED => {
            exception(code, Some("The producer is not authorized to do idempotent sends".to_owned()))
        }
        _ => exception(code, message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_fails_in_javas_words() {
        let topic = TopicName::from("orders");
        let rows = [
            (6, Some("moved"), "NotLeaderOrFollowerException: moved"),
            (7, None, "TimeoutException: The request timed out."),
            (29, Some("no"), "TopicAuthorizationException: Not authorized to access topics: [orders]"),
            (31, None, "ClusterAuthorizationException: The producer is not authorized to do idempotent sends"),
            (35, None, "UnsupportedVersionException: The version of API is not supported."),
            (56, None, "KafkaStorageException: Disk error when trying to access log file on the disk."),
        ];
        for (code, message, expected) in rows {
            let failure = batch_error(&topic, ErrorCode(code), message.map(str::to_owned));
            assert_eq!((format!("{}: {}", failure.kind, failure.text), failure.code), (expected.to_owned(), Some(ErrorCode(code))));
        }
    }

    #[test]
    fn an_id_is_refused_in_javas_words() {
        let rows = [
            (42, "KafkaException: Unexpected error in InitProducerIdResponse; ".to_owned() + ErrorCode(42).default_message()),
            (47, "ProducerFencedException: ".to_owned() + ErrorCode::PRODUCER_FENCED.default_message()),
            (90, "ProducerFencedException: ".to_owned() + ErrorCode::PRODUCER_FENCED.default_message()),
        ];
        for (code, expected) in rows {
            let failure = producer_id_refused(ErrorCode(code));
            assert_eq!(format!("{}: {}", failure.kind, failure.text), expected);
        }
    }
}
