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

/// The client may not be given a producer id, or may not use it.
#[must_use]
pub fn not_authorized(code: ErrorCode) -> Failure {
    failure(&exception_class(code), Some(code), "The producer is not authorized to do idempotent sends".to_owned())
}

/// A producer id was refused for good.
#[must_use]
pub fn producer_id_refused(code: ErrorCode) -> Failure {
    failure("KafkaException", Some(code), format!("Unexpected error in InitProducerIdResponse; {code}"))
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
    failure(&exception_class(code), Some(code), topic.to_string())
}

/// A topic-level error that a `send` cannot outwait (17, 29).
#[must_use]
pub fn topic_error(topic: &TopicName, code: ErrorCode) -> Failure {
    let text = match code {
        ErrorCode::TOPIC_AUTHORIZATION_FAILED => format!("Not authorized to access topics: [{topic}]"),
        _ => format!("Invalid topics: [{topic}]"),
    };
    failure(&exception_class(code), Some(code), text)
}

/// A batch came back with an error for good. `message`: the broker's words, where it had some.
#[must_use]
pub fn batch_error(node: BrokerId, code: ErrorCode, message: Option<String>) -> Failure {
    let text = message.unwrap_or_else(|| format!("Node {node} answered {code}."));
    failure(&exception_class(code), Some(code), text)
}

/// The Java client's exception class for a code.
fn exception_class(code: ErrorCode) -> String {
    match code {
        ErrorCode::UNKNOWN_SERVER_ERROR => "UnknownServerException".to_owned(),
        ErrorCode::REQUEST_TIMED_OUT => "TimeoutException".to_owned(),
        ErrorCode::MESSAGE_TOO_LARGE => "RecordTooLargeException".to_owned(),
        ErrorCode::NETWORK_EXCEPTION => "NetworkException".to_owned(),
        ErrorCode::INVALID_TOPIC_EXCEPTION => "InvalidTopicException".to_owned(),
        ErrorCode::TOPIC_AUTHORIZATION_FAILED => "TopicAuthorizationException".to_owned(),
        ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER => "OutOfOrderSequenceException".to_owned(),
        _ => {
            let words = code.name();
            let camel: String = words
                .split('_')
                .map(|word| {
                    let (first, rest) = word.split_at(word.len().min(1));
                    format!("{first}{}", rest.to_lowercase())
                })
                .collect();
            format!("{camel}Exception")
        }
    }
}
