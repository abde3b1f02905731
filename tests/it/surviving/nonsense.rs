//! Brokers that answer garbage, nothing at all, or hang up at once.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use super::{ended, one_node};
use crate::program::{Running, chaos, left_of};
use crate::support;

/// What such a broker does once it was asked.
type Manner = fn(TcpStream, Vec<u8>);

/// How they behave, and what `chaos trace` says of each.
const MANNERS: [(&str, Manner, &str); 5] = [
    ("garbage", |mut stream, _| drop(stream.write_all(&[0xa5; 300])), "sent a malformed response: a frame of -"),
    (
        "web",
        |mut stream, _| drop(stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
        "sent a malformed response: a frame of 1213486160 bytes",
    ),
    ("nonsense", |mut stream, asked| drop(stream.write_all(&well_framed(&asked))), "sent a malformed response: cannot decode"),
    ("silence", |stream, _| linger(&stream), "no answer within 2.0 s"),
    ("hang-up", |stream, _| drop(stream), "closed the connection"),
];

/// Bytes in the frame of an answer to this request, but no answer.
fn well_framed(asked: &[u8]) -> Vec<u8> {
    let mut frame = 24_u32.to_be_bytes().to_vec();
    frame.extend(asked.get(8..12).unwrap_or_default());
    frame.extend([0xff; 20]);
    frame
}

/// Keeps a connection until the other side closes it.
fn linger(mut stream: &TcpStream) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(60)));
    while matches!(stream.read(&mut [0; 1024]), Ok(1..)) {}
}

/// Starts one; its port. It ends with the process.
fn start(manner: Manner) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut asked = vec![0; 4096];
                let read = (&stream).read(&mut asked).unwrap_or(0);
                asked.truncate(read);
                manner(stream, asked);
            });
        }
    });
    port
}

#[test]
fn trace_says_how_a_broker_misbehaves() {
    for (name, manner, words) in MANNERS {
        let output = chaos(&["trace", "--json", "--bootstrap", &format!("127.0.0.1:{}", start(manner))]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(3), "{name}: {said}");
        assert!(said.contains(words), "{name}: no `{words}` in {said}");
    }
}

#[tokio::test]
async fn clients_that_meet_nothing_else_are_told_of_and_others_do_not_suffer() {
    let Some(_brokers) = support::brokers().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let misled = MANNERS.map(|(name, manner, _)| {
        format!(
            "[[producers]]\nname = \"{name}\"\ncount = 2\ntopics = [\"orders\"]\nrate = \"10/s\"\nbootstrap = [\"127.0.0.1:{}\"]\n\
             config = {{ \"max.block.ms\" = 2000, \"request.timeout.ms\" = 1000, \"delivery.timeout.ms\" = 2000 }}\n\n",
            start(manner)
        )
    });
    let (plan, out) = (one_node(folder.path(), "5s", &misled.concat()), folder.path().join("out"));
    let mut running = Running::start(&["run", plan.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let results = ended(&mut running, &out);
    let reasons = results.run["reasons"].to_string();
    for (name, ..) in MANNERS {
        let totals = &results.group(name)["totals"];
        assert!(totals["due"].as_u64() > Some(0) && totals["ok"] == 0, "{name}: {totals}");
        assert!(reasons.contains(&format!("of group `{name}` had not recovered by the end")), "{name}: {reasons}");
        assert!(totals["failed"].as_u64() > Some(0), "{name}: {totals}");
    }
    let honest = &results.group("lone")["totals"];
    assert_eq!((&honest["ok"], &honest["failed"]), (&honest["due"], &0.into()), "{honest}");
    // The machine may have been too busy for PASS or HANG to be proven; nothing else can outrank the hang.
    assert!(matches!(results.code, Some(1 | 4)) && results.run["verdict"] != "FAIL", "{:?}: {reasons}", results.code);
    assert_eq!(left_of(&results.run), [""; 0]);
}
