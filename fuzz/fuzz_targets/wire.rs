//! Any bytes, as a stream of frames and as every response that the client reads, in every version.
#![no_main]

use bytes::Bytes;
use kafka_chaos::kafka::wire::frame::{FrameReader, decode_response};
use kafka_chaos::kafka::wire::messages::{decode_api_versions, decode_metadata, decode_produce};
use kafka_protocol::messages::{
    CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest, DescribeClusterRequest, DescribeQuorumRequest,
    InitProducerIdRequest, ListOffsetsRequest,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut reader = FrameReader::default();
    for piece in data.chunks(7) {
        reader.push(piece);
        while let Ok(Some(_)) = reader.next_frame() {}
    }
    let [which, version, frame @ ..] = data else { return };
    let (frame, version) = (Bytes::copy_from_slice(frame), i16::from(*version % 16));
    match which % 10 {
        0 => drop(decode_api_versions(frame, version)),
        1 => drop(decode_metadata(frame, version)),
        2 => drop(decode_produce(frame, version)),
        3 => drop(decode_response::<InitProducerIdRequest>(frame, version)),
        4 => drop(decode_response::<CreateTopicsRequest>(frame, version)),
        5 => drop(decode_response::<DeleteTopicsRequest>(frame, version)),
        6 => drop(decode_response::<CreatePartitionsRequest>(frame, version)),
        7 => drop(decode_response::<DescribeClusterRequest>(frame, version)),
        8 => drop(decode_response::<DescribeQuorumRequest>(frame, version)),
        _ => drop(decode_response::<ListOffsetsRequest>(frame, version)),
    }
});
