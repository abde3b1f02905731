//! What this process costs the machine, from Linux's `/proc/self`. Elsewhere everything is zero.

use std::fs;

/// Kernel clock ticks per second in `/proc`: 100 on every architecture that Linux runs on today (`USER_HZ`).
const TICK_US: u64 = 10_000;

/// The process's own figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessUsage {
    /// CPU time of all threads so far, ended ones included; in steps of 10 ms.
    pub(crate) cpu_us: u64,
    /// Resident memory.
    pub(crate) rss_bytes: u64,
    /// Threads.
    pub(crate) threads: u64,
}

impl ProcessUsage {
    /// The figures now.
    pub(crate) fn now() -> Self {
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        Self {
            cpu_us: cpu_us(&stat).unwrap_or(0),
            rss_bytes: status_number(&status, "VmRSS:").unwrap_or(0) * 1_024,
            threads: status_number(&status, "Threads:").unwrap_or(0),
        }
    }
}

/// User and system time from `stat`: the 14th and 15th fields. The second, the command's name, may hold spaces and parentheses.
fn cpu_us(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((user + system) * TICK_US)
}

/// The first number of a line of `status`.
fn status_number(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_behind_a_strange_name() {
        let stat = "42 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 7 0 12345";
        assert_eq!(cpu_us(stat), Some(3_000_000));
        let status = "Name:\tx\nVmRSS:\t  20480 kB\nThreads:\t7\n";
        assert_eq!((status_number(status, "VmRSS:"), status_number(status, "Threads:")), (Some(20_480), Some(7)));
        assert_eq!(cpu_us("nonsense"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_has_memory_and_threads() {
        let usage = ProcessUsage::now();
        assert!(usage.rss_bytes > 100_000 && usage.threads >= 1);
    }
}
