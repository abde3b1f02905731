//! What the probes cost, second by second.

use std::fs;
use std::time::Duration;

use crate::kafka::admin::TrafficCounts;
use crate::record::layer::ProbeSecond;

/// CPU time of the calling thread so far; `None` where the system does not tell. Linux counts it in nanoseconds.
pub(super) fn thread_cpu() -> Option<Duration> {
    cpu_in(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// The first of three numbers: time on a CPU, time waited for one, times that it was given one.
fn cpu_in(schedstat: &str) -> Option<Duration> {
    schedstat.split_ascii_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// The figures of a second.
pub(super) fn second(second: i64, carried: TrafficCounts, cpu: Option<Duration>, fast: Duration, unsettled: Option<String>) -> ProbeSecond {
    ProbeSecond {
        second,
        requests: carried.requests,
        request_bytes: carried.request_bytes,
        response_bytes: carried.response_bytes,
        cpu_us: cpu.map(|cpu| u64::try_from(cpu.as_micros()).unwrap_or(u64::MAX)),
        fast_ms: u64::try_from(fast.as_millis()).unwrap_or(u64::MAX),
        unsettled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_is_the_time_on_a_cpu() {
        assert_eq!(cpu_in("1500000 220 7\n"), Some(Duration::from_micros(1_500)));
        assert_eq!(cpu_in(""), None);
        assert_eq!(cpu_in("nonsense"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn work_shows_in_the_threads_own_time() {
        let Some(before) = thread_cpu() else { return };
        let sum: u64 = (0..2_000_000_u64).map(|value| value.rotate_left(7) ^ std::hint::black_box(value)).sum();
        std::hint::black_box(sum);
        assert!(thread_cpu().unwrap() > before);
    }
}
