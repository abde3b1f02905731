//! What a fault does to a connection: which bytes go on when, and when the connection is reset or loses its broker's side. Pure.
//!
//! Not here: sockets (`connection`), or which fault is in force for whom (`book`).

use std::time::Duration;

use bytes::Bytes;
use rand_chacha::ChaCha12Rng;

use super::pace::{self, Lane};
use super::pipe::{Due, End, Pipe};
use crate::clock::Moment;
use crate::plan::model::{ClientFault, Pace};

/// Bytes that are thrown away at a time.
const DISCARD_BYTES: usize = 64 * 1024;

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Broker,
}

impl Side {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Client => Self::Broker,
            Self::Broker => Self::Client,
        }
    }
}

/// What is to become of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Turn {
    /// It goes on.
    GoOn,
    /// Both sides are reset.
    Reset,
    /// The broker's side is closed, and the client is not told.
    LoseBroker,
}

/// A connection's bytes in both directions under a fault.
#[derive(Debug)]
pub(super) struct Flow {
    fault: ClientFault,
    from_client: Pipe,
    from_broker: Pipe,
    has_lost_broker: bool,
}

impl Flow {
    /// A connection that is made under a fault.
    pub(super) fn begin(fault: ClientFault, now: Moment) -> (Self, Turn) {
        let mut flow =
            Self { fault: ClientFault::None, from_client: Pipe::default(), from_broker: Pipe::default(), has_lost_broker: false };
        let turn = flow.meets(fault, now);
        (flow, turn)
    }

    /// The connection meets a fault that was there before it was known whose it is. Half open it does not become: that befalls connections that
    /// are there when it happens.
    pub(super) fn meets(&mut self, fault: ClientFault, now: Moment) -> Turn {
        match self.change(fault, now) {
            Turn::LoseBroker => {
                self.has_lost_broker = false;
                Turn::GoOn
            }
            turn => turn,
        }
    }

    /// Another fault is in force, or none.
    pub(super) fn change(&mut self, fault: ClientFault, now: Moment) -> Turn {
        if fault == self.fault {
            return Turn::GoOn;
        }
        self.fault = fault;
        if self.has_lost_broker {
            // Whatever comes now, its other side is gone.
            return Turn::Reset;
        }
        let is_held = fault == ClientFault::BlackHole;
        self.from_client.hold(is_held, now);
        self.from_broker.hold(is_held, now);
        match fault {
            ClientFault::Reset => Turn::Reset,
            ClientFault::HalfOpen => {
                self.has_lost_broker = true;
                Turn::LoseBroker
            }
            ClientFault::None | ClientFault::Slow(_) | ClientFault::BlackHole => Turn::GoOn,
        }
    }

    /// Whether nothing may pass, so that no broker need be asked for yet.
    pub(super) fn is_black_hole(&self) -> bool {
        self.fault == ClientFault::BlackHole
    }

    /// How many bytes of a side may be taken now.
    pub(super) fn takes(&self, side: Side) -> usize {
        if self.has_lost_broker {
            return if side == Side::Client && !self.from_client.is_finished() { DISCARD_BYTES } else { 0 };
        }
        let room = self.pipe(side).room();
        self.pace().map_or(room, |pace| pace::piece_bytes(pace, room))
    }

    /// Bytes of a side have come.
    pub(super) fn take(&mut self, side: Side, bytes: Bytes, now: Moment, lane: &mut Lane, rng: &mut ChaCha12Rng) {
        if self.has_lost_broker || bytes.is_empty() {
            return;
        }
        let at = self.pace().map_or(now, |pace| lane.passed(now, bytes.len(), pace) + pace::under_way(pace, rng));
        self.pipe_mut(side).push(at, bytes);
    }

    /// A side sends no more, or is gone.
    pub(super) fn finish(&mut self, side: Side, end: End, now: Moment) {
        let at = now + self.pace().map_or(Duration::ZERO, |pace| pace.delay);
        self.pipe_mut(side).finish(at, end);
    }

    /// Whether a side is known to send no more.
    pub(super) fn is_finished(&self, side: Side) -> bool {
        self.pipe(side).is_finished()
    }

    /// What may be handed to a side now.
    pub(super) fn due(&self, to: Side, now: Moment) -> Option<Due<'_>> {
        self.pipe(to.other()).due(now)
    }

    /// So many bytes were handed to a side.
    pub(super) fn advance(&mut self, to: Side, written: usize) {
        self.pipe_mut(to.other()).advance(written);
    }

    /// A side has been told that the other sends no more.
    pub(super) fn ended(&mut self, to: Side) {
        self.pipe_mut(to.other()).ended();
    }

    /// Whether both sides have been told.
    pub(super) fn is_over(&self) -> bool {
        self.from_client.has_ended() && self.from_broker.has_ended()
    }

    /// When something will be due that is not due now.
    pub(super) fn next_at(&self, now: Moment) -> Option<Moment> {
        [&self.from_client, &self.from_broker].into_iter().filter_map(|pipe| pipe.next_at(now)).min()
    }

    fn pace(&self) -> Option<&Pace> {
        match &self.fault {
            ClientFault::Slow(pace) => Some(pace),
            _ => None,
        }
    }

    fn pipe(&self, from: Side) -> &Pipe {
        match from {
            Side::Client => &self.from_client,
            Side::Broker => &self.from_broker,
        }
    }

    fn pipe_mut(&mut self, from: Side) -> &mut Pipe {
        match from {
            Side::Client => &mut self.from_client,
            Side::Broker => &mut self.from_broker,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use rand_chacha::rand_core::SeedableRng;

    use super::*;
    use crate::clock::Clock;

    const SLOW: ClientFault = ClientFault::Slow(Pace { delay: Duration::from_millis(50), jitter: Duration::ZERO, bytes_per_second: None });

    /// A connection on a manual clock.
    struct Bench {
        clock: Clock,
        flow: Flow,
        lane: Lane,
        rng: ChaCha12Rng,
    }

    impl Bench {
        fn new(fault: ClientFault) -> Self {
            let clock = Clock::manual();
            let (flow, turn) = Flow::begin(fault, clock.now());
            assert_eq!(turn, if fault == ClientFault::Reset { Turn::Reset } else { Turn::GoOn });
            Self { clock, flow, lane: Lane::default(), rng: ChaCha12Rng::seed_from_u64(7) }
        }

        fn take(&mut self, side: Side, text: &'static str) {
            self.flow.take(side, Bytes::from_static(text.as_bytes()), self.clock.now(), &mut self.lane, &mut self.rng);
        }

        fn change(&mut self, fault: ClientFault) -> Turn {
            self.flow.change(fault, self.clock.now())
        }

        fn wait(&self, ms: u64) {
            self.clock.advance(Duration::from_millis(ms));
        }

        /// All that is due to a side, handed over.
        fn out(&mut self, to: Side) -> String {
            let mut out = String::new();
            while let Some(due) = self.flow.due(to, self.clock.now()) {
                match due {
                    Due::Bytes(bytes) => {
                        out.push_str(std::str::from_utf8(bytes).unwrap());
                        let written = bytes.len();
                        self.flow.advance(to, written);
                    }
                    Due::End(end) => {
                        out.push_str(if end == End::Closed { "." } else { "!" });
                        self.flow.ended(to);
                    }
                }
            }
            out
        }
    }

    #[test]
    fn without_a_fault_all_goes_on_at_once_in_both_directions() {
        let mut bench = Bench::new(ClientFault::None);
        bench.take(Side::Client, "request");
        bench.take(Side::Broker, "answer");
        assert_eq!((bench.out(Side::Broker), bench.out(Side::Client)), ("request".to_owned(), "answer".to_owned()));
        bench.flow.finish(Side::Broker, End::Closed, bench.clock.now());
        assert_eq!(bench.out(Side::Client), ".");
        bench.take(Side::Client, "still heard");
        assert_eq!(bench.out(Side::Broker), "still heard", "one direction may end before the other");
        assert!(!bench.flow.is_over());
        bench.flow.finish(Side::Client, End::Broken, bench.clock.now());
        assert_eq!((bench.out(Side::Broker), bench.flow.is_over()), ("!".to_owned(), true));
    }

    #[test]
    fn a_delay_holds_up_bytes_and_ends_alike() {
        let mut bench = Bench::new(SLOW);
        bench.take(Side::Client, "a");
        bench.wait(20);
        bench.take(Side::Client, "b");
        bench.flow.finish(Side::Client, End::Closed, bench.clock.now());
        assert_eq!(bench.flow.next_at(bench.clock.now()), Some(bench.clock.now() + Duration::from_millis(30)));
        bench.wait(30);
        assert_eq!(bench.out(Side::Broker), "a");
        bench.wait(20);
        assert_eq!(bench.out(Side::Broker), "b.");
    }

    #[test]
    fn healed_what_is_under_way_arrives_at_once() {
        let mut bench = Bench::new(SLOW);
        bench.take(Side::Broker, "late");
        assert_eq!(bench.out(Side::Client), "");
        assert_eq!(bench.change(ClientFault::None), Turn::GoOn);
        assert_eq!(bench.out(Side::Client), "late");
    }

    #[test]
    fn a_rate_is_that_of_the_link_and_not_of_one_connection() {
        let pace = Pace { delay: Duration::ZERO, jitter: Duration::ZERO, bytes_per_second: NonZeroU64::new(1_000) };
        let mut bench = Bench::new(ClientFault::Slow(pace));
        let (mut other, _) = Flow::begin(ClientFault::Slow(pace), bench.clock.now());
        other.take(Side::Client, Bytes::from(vec![0; 100]), bench.clock.now(), &mut bench.lane, &mut bench.rng);
        bench.take(Side::Client, "0123456789");
        bench.wait(100);
        assert_eq!(bench.out(Side::Broker), "");
        bench.wait(10);
        assert_eq!(bench.out(Side::Broker), "0123456789");
    }

    #[test]
    fn in_a_black_hole_nothing_passes_not_even_an_end_and_nothing_is_lost() {
        let mut bench = Bench::new(ClientFault::None);
        bench.take(Side::Client, "before");
        assert_eq!(bench.change(ClientFault::BlackHole), Turn::GoOn);
        bench.take(Side::Client, ", within");
        bench.flow.finish(Side::Broker, End::Broken, bench.clock.now());
        bench.wait(10_000);
        assert_eq!((bench.out(Side::Broker), bench.out(Side::Client)), (String::new(), String::new()));
        assert_eq!(bench.flow.next_at(bench.clock.now()), None);
        assert_eq!(bench.change(ClientFault::None), Turn::GoOn);
        assert_eq!((bench.out(Side::Broker), bench.out(Side::Client)), ("before, within".to_owned(), "!".to_owned()));
    }

    #[test]
    fn half_open_is_what_happens_to_connections_that_are_there() {
        let mut there = Bench::new(ClientFault::None);
        assert_eq!(there.change(ClientFault::HalfOpen), Turn::LoseBroker);
        assert!(there.flow.takes(Side::Client) > 0 && there.flow.takes(Side::Broker) == 0);
        there.take(Side::Client, "into nothing");
        assert_eq!(there.out(Side::Broker), "");
        assert_eq!(there.change(ClientFault::HalfOpen), Turn::GoOn);
        assert_eq!(there.change(ClientFault::None), Turn::Reset, "healed, the client is told");

        let mut new = Bench::new(ClientFault::HalfOpen);
        new.take(Side::Client, "passes");
        assert_eq!(new.out(Side::Broker), "passes");
        assert_eq!(new.change(ClientFault::None), Turn::GoOn);
    }

    #[test]
    fn a_reset_is_for_connections_of_before_and_of_after() {
        assert_eq!(Bench::new(ClientFault::None).change(ClientFault::Reset), Turn::Reset);
        let mut unnamed = Bench::new(ClientFault::None);
        assert_eq!(unnamed.flow.meets(ClientFault::Reset, unnamed.clock.now()), Turn::Reset);
        drop(Bench::new(ClientFault::Reset));
    }
}
