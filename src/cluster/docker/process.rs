//! What a node's process uses, from this machine's `/proc`: cheaper than asking the engine, and there where the engine cannot read the
//! kernel's control groups. Elsewhere (another machine's engine, one in a virtual machine) nothing is found.

use std::fs;
use std::path::PathBuf;

use crate::cluster::NodeUsage;

/// Kernel clock ticks per second in `/proc`: 100 on every architecture that Linux runs on today (`USER_HZ`).
const TICK_US: u64 = 10_000;

/// A container's first process, as the engine names it.
#[derive(Debug)]
pub(super) struct Process<'a> {
    /// Its id on the engine's machine.
    pub(super) pid: i64,
    /// The container's id.
    pub(super) container: &'a str,
    /// Whether its network is the container's own.
    pub(super) has_own_network: bool,
}

impl Process<'_> {
    /// What it uses; `None` if it is no process of this machine, or not that container's.
    pub(super) fn usage(&self) -> Option<NodeUsage> {
        let folder = PathBuf::from("/proc").join(self.pid.to_string());
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        let groups = read("cgroup")?;
        if self.container.is_empty() || !groups.contains(self.container) {
            return None;
        }
        let traffic = if self.has_own_network { read("net/dev").and_then(|table| traffic(&table)) } else { None };
        Some(NodeUsage {
            cpu_us_total: Some(cpu_us(&read("stat")?)?),
            memory_bytes: resident_bytes(&read("status")?),
            rx_bytes_total: traffic.map(|(rx, _)| rx),
            tx_bytes_total: traffic.map(|(_, tx)| tx),
        })
    }
}

/// User and system time of all its threads, from `stat`: the 14th and 15th fields. The second, the command's name, may hold spaces and
/// parentheses.
fn cpu_us(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((user + system) * TICK_US)
}

/// From `status`; a process that is ending has none.
fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok().map(|kibibytes| kibibytes * 1_024)
}

/// Bytes received and sent on all interfaces but the loopback, from `net/dev`: the 1st and 9th numbers behind the name. `None` without any: the
/// node is off its network, and with the interface its counts have gone.
fn traffic(table: &str) -> Option<(u64, u64)> {
    let mut interfaces = table.lines().filter_map(|line| line.split_once(':')).filter(|(name, _)| name.trim() != "lo").peekable();
    interfaces.peek()?;
    interfaces
        .map(|(_, numbers)| {
            let mut numbers = numbers.split_ascii_whitespace().map(str::parse::<u64>);
            Some((numbers.next()?.ok()?, numbers.nth(7)?.ok()?))
        })
        .try_fold((0, 0), |(rx, tx), one| one.map(|(more_rx, more_tx)| (rx + more_rx, tx + more_tx)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_kernel_are_read() {
        assert_eq!(cpu_us("42 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 7 0 12345"), Some(3_000_000));
        assert_eq!(cpu_us("nonsense"), None);
        assert_eq!(resident_bytes("Name:\tjava\nVmRSS:\t  20480 kB\nThreads:\t7\n"), Some(20_480 * 1_024));
        assert_eq!(resident_bytes("Name:\tjava\nState:\tZ (zombie)\n"), None);
        let table = "Inter-|   Receive    |  Transmit\n face |bytes packets\n    lo:    1510      11    0    0    0     0          0         0     1510      11    0    0\n  \
                     eth0:   59815     495    0    0    0     0          0         0    81263     639    0    0\n  eth1: 5 1 0 0 0 0 0 0 7 1 0 0\n";
        assert_eq!(traffic(table), Some((59_820, 81_270)));
        assert_eq!(traffic("eth0: 12 x"), None);
        assert_eq!(traffic("    lo:    1510      11    0    0    0     0          0         0     1510      11    0    0\n"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_that_is_not_the_containers_tells_nothing() {
        let pid = i64::from(std::process::id());
        let mut process = Process { pid, container: "0f3c", has_own_network: true };
        assert_eq!(process.usage(), None);
        process.container = "";
        assert_eq!(process.usage(), None);
        // Any process is in some group, whose path begins like this.
        process.container = ":";
        let usage = process.usage().unwrap();
        assert!(usage.cpu_us_total.is_some() && usage.memory_bytes.is_some_and(|bytes| bytes > 100_000), "{usage:?}");
        process.has_own_network = false;
        assert_eq!(process.usage().unwrap().rx_bytes_total, None);
    }
}
