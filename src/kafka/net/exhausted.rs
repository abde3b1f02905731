//! Connections that this process could not make because it, or the machine, may open no more files: its own fault, never the cluster's.
//!
//! Counted for the whole process, as the limit is. Whatever makes connections notes its failures here (`connector`, `rpc`); the load
//! generator's watch tells the count (`engine::generator`).

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;

static REFUSED: AtomicU64 = AtomicU64::new(0);

/// Counts the failure if it is one of those.
pub(super) fn note(error: &io::Error) {
    if is_exhaustion(error) {
        REFUSED.fetch_add(1, Ordering::Relaxed);
    }
}

/// How many there were so far.
#[must_use]
pub fn refused() -> u64 {
    REFUSED.load(Ordering::Relaxed)
}

fn is_exhaustion(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lack_of_files_counts() {
        let before = refused();
        for errno in [Errno::CONNREFUSED, Errno::MFILE, Errno::NFILE] {
            note(&errno.into());
        }
        assert_eq!(refused(), before + 2);
    }
}
