//! Requests to bytes and bytes to responses: length prefix, header, body.
//!
//! Not here: which version to speak (`versions`) or where the bytes go (`net`).

use bytes::{Buf, BufMut, Bytes, BytesMut};
use kafka_protocol::messages::{ApiKey, RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};

use crate::kafka::wire::shape::check;

/// Longest response that is read; a broker that announces more is not believed.
pub const FRAME_BYTES_MAX: usize = 128 * 1024 * 1024;

/// What can be wrong with bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// A request that this version cannot carry.
    #[error("cannot encode {api:?} version {version}: {reason}")]
    Encode {
        /// Which request.
        api: ApiKey,
        /// In which version.
        version: i16,
        /// The codec's words.
        reason: String,
    },
    /// A response that does not parse.
    #[error("cannot decode the response to {api:?} version {version}: {reason}")]
    Decode {
        /// Which request was answered.
        api: ApiKey,
        /// In which version.
        version: i16,
        /// The codec's words.
        reason: String,
    },
    /// A length prefix outside 4 to [`FRAME_BYTES_MAX`].
    #[error("a frame of {0} bytes was announced (4 to {FRAME_BYTES_MAX} are allowed)")]
    FrameLength(i32),
}

/// Encodes a request: 4 bytes of length, header, body.
///
/// # Errors
/// [`WireError::Encode`] if a field that is set does not exist in this version.
pub fn encode_request<R: Request>(correlation_id: i32, client_id: &StrBytes, version: i16, request: &R) -> Result<BytesMut, WireError> {
    let api = ApiKey::try_from(R::KEY).expect("the crate's own key");
    let failed = |error: anyhow::Error| WireError::Encode { api, version, reason: format!("{error:#}") };
    let header = RequestHeader::default()
        .with_request_api_key(R::KEY)
        .with_request_api_version(version)
        .with_correlation_id(correlation_id)
        .with_client_id(Some(client_id.clone()));
    let mut frame = BytesMut::with_capacity(4 + 32 + client_id.len() + request.compute_size(version).map_err(failed)?);
    frame.put_i32(0);
    header.encode(&mut frame, R::header_version(version)).map_err(failed)?;
    request.encode(&mut frame, version).map_err(failed)?;
    let length = i32::try_from(frame.len() - 4).map_err(|_| WireError::FrameLength(i32::MAX))?;
    frame[..4].copy_from_slice(&length.to_be_bytes());
    Ok(frame)
}

/// Reads the correlation id of a response frame (without its length prefix); `None` if it is too short.
#[must_use]
pub fn correlation_id_of(frame: &[u8]) -> Option<i32> {
    Some(i32::from_be_bytes(frame.get(..4)?.try_into().ok()?))
}

/// Decodes a response frame (without its length prefix) to the request `R` in `version`.
///
/// # Errors
/// [`WireError::Decode`] if the bytes are not such a response.
pub fn decode_response<R: Request>(mut frame: Bytes, version: i16) -> Result<R::Response, WireError> {
    let api = ApiKey::try_from(R::KEY).expect("the crate's own key");
    let header_version = R::Response::header_version(version);
    check(&frame, api, version, header_version).map_err(|reason| WireError::Decode { api, version, reason })?;
    let failed = |error: anyhow::Error| WireError::Decode { api, version, reason: format!("{error:#}") };
    ResponseHeader::decode(&mut frame, header_version).map_err(failed)?;
    R::Response::decode(&mut frame, version).map_err(failed)
}

/// Cuts a byte stream into response frames.
#[derive(Debug, Default)]
pub struct FrameReader {
    pending: BytesMut,
}

impl FrameReader {
    /// Takes bytes as they came.
    pub fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// The next whole frame, without its length prefix.
    ///
    /// # Errors
    /// [`WireError::FrameLength`] for an impossible length; the stream cannot be read on.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, WireError> {
        let Some(prefix) = self.pending.get(..4) else { return Ok(None) };
        let length = i32::from_be_bytes([prefix[0], prefix[1], prefix[2], prefix[3]]);
        let frame_bytes = usize::try_from(length).ok().filter(|bytes| (4..=FRAME_BYTES_MAX).contains(bytes));
        let Some(frame_bytes) = frame_bytes else { return Err(WireError::FrameLength(length)) };
        if self.pending.len() < 4 + frame_bytes {
            return Ok(None);
        }
        self.pending.advance(4);
        let frame = self.pending.split_to(frame_bytes).freeze();
        if self.pending.is_empty() {
            // An idle connection keeps no buffer: thousands of clients live in one process.
            self.pending = BytesMut::new();
        }
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kafka_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse};

    #[test]
    fn frames_are_cut_at_any_byte() {
        let mut stream = Vec::new();
        for payload in [&b"abcd1"[..], b"wxyz"] {
            stream.extend_from_slice(&i32::try_from(payload.len()).unwrap().to_be_bytes());
            stream.extend_from_slice(payload);
        }
        for cut in 0..stream.len() {
            let mut reader = FrameReader::default();
            let mut frames = Vec::new();
            for part in [&stream[..cut], &stream[cut..]] {
                reader.push(part);
                while let Some(frame) = reader.next_frame().unwrap() {
                    frames.push(frame);
                }
            }
            assert_eq!(frames, [Bytes::from_static(b"abcd1"), Bytes::from_static(b"wxyz")], "cut at {cut}");
        }
    }

    #[test]
    fn an_impossible_length_is_an_error() {
        for length in [-1, 0, 3, i32::MAX] {
            let mut reader = FrameReader::default();
            reader.push(&length.to_be_bytes());
            assert!(matches!(reader.next_frame(), Err(WireError::FrameLength(told)) if told == length));
        }
    }

    #[test]
    fn an_api_versions_response_has_header_version_zero_even_when_flexible() {
        let body = ApiVersionsResponse::default();
        let mut frame = BytesMut::new();
        frame.put_i32(7);
        body.encode(&mut frame, 3).unwrap();
        assert_eq!(correlation_id_of(&frame), Some(7));
        assert_eq!(decode_response::<ApiVersionsRequest>(frame.freeze(), 3).unwrap(), body);
    }

    #[test]
    fn the_length_prefix_counts_what_follows() {
        let frame = encode_request(1, &StrBytes::from_static_str("client"), 3, &ApiVersionsRequest::default()).unwrap();
        assert_eq!(i32::from_be_bytes(frame[..4].try_into().unwrap()), i32::try_from(frame.len() - 4).unwrap());
    }
}
