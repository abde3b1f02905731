//! The load generator watches itself: how late it hands records over, and what it costs the machine.
//!
//! One [`Generator`] per process, shared by all groups. Not here: what is too late or too much (`analyze`).

/// Collects the process's own health.
#[derive(Debug, Default)]
pub struct Generator {}

impl Generator {
    /// A generator that has sent nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}
