//! One direction of a connection: bytes on their way, each with the moment at which it may go on, and how the stream ends.
//!
//! Pure: order is kept whatever the moments, nothing is lost, and no more is taken in than there is room for. Not here: what sets the moments
//! (`pace`), or what a fault does to both directions (`flow`).

use std::collections::VecDeque;

use bytes::{Buf, Bytes};

use crate::clock::Moment;

/// Most bytes that wait in one direction of a connection; past it the sender has to wait, as for a full window.
pub(super) const CAPACITY: usize = 256 * 1024;

/// How a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// In order: nothing more is sent this way.
    Closed,
    /// The connection was reset.
    Broken,
}

/// What may go on now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due<'a> {
    /// These bytes; as many as are written are to be told to [`Pipe::advance`].
    Bytes(&'a [u8]),
    /// The end, after all bytes.
    End(End),
}

/// Bytes on their way.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    pieces: VecDeque<(Moment, Bytes)>,
    waiting: usize,
    end: Option<(Moment, End)>,
    /// No piece goes before the one before it.
    last_at: Moment,
    /// Nothing goes on until further notice.
    is_held: bool,
    has_ended: bool,
}

impl Pipe {
    /// How many bytes it would take now; 0 once it has its end.
    pub(super) fn room(&self) -> usize {
        if self.end.is_some() { 0 } else { CAPACITY.saturating_sub(self.waiting) }
    }

    /// Takes bytes that may go on at a moment, at most [`Pipe::room`].
    pub(super) fn push(&mut self, at: Moment, bytes: Bytes) {
        self.last_at = self.last_at.max(at);
        self.waiting += bytes.len();
        self.pieces.push_back((self.last_at, bytes));
    }

    /// Takes the end. The first one counts, unless a later one says that the connection was reset.
    pub(super) fn finish(&mut self, at: Moment, end: End) {
        if self.end.is_none() || end == End::Broken {
            self.end = Some((self.last_at.max(at), end));
        }
    }

    /// What may go on now.
    pub(super) fn due(&self, now: Moment) -> Option<Due<'_>> {
        if self.is_held || self.has_ended {
            return None;
        }
        match (self.pieces.front(), self.end) {
            (Some((at, bytes)), _) => (*at <= now).then_some(Due::Bytes(bytes)),
            (None, Some((at, end))) => (at <= now).then_some(Due::End(end)),
            (None, None) => None,
        }
    }

    /// So many of the bytes that were due have gone on.
    pub(super) fn advance(&mut self, written: usize) {
        let Some((_, bytes)) = self.pieces.front_mut() else { return };
        let written = written.min(bytes.len());
        bytes.advance(written);
        self.waiting -= written;
        if bytes.is_empty() {
            self.pieces.pop_front();
        }
    }

    /// The end has gone on.
    pub(super) fn ended(&mut self) {
        self.has_ended = true;
    }

    /// Whether everything has gone on, the end too.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether its sender is known to send no more.
    pub(super) fn is_finished(&self) -> bool {
        self.end.is_some()
    }

    /// When something will be due that is not due now; `None`: not before something happens.
    pub(super) fn next_at(&self, now: Moment) -> Option<Moment> {
        if self.is_held || self.has_ended {
            return None;
        }
        let at = self.pieces.front().map(|(at, _)| *at).or(self.end.map(|(at, _)| at))?;
        (at > now).then_some(at)
    }

    /// Holds all back, or lets it go on; what was held back goes on at once.
    pub(super) fn hold(&mut self, is_held: bool, now: Moment) {
        if !is_held {
            self.pieces.iter_mut().for_each(|(at, _)| *at = now.min(*at));
            self.end = self.end.map(|(at, end)| (now.min(at), end));
            self.last_at = now.min(self.last_at);
        }
        self.is_held = is_held;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    #[test]
    fn bytes_go_on_in_order_whatever_their_moments_and_the_end_comes_last() {
        let mut pipe = Pipe::default();
        pipe.push(Moment(20), bytes("late"));
        pipe.push(Moment(10), bytes("early"));
        pipe.finish(Moment(5), End::Closed);
        assert_eq!((pipe.due(Moment(19)), pipe.next_at(Moment(19))), (None, Some(Moment(20))));
        assert_eq!(pipe.due(Moment(20)), Some(Due::Bytes(b"late")));
        pipe.advance(2);
        assert_eq!(pipe.due(Moment(20)), Some(Due::Bytes(b"te")));
        pipe.advance(2);
        assert_eq!(pipe.due(Moment(20)), Some(Due::Bytes(b"early")));
        pipe.advance(5);
        assert_eq!(pipe.due(Moment(20)), Some(Due::End(End::Closed)));
        pipe.ended();
        assert_eq!((pipe.due(Moment(99)), pipe.has_ended(), pipe.room()), (None, true, 0));
    }

    #[test]
    fn what_is_held_goes_on_at_once_when_it_is_let_go() {
        let mut pipe = Pipe::default();
        pipe.hold(true, Moment(0));
        pipe.push(Moment(50), bytes("a"));
        pipe.finish(Moment(60), End::Broken);
        assert_eq!((pipe.due(Moment(90)), pipe.next_at(Moment(0))), (None, None));
        pipe.hold(false, Moment(40));
        assert_eq!(pipe.due(Moment(40)), Some(Due::Bytes(b"a")), "although its own moment is later");
        pipe.advance(1);
        assert_eq!(pipe.due(Moment(40)), Some(Due::End(End::Broken)));
    }

    #[test]
    fn a_full_pipe_takes_no_more() {
        let mut pipe = Pipe::default();
        pipe.push(Moment(9), Bytes::from(vec![0; CAPACITY - 1]));
        assert_eq!(pipe.room(), 1);
        pipe.advance(10);
        assert_eq!(pipe.room(), 11);
    }

    #[test]
    fn a_reset_overrules_an_end_in_order_and_not_the_other_way_round() {
        let mut pipe = Pipe::default();
        pipe.finish(Moment(0), End::Closed);
        pipe.finish(Moment(0), End::Broken);
        pipe.finish(Moment(0), End::Closed);
        assert_eq!(pipe.due(Moment(0)), Some(Due::End(End::Broken)));
    }

    proptest! {
        /// Whatever is pushed, held and written in whatever pieces: the same bytes come out in the same order, and none before its moment
        /// unless it was let go.
        #[test]
        fn nothing_is_lost_or_swapped(
            steps in prop::collection::vec((0_u8..5, 1_usize..40, 0_u64..30), 1..120),
        ) {
            let (mut pipe, mut now, mut sent, mut got) = (Pipe::default(), Moment(1000), Vec::new(), Vec::new());
            let mut next = 0_u8;
            for (what, count, later) in steps {
                match what {
                    0 | 1 => {
                        let count = count.min(pipe.room());
                        let piece: Vec<u8> = (0..count).map(|_| { next = next.wrapping_add(1); next }).collect();
                        sent.extend_from_slice(&piece);
                        pipe.push(Moment(now.0 + later), Bytes::from(piece));
                    }
                    2 => pipe.hold(true, now),
                    3 => pipe.hold(false, now),
                    _ => now = Moment(now.0 + later),
                }
                if let Some(Due::Bytes(due)) = pipe.due(now) {
                    let taken = due.len().min(count);
                    got.extend_from_slice(&due[..taken]);
                    pipe.advance(taken);
                }
            }
            pipe.hold(false, now);
            while let Some(Due::Bytes(due)) = pipe.due(now) {
                let taken = due.len();
                got.extend_from_slice(due);
                pipe.advance(taken);
            }
            prop_assert_eq!(got, sent);
            prop_assert_eq!(pipe.room(), CAPACITY);
        }
    }
}
