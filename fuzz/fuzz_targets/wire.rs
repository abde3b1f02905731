//! Any bytes, as a stream of frames, as every response that the client reads, in every version, and as the controller's log.
#![no_main]

use bytes::Bytes;
use kafka_chaos::kafka::raft::image::Image;
use kafka_chaos::kafka::raft::record::{ControlRecord, MetadataRecord};
use kafka_chaos::kafka::wire::frame::{FrameReader, decode_response};
use kafka_chaos::kafka::wire::log::next_batch;
use kafka_chaos::kafka::wire::messages::{decode_api_versions, decode_metadata, decode_produce};
use kafka_protocol::messages::{
    CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest, DescribeClusterRequest, DescribeQuorumRequest, FetchRequest,
    FetchSnapshotRequest, InitProducerIdRequest, ListOffsetsRequest,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut reader = FrameReader::default();
    for piece in data.chunks(7) {
        reader.push(piece);
        while let Ok(Some(_)) = reader.next_frame() {}
    }
    let [which, version, frame @ ..] = data else { return };
    let (frame, version) = (Bytes::copy_from_slice(frame), i16::from(*version % 20));
    match which % 14 {
        0 => drop(decode_api_versions(frame, version)),
        1 => drop(decode_metadata(frame, version)),
        2 => drop(decode_produce(frame, version)),
        3 => drop(decode_response::<InitProducerIdRequest>(frame, version)),
        4 => drop(decode_response::<CreateTopicsRequest>(frame, version)),
        5 => drop(decode_response::<DeleteTopicsRequest>(frame, version)),
        6 => drop(decode_response::<CreatePartitionsRequest>(frame, version)),
        7 => drop(decode_response::<DescribeClusterRequest>(frame, version)),
        8 => drop(decode_response::<DescribeQuorumRequest>(frame, version)),
        9 => drop(decode_response::<FetchRequest>(frame, version)),
        10 => drop(decode_response::<FetchSnapshotRequest>(frame, version)),
        11 => read_log(frame),
        12 => read_records(&frame),
        _ => drop(decode_response::<ListOffsetsRequest>(frame, version)),
    }
});

/// As batches; a checksum that fits is hard to come by, so the first gets one.
fn read_log(frame: Bytes) {
    let mut log = frame.to_vec();
    if log.len() > 21 {
        let checksum = crc32c::crc32c(&log[21..]);
        log[17..21].copy_from_slice(&checksum.to_be_bytes());
    }
    let mut log = Bytes::from(log);
    while let Ok(Some(batch)) = next_batch(&mut log) {
        batch.records().for_each(drop);
    }
}

/// As records' values, each behind its length in a byte, into one image.
fn read_records(mut frame: &[u8]) {
    let mut image = Image::default();
    while let Some((length, rest)) = frame.split_first() {
        let Some((value, rest)) = rest.split_at_checked(usize::from(*length)) else { return };
        let _ = ControlRecord::decode(&value[..value.len().min(4)], value);
        let _ = MetadataRecord::decode(value).map(|record| image.replay(&record).is_ok());
        frame = rest;
    }
}
