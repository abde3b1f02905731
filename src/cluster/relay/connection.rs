//! One connection through the relay: moves bytes between two sockets as `flow` says.
//!
//! A client must not be able to tell that somebody is between: ends and resets are handed on in both directions, and a broker that cannot be
//! reached ends the client's connection at once.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use rand_chacha::ChaCha12Rng;
use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::flow::{Flow, Side, Turn};
use super::greeting::{Greeting, Heard};
use super::pace::Lane;
use super::pipe::{Due, End};
use crate::clock::{Clock, Moment};
use crate::ids::BrokerId;
use crate::plan::model::ClientLinks;

/// Bytes read from a socket at a time.
const READ_BYTES: usize = 64 * 1024;

/// What all connections of the relay's thread share.
#[derive(Debug)]
pub(super) struct OfThread {
    pub(super) clock: Clock,
    scratch: RefCell<Vec<u8>>,
    lanes: RefCell<BTreeMap<LinkKey, Rc<Lanes>>>,
    /// Connections that could not be taken or made, for lack of files.
    pub(super) refused: Arc<AtomicU64>,
}

/// A link with a rate of its own: to a broker, of all clients or of a group.
type LinkKey = (BrokerId, Option<String>);

/// A link's two directions.
#[derive(Debug, Default)]
struct Lanes {
    from_client: Cell<Lane>,
    from_broker: Cell<Lane>,
}

impl OfThread {
    pub(super) fn new(clock: Clock, refused: Arc<AtomicU64>) -> Self {
        Self { clock, scratch: RefCell::new(vec![0; READ_BYTES]), lanes: RefCell::default(), refused }
    }

    /// Notes an error that says that this process has no more files to open.
    pub(super) fn note(&self, error: &io::Error) {
        // EMFILE and ENFILE on every Unix.
        if matches!(error.raw_os_error(), Some(23 | 24)) {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A connection of a client that wants this broker.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) broker: BrokerId,
    /// The broker's own listener.
    pub(super) target: SocketAddr,
    pub(super) links: watch::Receiver<Arc<ClientLinks>>,
    pub(super) thread: Rc<OfThread>,
    pub(super) rng: ChaCha12Rng,
}

/// A connection in progress.
struct Session {
    from: Connection,
    greeting: Greeting,
    group: Option<String>,
    flow: Flow,
    turn: Turn,
    lanes: Rc<Lanes>,
}

impl Connection {
    /// Serves a client until both sides have ended.
    pub(super) async fn serve(mut self, client: TcpStream) {
        let now = self.thread.clock.now();
        let fault = self.links.borrow_and_update().fault(self.broker, None);
        let (flow, turn) = Flow::begin(fault, now);
        let mut session = Session { from: self, greeting: Greeting::default(), group: None, flow, turn, lanes: Rc::new(Lanes::default()) };
        session.choose_lanes();
        // Kafka's small requests must not wait for company.
        if client.set_nodelay(true).is_err() {
            return;
        }
        let Some(broker) = session.reach_broker(&client).await else { return };
        if session.pump(&client, &broker).await == Turn::LoseBroker {
            drop(broker);
            session.pretend(&client).await;
        }
    }
}

impl Session {
    /// Connects to the broker, if and as soon as anything may pass. `None`: the client's connection has ended instead.
    async fn reach_broker(&mut self, client: &TcpStream) -> Option<TcpStream> {
        let mut connecting = Box::pin(TcpStream::connect(self.from.target));
        loop {
            self.look_up_if_changed();
            if self.turn != Turn::GoOn {
                reset(client);
                return None;
            }
            if self.flow.is_finished(Side::Client) {
                // It has given up before a broker knew of it.
                return None;
            }
            let (may_pass, takes) = (!self.flow.is_black_hole(), self.flow.takes(Side::Client) > 0);
            tokio::select! {
                connected = &mut connecting, if may_pass => {
                    let nodelay = |stream: TcpStream| stream.set_nodelay(true).map(|()| stream);
                    return connected.and_then(nodelay).inspect_err(|error| {
                        self.from.thread.note(error);
                        reset(client);
                    }).ok();
                }
                ready = client.readable(), if takes => self.read(client, Side::Client, ready),
                open = self.from.links.changed() => if open.is_err() { return None } else { self.look_up() },
            }
        }
    }

    /// Moves bytes until the connection is over (`GoOn`), reset, or half open.
    async fn pump(&mut self, client: &TcpStream, broker: &TcpStream) -> Turn {
        loop {
            self.look_up_if_changed();
            let now = self.now();
            let (mut to_client, mut to_broker) = (Wrote::AllDue, Wrote::AllDue);
            if self.turn == Turn::GoOn {
                (to_client, to_broker) = (self.write(client, Side::Client, now), self.write(broker, Side::Broker, now));
            }
            if self.turn == Turn::Reset {
                reset(client);
                reset(broker);
            }
            if self.turn != Turn::GoOn || self.flow.is_over() {
                return self.turn;
            }
            let (reads_client, reads_broker) = (self.flow.takes(Side::Client) > 0, self.flow.takes(Side::Broker) > 0);
            let next_at = self.flow.next_at(now);
            tokio::select! {
                ready = client.readable(), if reads_client => self.read(client, Side::Client, ready),
                ready = broker.readable(), if reads_broker => self.read(broker, Side::Broker, ready),
                _ = client.writable(), if to_client == Wrote::Blocked => {}
                _ = broker.writable(), if to_broker == Wrote::Blocked => {}
                () = sleep_until(&self.from.thread.clock, next_at), if next_at.is_some() => {}
                open = self.from.links.changed() => if open.is_err() { return Turn::GoOn } else { self.look_up() },
            }
        }
    }

    /// The broker's side is gone, and the client is to believe that it is there: takes what it sends, and says nothing.
    async fn pretend(&mut self, client: &TcpStream) {
        self.turn = Turn::GoOn;
        while self.turn == Turn::GoOn && !self.flow.is_finished(Side::Client) {
            tokio::select! {
                ready = client.readable() => self.read(client, Side::Client, ready),
                open = self.from.links.changed() => if open.is_err() { return } else { self.look_up() },
            }
        }
        if self.turn == Turn::Reset {
            reset(client);
        }
    }

    /// Reads what a side has sent.
    fn read(&mut self, stream: &TcpStream, side: Side, ready: io::Result<()>) {
        self.look_up_if_changed();
        let (now, thread) = (self.now(), Rc::clone(&self.from.thread));
        let mut scratch = thread.scratch.borrow_mut();
        let room = self.flow.takes(side).min(READ_BYTES);
        if room == 0 {
            // What has changed is that nothing is taken any more; reading nothing would look like an end.
            return;
        }
        match ready.and_then(|()| stream.try_read(&mut scratch[..room])) {
            Ok(0) => {
                if side == Side::Client {
                    let kept_back = self.greeting.give_up();
                    self.take(side, kept_back, now);
                }
                self.flow.finish(side, End::Closed, now);
            }
            Ok(count) => self.hear(side, &scratch[..count], now),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.flow.finish(side, End::Broken, now),
        }
    }

    /// Bytes of a side; the client's first ones tell whose connection it is.
    fn hear(&mut self, side: Side, bytes: &[u8], now: Moment) {
        if side == Side::Broker || self.greeting.is_over() {
            return self.take(side, Bytes::copy_from_slice(bytes), now);
        }
        if let Heard::Named(bytes, group) = self.greeting.hear(bytes) {
            self.group = group;
            let fault = self.from.links.borrow().fault(self.from.broker, self.group.as_deref());
            let turn = self.flow.meets(fault, now);
            if turn != Turn::GoOn {
                self.turn = turn;
            }
            self.choose_lanes();
            self.take(side, bytes, now);
        }
    }

    fn take(&mut self, side: Side, bytes: Bytes, now: Moment) {
        let lane = match side {
            Side::Client => &self.lanes.from_client,
            Side::Broker => &self.lanes.from_broker,
        };
        let mut passing = lane.get();
        self.flow.take(side, bytes, now, &mut passing, &mut self.from.rng);
        lane.set(passing);
    }

    /// A fault holds from the moment at which it was set: to be called before anything is read or handed on.
    fn look_up_if_changed(&mut self) {
        // Without the relay's handle there is nobody left to change it.
        if self.from.links.has_changed().unwrap_or(false) {
            self.look_up();
        }
    }

    /// Another fault is in force somewhere: perhaps it is about this connection.
    fn look_up(&mut self) {
        let fault = self.from.links.borrow_and_update().fault(self.from.broker, self.group.as_deref());
        let turn = self.flow.change(fault, self.now());
        if turn != Turn::GoOn {
            self.turn = turn;
        }
        self.choose_lanes();
    }

    /// The link whose rate holds for this connection.
    fn choose_lanes(&mut self) {
        let group = self.group.as_deref().filter(|group| self.from.links.borrow().has_own(self.from.broker, group));
        let key = (self.from.broker, group.map(str::to_owned));
        self.lanes = Rc::clone(self.from.thread.lanes.borrow_mut().entry(key).or_default());
    }

    /// Hands a side what is due to it.
    fn write(&mut self, stream: &TcpStream, to: Side, now: Moment) -> Wrote {
        while let Some(due) = self.flow.due(to, now) {
            match due {
                Due::Bytes(bytes) => match stream.try_write(bytes) {
                    Ok(written) => self.flow.advance(to, written),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Wrote::Blocked,
                    // It is gone: the other side is to hear of it as it would from the kernel.
                    Err(_) => {
                        self.turn = Turn::Reset;
                        return Wrote::AllDue;
                    }
                },
                Due::End(End::Closed) => {
                    // One that is gone already need not be told.
                    let _ = SockRef::from(stream).shutdown(Shutdown::Write);
                    self.flow.ended(to);
                }
                Due::End(End::Broken) => {
                    self.turn = Turn::Reset;
                    return Wrote::AllDue;
                }
            }
        }
        Wrote::AllDue
    }

    fn now(&self) -> Moment {
        self.from.thread.clock.now()
    }
}

/// What became of a side's due bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrote {
    AllDue,
    /// The socket takes no more for now.
    Blocked,
}

/// Makes the end of a socket a reset: RST instead of FIN, when it is dropped.
fn reset(stream: &TcpStream) {
    // If the socket is gone, so is its peer.
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

async fn sleep_until(clock: &Clock, moment: Option<Moment>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(clock.instant_of(moment)).await,
        None => std::future::pending().await,
    }
}
