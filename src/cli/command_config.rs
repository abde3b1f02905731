//! `--command-config FILE`: how listeners of a cluster that is not ours are secured, in the words of Kafka's own tools.
//!
//! A secret is never an argument: whoever lists processes would see it. Not here: what the properties mean (`kafka::net::security`).

use std::path::Path;

use anyhow::Context as _;

use super::exit::UsageError;
use crate::kafka::net::security::Security;

/// Reads the file, and those that it names: paths in it are relative to the working directory, as with Kafka's tools.
///
/// # Errors
/// It cannot be read, or not be followed.
pub(super) fn read(path: &Path) -> anyhow::Result<Security> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| UsageError(format!("{shown}: cannot be read")))?;
    Security::of_java_properties(&text, |named| std::fs::read_to_string(named))
        .with_context(|| UsageError(format!("{shown}: cannot be followed")))
}
