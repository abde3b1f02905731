//! The driver's bell under every order of events (loom): its own code, over loom's atomics.

use std::future::poll_fn;
use std::task::Poll;

use loom::future::block_on;
use loom::sync::{Arc, Mutex};
use loom::thread;

/// The bell's code once more, with these parts.
#[allow(clippy::duplicate_mod, reason = "the same code on purpose")]
#[path = "doorbell.rs"]
mod doorbell;

mod parts {
    use std::task::Waker;

    pub(super) use loom::sync::atomic::{AtomicBool, Ordering};

    /// Loom's own, taking its waker as the real one does.
    #[derive(Debug)]
    pub(super) struct AtomicWaker(loom::future::AtomicWaker);

    impl AtomicWaker {
        pub(super) fn new() -> Self {
            Self(loom::future::AtomicWaker::new())
        }

        pub(super) fn register(&self, waker: &Waker) {
            self.0.register_by_ref(waker);
        }

        pub(super) fn wake(&self) {
            self.0.wake();
        }
    }
}

/// Passes of the driver until it has seen `wanted` records, as `Driver::poll` makes them.
async fn drive(bell: &doorbell::Doorbell, core: &Mutex<u32>, wanted: u32) {
    poll_fn(|context| {
        loop {
            bell.listen(context.waker());
            if *core.lock().unwrap() == wanted {
                return Poll::Ready(());
            }
            if !bell.is_rung() {
                return Poll::Pending;
            }
        }
    })
    .await;
}

#[test]
fn the_driver_misses_no_record() {
    // Two senders and a driver have more orders than can be tried; those with few forced switches find what there is to find (loom's advice).
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(2);
    orders.check(|| {
        let bell = Arc::new(doorbell::Doorbell::new());
        let core = Arc::new(Mutex::new(0));
        let senders = [(); 2].map(|()| {
            let (bell, core) = (bell.clone(), core.clone());
            thread::spawn(move || {
                *core.lock().unwrap() += 1;
                bell.ring();
            })
        });
        block_on(drive(&bell, &core, 2));
        for sender in senders {
            sender.join().unwrap();
        }
    });
}
