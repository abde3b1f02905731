//! What can go wrong while a run's results are written or read.

use std::io;
use std::path::{Path, PathBuf};

use crate::record::histogram::HistogramError;

/// A result of this module.
pub type Result<T> = std::result::Result<T, RecordError>;

/// Why results could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}{}", path.display(), mend(source))]
    Io {
        /// What was tried, such as `create`.
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// A file has reached its bound.
    #[error(
        "{} has grown as long as it may: {} GiB\n  shorten the run, or give it fewer producers and partitions; what was recorded is kept",
        path.display(),
        bytes_max >> 30
    )]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Its bound.
        bytes_max: u64,
    },
    /// `--out` names a folder that holds something already.
    #[error("{} exists and is not empty: results of one run are never mixed with another's; name a new folder", path.display())]
    FolderInUse {
        /// The folder.
        path: PathBuf,
    },
    /// A line of `facts.jsonl` before the last is not a fact.
    #[error("{} line {line}: not a fact ({source})", path.display())]
    BadFact {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// A value could not be written as JSON.
    #[error("cannot write {} as JSON: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What the serializer said.
        source: serde_json::Error,
    },
    /// A row could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// What the writer said.
        source: csv::Error,
    },
    /// A histogram inside a fact cannot be read.
    #[error("second {second} of group `{group}`: {source}")]
    Histogram {
        /// The group; empty for the generator's own.
        group: String,
        /// The second.
        second: i64,
        /// What is wrong with it.
        source: HistogramError,
    },
}

impl RecordError {
    /// For `map_err` on input and output.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }
}

/// What to do about it, where that is known.
fn mend(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "\n  free some space there, or name a folder elsewhere with --out; what was recorded before is kept, and `chaos report` reads it"
        }
        _ => "",
    }
}
