//! What the relay between clients and brokers costs while no fault is on: round trips of a small request, with and without it, one connection at a
//! time and with as many idle ones beside it as a large plan has. Percentiles matter here, so this measures by itself.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark may panic, and prints what it measured")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use kafka_chaos::clock::Clock;
use kafka_chaos::cluster::relay::{Leg, Relay};
use kafka_chaos::ids::BrokerId;

const BROKER: BrokerId = BrokerId(1);
/// A request's header and a little more, as the relay must see one.
const REQUEST_BYTES: usize = 100;
const ROUNDS: usize = 20_000;
const IDLE: [usize; 2] = [0, 300];

fn main() {
    // `cargo test`, and `cargo bench -- --test`, want to know whether it runs at all.
    let arguments: Vec<String> = std::env::args().collect();
    let is_bench = arguments.iter().any(|argument| argument == "--bench") && !arguments.iter().any(|argument| argument == "--test");
    let rounds = if is_bench { ROUNDS } else { 10 };
    let broker = echo_server();
    let relay = Relay::start(&[Leg { broker: BROKER, port: 0, target: broker }], &Clock::real(), 7).unwrap();
    let door = relay.listener(BROKER).unwrap();
    let relayed = SocketAddr::from(([127, 0, 0, 1], door.port));
    for idle in IDLE {
        let direct = Percentiles::of(broker, idle, rounds);
        let through = Percentiles::of(relayed, idle, rounds);
        println!("{idle:>4} idle connections beside it");
        println!("  direct             {direct}");
        println!("  through the relay  {through}");
        println!("  added              p50 {:>4} us  p99 {:>4} us", through.p50 - direct.p50, through.p99 - direct.p99);
    }
}

/// Answers what it reads with the same bytes.
fn echo_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.set_nodelay(true).unwrap();
            thread::Builder::new().stack_size(64 << 10).spawn(move || echo(&mut stream)).unwrap();
        }
    });
    address
}

fn echo(stream: &mut TcpStream) {
    let mut bytes = [0; REQUEST_BYTES];
    while stream.read_exact(&mut bytes).is_ok() && stream.write_all(&bytes).is_ok() {}
}

/// Of round trips, in microseconds.
struct Percentiles {
    p50: i64,
    p99: i64,
}

impl Percentiles {
    fn of(address: SocketAddr, idle: usize, rounds: usize) -> Self {
        let _idle: Vec<TcpStream> = (0..idle).map(|_| connect(address)).collect();
        let mut stream = connect(address);
        let clock = Clock::real();
        let mut times: Vec<i64> = (0..rounds)
            .map(|_| {
                let sent_at = clock.now();
                round_trip(&mut stream);
                clock.now().micros_from(sent_at)
            })
            .collect();
        times.sort_unstable();
        Self { p50: times[times.len() / 2], p99: times[times.len() * 99 / 100] }
    }
}

impl std::fmt::Display for Percentiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "p50 {:>4} us  p99 {:>4} us", self.p50, self.p99)
    }
}

/// A connection that has been used once.
fn connect(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    round_trip(&mut stream);
    stream
}

fn round_trip(stream: &mut TcpStream) {
    let mut bytes = [0; REQUEST_BYTES];
    // A client id of no bytes.
    bytes[3] = 96;
    stream.write_all(&bytes).unwrap();
    stream.read_exact(&mut bytes).unwrap();
}
