//! The cell under every order of events (loom): its own code, over stand-ins for `ArcSwap` and `watch` that loom sees through.

use std::sync::Arc;

use loom::thread;

use super::Snapshot;
use crate::ids::UpdateVersion;

/// The cell's code once more, with these parts.
#[allow(clippy::duplicate_mod, unreachable_pub, reason = "the same code on purpose; it is public where it is at home")]
#[path = "cell.rs"]
mod cell;

/// Stand-ins with the promises of the real ones: a store is seen by whoever loads after it; whoever sees a version sees what was done before it
/// was sent.
mod parts {
    use std::sync::Arc;

    use loom::sync::RwLock;

    pub(super) type Guard<T> = T;

    #[derive(Debug)]
    pub(super) struct ArcSwap<T>(RwLock<Arc<T>>);

    impl<T> ArcSwap<T> {
        pub(super) fn from_pointee(value: T) -> Self {
            Self(RwLock::new(Arc::new(value)))
        }

        pub(super) fn load(&self) -> Arc<T> {
            Arc::clone(&self.0.read().unwrap())
        }

        pub(super) fn load_full(&self) -> Arc<T> {
            self.load()
        }

        pub(super) fn store(&self, value: Arc<T>) {
            *self.0.write().unwrap() = value;
        }
    }

    pub(super) mod watch {
        use loom::sync::{Arc, Condvar, Mutex};

        #[derive(Debug)]
        pub(in super::super) struct Sender<T>(Arc<(Mutex<T>, Condvar)>);

        #[derive(Debug)]
        pub(in super::super) struct Receiver<T>(Arc<(Mutex<T>, Condvar)>);

        pub(in super::super) fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
            let shared = Arc::new((Mutex::new(value), Condvar::new()));
            (Sender(shared.clone()), Receiver(shared))
        }

        impl<T: Copy> Sender<T> {
            pub(in super::super) fn send_replace(&self, value: T) {
                *self.0.0.lock().unwrap() = value;
                self.0.1.notify_all();
            }

            pub(in super::super) fn subscribe(&self) -> Receiver<T> {
                Receiver(self.0.clone())
            }
        }

        impl<T: Copy> Receiver<T> {
            pub(in super::super) fn get(&self) -> T {
                *self.0.0.lock().unwrap()
            }

            /// Blocks until the value is one of those that are waited for.
            pub(in super::super) fn wait_for(&self, is_wanted: impl Fn(&T) -> bool) {
                let mut value = self.0.0.lock().unwrap();
                while !is_wanted(&value) {
                    value = self.0.1.wait(value).unwrap();
                }
            }
        }
    }
}

fn snapshot(version: u64) -> Snapshot {
    Snapshot { update_version: UpdateVersion(version), ..Snapshot::default() }
}

/// Reads the version, looks into the snapshot, waits for a higher version: until the snapshot is at least the wanted one.
fn wait_until(cell: &cell::SnapshotCell, wanted: u64) {
    let versions = cell.watch();
    loop {
        let seen = versions.get();
        let current = cell.load().update_version;
        assert!(current >= seen, "the version says {seen:?}, the snapshot is still {current:?}");
        if current.0 >= wanted {
            return;
        }
        versions.wait_for(|version| *version > seen);
    }
}

/// One waiter, and what a publisher does meanwhile.
fn try_every_order(wanted: u64, publish: fn(&cell::SnapshotCell)) {
    loom::model(move || {
        let cell = Arc::new(cell::SnapshotCell::new(snapshot(1)));
        let waiter = {
            let cell = Arc::clone(&cell);
            thread::spawn(move || wait_until(&cell, wanted))
        };
        publish(&cell);
        waiter.join().unwrap();
        assert!(cell.load_full().update_version.0 >= wanted);
    });
}

#[test]
fn no_waiter_misses_a_snapshot() {
    for wanted in [2, 3] {
        try_every_order(wanted, |cell| {
            cell.publish(Arc::new(snapshot(2)));
            cell.publish(Arc::new(snapshot(3)));
        });
    }
}

#[test]
fn a_silent_snapshot_is_seen_at_the_next_waking() {
    try_every_order(3, |cell| {
        cell.publish_silently(Arc::new(snapshot(2)));
        cell.publish(Arc::new(snapshot(3)));
    });
}
