//! Connections that this process could not make because it, or the machine, may open no more files: its own fault, never the cluster's. The last
//! files of its limit are no connection's: what was measured must be written down.
//!
//! Counted for the whole process, as the limit is. Whatever makes connections notes its failures here (`connector`, `rpc`); the load
//! generator's watch tells the count (`engine::generator`).

use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// Files that connections leave to results, logs and the container engine: half of the limit, and at most so many.
const RESERVED_MAX: u64 = 64;

static REFUSED: AtomicU64 = AtomicU64::new(0);

/// Counts the failure if it is one of those.
pub(super) fn note(error: &io::Error) {
    if is_exhaustion(error) {
        REFUSED.fetch_add(1, Ordering::Relaxed);
    }
}

/// Refuses a connection that would take what is reserved, with the system's own error.
pub(super) fn leave_room(socket: &impl AsRawFd) -> io::Result<()> {
    let is_reserved = is_reserved(socket.as_raw_fd(), getrlimit(Resource::Nofile).current);
    if is_reserved { Err(Errno::MFILE.into()) } else { Ok(()) }
}

/// The system gives the lowest number that is free: a high one says that as many files are open.
fn is_reserved(number: i32, limit: Option<u64>) -> bool {
    limit.zip(u64::try_from(number).ok()).is_some_and(|(limit, number)| number >= limit - RESERVED_MAX.min(limit / 2))
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
    fn the_last_files_are_not_for_connections() {
        let first = |limit: u64| (0..100_000).find(|number| is_reserved(*number, Some(limit)));
        assert_eq!([first(1_024), first(100), first(26)], [Some(960), Some(50), Some(13)]);
        assert!(!is_reserved(100_000, None));
    }

    #[test]
    fn only_a_lack_of_files_counts() {
        let before = refused();
        for errno in [Errno::CONNREFUSED, Errno::MFILE, Errno::NFILE] {
            note(&errno.into());
        }
        assert_eq!(refused(), before + 2);
    }
}
