//! The layouts against the codec crate: frames that are grown from the tables are read by both, to the last byte.

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::{
    AlterPartitionReassignmentsRequest, AlterUserScramCredentialsRequest, ApiKey, ApiVersionsRequest, CreatePartitionsRequest,
    CreateTopicsRequest, DeleteTopicsRequest, DescribeClusterRequest, DescribeConfigsRequest, DescribeQuorumRequest,
    DescribeTopicPartitionsRequest, ElectLeadersRequest, FetchRequest, FetchSnapshotRequest, IncrementalAlterConfigsRequest,
    InitProducerIdRequest, ListOffsetsRequest, ListPartitionReassignmentsRequest, MetadataRequest, ProduceRequest, ResponseHeader,
    SaslAuthenticateRequest, SaslHandshakeRequest,
};
use kafka_protocol::protocol::{Decodable, HeaderVersion, Message, Request};
use proptest::prelude::*;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::frame::{WireError, decode_response};
use super::layouts::layout_of;
use super::shape::{Field, Kind, check};

/// Grows random bytes of a layout.
struct Grower {
    bytes: BytesMut,
    random: ChaCha8Rng,
    version: i16,
    is_flexible: bool,
}

impl Grower {
    fn fields(&mut self, fields: &[Field]) {
        let is_there = |field: &&Field| (field.since..=field.until).contains(&self.version);
        let (tagged, plain): (Vec<_>, Vec<_>) = fields.iter().filter(is_there).partition(|field| field.tag.is_some());
        plain.into_iter().for_each(|field| self.value(&field.kind));
        if self.is_flexible {
            self.varint(tagged.len() + 1);
            for field in tagged {
                let outer = std::mem::take(&mut self.bytes);
                self.value(&field.kind);
                let value = std::mem::replace(&mut self.bytes, outer);
                self.varint(field.tag.unwrap() as usize);
                self.varint(value.len());
                self.bytes.put_slice(&value);
            }
            // One that nobody knows.
            self.varint(77);
            self.varint(3);
            self.bytes.put_slice(b"new");
        }
    }

    fn value(&mut self, kind: &Kind) {
        match kind {
            Kind::Fixed(bytes) => {
                let mut random = vec![0; *bytes];
                self.random.fill_bytes(&mut random);
                self.bytes.put_slice(&random);
            }
            Kind::Text => {
                let length = self.random.random_range(0..6);
                if self.is_flexible {
                    self.varint(length + 1);
                } else {
                    self.bytes.put_i16(i16::try_from(length).unwrap());
                }
                self.bytes.put_bytes(b'x', length);
            }
            Kind::Bytes => {
                let length = self.random.random_range(0..6);
                if self.is_flexible {
                    self.varint(length + 1);
                } else {
                    self.bytes.put_i32(i32::try_from(length).unwrap());
                }
                self.bytes.put_bytes(b'x', length);
            }
            Kind::Array(element) => {
                let count = self.random.random_range(0..4);
                if self.is_flexible {
                    self.varint(count + 1);
                } else {
                    self.bytes.put_i32(i32::try_from(count).unwrap());
                }
                (0..count).for_each(|_| self.value(element));
            }
            Kind::Struct(fields) => self.fields(fields),
            Kind::Optional(fields) => {
                if self.random.random() {
                    self.bytes.put_i8(1);
                    self.fields(fields);
                } else {
                    self.bytes.put_i8(-1);
                }
            }
        }
    }

    fn varint(&mut self, mut value: usize) {
        while value >= 0x80 {
            self.bytes.put_u8((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.put_u8(value as u8);
    }
}

fn grow<R: Request>(version: i16, seed: u64) -> Bytes {
    let layout = layout_of(ApiKey::try_from(R::KEY).unwrap()).unwrap();
    let is_flexible = R::Response::header_version(version) > 0;
    let mut grower = Grower { bytes: BytesMut::new(), random: ChaCha8Rng::seed_from_u64(seed), version, is_flexible };
    grower.fields(&[super::shape::since(0, Kind::Fixed(4))]);
    grower.is_flexible = version >= layout.flexible_since;
    grower.fields(layout.fields);
    grower.bytes.freeze()
}

/// Whole, the frame is read to its end; cut anywhere, it is refused by the walk.
fn reads_alike<R: Request>(seed: u64) {
    let api = ApiKey::try_from(R::KEY).unwrap();
    for version in <R as Message>::VERSIONS.min..=<R as Message>::VERSIONS.max {
        let frame = grow::<R>(version, seed);
        let header_version = R::Response::header_version(version);
        decode_response::<R>(frame.clone(), version).unwrap_or_else(|error| panic!("{error}: {frame:?}"));
        let mut rest = frame.clone();
        ResponseHeader::decode(&mut rest, header_version).unwrap();
        R::Response::decode(&mut rest, version).unwrap();
        assert!(rest.is_empty(), "{api:?} {version}: the codec leaves {} bytes", rest.len());
        for cut in 0..frame.len() {
            assert!(check(&frame[..cut], api, version, header_version).is_err(), "{api:?} {version}: cut at {cut} of {frame:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_layouts_are_the_codecs(seed in any::<u64>()) {
        reads_alike::<ApiVersionsRequest>(seed);
        reads_alike::<MetadataRequest>(seed);
        reads_alike::<ProduceRequest>(seed);
        reads_alike::<InitProducerIdRequest>(seed);
        reads_alike::<CreateTopicsRequest>(seed);
        reads_alike::<DeleteTopicsRequest>(seed);
        reads_alike::<CreatePartitionsRequest>(seed);
        reads_alike::<DescribeClusterRequest>(seed);
        reads_alike::<DescribeQuorumRequest>(seed);
        reads_alike::<ListOffsetsRequest>(seed);
        reads_alike::<DescribeTopicPartitionsRequest>(seed);
        reads_alike::<ElectLeadersRequest>(seed);
        reads_alike::<AlterPartitionReassignmentsRequest>(seed);
        reads_alike::<ListPartitionReassignmentsRequest>(seed);
        reads_alike::<DescribeConfigsRequest>(seed);
        reads_alike::<IncrementalAlterConfigsRequest>(seed);
        reads_alike::<FetchRequest>(seed);
        reads_alike::<FetchSnapshotRequest>(seed);
        reads_alike::<AlterUserScramCredentialsRequest>(seed);
        reads_alike::<SaslHandshakeRequest>(seed);
        reads_alike::<SaslAuthenticateRequest>(seed);
    }
}

#[test]
fn what_may_be_left_out_says_whether_it_is_there() {
    let answer = |there: u8| {
        let frame = [0, 0, 0, 1, 0, 0, 0, 0, 0, 1, there, 2, b'x', 0, 0, 0, 3, 0, 0];
        decode_response::<DescribeTopicPartitionsRequest>(Bytes::copy_from_slice(&frame), 0)
    };
    assert_eq!(answer(1).unwrap().next_cursor.unwrap().partition_index, 3);
    let error = answer(2).unwrap_err();
    assert!(error.to_string().contains("a byte 2 where 1 (there) or 255 (not there) is expected"), "{error}");
}

#[test]
fn a_count_that_no_bytes_bear_out_is_refused_in_words() {
    let rows: [(i16, &[u8], &str); 5] = [
        (
            8,
            &[0, 0, 0, 1, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 1, 2, 3],
            "an array of 2147483647 elements is announced, and 3 bytes are left",
        ),
        (8, &[0, 0, 0, 1, 0, 0, 0, 0, 0x80, 0, 0, 0], "an array of length -2147483648"),
        (
            12,
            &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f],
            "an array of 4294967294 elements is announced, and 0 bytes are left",
        ),
        (12, &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x7f], "a number of more than 32 bits"),
        (12, &[0, 0, 0, 1, 1, 9, 0x20, 0], "a tagged field of 32 bytes is announced, and 1 bytes are left"),
    ];
    for (version, frame, words) in rows {
        let error = decode_response::<MetadataRequest>(Bytes::copy_from_slice(frame), version).unwrap_err();
        assert!(matches!(&error, WireError::Decode { reason, .. } if reason == words), "{error}");
    }
}
