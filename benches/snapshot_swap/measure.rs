//! The measurements: reads under swaps, and how soon the slowest reader sees a new snapshot.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use kafka_chaos::kafka::metadata::Snapshot;
use rustix::time::{ClockId, clock_gettime};

use crate::cells::{Made, ReadMany};

/// Reads between two looks at the stop flag.
const READS_PER_LOOK: u32 = 1_000;

/// Reads between two looks at the version while a reader waits to see a new snapshot.
const READS_PER_SIGHT: u32 = 16;

/// Nanoseconds of a clock.
pub(crate) fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// What readers did in a stretch of time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reads {
    pub(crate) reads: u64,
    /// The readers' CPU time together.
    pub(crate) cpu_ns: u64,
    /// Each reader's time, together.
    pub(crate) wall_ns: u64,
    pub(crate) swaps: u64,
    /// The writer's time in all swaps.
    pub(crate) swap_ns: u64,
}

/// Readers read for `length` while the writer swaps `swaps_per_second` times; snapshots come from `pool`, in turn, and stay alive in it.
pub(crate) fn reads_under_swaps(made: Made, pool: &[Arc<Snapshot>], swaps_per_second: u32, length: Duration) -> Reads {
    let (mut writer, readers) = made;
    let (stop, all_ready) = (AtomicBool::new(false), Barrier::new(readers.len() + 1));
    thread::scope(|scope| {
        let (stop, all_ready) = (&stop, &all_ready);
        let running: Vec<_> = readers.into_iter().map(|reader| scope.spawn(|| read(reader, stop, all_ready))).collect();
        let mut sum = Reads::default();
        all_ready.wait();
        let start = nanoseconds(ClockId::Monotonic);
        let end = start + u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        let mut now = start;
        while now < end {
            let due = (now - start) * u64::from(swaps_per_second) / 1_000_000_000;
            while sum.swaps < due {
                let next = Arc::clone(&pool[sum.swaps as usize % pool.len()]);
                let before = nanoseconds(ClockId::Monotonic);
                writer.publish(next);
                sum.swap_ns += nanoseconds(ClockId::Monotonic) - before;
                sum.swaps += 1;
            }
            let next_due = if swaps_per_second == 0 { end } else { start + (due + 1) * 1_000_000_000 / u64::from(swaps_per_second) };
            now = nanoseconds(ClockId::Monotonic);
            thread::sleep(Duration::from_nanos(next_due.min(end).saturating_sub(now)));
            now = nanoseconds(ClockId::Monotonic);
        }
        stop.store(true, Ordering::Relaxed);
        for reader in running {
            let reads = reader.join().unwrap();
            sum.reads += reads.reads;
            sum.cpu_ns += reads.cpu_ns;
            sum.wall_ns += reads.wall_ns;
        }
        sum
    })
}

fn read(mut reader: Box<dyn ReadMany>, stop: &AtomicBool, all_ready: &Barrier) -> Reads {
    all_ready.wait();
    let (cpu, wall) = (nanoseconds(ClockId::ThreadCPUTime), nanoseconds(ClockId::Monotonic));
    let mut reads = 0;
    loop {
        reader.read_many(READS_PER_LOOK);
        reads += u64::from(READS_PER_LOOK);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Reads { reads, cpu_ns: nanoseconds(ClockId::ThreadCPUTime) - cpu, wall_ns: nanoseconds(ClockId::Monotonic) - wall, ..Reads::default() }
}

/// For each of so many swaps: nanoseconds from its begin until the last reader has read the new snapshot.
pub(crate) fn until_all_see(made: Made, like: &Snapshot, swaps: u32) -> Vec<u64> {
    let (mut writer, readers) = made;
    let stop = AtomicBool::new(false);
    let seen: Vec<(AtomicU64, AtomicU64)> = readers.iter().map(|_| (AtomicU64::new(0), AtomicU64::new(0))).collect();
    thread::scope(|scope| {
        for (reader, seen) in readers.into_iter().zip(&seen) {
            let stop = &stop;
            scope.spawn(move || watch(reader, seen, stop));
        }
        let first = like.update_version.0 + 1;
        let delays = (first..first + u64::from(swaps)).map(|version| {
            let next = Arc::new(crate::support::cluster::again(like, version));
            let begin = nanoseconds(ClockId::Monotonic);
            writer.publish(next);
            while seen.iter().any(|(known, _)| known.load(Ordering::Acquire) < version) {
                thread::sleep(Duration::from_micros(50));
            }
            seen.iter().map(|(_, at)| at.load(Ordering::Relaxed)).max().unwrap_or(begin).saturating_sub(begin)
        });
        let delays = delays.collect();
        stop.store(true, Ordering::Relaxed);
        delays
    })
}

/// Reads on and on; notes each new version and when it was first seen.
fn watch(mut reader: Box<dyn ReadMany>, (known, at): &(AtomicU64, AtomicU64), stop: &AtomicBool) {
    let mut last = 0;
    while !stop.load(Ordering::Relaxed) {
        let version = reader.read_many(READS_PER_SIGHT);
        if version != last {
            at.store(nanoseconds(ClockId::Monotonic), Ordering::Relaxed);
            known.store(version, Ordering::Release);
            last = version;
        }
    }
}
