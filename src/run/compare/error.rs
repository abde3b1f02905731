//! Why a comparison could not be carried out or told.

use std::io;
use std::path::{Path, PathBuf};

use crate::cluster::ClusterError;
use crate::plan::vary::VaryError;
use crate::record::error::RecordError;
use crate::report::replay::ReplayError;
use crate::run::RunError;

/// Why a comparison could not be carried out or told. What its runs measured is not among these.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// A run could not be carried out.
    #[error("{run} could not be carried out: {source}{}", kept(*finished, folder))]
    Run {
        /// Which run of how many.
        run: String,
        /// How many are finished.
        finished: usize,
        /// The comparison's folder.
        folder: PathBuf,
        /// What the last attempt said.
        source: Box<RunError>,
    },
    /// The plan cannot be varied so. The arguments' fault: exit code 2.
    #[error(transparent)]
    Vary(#[from] VaryError),
    /// The cluster that the runs share could not be removed.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The folder holds another comparison. The arguments' fault: exit code 2.
    #[error("{} holds a comparison that differs in {what}\n  name another folder with --out, or go on with the one that is there: chaos compare --resume {}", folder.display(), folder.display())]
    OtherComparison {
        /// The folder.
        folder: PathBuf,
        /// What differs.
        what: String,
    },
    /// The folder holds no comparison. The arguments' fault: exit code 2.
    #[error("{} holds no comparison: there is no comparison.json in it", folder.display())]
    NoComparison {
        /// The folder.
        folder: PathBuf,
    },
    /// A single run has nothing to be compared with. The arguments' fault: exit code 2.
    #[error(
        "{} is no comparison's folder, and a single run has nothing to be compared with: name another run, or a plan with --vary",
        folder.display()
    )]
    OneRun {
        /// Its folder.
        folder: PathBuf,
    },
    /// A folder was named twice. The arguments' fault: exit code 2.
    #[error("{} is there twice: a run cannot be compared with itself", folder.display())]
    FolderTwice {
        /// The folder.
        folder: PathBuf,
    },
    /// Two cells have one name. The arguments' fault: exit code 2.
    #[error("two cells are called `{name}`")]
    CellTwice {
        /// The name.
        name: String,
    },
    /// A comparison was named where runs are. The arguments' fault: exit code 2.
    #[error("{} is a comparison, not a run: name it alone, or name runs in {}", folder.display(), folder.join("runs").display())]
    AmongRuns {
        /// Its folder.
        folder: PathBuf,
    },
    /// Another process works on the comparison. The arguments' fault: exit code 2.
    #[error("process {pid} is carrying out the comparison in {}: wait for its end", folder.display())]
    InUse {
        /// The folder.
        folder: PathBuf,
        /// The process.
        pid: u32,
    },
    /// A process works on the comparison, or did, that cannot be seen from here. The arguments' fault: exit code 2.
    #[error("process {pid} on {host} may be carrying out this comparison, and whether it lives cannot be seen from here\n  if it has ended, remove {}", file.display())]
    PerhapsInUse {
        /// The file that says so.
        file: PathBuf,
        /// The process.
        pid: u32,
        /// Its machine.
        host: String,
    },
    /// The manifest is of another version.
    #[error("{} has format {found}, and this version of chaos knows {known}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The only one that is known.
        known: u32,
    },
    /// The manifest says what cannot be.
    #[error("{} is damaged: {what}\n  the runs beside it are as they were: name their folders to compare them, chaos compare --cell NAME=DIR,DIR", path.display())]
    Flawed {
        /// The file.
        path: PathBuf,
        /// What cannot be.
        what: String,
    },
    /// This version of `chaos` makes other runs of the same arguments.
    #[error("version {chaos} of chaos began the comparison in {}, and this one would make it otherwise\n  go on with that version, or tell what is there: chaos compare {}", folder.display(), folder.display())]
    MadeOtherwise {
        /// The folder.
        folder: PathBuf,
        /// The version that began it.
        chaos: String,
    },
    /// The manifest cannot be read or written as JSON.
    #[error("{} is no manifest of a comparison: {source}\n  the runs beside it are as they were: name their folders to compare them, chaos compare --cell NAME=DIR,DIR", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A file or folder of the comparison could not be used.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The comparison's folder could not be made.
    #[error(transparent)]
    Folder(#[from] RecordError),
    /// A run could not be read back.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

/// What to do next, if anything is there to go on with.
fn kept(finished: usize, folder: &Path) -> String {
    let next = format!("go on with: chaos compare --resume {}", folder.display());
    match finished {
        0 => String::new(),
        1 => format!("\n  the run that is finished is kept; {next}"),
        several => format!("\n  the {several} runs that are finished are kept; {next}"),
    }
}

impl CompareError {
    /// Whether an argument or the plan is at fault, as opposed to the environment (exit codes 2 and 3).
    #[must_use]
    pub fn is_request_fault(&self) -> bool {
        match self {
            Self::Run { source, .. } => source.is_request_fault(),
            Self::Cluster(error) => error.is_request_fault(),
            Self::Vary(_) | Self::OneRun { .. } | Self::FolderTwice { .. } | Self::CellTwice { .. } | Self::AmongRuns { .. } => true,
            Self::OtherComparison { .. } | Self::NoComparison { .. } | Self::InUse { .. } | Self::PerhapsInUse { .. } => true,
            Self::Format { .. } | Self::Manifest { .. } | Self::Flawed { .. } | Self::MadeOtherwise { .. } => true,
            Self::Folder(error) => matches!(error, RecordError::FolderInUse { .. }),
            Self::File { .. } => false,
            // As `chaos report` has it.
            Self::Replay(_) => false,
        }
    }
}
