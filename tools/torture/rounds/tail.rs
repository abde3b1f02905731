//! Follows `facts.jsonl` of a run that goes on: keeps what it has seen, so that nothing of it can be lost afterwards unnoticed.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often it looks: often enough to see the last fact before the report is there.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// What the last fact of a run holds.
const LAST: &[u8] = b"\"run_ended\"";

/// The follower's thread.
#[derive(Debug)]
pub(crate) struct Tail {
    ended: Arc<AtomicBool>,
    is_complete: Arc<AtomicBool>,
    thread: JoinHandle<Vec<u8>>,
}

impl Tail {
    /// Follows a file, which need not be there yet.
    pub(crate) fn follow(path: &Path) -> Self {
        let (ended, is_complete) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (until, told, path) = (Arc::clone(&ended), Arc::clone(&is_complete), path.to_owned());
        Self { ended, is_complete, thread: std::thread::spawn(move || read(&path, &until, &told)) }
    }

    /// Whether the last fact has been seen.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete.load(Ordering::Relaxed)
    }

    /// Ends it: the bytes that were seen. `None`: its thread has panicked.
    pub(crate) fn seen(self) -> Option<Vec<u8>> {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.join().ok()
    }
}

fn read(path: &PathBuf, until: &AtomicBool, is_complete: &AtomicBool) -> Vec<u8> {
    let mut seen = Vec::new();
    let mut file: Option<File> = None;
    while !until.load(Ordering::Relaxed) {
        file = file.or_else(|| File::open(path).ok());
        let before = seen.len();
        if let Some(file) = &mut file
            && file.read_to_end(&mut seen).is_ok()
            && seen.len() > before
        {
            let from = before.saturating_sub(LAST.len());
            if seen[from..].windows(LAST.len()).any(|window| window == LAST) {
                is_complete.store(true, Ordering::Relaxed);
            }
        }
        std::thread::sleep(LOOK_EVERY);
    }
    seen
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_is_written_bit_by_bit_is_seen_in_full() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("facts.jsonl");
        let tail = Tail::follow(&path);
        let mut file = File::create(&path).unwrap();
        for part in ["{\"fact\":\"a\"}\n{\"fact\":\"run_", "ended\"}\n"] {
            assert!(!tail.is_complete());
            file.write_all(part.as_bytes()).unwrap();
        }
        while !tail.is_complete() {
            std::thread::sleep(LOOK_EVERY);
        }
        assert_eq!(tail.seen().unwrap(), std::fs::read(&path).unwrap());
    }
}
