//! The cell that publishes snapshots.
//!
//! Built on the atomics of `super::parts`, so that the test `every_order` can run this very code with loom's.

use std::sync::Arc;

use super::Snapshot;
use super::parts::{ArcSwap, Guard, watch};
use crate::ids::UpdateVersion;

/// Publishes snapshots: wait-free reads, and a version that waiters can wait on.
///
/// Invariant: the snapshot is stored before the version rises. A waiter that reads the version, then looks into the snapshot, then waits for a
/// higher version misses nothing.
#[derive(Debug)]
pub struct SnapshotCell {
    current: ArcSwap<Snapshot>,
    version: watch::Sender<UpdateVersion>,
}

impl SnapshotCell {
    /// A cell that holds `snapshot`.
    #[must_use]
    pub fn new(snapshot: Snapshot) -> Self {
        let (version, _) = watch::channel(snapshot.update_version);
        Self { current: ArcSwap::from_pointee(snapshot), version }
    }

    /// The current snapshot. Not to be kept across an await: take [`SnapshotCell::load_full`] for that.
    #[must_use]
    pub fn load(&self) -> Guard<Arc<Snapshot>> {
        self.current.load()
    }

    /// The current snapshot, to keep.
    #[must_use]
    pub fn load_full(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Replaces the snapshot and wakes all waiters.
    pub fn publish(&self, snapshot: Arc<Snapshot>) {
        let version = snapshot.update_version;
        self.current.store(snapshot);
        self.version.send_replace(version);
    }

    /// Replaces the snapshot without waking anybody, as the Java client does when it goes back to its bootstrap list.
    pub fn publish_silently(&self, snapshot: Arc<Snapshot>) {
        self.current.store(snapshot);
    }

    /// Watches the version.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<UpdateVersion> {
        self.version.subscribe()
    }
}
