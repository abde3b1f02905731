//! What nodes have printed: read from the engine, bounded, saved as files.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bollard::query_parameters::LogsOptionsBuilder;
use bytes::Bytes;
use futures_util::TryStreamExt;

use super::DockerCluster;
use super::requests::{RequestCounter, RequestCounts};
use crate::cluster::daemon::{bounded, could_not};
use crate::cluster::{Cluster, ClusterError, Node};
use crate::ids::BrokerId;

/// Most that is read of one node's log at once: the engine keeps no more either (see `container`).
pub(super) const LOG_BYTES_MAX: usize = 256 << 20;
/// Most of a node's log that is saved: its end.
const SAVED_BYTES_MAX: usize = 16 << 20;
/// How far back an error looks for complaints, and how much of a log it shows.
const LINES_SEARCHED: usize = 1000;
const LINES_OF_COMPLAINT: usize = 12;
const LINES_LAST: usize = 6;
/// Bound on reading one log.
const READ_WITHIN: Duration = Duration::from_secs(60);

/// How much of a log.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// Its last bytes.
    Last {
        /// At most so many.
        bytes: usize,
    },
    /// Its last lines.
    Lines(usize),
}

/// A log, or its end.
#[derive(Debug)]
pub(super) struct Log {
    /// What was read.
    pub(super) bytes: Vec<u8>,
    /// How much before it was left out.
    pub(super) bytes_cut: u64,
    /// Requests in the whole of it, what was left out included; `None` if its beginning is gone.
    pub(super) requests: Option<RequestCounts>,
}

/// A node's log in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedLog {
    /// The node.
    pub node: BrokerId,
    /// The file.
    pub path: PathBuf,
    /// Bytes at the log's beginning that were left out; the file's first line says so too.
    pub bytes_cut: u64,
    /// Requests that the node has logged, of the whole log; none unless it was told to log them. `None`: the container engine no longer
    /// has the log's beginning, so that nobody can count; or the node has served others before, whose requests are in it too.
    pub requests: Option<RequestCounts>,
}

/// The logs of all nodes, as far as they could be had.
#[derive(Debug, Default)]
pub struct SavedLogs {
    /// Those that are in files.
    pub logs: Vec<SavedLog>,
    /// Why others are not.
    pub failed: Vec<ClusterError>,
}

fn not_written(path: &Path) -> impl FnOnce(std::io::Error) -> ClusterError + use<> {
    let path = path.to_owned();
    move |source| ClusterError::File { path, source }
}

impl DockerCluster {
    /// Saves each node's log into a folder, which is made if need be: `broker-1.log`, ..., `controller-4.log` for a dedicated
    /// controller. Of a long log its end is kept. Where one cannot be had, for its container is gone, the others are saved all the same.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub async fn save_logs(&self, folder: &Path) -> Result<SavedLogs, ClusterError> {
        tokio::fs::create_dir_all(folder).await.map_err(not_written(folder))?;
        let mut saved = SavedLogs::default();
        for node in self.nodes() {
            match self.save_log(node, folder.join(file_name(node))).await {
                Ok(log) => saved.logs.push(log),
                Err(error) => saved.failed.push(error),
            }
        }
        Ok(saved)
    }

    async fn save_log(&self, node: &Node, path: PathBuf) -> Result<SavedLog, ClusterError> {
        let log = self.read_log(node.id, Part::Last { bytes: SAVED_BYTES_MAX }).await?;
        let mut bytes = log.bytes;
        if log.bytes_cut > 0 {
            let note = format!("[chaos: {} bytes before this were left out]\n", log.bytes_cut);
            bytes.splice(0..0, note.into_bytes());
        }
        tokio::fs::write(&path, bytes).await.map_err(not_written(&path))?;
        Ok(SavedLog { node: node.id, path, bytes_cut: log.bytes_cut, requests: log.requests.filter(|_| !self.is_reused()) })
    }

    /// The lines of a node's log that tell most, indented, for an error; what went wrong if they cannot be read.
    pub(crate) async fn telling_lines(&self, node: BrokerId) -> String {
        match self.read_log(node, Part::Lines(LINES_SEARCHED)).await {
            Ok(log) => telling(&String::from_utf8_lossy(&log.bytes)),
            Err(error) => format!("  (its log cannot be read: {error})"),
        }
    }

    pub(super) async fn read_log(&self, node: BrokerId, part: Part) -> Result<Log, ClusterError> {
        let container = self.container(node)?;
        let (bytes_max, tail) = match part {
            Part::Last { bytes } => (bytes, "all".to_owned()),
            Part::Lines(lines) => (LOG_BYTES_MAX, lines.to_string()),
        };
        let options = LogsOptionsBuilder::new().stdout(true).stderr(true).tail(&tail).build();
        let mut end = End::new(bytes_max);
        let read = async {
            let mut pieces = std::pin::pin!(self.daemon.client().logs(&container, Some(options)));
            while let Some(piece) = pieces.try_next().await.map_err(could_not(format!("read the log of {container}")))? {
                end.push(piece.into_bytes());
            }
            Ok(())
        };
        bounded(READ_WITHIN, &format!("hand over the log of {container}"), read).await?;
        Ok(end.finish())
    }
}

fn file_name(node: &Node) -> String {
    format!("{}-{}.log", if node.is_broker { "broker" } else { "controller" }, node.id)
}

/// The last complaints, if there are any, then the last lines of all: a node that gives up says why first, and then shuts down at length.
fn telling(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let (before, last) = lines.split_at(lines.len().saturating_sub(LINES_LAST));
    let complaints: Vec<&str> = before.iter().copied().filter(|line| is_complaint(line)).collect();
    let shown = complaints[complaints.len().saturating_sub(LINES_OF_COMPLAINT)..].iter().chain(last);
    shown.map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

fn is_complaint(line: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    has(&[" ERROR ", " FATAL ", "Exception", "Caused by:", "Error:"]) && !has(&[" INFO ", " DEBUG ", " TRACE "])
}

/// The end of a stream: the last pieces that fit, and a count over all of it.
#[derive(Debug)]
struct End {
    pieces: VecDeque<Bytes>,
    bytes: usize,
    bytes_max: usize,
    bytes_cut: u64,
    requests: RequestCounter,
}

impl End {
    fn new(bytes_max: usize) -> Self {
        Self { pieces: VecDeque::new(), bytes: 0, bytes_max, bytes_cut: 0, requests: RequestCounter::default() }
    }

    fn push(&mut self, piece: Bytes) {
        self.requests.push(&piece);
        self.bytes += piece.len();
        self.pieces.push_back(piece);
        // Whole pieces only: they are lines, and half a line helps nobody.
        while self.bytes > self.bytes_max {
            let Some(first) = self.pieces.pop_front() else { break };
            self.bytes -= first.len();
            self.bytes_cut += first.len() as u64;
        }
    }

    fn finish(self) -> Log {
        Log { bytes: self.pieces.into_iter().flatten().collect(), bytes_cut: self.bytes_cut, requests: self.requests.finish() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_log_the_end_is_kept_and_the_cut_is_counted() {
        let mut end = End::new(8);
        for line in ["one\n", "two\n", "three\n"] {
            end.push(Bytes::from_static(line.as_bytes()));
        }
        let log = end.finish();
        assert_eq!((log.bytes.as_slice(), log.bytes_cut), (b"three\n".as_slice(), 8));
    }

    #[test]
    fn complaints_are_shown_before_the_last_lines() {
        let noise = |count: usize| (0..count).map(|n| format!("[..] INFO shut down {n}, no Exception\n")).collect::<String>();
        let text = format!("[..] ERROR cannot bind\nCaused by: java.net.BindException: Address already in use\n\n{}", noise(40));
        let shown = telling(&text);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 2 + LINES_LAST);
        assert_eq!(lines[..2], ["  [..] ERROR cannot bind", "  Caused by: java.net.BindException: Address already in use"]);
        assert_eq!(lines[7], "  [..] INFO shut down 39, no Exception");
        assert_eq!(telling("one\ntwo\n"), "  one\n  two");
        assert_eq!(telling(""), "");
    }

    #[test]
    fn a_short_log_is_kept_whole() {
        let mut end = End::new(8);
        end.push(Bytes::from_static(b"one\n"));
        end.push(Bytes::from_static(b"two\n"));
        let log = end.finish();
        assert_eq!((log.bytes.as_slice(), log.bytes_cut), (b"one\ntwo\n".as_slice(), 0));
    }
}
