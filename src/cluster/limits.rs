//! What a node may use, and how a change of it reads. Pure.

use std::fmt;

use crate::plan::model::{Ceiling, LimitChange};

/// What a node may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// CPU time in thousandths of a core; `None`: all that there is.
    pub cpu_thousandths: Option<u64>,
    /// Memory; `None`: all that there is.
    pub memory_bytes: Option<u64>,
}

impl Limits {
    /// These limits after a change; `usual` are those that nodes are started with.
    #[must_use]
    pub fn after(self, change: LimitChange, usual: Self) -> Self {
        let after = |change, now, usual| match change {
            None => now,
            Some(Ceiling::AtMost(most)) => Some(most),
            Some(Ceiling::Usual) => usual,
        };
        Self {
            cpu_thousandths: after(change.cpu_thousandths, self.cpu_thousandths, usual.cpu_thousandths),
            memory_bytes: after(change.memory_bytes, self.memory_bytes, usual.memory_bytes),
        }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cpu_thousandths {
            Some(thousandths) => write!(f, "{} cores", thousandths as f64 / 1000.0)?,
            None => f.write_str("every core")?,
        }
        match self.memory_bytes {
            Some(bytes) if bytes.is_multiple_of(1 << 20) => write!(f, ", {} MiB", bytes >> 20),
            Some(bytes) => write!(f, ", {bytes} B"),
            None => f.write_str(", all memory"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_leaves_what_it_does_not_name() {
        let usual = Limits { cpu_thousandths: None, memory_bytes: Some(768 << 20) };
        let tight = Limits { cpu_thousandths: Some(500), memory_bytes: Some(512 << 20) };
        let rows = [
            (LimitChange { cpu_thousandths: Some(Ceiling::AtMost(250)), memory_bytes: None }, "0.25 cores, 512 MiB"),
            (LimitChange { cpu_thousandths: Some(Ceiling::Usual), memory_bytes: None }, "every core, 512 MiB"),
            (LimitChange { cpu_thousandths: None, memory_bytes: Some(Ceiling::Usual) }, "0.5 cores, 768 MiB"),
            (LimitChange { cpu_thousandths: None, memory_bytes: Some(Ceiling::AtMost(1000)) }, "0.5 cores, 1000 B"),
        ];
        for (change, expected) in rows {
            assert_eq!(tight.after(change, usual).to_string(), expected);
        }
    }
}
