//! What a producer's senders and its driver share: the core behind one short lock, the published snapshot, and the ways to wake each other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, Moment};
use crate::kafka::core::client::ProducerCore;
use crate::kafka::core::output::{Action, Output};
use crate::kafka::event::{ClientObserver, Failure};
use crate::kafka::metadata::SnapshotCell;
use crate::kafka::net::doorbell::Doorbell;

/// One client's shared state.
#[derive(Debug)]
pub(crate) struct Shared {
    core: Mutex<ProducerCore>,
    pub(crate) cell: SnapshotCell,
    pub(crate) clock: Clock,
    pub(crate) observer: Arc<dyn ClientObserver>,
    /// Somebody who waited for memory may have it now.
    pub(crate) memory_granted: Notify,
    /// The last connection that one side refused.
    pub(crate) refusals: watch::Sender<Option<Failure>>,
    /// The client begins to close: no `send` waits any longer.
    pub(crate) closing: CancellationToken,
    /// The driver has ended.
    pub(crate) finished: CancellationToken,
    /// Last moment of a closing client; 0: not closing.
    close_deadline: AtomicU64,
    bell: Doorbell,
}

impl Shared {
    pub(crate) fn new(core: ProducerCore, clock: Clock, observer: Arc<dyn ClientObserver>) -> Self {
        Self {
            cell: SnapshotCell::new((**core.snapshot()).clone()),
            core: Mutex::new(core),
            clock,
            observer,
            memory_granted: Notify::new(),
            refusals: watch::Sender::new(None),
            closing: CancellationToken::new(),
            finished: CancellationToken::new(),
            close_deadline: AtomicU64::new(0),
            bell: Doorbell::new(),
        }
    }

    /// The core. Who panicked while holding it has told of that already; the others go on, and at the worst panic in turn.
    pub(crate) fn core(&self) -> MutexGuard<'_, ProducerCore> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the driver look.
    pub(crate) fn wake(&self) {
        self.bell.ring();
    }

    /// Notes the driver's waker at the start of a pass; what is asked for from now on brings another pass.
    pub(crate) fn register(&self, waker: &Waker) {
        self.bell.listen(waker);
    }

    pub(crate) fn is_woken(&self) -> bool {
        self.bell.is_rung()
    }

    /// Passes the core's output on, with its lock let go: snapshots first, so that an observer finds what an event speaks of.
    pub(crate) fn tell(&self, output: Output, perform: impl FnOnce(Vec<Action>)) {
        for publication in output.publications {
            if publication.wake {
                self.cell.publish(publication.snapshot);
            } else {
                self.cell.publish_silently(publication.snapshot);
            }
        }
        perform(output.actions);
        if let Some(refusal) = output.refusal {
            self.refusals.send_replace(Some(refusal));
        }
        if output.memory_granted {
            self.memory_granted.notify_waiters();
        }
        for (at, event) in &output.events {
            self.observer.event(*at, event);
        }
        for delivery in &output.deliveries {
            self.observer.delivered(delivery.at, &delivery.as_seen());
        }
    }

    pub(crate) fn begin_close(&self, timeout: Duration) {
        self.close_deadline.store((self.clock.now() + timeout).0, Ordering::Release);
        self.core().begin_close();
        self.closing.cancel();
        self.wake();
    }

    /// Whether `begin_close` was called. One load, unlike a look at `closing`, which takes that token's lock.
    pub(crate) fn is_closing(&self) -> bool {
        self.close_deadline.load(Ordering::Acquire) > 0
    }

    pub(crate) fn close_deadline(&self) -> Option<Moment> {
        Some(Moment(self.close_deadline.load(Ordering::Acquire))).filter(|deadline| deadline.0 > 0)
    }

    pub(crate) fn is_close_overdue(&self, now: Moment) -> bool {
        self.close_deadline().is_some_and(|deadline| now >= deadline)
    }
}
