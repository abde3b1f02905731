//! Arguments of `chaos compare` that do not go together, where clap cannot tell.

/// Why the arguments make no comparison.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::cli) enum ArgumentsError {
    /// An option for runs that are to be made, with folders of runs that are there.
    #[error("{option} goes with a plan, and {folder} is a folder of runs that are there already")]
    NeedsPlan {
        /// The option.
        option: &'static str,
        /// The first folder.
        folder: String,
    },
    /// An option for a comparison that was begun, without one.
    #[error("{option} goes with --resume DIR: the comparison that it is about")]
    NeedsResume {
        /// The option.
        option: &'static str,
    },
    /// Both say which versions of Kafka there are.
    #[error("--kafka {version} and {other} both say which version of Kafka it is: leave one of them out")]
    TwoVersions {
        /// That of `--kafka`.
        version: String,
        /// The other option.
        other: String,
    },
}
