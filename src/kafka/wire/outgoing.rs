//! A request on its way out: its bytes in the order in which they are written, in pieces.
//!
//! Record batches are large and ready long before their request is put together, so a frame holds them as they are instead of copying them behind
//! its header. Not here: what the bytes mean (`produce_request`, `frame`), or when they are written (`net::driver`).

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes, BytesMut};

/// A length-prefixed request; never without bytes until it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingFrame {
    pieces: VecDeque<Bytes>,
    bytes: usize,
}

impl OutgoingFrame {
    /// A frame from its pieces, empty ones left out.
    pub fn new(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        let pieces: VecDeque<Bytes> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        let bytes = pieces.iter().map(Bytes::len).sum();
        Self { pieces, bytes }
    }

    /// Bytes that are still to be written.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds its pieces to a list for a vectored write, as far as there is room. Returns how many were added.
    pub fn fill<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut filled = 0;
        for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
            *slice = IoSlice::new(piece);
            filled += 1;
        }
        filled
    }

    /// Notes that so many bytes were written, at most [`OutgoingFrame::bytes`].
    pub fn advance(&mut self, mut written: usize) {
        self.bytes -= written.min(self.bytes);
        while let Some(piece) = self.pieces.front_mut() {
            if written < piece.len() {
                piece.advance(written);
                return;
            }
            written -= piece.len();
            self.pieces.pop_front();
        }
    }

    /// All bytes that are left, in one piece.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        let mut whole = BytesMut::with_capacity(self.bytes);
        self.pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
        whole.freeze()
    }
}

impl From<BytesMut> for OutgoingFrame {
    fn from(bytes: BytesMut) -> Self {
        Self::new([bytes.freeze()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whatever_is_written_at_once_all_bytes_go_out_in_order(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..8),
            writes in prop::collection::vec(1_usize..25, 1..200),
            room in 1_usize..5,
        ) {
            let expected: Vec<u8> = pieces.concat();
            let mut frame = OutgoingFrame::new(pieces.into_iter().map(Bytes::from));
            let mut out = Vec::new();
            for most in writes {
                let mut slices = vec![IoSlice::new(&[]); room];
                let filled = frame.fill(&mut slices);
                let offered: Vec<u8> = slices[..filled].iter().flat_map(|slice| slice.to_vec()).collect();
                prop_assert_eq!(offered.is_empty(), frame.bytes() == 0);
                let written = most.min(offered.len());
                out.extend_from_slice(&offered[..written]);
                frame.advance(written);
                prop_assert_eq!(out.len() + frame.bytes(), expected.len());
            }
            out.extend_from_slice(&frame.to_bytes());
            prop_assert_eq!(out, expected);
        }
    }
}
