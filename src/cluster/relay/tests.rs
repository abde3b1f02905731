//! The relay between real sockets.

use std::io::ErrorKind;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::*;
use crate::plan::model::Pace;

const ONE: BrokerId = BrokerId(1);
/// Longer than anything takes that is not held up.
const SOON: Duration = Duration::from_secs(5);
/// What does not come within this does not come.
const A_WHILE: Duration = Duration::from_millis(150);

/// A relay before a listener that stands for a broker.
struct Bench {
    relay: Relay,
    broker: TcpListener,
}

impl Bench {
    async fn new() -> Self {
        let broker = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let leg = Leg { broker: ONE, port: 0, target: broker.local_addr().unwrap() };
        Self { relay: Relay::start(&[leg], &Clock::real(), 7).unwrap(), broker }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.relay.listeners[&ONE]).await.unwrap()
    }

    /// A client of a group that has sent its first request, and the broker's side of its connection, which has read it.
    async fn pair(&self, client_id: &str) -> (TcpStream, TcpStream) {
        let mut client = self.connect().await;
        let (mut server, _) = timeout(SOON, self.broker.accept()).await.unwrap().unwrap();
        client.write_all(&greeting(client_id)).await.unwrap();
        assert_eq!(read(&mut server, greeting(client_id).len()).await, greeting(client_id));
        (client, server)
    }

    fn set(&self, group: Option<&str>, fault: ClientFault) {
        self.relay.set(&[ONE], group, fault);
    }
}

/// The first request of a client, as far as its client id.
fn greeting(client_id: &str) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 40, 0, 18, 0, 3, 0, 0, 0, 1];
    bytes.extend_from_slice(&u16::try_from(client_id.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(client_id.as_bytes());
    bytes
}

async fn read(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    timeout(SOON, stream.read_exact(&mut bytes)).await.expect("in time").unwrap();
    bytes
}

/// How a stream ends; `None`: it does not.
async fn end(stream: &mut TcpStream) -> Option<Result<usize, ErrorKind>> {
    timeout(A_WHILE, stream.read(&mut [0; 16])).await.ok().map(|read| read.map_err(|error| error.kind()))
}

/// How a new connection ends: the reset may come before or after the client knows that it is connected.
async fn end_of_new(address: SocketAddr) -> Option<Result<usize, ErrorKind>> {
    match TcpStream::connect(address).await {
        Ok(mut stream) => end(&mut stream).await,
        Err(error) => Some(Err(error.kind())),
    }
}

async fn passes(from: &mut TcpStream, to: &mut TcpStream) {
    from.write_all(b"pass").await.unwrap();
    assert_eq!(read(to, 4).await, b"pass");
}

#[tokio::test]
async fn without_a_fault_everything_is_handed_on_whole_and_in_order() {
    let bench = Bench::new().await;
    let (client, server) = bench.pair("steady-0").await;
    let bytes = |seed: u8| -> Vec<u8> { (0..3_000_000_u32).map(|index| (index.wrapping_mul(31) >> 3) as u8 ^ seed).collect() };
    let exchange = async |stream: TcpStream, sent: Vec<u8>, expected: Vec<u8>| {
        let (mut from, mut to) = stream.into_split();
        let send = async {
            to.write_all(&sent).await.unwrap();
            // The end of one direction is no end of the other.
            to.shutdown().await.unwrap();
        };
        let receive = async {
            let mut received = Vec::new();
            timeout(SOON * 4, from.read_to_end(&mut received)).await.expect("in time").unwrap();
            received
        };
        let ((), received) = tokio::join!(send, receive);
        assert!(received == expected, "{} bytes", received.len());
    };
    tokio::join!(exchange(client, bytes(1), bytes(2)), exchange(server, bytes(2), bytes(1)));
}

#[tokio::test]
async fn ends_and_resets_are_handed_on_in_both_directions() {
    let bench = Bench::new().await;
    let (mut client, server) = bench.pair("steady-0").await;
    drop(server);
    assert_eq!(end(&mut client).await, Some(Ok(0)));
    let (client, mut server) = bench.pair("steady-0").await;
    drop(client);
    assert_eq!(end(&mut server).await, Some(Ok(0)));
    let (mut client, server) = bench.pair("steady-0").await;
    socket2::SockRef::from(&server).set_linger(Some(Duration::ZERO)).unwrap();
    drop(server);
    assert_eq!(end(&mut client).await, Some(Err(ErrorKind::ConnectionReset)));
    let (client, mut server) = bench.pair("steady-0").await;
    socket2::SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap();
    drop(client);
    assert_eq!(end(&mut server).await, Some(Err(ErrorKind::ConnectionReset)));
}

#[tokio::test]
async fn a_broker_that_refuses_ends_the_clients_connection_at_once() {
    let Bench { relay, broker } = Bench::new().await;
    drop(broker);
    assert_eq!(end_of_new(relay.listeners[&ONE]).await, Some(Err(ErrorKind::ConnectionReset)));
}

#[tokio::test]
async fn a_black_hole_for_one_group_leaves_the_others_alone_and_loses_nothing() {
    let bench = Bench::new().await;
    let (mut hurt, mut hurt_server) = bench.pair("a-0").await;
    let (mut other, mut other_server) = bench.pair("b-0").await;
    bench.set(Some("a"), ClientFault::BlackHole);
    hurt.write_all(b"held").await.unwrap();
    hurt_server.write_all(b"back").await.unwrap();
    assert_eq!((end(&mut hurt_server).await, end(&mut hurt).await), (None, None));
    passes(&mut other, &mut other_server).await;

    // A connection that is made meanwhile is known to be of the group only by its first request.
    let mut new = bench.connect().await;
    let (mut new_server, _) = bench.broker.accept().await.unwrap();
    new.write_all(&greeting("a-7")).await.unwrap();
    assert_eq!(end(&mut new_server).await, None);

    bench.set(None, ClientFault::None);
    assert_eq!((read(&mut hurt_server, 4).await, read(&mut hurt, 4).await), (b"held".to_vec(), b"back".to_vec()));
    assert_eq!(read(&mut new_server, greeting("a-7").len()).await, greeting("a-7"));
    assert!(bench.relay.is_whole());
}

#[tokio::test]
async fn in_a_black_hole_for_all_a_new_connection_reaches_no_broker_and_an_end_is_not_told() {
    let bench = Bench::new().await;
    let (client, mut server) = bench.pair("a-0").await;
    bench.set(None, ClientFault::BlackHole);
    let mut new = bench.connect().await;
    new.write_all(&greeting("a-1")).await.unwrap();
    let given_up = bench.connect().await;
    drop((client, given_up));
    assert_eq!(end(&mut server).await, None);
    assert!(timeout(A_WHILE, bench.broker.accept()).await.is_err());
    bench.relay.heal();
    assert_eq!(end(&mut server).await, Some(Ok(0)));
    let (mut new_server, _) = timeout(SOON, bench.broker.accept()).await.unwrap().unwrap();
    assert_eq!(read(&mut new_server, greeting("a-1").len()).await, greeting("a-1"));
    assert!(timeout(A_WHILE, bench.broker.accept()).await.is_err(), "the other had given up");
}

#[tokio::test]
async fn a_reset_is_for_connections_of_before_and_of_after() {
    let bench = Bench::new().await;
    let (mut hurt, mut hurt_server) = bench.pair("a-0").await;
    let (mut other, mut other_server) = bench.pair("b-0").await;
    bench.set(Some("a"), ClientFault::Reset);
    let reset = Some(Err(ErrorKind::ConnectionReset));
    assert_eq!((end(&mut hurt).await, end(&mut hurt_server).await), (reset, reset));
    let mut new = bench.connect().await;
    let (mut new_server, _) = bench.broker.accept().await.unwrap();
    new.write_all(&greeting("a-1")).await.unwrap();
    assert_eq!(end(&mut new).await, reset);
    assert!(matches!(end(&mut new_server).await, Some(Ok(0) | Err(_))), "without a byte of the request");
    passes(&mut other, &mut other_server).await;
    bench.set(None, ClientFault::Reset);
    assert_eq!(end_of_new(bench.relay.listeners[&ONE]).await, reset);
    bench.relay.heal();
    let (mut client, mut server) = bench.pair("a-2").await;
    passes(&mut client, &mut server).await;
}

#[tokio::test]
async fn a_half_open_connection_has_no_broker_and_does_not_know_it() {
    let bench = Bench::new().await;
    let (mut client, mut server) = bench.pair("a-0").await;
    bench.set(None, ClientFault::HalfOpen);
    assert_eq!(end(&mut server).await, Some(Ok(0)));
    client.write_all(&vec![0; 1_000_000]).await.unwrap();
    assert_eq!(end(&mut client).await, None);
    let (mut new, mut new_server) = bench.pair("a-0").await;
    passes(&mut new, &mut new_server).await;
    bench.relay.heal();
    assert_eq!(end(&mut client).await, Some(Err(ErrorKind::ConnectionReset)));
    passes(&mut new, &mut new_server).await;
}

#[tokio::test]
async fn a_delay_is_felt_each_way_and_a_rate_by_what_is_sent() {
    let bench = Bench::new().await;
    let clock = Clock::real();
    let (mut client, mut server) = bench.pair("a-0").await;
    let delay = Duration::from_millis(40);
    bench.set(None, ClientFault::Slow(Pace { delay, ..Pace::default() }));
    let began = clock.now();
    passes(&mut client, &mut server).await;
    passes(&mut server, &mut client).await;
    assert!(clock.now().since(began) >= delay * 2, "{:?}", clock.now().since(began));

    bench.set(None, ClientFault::Slow(Pace { bytes_per_second: 100_000.try_into().ok(), ..Pace::default() }));
    let began = clock.now();
    client.write_all(&[0; 20_000]).await.unwrap();
    read(&mut server, 20_000).await;
    let took = clock.now().since(began);
    assert!(took >= Duration::from_millis(190), "{took:?}");

    bench.relay.heal();
    let began = clock.now();
    client.write_all(&[0; 200_000]).await.unwrap();
    read(&mut server, 200_000).await;
    assert!(clock.now().since(began) < Duration::from_millis(1_000));
}

#[tokio::test]
async fn many_connections_live_side_by_side_and_end_with_the_relay() {
    let bench = Bench::new().await;
    let mut pairs = Vec::new();
    for number in 0..100 {
        pairs.push(bench.pair(&format!("steady-{number}")).await);
    }
    for (client, server) in &mut pairs {
        passes(client, server).await;
        passes(server, client).await;
    }
    assert_eq!(bench.relay.refused(), 0);
    drop(bench.relay);
    for (client, server) in &mut pairs {
        assert!(end(client).await.is_some() && end(server).await.is_some());
    }
}

#[tokio::test]
async fn a_port_that_is_taken_is_an_error() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let leg = Leg { broker: ONE, port: taken.local_addr().unwrap().port(), target: taken.local_addr().unwrap() };
    assert_eq!(Relay::start(&[leg], &Clock::real(), 7).unwrap_err().kind(), ErrorKind::AddrInUse);
}
