//! What the load generator runs on, read from `/proc`. Where there is none, figures are absent, never guessed.

use std::collections::BTreeMap;
use std::fs;
use std::thread::available_parallelism;

/// The first number after a label of a `/proc` file; 0 without one.
fn field_of(text: &str, label: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(label)).unwrap_or_default();
    line.split_whitespace().next().and_then(|value| value.parse().ok()).unwrap_or(0)
}

/// The machine, for `run.json`: `cores`, `memory_bytes`, `cpu`.
#[must_use]
pub(super) fn machine() -> BTreeMap<String, String> {
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
pub(super) fn kernel() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|release| release.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_the_first_number_after_its_label() {
        let text = "MemFree: 12 kB\nMemTotal:       24689764 kB\n";
        assert_eq!(field_of(text, "MemTotal:"), 24_689_764);
        assert_eq!(field_of(text, "SwapTotal:"), 0);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_has_cores_and_memory() {
        let machine = machine();
        assert!(machine.contains_key("cores") && machine.contains_key("memory_bytes"), "{machine:?}");
    }
}
