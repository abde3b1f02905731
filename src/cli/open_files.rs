//! The process's own limit of open files: raised as far as the system lets it be, for each client has connections to several brokers.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to the hard one. Where the system refuses, the limit stays: `chaos doctor` shows it, and a run counts what it cost.
pub(super) fn raise() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}
