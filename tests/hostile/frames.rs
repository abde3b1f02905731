//! The frame reader and every decoder against spoilt bytes.

use bytes::Bytes;
use kafka_chaos::kafka::wire::frame::{FRAME_BYTES_MAX, FrameReader};
use proptest::prelude::*;

use super::samples::{self, Sample, metadata};
use super::{alone, peak_bytes_of};

/// What decoding may take per byte of the frame (the codec's structs are wider than what they stand for on the wire), and besides.
const BYTES_PER_BYTE_MAX: usize = 48;
const BYTES_BESIDES_MAX: usize = 64 * 1024;

/// Decodes, and holds the memory that it took against the frame's size.
fn decode_within_bounds(sample: &Sample, frame: Vec<u8>) -> bool {
    let most = frame.len() * BYTES_PER_BYTE_MAX + BYTES_BESIDES_MAX;
    let frame = Bytes::from(frame);
    let mut is_read = false;
    let peak = peak_bytes_of(|| is_read = sample.reads(frame.clone()));
    assert!(peak <= most, "{}: {peak} bytes for a frame of {}: {frame:?}", sample.what, frame.len());
    is_read
}

#[test]
fn no_count_at_any_place_makes_room_for_what_is_not_there() {
    let _alone = alone();
    // As a length of four bytes, of two, and as varints: full, and one that is just too long.
    let counts: [&[u8]; 6] =
        [&[0x7f, 0xff, 0xff, 0xff], &[0x00, 0x0f, 0xff, 0xff], &[0xff; 4], &[0x7f, 0xff], &[0xff, 0xff, 0xff, 0xff, 0x0f], &[0xff; 10]];
    for sample in samples::all() {
        assert!(decode_within_bounds(&sample, sample.frame.to_vec()), "{} is not well-formed", sample.what);
        for at in 4..sample.frame.len() {
            for count in counts {
                let mut over = sample.frame.to_vec();
                let end = (at + count.len()).min(over.len());
                over[at..end].copy_from_slice(&count[..end - at]);
                decode_within_bounds(&sample, over);
                let inserted = [&sample.frame[..at], count, &sample.frame[at..]].concat();
                decode_within_bounds(&sample, inserted);
            }
            assert!(!decode_within_bounds(&sample, sample.frame[..at].to_vec()), "{} is read when cut at {at}", sample.what);
        }
    }
}

#[test]
fn a_large_honest_answer_takes_memory_in_proportion() {
    let _alone = alone();
    let sample = samples::all().into_iter().find(|sample| sample.what.ends_with("MetadataRequest version 13")).unwrap();
    let frame = samples::frame_of::<kafka_protocol::messages::MetadataRequest>(7, 13, &metadata(20_000));
    assert!(decode_within_bounds(&sample, frame.to_vec()));
}

const CASES: u32 = 400;

// Each holds the lock while values are made up too: the count is the process's.

#[test]
fn random_bytes_are_refused_or_read_within_bounds() {
    let _alone = alone();
    let samples = samples::all();
    proptest!(ProptestConfig::with_cases(CASES), |(bytes in prop::collection::vec(any::<u8>(), 0..300))| {
        for sample in &samples {
            decode_within_bounds(sample, bytes.clone());
        }
    });
}

#[test]
fn spoilt_answers_are_refused_or_read_within_bounds() {
    let _alone = alone();
    let samples = samples::all();
    let index = any::<prop::sample::Index>;
    let changes = prop::collection::vec((index(), any::<u8>()), 1..12);
    proptest!(ProptestConfig::with_cases(CASES), |(which in index(), changes in changes, cut in prop::option::of(index()))| {
        let sample = which.get(&samples);
        let mut frame = sample.frame.to_vec();
        for (at, byte) in &changes {
            let at = at.index(frame.len());
            frame[at] = *byte;
        }
        if let Some(cut) = cut {
            frame.truncate(cut.index(frame.len()));
        }
        decode_within_bounds(sample, frame);
    });
}

#[test]
fn the_frame_reader_keeps_no_more_than_it_was_given() {
    let _alone = alone();
    let byte = prop_oneof![Just(0_u8), Just(0xff), any::<u8>()];
    let pieces = prop::collection::vec(prop::collection::vec(byte, 0..40), 0..30);
    proptest!(ProptestConfig::with_cases(CASES), |(pieces in pieces)| {
        let given: usize = pieces.iter().map(Vec::len).sum();
        let mut framed = 0;
        let peak = peak_bytes_of(|| framed = read_all(&pieces));
        prop_assert!(framed <= given);
        prop_assert!(peak <= 3 * given + BYTES_BESIDES_MAX, "{peak} bytes for {given}");
    });
}

/// Bytes of the frames that come of these pieces, up to the first impossible length.
fn read_all(pieces: &[Vec<u8>]) -> usize {
    let mut reader = FrameReader::default();
    let mut framed = 0;
    for piece in pieces {
        reader.push(piece);
        loop {
            match reader.next_frame() {
                Ok(Some(frame)) => framed += frame.len() + 4,
                Ok(None) => break,
                Err(_) => return framed,
            }
        }
    }
    framed
}

#[test]
fn an_announced_length_takes_no_memory_before_its_bytes_come() {
    let _alone = alone();
    let peak = peak_bytes_of(|| {
        let mut reader = FrameReader::default();
        reader.push(&i32::try_from(FRAME_BYTES_MAX).unwrap().to_be_bytes());
        assert!(matches!(reader.next_frame(), Ok(None)));
        let mut reader = FrameReader::default();
        reader.push(&i32::try_from(FRAME_BYTES_MAX + 1).unwrap().to_be_bytes());
        assert!(reader.next_frame().is_err());
    });
    assert!(peak < BYTES_BESIDES_MAX, "{peak} bytes");
}
