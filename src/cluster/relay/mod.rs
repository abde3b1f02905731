//! The relay: stands between clients and brokers and hurts the links between them, for all clients or for one group.
//!
//! ```text
//! client -> listener (one per broker, which advertises it) -> connection -> the broker's own listener
//!                                                                |
//!             greeting (whose is it?)   links (which fault?)   flow = pipe + pace (what happens to bytes; pure)
//! ```
//!
//! On a thread of its own: faults must not slow the load's workers down, nor the load the relay. Without a fault it hands everything on at
//! once. Only where a plan has such a step ([`LinkNeeds::clients`](crate::plan::model::LinkNeeds::clients)); probes and admin requests go to the brokers
//! directly. Not here: links between nodes (`docker::links`), or when a fault begins and ends (`fault`). Made by `docker`.

mod connection;
mod flow;
mod greeting;
mod pace;
mod pipe;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;
use socket2::{Domain, Socket, Type};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{LocalSet, spawn_local};
use tokio_util::sync::CancellationToken;

use connection::{Connection, OfThread};

use super::Node;
use crate::clock::Clock;
use crate::ids::{BrokerId, HostPort};
use crate::plan::model::{ClientFault, ClientLinks};

/// Connections that may wait to be taken: a whole group may come at once.
const BACKLOG: i32 = 4_096;
/// Pause when no connection can be taken, for lack of files.
const REST: Duration = Duration::from_millis(50);
/// Ends the client id of whoever looks at a link as one of a group's clients: `GROUP-look`.
pub const LOOKER: &str = greeting::LOOKER;

/// One broker's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The broker.
    pub broker: BrokerId,
    /// The port of 127.0.0.1 that clients connect to; 0: any.
    pub port: u16,
    /// The broker's own listener.
    pub target: SocketAddr,
}

/// A relay that runs; ends, with all its connections, when it is dropped.
#[derive(Debug)]
pub struct Relay {
    links: watch::Sender<Arc<ClientLinks>>,
    listeners: BTreeMap<BrokerId, SocketAddr>,
    refused: Arc<AtomicU64>,
    end: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Starts one; it listens when this returns. `seed` is that of jitter.
    ///
    /// # Errors
    /// A port is taken, or there is no thread to be had.
    pub fn start(legs: &[Leg], clock: &Clock, seed: u64) -> io::Result<Self> {
        let mut listeners = BTreeMap::new();
        let mut doors = Vec::with_capacity(legs.len());
        for leg in legs {
            let socket = listen(leg.port)?;
            listeners.insert(leg.broker, socket.local_addr()?);
            doors.push((*leg, socket));
        }
        let (links, reader) = watch::channel(Arc::new(ClientLinks::default()));
        let (end, refused) = (CancellationToken::new(), Arc::new(AtomicU64::new(0)));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (until, clock, counter) = (end.clone(), clock.clone(), Arc::clone(&refused));
        let work = move || {
            let thread = Rc::new(OfThread::new(clock, counter));
            let all = LocalSet::new();
            for (leg, socket) in doors {
                all.spawn_local(attend(leg, socket, reader.clone(), Rc::clone(&thread), seed));
            }
            all.block_on(&runtime, until.cancelled());
        };
        let thread = std::thread::Builder::new().name("chaos-relay".to_owned()).spawn(work)?;
        Ok(Self { links, listeners, refused, end, thread: Some(thread) })
    }

    /// Starts the relay that these nodes advertise; `None`: they advertise none.
    ///
    /// # Errors
    /// As [`Relay::start`].
    pub fn before(nodes: &[Node], clock: &Clock, seed: u64) -> io::Result<Option<Self>> {
        let leg = |node: &Node| {
            let target = SocketAddr::from((Ipv4Addr::LOCALHOST, node.client_listener.as_ref()?.port));
            Some(Leg { broker: node.id, port: node.relay_listener.as_ref()?.port, target })
        };
        let legs: Vec<Leg> = nodes.iter().filter_map(leg).collect();
        if legs.is_empty() { Ok(None) } else { Self::start(&legs, clock, seed).map(Some) }
    }

    /// Where clients reach a broker.
    #[must_use]
    pub fn listener(&self, broker: BrokerId) -> Option<HostPort> {
        self.listeners.get(&broker).copied().map(HostPort::from)
    }

    /// Puts a fault in force, or none, on the links between these brokers and all clients or one group, on connections that are there and on
    /// those that come.
    pub fn set(&self, to: &[BrokerId], group: Option<&str>, fault: ClientFault) {
        self.links.send_modify(|links| to.iter().for_each(|broker| Arc::make_mut(links).set(*broker, group, fault)));
    }

    /// Whether [`Relay::set`] would change nothing.
    #[must_use]
    pub fn is_so(&self, to: &[BrokerId], group: Option<&str>, fault: ClientFault) -> bool {
        let links = self.links.borrow();
        to.iter().all(|broker| links.is_so(*broker, group, fault))
    }

    /// Whether no fault is in force.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.links.borrow().is_whole()
    }

    /// Takes every fault back.
    pub fn heal(&self) {
        self.links.send_modify(|links| *links = Arc::default());
    }

    /// Connections that it could not take or pass on, because this process may open no more files.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.end.cancel();
        if let Some(thread) = self.thread.take() {
            // A panic there has been told by the panic hook.
            let _ = thread.join();
        }
    }
}

/// A listening socket on the loopback.
fn listen(port: u16) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Takes connections for a broker.
async fn attend(leg: Leg, socket: std::net::TcpListener, links: watch::Receiver<Arc<ClientLinks>>, thread: Rc<OfThread>, seed: u64) {
    let Ok(listener) = TcpListener::from_std(socket) else { return };
    // Each connection draws its own numbers, whatever the others do.
    let mut stream = u64::from(leg.broker.0.unsigned_abs()) << 40;
    loop {
        match listener.accept().await {
            Ok((client, _)) => {
                let mut rng = ChaCha12Rng::seed_from_u64(seed);
                rng.set_stream(stream);
                stream += 1;
                let connection =
                    Connection { broker: leg.broker, target: leg.target, links: links.clone(), thread: Rc::clone(&thread), rng };
                spawn_local(connection.serve(client));
            }
            Err(error) => {
                thread.note(&error);
                tokio::time::sleep(REST).await;
            }
        }
    }
}
