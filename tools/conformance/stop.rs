//! Whether somebody wants the end: SIGINT or SIGTERM, seen by a thread of its own and asked for between two looks at a child.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};

/// A flag that is never taken back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// One that is asked for by the first SIGINT or SIGTERM of this process, from now on.
    ///
    /// # Errors
    /// If signals cannot be listened to.
    pub(crate) fn on_signals() -> anyhow::Result<Self> {
        let stop = Self::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let (mut interrupt, mut terminate) = {
            let _entered = runtime.enter();
            let listen = |kind| signal(kind).context("cannot listen to signals");
            (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?)
        };
        let asked = stop.clone();
        std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            });
            asked.ask();
        });
        Ok(stop)
    }

    /// Asks for the end.
    pub(crate) fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked for.
    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
