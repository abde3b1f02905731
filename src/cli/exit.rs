//! What a command came to, as the process's exit code.
//!
//! The numbers are an interface: scripts read them.

use std::process::ExitCode;

use crate::analyze::findings::Verdict;

/// What a command came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done; of a run: PASS.
    Success,
    /// The run's verdict is FAIL or HANG; a trace found something stuck.
    Failed,
    /// The plan or the arguments are wrong.
    Usage,
    /// The environment does not allow it: no container engine, no image, no port, no broker that answers.
    Environment,
    /// The run's verdict is UNKNOWN: it could not be checked; to a trace too much is unknown.
    Unknown,
    /// Stopped by a signal.
    Interrupted,
}

impl Exit {
    /// The number.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Environment => 3,
            Self::Unknown => 4,
            Self::Interrupted => 130,
        }
    }
}

/// What the arguments ask for cannot be done, in words: ends with [`Exit::Usage`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct UsageError(pub(super) String);

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Success,
            Verdict::Fail | Verdict::Hang => Self::Failed,
            Verdict::Unknown => Self::Unknown,
            Verdict::Interrupted => Self::Interrupted,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
