//! What the processes of foreign clients cost the machine: part of the client under test, not of the load generator.

use std::collections::BTreeMap;

use crate::analyze::findings::ProcessFinding;
use crate::record::fact::{ClientProcess, Fact, Stamped};

/// All groups' processes by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Processes {
    groups: BTreeMap<String, ClientProcess>,
}

impl Processes {
    /// Takes in a fact.
    pub(crate) fn fold(&mut self, stamped: &Stamped) {
        let Fact::ClientProcess(seen) = &stamped.fact else { return };
        let most = self.groups.entry(seen.group.clone()).or_default();
        most.cpu_us_total = most.cpu_us_total.max(seen.cpu_us_total);
        most.rss_bytes = most.rss_bytes.max(seen.rss_bytes);
        most.threads = most.threads.max(seen.threads);
    }

    /// The group's process; `None`: it has none of its own.
    pub(crate) fn finding(&self, group: &str) -> Option<ProcessFinding> {
        let most = self.groups.get(group)?;
        Some(ProcessFinding {
            cpu_seconds: (most.cpu_us_total / 10_000) as f64 / 100.0,
            rss_bytes_max: most.rss_bytes,
            threads_max: most.threads,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_of_each_figure_counts() {
        let mut processes = Processes::default();
        for (cpu_us_total, rss_bytes, threads) in [(10_000, 500, 7), (1_230_000, 900, 9), (1_250_000, 800, 8)] {
            let seen = ClientProcess { group: "java".into(), second: 0, cpu_us_total, rss_bytes, threads };
            processes.fold(&Stamped { time_us: 0, worker: 0, fact: Fact::ClientProcess(Box::new(seen)) });
        }
        assert_eq!(processes.finding("java"), Some(ProcessFinding { cpu_seconds: 1.25, rss_bytes_max: 900, threads_max: 9 }));
        assert_eq!(processes.finding("native"), None);
    }
}
