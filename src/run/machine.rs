//! What the load generator runs on, and what it costs: read from `/proc`.
//!
//! On a system without `/proc` the figures are absent or 0, never guessed.

use std::collections::BTreeMap;
use std::fs;
use std::thread::available_parallelism;

/// This process's own use of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time so far, user and system, in microseconds.
    pub cpu_us_total: u64,
    /// Resident memory, in bytes.
    pub rss_bytes: u64,
    /// Threads.
    pub threads: u64,
}

/// Clock ticks per second in `/proc/self/stat`: 100 on every Linux that Rust's standard library supports.
const TICKS_PER_SECOND: u64 = 100;

/// Reads this process's use now.
#[must_use]
pub fn usage() -> Usage {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    Usage { cpu_us_total: cpu_us_of(&stat), rss_bytes: field_of(&status, "VmRSS:") * 1024, threads: field_of(&status, "Threads:") }
}

/// User and system time of a `/proc/self/stat` line. The command's name, in parentheses, may hold anything, so fields count from its end.
fn cpu_us_of(stat: &str) -> u64 {
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 = after_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    ticks * (1_000_000 / TICKS_PER_SECOND)
}

/// The first number after a label of a `/proc` file; 0 without one.
fn field_of(text: &str, label: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(label)).unwrap_or_default();
    line.split_whitespace().next().and_then(|value| value.parse().ok()).unwrap_or(0)
}

/// The machine, for `run.json`: `cores`, `memory_bytes`, `cpu`.
#[must_use]
pub fn machine() -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    if let Ok(cores) = available_parallelism() {
        facts.insert("cores".to_owned(), cores.to_string());
    }
    let memory_kib = field_of(&fs::read_to_string("/proc/meminfo").unwrap_or_default(), "MemTotal:");
    if memory_kib > 0 {
        facts.insert("memory_bytes".to_owned(), (memory_kib * 1024).to_string());
    }
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(':'));
    if let Some((_, model)) = model {
        facts.insert("cpu".to_owned(), model.trim().to_owned());
    }
    facts
}

/// The kernel's release; `None` where it cannot be read.
#[must_use]
pub fn kernel() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|release| release.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 4 0 100 1000 10";
        assert_eq!(cpu_us_of(stat), 2_000_000);
        assert_eq!(cpu_us_of(""), 0);
    }

    #[test]
    fn this_process_uses_memory_and_threads() {
        let used = usage();
        assert!(used.rss_bytes > 0 && used.threads > 0, "{used:?}");
    }
}
