//! Compressed record batches: gzip, snappy, lz4 and zstd in the framings that brokers and the Java client read.
//!
//! Java's counterparts: `GzipCompression`, `SnappyCompression`, `Lz4Compression`, `ZstdCompression`. Three of the codecs are pure Rust; zstd is C
//! and comes with the cargo feature `zstd`. Not here: when a batch is full (`batch`), how well a topic compresses (`core`).

use std::io::{self, Read, Write};

/// How a client compresses its batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// zlib's levels, 0 to 9.
    Gzip {
        /// The level.
        level: u32,
    },
    /// Snappy has no levels.
    Snappy,
    /// The fast compressor, as Java uses it at its default level.
    Lz4,
    /// zstd's levels.
    #[cfg(feature = "zstd")]
    Zstd {
        /// The level.
        level: i32,
    },
}

/// Bytes of a snappy block before compression, as in the Java library.
const SNAPPY_BLOCK_BYTES: usize = 32 * 1024;

/// Magic, version and lowest compatible version of the framing that the Java library puts around snappy blocks.
const SNAPPY_HEADER: &[u8; 16] = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01";

impl Codec {
    /// Its number in a batch's attributes.
    #[must_use]
    pub fn id(self) -> u8 {
        match self {
            Self::Gzip { .. } => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            #[cfg(feature = "zstd")]
            Self::Zstd { .. } => 4,
        }
    }

    /// Appends `plain` to `target`, compressed.
    pub fn compress(self, plain: &[u8], target: &mut Vec<u8>) {
        let written = match self {
            Self::Gzip { level } => gzip(plain, level, target),
            Self::Snappy => snappy(plain, target),
            Self::Lz4 => lz4(plain, target),
            #[cfg(feature = "zstd")]
            Self::Zstd { level } => zstd::stream::copy_encode(plain, target, level),
        };
        written.expect("a vector takes every byte");
    }
}

fn gzip(plain: &[u8], level: u32, target: &mut Vec<u8>) -> io::Result<()> {
    let mut encoder = flate2::write::GzEncoder::new(target, flate2::Compression::new(level));
    encoder.write_all(plain)?;
    encoder.finish().map(|_| ())
}

fn snappy(plain: &[u8], target: &mut Vec<u8>) -> io::Result<()> {
    target.extend_from_slice(SNAPPY_HEADER);
    let mut encoder = snap::raw::Encoder::new();
    for block in plain.chunks(SNAPPY_BLOCK_BYTES) {
        let length_at = target.len();
        let block_at = length_at + 4;
        target.resize(block_at + snap::raw::max_compress_len(block.len()), 0);
        let written = encoder.compress(block, &mut target[block_at..])?;
        target.truncate(block_at + written);
        target[length_at..block_at].copy_from_slice(&u32::try_from(written).unwrap_or(u32::MAX).to_be_bytes());
    }
    Ok(())
}

/// Independent blocks of 64 KiB, no checksums but the header's: what Java writes, and all that brokers take.
fn lz4(plain: &[u8], target: &mut Vec<u8>) -> io::Result<()> {
    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
    let info = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Independent);
    let mut encoder = FrameEncoder::with_frame_info(info, target);
    encoder.write_all(plain)?;
    encoder.finish().map(|_| ()).map_err(io::Error::from)
}

/// Undoes [`Codec::compress`] for the codec with this number; 0 is none. At most `bytes_max` bytes come out.
///
/// # Errors
/// What is wrong with the bytes, or that they hold more than `bytes_max`.
pub fn decompress(id: u8, compressed: &[u8], bytes_max: usize) -> io::Result<Vec<u8>> {
    match id {
        0 => limited(compressed, bytes_max),
        1 => limited(flate2::read::GzDecoder::new(compressed), bytes_max),
        2 => unsnappy(compressed, bytes_max),
        3 => limited(lz4_flex::frame::FrameDecoder::new(compressed), bytes_max),
        #[cfg(feature = "zstd")]
        4 => limited(zstd::stream::Decoder::new(compressed)?, bytes_max),
        other => Err(io::Error::new(io::ErrorKind::Unsupported, format!("codec {other} is not built in"))),
    }
}

fn too_long(bytes_max: usize) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("more than {bytes_max} bytes come out"))
}

fn limited(from: impl Read, bytes_max: usize) -> io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    from.take(bytes_max as u64 + 1).read_to_end(&mut plain)?;
    if plain.len() > bytes_max { Err(too_long(bytes_max)) } else { Ok(plain) }
}

fn unsnappy(compressed: &[u8], bytes_max: usize) -> io::Result<Vec<u8>> {
    let cut_short = || io::Error::new(io::ErrorKind::UnexpectedEof, "a snappy block is cut short");
    let mut rest = compressed.strip_prefix(SNAPPY_HEADER).ok_or_else(cut_short)?;
    let mut plain = Vec::new();
    while !rest.is_empty() {
        let (length, behind) = rest.split_first_chunk::<4>().ok_or_else(cut_short)?;
        let length = u32::from_be_bytes(*length) as usize;
        let block = behind.get(..length).ok_or_else(cut_short)?;
        if plain.len() + snap::raw::decompress_len(block)? > bytes_max {
            return Err(too_long(bytes_max));
        }
        plain.extend(snap::raw::Decoder::new().decompress_vec(block)?);
        rest = &behind[length..];
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn codecs() -> Vec<Codec> {
        let mut codecs = vec![Codec::Snappy, Codec::Lz4];
        codecs.extend([0, 1, 6, 9].map(|level| Codec::Gzip { level }));
        #[cfg(feature = "zstd")]
        codecs.extend([-5, 1, 3, 19].map(|level| Codec::Zstd { level }));
        codecs
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn what_is_compressed_comes_out_again(words in prop::collection::vec("[a-e]{0,9}", 0..8_000), noise in prop::collection::vec(any::<u8>(), 0..500)) {
            let mut plain = words.concat().into_bytes();
            plain.extend(noise);
            for codec in codecs() {
                let mut compressed = b"before".to_vec();
                codec.compress(&plain, &mut compressed);
                let read = decompress(codec.id(), &compressed[6..], plain.len()).unwrap();
                prop_assert_eq!(&compressed[..6], b"before");
                prop_assert!(read == plain, "{:?}", codec);
            }
        }

        #[test]
        fn foreign_bytes_are_an_error_or_short(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let framed = [SNAPPY_HEADER, &bytes[..]].concat();
            for id in 0..8 {
                for bytes in [&bytes, &framed] {
                    prop_assert!(decompress(id, bytes, 1_000).is_ok_and(|plain| plain.len() <= 1_000) || decompress(id, bytes, 1_000).is_err());
                }
            }
        }
    }

    #[test]
    fn no_more_comes_out_than_allowed() {
        for codec in codecs() {
            let mut compressed = Vec::new();
            codec.compress(&vec![0; 1_000_000], &mut compressed);
            let error = decompress(codec.id(), &compressed, 999_999).unwrap_err();
            assert_eq!(error.to_string(), "more than 999999 bytes come out", "{codec:?}");
        }
    }

    #[test]
    fn snappy_has_the_frame_of_the_java_library() {
        let mut compressed = Vec::new();
        Codec::Snappy.compress(&vec![7; 40_000], &mut compressed);
        assert_eq!(compressed[..16], *SNAPPY_HEADER);
        let first = u32::from_be_bytes(compressed[16..20].try_into().unwrap()) as usize;
        assert_eq!(snap::raw::decompress_len(&compressed[20..20 + first]).unwrap(), 32 * 1024);
        assert_eq!(snap::raw::decompress_len(&compressed[24 + first..]).unwrap(), 40_000 - 32 * 1024);
    }

    #[test]
    fn lz4_has_the_flags_of_javas_frames() {
        let mut compressed = Vec::new();
        Codec::Lz4.compress(b"some bytes", &mut compressed);
        // Magic; version 1, independent blocks, no checksums, no size; blocks of 64 KiB.
        assert_eq!(compressed[..6], [0x04, 0x22, 0x4d, 0x18, 0b0110_0000, 0x40]);
        assert_eq!(compressed[compressed.len() - 4..], [0; 4], "end mark");
    }
}
