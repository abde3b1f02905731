//! Bytes from a broker that means harm: nothing panics, hangs, or takes more memory than its frame can account for.
//!
//! A binary of its own, because it counts what the whole process allocates.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod driver;
mod frames;
mod log;
mod samples;

use std::sync::{Mutex, MutexGuard, PoisonError};

use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATIONS: PeakAlloc = PeakAlloc;

/// One measurement at a time.
static MEASURING: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    MEASURING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work`; returns by how much the process's memory rose above where it was, at most.
fn peak_bytes_of(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.current_usage();
    ALLOCATIONS.reset_peak_usage();
    work();
    ALLOCATIONS.peak_usage().saturating_sub(before)
}
