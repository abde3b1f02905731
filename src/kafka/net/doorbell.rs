//! The bell at the driver's door: senders ring it, the driver hears it at its next pass; any number of rings before that are one.
//!
//! Built on the atomics of `super::parts`, so that the test `every_order` can run this very code with loom's.

use std::task::Waker;

use super::parts::{AtomicBool, AtomicWaker, Ordering};

/// A bell. Invariant: whatever was done before a ring is looked at by a pass that begins after it.
#[derive(Debug)]
pub(super) struct Doorbell {
    driver: AtomicWaker,
    is_rung: AtomicBool,
}

impl Doorbell {
    /// A bell that nobody has rung.
    pub(super) fn new() -> Self {
        Self { driver: AtomicWaker::new(), is_rung: AtomicBool::new(false) }
    }

    /// Lets the driver look. Only the first ring since its last pass costs anything.
    pub(super) fn ring(&self) {
        if !self.is_rung.swap(true, Ordering::AcqRel) {
            self.driver.wake();
        }
    }

    /// Notes the driver's waker at the start of a pass, before it looks; a ring from now on brings another pass.
    pub(super) fn listen(&self, waker: &Waker) {
        self.driver.register(waker);
        self.is_rung.store(false, Ordering::Release);
    }

    /// Whether it was rung since the driver last began to listen.
    pub(super) fn is_rung(&self) -> bool {
        self.is_rung.load(Ordering::Acquire)
    }
}
