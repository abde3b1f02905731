//! Plans: the TOML that says which cluster, which load and which steps.
//!
//! ```text
//! text -> syntax (tree with places) -> raw (by the grammar) -> check (finds all problems) -> model (nothing left to guess)
//!   \-> vary: the same text with other values, for comparisons
//! ```
//!
//! Not here: running anything. Called by `cli` and `run`; everything else reads only [`model`].

mod check;
mod describe;
mod describe_topics;
mod diagnostic;
pub mod forecast;
mod grammar;
pub mod model;
mod problem;
pub mod producer_config;
mod raw;
pub mod reference;
pub mod schema;
pub mod show;
mod syntax;
pub mod template;
pub mod timeline;
pub mod units;
pub mod vary;

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::ids::HostPort;

pub use diagnostic::Problems;
pub use problem::{Problem, Severity};

use model::{Plan, PlanSource};
use problem::Collector;
use raw::Fields;

/// Largest plan that is read: more is no plan, but a wrong file.
const PLAN_BYTES_MAX: u64 = 1 << 20;

/// A plan that can run, and what its author may want to know before.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The plan.
    pub plan: Plan,
    /// Problems that forbid nothing; often none.
    pub warnings: Problems,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The file could not be read.
    #[error("cannot read the plan {path}: {source}", path = path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The plan has problems; warnings are among them.
    #[error(transparent)]
    Invalid(#[from] Problems),
}

impl PlanError {
    /// The error for a terminal: all problems with their places. No line end after the last.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        match self {
            Self::Unreadable { .. } => format!("error: {self}"),
            Self::Invalid(problems) => problems.render(colour),
        }
    }
}

/// Reads and checks the plan in a file.
///
/// # Errors
/// If the file cannot be read, or has problems that are more than warnings.
pub fn load(path: &Path) -> Result<Checked, PlanError> {
    let unreadable = |source| PlanError::Unreadable { path: path.to_owned(), source };
    let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
    if bytes > PLAN_BYTES_MAX {
        return Err(unreadable(io::Error::other(format!("it has {bytes} bytes, a plan at most {PLAN_BYTES_MAX}"))));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    Ok(parse(&path.display().to_string(), &text)?)
}

/// Checks the text of a plan; `path` is what problems call it.
///
/// # Errors
/// If it has problems that are more than warnings. All of them are in the error, in the order of the text.
pub fn parse(path: &str, text: &str) -> Result<Checked, Problems> {
    let syntax = syntax::parse(text);
    let invalid = |list| Err(Problems::new(path, text, list));
    if !syntax.sound {
        return invalid(syntax.problems);
    }
    let problems = Collector::default();
    let start = 0..text.find('\n').unwrap_or(text.len());
    let root = Fields::new(&grammar::PLAN, syntax.tree.get_ref(), start, &problems);
    let source = PlanSource { path: path.to_owned(), text: text.to_owned(), sha256: sha256(text) };
    let plan = check::check(&root, source);
    let mut found = problems.into_sorted();
    if !syntax.problems.is_empty() {
        found.retain(|problem| !syntax::is_consequence(problem, &syntax.problems, text));
        found.extend(syntax.problems);
        found.sort_by_key(|problem| problem.span.start);
    }
    if found.iter().any(|problem| problem.severity == Severity::Error) {
        return invalid(found);
    }
    Ok(Checked { plan, warnings: Problems::new(path, text, found) })
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Whether `chaos` can run this version of Kafka.
///
/// # Errors
/// What is wrong with it, and a hint.
pub fn check_kafka_version(text: &str) -> Result<(), String> {
    check::kafka_version(text).map_err(|(wrong, hint)| format!("{wrong}; {hint}"))
}

/// A listener's address, written `host:port`, with brackets around an IPv6 address.
///
/// # Errors
/// How it is to be written.
pub fn check_host_port(text: &str) -> Result<HostPort, String> {
    check::host_port(text).ok_or_else(|| "write HOST:PORT, such as 127.0.0.1:9092 or [::1]:9092".to_owned())
}
