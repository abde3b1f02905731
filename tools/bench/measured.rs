//! What one process measured of itself, as the line of JSON in which it tells it.

use kafka_chaos::record::histogram::LatencyHistogram;
use serde::{Deserialize, Serialize};

/// One subject, one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// Who.
    pub(crate) subject: String,
    /// Its version.
    pub(crate) version: String,
    /// Records acknowledged.
    pub(crate) records: u64,
    /// Records that were not.
    pub(crate) failed: u64,
    /// From the first record handed over to the last acknowledgement.
    pub(crate) seconds: f64,
    /// User and system time of the whole process, start and end included; `None`: unknown.
    pub(crate) cpu_seconds: Option<f64>,
    /// Its greatest resident memory.
    pub(crate) memory_bytes_max: Option<u64>,
    /// Its threads while it sent.
    pub(crate) threads: Option<u64>,
    /// From `send` to the acknowledgement.
    pub(crate) latency_us: Option<Latency>,
}

/// A distribution, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Latency {
    /// How many records it holds; `None`: the client does not say.
    pub(crate) count: Option<u64>,
    /// Median.
    pub(crate) p50: u64,
    /// 99 of 100 are no greater.
    pub(crate) p99: u64,
    /// Greatest.
    pub(crate) max: u64,
}

impl Latency {
    /// `None` for an empty histogram.
    pub(crate) fn of(histogram: &LatencyHistogram) -> Option<Self> {
        let (p50, p99) = (histogram.quantile_us(0.5)?, histogram.quantile_us(0.99)?);
        Some(Self { count: Some(histogram.count()), p50, p99, max: histogram.max_us() })
    }
}

impl Measured {
    /// Adds what the operating system says of this process. To be called when its work is done.
    pub(crate) fn with_own_usage(mut self) -> Self {
        let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        self.cpu_seconds = Some(cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9);
        self.memory_bytes_max = own_status("VmHWM:").map(|kib| kib * 1_024);
        self
    }
}

/// Threads of this process now.
pub(crate) fn own_threads() -> Option<u64> {
    own_status("Threads:")
}

fn own_status(name: &str) -> Option<u64> {
    status_number(&std::fs::read_to_string("/proc/self/status").ok()?, name)
}

/// The first number of a line of Linux's `/proc/PID/status`.
fn status_number(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}
