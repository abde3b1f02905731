//! InitProducerId (KIP-98) without transactions: the request and its answer in plain types.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::InitProducerIdRequest;
use kafka_protocol::protocol::StrBytes;

use crate::ids::ProducerIdAndEpoch;
use crate::kafka::wire::error::ErrorCode;
use crate::kafka::wire::frame::{WireError, decode_response, encode_request};

/// A broker's answer to InitProducerId.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerIdAnswer {
    /// What was given, or why nothing was.
    pub given: Result<ProducerIdAndEpoch, ErrorCode>,
    /// How long the broker asks the client to be silent, in ms.
    pub throttle_ms: u32,
}

/// Encodes the request of a producer without transactions, as the Java client asks: no transactional id, a timeout of 2^31-1 ms.
///
/// # Errors
/// [`WireError::Encode`]
pub fn encode_init_producer_id(correlation_id: i32, client_id: &StrBytes, version: i16) -> Result<BytesMut, WireError> {
    let request = InitProducerIdRequest::default().with_transactional_id(None).with_transaction_timeout_ms(i32::MAX);
    encode_request(correlation_id, client_id, version, &request)
}

/// Decodes an InitProducerId response.
///
/// # Errors
/// [`WireError::Decode`]
pub fn decode_init_producer_id(frame: Bytes, version: i16) -> Result<ProducerIdAnswer, WireError> {
    let response = decode_response::<InitProducerIdRequest>(frame, version)?;
    let given = match ErrorCode::from_wire(response.error_code) {
        Some(code) => Err(code),
        None => Ok(ProducerIdAndEpoch { id: response.producer_id.0, epoch: response.producer_epoch }),
    };
    Ok(ProducerIdAnswer { given, throttle_ms: u32::try_from(response.throttle_time_ms).unwrap_or(0) })
}
