//! Lines that the Java producer program writes: JSON, one object each. Pure.
//!
//! Times are microseconds since the group became active, of the program's own clock.

use serde::Deserialize;

/// Longest line that is taken: far above what the program writes at once.
pub(super) const LINE_BYTES_MAX: usize = 16 << 20;

/// One line. What it does not say is empty.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Line {
    /// It is ready: version of the client, the JVM, its heap's limit in bytes; whether the client tells (0 or 1) how long sends wait for
    /// metadata, and for memory.
    pub(super) ready: Option<(String, String, u64, u8, u8)>,
    /// The client refuses the configuration.
    pub(super) refused: Option<String>,
    /// The answer to `clock N`: N, and `System.nanoTime`.
    pub(super) clock: Option<(u64, i64)>,
    /// Hand-overs so far, by producer.
    pub(super) sent: Vec<(u32, u64)>,
    /// Errors that records of this line and of later ones name by number.
    pub(super) errors: Vec<ErrorLine>,
    /// Clients that were made, and when. One that could not be made is told of too: its records have outcomes.
    pub(super) made: Vec<(usize, i64)>,
    /// What the clients said of their metadata.
    pub(super) metadata: Vec<MetadataLine>,
    /// So many of those did not fit into the program's bound.
    pub(super) metadata_lost: u64,
    /// Sends that had to wait and are through.
    pub(super) waits: Vec<WaitLine>,
    /// Lateness of hand-overs in microseconds, and how often it occurred.
    pub(super) late: Vec<(i64, u32)>,
    /// Outcomes of records.
    pub(super) records: Vec<RecordLine>,
    /// So many outcomes did not fit into the program's bound.
    pub(super) untold: u64,
    /// Records that are stuck in `send`: producer, position of the topic, due time. `None`: nothing is said of that.
    pub(super) blocked: Option<Vec<(u32, usize, i64)>>,
    /// Clients: age of the metadata in milliseconds, free bytes of `buffer.memory`.
    pub(super) clients: Vec<(usize, Option<u64>, Option<u64>)>,
    /// The JVM's CPU time in microseconds, resident bytes, threads.
    pub(super) process: Option<(u64, u64, u64)>,
    /// The group is closed, and this is the program's last line.
    pub(super) last: Option<u8>,
    /// No record is due at or after it, from now on.
    pub(super) end: Option<i64>,
    /// All that happened until the first has been told, and nothing that happened after the second.
    pub(super) t: Option<(i64, i64)>,
}

/// A kind of error: number, `failed` or `indeterminate`, class, code, first message.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(super) struct ErrorLine(pub(super) i64, pub(super) Truth, pub(super) String, pub(super) Option<i16>, pub(super) String);

/// What is known of records that did not end well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Truth {
    Failed,
    Indeterminate,
}

/// What a client said of its metadata: what, who, when, the node or the update version, topics (by position) with another partition count than
/// before and their counts.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(super) struct MetadataLine(pub(super) Told, pub(super) usize, pub(super) i64, pub(super) i32, pub(super) Vec<(usize, u32)>);

/// What was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Told {
    /// A Metadata request went to a node.
    Sent,
    /// There is a new snapshot.
    Updated,
    /// A Metadata request was cut off by a disconnect.
    CutOff,
}

/// A wait: client, 0 for metadata and 1 for memory, when it ended, how long it took, whether it got what it waited for (0 or 1).
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(super) struct WaitLine(pub(super) usize, pub(super) u8, pub(super) i64, pub(super) u64, pub(super) u8);

/// A record: producer, position of the topic, partition (-1: the client did not take it), due, sent and known times, error (0: none, -1: its
/// sender gave it up), and which of the producer's records it is, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct RecordLine(
    pub(super) u32,
    pub(super) usize,
    pub(super) i32,
    pub(super) i64,
    pub(super) i64,
    pub(super) i64,
    pub(super) i64,
    pub(super) u64,
);

/// In place of a record's error: it was acknowledged.
pub(super) const OK: i64 = 0;
/// In place of a record's error: its sender has waited for long enough.
pub(super) const GIVEN_UP: i64 = -1;

/// Reads a line.
///
/// # Errors
/// It is none of the program's.
pub(super) fn parse(text: &[u8]) -> Result<Line, serde_json::Error> {
    serde_json::from_slice(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_it_says_and_no_more() {
        let text = br#"{"errors":[[1,"indeterminate","TimeoutException",null,"Expiring \"1\""]],"made":[[0,5261]],
            "metadata":[["sent",0,311727,-2,[]],["updated",0,348808,2,[[0,6]]],["cut_off",0,400000,0,[]]],"waits":[[0,0,394874,289497,1]],
            "sent":[[0,1]],"records":[[0,0,3,0,173,823742,0,9]],"late":[[173,2]],"blocked":[],"clients":[[0,null,33554432]],
            "process":[830000,84803584,24],"last":1,"t":[-5,-4]}"#;
        let line = parse(text).unwrap();
        assert_eq!(line.errors[0], ErrorLine(1, Truth::Indeterminate, "TimeoutException".into(), None, "Expiring \"1\"".into()));
        assert_eq!(line.metadata[1], MetadataLine(Told::Updated, 0, 348_808, 2, vec![(0, 6)]));
        assert_eq!(line.records, [RecordLine(0, 0, 3, 0, 173, 823_742, OK, 9)]);
        assert_eq!((line.blocked.as_deref(), line.clients[0], line.t), (Some([].as_slice()), (0, None, Some(33_554_432)), Some((-5, -4))));
        assert_eq!(parse(br#"{"t":[7,9]}"#).unwrap(), Line { t: Some((7, 9)), ..Line::default() });
    }

    #[test]
    fn what_is_malformed_truncated_or_unknown_is_refused() {
        let good = br#"{"records":[[0,0,3,0,173,823742,0,9]],"t":[1,2]}"#;
        assert!((0..good.len()).all(|length| parse(&good[..length]).is_err()), "a part of a line is no line");
        for bad in [
            r#"{"records":[[0,0,3,0,173,823742,0]]}"#,
            r#"{"records":[[0,0,3,0,173,823742,0,0,0]]}"#,
            r#"{"records":[[-1,0,3,0,173,823742,0,9]]}"#,
            r#"{"records":[[0,0,3,0,173,1e99,0,9]]}"#,
            r#"{"errors":[[1,"perhaps","X",null,""]]}"#,
            r#"{"metadata":[["seen",0,1,1,[]]]}"#,
            r#"{"surprise":1}"#,
            r#"{"t":1}"#,
            r#"{"t":[1,1]}{"t":[2,2]}"#,
            "Exception in thread \"main\"",
        ] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
