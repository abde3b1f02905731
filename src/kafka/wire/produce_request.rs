//! Produce requests, versions 3 to 13, written around their record batches.
//!
//! Written by hand because the codec crate copies every batch into the frame; here a large batch becomes a piece of it as it is. The tests read
//! what is written with the codec crate, in every version. Not here: answers (`messages`), the batches' own bytes (`batch`).

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::{ApiKey, ProduceRequest, RequestHeader};
use kafka_protocol::protocol::{Encodable, HeaderVersion, Message, StrBytes};

use crate::ids::{PartitionIndex, TopicId, TopicName};
use crate::kafka::wire::frame::WireError;
use crate::kafka::wire::outgoing::OutgoingFrame;

/// From this version on Produce names topics by id (KIP-516).
pub const FIRST_PRODUCE_VERSION_WITH_TOPIC_IDS: i16 = 13;

/// From this version on lengths are compact and structures end with tagged fields (KIP-482).
const FIRST_FLEXIBLE_VERSION: i16 = 9;

/// A batch of fewer bytes is copied: cheaper than a piece of its own in the write.
const PIECE_BYTES_MIN: usize = 2_048;

/// One batch of a Produce request.
#[derive(Debug)]
pub struct ProduceBatch<'a> {
    /// Its topic.
    pub topic: &'a TopicName,
    /// The topic's id; all zero on the wire if unknown (the broker then answers 100).
    pub topic_id: Option<TopicId>,
    /// Its partition.
    pub partition: PartitionIndex,
    /// The encoded batch.
    pub records: &'a Bytes,
}

/// Encodes a Produce request. Batches of one topic must stand together.
///
/// # Errors
/// [`WireError::Encode`] for a version that does not exist, [`WireError::FrameLength`] for more than a frame can hold.
pub fn encode_produce(
    correlation_id: i32,
    client_id: &StrBytes,
    version: i16,
    acks: i16,
    timeout_ms: i32,
    batches: &[ProduceBatch<'_>],
) -> Result<OutgoingFrame, WireError> {
    let failed = |reason: String| WireError::Encode { api: ApiKey::Produce, version, reason };
    let versions = <ProduceRequest as Message>::VERSIONS;
    if version < versions.min || version > versions.max {
        return Err(failed(format!("only {} to {} exist", versions.min, versions.max)));
    }
    let mut writer = Writer { pieces: Vec::new(), text: BytesMut::with_capacity(256), is_flexible: version >= FIRST_FLEXIBLE_VERSION };
    writer.text.put_i32(0);
    RequestHeader::default()
        .with_request_api_key(ApiKey::Produce as i16)
        .with_request_api_version(version)
        .with_correlation_id(correlation_id)
        .with_client_id(Some(client_id.clone()))
        .encode(&mut writer.text, ProduceRequest::header_version(version))
        .map_err(|error| failed(format!("{error:#}")))?;
    writer.body(version, acks, timeout_ms, batches);
    writer.finish()
}

/// Writes into `text`, and sets large batches between its parts.
struct Writer {
    pieces: Vec<Bytes>,
    text: BytesMut,
    is_flexible: bool,
}

impl Writer {
    fn body(&mut self, version: i16, acks: i16, timeout_ms: i32, batches: &[ProduceBatch<'_>]) {
        self.no_transactional_id();
        self.text.put_i16(acks);
        self.text.put_i32(timeout_ms);
        self.length(batches.chunk_by(|one, next| one.topic == next.topic).count());
        for topic in batches.chunk_by(|one, next| one.topic == next.topic) {
            self.topic(version, topic);
        }
        self.end_of_structure();
    }

    fn topic(&mut self, version: i16, batches: &[ProduceBatch<'_>]) {
        let Some(first) = batches.first() else { return };
        if version >= FIRST_PRODUCE_VERSION_WITH_TOPIC_IDS {
            self.text.put_slice(first.topic_id.map_or_else(uuid::Uuid::nil, |id| id.0).as_bytes());
        } else {
            self.name(first.topic.as_str());
        }
        self.length(batches.len());
        for batch in batches {
            self.text.put_i32(batch.partition.0);
            self.length(batch.records.len());
            if batch.records.len() < PIECE_BYTES_MIN {
                self.text.put_slice(batch.records);
            } else {
                self.pieces.push(self.text.split().freeze());
                self.pieces.push(batch.records.clone());
            }
            self.end_of_structure();
        }
        self.end_of_structure();
    }

    fn no_transactional_id(&mut self) {
        if self.is_flexible { self.text.put_u8(0) } else { self.text.put_i16(-1) }
    }

    fn name(&mut self, name: &str) {
        if self.is_flexible {
            self.length(name.len());
        } else {
            // A topic's name has 249 characters at most.
            self.text.put_i16(i16::try_from(name.len()).unwrap_or(i16::MAX));
        }
        self.text.put_slice(name.as_bytes());
    }

    /// Length of an array or of bytes; with compact lengths 0 stands for null.
    fn length(&mut self, length: usize) {
        if !self.is_flexible {
            return self.text.put_i32(i32::try_from(length).unwrap_or(i32::MAX));
        }
        let mut rest = length + 1;
        while rest >= 0x80 {
            self.text.put_u8((rest as u8 & 0x7f) | 0x80);
            rest >>= 7;
        }
        self.text.put_u8(rest as u8);
    }

    fn end_of_structure(&mut self) {
        if self.is_flexible {
            self.text.put_u8(0);
        }
    }

    /// The frame, with its length in front.
    fn finish(mut self) -> Result<OutgoingFrame, WireError> {
        let total: usize = self.pieces.iter().map(Bytes::len).sum::<usize>() + self.text.len();
        let length = i32::try_from(total - 4).map_err(|_| WireError::FrameLength(i32::MAX))?;
        // The prefix is at the start of the first piece: header and names, never a batch. They are copied if they share a buffer with what follows.
        let mut first = if self.pieces.is_empty() { self.text.split() } else { BytesMut::from(self.pieces.remove(0)) };
        first[..4].copy_from_slice(&length.to_be_bytes());
        Ok(OutgoingFrame::new([first.freeze()].into_iter().chain(self.pieces).chain([self.text.freeze()])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Buf;
    use kafka_protocol::protocol::Decodable;

    fn read(frame: &OutgoingFrame, version: i16) -> (RequestHeader, ProduceRequest) {
        let mut bytes = frame.to_bytes();
        assert_eq!(bytes.get_i32(), i32::try_from(bytes.len()).unwrap(), "the length counts what follows");
        let header = RequestHeader::decode(&mut bytes, ProduceRequest::header_version(version)).unwrap();
        let request = ProduceRequest::decode(&mut bytes, version).unwrap();
        assert!(bytes.is_empty(), "version {version}: {} bytes too many", bytes.len());
        (header, request)
    }

    #[test]
    fn every_version_reads_back_as_it_was_meant() {
        let (orders, other) = (TopicName::from("orders"), TopicName::from("other"));
        let id = TopicId(uuid::Uuid::from_u128(7));
        let records = [Bytes::from(vec![1; 10]), Bytes::from(vec![2; 5_000]), Bytes::from(vec![3; 200_000]), Bytes::from(vec![4; 61])];
        let batch = |topic, topic_id, partition, records| ProduceBatch { topic, topic_id, partition: PartitionIndex(partition), records };
        let batches = [
            batch(&orders, Some(id), 0, &records[0]),
            batch(&orders, Some(id), 300, &records[1]),
            batch(&orders, Some(id), 2, &records[2]),
            batch(&other, None, 1, &records[3]),
        ];
        let client_id = StrBytes::from_static_str("a-client");
        for version in 3..=13 {
            let frame = encode_produce(42, &client_id, version, -1, 30_000, &batches).unwrap();
            let (header, request) = read(&frame, version);
            assert_eq!((header.correlation_id, header.request_api_version, header.client_id), (42, version, Some(client_id.clone())));
            assert_eq!((request.acks, request.timeout_ms, request.transactional_id), (-1, 30_000, None));
            let topics: Vec<_> = request.topic_data.iter().map(|topic| (topic.name.0.to_string(), topic.topic_id)).collect();
            let expected = if version >= 13 {
                vec![(String::new(), id.0), (String::new(), uuid::Uuid::nil())]
            } else {
                vec![("orders".to_owned(), uuid::Uuid::nil()), ("other".to_owned(), uuid::Uuid::nil())]
            };
            assert_eq!(topics, expected, "version {version}");
            let partitions = request.topic_data.iter().flat_map(|topic| &topic.partition_data);
            let read: Vec<_> = partitions.map(|partition| (partition.index, partition.records.clone().unwrap())).collect();
            let meant: Vec<_> = batches.iter().map(|batch| (batch.partition.0, batch.records.clone())).collect();
            assert_eq!(read, meant, "version {version}");
        }
    }

    #[test]
    fn a_large_batch_is_not_copied() {
        let (orders, records) = (TopicName::from("orders"), Bytes::from(vec![9; PIECE_BYTES_MIN]));
        let batch = ProduceBatch { topic: &orders, topic_id: None, partition: PartitionIndex(0), records: &records };
        let frame = encode_produce(1, &StrBytes::from_static_str("c"), 9, 1, 1, &[batch]).unwrap();
        let mut slices = [std::io::IoSlice::new(&[]); 4];
        assert_eq!(frame.fill(&mut slices), 3);
        assert_eq!(slices[1].as_ptr(), records.as_ptr());
    }

    #[test]
    fn a_version_that_does_not_exist_is_refused() {
        for version in [2, 14] {
            let error = encode_produce(1, &StrBytes::from_static_str("c"), version, 1, 1, &[]).unwrap_err();
            assert!(error.to_string().contains("only 3 to 13 exist"), "{error}");
        }
    }
}
