//! The mark that a record carries through the client: when it was due, and which sender of a shared client it belongs to.

use crate::clock::Moment;

/// Microseconds up to 2^44: 203 days since the clock was made.
const DUE_BITS: u32 = 44;
const DUE_MASK: u64 = (1 << DUE_BITS) - 1;

/// Most senders that one client can tell apart.
pub const MAX_SENDERS: u32 = 1 << (u64::BITS - DUE_BITS);

/// A mark for the record of a client's `slot`-th sender (below [`MAX_SENDERS`]).
#[must_use]
pub fn pack(slot: u32, due: Moment) -> u64 {
    debug_assert!(slot < MAX_SENDERS && due.0 <= DUE_MASK);
    u64::from(slot) << DUE_BITS | due.0.min(DUE_MASK)
}

/// When the record was due.
pub(crate) fn due(mark: u64) -> Moment {
    Moment(mark & DUE_MASK)
}

/// Which sender of the client it belongs to.
pub(crate) fn slot(mark: u64) -> usize {
    (mark >> DUE_BITS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_gives_back_what_it_was_made_of() {
        for (slot_number, at) in [(0, Moment(0)), (MAX_SENDERS - 1, Moment(DUE_MASK)), (99, Moment(86_400_000_001))] {
            let mark = pack(slot_number, at);
            assert_eq!((slot(mark), due(mark)), (slot_number as usize, at));
        }
    }
}
