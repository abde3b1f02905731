//! The endpoint over real sockets: what it serves, and that no client can hold it up.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::*;
use crate::clock::{Clock, Moment};
use crate::record::folder::RunFolder;
use crate::record::sample::Sample;
use crate::record::sink;
use crate::run::intake::Intake;
use crate::run::stop::Stop;
use crate::ui::{Screen, Style};

const ANY_PORT: &str = "127.0.0.1:0";

fn endpoint(bounds: Bounds) -> Endpoint {
    Endpoint::start_within(ANY_PORT.parse().unwrap(), bounds).unwrap()
}

fn connect(endpoint: &Endpoint) -> TcpStream {
    let stream = TcpStream::connect(endpoint.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Everything until the other end closes; a reset is an end, too.
fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error) if error.kind() != io::ErrorKind::ConnectionReset => panic!("no end: {error}"),
        _ => String::from_utf8(bytes).unwrap(),
    }
}

fn ask(endpoint: &Endpoint, request: &str) -> String {
    let mut stream = connect(endpoint);
    // Who is refused may be cut off before all is written.
    let _ = stream.write_all(request.as_bytes());
    rest(&mut stream)
}

fn get(endpoint: &Endpoint) -> String {
    ask(endpoint, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
}

/// Asks until a place is free: one is given back a little after its client has seen the end.
fn get_when_there_is_room(endpoint: &Endpoint) -> String {
    (0..2_000)
        .inspect(|again| {
            if *again > 0 {
                std::thread::sleep(Duration::from_millis(10));
            }
        })
        .map(|_| get(endpoint))
        .find(|page| !page.is_empty())
        .unwrap()
}

#[test]
fn the_latest_page_is_served_with_its_type_and_length() {
    let endpoint = endpoint(BOUNDS);
    assert!(get(&endpoint).contains("chaos_phase{phase=\"before\"} 1\n"), "before anything is known");
    endpoint.page().set("# HELP a x\n".to_owned());
    let answer = get(&endpoint);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
    assert!(
        body.starts_with("# HELP a x\n# HELP chaos_metrics_refused_total ") && body.ends_with("chaos_metrics_refused_total 0\n"),
        "{body}"
    );
}

#[test]
fn garbage_is_refused_and_counted() {
    let endpoint = endpoint(BOUNDS);
    let rows = [
        ("\u{16}\u{3}\u{1}\u{2}\r\n\r\n", "HTTP/1.1 400 "),
        ("POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 "),
        ("GET /other HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "),
    ];
    for (request, status) in rows {
        let answer = ask(&endpoint, request);
        assert!(answer.starts_with(status), "{answer}");
    }
    assert!(get_when_there_is_room(&endpoint).ends_with("chaos_metrics_refused_total 3\n"));
    assert_eq!(endpoint.refused(), 3);
}

#[test]
fn a_head_without_end_is_cut_off_at_the_bound() {
    let endpoint = endpoint(Bounds { head_bytes: 4 << 10, ..BOUNDS });
    let mut stream = connect(&endpoint);
    // The other end may have closed before all is written.
    let _ = stream.write_all(&vec![b'x'; 64 << 10]);
    let answer = rest(&mut stream);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert!(get(&endpoint).contains("200 OK"));
}

#[test]
fn who_says_nothing_is_given_up_and_others_are_served_meanwhile() {
    let endpoint = endpoint(Bounds { within: Duration::from_millis(300), ..BOUNDS });
    let mut silent = connect(&endpoint);
    let mut slow = connect(&endpoint);
    slow.write_all(b"GET /metr").unwrap();
    assert!(get(&endpoint).contains("200 OK"));
    assert!(rest(&mut silent).starts_with("HTTP/1.1 408 "));
    assert!(rest(&mut slow).starts_with("HTTP/1.1 408 "));
}

#[test]
fn who_does_not_read_is_given_up() {
    let endpoint = endpoint(Bounds { connections: 1, within: Duration::from_millis(300), ..BOUNDS });
    // More than the sockets of both ends hold.
    endpoint.page().set("x".repeat(64 << 20));
    let mut deaf = connect(&endpoint);
    deaf.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    // It is being served.
    deaf.read_exact(&mut [0]).unwrap();
    endpoint.page().set("# HELP small x\n".to_owned());
    // There is one place, and the deaf one has it until it is given up.
    assert!(get_when_there_is_room(&endpoint).contains("small"));
    assert!(endpoint.refused() >= 1);
}

#[test]
fn connections_beyond_the_bound_are_closed_and_counted() {
    let endpoint = endpoint(Bounds { connections: 2, ..BOUNDS });
    let mut held = [connect(&endpoint), connect(&endpoint)];
    // Accepted in order, so those two have the places.
    assert_eq!(rest(&mut connect(&endpoint)), "");
    for stream in &mut held {
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        assert!(rest(stream).contains("200 OK"));
    }
    assert!(get_when_there_is_room(&endpoint).contains("200 OK"));
    assert!(endpoint.refused() >= 1);
}

#[test]
fn a_port_that_is_taken_is_said_with_what_to_do() {
    let first = endpoint(BOUNDS);
    let error = Endpoint::start(first.address()).unwrap_err();
    let (said, port) = (error.to_string(), first.address().port());
    assert!(said.starts_with(&format!("cannot serve metrics at 127.0.0.1:{port}: ")) && said.contains("--metrics="), "{said}");
    assert!(!error.is_request_fault(), "it is the environment's fault");
}

#[test]
fn nobody_listens_once_it_is_dropped() {
    let endpoint = endpoint(BOUNDS);
    let address = endpoint.address();
    drop(endpoint);
    // The thread ends on its own; the listener goes with it.
    let is_gone = |again| {
        std::thread::sleep(Duration::from_millis(if again == 0 { 0 } else { 10 }));
        TcpStream::connect(address).is_err()
    };
    assert!((0..2_000).any(is_gone));
}

/// From the facts to the page, by the thread that reads them.
#[tokio::test]
async fn the_reader_of_the_facts_sets_the_page() {
    let endpoint = endpoint(BOUNDS);
    let keep = tempfile::tempdir().unwrap();
    let folder = RunFolder::exactly(&keep.path().join("out")).unwrap();
    let (facts, source) = sink::channel(Moment(0), 0, sink::CAPACITY);
    let screen = Screen::new(Style::Quiet, false, Clock::real());
    let intake = Intake::start(folder, source, screen, Stop::default(), Some(endpoint.page())).unwrap();
    for stamped in Sample::new(&[("steady", 1)]).load("steady", 0, 3).facts {
        facts.emit_us(stamped.time_us, stamped.fact);
    }
    drop(facts);
    intake.finish().await.unwrap();
    let page = get(&endpoint);
    assert!(
        page.contains("chaos_records_ok_total{group=\"steady\"} 300\n") && page.contains("chaos_phase{phase=\"steady\"} 1\n"),
        "{page}"
    );
}
