//! Requests by client, counted from what a broker itself has logged of them.
//!
//! A broker logs a request when it has answered it: what a kill cuts off in its hands is not counted. Pure. Fed by `logs`, one node at a time.

use std::collections::BTreeMap;

/// What Kafka prints first of all at each of its starts.
const START: &[u8] = b"Registered signal handlers";
/// Begins the record of a request.
const REQUEST: &[u8] = b"Completed request:";
/// Longest beginning of a line that is looked at: the header comes first in the record, a fetch's partitions may make a line of megabytes.
const LINE_BYTES_MAX: usize = 4096;

/// Answered requests by client id and kind, such as `METADATA`.
pub type RequestCounts = BTreeMap<(String, String), u64>;

/// Counts requests in a log that comes in pieces.
#[derive(Debug, Default)]
pub(super) struct RequestCounter {
    counts: RequestCounts,
    line: Vec<u8>,
    has_start: bool,
    lacks_beginning: bool,
}

impl RequestCounter {
    /// Takes in a piece, which may end in the middle of a line.
    pub(super) fn push(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE_BYTES_MAX.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    /// The counts; `None` if the log's beginning is gone, so that they would be too low.
    pub(super) fn finish(mut self) -> Option<RequestCounts> {
        self.end_line();
        (!self.lacks_beginning).then_some(self.counts)
    }

    fn end_line(&mut self) {
        if find(&self.line, REQUEST).is_some() {
            // Every log begins with the node's start; one that begins with requests was cut by the container engine.
            self.lacks_beginning |= !self.has_start;
            if let (Some(client), Some(kind)) = (value_of(&self.line, "clientId"), value_of(&self.line, "requestApiKeyName")) {
                *self.counts.entry((client, kind)).or_default() += 1;
            }
        } else if !self.has_start {
            self.has_start = find(&self.line, START).is_some();
        }
        self.line.clear();
    }
}

/// The first value of a key with text in a line of JSON. A client's id is plain text in our runs: nothing in it is escaped.
fn value_of(line: &[u8], key: &str) -> Option<String> {
    let head = format!("\"{key}\":\"");
    let rest = &line[find(line, head.as_bytes())? + head.len()..];
    let end = find(rest, b"\"")?;
    Some(String::from_utf8_lossy(&rest[..end]).into_owned())
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "[2026-11-29] INFO Registered signal handlers for TERM, INT, HUP\n";

    fn request(client: &str, kind: &str) -> String {
        format!(
            "[2026-11-29] DEBUG Completed request:{{\"isForwarded\":false,\"requestHeader\":{{\"requestApiKey\":3,\"requestApiVersion\":13,\
             \"correlationId\":1,\"clientId\":\"{client}\",\"requestApiKeyName\":\"{kind}\"}},\"request\":{{\"clientId\":\"x\"}}}} (kafka)\n"
        )
    }

    fn count(text: &str, piece_bytes: usize) -> Option<Vec<(String, String, u64)>> {
        let mut counter = RequestCounter::default();
        text.as_bytes().chunks(piece_bytes).for_each(|piece| counter.push(piece));
        Some(counter.finish()?.into_iter().map(|((client, kind), count)| (client, kind, count)).collect())
    }

    #[test]
    fn requests_are_counted_by_client_and_kind_however_the_log_is_cut_into_pieces() {
        let text = [START, &request("a-0", "METADATA"), &request("a-0", "PRODUCE"), START, &request("a-0", "METADATA")].concat();
        let expected = vec![("a-0".to_owned(), "METADATA".to_owned(), 2), ("a-0".to_owned(), "PRODUCE".to_owned(), 1)];
        for piece_bytes in [1, 7, 100, 10_000] {
            assert_eq!(count(&text, piece_bytes), Some(expected.clone()), "{piece_bytes}");
        }
    }

    #[test]
    fn a_log_without_its_beginning_gives_no_counts() {
        let whole = [START, &request("a-0", "METADATA")].concat();
        let cut = [&request("a-0", "METADATA"), START].concat();
        assert!(count(&whole, 100).is_some());
        assert_eq!(count(&cut, 100), None);
    }

    #[test]
    fn of_a_long_line_the_beginning_is_enough() {
        let long = request("a-0", "FETCH").replace("} (kafka)", &format!("{} (kafka)", "x".repeat(100_000)));
        assert_eq!(count(&[START, &long].concat(), 999), Some(vec![("a-0".to_owned(), "FETCH".to_owned(), 1)]));
    }
}
