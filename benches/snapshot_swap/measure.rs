//! The measurements: reads under swaps, how soon the slowest reader sees a new snapshot, and what it takes a reader to let go of one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use kafka_chaos::kafka::metadata::{Snapshot, SnapshotCell};
use rustix::time::{ClockId, clock_gettime};

use crate::cells::{Made, Publish, ReadMany};

/// Reads between two looks at the stop flag.
const READS_PER_LOOK: u32 = 1_000;

/// Looks after which a reader gives way, some 100 us of our cell's reads. Senders give way too; and where there are more readers than cores, the
/// writer would else wait for the end of a reader's time slice, which is the time of dozens of swaps.
const LOOKS_PER_TURN: u64 = 20;

/// The readers' priority, the lowest: the writer is the next that gets a core when a swap falls due, whoever waits. Among themselves readers share
/// the cores as ever.
const READERS_NICE: i32 = 19;

/// Reads between two looks at the version while a reader waits to see a new snapshot.
const READS_PER_SIGHT: u32 = 16;

/// Swaps that the writer makes in a row when it has waited for a core. What it missed beyond them is left out and shows as swaps that were not
/// made: in one long row they would disturb readers less often than was asked for.
const CATCH_UP_MAX: u64 = 10;

const SECOND_NS: u64 = 1_000_000_000;

/// Nanoseconds of a clock.
pub(crate) fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec.unsigned_abs() * SECOND_NS + time.tv_nsec.unsigned_abs()
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
    /// For how long the writer swapped.
    pub(crate) length_ns: u64,
}

/// Readers read for `length` while the writer swaps `swaps_per_second` times a second, as far as it gets a core for it; snapshots come from
/// `pool`, in turn, and stay alive in it.
pub(crate) fn reads_under_swaps(made: Made, pool: &[Arc<Snapshot>], swaps_per_second: u32, length: Duration) -> Reads {
    let (mut writer, readers) = made;
    let (stop, all_ready) = (AtomicBool::new(false), Barrier::new(readers.len() + 1));
    thread::scope(|scope| {
        let (stop, all_ready) = (&stop, &all_ready);
        let running: Vec<_> = readers.into_iter().map(|reader| scope.spawn(|| read(reader, stop, all_ready))).collect();
        all_ready.wait();
        let mut sum = swap(&mut *writer, pool, swaps_per_second, length);
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

/// The writer's part. The first swap falls due after half the pause between two.
fn swap(writer: &mut dyn Publish, pool: &[Arc<Snapshot>], swaps_per_second: u32, length: Duration) -> Reads {
    let mut sum = Reads::default();
    let rate = u64::from(swaps_per_second);
    let length_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    let start = nanoseconds(ClockId::Monotonic);
    let mut settled = 0;
    while sum.length_ns < length_ns {
        let due = (sum.length_ns * rate + SECOND_NS / 2) / SECOND_NS;
        for _ in 0..(due - settled).min(CATCH_UP_MAX) {
            let next = Arc::clone(&pool[sum.swaps as usize % pool.len()]);
            let before = nanoseconds(ClockId::Monotonic);
            writer.publish(next);
            sum.swap_ns += nanoseconds(ClockId::Monotonic) - before;
            sum.swaps += 1;
        }
        settled = due;
        let next_due_ns = (due * SECOND_NS + SECOND_NS / 2).checked_div(rate).unwrap_or(length_ns);
        let now_ns = nanoseconds(ClockId::Monotonic) - start;
        thread::sleep(Duration::from_nanos(next_due_ns.min(length_ns).saturating_sub(now_ns)));
        sum.length_ns = nanoseconds(ClockId::Monotonic) - start;
    }
    sum
}

fn read(mut reader: Box<dyn ReadMany>, stop: &AtomicBool, all_ready: &Barrier) -> Reads {
    let lowered = rustix::process::nice(READERS_NICE);
    all_ready.wait();
    // Only now: whoever waits at the barrier would wait for a reader that has panicked.
    lowered.unwrap();
    let (cpu, wall) = (nanoseconds(ClockId::ThreadCPUTime), nanoseconds(ClockId::Monotonic));
    let mut looks = 0_u64;
    loop {
        reader.read_many(READS_PER_LOOK);
        looks += 1;
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if looks.is_multiple_of(LOOKS_PER_TURN) {
            thread::yield_now();
        }
    }
    let reads = looks * u64::from(READS_PER_LOOK);
    Reads { reads, cpu_ns: nanoseconds(ClockId::ThreadCPUTime) - cpu, wall_ns: nanoseconds(ClockId::Monotonic) - wall, ..Reads::default() }
}

/// For each of so many swaps: nanoseconds from its begin until the last reader has read the new snapshot. All readers read before the first.
pub(crate) fn until_all_see(made: Made, like: &Snapshot, swaps: u32) -> Vec<u64> {
    let (mut writer, readers) = made;
    let (stop, all_ready) = (AtomicBool::new(false), Barrier::new(readers.len() + 1));
    let seen: Vec<(AtomicU64, AtomicU64)> = readers.iter().map(|_| (AtomicU64::new(0), AtomicU64::new(0))).collect();
    thread::scope(|scope| {
        for (reader, seen) in readers.into_iter().zip(&seen) {
            let (stop, all_ready) = (&stop, &all_ready);
            scope.spawn(move || watch(reader, seen, stop, all_ready));
        }
        all_ready.wait();
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
fn watch(mut reader: Box<dyn ReadMany>, (known, at): &(AtomicU64, AtomicU64), stop: &AtomicBool, all_ready: &Barrier) {
    let mut last = reader.read_many(READS_PER_SIGHT);
    all_ready.wait();
    while !stop.load(Ordering::Relaxed) {
        let version = reader.read_many(READS_PER_SIGHT);
        if version != last {
            at.store(nanoseconds(ClockId::Monotonic), Ordering::Relaxed);
            known.store(version, Ordering::Release);
            last = version;
        }
    }
}

/// Nanoseconds in which a reader, on its own thread, lets go of the snapshot that it took out of our cell, when the cell holds another by then
/// and nobody else holds the old one.
pub(crate) fn drop_of_the_last_holder(held: Snapshot, next: Arc<Snapshot>) -> u64 {
    let cell = SnapshotCell::new(held);
    let (is_held, is_swapped) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let held = cell.load_full();
            is_held.wait();
            is_swapped.wait();
            let begin = nanoseconds(ClockId::Monotonic);
            drop(Arc::into_inner(held).expect("the reader is the last holder"));
            nanoseconds(ClockId::Monotonic) - begin
        });
        is_held.wait();
        cell.publish(next);
        is_swapped.wait();
        reader.join().unwrap()
    })
}
